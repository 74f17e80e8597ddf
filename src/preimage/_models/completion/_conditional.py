"""Means of the missing entries of a row given its known ones: local averages around a linear trend."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import NamedTuple

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, itemsize, to_numpy
from preimage._engine.memory import work_memory
from preimage._engine.rows import cut, for_blocks, stacked_blocks
from preimage._engine.typing import Array
from preimage._models.completion._indicators import Indicators
from preimage._models.completion._neighbors import AVERAGE_RANKS, LOCAL_RIDGES, N_NEIGHBORS, Neighbors, relevances
from preimage._models.completion._partial_rows import PartialRows
from preimage._models.completion._trend import Gaps, Precision, Trend

# Ridges of the linear trend, as fractions of the mean variance of a column: tables of few factors want the first, and
# images, which have nearly as many columns as rows, the second.
TREND_RIDGES = (1e-3, 1e-1)
# With more columns no trend is fitted, and all count alike: precisions take cubic time, and covariances of so many
# columns more rows than there usually are.
MOST_TREND_COLUMNS = 600
# Most rows that are filled together, in one piece of work. Ten times more do not fit into the cache of a processor, and
# are too few pieces for threads; with ten times fewer, threads wait for the interpreter between calls.
MOST_BLOCK_ROWS = 64
# Rows that are restored by all members together, of the hundred and fifty that judge: four pieces of work.
JUDGED_BLOCK_ROWS = 40


class Member(NamedTuple):
    """One way to find the mean: a local average of neighbours, and the trend that it is an average around.

    Attributes
    ----------
    average : int or None
        The number of the local average, see `Neighbors.weights`; None is none.
    trend : int or None
        The number of the ridge in `TREND_RIDGES`; None averages rows themselves.
    """

    average: int | None
    trend: int | None


def members(d: int) -> list[Member]:
    """All members for rows of d columns."""
    n_averages, trends = len(AVERAGE_RANKS) + len(LOCAL_RIDGES), range(len(TREND_RIDGES))
    around = (None, *range(len(AVERAGE_RANKS), n_averages))
    averages = [Member(number, None) for number in range(n_averages)]
    return averages + [Member(average, trend) for trend in trends for average in around if d <= MOST_TREND_COLUMNS]


@dataclass(frozen=True)
class Surroundings:
    """Rows with a known entry, their neighbours, and the trend: what all members are found from."""

    rows: PartialRows
    known: Array
    neighbors: Neighbors
    precisions: list[Precision]

    @cached_property
    def gaps(self) -> Gaps:
        return Gaps.of(self.known, self.rows.values)

    def estimates(self, mixtures: np.ndarray) -> Array:
        """Weighted means of members, one per row of `mixtures`; shape (number of mixtures, q, d).

        Weights of shape (number of mixtures, number of members). Each trend takes one system of equations per row.
        """
        values, choices = self.rows.values, members(self.known.shape[1])
        used = {choices[number].average for number in np.flatnonzero(mixtures.any(axis=0))}
        averages = {number: self.neighbors.weights(number) for number in used if number is not None}

        def term(mixture: np.ndarray, trend: int | None) -> tuple[float, Array | None]:
            """The weights of members around a trend, added, and those of neighbours in them."""
            pairs = zip(choices, map(float, mixture), strict=True)
            mine = [(each.average, weight) for each, weight in pairs if weight > 0 and each.trend == trend]
            parts = [(averages[number][trend is not None], weight) for number, weight in mine if number is not None]
            parts = [weights if weight == 1 else weights * weight for weights, weight in parts]
            return sum(weight for _, weight in mine), reduce(add, parts) if parts else None

        total = [0.0 * values for _ in mixtures]
        for trend in (None, *range(len(self.precisions))):
            terms = [term(mixture, trend) for mixture in mixtures]
            places = [place for place, (share, _) in enumerate(terms) if share > 0]
            for place, found in zip(places, self._around(trend, [terms[place] for place in places]), strict=True):
                total[place] = total[place] + found
        return array_namespace(values).stack(total)

    def _around(self, trend: int | None, terms: list[tuple[float, Array | None]]) -> list[Array]:
        """Weighted means of neighbours, or multiples of a trend with those of its residuals, each of shape (q, d)."""
        if trend is None or not terms:
            return [self.neighbors.average(weights) for _, weights in terms]
        precision = self.precisions[trend]
        xp, centered = array_namespace(precision.mean), (self.rows.values - precision.mean) * self.rows.observed
        sides = []
        for share, weights in terms:
            side = share * centered
            if weights is not None:
                size = xp.sum(weights, axis=1)[:, None]
                side = side - (self.neighbors.average(weights) - size * precision.mean)
            sides.append(side)
        solved = precision.solved(self.gaps, sides)
        return [share * precision.mean - each for (share, _), each in zip(terms, solved, strict=True)]

    def departures(self, mixture: np.ndarray, turns: np.ndarray) -> Array:
        """How a mixture changes when weights of neighbours change by `turns`, shape (number of turns, q, d).

        Turns have shape (number, q, k) and sums of zero over the neighbours.
        """
        near, choices = self.neighbors.rows, members(self.known.shape[1])
        moved = [self.neighbors.average(from_numpy(turn, near, dtype=near.dtype)) for turn in turns]
        share = [
            sum(weight for each, weight in zip(choices, mixture, strict=True) if each.trend == trend)
            for trend in range(len(TREND_RIDGES))
        ]
        total = [float(1 - sum(share)) * each for each in moved]
        for part, precision in zip(share, self.precisions, strict=False):  # no precisions for many columns
            if part > 0:
                solved = precision.solved(self.gaps, moved)
                total = [each + float(part) * more for each, more in zip(total, solved, strict=True)]
        return array_namespace(near).stack(total)


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
    indicators : Indicators
        Which columns stand for categories. Their conditional means are probabilities.
    """

    points: Array
    trend: Trend
    weights: np.ndarray
    relevance: Array | None
    indicators: Indicators

    @cached_property
    def precisions(self) -> list[Precision]:
        """Of the trend, one per ridge; none for many columns."""
        is_short = self.points.shape[1] <= MOST_TREND_COLUMNS
        return [self.trend.precision(ridge) for ridge in TREND_RIDGES] if is_short else []

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
        xp, _ = array_namespace(X), self.precisions  # which all threads need

        def filled(block: slice) -> Array:
            here = self._around(block, X, observed, own)
            return xp.where(here.known, X[block, :], here.estimates(self.weights[None])[0, :, :])

        result = stacked_blocks(filled, X.shape[0], self._block_rows(observed), X)
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
            What departures are multiplied with, see `ConditionalFit.spread`.
        n_draws : int
        rng : numpy.random.Generator

        Returns
        -------
        array of shape (n_draws, q, d)
        """
        xp = array_namespace(X)
        uniform = rng.random((n_draws, X.shape[0]))
        among = rng.random((len(self.indicators.sizes), n_draws, X.shape[0]))
        parts = []
        for block, here in self.blocks(X, observed, own):
            middle, chances = here.estimates(self.weights[None])[0, :, :], to_numpy(here.neighbors.chances())
            picked = (np.cumsum(chances, axis=1)[None] < uniform[:, block, None]).sum(axis=2)
            picked = np.minimum(picked, chances.shape[1] - 1)  # sums of weights end below one by rounding
            turns = np.eye(chances.shape[1])[picked] - chances
            drawn = middle + spread * here.departures(self.weights, turns)
            near = self.indicators.given_neighbors(middle, here.neighbors.rows, chances, picked)
            drawn = self.indicators.with_drawn(drawn, near, among[:, :, block])
            parts.append(xp.where(here.known, X[block, :], drawn))
        return xp.concat(parts, axis=1)

    def blocks(self, X: Array, observed: Array, own: np.ndarray | None) -> Iterator[tuple[slice, Surroundings]]:
        """Blocks of rows with their surroundings; parameters as in `fill`."""
        for block in cut(X.shape[0], self._block_rows(observed)):
            yield block, self._around(block, X, observed, own)

    def member_estimates(self, X: Array, observed: Array, own: np.ndarray) -> Array:
        """What each member alone says of all entries, shape (number of members, q, d); parameters as in `fill`."""
        every, _ = np.eye(len(members(X.shape[1]))), self.precisions  # which all threads need
        rows = min(JUDGED_BLOCK_ROWS, self._block_rows(observed))
        estimate = lambda block: self._around(block, X, observed, own).estimates(every)
        return array_namespace(X).concat(for_blocks(estimate, cut(X.shape[0], rows), X), axis=1)

    def _around(self, block: slice, X: Array, observed: Array, own: np.ndarray | None) -> Surroundings:
        known = observed[block, :]
        rows = PartialRows.of(X[block, :], known)
        neighbors = Neighbors.of(self.points, rows, None if own is None else own[block], self.relevance)
        return Surroundings(rows, known, neighbors, self.precisions)

    def _block_rows(self, observed: Array) -> int:
        """Rows whose neighbours and systems of equations fit into memory together."""
        n, d = self.points.shape
        missing = int((~to_numpy(observed)).sum(axis=1).max(initial=0))
        per_row = 5 * n + 4 * N_NEIGHBORS * (d + N_NEIGHBORS) + 4 * missing**2
        return max(1, min(MOST_BLOCK_ROWS, work_memory(self.points) // (itemsize(self.points.dtype) * per_row)))


def relevance_of(points: Array, indicators: Indicators) -> Array | None:
    """How much columns count in distances; None, all alike, for many columns."""
    if points.shape[1] > MOST_TREND_COLUMNS:
        return None
    return from_numpy(relevances(to_numpy(points), indicators.groups), points, dtype=points.dtype)
