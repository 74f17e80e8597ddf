"""scikit-learn's kernel PCA and Nyström map as kernel machines whose outputs are coordinates."""

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.validation import check_is_fitted

from preimage.feature_space import Expansion
from preimage.interop._private import centring_of
from preimage.interop._sklearn import double_points, machine_of
from preimage.interop._sklearn_kernels import kernel_of_pairwise
from preimage.kernels import Precomputed
from preimage.machines._machine import KernelMachine
from preimage.machines.outputs import Coordinates


@machine_of.register
def _(pca: KernelPCA):
    r"""Axes and mean, as those of `preimage.KernelPCA`; an error of an axis counts by its variance.

    Coordinates are :math:`(k(x) - \bar k(x) 1 - r + \bar r)^T A` with the means :math:`\bar k(x)` of the row k(x) and r
    of the columns of the training matrix: an expansion with coefficients HA, whose columns have the sum zero.
    """
    check_is_fitted(pca)
    column_means, mean = centring_of(pca)
    inverse = np.divide(1, np.sqrt(pca.eigenvalues_), out=np.zeros_like(pca.eigenvalues_), where=pca.eigenvalues_ > 0)
    A = np.asarray(pca.eigenvectors_ * inverse, dtype=np.float64)
    offset = -(column_means - mean) @ A
    A = A - np.mean(A, axis=0)
    n, k = A.shape
    weights = np.sqrt(pca.eigenvalues_ / n)
    if pca.kernel == "precomputed":
        # The training matrix is not kept: compression asks for it.
        return _features(pca, Precomputed(), np.arange(n)[:, None], A, offset, k, weights)
    points = double_points(pca.X_fit_)
    kernel = _kernel(pca, points, gamma=pca.gamma_)
    if kernel.is_positive_semidefinite:
        # What comes after the axes is the mean, for the way back, which needs a norm.
        A, offset, weights = np.c_[A, np.full(n, 1 / n)], np.r_[offset, 0.0], np.r_[weights, 1.0]
    return _features(pca, kernel, points, A, offset, k, weights)


@machine_of.register
def _(nystroem: Nystroem):
    check_is_fitted(nystroem)
    A = np.asarray(nystroem.normalization_.T, dtype=np.float64)
    offset = np.zeros(A.shape[1])
    if nystroem.kernel == "precomputed":
        points = np.asarray(nystroem.component_indices_, dtype=np.int64)[:, None]
        return _features(nystroem, Precomputed(), points, A, offset, A.shape[1])
    points = double_points(nystroem.components_)
    kernel = _kernel(nystroem, points, gamma=nystroem.gamma)
    return _features(nystroem, kernel, points, A, offset, A.shape[1])


def _kernel(model, points, gamma):
    given = {"degree": model.degree, "coef0": model.coef0}
    return kernel_of_pairwise(
        model.kernel,
        points.shape[1],
        gamma=gamma,
        **{name: value for name, value in given.items() if value is not None},
        parameters=model.kernel_params,
    )


def _features(model, kernel, points, A, offset, k, weights=None):
    return KernelMachine(
        Expansion(kernel, points, A),
        offset,
        Coordinates(k),
        model.n_features_in_,
        getattr(model, "feature_names_in_", None),
        weights,
    )
