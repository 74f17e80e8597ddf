"""Passes over coordinates of data in a subspace of feature space, held or computed again."""

from preimage._arrays import in_memory, take_rows
from preimage._rows import sum_rows

# Rows whose coordinates are worked on together.
BLOCK = 2048


class CoordinatePass:
    """Coordinates y, lengths k(x, x) and weights of the rows of X, block by block.

    Parameters
    ----------
    X : array, memory map or Dask array of shape (n, d)
    coordinates, diagonal : callables
        From rows of X to their coordinates (b, m) and to k(x, x) (b,), in NumPy and double precision.
    weights : array of shape (n,)
    held : bool
        Whether to compute all coordinates now and keep them.
    """

    def __init__(self, X, coordinates, diagonal, weights, *, held):
        self.X, self.weights = X, weights
        self._coordinates, self._diagonal = coordinates, diagonal
        self.held = None
        if held:
            rows = in_memory(X)
            self.held = coordinates(rows), diagonal(rows)

    def __len__(self):
        return self.weights.size

    def take(self, numbers):
        """Coordinates and k(x, x) of the rows with the given numbers."""
        if self.held is not None:
            return self.held[0][numbers], self.held[1][numbers]
        rows = take_rows(self.X, numbers)
        return self._coordinates(rows), self._diagonal(rows)

    def sample(self, numbers):
        """A pass over some rows only, held."""
        part = CoordinatePass(None, None, None, self.weights[numbers], held=False)
        part.held = self.take(numbers)
        return part

    def sum(self, function):
        """Add ``function(Y, lengths, weights)`` over blocks of rows."""
        if self.held is not None:
            return sum_rows(function, *self.held, self.weights, rows=BLOCK)
        from_rows = lambda rows, weights: function(self._coordinates(rows), self._diagonal(rows), weights)
        return sum_rows(from_rows, self.X, self.weights, rows=BLOCK)
