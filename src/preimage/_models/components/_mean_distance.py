"""How far images of rows are from the mean of the others, where rows in dense places count more."""

from collections.abc import Callable

import numpy as np


def robust_mean_distances(
    evaluate: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    r"""Squared distances of images to a mean of the other rows, in which each counts by the density at it.

    .. math:: d_i = \Bigl\| \varphi(x_i) - \frac{\sum_{j \ne i} w_j f_j \varphi(x_j)}{\sum_{j \ne i} w_j f_j} \Bigr\|^2,
              \qquad f_i = \max\Bigl(0, \frac{\sum_{j \ne i} w_j k(x_i, x_j)}{\sum_{j \ne i} w_j}\Bigr).

    With a kernel of distances, f is the usual estimate of the density, and d falls as a smoother one grows: a group of
    outliers is far from the mean as long as most rows are elsewhere, however near to each other its members are. This
    is the first step from the plain mean to the robust density estimate of [1]_.

    Parameters
    ----------
    evaluate : callable
        Takes masses m of shape (n,), returns :math:`\sum_j m_j k(x_i, x_j)` for all rows i, shape (n,).
    diagonal : array of shape (n,)
        k(x, x).
    weights : array of shape (n,)
        w, how often each row counts. Of rows that count more than once, one copy is left out.

    Returns
    -------
    array of shape (n,)

    References
    ----------
    .. [1] J. Kim and C. D. Scott, "Robust kernel density estimation", Journal of Machine Learning Research 13, 2012. We
       take one step, and leave the row itself out.
    """
    one_copy = np.minimum(weights, 1)
    density, _ = _to_mean_of_others(evaluate(weights), diagonal, weights, one_copy)
    density = np.maximum(density, 0)
    masses = weights * density
    return _to_mean_of_others(evaluate(masses), diagonal, masses, one_copy * density)[1]


def _to_mean_of_others(
    values: np.ndarray, diagonal: np.ndarray, masses: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Inner products with the mean of the others and squared distances to it; `own` is the mass that is left out."""
    others = masses.sum() - own
    # Rows that are far from everything have no mass, and the mean of nothing is zero.
    exist = others > np.finfo(np.float64).eps * masses.sum()
    others = np.where(exist, others, 1.0)
    inner = np.where(exist, (values - own * diagonal) / others, 0.0)
    squared_norm = (masses @ values - 2 * own * values + own**2 * diagonal) / others**2
    return inner, diagonal - 2 * inner + np.where(exist, squared_norm, 0.0)
