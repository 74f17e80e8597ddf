"""Probabilities of classes from those of pairs of classes, as libsvm has them."""

import numpy as np
from scipy.special import expit

from preimage._engine.rows import map_rows
from preimage._engine.typing import Array

# Constants of libsvm, whose numbers these are: pairwise probabilities stay MARGIN away from zero and one, and
# the coupling of n classes stops when derivatives agree to STOPPING_GAP/n, or after so many sweeps (n if more).
MARGIN = 1e-7
STOPPING_GAP = 0.005
MOST_SWEEPS = 100

# Coupling holds a matrix of classes by classes for each row, 1.6 MB for ten classes and this many rows. Ten times more
# would only take more memory.
BLOCK_ROWS = 2048


def class_probabilities(F: np.ndarray, probA: Array, probB: Array, n_classes: int) -> np.ndarray:
    r"""P(class t) from values of the functions that separate pairs, shape (q, n_classes).

    Each pair (i, j), i < j, has the probability :math:`r_{ij} = 1/(1 + \exp(A f + B))` of its first class [1]_; the
    pairs are coupled by method 2 of [2]_.

    References
    ----------
    .. [1] J. Platt, "Probabilistic Outputs for Support Vector Machines",
       1999.
    .. [2] T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability Estimates for Multi-class Classification by Pairwise Coupling",
       JMLR 5, 2004.
    """
    first_wins = np.clip(expit(-(F * probA + probB)), MARGIN, 1 - MARGIN)
    return map_rows(lambda rows: couple(rows, n_classes), first_wins, rows=BLOCK_ROWS)


def couple(first_wins: np.ndarray, n_classes: int) -> np.ndarray:
    r"""Minimise :math:`\sum_t \sum_{j \ne t} (r_{jt} p_t - r_{tj} p_j)^2` over distributions p, for every row.

    The minimum of pᵀQp is where all (Qp)ₜ equal pᵀQp. Coordinates are updated in turn and p is normalised after each,
    until they agree to 0.005/n_classes: not a minimum to the last digit, but libsvm's numbers.
    """
    p = np.full((first_wins.shape[0], n_classes), 1 / n_classes)
    Q = _quadratic_form(first_wins, n_classes)
    rows = np.arange(p.shape[0])  # those that have not converged
    for _ in range(max(MOST_SWEEPS, n_classes)):
        Qp = np.einsum("qtj,qj->qt", Q[rows], p[rows])
        pQp = np.sum(p[rows] * Qp, axis=1)
        unfinished = np.max(np.abs(Qp - pQp[:, None]), axis=1) >= STOPPING_GAP / n_classes
        if not unfinished.any():
            break
        rows = rows[unfinished]
        p[rows] = _sweep(Q[rows], p[rows], Qp[unfinished], pQp[unfinished])
    return p


def _sweep(Q: np.ndarray, p: np.ndarray, Qp: np.ndarray, pQp: np.ndarray) -> np.ndarray:
    """One update of each coordinate."""
    for t in range(p.shape[1]):
        curvature = Q[:, t, t]
        # Solves (Qp)ₜ = pᵀQp for coordinate t with pᵀQp held fixed; then p, Qp and pQp are rescaled to Σp = 1.
        step = (pQp - Qp[:, t]) / curvature
        p[:, t] += step
        pQp = (pQp + step * (step * curvature + 2 * Qp[:, t])) / (1 + step) / (1 + step)
        Qp = (Qp + step[:, None] * Q[:, t]) / (1 + step)[:, None]
        p = p / (1 + step)[:, None]
    return p


def _quadratic_form(first_wins: np.ndarray, n_classes: int) -> np.ndarray:
    """Q with Qₜₜ = Σⱼ rⱼₜ² and Qₜⱼ = −rⱼₜ rₜⱼ."""
    first, second = np.triu_indices(n_classes, 1)
    R = np.zeros((first_wins.shape[0], n_classes, n_classes))
    R[:, first, second] = first_wins
    R[:, second, first] = 1 - first_wins
    Q = -R * R.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    Q[:, diagonal, diagonal] = np.sum(R**2, axis=1)
    return Q
