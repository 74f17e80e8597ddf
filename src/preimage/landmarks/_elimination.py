"""Elimination inside a small block of candidates: which become pivots, in which order."""

import numpy as np

# Rounding errors are estimated from above: a squared residual of twice the estimate is more than that.
MARGIN = 2


def eliminate(H, noise, choose, limit):
    """Choose pivots among b candidates by their residual matrix, projecting each out of the others.

    Parameters
    ----------
    H : array of shape (b, b)
        Residual inner products of the candidates, in NumPy.
    noise : array of shape (b,)
        Rounding errors of the squared residuals. A candidate within twice of them depends on the others, and is
        never chosen.
    choose : callable
        ``choose(H, is_open)`` names the next pivot among the open candidates, or None to stop.
    limit : int
        Largest number of pivots.

    Returns
    -------
    kept : list of positions, in order
    L : array of shape (len(kept), len(kept))
        Cholesky factor of H at the pivots.
    """
    H = np.array(H)
    diagonal = np.einsum("ii->i", H)  # a view: follows every update
    is_open = is_significant(diagonal, noise)
    kept, columns, update = [], [], np.empty_like(H)
    while len(kept) < limit:
        j = choose(H, is_open)
        if j is None:
            break
        column = H[:, j] / np.sqrt(H[j, j])
        noise = noise + column * column * (noise[j] / H[j, j])
        H -= np.multiply(column[:, None], column, out=update)
        kept.append(j)
        columns.append(column)
        is_open[j] = False
        is_open &= is_significant(diagonal, noise)
    L = np.stack(columns, axis=1)[kept] if kept else np.zeros((0, 0))
    return kept, np.tril(L)


def is_significant(residuals, noise):
    """Whether squared residuals are more than rounding errors."""
    return residuals > MARGIN * noise


def passed_noise(L, noise):
    """How much of its squared column each of some pivots, with Cholesky factor L, passes on as rounding error.

    Eliminating pivot p subtracts aᵢ = Rᵢₚ/Rₚₚ times its row from row i, and with it aᵢ² of its error: where a pivot has
    a residual far below those of others, errors are multiplied, whatever the precision of the arithmetic.
    """
    weights = np.zeros(L.shape[0])
    for t in range(L.shape[0]):
        weights[t] = (noise[t] + L[t, :t] ** 2 @ weights[:t]) / L[t, t] ** 2
    return weights


def in_order(H, is_open):
    """The first open candidate; those before it are pivots or depend on them."""
    return int(np.argmax(is_open)) if is_open.any() else None


def by_largest(score, at_least=0.0):
    """The open candidate with the largest score(H), if that is positive and reaches `at_least`."""

    def choose(H, is_open):
        scores = np.where(is_open, score(H), -np.inf)
        best = int(np.argmax(scores))
        return best if is_open[best] and scores[best] >= at_least else None

    return choose


def by_rejection(H, rng):
    """Candidates in order, each taken with probability residual now / residual when proposed."""
    thresholds = rng.random(H.shape[0]) * np.diagonal(H)
    order = iter(range(H.shape[0]))

    def choose(H, is_open):
        return next((j for j in order if is_open[j] and thresholds[j] < H[j, j]), None)

    return choose


def diagonal(H):
    """R_ii, the squared residuals  (G8)."""
    return np.diagonal(H)


def trace_gain(H, represented=None):
    """Decrease ‖Re_i‖²/R_ii of the trace by each candidate  (G5).

    With `represented`, the candidates are a sample of so many rows: their own term R_ii of the sum is known, and the
    others are scaled up.
    """
    own = np.diagonal(H)
    size = H.shape[0]
    scale = 1.0 if represented is None or size < 2 else (represented - 1) / (size - 1)
    others = np.einsum("ij,ij->j", H, H) - own * own
    return own + scale * others / np.where(own > 0, own, np.inf)
