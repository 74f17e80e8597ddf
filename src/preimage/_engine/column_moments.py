"""What one pass over rows says of each column: counts, means, deviations and ranges."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.typing import Array

# Columns are constant whose values differ by no more than so many times the rounding of the largest: a computation of
# few steps leaves that, and real changes about a large mean, as of times in seconds, are a million times larger.
ROUNDING = 4


@dataclass(frozen=True)
class ColumnMoments:
    """Counts, means, sums of squared deviations and ranges of columns, without missing values; of two parts, a + b."""

    count: Array
    mean: Array
    squares: Array
    lowest: Array
    highest: Array
    n_missing: int = 0

    @classmethod
    def of(cls, rows: Array) -> "ColumnMoments":
        values = np.asarray(rows, dtype=np.float64)
        missing = np.isnan(values)
        count = (~missing).sum(axis=0)
        mean = np.where(missing, 0, values).sum(axis=0) / np.maximum(count, 1)
        with np.errstate(over="ignore"):  # columns with such values are refused
            squares = (np.where(missing, 0, values - mean) ** 2).sum(axis=0)
        lowest = np.min(values, axis=0, initial=np.inf, where=~missing)
        highest = np.max(values, axis=0, initial=-np.inf, where=~missing)
        return cls(count, mean, squares, lowest, highest, int(missing.sum()))

    def __add__(self, other: "ColumnMoments") -> "ColumnMoments":
        count = self.count + other.count
        shift, weight = other.mean - self.mean, other.count / np.maximum(count, 1)
        with np.errstate(over="ignore"):
            squares = self.squares + other.squares + shift**2 * self.count * weight
        ends = np.minimum(self.lowest, other.lowest), np.maximum(self.highest, other.highest)
        return ColumnMoments(count, self.mean + shift * weight, squares, *ends, self.n_missing + other.n_missing)

    def of_columns(self, columns: Array) -> "ColumnMoments":
        """Those of some columns; the others have no gaps."""
        count, mean, squares = self.count[columns], self.mean[columns], self.squares[columns]
        return ColumnMoments(count, mean, squares, self.lowest[columns], self.highest[columns], self.n_missing)

    @property
    def deviation(self) -> Array:
        return np.sqrt(self.squares / np.maximum(self.count, 1))

    def is_constant(self, dtype: Any) -> Array:
        """Which columns have values, and all of them are equal up to the rounding of a type of numbers."""
        size = np.maximum(np.abs(self.lowest), np.abs(self.highest))
        with np.errstate(over="ignore", invalid="ignore"):  # of columns without values
            return (self.count > 0) & (self.highest - self.lowest <= ROUNDING * np.finfo(dtype).eps * size)
