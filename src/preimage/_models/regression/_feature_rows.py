"""Rows of data along an orthonormal frame of landmarks: the few passes of which all minimisations consist."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    device_kwargs,
    from_numpy,
    in_memory,
    is_lazy,
    itemsize,
    take_rows,
    to_numpy,
    where_computed,
)
from preimage._engine.memory import memory_budget, work_memory
from preimage._engine.rows import block_shape, cut, map_rows, sum_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_finite_block
from preimage.feature_space import Expansion, require_finite

# Rows per block, relative to the number of columns, as in least squares: smaller blocks spend their time in adding
# matrices of all pairs of columns.
BLOCK_ROWS = 4
# Numbers of which a product consists that is added to a sum: 64 MB of single precision, enough to keep all cores busy.
PRODUCT_ENTRIES = 2**24


@dataclass(frozen=True)
class FeatureRows:
    r"""Rows :math:`\tilde g_i = (g_i / s, 1)` of coordinates in a frame, in units of their size, and passes over them.

    Rows are kept where they fit into memory, and computed again in each pass otherwise. Blocks are multiplied in the
    precision and on the device of the frame; sums over blocks are in NumPy and in double precision.

    Attributes
    ----------
    frame : Expansion of m functions
    rows : array, sparse matrix, memory map or Dask array of shape (n, d), or of shape (n, p) where rows are kept
    is_kept : bool
    intercept : bool
        Whether rows end with a one.
    unit : float
        s, the root of the mean squared length.
    capacity : int
        How many rows may be kept at a time.
    """

    frame: Expansion
    rows: Rows
    is_kept: bool
    intercept: bool
    unit: float
    capacity: int = 0

    @classmethod
    def of(cls, frame: Expansion, X: Rows, *, intercept: bool, max_memory: float | str | None = None) -> FeatureRows:
        """Coordinates of the rows of X, kept if all take at most `max_memory` (see `memory_budget`)."""
        rows = cls(frame, X, False, intercept, 1.0)
        m, n = len(frame), X.shape[0]
        row_size = rows.n_columns * itemsize(frame.coefficients.dtype)
        capacity = memory_budget(max_memory, frame.coefficients) // row_size
        if n <= capacity:
            kept = map_rows(rows._features, X, rows=rows._block_rows, device_of=frame.coefficients)
            rows = cls(frame, where_computed(kept), True, intercept, 1.0)
        squares = rows._sum(lambda G: np.array([_total(G[:, :m] * G[:, :m])]))
        require_finite(squares, frame.kernel)
        unit = float(np.sqrt(squares[0] / max(n * 1.0, 1.0))) or 1.0
        if not rows.is_kept:
            return cls(frame, X, False, intercept, unit, capacity)
        factors = from_numpy(np.where(np.arange(rows.n_columns) < m, 1 / unit, 1.0), frame.coefficients)
        return cls(frame, _scaled(rows.rows, factors, rows._block_rows), True, intercept, unit, capacity)

    def chosen(self, numbers: np.ndarray) -> FeatureRows:
        """Some of the rows, in the same unit; they are kept."""
        rows = self._features(take_rows(self.rows, numbers))
        return replace(self, rows=rows, is_kept=True)

    @property
    def n_columns(self) -> int:
        """p: m, and one for the intercept."""
        return len(self.frame) + self.intercept

    @property
    def penalized(self) -> np.ndarray:
        """One for each coordinate, zero for the intercept; shape (p, 1)."""
        return (np.arange(self.n_columns) < len(self.frame)).astype(np.float64)[:, None]

    @property
    def columns_at_once(self) -> int:
        """How many functions may be fitted together, each of which needs a few matrices of all pairs of columns."""
        return max(1, work_memory(np.empty(0)) // (4 * 8 * self.n_columns**2))

    def values(self, W: np.ndarray) -> np.ndarray:
        """Of functions with coefficients W (p, k): shape (n, k)."""
        product = lambda rows: self._features(rows) @ from_numpy(W, self.frame.coefficients)
        found = map_rows(product, self.rows, rows=self._block_rows, device_of=self.frame.coefficients)
        return to_numpy(in_memory(found)).astype(np.float64)

    def sums(self, R: np.ndarray) -> np.ndarray:
        r""":math:`\sum_i \tilde g_i r_i^\top` for R (n, k): shape (p, k)."""
        return self._sum(lambda G, block: _double(G.T @ from_numpy(block, G)), R)

    def squares(self, D: np.ndarray, negligible: np.ndarray | float = 0.0) -> np.ndarray:
        r""":math:`\sum_i d_{ic} \tilde g_i \tilde g_i^\top` for every column c of D (n, k): shape (k, p, p).

        Rows with :math:`|d_{ic}|` of at most `negligible`, a number or one per column, are left out.
        """
        function = partial(_block_squares, negligible=np.broadcast_to(negligible, D.shape[1:]))
        return function(self.rows, D) if self.is_kept and not is_lazy(self.rows) else self._sum(function, D)

    def forms(self, roots: np.ndarray) -> np.ndarray:
        r""":math:`\|R_c \tilde g_i\|^2` for roots (k, p, p): shape (n, k)."""

        def of_block(rows: Array) -> Array:
            G = self._features(rows)
            xp = array_namespace(G)
            images = [G @ from_numpy(root.T, G) for root in roots]
            return xp.stack([xp.sum(image * image, axis=1) for image in images], axis=1)

        found = map_rows(of_block, self.rows, rows=self._block_rows, device_of=self.frame.coefficients)
        return to_numpy(in_memory(found)).astype(np.float64)

    @property
    def _block_rows(self) -> int:
        return max(BLOCK_ROWS * self.n_columns, block_shape(self.frame.coefficients, self.n_columns)[0])

    def _features(self, rows: Array) -> Array:
        if self.is_kept:
            return rows
        device = self.frame.coefficients
        if is_lazy(self.rows):
            who = "A machine on landmarks"
            rows = check_finite_block(who, as_points(rows).astype(device.dtype, copy=False))
        G = self.frame(rows) / self.unit
        if not self.intercept:
            return G
        xp = array_namespace(G)
        return xp.concat([G, xp.ones((G.shape[0], 1), dtype=G.dtype, **device_kwargs(G))], axis=1)

    def _sum(self, function, *arrays: np.ndarray) -> np.ndarray:  # type: ignore[no-untyped-def]
        on_features = lambda rows, *parts: function(self._features(rows), *parts)
        return sum_rows(on_features, self.rows, *arrays, rows=self._block_rows, device_of=self.frame.coefficients)


def _block_squares(G: Array, D: np.ndarray, negligible: np.ndarray) -> np.ndarray:
    """Sums over all rows of G, whose products are as large as possible: few rows matter where functions are right."""
    n, p = G.shape
    out = np.zeros((D.shape[1], p, p))
    for c in range(D.shape[1]):
        if c > 0 and np.array_equal(D[:, c], D[:, c - 1]):  # as at the start, where all rows count alike
            out[c] = out[c - 1]
            continue
        for sign in (1.0, -1.0):
            chosen = np.flatnonzero(sign * D[:, c] > negligible[c])
            for part in cut(chosen.size, max(1, PRODUCT_ENTRIES // p)):
                rows = G[part, :] if chosen.size == n else take_rows(G, chosen[part])
                scaled = rows * from_numpy(np.sqrt(np.abs(D[chosen[part], c])), G)[:, None]
                out[c] += sign * _double(scaled.T @ scaled)
    return out


def _scaled(G: Array, factors: Array, block: int) -> Array:
    """Columns times factors, in place where they are in memory."""
    if is_lazy(G):
        return where_computed(map_rows(lambda rows: rows * factors, G, rows=block, device_of=factors))
    for rows in cut(G.shape[0], block):
        G[rows, :] = G[rows, :] * factors
    return G


def _double(values: Array) -> np.ndarray:
    return to_numpy(values).astype(np.float64)


def _total(values: Array) -> float:
    return float(array_namespace(values).sum(values))
