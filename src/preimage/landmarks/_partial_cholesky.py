"""A Cholesky factor that grows by blocks of pivots: the common work of all selectors."""

from dataclasses import replace

import numpy as np

from preimage._arrays import array_namespace, device_kwargs, from_numpy, in_double, take_rows, to_numpy
from preimage._linalg import rank_tolerance, semidefinite_tolerance
from preimage._warnings import warn_user
from preimage.exceptions import IndefiniteKernelWarning
from preimage.feature_space import Gram
from preimage.landmarks._elimination import eliminate, is_significant
from preimage.landmarks._frame_coefficients import FrameCoefficients
from preimage.landmarks._kernel_rows import KernelRows

# Rounding errors of kernel values, in units of the floating type. Measured against 60 digits they are below one unit
# for all rules and widths tried; ten times more would stop selections a decade early, a tenth would let rounding pass.
KERNEL_ROUNDING = 4
# Rows on which rounding is measured, and how much larger it may be on others.
MEASURED, MEASURED_MARGIN = 64, 4


class PartialCholesky:
    r"""Kᵢⱼ ≈ (GGᵀ)ᵢⱼ on the rows of a view, one column of G a pivot, and the residual diagonal of K − GGᵀ.

    For pivots P the residual columns are :math:`R_{:P} = K_{:P} - G G_P^\top`, and with :math:`R_{PP} = L L^\top` the
    new columns of G are :math:`R_{:P} L^{-\top}`. Whatever rule chose the pivots, :math:`G G^\top` is
    :math:`C W^{-1} C^\top` (G2); it does not depend on their order.

    What rounding makes of a squared residual depends on the pivots, not on the way the factor was computed. With
    :math:`t = W^{-1} k_P(x)`, the residual of φ(x) is :math:`\sum_i v_i \varphi(\cdot)` for :math:`v = (1, -t)`, so
    kernel values with errors of :math:`\varepsilon \sqrt{K_{ii} K_{jj}}` move its square by about
    :math:`\varepsilon \sum_i v_i^2 K_{ii}` (G18). Where points are extrapolated from pivots in a small region t is
    large; a pivot is taken only if its residual is more than that.

    Parameters
    ----------
    kernel : Kernel
    view : View
    capacity : int
        Columns of G to make room for; it grows when there are more.
    """

    def __init__(self, kernel, view, capacity):
        self.kernel = kernel
        self.view = view
        # In double precision whatever that of the data: residuals are differences, and in single precision rounding
        # hides more than a thousandth of the trace of wide kernels. Precomputed values have the errors they have.
        self.rows = view.rows if kernel.points_are_row_numbers else in_double(view.rows)
        self.values = KernelRows(kernel, self.rows)
        self.diagonal = to_numpy(kernel.diagonal(self.rows)).astype(np.float64)
        self.residuals = self.diagonal.copy()
        # What rounding does to k(x, x) alone: the least error of a residual, whatever the pivots.
        self._rounding = max(rank_tolerance(KERNEL_ROUNDING, self.values.dtype), self._measured_rounding())
        self.floor = self._rounding * self.diagonal
        self.pivots = np.zeros(0, dtype=np.int64)
        self.frame = FrameCoefficients()
        self._pivot_floor = np.zeros(0)
        self.path = np.zeros(0)
        # Candidates whose residuals were no more than rounding, and the number of pivots when that was last forgotten.
        self._is_closed, self._closed_since = np.zeros(self.diagonal.size, dtype=bool), 0
        self._is_indefinite = False
        # Gᵀ, so that a new column is a row in one piece.
        self._transposed = self._room(max(capacity, 1))

    def __len__(self):
        return self.pivots.size

    @property
    def G_transposed(self):
        """Gᵀ, shape (m, n)."""
        return self._transposed[: len(self), :]

    def in_type_of(self, X):
        """G in the precision of kernel values on X, shape (n, m)."""
        G = self.G_transposed.T
        return array_namespace(G).astype(G, self.kernel.value_type(X), copy=False)

    @property
    def residual_trace(self):
        """tr(K − GGᵀ) over all data, exact or estimated  (G4)."""
        return float(self.view.weights @ self.residuals)

    def open_candidates(self):
        """Numbers of the candidates not known to depend on the pivots, and their squared residuals."""
        residuals = self.residuals[: self.view.n_candidates]
        is_open = is_significant(residuals, self.floor[: self.view.n_candidates])
        is_closed = self._is_closed[: self.view.n_candidates]
        if len(self) > self._closed_since and not (is_open & ~is_closed).any():
            # Pivots that were added since may have made errors smaller: all get another chance.
            is_closed[:], self._closed_since = False, len(self)
        numbers = np.flatnonzero(is_open & ~is_closed)
        return numbers, residuals[numbers]

    def rounding_errors(self, rows):
        """How far rounding may have moved the squared residuals of some rows  (G18)."""
        t = self.frame.of_projections(self._along(rows))
        return self.floor[rows] + self._pivot_floor @ (t * t)

    def residual_block(self, candidates):
        """Residual inner products among few candidates, in NumPy; their residuals are settled on the way."""
        points, G = take_rows(self.rows, candidates), self._columns_at(candidates)
        block = np.array(to_numpy(in_double(Gram(self.kernel, points).dense()) - G.T @ G))
        # Residuals come from many small differences, the block from one: the smaller is less likely to be rounding.
        residuals = np.clip(np.diagonal(block), 0.0, self.residuals[candidates])
        np.fill_diagonal(block, residuals)
        self.residuals[candidates] = residuals
        return block

    def kernel_columns(self, candidates):
        """Columns of K as rows, shape (len(candidates), n)."""
        return in_double(self.values(take_rows(self.rows, candidates)))

    def residual_columns(self, candidates):
        """Columns of K − GGᵀ as rows, shape (len(candidates), n)."""
        return self._reduced(take_rows(self.rows, candidates), self._columns_at(candidates))

    def extend(self, candidates, choose, limit, goal=-np.inf, H=None, floor=None):
        """Make pivots of those candidates that a rule of elimination chooses, while they are more than rounding.

        Parameters
        ----------
        candidates : integer array of shape (b,)
        choose : callable
            A rule, as `eliminate` takes it.
        limit : int
            Largest number of pivots.
        goal : float
            Pivots after the one that brings the residual trace to it are left out.
        H : array of shape (b, b), optional
            Their residual inner products, where they are known.
        floor : array of shape (b,), optional
            Half of the smallest squared residuals that may become pivots; rounding errors of k(x, x) by default.
        """
        H = self.residual_block(candidates) if H is None else H
        kept, L = eliminate(H, self.floor[candidates] if floor is None else floor, choose, limit)
        if kept and not self.add(candidates[kept], L, goal):
            self.close(candidates)

    def add(self, candidates, L, goal=-np.inf, columns=None):
        """Make candidates pivots, given the Cholesky factor L of their residual block; returns how many became one.

        The first whose residual may be rounding ends the block, and is closed if none comes before it; so does the one
        that brings the residual trace to `goal`. `columns` are the residual columns, where they are known.
        """
        rows = self.frame.of_next(self._along(candidates), L)
        sound = self._count_sound(rows, candidates)
        if not sound:
            self._is_closed[candidates[0]] = True
            return 0
        candidates, L = candidates[:sound], L[:sound, :sound]
        new = self._solve(L, self.residual_columns(candidates) if columns is None else columns[:sound, :])
        gains = self._gains(new)
        reached = np.flatnonzero(self.residual_trace - np.cumsum(gains) <= goal)
        count = int(reached[0]) + 1 if reached.size else len(gains)
        self.pivots = np.append(self.pivots, candidates[:count])
        self.frame = self.frame.extended(rows[:count, :])
        self._pivot_floor = np.append(self._pivot_floor, self.floor[candidates[:count]])
        self._append(new[:count, :], gains[:count])
        self.residuals[candidates[:count]] = 0.0
        return count

    def close(self, candidates):
        """Offer those of some candidates no more whose residuals may be rounding."""
        noise = self.rounding_errors(candidates)
        self._is_closed[candidates[~is_significant(self.residuals[candidates], noise)]] = True

    def admit_all(self):
        """From now on every row of the view is a candidate."""
        self.view = replace(self.view, n_candidates=self.rows.shape[0])

    def continued(self, view, block=128):
        """The same pivots on the rows of another view."""
        other = PartialCholesky(self.kernel, view, len(self))
        points, G = take_rows(self.rows, self.pivots), self._columns_at(self.pivots)
        for start in range(0, len(self), block):
            part = slice(start, min(start + block, len(self)))
            L = to_numpy(G[part, part]).T
            new = self._solve(np.tril(L), other._reduced(points[part, :], G[:start, part]))
            other.pivots, other._pivot_floor = self.pivots[: part.stop], self._pivot_floor[: part.stop]
            other.frame = self.frame.leading(part.stop)
            other._append(new, other._gains(new))
        return other

    def _measured_rounding(self):
        """Largest relative difference of k(x, x) from the kernel of x and a copy, as any pair is computed.

        Distances of equal rows are differences of squared lengths, and a narrow kernel multiplies their errors.
        """
        if self.kernel.points_are_row_numbers:
            return 0.0  # values that are given are not computed
        some = np.linspace(0, self.diagonal.size - 1, min(self.diagonal.size, MEASURED)).astype(int)
        values = to_numpy(self.kernel(take_rows(self.rows, some), take_rows(self.rows, some)))
        own = self.diagonal[some]
        return MEASURED_MARGIN * float(np.max(np.abs(np.diagonal(values) - own) / np.where(own > 0, own, np.inf)))

    def _count_sound(self, rows, candidates):
        """How many of some next pivots, from the first on, have residuals beyond rounding.

        The vector of a pivot with coefficients c has length one; rounding moves the square of that by Σ cᵢ²·floorᵢ.
        """
        floor = np.append(self._pivot_floor, self.floor[candidates])
        is_sound = is_significant(1.0, (rows * rows) @ floor)
        return len(candidates) if is_sound.all() else int(np.argmin(is_sound))

    def _reduced(self, points, G):
        values = in_double(self.values(points))
        return values - G.T @ self.G_transposed if len(self) else values

    def _columns_at(self, rows):
        return take_rows(self.G_transposed.T, rows).T

    def _along(self, rows):
        """Coordinates of rows along the vectors so far, in NumPy and double precision, shape (m, len(rows))."""
        return to_numpy(self._columns_at(rows)).astype(np.float64)

    def _solve(self, L, columns):
        # L⁻¹ of a block of pivots: LAPACK's general solver copies the long side twice. A product with an inverse is not
        # stable where pivots of a block differ by decades; one step of refinement makes it so.
        inverse, L = from_numpy(np.linalg.solve(L, np.eye(L.shape[0])), columns), from_numpy(L, columns)
        new = inverse @ columns
        return new + inverse @ (columns - L @ new)

    def _gains(self, new):
        weights = from_numpy(self.view.weights, new)
        return to_numpy((new * new) @ weights).astype(np.float64)

    def _append(self, new, gains):
        start, stop = len(self.path), len(self.path) + new.shape[0]
        if stop > self._transposed.shape[0]:
            room = self._room(max(2 * start, stop))
            room[:start, :] = self._transposed[:start, :]
            self._transposed = room
        self._transposed[start:stop, :] = new
        before = self.residual_trace
        xp = array_namespace(new)
        residuals = self.residuals - to_numpy(xp.sum(new * new, axis=0))
        self._require_semidefinite(residuals)
        self.residuals = np.maximum(residuals, 0.0)
        # Sums of gains, made to end at the trace of the residuals.
        shares = np.cumsum(gains) / max(float(np.sum(gains)), np.finfo(float).tiny)
        self.path = np.append(self.path, before - shares * (before - self.residual_trace))

    def _require_semidefinite(self, residuals):
        # Residuals this far below zero are rare, and only their rounding errors are worth computing.
        allowed = semidefinite_tolerance(self.values.dtype) * self.view.largest
        suspects = np.flatnonzero(residuals < -allowed)
        if self._is_indefinite or not suspects.size:
            return
        suspects = suspects[is_significant(-residuals[suspects], self.rounding_errors(suspects))]
        if suspects.size:
            self._is_indefinite = True
            warn_user(
                f"{self.kernel!r} is not positive semidefinite on these data: a squared residual is "
                f"{residuals[suspects].min():.2g}. Residual traces are not to be trusted; use a positive semidefinite "
                "kernel.",
                IndefiniteKernelWarning,
            )

    def _room(self, capacity):
        xp, rows = array_namespace(self.rows), self.rows
        return xp.empty((capacity, rows.shape[0]), dtype=xp.float64, **device_kwargs(rows))
