"""Elimination inside a small block of candidates: which become pivots, in which order."""

import numpy as np

# Rounding errors are estimated from above: a squared residual of twice the estimate is more than that.
MARGIN = 2
# Squared norms that have fallen below this share of what they were computed from are computed again.
LOST = 1e-6
# Of pivots whose gains differ by this fraction, the one with the longest residual is taken: it is the safest. Gains
# from a sample are uncertain, and smaller for long candidates, whose own term is not scaled up; where one direction is
# left and all are equally good, the shortest would be taken.
TIE, SAMPLED_TIE = 1e-6, 0.02


class Residuals:
    """What is left of b candidates while pivots are projected out of them, column by column.

    The residual matrix itself is never brought up to date: a pivot needs its own column, and rules need the diagonal,
    or the squared norms of columns.

    Parameters
    ----------
    H : array of shape (b, b)
        Residual inner products at the start.
    limit : int
        Largest number of pivots.
    """

    def __init__(self, H, limit):
        self.H = H
        self.own = np.diagonal(H).copy()
        #: The largest residual at the start; squares are in units of its square, which may have no place in floats.
        self.unit = max(self.own.max(initial=0.0), np.finfo(float).tiny)
        self._columns = np.empty((min(limit, H.shape[0]), H.shape[0]))
        self._count = 0
        self._squares, self._size = None, 0.0

    @property
    def squares(self):
        """‖Re_i‖² of every candidate over unit², computed when first asked for and followed from then on."""
        if self._squares is None or self._squares.max() < LOST * self._size:
            P = self._columns[: self._count]
            left = (self.H if not self._count else self.H - P.T @ P) / self.unit
            self._squares = np.einsum("ij,ij->j", left, left)
            self._size = self._squares.max()
        return self._squares

    def project_out(self, j):
        """Make candidate j a pivot; returns its column over the root of its residual."""
        P = self._columns[: self._count]
        column = (self.H[j] - P[:, j] @ P) / np.sqrt(self.own[j])
        if self._squares is not None:
            scaled = column / np.sqrt(self.unit)
            image = (self.H @ scaled - P.T @ (P @ scaled)) / self.unit
            self._squares = self._squares - 2 * scaled * image + scaled**2 * (scaled @ scaled)
        self.own = self.own - column * column
        self._columns[self._count] = column
        self._count += 1
        return column


def eliminate(H, floor, choose, limit):
    """Choose pivots among b candidates by their residual matrix, projecting each out of the others.

    Parameters
    ----------
    H : array of shape (b, b)
        Residual inner products of the candidates, in NumPy.
    floor : array of shape (b,)
        Least rounding errors of the squared residuals. A candidate within twice of them depends on the others, and is
        never chosen. Errors can be larger, by how much depends on the pivots (G18): those who call look at the result.
    choose : callable
        ``choose(residuals, is_open)`` names the next pivot among the open candidates, or None to stop.
    limit : int
        Largest number of pivots.

    Returns
    -------
    kept : list of positions, in order
    L : array of shape (len(kept), len(kept))
        Cholesky factor of H at the pivots.
    """
    left = Residuals(np.asarray(H, dtype=float), limit)
    is_open = is_significant(left.own, floor)
    kept, columns = [], []
    while len(kept) < limit:
        j = choose(left, is_open)
        if j is None:
            break
        columns.append(left.project_out(j))
        kept.append(j)
        is_open[j] = False
        is_open &= is_significant(left.own, floor)
    L = np.stack(columns, axis=1)[kept] if kept else np.zeros((0, 0))
    return kept, np.tril(L)


def is_significant(residuals, errors):
    """Whether squared residuals are more than rounding errors."""
    return residuals > MARGIN * errors


def in_order(left, is_open):
    """The first open candidate; those before it are pivots or depend on them."""
    return int(np.argmax(is_open)) if is_open.any() else None


def by_largest(score, at_least=0.0, tie=TIE):
    """The open candidate with the largest score of its residuals, if that is positive and reaches `at_least`."""

    def choose(left, is_open):
        if not is_open.any():
            return None
        scores = np.where(is_open, score(left), -np.inf)
        best = longest_of_best(scores, np.where(is_open, left.own, -np.inf), tie)
        return best if scores[best] >= at_least else None

    return choose


def by_rejection(H, rng):
    """Candidates in order, each taken with probability residual now / residual when proposed."""
    thresholds = rng.random(H.shape[0]) * np.diagonal(H)
    order = iter(range(H.shape[0]))

    def choose(left, is_open):
        return next((j for j in order if is_open[j] and thresholds[j] < left.own[j]), None)

    return choose


def diagonal(left):
    """R_ii, the squared residuals  (G8)."""
    return left.own


def trace_gain(left, represented=None):
    """Decrease ‖Re_i‖²/R_ii of the trace by each candidate (G5), in units of the largest residual.

    With `represented`, the candidates are a sample of so many rows: their own term R_ii of the sum is known, and the
    others are scaled up.
    """
    own, size = left.own / left.unit, left.own.size
    scale = 1.0 if represented is None or size < 2 else (represented - 1) / (size - 1)
    return own + scale * (left.squares - own * own) / np.where(own > 0, own, np.inf)


def longest_of_best(scores, own, tie=TIE):
    """The candidate with the longest residual among those whose scores are within a fraction `tie` of the largest."""
    return int(np.argmax(np.where(scores >= (1 - tie) * scores.max(), own, -np.inf)))
