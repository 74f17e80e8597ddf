"""Rows with missing entries: their scale, first guesses by like rows, and known entries that are hidden."""

from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, from_numpy, take_rows, to_dense, to_numpy
from preimage._engine.linalg import difference_in
from preimage._engine.rows import cut, for_blocks, stacked_blocks
from preimage._engine.typing import Array
from preimage.descent import tile_rows

# Rows are averaged with weights exp(−SHARPNESS · squared distance / median of squared distances): on images and tables
# with a tenth to a half of the entries missing, between 8 and 32 are equally good; 100 is the nearest row alone, 1 the
# mean of all.
SHARPNESS = 16.0
# Rows from which the median of partial distances is found: half a million pairs, whose median is exact to a few per
# mille. Ten times as many rows take a hundred times as long.
MEDIAN_ROWS = 1000
# Rows whose distances from later ones are computed in one piece of work: eight pieces of the thousand rows.
MEDIAN_BLOCK_ROWS = 128
# Units of rounding, relative to the squared lengths, up to which a squared distance is zero. Differences of equal rows
# have one or two; a hundred times more would be rows that differ in the seventh digit.
ROUNDING = 8
# Columns are divided by their standard deviations unless the 90th percentile of these is at most so many times their
# median: pixels, spectra and sensors of one kind have 1.1 to 1.5, tables of unlike columns 3 to 1,000. If pixels were
# divided, those at the border, which are nearly constant, would count as much as the others.
ALIKE = 2.0
# Fraction of the entries that is hidden where no row shows what is usually missing.
FRACTION = 0.3


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
    def of(cls, X: Array, observed: Array | None = None) -> "PartialRows":
        """Rows X of which the boolean array `observed` marks the entries that are known; None is all of them."""
        X, xp = to_dense(X), array_namespace(X)
        if observed is None:
            return cls(X, xp.ones(X.shape, dtype=X.dtype, **device_kwargs(X)))
        return cls(xp.where(observed, X, xp.zeros_like(X)), xp.astype(observed, X.dtype))

    def part(self, block: slice) -> "PartialRows":
        """The rows of a block."""
        return PartialRows(self.values[block, :], self.observed[block, :])

    def squared_distances(self, other: "PartialRows") -> tuple[Array, Array]:
        """Squared distances of all pairs, from the n entries that both rows have, times d/n; and n itself.

        As in scikit-learn's `nan_euclidean_distances`; zero where rows have no entry in common. What rounding errors
        leave of rows that agree in all of them is zero, too: otherwise the order of X in memory would decide.
        """
        xp = array_namespace(self.values)
        common = self.observed @ other.observed.T
        left = xp.concat([self.values**2, self.observed], axis=1)
        lengths = left @ xp.concat([other.observed, other.values**2], axis=1).T
        squared = (-2 * self.values) @ other.values.T
        if isinstance(squared, np.ndarray):  # in place: fresh memory takes longer than arithmetic
            squared += lengths
            lengths *= ROUNDING * epsilon(squared.dtype)
            np.copyto(squared, 0, where=~(squared > lengths))
            np.maximum(common, 1, out=lengths)
            np.divide(self.values.shape[1], lengths, out=lengths)
            squared *= lengths
            return squared, common
        squared = lengths + squared
        squared = xp.where(squared > ROUNDING * epsilon(squared.dtype) * lengths, squared, xp.zeros_like(squared))
        scale = self.values.shape[1] / xp.where(common > 0, common, xp.ones_like(common))
        return squared * scale, common


def median_distance(X: Array, observed: Array | None = None) -> float:
    """The median squared distance between rows, by the entries that both have; of at most 1,000 rows."""
    rows, n = PartialRows.of(X, observed), X.shape[0]
    if n > MEDIAN_ROWS:
        some = np.sort(np.random.default_rng(0).choice(n, MEDIAN_ROWS, replace=False))
        rows = PartialRows(take_rows(rows.values, some), take_rows(rows.observed, some))

    def positive(block: slice) -> np.ndarray:
        """Distances of the rows of a block from those after them."""
        mine, later = rows.part(block), rows.part(slice(block.start, None))
        squared, common = (to_numpy(array) for array in mine.squared_distances(later))
        return squared[np.triu(common > 0, 1) & (squared > 0)]

    found = np.concatenate(for_blocks(positive, cut(rows.values.shape[0], MEDIAN_BLOCK_ROWS), X))
    return float(np.median(found)) if found.size else 1.0


def neighbor_start(X: Array, observed: Array, scale: float, points: Array | None = None) -> Array:
    """X with missing entries replaced by averages over points, nearer ones counting more.

    Weights are :math:`e^{-s D}` of the squared distances D by common entries, in units of `scale`. Rows without an
    entry get the mean of the points.

    Parameters
    ----------
    X : array of shape (q, d)
    observed : boolean array of shape (q, d)
        Which entries of X are known; the others are not read.
    scale : float
        A squared distance between points, such as their median.
    points : array of shape (n, d), optional
        Without missing entries; by default X itself, of which no row counts for itself.

    Returns
    -------
    array of shape (q, d)
    """
    xp, is_own = array_namespace(X), points is None
    queries = PartialRows.of(X, observed)
    others = PartialRows.of(X, observed) if points is None else PartialRows.of(points)
    means = xp.sum(others.values, axis=0) / xp.clip(xp.sum(others.observed, axis=0), min=1.0)
    numbers = from_numpy(np.arange(X.shape[0]), X, dtype=xp.int64)
    columns = from_numpy(np.arange(others.values.shape[0]), X, dtype=xp.int64)
    # Where no point with an entry in this column is near, its mean has this weight next to the sum of all weights.
    little = epsilon(X.dtype) ** 0.5

    def average(block: slice) -> Array:
        these = numbers[block]
        squared, common = queries.part(block).squared_distances(others)
        usable = common > 0
        if is_own:
            usable = usable & (these[:, None] != columns[None, :])
        far = xp.max(squared, axis=1, keepdims=True)
        squared = xp.where(usable, squared, far + xp.ones_like(far) * scale)
        squared = difference_in(squared, xp.min(squared, axis=1, keepdims=True))
        squared *= -(SHARPNESS / scale)
        weights = np.exp(squared, out=squared) if isinstance(squared, np.ndarray) else xp.exp(squared)
        if is_own:
            weights = xp.where(these[:, None] == columns[None, :], xp.zeros_like(weights), weights)
        total, size = weights @ others.values, weights @ others.observed
        return (total + little * means) / (size + little)

    q = X.shape[0]
    filled = stacked_blocks(average, q, tile_rows(columns.shape[0], X) or q, X)
    return xp.where(observed, X, filled)


@dataclass(frozen=True)
class ColumnScale:
    """The map x ↦ (x − center)/scale of columns.

    Attributes
    ----------
    center, scale : arrays of shape (d,)
    """

    center: Array
    scale: Array

    @classmethod
    def of(cls, X: Array, observed: Array, divides: bool | None, groups: np.ndarray | None = None) -> "ColumnScale":
        """Means of the known entries, and their standard deviations; one number for all columns if they are alike.

        Parameters
        ----------
        X : array of shape (n, d)
        observed : boolean array of shape (n, d)
            With a known entry in every column.
        divides : bool or None
            Whether each column is divided by its own standard deviation; None does so unless these are alike.
        groups : integer array of shape (d,), optional
            Columns with the same number, indicators of the same entry, have one standard deviation, the root of the sum
            of their variances, so that a category varies as much as a number. None divides then.
        """
        xp = array_namespace(X)
        count = xp.sum(xp.astype(observed, X.dtype), axis=0)
        zeros = xp.zeros_like(X)
        center = xp.sum(xp.where(observed, X, zeros) / count, axis=0)
        shifted = xp.where(observed, X - center, zeros)
        deviations = xp.sqrt(xp.sum(shifted**2, axis=0) / count)
        # A column that varies by rounding errors of its mean alone is constant.
        constant = ~(deviations > 4 * epsilon(X.dtype) * xp.abs(center))
        if groups is not None:
            divides = divides is None or divides
            sums = np.bincount(groups, weights=to_numpy(deviations) ** 2)
            deviations = from_numpy(np.sqrt(sums)[groups], X, dtype=X.dtype)
            varies = np.bincount(groups, weights=~to_numpy(constant)) > 0
            constant = from_numpy(~varies[groups], X, dtype=xp.bool)
        center = xp.where(constant, xp.max(xp.where(observed, X, xp.full_like(X, -np.inf)), axis=0), center)
        spread = to_numpy(deviations)[~to_numpy(constant)]
        if not spread.size:
            return cls(center, xp.ones_like(center))
        if divides is None:
            divides = bool(np.percentile(spread, 90) > ALIKE * np.median(spread))
        if not divides:
            return cls(center, xp.full_like(center, float(np.sqrt(np.mean(spread**2)))))
        return cls(center, xp.where(constant, xp.ones_like(center), deviations))

    def apply(self, X: Array) -> Array:
        return (X - self.center) / self.scale

    def undo(self, Z: Array) -> Array:
        return Z * self.scale + self.center


def hidden_entries(
    observed: np.ndarray,
    rng: np.random.Generator,
    fraction: float | None = None,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Known entries to hide: those that another row misses, or a fraction of them at random.

    What is missing together in real rows is then hidden together. Every row keeps at least one known entry, and rows
    with fewer than two have nothing hidden.

    Parameters
    ----------
    observed : boolean array of shape (n, d)
    rng : numpy.random.Generator
    fraction : float, optional
        Of the known entries of each row, hidden at random. By default each row loses what some other, randomly chosen
        incomplete row misses; 0.3 where all rows are complete, or where the other row misses nothing more.
    groups : integer array of shape (d,), optional
        The number of the entry that each column belongs to, in ascending order: columns of one entry, such as the
        indicators of a category, are hidden together.

    Returns
    -------
    boolean array of shape (n, d)
    """
    if groups is not None:
        first = np.flatnonzero(np.diff(groups, prepend=-1))
        return hidden_entries(observed[:, first], rng, fraction)[:, groups]
    n, d = observed.shape
    order = rng.random((n, d))
    hidden = observed & (order < (FRACTION if fraction is None else fraction))
    incomplete = np.flatnonzero(~observed.all(axis=1) & observed.any(axis=1))
    if fraction is None and incomplete.size:
        borrowed = observed & ~observed[rng.choice(incomplete, size=n)]
        hidden = np.where(borrowed.any(axis=1)[:, None], borrowed, hidden)
    # One known entry of each row stays, and one is hidden where there are two: the last and first in a random order.
    place = np.where(observed, order, np.inf)
    rows = np.arange(n)
    hidden[rows, place.argmin(axis=1)] |= ~hidden.any(axis=1)
    hidden[rows, np.where(observed, order, -np.inf).argmax(axis=1)] &= (observed & ~hidden).any(axis=1)
    return hidden & observed & (observed.sum(axis=1) > 1)[:, None]
