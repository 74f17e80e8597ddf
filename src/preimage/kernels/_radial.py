"""Kernels that depend on a distance of their arguments: Euclidean, Manhattan, or chi-squared for histograms."""

from math import sqrt
from numbers import Real

import numpy as np

from preimage._engine.arrays import array_namespace
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, Options
from preimage.kernels._bandwidth import GAMMA, Gamma
from preimage.kernels._pairwise import ChiSquaredDistance, ManhattanDistance, SquaredDistance
from preimage.kernels._profile import ProfileKernel, affine_power_derivatives, powers


class ExponentialDecay(ProfileKernel):
    """f(s) = exp(−γs) of a distance s."""

    is_positive_semidefinite = True
    _parameter_constraints = {"gamma": GAMMA}

    def __init__(self, gamma: Gamma = 1.0) -> None:
        self.gamma = gamma

    def profile(self, s: Array) -> Array:
        return array_namespace(s).exp(-self.gamma * s)

    def apply_profile(self, s: Array) -> None:
        if isinstance(s, np.ndarray):
            np.exp(np.multiply(s, -self.gamma, out=s), out=s)
        else:
            s[...] = self.profile(s)

    def profile_derivative(self, s: Array) -> Array:
        return -self.gamma * self.profile(s)

    def profile_with_derivative(self, s: Array) -> tuple[Array, Array]:
        values = self.profile(s)
        return values, -self.gamma * values

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        values = self.profile(s)
        return [power * values for power in powers(-self.gamma, order)]

    def inverse_profile(self, v: Array) -> Array:
        return -array_namespace(v).log(v) / self.gamma


class Gaussian(ExponentialDecay):
    """k(x, y) = exp(−γ‖x − y‖²): smooth, local, one width.

    The kernel of scikit-learn's "rbf". As γ → 0, kernel PCA with it becomes linear PCA; as γ grows, every point becomes
    orthogonal to all others.

    Parameters
    ----------
    gamma : float, None, "auto", "scale", "median" or a percentile such as "p5", default=1.0
        Inverse squared width γ > 0, or a rule that finds it from data: see `resolve_gamma`, and `class_width` for
        those that need labels, such as "enclosing_ball". "relevance" is a width for each column, which estimators with
        targets learn, such as `SparseGreedyRegressor`; their kernel is then one of `ScaledInputs`.

    See Also
    --------
    resolve_gamma : The rules "scale", "median", "p5" and what they compute.
    gamma_from_width : γ from σ, a length scale or another convention of a width.
    Laplacian : Less smooth: the distance is not squared.
    RationalQuadratic : Heavier tails, where distant points should still count.
    preimage.model_selection.WidthSearch : Choose γ by labels.
    preimage.model_selection.DenoisingSearch : Choose γ for denoising, without labels.

    Examples
    --------
    >>> from preimage.kernels import Gaussian
    >>> Gaussian(0.5)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.36787944]])
    """

    pairwise = SquaredDistance()


class Laplacian(ExponentialDecay):
    """k(x, y) = exp(−γ‖x − y‖₁), scikit-learn's Laplacian kernel; Matern(nu=0.5) is the Euclidean one.

    The sum of moduli is less sensitive to a few large differences than the squared distance.

    Parameters
    ----------
    gamma : float or rule, default=1.0
        Inverse width γ > 0.

    See Also
    --------
    Gaussian : Smooth, of the squared Euclidean distance.
    Matern : Between the two, of the Euclidean distance.
    sklearn.metrics.pairwise.laplacian_kernel : The same values.

    Examples
    --------
    >>> from preimage.kernels import Laplacian
    >>> Laplacian(0.5)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.36787944]])
    """

    pairwise = ManhattanDistance()
    metric = "cityblock"


class RationalQuadratic(ProfileKernel):
    """k(x, y) = 1 / (1 + γ‖x − y‖²): like a Gaussian, with heavier tails.

    Parameters
    ----------
    gamma : float or rule, default=1.0
        Inverse squared length scale γ > 0.

    See Also
    --------
    Gaussian : Tails that vanish faster.
    InverseMultiquadric : Tails that vanish more slowly.
    sklearn.gaussian_process.kernels.RationalQuadratic : The family of which this is the member α = 1.

    Examples
    --------
    Three length scales away a Gaussian is nearly zero, this kernel is not:

    >>> from preimage.kernels import Gaussian, RationalQuadratic
    >>> RationalQuadratic(1.0)([[0.0]], [[1.0], [3.0]]).round(4)
    array([[0.5, 0.1]])
    >>> Gaussian(1.0)([[0.0]], [[1.0], [3.0]]).round(4)
    array([[3.679e-01, 1.000e-04]])
    """

    pairwise = SquaredDistance()
    is_positive_semidefinite = True
    _parameter_constraints = {"gamma": GAMMA}

    def __init__(self, gamma: Gamma = 1.0) -> None:
        self.gamma = gamma

    def profile(self, s: Array) -> Array:
        return 1 / (1 + self.gamma * s)

    def profile_derivative(self, s: Array) -> Array:
        return -self.gamma * self.profile(s) ** 2

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return affine_power_derivatives(1 + self.gamma * s, self.gamma, -1, order)

    def inverse_profile(self, v: Array) -> Array:
        return (1 / v - 1) / self.gamma


class InverseMultiquadric(ProfileKernel):
    """k(x, y) = 1 / √(1 + γ‖x − y‖²): tails heavier than those of `RationalQuadratic`.

    Parameters
    ----------
    gamma : float or rule, default=1.0
        Inverse squared length scale γ > 0.

    See Also
    --------
    RationalQuadratic : Its square, with lighter tails.
    Multiquadric : Grows with the distance; positive definite only after centring.
    Gaussian : Tails that vanish fastest.

    Examples
    --------
    >>> from preimage.kernels import InverseMultiquadric
    >>> InverseMultiquadric(1.0)([[0.0]], [[0.0], [1.0], [3.0]]).round(4)
    array([[1.    , 0.7071, 0.3162]])
    """

    pairwise = SquaredDistance()
    is_positive_semidefinite = True
    _parameter_constraints = {"gamma": GAMMA}

    def __init__(self, gamma: Gamma = 1.0) -> None:
        self.gamma = gamma

    def profile(self, s: Array) -> Array:
        return 1 / array_namespace(s).sqrt(1 + self.gamma * s)

    def profile_derivative(self, s: Array) -> Array:
        return -0.5 * self.gamma * self.profile(s) ** 3

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return affine_power_derivatives(1 + self.gamma * s, self.gamma, -0.5, order)

    def inverse_profile(self, v: Array) -> Array:
        return (1 / v**2 - 1) / self.gamma


class Student(ProfileKernel):
    """k(x, y) = (1 + γ‖x − y‖²/ν)^(−(ν+1)/2): the shape of Student's t distribution.

    `RationalQuadratic` is the member ν = 1, and the Gaussian exp(−γ‖x − y‖²/2) the limit ν → ∞.

    Parameters
    ----------
    gamma : float or rule, default=1.0
        Inverse squared length scale γ > 0.
    nu : float, default=1.0
        Degrees of freedom ν > 0: the smaller, the heavier the tails.

    See Also
    --------
    Gaussian : Tails that vanish faster.
    RationalQuadratic : The member ν = 1.
    InverseMultiquadric : Tails that vanish more slowly.

    Examples
    --------
    Three length scales away, for more and more degrees of freedom:

    >>> from preimage.kernels import Student
    >>> [float(Student(1.0, nu)([[0.0]], [[3.0]])[0, 0].round(4)) for nu in (1, 4, 100)]
    [0.1, 0.0525, 0.0129]
    """

    pairwise = SquaredDistance()
    is_positive_semidefinite = True
    _parameter_constraints = {"gamma": GAMMA, "nu": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, gamma: Gamma = 1.0, nu: float = 1.0) -> None:
        self.gamma = gamma
        self.nu = nu

    def profile(self, s: Array) -> Array:
        xp = array_namespace(s)
        return xp.exp(-0.5 * (self.nu + 1) * xp.log1p(self.gamma * s / self.nu))

    def profile_derivative(self, s: Array) -> Array:
        return -0.5 * (self.nu + 1) * self.gamma * self.profile(s) / (self.nu + self.gamma * s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        factor = self.gamma / self.nu
        return affine_power_derivatives(1 + factor * s, factor, -0.5 * (self.nu + 1), order)

    def inverse_profile(self, v: Array) -> Array:
        xp = array_namespace(v)
        return xp.expm1(-2 / (self.nu + 1) * xp.log(v)) * self.nu / self.gamma


class Multiquadric(ProfileKernel):
    """k(x, y) = −√(1 + γ‖x − y‖²): conditionally positive definite.

    With the minus sign the *centred* Gram matrix is positive semidefinite, which is what kernel PCA needs; the
    uncentred one has one negative eigenvalue.

    Parameters
    ----------
    gamma : float or rule, default=1.0
        Inverse squared length scale γ > 0.

    See Also
    --------
    InverseMultiquadric : Positive semidefinite without centring.
    preimage.geometry.mercer_report : Look for proofs that a kernel is not positive semidefinite.

    Examples
    --------
    The uncentred matrix has a negative eigenvalue, the centred one has none:

    >>> import numpy as np
    >>> from preimage.kernels import Multiquadric
    >>> K = Multiquadric(1.0)(np.arange(4.0)[:, None])
    >>> H = np.eye(4) - 1 / 4
    >>> bool(np.linalg.eigvalsh(K)[0] < 0), bool(np.linalg.eigvalsh(H @ K @ H)[0] > -1e-12)
    (True, True)
    """

    pairwise = SquaredDistance()
    _parameter_constraints = {"gamma": GAMMA}

    def __init__(self, gamma: Gamma = 1.0) -> None:
        self.gamma = gamma

    def profile(self, s: Array) -> Array:
        return -array_namespace(s).sqrt(1 + self.gamma * s)

    def profile_derivative(self, s: Array) -> Array:
        return 0.5 * self.gamma / self.profile(s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return [-values for values in affine_power_derivatives(1 + self.gamma * s, self.gamma, 0.5, order)]

    def inverse_profile(self, v: Array) -> Array:
        return (v**2 - 1) / self.gamma


class Matern(ProfileKernel):
    """Matérn kernels of smoothness ν, of r = ‖x − y‖/ℓ with γ = 1/(2ℓ²).

    exp(−r) for ν = 0.5, (1 + √3 r) exp(−√3 r) for ν = 1.5, (1 + √5 r + 5r²/3) exp(−√5 r) for ν = 2.5.

    Parameters
    ----------
    gamma : float or rule, default=1.0
        γ = 1/(2ℓ²) > 0 for the length scale ℓ of Gaussian processes, so that widths mean the same as for `Gaussian`,
        which is the limit ν → ∞.
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.

    See Also
    --------
    Gaussian : The limit of infinite smoothness.
    Laplacian : Exponential in the sum of moduli instead of the Euclidean distance.
    gamma_from_width : γ from a length scale ℓ.
    sklearn.gaussian_process.kernels.Matern : The same kernel with ℓ as its parameter.

    Examples
    --------
    The length scale of a Gaussian process becomes γ:

    >>> from preimage.kernels import Matern, gamma_from_width
    >>> gamma = gamma_from_width(2.0, "length_scale")
    >>> Matern(gamma, nu=2.5)([[0.0]], [[0.0], [2.0], [4.0]]).round(3)
    array([[1.   , 0.524, 0.139]])
    """

    pairwise = SquaredDistance()
    is_positive_semidefinite = True
    _parameter_constraints = {"gamma": GAMMA, "nu": [Options(Real, {0.5, 1.5, 2.5})]}

    def __init__(self, gamma: Gamma = 1.0, nu: float = 1.5) -> None:
        self.gamma = gamma
        self.nu = nu

    def profile(self, s: Array) -> Array:
        return self._derivative(s, 0)

    def profile_derivative(self, s: Array) -> Array:
        # With ν = 0.5 it is infinite at s = 0, where the gradient has no value; zero is its mean over directions.
        found = self._derivative(s, 1)
        return found if self.nu > 0.5 else array_namespace(s).where(s > 0, found, 0 * s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return [self._derivative(s, m) for m in range(order + 1)]

    def _derivative(self, s: Array, m: int) -> Array:
        # f = h_ν(r)/h_ν(0) with h_µ = √(2/π) r^µ K_µ(r), and dh_µ/ds = −2νγ h_{µ−1}; infinite at s = 0 from µ < 0 on.
        if self.nu not in _AT_ZERO:
            raise ValueError(f"Matern needs nu to be 0.5, 1.5 or 2.5; got {self.nu!r}. For large nu use Gaussian.")
        r = sqrt(4 * self.nu * self.gamma) * array_namespace(s).sqrt(s)
        factor = powers(-2 * self.nu * self.gamma, m)[m] / _AT_ZERO[self.nu]
        found = _bessel_decay(r, self.nu - m)
        return found if factor == 1 else factor * found


# h_ν(0).
_AT_ZERO = {0.5: 1.0, 1.5: 1.0, 2.5: 3.0}


def _bessel_decay(r: Array, order: float) -> Array:
    """h_µ(r) = √(2/π) r^µ K_µ(r) of a half-integer µ, by K_{−µ} = K_µ and h_{µ+1} = r² h_{µ−1} + 2µ h_µ."""
    xp = array_namespace(r)
    # From h_{1/2} = e^{−r} and h_{3/2} = (1 + r)e^{−r}; products begin with the exponential, as r may have no square.
    before = current = xp.exp(-r)
    if abs(order) > 0.5:
        index, current = 1.5, (1 + r) * before
        while index < abs(order):
            index, before, current = index + 1, current, r * (r * before) + 2 * index * current
    if order > 0:
        return current
    safe = xp.where(r > 0, r, xp.ones_like(r))
    return xp.where(r > 0, current / safe ** (-2 * order), xp.full_like(r, float("inf")))


class Chi2(ExponentialDecay):
    r"""The exponential chi-squared kernel :math:`k(x, y) = \exp(-\gamma \sum_f (x_f - y_f)^2/(x_f + y_f))`.

    Compares histograms: a difference counts more where both values are small. Inputs must not be negative. Equal to
    scikit-learn's "chi2".

    Parameters
    ----------
    gamma : float or rule, default=1.0
        γ > 0, or a rule that finds it from data: see `resolve_gamma`. Percentiles are those of chi-squared distances.

    See Also
    --------
    AdditiveChi2 : Its logarithm for γ = 1.
    Gaussian : For inputs that may be negative.
    sklearn.metrics.pairwise.chi2_kernel : The same values.

    Examples
    --------
    >>> from preimage.kernels import Chi2
    >>> Chi2(0.5)([[1.0, 0.0]], [[0.0, 1.0]])
    array([[0.36787944]])
    """

    pairwise = ChiSquaredDistance()
    metric = "chi2"
    lowest_input = 0.0


class AdditiveChi2(ProfileKernel):
    r"""Minus the chi-squared distance, :math:`k(x, y) = -\sum_f (x_f - y_f)^2/(x_f + y_f)`, of non-negative inputs.

    Equal to scikit-learn's "additive_chi2". Conditionally positive definite: the *centred* Gram matrix is positive
    semidefinite, which is what kernel PCA needs; the uncentred one has a zero diagonal, hence negative eigenvalues, so
    that estimators which do not centre (`EmpiricalKernelMap(whiten=True)`, landmarks) warn or refuse.

    See Also
    --------
    Chi2 : Its exponential, positive semidefinite without centring.
    sklearn.metrics.pairwise.additive_chi2_kernel : The same values.

    Examples
    --------
    >>> from preimage.kernels import AdditiveChi2
    >>> AdditiveChi2()([[1.0, 0.0]], [[0.0, 1.0]])
    array([[-2.]])
    """

    pairwise = ChiSquaredDistance()
    metric = "chi2"
    lowest_input = 0.0

    def profile(self, s: Array) -> Array:
        return -s

    def profile_derivative(self, s: Array) -> Array:
        return 0 * s - 1

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return [-s, 0 * s - 1, *(0 * s for _ in range(order - 1))][: order + 1]

    def inverse_profile(self, v: Array) -> Array:
        return -v
