"""Kernels of scikit-learn's Gaussian processes, as ours."""

import numpy as np
from sklearn.gaussian_process import kernels as theirs

from preimage.kernels import (
    CallableKernel,
    Constant,
    Gaussian,
    InverseMultiquadric,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    ScaledInputs,
)


def kernel_of_gaussian_process(kernel):
    """The covariance between a new point and a training point.

    Noise (WhiteKernel) is zero there, and is dropped. Kernels without a counterpart, also as parts of sums and
    products, become calls of scikit-learn, without a gradient.
    """
    # By the exact class: a subclass may compute something else.
    translate = _TRANSLATIONS.get(type(kernel), _call)
    return translate(kernel)


def _call(kernel):
    return CallableKernel(kernel, positive_semidefinite=True, takes="matrices")


def _radial(kernel, base):
    """A radial kernel of the distance over one length scale, or over one for each column."""
    gammas = 1 / (2 * np.atleast_1d(np.asarray(kernel.length_scale, dtype=float)) ** 2)
    # With weights 2γ = 1/ℓ² the base has γ = ½.
    return base(float(gammas[0])) if gammas.size == 1 else ScaledInputs(base(0.5), 2 * gammas)


def _rbf(kernel):
    return _radial(kernel, Gaussian)


def _matern(kernel):
    if kernel.nu == np.inf:
        return _radial(kernel, Gaussian)
    if kernel.nu not in (0.5, 1.5, 2.5):
        return _call(kernel)
    return _radial(kernel, lambda gamma: Matern(gamma, float(kernel.nu)))


def _rational_quadratic(kernel):
    """(1 + ‖x − y‖²/(2αℓ²))^−α: a power of our kernels, whose α is 1 or ½, when 2α is an integer."""
    gamma = 1 / (2 * kernel.alpha * kernel.length_scale**2)
    if float(kernel.alpha).is_integer():
        return _power(RationalQuadratic(float(gamma)), int(kernel.alpha))
    if float(2 * kernel.alpha).is_integer():
        return _power(InverseMultiquadric(float(gamma)), int(2 * kernel.alpha))
    return _call(kernel)


def _dot_product(kernel):
    return Polynomial(1, 1.0, float(kernel.sigma_0**2)) if kernel.sigma_0 else Linear()


def _constant(kernel):
    return Constant(float(kernel.constant_value))


def _noise(kernel):
    return Constant(0.0)


def _sum(kernel):
    left, right = kernel_of_gaussian_process(kernel.k1), kernel_of_gaussian_process(kernel.k2)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value + right.value)
    if isinstance(left, Constant):
        left, right = right, left
    return left if isinstance(right, Constant) and right.value == 0 else left + right


def _product(kernel):
    left, right = kernel_of_gaussian_process(kernel.k1), kernel_of_gaussian_process(kernel.k2)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value * right.value)
    if isinstance(left, Constant):
        left, right = right, left
    if not isinstance(right, Constant):
        return left * right
    return right if right.value == 0 else left * right.value


def _exponentiation(kernel):
    base = kernel_of_gaussian_process(kernel.kernel)
    if isinstance(base, Constant):
        return Constant(base.value**kernel.exponent)
    whole = float(kernel.exponent).is_integer() and kernel.exponent >= 1
    return _power(base, int(kernel.exponent)) if whole else _call(kernel)


def _pairwise(kernel):
    from preimage.interop._sklearn_kernels import kernel_of_pairwise

    options = kernel.pairwise_kernels_kwargs or {}
    if isinstance(kernel.metric, str) and kernel.gamma is not None and set(options) <= {"degree", "coef0"}:
        # The number of columns, here 1, matters only where gamma is None.
        return kernel_of_pairwise(kernel.metric, 1, gamma=kernel.gamma, **options)
    return _call(kernel)


def _power(kernel, exponent):
    return kernel if exponent == 1 else kernel**exponent


_TRANSLATIONS = {
    theirs.RBF: _rbf,
    theirs.Matern: _matern,
    theirs.RationalQuadratic: _rational_quadratic,
    theirs.DotProduct: _dot_product,
    theirs.ConstantKernel: _constant,
    theirs.WhiteKernel: _noise,
    theirs.Sum: _sum,
    theirs.Product: _product,
    theirs.Exponentiation: _exponentiation,
    theirs.PairwiseKernel: _pairwise,
}
