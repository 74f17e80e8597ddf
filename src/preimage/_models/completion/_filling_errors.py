"""How far off filled entries are: entries that rows have are hidden, filled in as gaps are, and compared."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from preimage._engine.typing import Array

# Values are hidden in one part of the rows at a time, in as many parts as columns need, at most in all: one of so many
# parts. With two, models would have lost much of what the real one knows; with ten times as many, fits would take long.
PARTS = 5
# Largest fraction of the values of a column that is hidden at a time.
MOST_HIDDEN = 0.5
# Hidden values of a column that are enough: the relative error of their error is about 1/√(2n), here 10 %. And below
# which they say little, here 22 %.
ENOUGH_HIDDEN, FEWEST_HIDDEN = 50, 10

# From a table with gaps to the table without.
Fill: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True)
class FillingErrors:
    """Root mean squared errors of values that were hidden and filled in, by column; of categories, how many are wrong.

    Attributes
    ----------
    hidden : int array of shape (d,)
        How many values were hidden.
    filled : array of shape (d,)
        Errors of filled values. Columns with few hidden values have the error of all, in their unit; NaN where nothing
        was hidden at all.
    mean : array of shape (d,)
        Likewise, for the mean of the column in their place, or the most frequent category.
    relative : float
        The error of all hidden values, in deviations of their columns; NaN where nothing was hidden.
    is_code : bool array of shape (d,)
        Columns of categories, whose errors are fractions of values that are filled in wrongly.
    """

    hidden: Array
    filled: Array
    mean: Array
    relative: float
    is_code: Array

    @classmethod
    def none(cls, width: int) -> "FillingErrors":
        """Of a table without gaps: nothing was hidden."""
        unknown = np.full(width, np.nan)
        return cls(np.zeros(width, dtype=int), unknown, unknown, float("nan"), np.zeros(width, dtype=bool))

    @classmethod
    def of(
        cls, hidden: Array, squares: Array, squares_of_mean: Array, deviations: Array, is_code: Array | None = None
    ) -> "FillingErrors":
        """From counts and sums of squared errors of columns, and their deviations; of categories, errors are 0 or 1."""
        is_code = np.zeros(len(hidden), dtype=bool) if is_code is None else is_code
        total = int(hidden.sum())
        if not total:
            return replace(cls.none(len(hidden)), is_code=is_code)
        unit = np.where(deviations > 0, deviations, 1.0)
        relative = float(np.sqrt(np.sum(squares / unit**2) / total))
        few, safe = hidden < FEWEST_HIDDEN, np.maximum(hidden, 1)
        filled = np.where(few, relative * deviations, np.sqrt(squares / safe))
        mean = np.where(few, deviations, np.sqrt(squares_of_mean / safe))
        fraction = lambda errors: np.where(is_code, np.minimum(errors**2, 1.0), errors)
        return cls(hidden, fraction(filled), fraction(mean), relative, is_code)


def filling_errors(
    fit: Callable[[Array], Fill], X: Array, gaps: Array, rng: np.random.Generator, codes: Collection[int] = ()
) -> FillingErrors:
    """Errors of models that ``fit`` makes of X without the values that are hidden.

    Parameters
    ----------
    fit : callable
    X : array of shape (n, d)
        With NaN for gaps.
    gaps : bool array of shape (m, d)
        Gaps of rows, whose patterns hidden values have.
    rng : numpy.random.Generator
    codes : collection of int
        Columns of categories, whose values are right or wrong.
    """
    width, wanted = X.shape[1], gaps.any(axis=0)
    is_code = np.isin(np.arange(width), list(codes))
    count, squares, of_mean = np.zeros(width, dtype=int), np.zeros(width), np.zeros(width)
    for rows in np.array_split(rng.permutation(len(X)), PARTS):
        hidden = hidden_entries(X, gaps, rows, rng)
        if not hidden.any():
            continue
        touched = hidden.any(axis=1)
        shown = np.where(hidden, np.nan, X)
        found, truth, there = np.asarray(fit(shown)(shown[touched])), X[touched], hidden[touched]
        count += there.sum(axis=0)
        error = lambda values, truth=truth: np.where(is_code, values != truth, (values - truth) ** 2)
        squares += np.where(there, error(found), 0.0).sum(axis=0)
        of_mean += np.where(there, error(_typical(shown, is_code)), 0.0).sum(axis=0)
        if (count[wanted] >= ENOUGH_HIDDEN).all():
            break
    other = (_typical(X, is_code) != X) & ~np.isnan(X)
    rare = np.sqrt(other.sum(axis=0) / np.maximum((~np.isnan(X)).sum(axis=0), 1))
    deviations = np.where(is_code, rare, _deviations(X))
    return FillingErrors.of(count, squares, of_mean, deviations, is_code)


def hidden_entries(X: Array, gaps: Array, rows: Array, rng: np.random.Generator) -> Array:
    """Where to hide values of X: the gaps of random rows, laid over some rows of X, so that they lack what rows lack.

    Every row keeps a value, and every column at least half of its values.

    Parameters
    ----------
    X : array of shape (n, d)
        With NaN for gaps.
    gaps : bool array of shape (m, d)
        Gaps of rows; those without any are passed over.
    rows : int array
        Numbers of the rows in which values are hidden.
    rng : numpy.random.Generator
    """
    known = ~np.isnan(X)
    patterns = gaps[gaps.any(axis=1) & ~gaps.all(axis=1)]
    hidden = np.zeros(X.shape, dtype=bool)
    if not len(patterns):
        return hidden
    laid = patterns[rng.integers(len(patterns), size=len(rows))] & known[rows]
    laid[(laid == known[rows]).all(axis=1)] = False
    hidden[rows] = laid
    surplus = np.cumsum(hidden, axis=0) > MOST_HIDDEN * known.sum(axis=0)
    return hidden & ~surplus


def _means(X: Array) -> Array:
    """Means of columns without gaps; zero for columns without values."""
    known = ~np.isnan(X)
    return np.where(known, X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _typical(X: Array, is_code: Array) -> Array:
    """Means of columns, and the most frequent category of those that have some."""
    found = _means(X)
    for column in np.flatnonzero(is_code):
        values, counts = np.unique(X[~np.isnan(X[:, column]), column], return_counts=True)
        found[column] = values[counts.argmax()] if values.size else 0.0
    return found


def _deviations(X: Array) -> Array:
    known = ~np.isnan(X)
    squares = np.where(known, (X - _means(X)) ** 2, 0.0)
    return np.sqrt(squares.sum(axis=0) / np.maximum(known.sum(axis=0), 1))
