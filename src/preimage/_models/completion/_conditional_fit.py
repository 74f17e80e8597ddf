"""Conditional means of rows with missing entries: what they are averaged from, and with which weights."""

from dataclasses import dataclass, fields, replace

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, take_rows, to_numpy, with_rows
from preimage._engine.typing import Array
from preimage._models.completion._conditional import (
    ConditionalMeans,
    Neighbors,
    Precision,
    block_rows,
    each_member,
    members,
    relevance_of,
)
from preimage._models.completion._hiding import hidden_entries
from preimage._models.completion._indicators import Indicators
from preimage._models.completion._mixing import mixing_weights
from preimage._models.completion._start import PartialRows, neighbor_start
from preimage._models.completion._trend import Trend, fit_trend

# Rows of which known entries are hidden to find the weights: with half as many, errors on small tables are larger by a
# fortieth. Of fewer rows each is used several times, with other entries hidden.
JUDGED_ROWS, MOST_REPEATS = 150, 10
# Folds of complete rows, each of which is judged with the trend of the others.
TREND_FOLDS = 5
# Passes over incomplete rows, of which at most half have entries hidden at a time: a small table with entries hidden in
# all rows is another table.
MOST_PASSES = 4


@dataclass(frozen=True)
class JudgedEntries:
    """Known entries that were hidden and restored.

    Attributes
    ----------
    numbers : integer array of shape (q,)
        The training rows they are from; of few rows each is there several times.
    hidden : boolean array of shape (q, d)
    truth : array of shape (m,)
        The hidden entries, row by row.
    estimates : array of shape (m, number of members)
    """

    numbers: np.ndarray
    hidden: np.ndarray
    truth: np.ndarray
    estimates: np.ndarray

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the hidden entries."""
        which, columns = np.nonzero(self.hidden)
        return self.numbers[which], columns


@dataclass(frozen=True)
class ConditionalFit:
    """A model of rows with missing entries, the rows as it has filled them, and what it was judged by.

    Attributes
    ----------
    model : ConditionalMeans
        Its points are the filled rows.
    judged : JudgedEntries
    """

    model: ConditionalMeans
    judged: JudgedEntries

    def restored(self) -> np.ndarray:
        """The judged entries as the weights restore them."""
        return self.judged.estimates @ self.model.weights


def fit_conditional(
    X: Array, observed: Array, scale: float, *, rng: np.random.Generator, indicators: Indicators | None = None
) -> ConditionalFit:
    """Fit to rows of which each has a known entry.

    Known entries of some rows are hidden, and restored by all members; `mixing_weights` averages them. Of incomplete
    rows nothing that is hidden is seen by the rows that these are restored from: rows are filled, and the trend is
    fitted, without it. Complete rows are judged without their own fold in the trend. Then all missing entries are
    filled, by rows other than their own.

    Parameters
    ----------
    X : array of shape (n, d)
        Scaled; missing entries are not read.
    observed : boolean array of shape (n, d)
    scale : float
        The median squared distance of the rows, see `neighbor_start`.
    rng : numpy.random.Generator
    indicators : Indicators, optional
        Columns that stand for categories, which are hidden together.

    Returns
    -------
    ConditionalFit
    """
    known = to_numpy(observed)
    if known.all():
        numbers, hidden = _hidden_rows(known, JUDGED_ROWS, MOST_REPEATS, rng, indicators)
        judged = _judged_by_folds(X, numbers, hidden, rng, indicators)
        model = ConditionalMeans(X, Trend.of(X), _weights(judged), relevance_of(X, indicators), indicators)
        return ConditionalFit(model, judged)
    judged = _judged_incomplete(X, known, scale, rng, indicators)
    weights = _weights(judged)
    start = neighbor_start(PartialRows.of(X, observed), X, observed, scale, same=True)
    trend = fit_trend(X, observed, start)
    model = ConditionalMeans(start, trend, weights, relevance_of(start, indicators), indicators)
    incomplete = np.flatnonzero(~known.all(axis=1))
    filled = model.fill(take_rows(X, incomplete), take_rows(observed, incomplete), own=incomplete)
    return ConditionalFit(replace(model, points=with_rows(start, incomplete, filled)), judged)


def _hidden_rows(
    known: np.ndarray, n_rows: int, most_repeats: int, rng: np.random.Generator, indicators: Indicators | None
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows that are judged, and which of their entries are hidden; of few rows each several times."""
    numbers, hidden = [np.zeros(0, dtype=int)], [np.zeros((0, known.shape[1]), dtype=bool)]
    for _ in range(most_repeats):
        mask = hidden_entries(known, rng, groups=None if indicators is None else indicators.groups)
        order = rng.permutation(known.shape[0])
        order = order[mask[order].any(axis=1)]
        numbers.append(order)
        hidden.append(mask[order])
        if sum(each.size for each in numbers) >= n_rows:
            break
    return np.concatenate(numbers)[:n_rows], np.concatenate(hidden)[:n_rows]


def _judged_incomplete(
    X: Array, known: np.ndarray, scale: float, rng: np.random.Generator, indicators: Indicators | None
) -> JudgedEntries:
    """Entries of incomplete rows, hidden before the rows are filled and the trend is fitted."""
    xp, n = array_namespace(X), known.shape[0]
    parts: list[JudgedEntries] = []
    for _ in range(MOST_PASSES):
        numbers, hidden = _hidden_rows(known, min(JUDGED_ROWS, n // 2), 1, rng, indicators)
        seen_host = known.copy()
        seen_host[numbers] &= ~hidden
        seen = from_numpy(seen_host, X, dtype=xp.bool)
        start = neighbor_start(PartialRows.of(X, seen), X, seen, scale, same=True)
        parts.append(_judged(X, start, numbers, hidden, seen_host[numbers], fit_trend(X, seen, start), indicators))
        if sum(part.numbers.size for part in parts) >= JUDGED_ROWS:
            break
    return _joined(parts)


def _judged_by_folds(
    X: Array, numbers: np.ndarray, hidden: np.ndarray, rng: np.random.Generator, indicators: Indicators | None
) -> JudgedEntries:
    n = X.shape[0]
    folds = rng.permutation(np.arange(n) % min(TREND_FOLDS, n))
    parts = []
    for fold in np.unique(folds[numbers]):
        mine = np.flatnonzero(folds[numbers] == fold)
        trend = Trend.of(take_rows(X, np.flatnonzero(folds != fold)))
        parts.append(_judged(X, X, numbers[mine], hidden[mine], ~hidden[mine], trend, indicators))
    if not parts:
        return _judged(X, X, numbers, hidden, ~hidden, Trend.of(X), indicators)
    return _joined(parts)


def _joined(parts: list[JudgedEntries]) -> JudgedEntries:
    return JudgedEntries(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(parts[0])))


def _judged(
    X: Array,
    points: Array,
    numbers: np.ndarray,
    hidden: np.ndarray,
    seen: np.ndarray,
    trend: Trend,
    indicators: Indicators | None,
) -> JudgedEntries:
    """Estimates of hidden entries from the points, none of which counts for itself."""
    choices, precisions, relevance = members(X.shape[1]), Precision.of(trend), relevance_of(points, indicators)
    xp = array_namespace(X)
    truth = to_numpy(take_rows(X, numbers))[hidden] if numbers.size else np.zeros(0)
    estimates = [np.zeros((0, len(choices)))]
    step = block_rows(points, from_numpy(seen, X, dtype=xp.bool))
    for first in range(0, numbers.size, step):
        part = slice(first, first + step)
        known = from_numpy(seen[part], X, dtype=xp.bool)
        rows = PartialRows.of(take_rows(X, numbers[part]), known)
        neighbors = Neighbors.of(points, rows, numbers[part], relevance)
        found = to_numpy(each_member(choices, neighbors, rows, known, precisions))
        estimates.append(found[:, hidden[part]].T)
    return JudgedEntries(numbers, hidden, truth, np.concatenate(estimates))


def _weights(judged: JudgedEntries) -> np.ndarray:
    return mixing_weights(judged.estimates - judged.truth[:, None])
