"""Means of the missing entries of a row given its known ones: local averages around a linear trend."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, from_numpy, itemsize, take_rows, to_numpy
from preimage._engine.memory import work_memory
from preimage._engine.rows import cut, map_rows
from preimage._engine.typing import Array
from preimage._models.completion._indicators import Indicators
from preimage._models.completion._relevance import relevances
from preimage._models.completion._start import ROUNDING, PartialRows
from preimage._models.completion._trend import Gaps, Trend

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
# Ridges of the linear trend, as fractions of the mean variance of a column: tables of few factors want the first, and
# images, which have nearly as many columns as rows, the second.
TREND_RIDGES = (1e-3, 1e-1)
# With more columns no trend is fitted, and all count alike: precisions take cubic time, and covariances of so many
# columns more rows than there usually are.
MOST_TREND_COLUMNS = 600
# Squared distances are compared in units of this fraction of their mean, so that rounding errors, which differ with the
# number of rows that are filled together, do not decide which of two rows at the same distance is the nearer one.
DISTANCE_UNIT = 1e-9
# Smallest width of a kernel. Distances of scaled rows are about one, with rounding errors of 1e-15: a width of that
# size would make weights of them.
LEAST_WIDTH = 1e-6
# Most rows that are filled together: more do not fit into the cache of a processor.
MOST_BLOCK_ROWS = 256


class Member(NamedTuple):
    """One way to find the mean: a local average of neighbours, and the trend that it is an average around.

    Attributes
    ----------
    average : int or None
        The number of the local average, first those of `AVERAGE_RANKS`, then those of `LOCAL_RIDGES`; None is none.
    trend : int or None
        The number of the ridge in `TREND_RIDGES`; None averages rows themselves.
    """

    average: int | None
    trend: int | None


def members(d: int) -> list[Member]:
    """All members for rows of d columns."""
    ridges = range(len(AVERAGE_RANKS), len(AVERAGE_RANKS) + len(LOCAL_RIDGES))
    averages = [Member(number, None) for number in range(len(AVERAGE_RANKS) + len(LOCAL_RIDGES))]
    trends = _trends() if d <= MOST_TREND_COLUMNS else ()
    return averages + [Member(average, trend) for trend in trends for average in (None, *ridges)]


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
        lengths = xp.sum(seen * seen, axis=2)
        sums = lengths[:, :, None] + lengths[:, None, :]
        between = sums - 2 * (seen @ xp.matrix_transpose(seen))
        differences = seen - rows.values[:, None, :] * roots
        near = xp.sum(differences * differences, axis=2)
        is_apart = between > ROUNDING * epsilon(between.dtype) * sums  # what is left of equal rows is rounding
        return cls(numbers, found, near, xp.where(is_apart, between, xp.zeros_like(between)))

    def average(self, weights: Array) -> Array:
        """Sums over the neighbours with weights of shape (q, k); shape (q, d)."""
        return (weights[:, None, :] @ self.rows)[:, 0, :]

    def chances(self) -> Array:
        """Probabilities with which neighbours are drawn, shape (q, k)."""
        return self._by_rank(DRAWN_RANK)

    def averages(self, wanted: set[int]) -> dict[int, tuple[Array, Array]]:
        """Weights by the number of the average: those that sum to one, and those of deviations from a trend."""
        found = {}
        for number, rank in enumerate(AVERAGE_RANKS):
            if number in wanted:
                found[number] = (self._by_rank(rank),) * 2
        for number, ridge in enumerate(LOCAL_RIDGES, len(AVERAGE_RANKS)):
            if number in wanted:
                found[number] = self._by_regression(ridge)
        return found

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
        xp = array_namespace(self._kernel)
        count = self._kernel.shape[1]
        unit = xp.eye(count, dtype=self._kernel.dtype, **device_kwargs(self._kernel))
        ones = xp.ones_like(self.squared)
        both = xp.linalg.solve(self._kernel + ridge * unit, xp.stack([self._to_rows, ones], axis=2))
        plain, even = both[:, :, 0], both[:, :, 1]
        rest = (1 - xp.sum(plain, axis=1)) / xp.sum(even, axis=1)
        return plain + even * rest[:, None], plain

    @cached_property
    def _width(self) -> Array:
        xp = array_namespace(self.between)
        return RELATIVE_WIDTH * xp.mean(self.between, axis=(1, 2)) / 2 + LEAST_WIDTH

    @cached_property
    def _kernel(self) -> Array:
        return array_namespace(self.between).exp(-self.between / self._width[:, None, None])

    @cached_property
    def _to_rows(self) -> Array:
        return array_namespace(self.squared).exp(-self.squared / self._width[:, None])


@dataclass(frozen=True)
class Precision:
    """A trend with the inverse of its covariance."""

    mean: Array
    matrix: Array

    @classmethod
    def of(cls, trend: Trend) -> "list[Precision]":
        """For each of `TREND_RIDGES`; none for many columns."""
        if trend.mean.shape[0] > MOST_TREND_COLUMNS:
            return []
        return [cls(trend.mean, trend.precision(ridge)) for ridge in TREND_RIDGES]


@dataclass(frozen=True)
class ConditionalMeans:
    r"""A weighted mean of several estimates of the missing entries of a row given its known ones.

    Local averages :math:`\sum_i a_i x_i` have weights of the training rows that are nearest by known entries. Around a
    trend with mean μ and precision Q they are averages of its residuals,

    .. math:: z_m = \mu_m - Q_{mm}^{-1} \Bigl[Q(x - \mu) - \sum_i a_i Q(x_i - \mu)\Bigr]_m,

    where missing entries of x − μ are zero: the conditional mean of a Gaussian process that is a linear function and a
    local one. Without weights a it is the conditional mean of the normal distribution.

    Attributes
    ----------
    points : array of shape (n, d)
        Training rows, filled.
    trend : Trend
    weights : array of shape (number of `members`,), in NumPy
        At least zero, with sum one.
    relevance : array of shape (d, d) or None
        How much columns count in distances, see `Neighbors.of`.
    indicators : Indicators or None
        Which columns stand for categories; None for none. Their conditional means are probabilities.
    """

    points: Array
    trend: Trend
    weights: np.ndarray
    relevance: Array | None = None
    indicators: Indicators | None = None

    def fill(self, X: Array, observed: Array, own: np.ndarray | None = None) -> Array:
        """X with missing entries replaced by their means; rows without a known entry get the mean row.

        Parameters
        ----------
        X : array of shape (q, d)
            Missing entries are not read.
        observed : boolean array of shape (q, d)
        own : integer array of shape (q,), optional
            Which of the points the rows are, so that none is its own neighbour.

        Returns
        -------
        array of shape (q, d)
        """
        xp = array_namespace(X)
        choices, precisions = members(X.shape[1]), Precision.of(self.trend)

        def filled(rows: Array, known: Array, numbers: Array) -> Array:
            partial = PartialRows.of(rows, known)
            place = None if own is None else own[to_numpy(numbers)]
            neighbors = Neighbors.of(self.points, partial, place, self.relevance)
            return xp.where(known, rows, mixture(choices, self.weights, neighbors, partial, known, precisions))

        numbers = from_numpy(np.arange(X.shape[0]), X, dtype=xp.int64)
        result = map_rows(filled, X, observed, numbers, rows=block_rows(self.points, observed))
        return xp.where(xp.any(observed, axis=1)[:, None], result, xp.zeros_like(result) + self.trend.mean)

    def draw(
        self,
        X: Array,
        observed: Array,
        spread: float,
        *,
        n_draws: int,
        rng: np.random.Generator,
        own: np.ndarray | None = None,
    ) -> Array:
        """Several fillings of each row: its means, and what one of its neighbours departs from those around it.

        Nearer neighbours are drawn more often. Their missing entries depart from the trend
        together, so draws have the dependence of the entries, and are at several places where neighbours are.
        Categories are drawn with the probabilities that their means are (`Indicators.given_neighbors`).

        Parameters
        ----------
        X, observed, own
            As in `fill`.
        spread : float
            What departures are multiplied with, see `fitted_spread`.
        n_draws : int
        rng : numpy.random.Generator

        Returns
        -------
        array of shape (n_draws, q, d)
        """
        xp = array_namespace(X)
        choices, precisions = members(X.shape[1]), Precision.of(self.trend)
        uniform = rng.random((n_draws, X.shape[0]))
        among = None if self.indicators is None else rng.random((len(self.indicators.sizes), n_draws, X.shape[0]))
        parts = []
        for block in cut(X.shape[0], block_rows(self.points, observed)):
            known = observed[block, :]
            rows = PartialRows.of(X[block, :], known)
            neighbors = Neighbors.of(self.points, rows, None if own is None else own[block], self.relevance)
            middle = mixture(choices, self.weights, neighbors, rows, known, precisions)
            chances = to_numpy(neighbors.chances())
            picked = (np.cumsum(chances, axis=1)[None] < uniform[:, block, None]).sum(axis=2)
            picked = np.minimum(picked, chances.shape[1] - 1)  # sums of weights end below one by rounding
            turns = np.eye(chances.shape[1])[picked] - chances
            moved = departures(choices, self.weights, neighbors, known, precisions, turns)
            drawn = middle + spread * moved
            if self.indicators is not None and among is not None:
                near = self.indicators.given_neighbors(middle, neighbors.rows, chances, picked)
                drawn = self.indicators.with_drawn(drawn, near, among[:, :, block])
            parts.append(xp.where(known, X[block, :], drawn))
        return xp.concat(parts, axis=1)


def mixture(
    choices: list[Member],
    weights: np.ndarray,
    neighbors: Neighbors,
    rows: PartialRows,
    observed: Array,
    precisions: list[Precision],
) -> Array:
    """The weighted mean of members, shape (q, d), by one system of equations per trend."""
    used = [(member, float(weight)) for member, weight in zip(choices, weights, strict=True) if weight > 0]
    averages = neighbors.averages({member.average for member, _ in used if member.average is not None})
    total = 0.0 * rows.values
    local = [
        averages[member.average][0] * weight for member, weight in used if member.average is not None is member.trend
    ]
    if local:
        total = total + neighbors.average(_sum(local))
    gaps = Gaps.of(observed, rows.values) if any(member.trend is not None for member, _ in used) else None
    for number, precision in enumerate(precisions):
        mine = [(member, weight) for member, weight in used if member.trend == number]
        if mine and gaps is not None:
            around = [averages[member.average][1] * weight for member, weight in mine if member.average is not None]
            term = (sum(weight for _, weight in mine), _sum(around) if around else None)
            total = total + _around_trend(precision, gaps, rows, neighbors, [term])[0, :, :]
    return total


def each_member(
    choices: list[Member], neighbors: Neighbors, rows: PartialRows, observed: Array, precisions: list[Precision]
) -> Array:
    """The estimates of all members one by one, shape (number of members, q, d)."""
    xp = array_namespace(rows.values)
    averages = neighbors.averages(set(range(len(AVERAGE_RANKS) + len(LOCAL_RIDGES))))
    local = [neighbors.average(averages[each.average][0]) for each in choices if each.average is not None is each.trend]
    found = [xp.stack(local)]
    gaps = Gaps.of(observed, rows.values)
    for number, precision in enumerate(precisions):
        mine = [each.average for each in choices if each.trend == number]
        terms = [(1.0, None if average is None else averages[average][1]) for average in mine]
        found.append(_around_trend(precision, gaps, rows, neighbors, terms))
    return xp.concat(found)


def departures(
    choices: list[Member],
    weights: np.ndarray,
    neighbors: Neighbors,
    observed: Array,
    precisions: list[Precision],
    turns: np.ndarray,
) -> Array:
    """How the mixture changes when weights of neighbours change by `turns`, shape (number of turns, q, d).

    Turns have shape (number, q, k) and sums of zero over the neighbours.
    """
    xp = array_namespace(neighbors.rows)
    moved = [neighbors.average(from_numpy(turn, neighbors.rows, dtype=neighbors.rows.dtype)) for turn in turns]
    share = [sum(weights[i] for i, each in enumerate(choices) if each.trend == number) for number in _trends()]
    total = [float(1 - sum(share)) * each for each in moved]
    gaps = Gaps.of(observed, neighbors.rows)
    for number, precision in enumerate(precisions):
        if share[number] > 0:
            sides = xp.stack([gaps.take(each @ precision.matrix) for each in moved], axis=2)
            found = xp.linalg.solve(gaps.blocks_of(precision.matrix), sides)
            total = [each + float(share[number]) * gaps.put(found[:, :, i]) for i, each in enumerate(total)]
    return xp.stack(total)


def _trends() -> range:
    return range(len(TREND_RIDGES))


def _around_trend(
    precision: Precision,
    gaps: Gaps,
    rows: PartialRows,
    neighbors: Neighbors,
    terms: list[tuple[float, Array | None]],
) -> Array:
    """Multiples of the trend with weights of its residuals in neighbours, shape (number of terms, q, d)."""
    xp = array_namespace(rows.values)
    centered = (rows.values - precision.mean) * rows.observed
    sides = []
    for share, weights in terms:
        side = share * centered
        if weights is not None:
            size = xp.sum(weights, axis=1)[:, None]
            side = side - (neighbors.average(weights) - size * precision.mean)
        sides.append(gaps.take(side @ precision.matrix))
    found = xp.linalg.solve(gaps.blocks_of(precision.matrix), xp.stack(sides, axis=2))
    return xp.stack([share * precision.mean - gaps.put(found[:, :, i]) for i, (share, _) in enumerate(terms)])


def relevance_of(points: Array, indicators: Indicators | None = None) -> Array | None:
    """How much columns count in distances; None, all alike, for many columns."""
    if points.shape[1] > MOST_TREND_COLUMNS:
        return None
    groups = None if indicators is None else indicators.groups
    return from_numpy(relevances(to_numpy(points), groups), points, dtype=points.dtype)


def block_rows(points: Array, observed: Array) -> int:
    """Rows whose neighbours and systems of equations fit into memory together."""
    n, d = points.shape
    missing = int((~to_numpy(observed)).sum(axis=1).max(initial=0))
    per_row = 5 * n + 4 * N_NEIGHBORS * (d + N_NEIGHBORS) + 4 * missing**2
    return max(1, min(MOST_BLOCK_ROWS, work_memory(points) // (itemsize(points.dtype) * per_row)))


def _nearest(squared: Array, count: int, own: np.ndarray | None) -> np.ndarray:
    """Numbers of the nearest points of each row in ascending order; of those at the same distance the first ones."""
    n, squared = squared.shape[1], to_numpy(squared)
    unit = DISTANCE_UNIT * np.mean(squared, axis=1, keepdims=True)
    # Distances as whole numbers, with the number of the point as last digits: no two are equal. None is larger than n
    # times the mean, so that the numbers stay in the range of integers.
    keys = np.rint(squared / np.where(unit > 0, unit, 1.0)).astype(np.int64) * n + np.arange(n)
    if own is not None:
        keys[np.arange(own.size), own] = np.iinfo(np.int64).max
    if count < n:
        keys = np.partition(keys, count - 1, axis=1)[:, :count]
    return np.sort(keys, axis=1) % n


def _sum(arrays: list[Array]) -> Array:
    total = arrays[0]
    for each in arrays[1:]:
        total = total + each
    return total
