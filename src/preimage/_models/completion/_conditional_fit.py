"""Conditional means of rows with missing entries: fitted, weighted and bounded by known entries that are hidden."""

from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.optimize import nnls

from preimage._engine.arrays import array_namespace, from_numpy, take_rows, to_numpy, with_rows
from preimage._engine.rows import for_blocks
from preimage._engine.typing import Array
from preimage._models.completion._conditional import ConditionalMeans, members, relevance_of
from preimage._models.completion._indicators import Indicators
from preimage._models.completion._partial_rows import hidden_entries, neighbor_start
from preimage._models.completion._trend import Trend, fit_trend

# Rows of which known entries are hidden to find the weights: with half as many, errors on small tables are larger by a
# fortieth. Of fewer rows each is used several times, with other entries hidden.
JUDGED_ROWS, MOST_REPEATS = 150, 10
# Folds of complete rows, each of which is judged with the trend of the others.
TREND_FOLDS = 5
# Passes over incomplete rows, of which at most half have entries hidden at a time: a small table with entries hidden in
# all rows is another table.
MOST_PASSES = 4
# How many errors of average size the wish for equal weights counts as: with dozens of errors weights are nearly equal,
# and with thousands the errors decide. Ten times more or less changes results by a per mille on tables of 200 rows.
PRIOR_ERRORS = 3.0
# Estimates with smaller weights are left out: they cost time, and change results by less than what is not known.
LEAST_WEIGHT = 0.01
# How many times heavier than the errors the sum of the weights is in the least-squares problem.
SUM_WEIGHT = 1e3
# How far bounds lie beyond the range of a column where its range is no bound, as a fraction of the range: entries of
# new rows lie beyond it by a tenth or two, and a trend that goes astray stays near.
WIDENED = 0.5
# Intervals of this probability contain that fraction of hidden entries: the level at which intervals are mostly read.
LEVEL = 0.9


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

    def bounds(self, rows: Array, known: Array, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of columns, beyond their ranges where that restores judged entries better; of numbers only."""
        wide = wide_columns(to_numpy(rows), to_numpy(known), *self.judged.places, self.judged.truth, self.restored())
        is_number = np.arange(wide.size) < self.model.indicators.n_numbers
        margin = np.where(wide & is_number, WIDENED * (high - low), 0.0)
        return low - margin, high + margin

    def spread(self, X: Array, observed: Array) -> float:
        """The factor by which neighbours' departures are multiplied in draws, so that 90 % intervals contain 90 %.

        X are the training rows, scaled, whose missing entries are not read. One where nothing was hidden.
        """
        judged, model = self.judged, self.model
        if not judged.numbers.size:
            return 1.0
        rows = take_rows(X, judged.numbers)
        known = from_numpy(to_numpy(observed)[judged.numbers] & ~judged.hidden, X, dtype=array_namespace(X).bool)
        reaches = []
        for block, here in model.blocks(rows, known, judged.numbers):
            hidden, chances = judged.hidden[block], to_numpy(here.neighbors.chances())
            turns = np.eye(chances.shape[1])[:, None, :] - chances[None]
            moved = to_numpy(here.departures(model.weights, turns))[:, hidden].T
            reaches.append(_reaches(np.abs(moved), chances[np.nonzero(hidden)[0]]))
        reach = np.concatenate(reaches)
        # Draws of categories do not spread: they have probabilities.
        varying = (reach > 0) & (judged.places[1] < model.indicators.n_numbers)
        if not varying.any():
            return 1.0
        restored = to_numpy(model.fill(rows, known, own=judged.numbers))[judged.hidden]
        # Of incomplete rows, hidden entries were first restored from rows that were filled in a rough way; the rows as
        # they are filled in the end have seen them. Errors of the first kind are too large, and of the second too
        # small.
        errors = (np.abs(judged.truth - self.restored()) + np.abs(judged.truth - restored)) / 2
        return float(np.quantile(errors[varying] / reach[varying], LEVEL))


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
        Columns that stand for categories, which are hidden together; by default none.

    Returns
    -------
    ConditionalFit
    """
    known = to_numpy(observed)
    incomplete = np.flatnonzero(~known.all(axis=1))
    indicators = Indicators(X.shape[1]) if indicators is None else indicators

    def fitted() -> tuple[Array, Trend, Array | None]:
        start, trend = _first_fit(X, observed, scale)
        return start, trend, relevance_of(start, indicators)

    judge = _judged_incomplete if incomplete.size else _judged_by_folds
    # What is judged sees nothing of the fit to all known entries: both are made side by side.
    judged, (start, trend, relevance) = for_blocks(
        lambda work: work(), [lambda: judge(X, known, scale, rng, indicators), fitted], X
    )
    weights = mixing_weights(judged.estimates - judged.truth[:, None])
    model = ConditionalMeans(start, trend, weights, relevance, indicators)
    if incomplete.size:
        filled = model.fill(take_rows(X, incomplete), take_rows(observed, incomplete), own=incomplete)
        model = replace(model, points=with_rows(start, incomplete, filled))
    return ConditionalFit(model, judged)


def mixing_weights(errors: np.ndarray) -> np.ndarray:
    r"""Weights of estimates, at least zero and with sum one, that make the squared error of their mean small.

    They minimise :math:`\|Ew\|^2 + c \|w\|^2` for errors E of m estimates, with c three mean squared errors.

    Parameters
    ----------
    errors : array of shape (number of entries, m)

    Returns
    -------
    array of shape (m,)
        Equal weights where there are no errors.
    """
    m = errors.shape[1]
    size = float(np.mean(errors**2)) if errors.size else 0.0
    if not size > 0:
        return np.full(m, 1 / m)
    products = errors.T @ errors / size + PRIOR_ERRORS * np.eye(m)
    root = np.linalg.cholesky(products).T
    heavy = SUM_WEIGHT * float(np.sqrt(np.trace(products)))
    found, _ = nnls(np.vstack([root, np.full((1, m), heavy)]), np.append(np.zeros(m), heavy))
    found = found / found.sum()
    found = np.where(found >= LEAST_WEIGHT, found, 0.0)
    return found / found.sum()


def wide_columns(
    values: np.ndarray,
    known: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    truth: np.ndarray,
    restored: np.ndarray,
) -> np.ndarray:
    """Columns in which entries are restored better when they may lie beyond the range of other known entries.

    A column is judged by its own entries; where these are the same with bounds and without, by those of all columns.

    Parameters
    ----------
    values : array of shape (n, d)
        Missing entries are not read.
    known : boolean array of shape (n, d)
    rows, columns : integer arrays of shape (m,)
        Places of entries that were hidden.
    truth, restored : arrays of shape (m,)

    Returns
    -------
    boolean array of shape (d,)
    """
    low, high = (_range_of_others(sign * values, known, rows, columns) * sign for sign in (-1.0, 1.0))
    inside = np.clip(restored, np.minimum(low, high), np.maximum(low, high))
    harm = (inside - truth) ** 2 - (restored - truth) ** 2
    per_column = np.bincount(columns, weights=harm, minlength=values.shape[1])
    return np.where(per_column != 0, per_column > 0, harm.sum() > 0)


def _range_of_others(values: np.ndarray, known: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The largest known value of each entry's column in other rows; the entry's own where there are none."""
    present = np.where(known, values, -np.inf)
    largest = present.argmax(axis=0)
    best = present.max(axis=0)
    second = np.where(np.arange(len(values))[:, None] == largest, -np.inf, present).max(axis=0)
    found = np.where(rows == largest[columns], second[columns], best[columns])
    return np.where(np.isfinite(found), found, best[columns])


def _reaches(sizes: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """The size of departures that a draw of each entry exceeds with the rest of the probability."""
    order = np.argsort(sizes, axis=1)
    sums = np.cumsum(np.take_along_axis(chances, order, axis=1), axis=1)
    last = np.minimum((sums < LEVEL).sum(axis=1), sizes.shape[1] - 1)
    return np.take_along_axis(sizes, np.take_along_axis(order, last[:, None], axis=1), axis=1)[:, 0]


def _first_fit(X: Array, observed: Array, scale: float) -> tuple[Array, Trend]:
    """Rows filled in a rough way, and their trend."""
    if bool(array_namespace(observed).all(observed)):
        return X, Trend.of(X)
    start = neighbor_start(X, observed, scale)
    return start, fit_trend(X, observed, start)


def _hidden_rows(
    known: np.ndarray, n_rows: int, most_repeats: int, rng: np.random.Generator, indicators: Indicators
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows that are judged, and which of their entries are hidden; of few rows each several times."""
    numbers, hidden = [np.zeros(0, dtype=int)], [np.zeros((0, known.shape[1]), dtype=bool)]
    for _ in range(most_repeats):
        mask = hidden_entries(known, rng, groups=indicators.groups)
        order = rng.permutation(known.shape[0])
        order = order[mask[order].any(axis=1)]
        numbers.append(order)
        hidden.append(mask[order])
        if sum(each.size for each in numbers) >= n_rows:
            break
    return np.concatenate(numbers)[:n_rows], np.concatenate(hidden)[:n_rows]


def _judged_incomplete(
    X: Array, known: np.ndarray, scale: float, rng: np.random.Generator, indicators: Indicators
) -> JudgedEntries:
    """Entries of incomplete rows, hidden before the rows are filled and the trend is fitted."""
    parts: list[JudgedEntries] = []
    for _ in range(MOST_PASSES):
        numbers, hidden = _hidden_rows(known, min(JUDGED_ROWS, known.shape[0] // 2), 1, rng, indicators)
        seen = known.copy()
        seen[numbers] &= ~hidden
        first = _first_fit(X, from_numpy(seen, X, dtype=array_namespace(X).bool), scale)
        parts.append(_judged(X, numbers, hidden, seen[numbers], *first, indicators))
        if sum(part.numbers.size for part in parts) >= JUDGED_ROWS:
            break
    return _joined(parts)


def _judged_by_folds(
    X: Array, known: np.ndarray, scale: float, rng: np.random.Generator, indicators: Indicators
) -> JudgedEntries:
    """Entries of complete rows, each judged with the trend of the other folds."""
    n = X.shape[0]
    numbers, hidden = _hidden_rows(known, JUDGED_ROWS, MOST_REPEATS, rng, indicators)
    folds = rng.permutation(np.arange(n) % min(TREND_FOLDS, n))
    parts = []
    for fold in np.unique(folds[numbers]):
        mine = np.flatnonzero(folds[numbers] == fold)
        trend = Trend.of(take_rows(X, np.flatnonzero(folds != fold)))
        parts.append(_judged(X, numbers[mine], hidden[mine], ~hidden[mine], X, trend, indicators))
    return _joined(parts) if parts else _judged(X, numbers, hidden, ~hidden, X, Trend.of(X), indicators)


def _joined(parts: list[JudgedEntries]) -> JudgedEntries:
    return JudgedEntries(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(parts[0])))


def _judged(
    X: Array,
    numbers: np.ndarray,
    hidden: np.ndarray,
    seen: np.ndarray,
    points: Array,
    trend: Trend,
    indicators: Indicators,
) -> JudgedEntries:
    """Estimates of hidden entries from the points, none of which counts for itself."""
    rows, known = take_rows(X, numbers), from_numpy(seen, X, dtype=array_namespace(X).bool)
    n_members = len(members(X.shape[1]))
    if not numbers.size:
        return JudgedEntries(numbers, hidden, to_numpy(rows)[hidden], np.zeros((0, n_members)))
    model = ConditionalMeans(points, trend, np.ones(n_members), relevance_of(points, indicators), indicators)
    estimates = to_numpy(model.member_estimates(rows, known, numbers))[:, hidden].T
    return JudgedEntries(numbers, hidden, to_numpy(rows)[hidden], estimates)
