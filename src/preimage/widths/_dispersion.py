"""How far apart class means lie in feature space, as functions of the width of the kernel."""

from dataclasses import dataclass

import numpy as np

from preimage.widths._enclosing_ball import enclosing_ball, multiplicative_weights_ball

# Values within this share of the largest count as one plateau.
PLATEAU = 1e-3
# Negative eigenvalues below this share of the largest squared norm are rounding errors.
POSITIVE = 1e-12


def squared_class_distances(G):
    """‖m_m − m_n‖² = G_mm + G_nn − 2G_mn over pairs m < n, shape (L, K(K − 1)/2), from G of shape (L, K, K).

    Estimates without pairs of a point with itself can be negative where classes are alike; they become zero.
    """
    diagonal = np.einsum("lkk->lk", G)
    left, right = np.triu_indices(G.shape[1], 1)
    return np.maximum(diagonal[:, left] + diagonal[:, right] - 2 * G[:, left, right], 0)


def class_balls(G, solve=enclosing_ball):
    """The smallest ball around the class means for every width.

    Without pairs of a point with itself G may have negative eigenvalues; the nearest matrix that has none, on vectors
    of sum zero, takes its place, as no points have the inner products that it says.
    """
    return [solve(_euclidean(each)) for each in G]


def alignment(gram):
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


def dispersion(gram, criterion, unbiased=True):
    """One of the `CRITERIA` for every width, shape (L,); alignment knows no unbiased variant."""
    if criterion == "alignment":
        return alignment(gram)
    return _DISPERSIONS[criterion](gram.unbiased if unbiased else gram.values)


def _distances(summary):
    return lambda G: summary(np.sqrt(squared_class_distances(G)))


_DISPERSIONS = {
    "enclosing_ball": lambda G: np.array([ball.radius for ball in class_balls(G)]),
    "mean_distance": _distances(lambda d: d.mean(axis=1)),
    "median_distance": _distances(lambda d: np.median(d, axis=1)),
    "min_distance": _distances(lambda d: d.min(axis=1)),
    "max_distance": _distances(lambda d: d.max(axis=1)),
    "primal_dual_ball": lambda G: np.array([b.radius for b in class_balls(G, multiplicative_weights_ball)]),
}

#: Names of curves over widths.
CRITERIA = (*_DISPERSIONS, "alignment")


@dataclass(frozen=True)
class Peak:
    """The largest value of a curve over widths.

    Parameters
    ----------
    index : int
        Its place on the grid: of a plateau, the one of the smallest γ.
    gamma : float
        The width there, or at the top of the parabola through it and its neighbours.
    at_edge : {-1, 0, 1}
        Whether it is the first or last width of the grid, beyond which the curve may rise further.
    """

    index: int
    gamma: float
    at_edge: int


def find_peak(gammas, values, interpolate=True):
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
    values = np.asarray(values, dtype=float)
    top = int(np.argmax(values))
    if not values[top] > 0:
        return None
    index = top
    while index > 0 and values[index - 1] >= (1 - PLATEAU) * values[top]:
        index -= 1
    # A plateau that goes on to the end of the grid has been seen; a single value there may be a slope.
    at_edge = -1 if index == 0 else int(index == len(values) - 1)
    # Two values alike may lie on both sides of a top; three are a plateau.
    is_peaked = 0 < top < len(values) - 1 and top - index < 2
    if not interpolate or at_edge or not is_peaked:
        return Peak(index, float(gammas[index]), at_edge if len(values) > 1 else 0)
    x = np.log(gammas[top - 1 : top + 2])
    return Peak(top, float(np.exp(_parabola_top(x, values[top - 1 : top + 2]))), 0)


def _parabola_top(x, y):
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    curvature = (right - left) / (x[2] - x[0])
    if not curvature < 0:
        return x[1]
    # The slope at the middle of the first two is `left`; it falls to zero where the top is.
    top = (x[0] + x[1]) / 2 - left / (2 * curvature)
    return min(max(top, x[0]), x[2])


def _euclidean(G):
    """The nearest Gram matrix of points whose mean is zero."""
    means = G.mean(axis=0)
    centered = G - means[None, :] - means[:, None] + means.mean()
    centered = (centered + centered.T) / 2
    if _is_positive(centered):
        return centered
    values, vectors = np.linalg.eigh(centered)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def _is_positive(centered):
    """Whether no eigenvalue is negative beyond rounding errors: a factorisation is much cheaper than all of them."""
    n = len(centered)
    scale = float(np.abs(np.diagonal(centered)).max())
    # The constant vector has the eigenvalue zero; it gets one of the scale of the others.
    try:
        np.linalg.cholesky(centered + scale / n + POSITIVE * scale * np.eye(n))
    except np.linalg.LinAlgError:
        return scale == 0
    return True
