"""The part of new points outside the span of the training points, and what Gaussian kernels lose by it."""

import numpy as np

from preimage._engine.arrays import to_dense
from preimage._engine.linalg import numerical_rank, top_eigh
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array, Rows
from preimage.exceptions import UnsupportedKernelError
from preimage.inflation._samples import mean
from preimage.kernels import Gaussian, Kernel

# exp(700) is the largest power that leaves room for a factor; kernel values of more distant points have underflowed.
LARGEST_EXPONENT = 700.0
# Differences from the constant up to this fraction of it are rounding errors, which no factor should enlarge.
ROUNDING = 16 * float(np.finfo(float).eps)
# A point is needed to span the data when its leverage is one up to the rounding errors of eigenvectors.
LEVERAGE_TOLERANCE = 1e-8


class TrainingSpan:
    r"""The span of training points, and the squared distances :math:`\|x^\perp\|^2` of other points to it.

    Parameters
    ----------
    points : array or sparse matrix of shape (n, d)
    affine : bool, default=False
        The affine hull of the points, which does not depend on where zero is, instead of their linear span.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._orthogonal import TrainingSpan
    >>> span = TrainingSpan(np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]))
    >>> span.squared_distances(np.array([[5.0, 5.0, 3.0]]))
    array([9.])
    """

    def __init__(self, points: Rows, affine: bool = False) -> None:
        points = np.asarray(to_dense(points), dtype=np.float64)
        if points.ndim != 2:
            raise ValueError(f"TrainingSpan needs points of shape (n, d); got shape {points.shape}.")
        self.affine = affine
        self.origin = points.mean(axis=0) if affine else np.zeros(points.shape[1])
        _, sizes, axes = np.linalg.svd(points - self.origin, full_matrices=False)
        self.axes = axes[: numerical_rank(sizes, max(points.shape))]

    def squared_distances(self, X: Rows) -> Array:
        """‖x⊥‖² of every row, shape (m,)."""
        if X.shape[1] != self.origin.size:
            raise ValueError(f"X has {X.shape[1]} columns; the training points have {self.origin.size}.")
        return map_rows(self._squared_distances, X)

    def _squared_distances(self, rows: Rows) -> Array:
        rows = np.asarray(to_dense(rows), dtype=np.float64) - self.origin
        # The residual itself: a difference of squared lengths would lose small distances to rounding.
        return ((rows - (rows @ self.axes.T) @ self.axes) ** 2).sum(axis=1)


def left_out_distances(gram: Array, affine: bool = False) -> Array:
    r"""Squared distance of every point to the span of the others, from their Gram matrix.

    :math:`\|x_n^\perp\|^2 = 1 / (G^{-1})_{nn}`; for the affine hull :math:`1 / (K_c^+)_{nn}` with the centred Gram
    matrix. Points that the others span anyway, as with more points than dimensions or with duplicates, have distance
    zero, which their leverage tells: there the quotient is a different number.

    Parameters
    ----------
    gram : array of shape (n, n)
        Inner products, or the values of any kernel: distances are then in its feature space.
    affine : bool, default=False
        Distances to the affine hull of the others.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._orthogonal import left_out_distances
    >>> X = np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 5.0, 0.0]])
    >>> left_out_distances(X @ X.T)
    array([9., 0., 0.])
    """
    values, vectors = spectrum(gram, centered=affine)
    return heights(values, vectors, centered=affine)


def spectrum(
    gram: Array, centered: bool, count: int | None = None, weights: Array | None = None
) -> tuple[Array, Array]:
    """Positive eigenvalues, descending, and eigenvectors of a Gram matrix or of its centred form; all, or the first.

    With weights, of D^½ K_c D^½, with the weighted mean for the origin.
    """
    gram = np.asarray(gram, dtype=np.float64)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not gram.size:
        raise ValueError(f"A Gram matrix has shape (n, n); got shape {gram.shape}.")
    if not np.isfinite(gram).all():
        raise ValueError(
            "The Gram matrix has entries that are not finite: there are missing values in the data, or so large ones "
            "that their inner products overflow. Impute or drop them, and scale the data."
        )
    K = gram
    if centered:
        means = mean(gram, weights)
        K = gram - means - means[:, None] + mean(means, weights)
    if weights is not None:
        K = np.sqrt(weights)[:, None] * K * np.sqrt(weights)
    values, vectors = top_eigh((K + K.T) / 2, None if count is None else min(count, len(K)))
    largest = 1.0 if weights is None else weights.max(initial=0.0)
    # Relative to the entries before centring: their rounding errors remain when centring cancels most of the matrix.
    rank = numerical_rank(values, len(K), largest * np.abs(gram).max())
    return values[:rank], vectors[:, :rank]


def heights(values: Array, vectors: Array, centered: bool) -> Array:
    """Squared distances of points to the span of the others, from `spectrum`."""
    inverse = (vectors**2 / values).sum(axis=1)
    counts = is_needed(vectors, centered) & (inverse > 0)
    return np.where(counts, 1 / np.where(counts, inverse, 1), 0.0)


def is_needed(vectors: Array, centered: bool, weights: Array | None = None) -> Array:
    """Which points lie outside the span of the others, from the eigenvectors of `spectrum`: their leverage is one."""
    fractions = 1 / len(vectors) if weights is None else weights / weights.sum()
    leverage = (vectors**2).sum(axis=1) + (fractions if centered else 0.0)
    return leverage > 1 - LEVERAGE_TOLERANCE


def restore_lost_projection(values: Array, constant: float | Array, squared_distances: Array, gamma: float) -> Array:
    r"""Undo what values of a Gaussian kernel expansion lose because points lie outside the training span.

    For training points :math:`\|x_n - x\|^2 = \|x_n - x^\parallel\|^2 + \|x^\perp\|^2`, so that an expansion with a
    constant is :math:`f(x) = e^{-\gamma \|x^\perp\|^2} \sum_n \alpha_n k(x^\parallel, x_n) + c`, and

    .. math:: f'(x) = e^{\gamma \|x^\perp\|^2} (f(x) - c) + c

    is its value at the projection. The constant is the intercept of a decision function, and minus the offset of
    kernel principal components; it is not scaled, contrary to [1]_. Values that differ from it by rounding errors only
    become the constant.

    Parameters
    ----------
    values : array of shape (m,) or (m, q)
    constant : float or array of shape (q,)
    squared_distances : array of shape (m,)
        :math:`\|x^\perp\|^2`; see `TrainingSpan`.
    gamma : float
        Of the kernel exp(−γ‖x − y‖²).

    Returns
    -------
    array of the shape of `values`

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "A Cure for Variance Inflation in High Dimensional Kernel Principal Component
       Analysis", JMLR 12, 2011.
    """
    values = np.asarray(values, dtype=np.float64)
    exponent = np.clip(gamma * np.asarray(squared_distances, dtype=np.float64), 0, LARGEST_EXPONENT)
    factor = np.exp(exponent).reshape((-1,) + (1,) * (values.ndim - 1))
    # Differences at the level of rounding would be magnified by e^{γ‖x⊥‖²}, so they are set to zero.
    lost = values - constant
    return factor * np.where(np.abs(lost) > ROUNDING * np.abs(constant), lost, 0.0) + constant


def gaussian_gamma(who: str, kernel: Kernel) -> float:
    """γ of a Gaussian kernel; other kernels do not split into a factor along the span and one across it."""
    if type(kernel) is Gaussian:
        return float(kernel.gamma)
    raise UnsupportedKernelError(
        f"{who} needs the Gaussian kernel, exp(−γ‖x − y‖²): only there is what a point loses outside the training span "
        f"a factor; got {kernel!r}. method='transfer' works with any kernel."
    )
