"""Categories as columns of zeros and ones, one per category, of which exactly one is one."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, to_numpy
from preimage._engine.typing import Array


@dataclass(frozen=True)
class Indicators:
    """Which columns of a table of numbers are indicators of the same entry.

    Columns of numbers come first, then those of the first entry with categories, and so on. Squared errors of
    indicators are Brier scores, and their conditional means are probabilities.

    Attributes
    ----------
    n_numbers : int
        Columns that are numbers themselves.
    sizes : tuple of int
        Numbers of categories of the other entries.
    center, scale : arrays of shape (d,), or None where all columns are numbers
        Columns of the table are (x − center)/scale.
    """

    n_numbers: int
    sizes: tuple[int, ...] = ()
    center: Array = None
    scale: Array = None

    @property
    def groups(self) -> np.ndarray:
        """The number of the entry that each column belongs to."""
        return np.repeat(np.arange(self.n_numbers + len(self.sizes)), [1] * self.n_numbers + list(self.sizes))

    @property
    def parts(self) -> list[slice]:
        """The columns of each entry with categories."""
        ends = self.n_numbers + np.cumsum((0, *self.sizes))
        return [slice(int(start), int(end)) for start, end in pairwise(ends)]

    def probabilities(self, rows: Array) -> list[Array]:
        """Of the categories of each entry: what the columns say, at least zero and with sum one.

        Parameters
        ----------
        rows : array of shape (..., d)
            Scaled rows without missing entries.

        Returns
        -------
        list of arrays of shape (..., number of categories)
        """
        xp, result = array_namespace(rows), []
        for part in self.parts:
            found = xp.clip(rows[..., part] * self.scale[part] + self.center[part], min=0.0, max=1.0)
            total = xp.sum(found, axis=-1, keepdims=True)
            even = xp.ones_like(found) / found.shape[-1]
            result.append(xp.where(total > 0, found / xp.where(total > 0, total, xp.ones_like(total)), even))
        return result

    def with_drawn(self, rows: Array, chances: list[np.ndarray], uniform: np.ndarray) -> Array:
        """Rows in which the columns of each entry are those of one category, drawn at random.

        Parameters
        ----------
        rows : array of shape (..., d)
        chances : list of arrays of shape (..., number of categories), in NumPy
            Probabilities, one array per entry with categories.
        uniform : array of shape (number of entries with categories, ...)
            Random numbers between 0 and 1.
        """
        parts = [rows[..., : self.n_numbers]]
        for part, given, numbers in zip(self.parts, chances, uniform, strict=True):
            sums = np.cumsum(given, axis=-1)
            picked = np.sum(sums < numbers[..., None] * sums[..., -1:], axis=-1)
            ones = from_numpy(np.eye(given.shape[-1])[picked], rows, dtype=rows.dtype)
            parts.append((ones - self.center[part]) / self.scale[part])
        return array_namespace(rows).concat(parts, axis=-1)

    def given_neighbors(
        self, middle: Array, neighbors: Array, weights: np.ndarray, picked: np.ndarray
    ) -> list[np.ndarray]:
        r"""Probabilities of categories given the neighbour that was picked, whose mean is what `middle` says.

        A neighbour's category c is kept with probability :math:`\min(1, p_c/q_c)`, where p are the probabilities of the
        row and q the frequencies in its neighbours; otherwise another one is drawn from what is left of p. Categories
        of several entries, and numbers, are then those of one neighbour as often as they can be.

        Parameters
        ----------
        middle : array of shape (q, d)
            Conditional means.
        neighbors : array of shape (q, k, d)
        weights : array of shape (q, k)
            With which neighbours are picked.
        picked : integer array of shape (number of draws, q)

        Returns
        -------
        list of arrays of shape (number of draws, q, number of categories)
        """
        found, rows = [], np.arange(middle.shape[0])
        for wanted, near in zip(self.probabilities(middle), self.probabilities(neighbors), strict=True):
            p, near = to_numpy(wanted), to_numpy(near)
            q = np.sum(weights[:, :, None] * near, axis=1)
            kept = near[rows, picked] * np.minimum(1.0, p / np.where(q > 0, q, 1.0))
            left = np.maximum(p - q, 0.0)
            total = left.sum(axis=1, keepdims=True)
            left = np.where(total > 0, left / np.where(total > 0, total, 1.0), p)
            found.append(kept + (1 - kept.sum(axis=2, keepdims=True)) * left)
        return found
