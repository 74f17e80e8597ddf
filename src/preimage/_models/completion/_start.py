"""Where missing entries start: averages of like rows, by the entries that are known."""

from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, from_numpy, take_rows, to_dense, to_numpy
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage.descent import tile_rows

# Rows are averaged with weights exp(−SHARPNESS · squared distance / median of squared distances): on images and tables
# with a tenth to a half of the entries missing, between 8 and 32 are equally good; 100 is the nearest row alone, 1 the
# mean of all.
SHARPNESS = 16.0
# Rows from which the median of partial distances is found: half a million pairs, whose median is exact to a few per
# mille. Ten times as many rows take a hundred times as long.
MEDIAN_ROWS = 1000
# Units of rounding, relative to the squared lengths, up to which a squared distance is zero. Differences of equal rows
# have one or two; a hundred times more would be rows that differ in the seventh digit.
ROUNDING = 8


@dataclass(frozen=True)
class PartialRows:
    """Rows with missing entries.

    Attributes
    ----------
    values : array of shape (n, d)
        Zero where an entry is missing.
    observed : array of shape (n, d)
        One where an entry is known, zero where it is missing, in the dtype of the values.
    """

    values: Array
    observed: Array

    @classmethod
    def of(cls, X: Array, observed: Array) -> "PartialRows":
        """Rows X of which the boolean array `observed` marks the entries that are known."""
        xp = array_namespace(X)
        return cls(xp.where(observed, X, xp.zeros_like(X)), xp.astype(observed, X.dtype))

    def squared_distances(self, other: "PartialRows") -> tuple[Array, Array]:
        """Squared distances of all pairs, from the n entries that both rows have, times d/n; and n itself.

        As in scikit-learn's `nan_euclidean_distances`; zero where rows have no entry in common. What rounding errors
        leave of rows that agree in all of them is zero, too: otherwise the order of X in memory would decide.
        """
        xp = array_namespace(self.values)
        common = self.observed @ other.observed.T
        lengths = (self.values**2) @ other.observed.T + self.observed @ (other.values**2).T
        squared = lengths - 2 * (self.values @ other.values.T)
        squared = xp.where(squared > ROUNDING * epsilon(squared.dtype) * lengths, squared, xp.zeros_like(squared))
        scale = self.values.shape[1] / xp.where(common > 0, common, xp.ones_like(common))
        return squared * scale, common

    def take(self, rows: np.ndarray) -> "PartialRows":
        return PartialRows(take_rows(self.values, rows), take_rows(self.observed, rows))

    def column_means(self) -> Array:
        """Means of the known entries; zero for columns without any."""
        xp = array_namespace(self.values)
        return xp.sum(self.values, axis=0) / xp.clip(xp.sum(self.observed, axis=0), min=1.0)


def median_distance(rows: PartialRows) -> float:
    """The median squared distance between rows, by the entries that both have; of at most 1,000 rows."""
    n = rows.values.shape[0]
    if n > MEDIAN_ROWS:
        rows = rows.take(np.sort(np.random.default_rng(0).choice(n, MEDIAN_ROWS, replace=False)))
    squared, common = (to_numpy(array) for array in rows.squared_distances(rows))
    pairs = np.triu(common > 0, 1)
    found = squared[pairs & (squared > 0)]
    return float(np.median(found)) if found.size else 1.0


def neighbor_start(points: PartialRows, X: Array, observed: Array, scale: float, *, same: bool = False) -> Array:
    """X with missing entries replaced by averages over `points`, nearer ones counting more.

    Weights are :math:`e^{-s D}` of the squared distances D by common entries, in units of `scale`. Rows without an
    entry get the mean of the points. With `same`, X are the points themselves, and none counts for itself.

    Parameters
    ----------
    points : PartialRows
    X : array of shape (q, d)
    observed : boolean array of shape (q, d)
        Which entries of X are known; the others are not read.
    scale : float
        A squared distance between points, such as their median.
    same : bool, default=False

    Returns
    -------
    array of shape (q, d)
    """
    xp = array_namespace(X)
    queries, means = PartialRows.of(X, observed), points.column_means()
    numbers = from_numpy(np.arange(X.shape[0]), X, dtype=xp.int64)
    columns = from_numpy(np.arange(points.values.shape[0]), X, dtype=xp.int64)
    # Where no point with an entry in this column is near, its mean has this weight next to the sum of all weights.
    little = epsilon(X.dtype) ** 0.5

    def average(values: Array, known: Array, these: Array) -> Array:
        squared, common = PartialRows(values, known).squared_distances(points)
        usable = common > 0
        if same:
            usable = usable & (these[:, None] != columns[None, :])
        far = xp.max(squared, axis=1, keepdims=True)
        squared = xp.where(usable, squared, far + xp.ones_like(far) * scale)
        squared = squared - xp.min(squared, axis=1, keepdims=True)
        weights = xp.exp(-(SHARPNESS / scale) * squared)
        if same:
            weights = xp.where(these[:, None] == columns[None, :], xp.zeros_like(weights), weights)
        total, size = weights @ points.values, weights @ points.observed
        return (total + little * means) / (size + little)

    filled = map_rows(average, queries.values, queries.observed, numbers, rows=tile_rows(columns.shape[0], X))
    return xp.where(observed, X, filled)


def complete_rows(X: Array) -> PartialRows:
    """Rows of which no entry is missing."""
    X = to_dense(X)
    return PartialRows(X, array_namespace(X).ones(X.shape, dtype=X.dtype, **device_kwargs(X)))
