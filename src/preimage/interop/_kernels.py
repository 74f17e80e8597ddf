"""Kernels of scikit-learn's support vector machines, pairwise functions and Gaussian processes, as ours."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as theirs
from sklearn.metrics.pairwise import pairwise_kernels

from preimage._engine.arrays import to_dense
from preimage._engine.typing import Array
from preimage.kernels import (
    CallableKernel,
    Constant,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    ScaledInputs,
    as_kernel,
)

# Names with a counterpart here, and what it takes of gamma, degree and coef0.
_SCALED = ("rbf", "laplacian", "chi2", "poly", "polynomial", "sigmoid")
_UNSCALED = ("linear", "cosine", "additive_chi2")


def kernel_of_svm(kernel: Any, *, gamma: float, degree: float, coef0: float) -> Kernel:
    """The kernel of a fitted SVC, SVR or OneClassSVM; `gamma` is the number that it used.

    A function there takes two matrices and returns the matrix of values, dense or sparse.
    """
    if isinstance(kernel, str):
        if kernel in ("rbf", "poly", "sigmoid") and not np.isfinite(gamma):
            raise ValueError(
                f"The support vector machine has gamma={gamma}: the variance of its inputs is too small for "
                "gamma='scale'. Scale the inputs (StandardScaler) and fit it again."
            )
        return Precomputed() if kernel == "precomputed" else _named(kernel, gamma, degree, coef0)
    return _given(kernel) or CallableKernel(_matrix_of_values, {"function": kernel}, takes="matrices")


def kernel_of_pairwise(
    metric: Any,
    n_features: int,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1.0,
    parameters: dict[str, Any] | None = None,
) -> Kernel:
    """The kernel that `sklearn.metrics.pairwise.pairwise_kernels` means by `metric`.

    A function there takes two rows and `parameters`. Names without a counterpart (polynomials of a fractional degree)
    become calls of scikit-learn, without a gradient.
    """
    if not isinstance(metric, str):
        options = {"metric": metric, **(parameters or {})}
        return _given(metric) or CallableKernel(pairwise_kernels, options, takes="matrices")
    if metric in _UNSCALED or (metric in _SCALED and _has_counterpart(metric, degree)):
        return _named(metric, 1 / n_features if gamma is None else gamma, degree, coef0)
    arguments = {"metric": metric, "gamma": gamma, "degree": degree, "coef0": coef0, "filter_params": True}
    return CallableKernel(pairwise_kernels, arguments, takes="matrices")


def kernel_of_gaussian_process(kernel: theirs.Kernel) -> Kernel:
    """The covariance between a new point and a training point.

    Noise (WhiteKernel) is zero there, and is dropped. Kernels without a counterpart, also as parts of sums and
    products, become calls of scikit-learn, without a gradient.
    """
    # By the exact class: a subclass may compute something else.
    translate = _TRANSLATIONS.get(type(kernel), _call)
    return translate(kernel)


def _given(kernel: Any) -> Kernel | None:
    """Kernels of this library and of Gaussian processes are functions of matrices as well; None for any other."""
    if isinstance(kernel, Kernel):
        return kernel
    return kernel_of_gaussian_process(kernel) if isinstance(kernel, theirs.Kernel) else None


def _has_counterpart(metric: str, degree: float) -> bool:
    return not metric.startswith("poly") or isinstance(degree, Integral) or float(degree).is_integer()


def _named(name: str, gamma: float, degree: float, coef0: float) -> Kernel:
    if name in _UNSCALED:
        return as_kernel(name)
    if name.startswith("poly") and degree == 0:
        return Constant(1.0)
    kernel = as_kernel(name, gamma=float(gamma) or 1.0, degree=int(degree), coef0=float(coef0))
    if gamma == 0:
        # scikit-learn allows γ = 0, which makes all inputs alike: the value at the origin, for any γ.
        return Constant(float(kernel(np.zeros((1, 1)))[0, 0]))
    return kernel


def _matrix_of_values(X: Array, Y: Array, function: Callable[..., Array]) -> np.ndarray:
    return np.asarray(to_dense(function(X, Y)), dtype=np.float64)


def _call(kernel: Any) -> Kernel:
    return CallableKernel(kernel, positive_semidefinite=True, takes="matrices")


def _radial(kernel: Any, base: Callable[[float], Kernel] = Gaussian) -> Kernel:
    """A radial kernel of the distance over one length scale, or over one for each column."""
    gammas = 1 / (2 * np.atleast_1d(np.asarray(kernel.length_scale, dtype=float)) ** 2)
    # With weights 2γ = 1/ℓ² the base has γ = ½.
    return base(float(gammas[0])) if gammas.size == 1 else ScaledInputs(base(0.5), 2 * gammas)


def _matern(kernel: Any) -> Kernel:
    if kernel.nu == np.inf:
        return _radial(kernel)
    if kernel.nu not in (0.5, 1.5, 2.5):
        return _call(kernel)
    return _radial(kernel, lambda gamma: Matern(gamma, float(kernel.nu)))


def _rational_quadratic(kernel: Any) -> Kernel:
    """(1 + ‖x − y‖²/(2αℓ²))^−α: a power of our kernels, whose α is 1 or ½, when 2α is an integer."""
    gamma = 1 / (2 * kernel.alpha * kernel.length_scale**2)
    if float(kernel.alpha).is_integer():
        return _power(RationalQuadratic(float(gamma)), int(kernel.alpha))
    if float(2 * kernel.alpha).is_integer():
        return _power(InverseMultiquadric(float(gamma)), int(2 * kernel.alpha))
    return _call(kernel)


def _dot_product(kernel: Any) -> Kernel:
    return Polynomial(1, 1.0, float(kernel.sigma_0**2)) if kernel.sigma_0 else Linear()


def _constants_last(kernel: Any) -> tuple[Kernel, Kernel]:
    """The two parts of a sum or product; of one constant and another kernel, the constant second."""
    left, right = kernel_of_gaussian_process(kernel.k1), kernel_of_gaussian_process(kernel.k2)
    return (right, left) if isinstance(left, Constant) else (left, right)


def _sum(kernel: Any) -> Kernel:
    left, right = _constants_last(kernel)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value + right.value)
    return left if isinstance(right, Constant) and right.value == 0 else left + right


def _product(kernel: Any) -> Kernel:
    left, right = _constants_last(kernel)
    if not isinstance(right, Constant):
        return left * right
    if isinstance(left, Constant):
        return Constant(left.value * right.value)
    return right if right.value == 0 else left * right.value


def _exponentiation(kernel: Any) -> Kernel:
    base = kernel_of_gaussian_process(kernel.kernel)
    if isinstance(base, Constant):
        return Constant(base.value**kernel.exponent)
    whole = float(kernel.exponent).is_integer() and kernel.exponent >= 1
    return _power(base, int(kernel.exponent)) if whole else _call(kernel)


def _pairwise(kernel: Any) -> Kernel:
    options = kernel.pairwise_kernels_kwargs or {}
    if isinstance(kernel.metric, str) and kernel.gamma is not None and set(options) <= {"degree", "coef0"}:
        # The number of columns, here 1, matters only where gamma is None.
        return kernel_of_pairwise(kernel.metric, 1, gamma=kernel.gamma, **options)
    return _call(kernel)


def _power(kernel: Kernel, exponent: int) -> Kernel:
    return kernel if exponent == 1 else kernel**exponent


_TRANSLATIONS: dict[type, Callable[[Any], Kernel]] = {
    theirs.RBF: _radial,
    theirs.Matern: _matern,
    theirs.RationalQuadratic: _rational_quadratic,
    theirs.DotProduct: _dot_product,
    theirs.ConstantKernel: lambda kernel: Constant(float(kernel.constant_value)),
    theirs.WhiteKernel: lambda kernel: Constant(0.0),
    theirs.Sum: _sum,
    theirs.Product: _product,
    theirs.Exponentiation: _exponentiation,
    theirs.PairwiseKernel: _pairwise,
}
