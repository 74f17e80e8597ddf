"""Kernels that depend on the inner product of their arguments."""

from math import factorial
from numbers import Integral, Real

from preimage._engine.arrays import array_namespace, integer_power
from preimage._engine.typing import Array
from preimage._engine.validation import Interval
from preimage.kernels._bandwidth import GAMMA, Gamma
from preimage.kernels._pairwise import InnerProduct
from preimage.kernels._profile import ProfileKernel, affine_power_derivatives, powers


class Linear(ProfileKernel):
    """k(x, y) = x·y: kernel methods become their linear originals.

    With it `KernelPCA` is PCA, and a pre-image is the projection itself.

    See Also
    --------
    Polynomial : Products of inputs as features.
    Cosine : The same inner product of inputs of length one.
    sklearn.decomposition.PCA : What kernel PCA with this kernel computes.

    Examples
    --------
    >>> from preimage.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    pairwise = InnerProduct()
    is_positive_semidefinite = True
    is_bilinear = True

    def __init__(self) -> None:
        pass

    def profile(self, s: Array) -> Array:
        return s

    def apply_profile(self, s: Array) -> None:
        pass

    def profile_derivative(self, s: Array) -> Array:
        return array_namespace(s).ones_like(s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return affine_power_derivatives(s, 1.0, 1, order)

    def inverse_profile(self, v: Array) -> Array:
        return v


class Polynomial(ProfileKernel):
    """k(x, y) = (γ x·y + c)^d: all products of up to d inputs; of exactly d when c = 0.

    Parameters
    ----------
    degree : int, default=3
        Degree d ≥ 1.
    gamma : float or rule, default=1.0
        Scale γ > 0 of the inner product. For images 1/n_features (None) avoids overflow.
    coef0 : float, default=1.0
        Constant c; zero gives the homogeneous kernel. Negative values are not positive semidefinite.

    See Also
    --------
    Exponential : All degrees at once.
    Patches : Products of neighbouring pixels only.
    Linear : Degree one.
    preimage.solvers.ExactInverse : Exact pre-images under invertible profiles, such as odd degrees.

    Examples
    --------
    >>> from preimage.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=0.0)([[1.0, 2.0]], [[3.0, 1.0]])
    array([[25.]])
    """

    pairwise = InnerProduct()
    _parameter_constraints = {
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": GAMMA,
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    def __init__(self, degree: int = 3, gamma: Gamma = 1.0, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    @property
    def is_positive_semidefinite(self) -> bool:
        return self.coef0 >= 0

    @property
    def is_bilinear(self) -> bool:
        return self.degree == 1

    def profile(self, s: Array) -> Array:
        return integer_power(self.gamma * s + self.coef0, self.degree)

    def profile_derivative(self, s: Array) -> Array:
        if self.degree == 1:
            return array_namespace(s).full_like(s, self.gamma)
        return self.degree * self.gamma * integer_power(self.gamma * s + self.coef0, self.degree - 1)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return affine_power_derivatives(self.gamma * s + self.coef0, self.gamma, self.degree, order)

    @property
    def has_inverse_profile(self) -> bool:
        return self.degree % 2 == 1

    def inverse_profile(self, v: Array) -> Array:
        if not self.has_inverse_profile:
            return super().inverse_profile(v)
        xp = array_namespace(v)
        return (xp.sign(v) * xp.abs(v) ** (1 / self.degree) - self.coef0) / self.gamma


class Exponential(ProfileKernel):
    """k(x, y) = exp(γ x·y): all degrees at once.

    Parameters
    ----------
    gamma : float or rule, default=1.0
        Scale γ > 0 of the inner product.

    See Also
    --------
    Polynomial : Products of up to d inputs only.
    Gaussian : This kernel, normalised: ``Normalized(Exponential(2γ))``.

    Examples
    --------
    Normalised, it is a Gaussian:

    >>> import numpy as np
    >>> from preimage.kernels import Exponential, Gaussian, Normalized
    >>> X = np.array([[0.0, 1.0], [2.0, 0.5]])
    >>> np.allclose(Normalized(Exponential(1.0))(X), Gaussian(0.5)(X))
    True
    """

    pairwise = InnerProduct()
    is_positive_semidefinite = True
    _parameter_constraints = {"gamma": GAMMA}

    def __init__(self, gamma: Gamma = 1.0) -> None:
        self.gamma = gamma

    def profile(self, s: Array) -> Array:
        return array_namespace(s).exp(self.gamma * s)

    def profile_derivative(self, s: Array) -> Array:
        return self.gamma * self.profile(s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        values = self.profile(s)
        return [power * values for power in powers(self.gamma, order)]

    def inverse_profile(self, v: Array) -> Array:
        return array_namespace(v).log(v) / self.gamma


class Sigmoid(ProfileKernel):
    """k(x, y) = tanh(γ x·y + c): popular, never positive semidefinite in all dimensions.

    Parameters
    ----------
    gamma : float or rule, default=1.0
        Scale γ > 0 of the inner product.
    coef0 : float, default=1.0
        Constant c.

    See Also
    --------
    Iterated : Makes an admissible kernel of this one.
    preimage.geometry.mercer_report : Where and how much the kernel is indefinite.
    Polynomial : A positive semidefinite function of the inner product.

    Examples
    --------
    >>> from preimage.kernels import Sigmoid
    >>> Sigmoid(0.5, coef0=0.0)([[1.0, 2.0]], [[1.0, 2.0], [-1.0, 0.0]]).round(4)
    array([[ 0.9866, -0.4621]])
    >>> Sigmoid().is_positive_semidefinite
    False
    """

    pairwise = InnerProduct()
    _parameter_constraints = {"gamma": GAMMA, "coef0": [Interval(Real, None, None, closed="neither")]}

    def __init__(self, gamma: Gamma = 1.0, coef0: float = 1.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def profile(self, s: Array) -> Array:
        return array_namespace(s).tanh(self.gamma * s + self.coef0)

    def profile_derivative(self, s: Array) -> Array:
        return self.gamma * (1 - self.profile(s) ** 2)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        # f′ = γ(1 − f²) as a recursion of Taylor coefficients: (m + 1) a_{m+1} = γ (δ_{m0} − Σ_i a_i a_{m−i}).
        coefficients = [self.profile(s)]
        for m in range(order):
            square = sum(coefficients[i] * coefficients[m - i] for i in range(m + 1))
            coefficients.append(self.gamma * ((1.0 if m == 0 else 0.0) - square) / (m + 1))
        return [factorial(m) * coefficient for m, coefficient in enumerate(coefficients)]

    def inverse_profile(self, v: Array) -> Array:
        return (array_namespace(v).atanh(v) - self.coef0) / self.gamma
