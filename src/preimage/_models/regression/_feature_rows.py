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
    in_double,
    in_memory,
    is_foreign,
    is_lazy,
    itemsize,
    take_columns,
    take_rows,
    to_device_of,
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
# Matrices of all pairs of columns for each function: its sum over rows, and the factor of that.
MATRICES = 2
# Numbers of which a product consists that is added to a sum: 64 MB of single precision, enough to keep all cores busy.
PRODUCT_ENTRIES = 2**24


@dataclass(frozen=True)
class FeatureRows:
    r"""Rows :math:`\tilde g_i = (g_i / s, 1)` of coordinates in a frame, in units of their size, and passes over them.

    Rows are kept where they fit into memory, and computed again in each pass otherwise. Blocks are multiplied in the
    precision and on the device of the frame; sums over blocks are in double precision. Passes return NumPy for
    NumPy, and what is on the device for numbers that are there (`near`).

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

    def chosen(self, numbers: np.ndarray, size: int | None = None) -> FeatureRows:
        """Some of the rows, and their first `size` coordinates, in the same unit; they are kept."""
        m = len(self.frame)
        rows = self._features(take_rows(self.rows, numbers))
        if size is None or size >= m:
            return replace(self, rows=rows, is_kept=True)
        columns = np.append(np.arange(size), np.arange(m, self.n_columns))
        return replace(self, frame=self.frame[:size], rows=take_columns(rows, columns), is_kept=True)

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
        """How many functions may be fitted together, each of which needs two matrices of all pairs of columns."""
        is_on_device = self.is_kept and is_foreign(self.rows)
        room = memory_budget(None, self.rows) if is_on_device else work_memory(np.empty(0))
        return max(1, room // (MATRICES * 8 * self.n_columns**2))

    def near(self, numbers: np.ndarray) -> Array:
        """Numbers in double precision on the device that keeps the rows, where passes over these take and return them.

        Rows that are computed again in each pass are worked on block by block, and numbers of all rows stay in NumPy.
        """
        if not (self.is_kept and is_foreign(self.rows)):
            return numbers
        return from_numpy(numbers, self.rows, dtype=array_namespace(self.rows).float64)

    def values(self, W: Array) -> Array:
        """Of functions with coefficients W (p, k): shape (n, k)."""
        product = lambda rows: self._features(rows) @ to_device_of(W, self.frame.coefficients)
        found = map_rows(product, self.rows, rows=self._block_rows, device_of=self.frame.coefficients)
        return _double(in_memory(found), W)

    def sums(self, R: Array) -> Array:
        r""":math:`\sum_i \tilde g_i r_i^\top` for R (n, k): shape (p, k)."""
        return self._sum(lambda G, block: _double(G.T @ to_device_of(block, G), block), R)

    def squares(self, D: Array, negligible: np.ndarray | float = 0.0) -> Array:
        r""":math:`\sum_i d_{ic} \tilde g_i \tilde g_i^\top` for every column c of D (n, k): shape (k, p, p).

        Rows with :math:`|d_{ic}|` of at most `negligible`, a number or one per column, are left out.
        """
        function = partial(_block_squares, negligible=np.broadcast_to(negligible, D.shape[1:]))
        return function(self.rows, D) if self.is_kept and not is_lazy(self.rows) else self._sum(function, D)

    def add_squares(self, total: list[Array], D: Array) -> None:
        """Add `squares` to the matrices of a list, without others of their size where rows are kept."""
        if self.is_kept and not is_lazy(self.rows):
            _add_squares(total, self.rows, D, np.zeros(D.shape[1]))
        else:
            for matrix, new in zip(total, self._sum(partial(_block_squares, negligible=np.zeros(D.shape[1])), D)):
                matrix += new

    def forms(self, roots: Array) -> Array:
        r""":math:`\|R_c \tilde g_i\|^2` for roots (k, p, p): shape (n, k)."""

        def of_block(rows: Array) -> Array:
            G = self._features(rows)
            xp = array_namespace(G)
            images = [G @ to_device_of(roots[c, ...].T, G) for c in range(roots.shape[0])]
            return xp.stack([xp.sum(image * image, axis=1) for image in images], axis=1)

        found = map_rows(of_block, self.rows, rows=self._block_rows, device_of=self.frame.coefficients)
        return _double(in_memory(found), roots)

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


def _block_squares(G: Array, D: Array, negligible: np.ndarray) -> Array:
    """Sums over all rows of G."""
    xp, p = array_namespace(D), G.shape[1]
    out = xp.zeros((D.shape[1], p, p), dtype=xp.float64, **device_kwargs(D))
    equal = [c > 0 and bool(xp.all(D[:, c] == D[:, c - 1])) for c in range(D.shape[1])]
    if all(equal[1:]):  # as at the start, where all rows count alike
        _add_squares([out[0, ...]], G, D[:, :1], negligible)
        out[1:, ...] = out[:1, ...]
    else:
        _add_squares([out[c, ...] for c in range(D.shape[1])], G, D, negligible)
    return out


def _add_squares(out: list[Array], G: Array, D: Array, negligible: np.ndarray) -> None:
    """Products are as large as possible: few rows matter where functions are right."""
    xp, (n, p) = array_namespace(D), G.shape
    for c, total in enumerate(out):
        for sign in (1.0, -1.0):
            chosen = xp.nonzero(sign * D[:, c] > float(negligible[c]))[0]
            for part in cut(chosen.shape[0], max(1, PRODUCT_ENTRIES // p)):
                numbers = chosen[part]
                rows = G[part, :] if chosen.shape[0] == n else _taken(G, numbers)
                scaled = rows * to_device_of(xp.sqrt(xp.abs(_taken(D[:, c], numbers))), G)[:, None]
                product = scaled.T @ scaled
                product = to_numpy(product) if isinstance(D, np.ndarray) else product
                if isinstance(product, np.ndarray):  # without a copy in double precision
                    (np.add if sign > 0 else np.subtract)(total, product, out=total)
                else:
                    total += sign * in_double(product)


def _taken(array: Array, numbers: Array) -> Array:
    """Rows with the numbers of an array on the same device, or in NumPy."""
    if isinstance(numbers, np.ndarray):
        return take_rows(array, numbers)
    return array_namespace(array).take(array, numbers, axis=0)


def _scaled(G: Array, factors: Array, block: int) -> Array:
    """Columns times factors, in place where they are in memory."""
    if is_lazy(G):
        return where_computed(map_rows(lambda rows: rows * factors, G, rows=block, device_of=factors))
    for rows in cut(G.shape[0], block):
        G[rows, :] = G[rows, :] * factors
    return G


def _double(values: Array, like: Array) -> Array:
    """In double precision, in NumPy or on the device, as `like` is."""
    return to_numpy(values).astype(np.float64) if isinstance(like, np.ndarray) else in_double(values)


def _total(values: Array) -> float:
    return float(array_namespace(values).sum(values))
