"""The training rows nearest to a row by its known entries, of which those count most that say most about the others."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, take_rows, to_numpy
from preimage._engine.linalg import difference_in
from preimage._engine.rows import cut
from preimage._engine.typing import Array
from preimage._models.completion._partial_rows import ROUNDING, PartialRows

# Training rows that a row is compared with: the nearest ones by its known entries. With 60 errors on a curved sheet are
# smaller by a fiftieth and on tables larger by as much, and systems of 60 equations take seven times as long.
N_NEIGHBORS = 30
# Local averages have weights exp(−2 D/D_k) of the squared distances D, where D_k is that of the k-th nearest row.
AVERAGE_RANKS = (3, 8)
# The same for draws of neighbours: of fewer, all are at one of two places by chance.
DRAWN_RANK = 20
# Kernel ridge regressions on the neighbours: the width of the Gaussian kernel over half of their mean squared distance,
# and the ridges. Four pairs of widths (2 and 8) and ridges (0.01 to 1) restore entries no better, to half a per cent.
RELATIVE_WIDTH, LOCAL_RIDGES = 4.0, (0.03, 0.3)
# Squared distances are compared in units of this fraction of their mean, so that rounding errors, which differ with the
# number of rows that are filled together, do not decide which of two rows at the same distance is the nearer one.
DISTANCE_UNIT = 1e-9
# Smallest width of a kernel. Distances of scaled rows are about one, with rounding errors of 1e-15: a width of that
# size would make weights of them.
LEAST_WIDTH = 1e-6
# Bins of equal numbers of rows by one column, within which the others are averaged: a wave of two periods shows in ten.
BINS = 10
# Indicators of bins that are multiplied together: four MiB. Ten times more leave the cache of a core; with ten times
# fewer there are as many calls as columns.
INDICATORS = 2**19
# What a column counts at least, next to one that determines the missing entry: columns that say nothing alone may say
# something together.
LEAST_RELEVANCE = 0.02
# Rows that are looked at, evenly spaced: means of bins of a hundred rows say enough.
MOST_ROWS = 1000


@dataclass(frozen=True)
class Neighbors:
    """The training rows nearest to each of q rows by its known entries.

    Attributes
    ----------
    numbers : integer array of shape (q, k), in NumPy
    rows : array of shape (q, k, d)
    squared : array of shape (q, k)
        Squared distances in ascending order, by known entries.
    between : array of shape (q, k, k)
        Squared distances of the neighbours from each other, by the known entries of the row.
    """

    numbers: np.ndarray
    rows: Array
    squared: Array
    between: Array

    @classmethod
    def of(
        cls, points: Array, rows: PartialRows, own: np.ndarray | None = None, relevance: Array | None = None
    ) -> "Neighbors":
        """Of rows with a known entry.

        Parameters
        ----------
        points : array of shape (n, d)
        rows : PartialRows
        own : integer array of shape (q,), optional
            Which of the points the rows are, so that none is its own neighbour.
        relevance : array of shape (d, d), optional
            How much each column (along the second axis) says about each missing one: distances weight columns by the
            mean over the missing ones of a row. By default all columns count alike.
        """
        xp, n = array_namespace(points), points.shape[0]
        count = min(N_NEIGHBORS, n if own is None else n - 1)
        weights = rows.observed
        if relevance is not None:
            weights = weights * ((1 - rows.observed) @ relevance)
        weighted = rows.values * weights
        lengths = xp.sum(weighted * rows.values, axis=1)[:, None]
        numbers = _nearest(lengths + weights @ (points * points).T - 2 * (weighted @ points.T), count, own)
        q, d = rows.values.shape
        found = xp.reshape(take_rows(points, numbers.ravel()), (q, count, d))
        roots = xp.sqrt(weights)[:, None, :]
        seen = found * roots
        lengths = _sums_of_squares(seen)
        sums = lengths[:, :, None] + lengths[:, None, :]
        between = seen @ xp.matrix_transpose(seen)
        between *= -2
        between += sums
        near = _sums_of_squares(difference_in(seen, rows.values[:, None, :] * roots))
        sums *= ROUNDING * epsilon(between.dtype)  # what is left of equal rows is rounding
        return cls(numbers, found, near, xp.where(between > sums, between, xp.zeros_like(between)))

    def average(self, weights: Array) -> Array:
        """Sums over the neighbours with weights of shape (q, k); shape (q, d)."""
        return (weights[:, None, :] @ self.rows)[:, 0, :]

    def chances(self) -> Array:
        """Probabilities with which neighbours are drawn, shape (q, k)."""
        return self._by_rank(DRAWN_RANK)

    def weights(self, number: int) -> tuple[Array, Array]:
        """Of an average, first those of `AVERAGE_RANKS`, then of `LOCAL_RIDGES`: with sum one, and around a trend."""
        if number < len(AVERAGE_RANKS):
            return (self._by_rank(AVERAGE_RANKS[number]),) * 2
        return self._by_regression(LOCAL_RIDGES[number - len(AVERAGE_RANKS)])

    def _by_rank(self, rank: int) -> Array:
        xp = array_namespace(self.squared)
        last = min(rank, self.squared.shape[1]) - 1
        nearest = self.squared - self.squared[:, :1]
        weights = xp.exp(-2 * nearest / (self.squared[:, last : last + 1] + LEAST_WIDTH))
        return weights / xp.sum(weights, axis=1, keepdims=True)

    def _by_regression(self, ridge: float) -> tuple[Array, Array]:
        """Of kernel ridge regression around a constant that is estimated as well, and around zero.

        With :math:`a = (K + rI)^{-1} k(x)` and :math:`b = (K + rI)^{-1} 1` these are :math:`a + b(1 - 1'a)/1'b` and a.
        """
        kernel, to_rows = self._kernels
        xp = array_namespace(kernel)
        unit = xp.eye(kernel.shape[1], dtype=kernel.dtype, **device_kwargs(kernel))
        both = xp.linalg.solve(kernel + ridge * unit, xp.stack([to_rows, xp.ones_like(to_rows)], axis=2))
        plain, even = both[:, :, 0], both[:, :, 1]
        rest = (1 - xp.sum(plain, axis=1)) / xp.sum(even, axis=1)
        return plain + even * rest[:, None], plain

    @cached_property
    def _kernels(self) -> tuple[Array, Array]:
        """Gaussian kernels between neighbours, and from them to the row, shapes (q, k, k) and (q, k)."""
        xp = array_namespace(self.between)
        width = RELATIVE_WIDTH * xp.mean(self.between, axis=(1, 2)) / 2 + LEAST_WIDTH
        return xp.exp(-self.between / width[:, None, None]), xp.exp(-self.squared / width[:, None])


def _sums_of_squares(array: Array) -> Array:
    """Over the last axis of three."""
    if isinstance(array, np.ndarray):  # without an array of squares
        return np.einsum("qkd,qkd->qk", array, array)
    return array_namespace(array).sum(array * array, axis=2)


def _nearest(squared: Array, count: int, own: np.ndarray | None) -> np.ndarray:
    """Numbers of the nearest points of each row in ascending order; of those at the same distance the first ones."""
    n, squared = squared.shape[1], to_numpy(squared)
    unit = DISTANCE_UNIT * np.mean(squared, axis=1, keepdims=True)
    # Distances as whole numbers, with the number of the point as last digits: no two are equal. None is larger than n
    # times the mean, so that the numbers stay in the range of integers.
    units = squared / np.where(unit > 0, unit, 1.0)
    keys = np.rint(units, out=units).astype(np.int64)
    keys *= n
    keys += np.arange(n)
    if own is not None:
        keys[np.arange(own.size), own] = np.iinfo(np.int64).max
    if count < n:
        keys = np.partition(keys, count - 1, axis=1)[:, :count]
    return np.sort(keys, axis=1) % n


def relevances(points: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Fractions of the variance of each column (first axis) that lie between bins of each other one (second axis).

    Less what chance alone would explain, and at least 0.02. Indicators of a category are one column here: their bins
    are the categories, and their variances are added. As missing ones they count as much together as a number does.

    Parameters
    ----------
    points : array of shape (n, d)
    groups : integer array of shape (d,)
        Columns with the same number are indicators of the same entry.

    Returns
    -------
    array of shape (d, d)
        Ones on the diagonal, divided by the number of indicators.
    """
    points = points[np.unique(np.linspace(0, len(points) - 1, MOST_ROWS).astype(int))]
    n, counts = points.shape[0], np.bincount(groups)
    first = np.cumsum(counts) - counts
    centered = points - points.mean(axis=0)
    total = np.add.reduceat(np.sum(centered**2, axis=0), first)
    labels, n_bins = _bins(points, first, counts)
    found = np.empty((counts.size, counts.size))
    # Sums over the bins of many columns are one product with indicators of these bins.
    for part in cut(counts.size, max(1, INDICATORS // (n * int(n_bins.max())))):
        members = (labels[:, part, None] == np.arange(n_bins[part].max())).reshape(n, -1).astype(points.dtype)
        sizes = members.sum(axis=0)[:, None]
        sums = (members.T @ centered) ** 2 / np.where(sizes > 0, sizes, 1.0)
        between = np.add.reduceat(sums.reshape(n_bins[part].size, -1, points.shape[1]).sum(axis=1), first, axis=1)
        explained = between / np.where(total > 0, total, 1.0)
        found[:, part] = (1 - (1 - explained) * (n - 1) / np.maximum(1, n - n_bins[part])[:, None]).T
    return (np.clip(found, LEAST_RELEVANCE, 1.0) / counts[:, None])[np.ix_(groups, groups)]


def _bins(points: np.ndarray, first: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bin of each row by each entry, shape (n, number of entries), and the numbers of bins that have rows.

    Bins of a number have as many rows each, and those of a category have its rows.
    """
    n, is_number = points.shape[0], counts == 1
    labels, n_bins = np.empty((n, counts.size), np.intp), np.full(counts.size, max(2, min(BINS, n // 4)))
    columns = points[:, first[is_number]]
    by_rank = np.repeat(np.arange(n_bins[0]), np.diff(np.arange(n_bins[0] + 1) * n // n_bins[0]))
    ranked = np.empty(columns.shape, np.intp)
    np.put_along_axis(ranked, np.argsort(columns, axis=0, kind="stable"), by_rank[:, None], axis=0)
    labels[:, is_number] = ranked
    for entry in np.flatnonzero(~is_number):
        indicators = points[:, first[entry] : first[entry] + counts[entry]]
        present, labels[:, entry] = np.unique(indicators.argmax(axis=1), return_inverse=True)
        n_bins[entry] = present.size
    return labels, n_bins
