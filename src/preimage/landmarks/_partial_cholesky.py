"""A Cholesky factor that grows by blocks of pivots: the common work of all selectors."""

import warnings

import numpy as np

from preimage._arrays import array_namespace, device_kwargs, from_numpy, take_rows, to_numpy
from preimage._linalg import rank_tolerance
from preimage.exceptions import IndefiniteKernelWarning
from preimage.feature_space import Gram
from preimage.landmarks._elimination import is_significant, passed_noise
from preimage.landmarks._kernel_rows import KernelRows

# Rounding errors of kernel values, in units of the floating type.
KERNEL_ROUNDING = 4


class PartialCholesky:
    r"""Kᵢⱼ ≈ (GGᵀ)ᵢⱼ on the rows of a view, one column of G a pivot, and the residual diagonal of K − GGᵀ.

    For pivots P the residual columns are :math:`R_{:P} = K_{:P} - G G_P^\top`, and with :math:`R_{PP} = L L^\top` the
    new columns of G are :math:`R_{:P} L^{-\top}`. Whatever rule chose the pivots, :math:`G G^\top` is
    :math:`C W^{-1} C^\top` (G2); it does not depend on their order.

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
        self.values = KernelRows(kernel, view.rows)
        self.diagonal = to_numpy(kernel.diagonal(view.rows)).astype(np.float64)
        self.residuals = self.diagonal.copy()
        self.noise = rank_tolerance(KERNEL_ROUNDING, self.values.dtype) * self.diagonal
        self.pivots = np.zeros(0, dtype=np.int64)
        self.path = np.zeros(0)
        self._is_indefinite = False
        # Gᵀ, so that a new column is a row in one piece.
        self._transposed = self._room(max(capacity, 1))

    def __len__(self):
        return self.pivots.size

    @property
    def G_transposed(self):
        """Gᵀ, shape (m, n)."""
        return self._transposed[: len(self), :]

    @property
    def residual_trace(self):
        """tr(K − GGᵀ) over all data, exact or estimated  (G4)."""
        return float(self.view.weights @ self.residuals)

    def open_candidates(self):
        """Numbers of the candidates that do not depend on the pivots, and their squared residuals."""
        residuals = self.residuals[: self.view.n_candidates]
        numbers = np.flatnonzero(is_significant(residuals, self.noise[: self.view.n_candidates]))
        return numbers, residuals[numbers]

    def residual_block(self, candidates):
        """Residual inner products among few candidates, in NumPy; their residuals are settled on the way."""
        points, G = take_rows(self.view.rows, candidates), self._columns_at(candidates)
        block = np.array(to_numpy(Gram(self.kernel, points).dense() - G.T @ G))
        # Residuals come from many small differences, the block from one: the smaller is less likely to be rounding.
        residuals = np.clip(np.diagonal(block), 0.0, self.residuals[candidates])
        np.fill_diagonal(block, residuals)
        self.residuals[candidates] = residuals
        return block

    def kernel_columns(self, candidates):
        """Columns of K as rows, shape (len(candidates), n)."""
        return self.values(take_rows(self.view.rows, candidates))

    def residual_columns(self, candidates):
        """Columns of K − GGᵀ as rows, shape (len(candidates), n)."""
        return self._reduced(take_rows(self.view.rows, candidates), self._columns_at(candidates))

    def add(self, candidates, L, goal=-np.inf, columns=None):
        """Make candidates pivots, given the Cholesky factor L of their residual block.

        Those after the one that brings the residual trace to `goal` are left out. `columns` are their residual
        columns, where they are known.
        """
        if len(candidates) == 0:
            return
        new = self._solve(L, self.residual_columns(candidates) if columns is None else columns)
        gains = self._gains(new)
        reached = np.flatnonzero(self.residual_trace - np.cumsum(gains) <= goal)
        count = int(reached[0]) + 1 if reached.size else len(gains)
        passed = passed_noise(L[:count, :count], self.noise[candidates[:count]])
        self.noise = self.noise + self._weighted_squares(passed, new[:count, :])
        self._append(new[:count, :], gains[:count])
        self.pivots = np.append(self.pivots, candidates[:count])
        self.residuals[candidates[:count]] = 0.0

    def continued(self, view, block=128):
        """The same pivots on the rows of another view."""
        other = PartialCholesky(self.kernel, view, len(self))
        points, G = take_rows(self.view.rows, self.pivots), self._columns_at(self.pivots)
        for start in range(0, len(self), block):
            part = slice(start, min(start + block, len(self)))
            L = to_numpy(G[part, part]).T
            new = self._solve(np.tril(L), other._reduced(points[part, :], G[:start, part]))
            other._append(new, other._gains(new))
            other.pivots = self.pivots[: part.stop]
        return other

    def _reduced(self, points, G):
        values = self.values(points)
        return values - G.T @ self.G_transposed if len(self) else values

    def _columns_at(self, rows):
        return take_rows(self.G_transposed.T, rows).T

    def _solve(self, L, columns):
        # L⁻¹ of a block of pivots, in double precision: LAPACK's general solver copies the long side twice.
        return from_numpy(np.linalg.solve(L, np.eye(L.shape[0])), columns) @ columns

    def _gains(self, new):
        weights = from_numpy(self.view.weights, new)
        return to_numpy((new * new) @ weights).astype(np.float64)

    def _weighted_squares(self, weights, new):
        return to_numpy(from_numpy(weights, new) @ (new * new))

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
        allowed = max(rank_tolerance(KERNEL_ROUNDING, self.values.dtype) ** 0.5 * self.view.largest, self.noise.max())
        if residuals.min() < -allowed and not self._is_indefinite:
            self._is_indefinite = True
            warnings.warn(
                f"{self.kernel!r} is not positive semidefinite on these data: a squared residual is "
                f"{residuals.min():.2g}. Residual traces are not to be trusted; use a positive semidefinite kernel.",
                IndefiniteKernelWarning,
                stacklevel=5,
            )

    def _room(self, capacity):
        xp, rows = array_namespace(self.view.rows), self.view.rows
        return xp.empty((capacity, rows.shape[0]), dtype=self.values.dtype, **device_kwargs(rows))
