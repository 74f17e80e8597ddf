"""How far apart class means lie in feature space, as functions of the width of the kernel."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from preimage.widths._class_gram import ClassGram
from preimage.widths._enclosing_ball import Ball, gram_ball

# Values within this fraction of the largest count as one plateau: a curve that levels off for narrow kernels, of which
# the widest one is taken. Ten times more would take the flanks of a broad peak for a plateau.
PLATEAU = 1e-3
# Negative eigenvalues below this fraction of the largest squared norm are rounding errors of sums over classes. Larger
# ones are removed, which costs a full decomposition; they move the radius by as much as they are large.
POSITIVE = 1e-12


def squared_class_distances(G: np.ndarray) -> np.ndarray:
    """‖m_m − m_n‖² = G_mm + G_nn − 2G_mn over pairs m < n, shape (L, K(K − 1)/2), from G of shape (L, K, K).

    Estimates without pairs of a point with itself can be negative where classes are alike; they become zero.
    """
    diagonal = np.einsum("lkk->lk", G)
    left, right = np.triu_indices(G.shape[1], 1)
    return np.maximum(diagonal[:, left] + diagonal[:, right] - 2 * G[:, left, right], 0)


def class_balls(G: np.ndarray) -> list[Ball]:
    """The smallest ball around the class means for every width.

    Without pairs of a point with itself, estimates of G may have negative eigenvalues, so that no points have these
    inner products. The nearest matrix without negative eigenvalues on vectors of sum zero is used instead.
    """
    return [gram_ball(_euclidean(each)) for each in G]


def alignment(gram: ClassGram) -> np.ndarray:
    r"""Centred kernel–target alignment of every width, shape (L,).

    .. math:: \frac{\langle HKH, T\rangle}{\|HKH\|\, \|HTH\|}, \qquad T_{ij} = [y_i = y_j],

    the cosine of the angle between kernel matrix and the ideal one, H = I − 11ᵀ/N: what sums over classes, the sum of
    squares and row sums of K tell.
    """
    counts = gram.counts.astype(float)
    n = counts.sum()
    with_all = np.einsum("lmn,n->lm", gram.values, counts)  # mean over class m of the row sums
    total = with_all @ counts
    own = np.einsum("lkk->lk", gram.values) @ counts**2
    product = own - 2 / n * with_all @ counts**2 + total * (counts @ counts) / n**2
    squared_norm = gram.squared_norms - 2 / n * gram.squared_row_sums + total**2 / n**2
    target = counts @ counts - 2 / n * (counts**3).sum() + (counts @ counts) ** 2 / n**2
    return product / np.sqrt(np.maximum(squared_norm * target, np.finfo(float).tiny))


def dispersion(gram: ClassGram, criterion: str, unbiased: bool = True) -> np.ndarray:
    """One of the `CRITERIA` for every width, shape (L,); alignment has no unbiased variant."""
    if criterion == "alignment":
        return alignment(gram)
    return _DISPERSIONS[criterion](gram.unbiased if unbiased else gram.values)


def _distances(summary: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda G: summary(np.sqrt(squared_class_distances(G)))


_DISPERSIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "enclosing_ball": lambda G: np.array([ball.radius for ball in class_balls(G)]),
    "mean_distance": _distances(lambda d: d.mean(axis=1)),
    "median_distance": _distances(lambda d: np.median(d, axis=1)),
    "min_distance": _distances(lambda d: d.min(axis=1)),
    "max_distance": _distances(lambda d: d.max(axis=1)),
}

#: Names of curves over widths.
CRITERIA = (*_DISPERSIONS, "alignment")


@dataclass(frozen=True)
class Peak:
    """The largest value of a curve over widths.

    Parameters
    ----------
    index : int
        Its position on the grid: of a plateau, that of the smallest γ.
    gamma : float
        The width there, or at the top of the parabola through it and its neighbours.
    at_edge : {-1, 0, 1}
        Whether it is the first or last width of the grid, beyond which the curve may rise further.
    """

    index: int
    gamma: float
    at_edge: int


def find_peak(gammas: ArrayLike, values: ArrayLike, interpolate: bool = True) -> Peak | None:
    """The width of the largest value; of a plateau the smallest γ, which is the widest kernel.

    Parameters
    ----------
    gammas : array of shape (L,)
        Increasing.
    values : array of shape (L,)
    interpolate : bool, default=True
        Whether to go to the top of the parabola in log γ through the peak and its neighbours.

    Returns
    -------
    Peak or None
        None when no value is positive: the means cannot be told apart at any width.
    """
    gammas, values = np.asarray(gammas, dtype=float), np.asarray(values, dtype=float)
    top = int(np.argmax(values))
    if not values[top] > 0:
        return None
    index = top
    while index > 0 and values[index - 1] >= (1 - PLATEAU) * values[top]:
        index -= 1
    # A plateau of several values that ends with the grid is one; a single value there may lie on a rising curve.
    at_edge = -1 if index == 0 else int(index == len(values) - 1)
    # Two similar values may lie on both sides of a maximum; three are a plateau.
    is_peaked = 0 < top < len(values) - 1 and top - index < 2
    if not interpolate or at_edge or not is_peaked:
        return Peak(index, float(gammas[index]), at_edge if len(values) > 1 else 0)
    x = np.log(gammas[top - 1 : top + 2])
    return Peak(top, float(np.exp(_parabola_top(x, values[top - 1 : top + 2]))), 0)


def _parabola_top(x: np.ndarray, y: np.ndarray) -> float:
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    curvature = (right - left) / (x[2] - x[0])
    if not curvature < 0:
        return x[1]
    # The derivative at the middle of the first two is `left`; it falls to zero where the maximum is.
    top = (x[0] + x[1]) / 2 - left / (2 * curvature)
    return min(max(top, x[0]), x[2])


def _euclidean(G: np.ndarray) -> np.ndarray:
    """The nearest Gram matrix of points whose mean is zero."""
    means = G.mean(axis=0)
    centered = G - means[None, :] - means[:, None] + means.mean()
    centered = (centered + centered.T) / 2
    if _is_positive(centered):
        return centered
    # Leaving out negative eigenvalues gives the nearest positive semidefinite matrix in Frobenius norm.
    values, vectors = np.linalg.eigh(centered)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def _is_positive(centered: np.ndarray) -> bool:
    """Whether no eigenvalue is negative beyond rounding errors: a factorisation is much cheaper than all of them."""
    n = len(centered)
    scale = float(np.abs(np.diagonal(centered)).max())
    # The constant vector has the eigenvalue zero, which rounding may make negative; it is raised to the scale of the
    # others.
    try:
        np.linalg.cholesky(centered + scale / n + POSITIVE * scale * np.eye(n))
    except np.linalg.LinAlgError:
        return scale == 0
    return True
