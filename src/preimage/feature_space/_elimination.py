"""What decides about new pivots of a growing span: elimination inside a block, the factor among pivots, rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from preimage._engine.typing import Array

# Rounding errors are estimated from above, so twice the estimate is certainly more than rounding. With 20, selections
# of wide kernels would stop a decade of the residual trace earlier.
MARGIN = 2
# ‖Re_i‖² is updated by subtraction. Below this fraction of the largest value it started from, half of the digits may be
# lost, and it is computed again from the matrix; ten times more often would cost more than the elimination itself.
LOST = 1e-6
# Of pivots whose scores differ by less than this fraction, the one with the largest residual is taken: it is the least
# affected by rounding. Scores over all rows are exact up to accumulated rounding.
TIE = 1e-6

# A rule: the position of the next pivot among the open candidates, or None to stop.
Rule = Callable[["BlockResiduals", np.ndarray], int | None]


class BlockResiduals:
    """Residual inner products of b candidates while pivots are projected out of them, column by column.

    The residual matrix itself is never updated: a pivot needs its own column, and rules need the diagonal or the
    squared norms of the columns.

    Parameters
    ----------
    H : array of shape (b, b)
        Residual inner products at the start.
    limit : int
        Largest number of pivots.
    """

    def __init__(self, H: np.ndarray, limit: int) -> None:
        self.H = H
        #: Squared residuals R_ii of the candidates.
        self.diagonal = np.diagonal(H).copy()
        #: The largest squared residual at the start. Squares are divided by its square, which could overflow.
        self.unit = max(self.diagonal.max(initial=0.0), np.finfo(float).tiny)
        self._columns = np.empty((min(limit, H.shape[0]), H.shape[0]))
        self._count = 0
        self._squares: np.ndarray | None = None
        self._size = 0.0

    @property
    def squares(self) -> np.ndarray:
        """‖Re_i‖²/unit² for every candidate; computed at the first call and updated from then on."""
        if self._squares is None or self._squares.max() < LOST * self._size:
            P = self._columns[: self._count]
            residual = (self.H if not self._count else self.H - P.T @ P) / self.unit
            self._squares = np.einsum("ij,ij->j", residual, residual)
            self._size = self._squares.max()
        return self._squares

    def project_out(self, j: int) -> np.ndarray:
        """Make candidate j a pivot; returns its residual column over the root of its residual."""
        P = self._columns[: self._count]
        # A step of a pivoted Cholesky factorisation: row j of the residual H − PᵀP over the root of its diagonal entry.
        # That entry is taken from the row. `diagonal` is updated by subtraction and differs from it by rounding, and a
        # row over the root of the other is no factor of H where residuals are small: with a residual of 1e-14, a
        # rounding error of 1e-16 made errors of 1e-11 in the products.
        row = self.H[j] - P[:, j] @ P
        column = row / np.sqrt(row[j] if row[j] > 0 else self.diagonal[j])
        if self._squares is not None:
            scaled = column / np.sqrt(self.unit)
            # With R ← R − ccᵀ the squared norm of row i changes by −2cᵢ(Rc)ᵢ + cᵢ²‖c‖².
            image = (self.H @ scaled - P.T @ (P @ scaled)) / self.unit
            self._squares = self._squares - 2 * scaled * image + scaled**2 * (scaled @ scaled)
        self.diagonal = self.diagonal - column * column
        self._columns[self._count] = column
        self._count += 1
        return column


def eliminate(H: Array, floor: np.ndarray, choose: Rule, limit: int) -> tuple[list[int], np.ndarray]:
    """Choose pivots among b candidates by their residual matrix, projecting each out of the others.

    Parameters
    ----------
    H : array of shape (b, b)
        Residual inner products of the candidates, in NumPy.
    floor : array of shape (b,)
        Smallest rounding errors of the squared residuals. A candidate within `MARGIN` times of them depends on the
        others and is never chosen. Errors can be larger, depending on the pivots (G18): callers check the result.
    choose : callable
        ``choose(residuals, is_open)`` returns the position of the next pivot among the open candidates, or None.
    limit : int
        Largest number of pivots.

    Returns
    -------
    kept : list of positions, in order
    L : array of shape (len(kept), len(kept))
        Cholesky factor of H at the pivots.
    """
    residuals = BlockResiduals(np.asarray(H, dtype=float), limit)
    is_open = is_significant(residuals.diagonal, floor)
    kept: list[int] = []
    columns = []
    while len(kept) < limit:
        j = choose(residuals, is_open)
        if j is None:
            break
        columns.append(residuals.project_out(j))
        kept.append(j)
        is_open[j] = False
        is_open &= is_significant(residuals.diagonal, floor)
    L = np.stack(columns, axis=1)[kept] if kept else np.zeros((0, 0))
    return kept, np.tril(L)


def is_significant(residuals: Array, errors: Array) -> Array:
    """Whether squared residuals are larger than rounding errors."""
    return residuals > MARGIN * errors


def in_order(residuals: BlockResiduals, is_open: np.ndarray) -> int | None:
    """The first open candidate; those before it are pivots or depend on them."""
    return int(np.argmax(is_open)) if is_open.any() else None


def by_largest(
    score: Callable[[BlockResiduals], np.ndarray] | None = None, at_least: float = 0.0, tie: float = TIE
) -> Rule:
    """The open candidate with the largest score, if that reaches `at_least`; by default the largest residual  (G8)."""

    def choose(residuals: BlockResiduals, is_open: np.ndarray) -> int | None:
        if not is_open.any():
            return None
        diagonal = np.where(is_open, residuals.diagonal, -np.inf)
        scores = diagonal if score is None else np.where(is_open, score(residuals), -np.inf)
        best = longest_of_best(scores, diagonal, tie)
        return best if scores[best] >= at_least else None

    return choose


def by_rejection(H: np.ndarray, rng: np.random.Generator) -> Rule:
    """Candidates in order, each taken with probability (residual now) / (residual when proposed)."""
    thresholds = rng.random(H.shape[0]) * np.diagonal(H)
    order: Iterator[int] = iter(range(H.shape[0]))

    def choose(residuals: BlockResiduals, is_open: np.ndarray) -> int | None:
        return next((j for j in order if is_open[j] and thresholds[j] < residuals.diagonal[j]), None)

    return choose


def longest_of_best(scores: np.ndarray, diagonal: np.ndarray, tie: float = TIE) -> int:
    """The candidate with the largest residual among those whose scores are within a fraction `tie` of the largest."""
    return int(np.argmax(np.where(scores >= (1 - tie) * scores.max(), diagonal, -np.inf)))


@dataclass(frozen=True)
class Proposal:
    """Rows that may join a `GrowingSpan` next, and the rule by which elimination chooses among them.

    Attributes
    ----------
    numbers : integer array of shape (b,)
        Numbers of rows, in NumPy.
    choose : callable
        A rule of elimination, see `eliminate`. The default takes the rows in order, without those that depend on the
        span or on rows before them.
    most : int or None
        Largest number of rows to take.
    floor : array of shape (b,), optional
        Rows are taken while their squared residual is more than twice this. Default: the rounding error of k(x, x).
    block : array of shape (b, b), optional
        Residual inner products of the rows, where they have been computed.
    columns : array of shape (b, n), optional
        Residual inner products of these and all rows, where they have been computed.

    See Also
    --------
    GrowingSpan : The span that they join.
    preimage.landmarks.LandmarkSelector : Its `propose` returns a proposal.

    Examples
    --------
    The second row is a multiple of the first, and does not join:

    >>> import numpy as np
    >>> from preimage.feature_space import GrowingSpan, Proposal
    >>> from preimage.kernels import Linear
    >>> span = GrowingSpan(Linear(), np.array([[2.0, 0.0], [1.0, 0.0], [1.0, 3.0]]))
    >>> span.extend(Proposal(np.array([0, 1, 2])))
    2
    >>> span.pivots
    array([0, 2])
    """

    numbers: np.ndarray
    choose: Rule = in_order
    most: int | None = None
    floor: np.ndarray | None = None
    block: np.ndarray | None = None
    columns: Array | None = None


@dataclass(frozen=True)
class Pivots:
    """Some b pivots after the first m.

    Attributes
    ----------
    numbers : integer array of shape (b,)
        Row numbers, -1 for points that are no rows.
    along : array of shape (m, b)
        Their coordinates along the first m axes.
    L : array of shape (b, b)
        Cholesky factor of what these axes leave of the kernel among them.
    coefficients : array of shape (b, m + b)
        Of their axes, on the earlier pivots and on themselves.
    floor : array of shape (b,)
        Rounding errors of k(x, x).
    """

    numbers: np.ndarray
    along: np.ndarray
    L: np.ndarray
    coefficients: np.ndarray
    floor: np.ndarray

    def first(self, count: int) -> Pivots:
        columns = self.along.shape[0] + count
        L, coefficients = self.L[:count, :count], self.coefficients[:count, :columns]
        return Pivots(self.numbers[:count], self.along[:, :count], L, coefficients, self.floor[:count])


class PivotFactor:
    r"""The factor L of the kernel matrix :math:`W = L L^\top` among pivots, and its inverse; both grow by blocks.

    Row r of L has the coordinates of pivot r along the axes, row r of :math:`L^{-1}` the coefficients of axis r on the
    pivots. Both are in NumPy and in double precision.

    Attributes
    ----------
    numbers : integer array of shape (m,)
        Row numbers of the pivots, -1 for those that are no rows.
    floor : array of shape (m,)
        Rounding errors of k(x, x) of the pivots.
    """

    def __init__(self, capacity: int) -> None:
        self.numbers, self.floor = np.zeros(0, dtype=np.int64), np.zeros(0)
        self._L, self._inverse = np.zeros((capacity, capacity)), np.zeros((capacity, capacity))

    def __len__(self) -> int:
        return self.numbers.size

    @property
    def coefficients(self) -> np.ndarray:
        """L⁻¹, shape (m, m)."""
        return self._inverse[: len(self), : len(self)]

    def followed_by(self, numbers: np.ndarray, along: np.ndarray, L: np.ndarray, floor: np.ndarray) -> Pivots:
        """The next pivots, with the coefficients of their axes; parameters are attributes of `Pivots`."""
        inverse = 1 / L if L.shape[0] == 1 else np.linalg.solve(L, np.eye(L.shape[0]))
        coefficients = np.concatenate([-inverse @ (along.T @ self.coefficients), inverse], axis=1)
        return Pivots(numbers, along, L, coefficients, floor)

    def count_sound(self, pivots: Pivots) -> int:
        """How many of the next pivots, from the first on, have residuals beyond rounding.

        The axis of a pivot with coefficients c has length one; rounding moves the square of that by Σ cᵢ²·floorᵢ (G18).
        """
        floor = np.append(self.floor, pivots.floor)
        is_sound = is_significant(1.0, (pivots.coefficients * pivots.coefficients) @ floor)
        return len(is_sound) if is_sound.all() else int(np.argmin(is_sound))

    def append(self, pivots: Pivots) -> None:
        m, stop = len(self), len(self) + len(pivots.numbers)
        self._make_room(stop)
        self._L[m:stop, :m], self._L[m:stop, m:stop] = pivots.along.T, pivots.L
        self._inverse[m:stop, :stop] = pivots.coefficients
        self.numbers, self.floor = np.append(self.numbers, pivots.numbers), np.append(self.floor, pivots.floor)

    def block(self, start: int, stop: int) -> Pivots:
        """Pivots `start` to `stop` as they were appended, as points that are no rows."""
        part = slice(start, min(stop, len(self)))
        L, floor = self._L[part, part], self.floor[part]
        return Pivots(np.full(len(L), -1), self._L[part, :start].T, L, self._inverse[part, : part.stop], floor)

    def _make_room(self, count: int) -> None:
        m, capacity = len(self), self._L.shape[0]
        if count <= capacity:
            return
        capacity = max(2 * capacity, count)
        L, inverse = self._L, self._inverse
        self._L, self._inverse = np.zeros((capacity, capacity)), np.zeros((capacity, capacity))
        self._L[:m, :m], self._inverse[:m, :m] = L[:m, :m], inverse[:m, :m]
