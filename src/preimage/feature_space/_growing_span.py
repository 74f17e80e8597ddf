"""A span in feature space that grows point by point: the one greedy orthogonalisation of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    concat_rows,
    device_kwargs,
    from_numpy,
    in_double,
    take_rows,
    to_numpy,
)
from preimage._engine.linalg import cholesky, inverse_of_triangle, orthogonalize, semidefinite_tolerance
from preimage._engine.typing import Array
from preimage._engine.warnings import warn_user
from preimage.exceptions import IndefiniteKernelWarning
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import Gram, KernelRows, require_finite
from preimage.kernels import Kernel, Precomputed
from preimage.kernels._door import value_rounding

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


# Room for axes whose number is not known in advance; it doubles when it is full.
FIRST_CAPACITY = 64
# Pivots that are processed together where their order is given: large enough for products of matrices to dominate,
# small enough that elimination inside the block, which is not one, stays cheap.
BLOCK = 128
# Proposals in a row that change nothing before their rows are offered no more. Some are in vain by chance, where few of
# many rows are drawn; ten times as many would take seconds where rounding of huge values decides.
MOST_IN_VAIN = 20


class GrowingSpan:
    r"""The span of the images of chosen points, with the residuals of the images of given rows.

    Points join by Gram–Schmidt orthogonalisation in feature space, which is a partial Cholesky factorisation
    :math:`K \approx G G^\top` of the kernel matrix of the rows. Column r of G has the values of the r-th orthonormal
    axis at the rows. For new pivots P the residual columns are :math:`R_{:P} = K_{:P} - G G_P^\top`, and with
    :math:`R_{PP} = L L^\top` the new columns of G are :math:`R_{:P} L^{-\top}`. Whatever rule chose the pivots,
    :math:`G G^\top` is :math:`C W^{-1} C^\top` (G2), which does not depend on their order.

    **Rounding.** How far rounding moves a squared residual depends on the pivots, not on the way it was computed. With
    :math:`t = W^{-1} k_P(x)`, the residual of φ(x) is :math:`\sum_i v_i \varphi(\cdot)` for :math:`v = (1, -t)`, so
    kernel values with errors of :math:`\varepsilon \sqrt{K_{ii} K_{jj}}` move its square by about
    :math:`\varepsilon \sum_i v_i^2 K_{ii}` (G18). Where points are extrapolated from pivots in a small region, t is
    large. A point joins only if its squared residual is more than twice that; this is the only rounding floor here.

    Parameters
    ----------
    kernel : Kernel
        Positive semidefinite, with all parameters resolved.
    rows : array of shape (n, d)
        Their residuals are followed. Computations are in double precision, on the device of the rows.
    start : GrowingSpan, optional
        Its pivots are the first of this span.
    values : array of shape (n, C), optional
        Values at the rows of C vectors of feature space, whose residuals are followed as well; not with `start`.
    weights : array of shape (n,), optional
        What each row counts in the residual trace; one by default. In NumPy.
    n_candidates : int, optional
        Only the first so many rows may become pivots; all by default.
    capacity : int, optional
        Expected number of pivots.

    Attributes
    ----------
    pivots : integer array of shape (m,), in NumPy
        Row numbers of the chosen points, -1 for those that are no rows.
    coefficients : array of shape (m, m), in NumPy
        :math:`L^{-1}` for :math:`W = L L^\top`: row r has the coefficients of axis r on the chosen points.
    diagonal, residuals : arrays of shape (n,), in NumPy
        k(x, x) and the squared residuals of the rows.
    residual_trace : float
        Weighted sum of the residuals: tr(K − GGᵀ), exact or estimated (G4).
    path : array of shape (m,), in NumPy
        The residual trace after each pivot.
    residual_values : array of shape (n, C), or None
        What the span leaves of `values`.
    coordinates : array of shape (m, C), in NumPy
        Coordinates of the vectors along the axes.

    See Also
    --------
    Proposal : Rows that may join next.
    Subspace : A span that does not grow.
    preimage.landmarks.LandmarkSelector : Chooses landmarks by means of it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import GrowingSpan
    >>> from preimage.kernels import Linear
    >>> span = GrowingSpan(Linear(), np.array([[2.0, 0.0], [1.0, 0.0], [1.0, 3.0]]))
    >>> span.add_in_order()  # the second row is a multiple of the first
    >>> span.pivots, span.residuals
    (array([0, 2]), array([0., 0., 0.]))
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Array,
        *,
        start: GrowingSpan | None = None,
        values: Array | None = None,
        weights: np.ndarray | None = None,
        n_candidates: int | None = None,
        capacity: int = FIRST_CAPACITY,
    ) -> None:
        self.kernel = kernel
        # In double precision whatever that of the data: residuals are differences, and in single precision rounding
        # hides more than a thousandth of the trace of wide kernels. Precomputed values have the errors they have.
        self.rows = rows if kernel.points_are_row_numbers else in_double(rows)
        self.diagonal = to_numpy(kernel.diagonal(self.rows)).astype(np.float64)
        self.residuals = self.diagonal.copy()
        self.weights = np.ones(self.diagonal.size) if weights is None else weights
        self.n_candidates = self.diagonal.size if n_candidates is None else n_candidates
        self.residual_values = None if values is None else in_double(values)
        self.coordinates = np.zeros((0, 0 if values is None else values.shape[1]))
        self.path = np.zeros(0)
        self._kernel_rows = KernelRows(kernel, self.rows)
        # Rounding errors of k(x, x) alone: the smallest error of a squared residual, whatever the pivots.
        self._rounding = value_rounding(kernel, self.rows)
        self.floor = self._rounding * self.diagonal
        self._outside: Array | None = None  # the pivots, where some are no rows
        # Candidates whose residuals were rounding errors, and the number of pivots when that was last reconsidered.
        self._is_closed, self._closed_since = np.zeros(self.diagonal.size, dtype=bool), 0
        self._in_vain = 0  # proposals, one after the other, of which no row has joined or was closed
        # Kernels that promise to be positive semidefinite are trusted: where rows nearly coincide, rounding errors can
        # be larger than their estimates.
        self._checks_definiteness = not kernel.is_positive_semidefinite
        capacity = max(capacity, 1) + (0 if start is None else len(start))
        self._factor = PivotFactor(capacity)
        self._axes = self._axes_room(capacity)  # Gᵀ, so that a new column of G is contiguous
        self._basis: Array | None = None
        if start is not None:
            if values is not None:
                raise ValueError("A GrowingSpan that begins with another span cannot follow vectors; give one of both.")
            self._begin_with(start)

    @classmethod
    def of(cls, kernel: Kernel, points: Array) -> GrowingSpan:
        """The span of the images of all points, farthest first, without those that depend on others."""
        span = cls(kernel, points, capacity=points.shape[0])
        while span.open_rows()[0].size:
            span.extend(span.farthest())
        return span

    @classmethod
    def nested(cls, gram: np.ndarray, values: np.ndarray | None = None) -> GrowingSpan:
        """The span of points whose kernel matrix is given, in their order, without those that depend on others.

        Kernel values count with the precision of the array that holds them.
        """
        n = gram.shape[0]
        span = cls(Precomputed(gram), np.arange(n)[:, None], values=values, capacity=n)
        # Pivots in a given order may be tiny, and their errors make residuals more negative than estimated. Whether
        # a kernel is positive semidefinite on data is decided where points are chosen.
        span._checks_definiteness = False
        span.add_in_order()
        return span

    @classmethod
    def nested_coefficients(cls, gram: Array) -> Array:
        """L⁻¹ for a kernel matrix W = LLᵀ on a device, if no point depends on those before it; otherwise None.

        It is `coefficients` of `nested`, in double precision and in one step.
        """
        if (L := cholesky(in_double(gram))) is None:
            return None
        inverse, xp = inverse_of_triangle(L), array_namespace(L)
        floor = value_rounding(Precomputed(gram), gram) * xp.linalg.diagonal(in_double(gram))
        errors = (inverse * inverse) @ floor
        return inverse if bool(xp.all(MARGIN * errors < 1.0)) else None

    def __len__(self) -> int:
        return len(self._factor)

    @property
    def pivots(self) -> np.ndarray:
        return self._factor.numbers

    @property
    def points(self) -> Array:
        """The chosen points, shape (m, d)."""
        return take_rows(self.rows, self.pivots) if self._outside is None else self._outside

    @property
    def coefficients(self) -> np.ndarray:
        return self._factor.coefficients

    @property
    def axes(self) -> Array:
        """Values of the orthonormal axes at the rows, Gᵀ, shape (m, n)."""
        return self._axes[: len(self), :]

    @property
    def residual_trace(self) -> float:
        return float(self.weights @ self.residuals)

    @property
    def largest(self) -> float:
        """The largest k(x, x) of the rows."""
        return float(self.diagonal.max(initial=0.0))

    def frame(self) -> Expansion:
        """The orthonormal axes as vectors on the chosen points; the first p span the images of the first p points."""
        points = self.points
        return Expansion(self.kernel, points, from_numpy(self.coefficients.T.copy(), self._axes))

    # What the span leaves

    def open_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the candidates not known to depend on the span, and their squared residuals."""
        residuals = self.residuals[: self.n_candidates]
        is_open = is_significant(residuals, self.floor[: self.n_candidates])
        is_closed = self._is_closed[: self.n_candidates]
        if len(self) > self._closed_since and not (is_open & ~is_closed).any():
            # Pivots that were added since may have made errors smaller: all get another chance.
            is_closed[:], self._closed_since = False, len(self)
        numbers = np.flatnonzero(is_open & ~is_closed)
        return numbers, residuals[numbers]

    def rounding_errors(self, numbers: np.ndarray) -> np.ndarray:
        """How far rounding may have moved the squared residuals of some rows  (G18)."""
        t = self.expansion_coefficients(numbers)
        return self.floor[numbers] + self._factor.floor @ (t * t)

    def expansion_coefficients(self, numbers: np.ndarray) -> np.ndarray:
        """Columns of T = W⁻¹Cᵀ (G2), in NumPy, shape (m, len(numbers)): projections of rows on the pivots."""
        return self.coefficients.T @ self._along(numbers)

    def residual_block(self, numbers: np.ndarray) -> np.ndarray:
        """Residual inner products among few rows, in NumPy; corrects the residuals of these rows on the way."""
        points, G = take_rows(self.rows, numbers), self._axes_at(numbers)
        block = np.array(to_numpy(in_double(Gram(self.kernel, points).dense()) - G.T @ G))
        # Residuals come from many small differences, the block from one: the smaller is less likely to be rounding.
        residuals = np.clip(np.diagonal(block), 0.0, self.residuals[numbers])
        np.fill_diagonal(block, residuals)
        self.residuals[numbers] = residuals
        return block

    def kernel_columns(self, numbers: np.ndarray) -> Array:
        """Columns of K as rows, shape (len(numbers), n)."""
        return in_double(self._kernel_rows(take_rows(self.rows, numbers)))

    def residual_columns(self, numbers: np.ndarray) -> Array:
        """Columns of K − GGᵀ as rows, shape (len(numbers), n)."""
        return self._reduced(take_rows(self.rows, numbers), self._axes_at(numbers))

    def column_basis(self) -> Array:
        """An orthonormal basis of the chosen columns of K, shape (n, m): they are combinations of the columns of G."""
        basis = self.axes.T[:, :0] if self._basis is None else self._basis
        if basis.shape[1] < len(self):
            new = orthogonalize(self.axes.T[:, basis.shape[1] :], basis)
            self._basis = basis = array_namespace(basis).concat([basis, new], axis=1)
        return basis

    # Growth

    def farthest(self, block_size: int = 64) -> Proposal:
        """The rows with the largest residuals, as many as can be told from the `block_size` largest  (G8)."""
        numbers, residuals = self.open_rows()
        order = np.argsort(-residuals, kind="stable")
        next_largest = residuals[order[block_size]] if order.size > block_size else 0.0
        return Proposal(numbers[order[:block_size]], by_largest(at_least=next_largest))

    def extend(self, proposal: Proposal, limit: int | None = None, goal: float = -np.inf) -> int:
        """Let those of the proposed rows join that its rule chooses; returns how many joined.

        Parameters
        ----------
        proposal : Proposal
        limit : int, optional
            Largest number of new pivots.
        goal : float
            The pivot that brings the residual trace to `goal` is the last.
        """
        numbers, n_closed = proposal.numbers, np.count_nonzero(self._is_closed)
        block = self.residual_block(numbers) if proposal.block is None else proposal.block
        floor = self.floor[numbers] if proposal.floor is None else proposal.floor
        most = min(most for most in (limit, proposal.most, len(numbers)) if most is not None)
        kept, L = eliminate(block, floor, proposal.choose, most)
        columns = None if proposal.columns is None else _rows_of(proposal.columns, kept)
        added = self._add(numbers[kept], L, goal, columns) if kept else 0
        if kept and not added:
            require_finite(block, self.kernel)
            # Rounding decided here: do not offer again what may be rounding as well.
            errors = self.rounding_errors(numbers)
            self._is_closed[numbers[~is_significant(self.residuals[numbers], errors)]] = True
        self._in_vain = 0 if added or np.count_nonzero(self._is_closed) > n_closed else self._in_vain + 1
        if self._in_vain == MOST_IN_VAIN:  # so that growth ends, whatever rounding of huge values does
            require_finite(block, self.kernel)
            self._is_closed[numbers], self._closed_since, self._in_vain = True, len(self), 0
        return added

    def add_row(self, number: int) -> bool:
        """Let one row join; returns False where its residual may be rounding."""
        residual = self.residuals[number]
        if not is_significant(residual, self.floor[number]):
            return False
        return bool(self._add(np.array([number]), np.array([[residual**0.5]])))

    def add_in_order(self, numbers: np.ndarray | None = None) -> None:
        """Let rows join in the given order (all rows by default), without those that depend on rows before them."""
        queue = np.arange(self.diagonal.size) if numbers is None else numbers
        while queue.size:
            block = queue[:BLOCK]
            kept, L = eliminate(self.residual_block(block), self.floor[block], in_order, BLOCK)
            count = self._add(block[kept], L) if kept else 0
            # A row whose residual may be rounding ends its block; it is passed over.
            queue = queue[block.size :] if count == len(kept) else queue[kept[count] + 1 :]

    def add_point(self, point: Array, values: Array | None = None) -> bool:
        """Let a point join that need not be a row; returns False where its residual may be rounding.

        Parameters
        ----------
        point : array of shape (1, d)
        values : array of shape (1, C), optional
            Values of the followed vectors there.
        """
        point = in_double(point)
        along = np.zeros((0, 1))
        if len(self):
            along = self.coefficients @ to_numpy(in_double(self.kernel(self.points, point)))
        diagonal = float(to_numpy(self.kernel.diagonal(point))[0])
        # The squared residual by Pythagoras, and the rounding error of this difference.
        squared, floor = diagonal - float(np.sum(along * along)), np.array([self._rounding * diagonal])
        if not is_significant(squared, floor[0]):
            return False
        pivot = self._factor.followed_by(np.array([-1]), along, np.array([[squared**0.5]]), floor)
        if not self._factor.count_sound(pivot):
            return False
        new = _solve(pivot.L, self._reduced(point, from_numpy(along, self._axes)))
        self._outside = concat_rows(self.points, point) if len(self) else point
        # Values of the residuals of the vectors: their projections on the span so far are subtracted.
        at_point = None if values is None else to_numpy(in_double(values)) - along.T @ self.coordinates
        self._append(pivot, new, self._gains(new), at_point)
        return True

    # The factorisation

    def _add(self, numbers: np.ndarray, L: np.ndarray, goal: float = -np.inf, columns: Array | None = None) -> int:
        """Make rows pivots, given the Cholesky factor L of their residual block; returns how many became one.

        The first whose residual may be rounding ends the block, and is closed if none comes before it; so does the one
        that brings the residual trace to `goal`.
        """
        pivots = self._factor.followed_by(numbers, self._along(numbers), L, self.floor[numbers])
        sound = self._factor.count_sound(pivots)
        if not sound:
            self._is_closed[numbers[0]] = True
            return 0
        columns = self.residual_columns(numbers[:sound]) if columns is None else columns[:sound, :]
        new = _solve(L[:sound, :sound], columns)
        gains = self._gains(new)
        # Pivots of a block count one by one: the block ends at the first that reaches the goal.
        reached = np.flatnonzero(self.residual_trace - np.cumsum(gains) <= goal)
        count = int(reached[0]) + 1 if reached.size else sound
        taken = numbers[:count]
        at_pivots = None if self.residual_values is None else to_numpy(take_rows(self.residual_values, taken))
        if self._outside is not None:
            self._outside = concat_rows(self._outside, take_rows(self.rows, taken))
        self._append(pivots.first(count), new[:count, :], gains[:count], at_pivots)
        self.residuals[taken] = 0.0
        return count

    def _append(self, pivots: Pivots, new: Array, gains: np.ndarray, at_pivots: np.ndarray | None = None) -> None:
        """Append the axes of b pivots.

        Parameters
        ----------
        new : array of shape (b, n)
            Values of the axes at the rows.
        gains : array of shape (b,)
            Decrease of the residual trace by each.
        at_pivots : array of shape (b, C), optional
            Residual values of the followed vectors at the pivots.
        """
        m, stop = len(self), len(self) + new.shape[0]
        if stop > self._axes.shape[0]:
            axes, self._axes = self._axes, self._axes_room(max(2 * self._axes.shape[0], stop))
            self._axes[:m, :] = axes[:m, :]
        self._axes[m:stop, :] = new
        self._factor.append(pivots)
        if at_pivots is not None and self.residual_values is not None:
            steps = _solve(pivots.L, at_pivots)  # (b, C): coordinates of the vectors along the new axes
            self.residual_values = self.residual_values - new.T @ from_numpy(steps, new)
            self.coordinates = np.concatenate([self.coordinates, steps])
        before = self.residual_trace
        residuals = self.residuals - to_numpy(array_namespace(new).sum(new * new, axis=0))
        self._require_semidefinite(residuals)
        self.residuals = np.maximum(residuals, 0.0)
        # Cumulative gains, scaled such that the last equals the change of the residual trace.
        fractions = np.cumsum(gains) / max(float(np.sum(gains)), np.finfo(float).tiny)
        self.path = np.append(self.path, before - fractions * (before - self.residual_trace))

    def _begin_with(self, start: GrowingSpan) -> None:
        """Take over the pivots of another span, block by block: only their values at the rows here are new."""
        points = start.points
        for begin in range(0, len(start), BLOCK):
            pivots = start._factor.block(begin, begin + BLOCK)
            part = slice(begin, begin + len(pivots.numbers))
            new = _solve(pivots.L, self._reduced(points[part, :], from_numpy(pivots.along, self._axes)))
            self._append(pivots, new, self._gains(new))
        self._outside = points

    def _require_semidefinite(self, residuals: np.ndarray) -> None:
        # Residuals that far below zero are rare, and rounding errors are computed for these alone.
        suspects = np.flatnonzero(residuals < -semidefinite_tolerance(self._kernel_rows.dtype) * self.largest)
        if not self._checks_definiteness or not suspects.size:
            return
        suspects = suspects[is_significant(-residuals[suspects], self.rounding_errors(suspects))]
        if suspects.size:
            self._checks_definiteness = False  # one warning is enough
            warn_user(
                f"{self.kernel!r} is not positive semidefinite on these data: a squared residual is "
                f"{residuals[suspects].min():.2g}. Residual traces are not to be trusted; use a positive semidefinite "
                "kernel.",
                IndefiniteKernelWarning,
            )

    def _reduced(self, points: Array, along: Array) -> Array:
        """What the span leaves of k(points, rows), given the coordinates (m, b) of the points along the axes."""
        values = in_double(self._kernel_rows(points))
        return values - along.T @ self.axes if len(self) else values

    def _axes_at(self, numbers: np.ndarray) -> Array:
        return take_rows(self.axes.T, numbers).T

    def _along(self, numbers: np.ndarray) -> np.ndarray:
        """Coordinates of rows along the axes so far, in NumPy, shape (m, len(numbers))."""
        return to_numpy(self._axes_at(numbers)).astype(np.float64)

    def _gains(self, new: Array) -> np.ndarray:
        """Decrease of the residual trace by each new axis."""
        return to_numpy((new * new) @ from_numpy(self.weights, new)).astype(np.float64)

    def _axes_room(self, capacity: int) -> Array:
        xp = array_namespace(self.rows)
        return xp.empty((capacity, self.rows.shape[0]), dtype=xp.float64, **device_kwargs(self.rows))


def _solve(L: np.ndarray, columns: Array) -> Array:
    """L⁻¹ columns for a small lower triangular L and long rows."""
    if L.shape[0] == 1:
        return columns / float(L[0, 0])
    # By the inverse: LAPACK's general solver copies the long side twice. A product with an inverse is not stable where
    # pivots of a block differ by decades; one step of refinement makes it so.
    inverse, L = from_numpy(np.linalg.solve(L, np.eye(L.shape[0])), columns), from_numpy(L, columns)
    new = inverse @ columns
    return new + inverse @ (columns - L @ new)


def _rows_of(columns: Array, kept: list[int]) -> Array:
    return take_rows(columns, np.asarray(kept))
