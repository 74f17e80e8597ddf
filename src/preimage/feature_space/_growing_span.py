"""A span in feature space that grows point by point: the one greedy orthogonalisation of the library."""

from __future__ import annotations

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
from preimage._engine.linalg import orthogonalize, semidefinite_tolerance
from preimage._engine.typing import Array
from preimage._engine.warnings import warn_user
from preimage.exceptions import IndefiniteKernelWarning
from preimage.feature_space._elimination import (
    PivotFactor,
    Pivots,
    Proposal,
    by_largest,
    eliminate,
    in_order,
    is_significant,
)
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import Gram, KernelRows, require_finite
from preimage.kernels import Kernel, Precomputed
from preimage.kernels._door import value_rounding

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
