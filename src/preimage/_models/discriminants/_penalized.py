"""Canonical variates with a ridge, for many more variables than samples."""

import numpy as np
from scipy import linalg

from preimage._engine.arrays import epsilon
from preimage._engine.finite import refuse_overflowing_fit
from preimage._engine.linalg import eigh_descending, fix_signs, numerical_rank
from preimage._engine.typing import Array

# A matrix with this many times more columns than rows is decomposed by inner products of its rows, which then cost less
# than the decomposition itself; with fewer columns, singular values below √(nε) would be given up for little.
WIDE = 2


class PenalizedFisher:
    r"""Fisher's criterion with a ridge on data of any width, :math:`\Sigma_B w = \theta (\Sigma_W + \alpha I) w` (F12).

    :math:`\Sigma_B` and :math:`\Sigma_W` are the covariances between and within classes. With their sum, that of all
    data, the same vectors solve :math:`\Sigma_B w = \rho (\Sigma_T + \alpha I) w`, :math:`\rho = \theta / (1 +
    \theta)`. One singular value decomposition of the centred data diagonalises :math:`\Sigma_T`; labels and ridges
    need only another one with as many columns as classes, so that paths of ridges and permuted labels are cheap.

    Parameters
    ----------
    X : array of shape (n, d)
        In NumPy; single precision becomes double, since without a ridge weights are large and cancel.
    weights : array of shape (n,), optional
        How often each row counts; positive.

    Attributes
    ----------
    weights : array of shape (n,)
    mean : array of shape (d,)
    deviations : array of shape (r,)
        Standard deviations along the principal axes, r the rank of the centred data.
    axes : array of shape (r, d)
    scores : array of shape (n, r)
        Orthonormal columns: data along the axes, times √w, over √ℓ times the deviations; ℓ is the sum of weights.
    """

    def __init__(self, X: Array, weights: Array | None = None) -> None:
        X = X.astype(np.float64, copy=False)
        self.weights = np.ones(X.shape[0]) if weights is None else weights
        count = self.weights.sum()
        self.mean = self.weights @ X / count
        centered = X - self.mean
        centered *= np.sqrt(self.weights)[:, None]
        scores, values, axes = thin_svd(centered)
        # The norm of a matrix of rounding errors of size one is √n + √d; centring leaves some of the size of X.
        size = float(np.max(np.abs(X)) * np.sqrt(self.weights.max()))
        rank = numerical_rank(values, int(np.sqrt(X.shape).sum()) + 1, size)
        self.scores, self.axes = scores[:, :rank], axes[:rank]
        self.deviations = values[:rank] / np.sqrt(count)

    def directions(
        self, codes: Array, n_classes: int, ridge: float, n_components: int | None = None
    ) -> tuple[Array, Array, Array]:
        r"""The canonical variates of labelled data.

        Parameters
        ----------
        codes : integer array of shape (n,)
            Classes by number, each of 0 … n_classes − 1 at least once.
        n_classes : int
        ridge : float
            α ≥ 0, in units of variance.
        n_components : int, optional
            Variates to keep of at most n_classes − 1.

        Returns
        -------
        ratios : array of shape (k,)
            θ, in decreasing order.
        W : array of shape (d, k)
            :math:`W^\top (\Sigma_W + \alpha I) W = I`. Of two classes the second has the larger mean.
        means : array of shape (n_classes, k)
            Of the classes along the variates, from the mean of all data.
        """
        counts = np.bincount(codes, self.weights, n_classes)
        indicators = np.zeros((codes.size, n_classes))
        indicators[np.arange(codes.size), codes] = np.sqrt(self.weights / counts[codes])
        along = self.scores.T @ indicators  # (r, C)
        scale = np.sqrt(self.deviations**2 + ridge)
        vectors, roots, _ = robust_svd((self.deviations / scale)[:, None] * along)
        k = n_classes - 1 if n_components is None else min(n_components, n_classes - 1)
        vectors, rho = _padded(vectors, k), _padded(roots[None, :] ** 2, k)[0]
        left = np.maximum(1 - rho, epsilon(rho.dtype))
        reduced = vectors / scale[:, None] / np.sqrt(left)
        means = (self.deviations[:, None] * along * np.sqrt(self.weights.sum() / counts)).T @ reduced
        W = self.axes.T @ reduced
        signs = np.where(means[1] >= means[0], 1, -1) if n_classes == 2 else fix_signs(W)
        return rho / left, W * signs, means * signs


def thin_svd(A: Array) -> tuple[Array, Array, Array]:
    """The singular value decomposition; where rows are few and long, by their inner products, many times faster.

    Eigenvectors of AAᵀ determine singular values down to a fraction √(nε) of the largest; smaller ones are left out.
    The factors they give are orthonormal to about that accuracy, which one Cholesky factor and a decomposition of size
    n correct.
    """
    n, d = A.shape
    if d < WIDE * n:
        return robust_svd(A)
    squares, U = eigh_descending(A @ A.T)
    rank = numerical_rank(squares, n)
    if rank == 0:
        return U[:, :0], squares[:0], A[:0]
    U, roots = U[:, :rank], np.sqrt(squares[:rank])
    # A = U diag(roots) axes with rows of `axes` that are only nearly orthonormal. With axes = LQ for an orthonormal Q,
    # the small matrix diag(roots) L has the singular values of A.
    axes = (U.T @ A) / roots[:, None]
    try:
        L = np.linalg.cholesky(axes @ axes.T)
    except np.linalg.LinAlgError:
        return robust_svd(A)
    # The right singular vectors of A are right Q = right L⁻¹ axes.
    left, values, right = robust_svd(roots[:, None] * L)
    return U @ left, values, np.linalg.solve(L.T, right.T).T @ axes


def robust_svd(A: Array) -> tuple[Array, Array, Array]:
    """The singular value decomposition, by the slower of LAPACK's drivers where the faster one does not converge."""
    refuse_overflowing_fit("scores of the classes", A)  # LAPACK may never return
    try:
        return np.linalg.svd(A, full_matrices=False)
    except np.linalg.LinAlgError:  # seen on denoised data, which are numerically rank deficient
        return linalg.svd(A, full_matrices=False, lapack_driver="gesvd")


def _padded(columns: Array, k: int) -> Array:
    """The first k columns, with zeros where there are fewer: data of low rank have fewer variates than classes."""
    missing = k - columns.shape[1]
    return columns[:, :k] if missing <= 0 else np.pad(columns, ((0, 0), (0, missing)))
