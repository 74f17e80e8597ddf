"""Passes over coordinates of data in a subspace of feature space, held in memory or computed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from preimage._arrays import in_memory, take_rows
from preimage._rows import sum_rows
from preimage._typing import Array, Rows

# Rows whose coordinates are worked on together: with a few hundred coordinates, some MiB per thread. Ten times more
# would leave threads without blocks on a few thousand rows.
BLOCK = 2048


class CoordinatePass:
    """Coordinates y, squared lengths k(x, x) and weights of the rows of X, block by block.

    Parameters
    ----------
    X : array, memory map or Dask array of shape (n, d)
    coordinates, diagonal : callables
        From rows of X to their coordinates (b, m) and to k(x, x) (b,), in NumPy and double precision.
    weights : array of shape (n,)
    held : bool
        Whether to compute all coordinates now and keep them.
    """

    def __init__(
        self,
        X: Rows,
        coordinates: Callable[[Array], np.ndarray],
        diagonal: Callable[[Array], np.ndarray],
        weights: np.ndarray,
        *,
        held: bool,
    ) -> None:
        self.X, self.weights = X, weights
        self._coordinates, self._diagonal = coordinates, diagonal
        self.held: tuple[np.ndarray, np.ndarray] | None = None
        if held:
            rows = in_memory(X)
            self.held = coordinates(rows), diagonal(rows)

    def __len__(self) -> int:
        return self.weights.size

    def take(self, numbers: Array) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and k(x, x) of the rows with the given numbers."""
        if self.held is not None:
            return self.held[0][numbers], self.held[1][numbers]
        rows = take_rows(self.X, numbers)
        return self._coordinates(rows), self._diagonal(rows)

    def sample(self, numbers: Array) -> CoordinatePass:
        """A pass over some rows only, held."""
        part = CoordinatePass(None, self._coordinates, self._diagonal, self.weights[numbers], held=False)
        part.held = self.take(numbers)
        return part

    def sum(self, function: Callable[[Array, Array, Array], Any]) -> Any:
        """Add ``function(Y, lengths, weights)`` over blocks of rows."""
        if self.held is not None:
            return sum_rows(function, *self.held, self.weights, rows=BLOCK)
        coordinates, diagonal = self._coordinates, self._diagonal  # without `self`, which would travel to workers
        of_rows = lambda rows, weights: function(coordinates(rows), diagonal(rows), weights)
        return sum_rows(of_rows, self.X, self.weights, rows=BLOCK)
