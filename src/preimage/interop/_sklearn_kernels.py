"""Kernels of scikit-learn's support vector machines and of its pairwise functions, as ours."""

from numbers import Integral

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.metrics.pairwise import pairwise_kernels

from preimage._arrays import to_dense
from preimage.interop._gaussian_process_kernels import kernel_of_gaussian_process
from preimage.kernels import CallableKernel, Constant, Kernel, Precomputed, as_kernel

# Names with a counterpart here, and what it takes of gamma, degree and coef0.
_SCALED = ("rbf", "laplacian", "chi2", "poly", "polynomial", "sigmoid")
_UNSCALED = ("linear", "cosine", "additive_chi2")


def kernel_of_svm(kernel, *, gamma, degree, coef0):
    """The kernel of a fitted SVC, SVR or OneClassSVM; `gamma` is the number that it used.

    A function there takes two matrices and returns the matrix of values, dense or sparse.
    """
    if isinstance(kernel, str):
        return Precomputed() if kernel == "precomputed" else _named(kernel, gamma, degree, coef0)
    return _given(kernel) or CallableKernel(_matrix_of_values, {"function": kernel}, takes="matrices")


def kernel_of_pairwise(metric, n_features, *, gamma=None, degree=3, coef0=1.0, parameters=None):
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


def _given(kernel):
    """Kernels of this library and of Gaussian processes are functions of matrices as well; None for any other."""
    if isinstance(kernel, Kernel):
        return kernel
    return kernel_of_gaussian_process(kernel) if isinstance(kernel, GaussianProcessKernel) else None


def _has_counterpart(metric, degree):
    return not metric.startswith("poly") or isinstance(degree, Integral) or float(degree).is_integer()


def _named(name, gamma, degree, coef0):
    if name in _UNSCALED:
        return as_kernel(name)
    if name.startswith("poly") and degree == 0:
        return Constant(1.0)
    kernel = as_kernel(name, gamma=float(gamma) or 1.0, degree=int(degree), coef0=float(coef0))
    if gamma == 0:
        # scikit-learn allows γ = 0, which makes all inputs alike: the value at the origin, for any γ.
        return Constant(float(kernel(np.zeros((1, 1)))[0, 0]))
    return kernel


def _matrix_of_values(X, Y, function):
    return np.asarray(to_dense(function(X, Y)), dtype=np.float64)
