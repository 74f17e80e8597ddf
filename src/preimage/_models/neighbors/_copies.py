"""Rows that occur several times: they are compared once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._engine.typing import Array
from preimage.feature_space import distinct_rows


@dataclass(frozen=True)
class Copies:
    """Which of n rows are equal: distinct rows are numbered in the order in which they come first.

    Copies of a row have distances that are equal to the last bit then, and ties are in the order of row numbers.

    Parameters
    ----------
    rows : integer array of shape (n,)
        Numbers of all rows, copies of one another in succession.
    starts : integer array of shape (u + 1,)
        Where the copies of each distinct row begin in `rows`; the last entry is n.
    """

    rows: np.ndarray
    starts: np.ndarray

    @classmethod
    def among(cls, points: Array, *, row_numbers: bool) -> Copies:
        """The copies among rows; those of a precomputed matrix, known by their numbers, are all distinct."""
        n = points.shape[0]
        if row_numbers:
            return cls(np.arange(n), np.arange(n + 1))
        first, numbers = distinct_rows(points)
        place = np.empty(first.size, dtype=int)
        place[np.argsort(first)] = np.arange(first.size)
        rows = np.argsort(place[numbers], kind="stable")
        return cls(rows, np.concatenate([[0], np.cumsum(np.bincount(place[numbers], minlength=first.size))]))

    def check_fields(self) -> None:
        """Raise ValueError if the fields, which may come from a file, do not belong together."""
        n, starts = self.rows.size, self.starts
        is_order = self.rows.ndim == 1 and np.array_equal(np.sort(self.rows), np.arange(n))
        rises = starts.ndim == 1 and starts.size > 1 and bool(np.all(np.diff(starts) > 0))
        if not (is_order and rises and starts[0] == 0 and starts[-1] == n):
            raise ValueError("Copies of rows need every row number once, and rising starts.")

    @property
    def first(self) -> np.ndarray:
        """Row numbers of the distinct rows, ascending."""
        return self.rows[self.starts[:-1]]

    @property
    def of_rows(self) -> np.ndarray:
        """For every row, which of the distinct ones it is."""
        numbers = np.empty(self.rows.size, dtype=int)
        numbers[self.rows] = np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))
        return numbers

    def expanded(self, keys: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys and rows in the order of keys, then of rows, for keys of distinct rows, each for all of its copies."""
        counts = self.starts[numbers + 1] - self.starts[numbers]
        offsets = np.repeat(self.starts[numbers] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        rows, keys = self.rows[np.arange(counts.sum()) + offsets], np.repeat(keys, counts)
        order = np.lexsort((rows, keys))
        return keys[order], rows[order]

    def nearest(self, keys: np.ndarray, numbers: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The first k rows of the copies of distinct rows, given as arrays of shape (q, at least k or all)."""
        if self.starts.size == self.rows.size + 1:
            return keys[:, :k], numbers[:, :k]
        found = [self.expanded(*each) for each in zip(keys, numbers, strict=True)]
        shape = (keys.shape[0], k)
        return (
            np.array([keys[:k] for keys, _ in found]).reshape(shape),
            np.array([rows[:k] for _, rows in found], dtype=int).reshape(shape),
        )
