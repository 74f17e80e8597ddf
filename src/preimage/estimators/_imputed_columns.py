"""Columns of a table as imputers take and return them: numbers, text and categories, empty ones, and indicators."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, is_lazy, to_numpy
from preimage._engine.frames import frame_library, is_category
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage._models.completion import Indicators
from preimage.estimators._estimator import LAZY_ROWS
from preimage.estimators._missing_entries import is_nan, known_entries

# Most categories of a column, as many as scikit-learn's gradient boosting takes: names and numbers of rows have more,
# and every category is a column of the model.
MOST_CATEGORIES = 255
# Truth values as numbers.
TRUTH = np.array([0.0, 1.0])


@dataclass(frozen=True)
class Columns:
    """Which columns are categories, and which come back.

    Rows go through three forms: as given, with text or numbers (`in_numbers` makes numbers of it, `in_words` undoes
    that); codes, one number per entry; and coded rows, first the columns of numbers, then an indicator per category.

    Attributes
    ----------
    who : str
        The estimator, for messages.
    missing_values : number
    is_categorical : boolean array of shape (d,), or None if no column is
    categories : list of arrays
        Of each categorical column: numbers, or text as objects.
    is_valid : boolean array of shape (d,)
        Which columns had a known entry in the training set.
    names : array of str or None
        Of the columns, for messages.
    """

    who: str
    missing_values: Any
    is_categorical: np.ndarray | None
    categories: list[np.ndarray]
    is_valid: np.ndarray
    names: Any = None

    @classmethod
    def of(cls, who: str, missing_values: Any, categorical_features: Any, X: Rows) -> "Columns":
        """Of the rows that an imputer is fitted to, with the categories that are text or truth values."""
        X = _with_shape(X, categorical_features)
        d = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 0
        found = is_categorical(categorical_features, X, who) if d else None
        columns = cls(who, missing_values, found, [], np.ones(d, dtype=bool), getattr(X, "columns", None))
        values = [None if is_lazy(X) else _objects(X, column) for column in columns.numbers]
        named = zip(columns.numbers, values, strict=True)
        categories = [np.zeros(0) if each is None else columns._distinct(each, column) for column, each in named]
        # Both of them, also where the training rows have one: nobody is surprised by the other.
        truth = [truth_values(X, column) for column in columns.numbers]
        categories = [np.array([False, True]) if two else found for two, found in zip(truth, categories, strict=True)]
        return replace(columns, categories=categories)

    def with_codes(self, X: Rows, names: Any) -> "Columns":
        """With the categories that are numbers, in validated rows X."""
        is_open = [found.dtype.kind not in "Ob" for found in self.categories]
        seen = iter(_categories(X, self.numbers[is_open], self.missing_values) if any(is_open) else ())
        categories = [next(seen) if each else found for each, found in zip(is_open, self.categories, strict=True)]
        categories = [TRUTH if found.dtype.kind == "b" else found for found in categories]
        named = replace(self, categories=categories, names=names)
        for column, found in zip(self.numbers, categories, strict=True):
            if found.size > MOST_CATEGORIES:
                raise ValueError(
                    f"{self.who} takes at most {MOST_CATEGORIES} categories per column; column {named._name(column)} "
                    f"has {found.size}. Merge rare ones, or leave the column out of categorical_features."
                )
        return named

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of the categorical columns."""
        return np.flatnonzero([] if self.is_categorical is None else self.is_categorical)

    @cached_property
    def codes(self) -> dict[int, np.ndarray]:
        """Numbers that stand for categories, by the place of their column among the valid ones."""
        places = np.cumsum(self.is_valid) - 1
        return {
            int(places[column]): np.arange(float(found.size)) if found.dtype.kind == "O" else found
            for column, found in zip(self.numbers, self.categories, strict=True)
            if self.is_valid[column]
        }

    @cached_property
    def numeric(self) -> np.ndarray:
        """Places of the columns of numbers among the valid ones."""
        return np.setdiff1d(np.arange(int(self.is_valid.sum())), list(self.codes))

    def indicators(self, center: Array = None, scale: Array = None) -> Indicators:
        """Which columns of coded rows belong together; with their scaling, for what needs it."""
        return Indicators(len(self.numeric), tuple(each.size for each in self.codes.values()), center, scale)

    def with_words_of(self, X: Rows) -> "Columns":
        """With further words in rows without a gap, which are returned as they are; others are an error."""
        if self.is_categorical is None or len(getattr(X, "shape", ())) != 2 or X.shape[1] != self.is_valid.size:
            return self
        categories, is_complete = list(self.categories), None
        for place, column in enumerate(self.numbers):
            known = self.categories[place]
            values = _objects(X, column, is_text=True) if known.dtype.kind == "O" and not is_lazy(X) else None
            if values is None:
                continue
            known_words = set(known)
            unseen = np.array([not is_nan(each) and each not in known_words for each in values], dtype=bool)
            if not unseen.any():
                continue
            is_complete = self._without_gaps(X) if is_complete is None else is_complete
            if not is_complete[unseen].all():
                odd = values[unseen & ~is_complete][0]
                raise self._unseen(self._name(column, X), known, odd)
            categories[place] = np.array([*known, *dict.fromkeys(values[unseen])], dtype=object)
        return replace(self, categories=categories)

    def _without_gaps(self, X: Rows) -> np.ndarray:
        """Which rows have all entries of the valid columns."""
        found = np.ones(X.shape[0], dtype=bool)
        for column in np.flatnonzero(self.is_valid):
            found &= np.array([not is_nan(each) for each in entries_of(X, int(column))], dtype=bool)
        return found

    def in_numbers(self, X: Rows) -> Rows:
        """Rows as given with numbers for text and the categories of data frames."""
        if is_lazy(X) or self.is_categorical is None:
            return X
        X = X if hasattr(X, "shape") else np.array(X, dtype=object)
        if len(X.shape) != 2 or X.shape[1] != len(self.is_categorical):
            return X
        columns = {}
        for column, categories in zip(self.numbers, self.categories, strict=True):
            values = _objects(X, column, categories.dtype.kind == "O")
            if values is None:
                continue
            columns[column] = self._as_codes(values, categories, self._name(column, X))
            if categories.dtype.kind == "O" and not is_nan(self.missing_values):
                raise ValueError(f"{self.who} takes text with missing_values=np.nan; got {self.missing_values!r}.")
        return _with_columns(X, columns)

    def valid(self, X: Array) -> Array:
        """The columns that had a known entry in the training set."""
        if self.is_valid.all():
            return X
        xp = array_namespace(X)
        return xp.take(X, from_numpy(np.flatnonzero(self.is_valid), X, dtype=xp.int64), axis=1)

    def coded(self, X: Array, observed: Array) -> tuple[Array, Array]:
        """Valid columns with indicators in place of categories, and which of their columns are known.

        Categories that the training rows did not have are an error.
        """
        if not self.codes:
            return X, observed
        xp = array_namespace(X)
        numeric = from_numpy(self.numeric, X, dtype=xp.int64)
        parts, known = [xp.take(X, numeric, axis=1)], [xp.take(observed, numeric, axis=1)]
        for column, values in self.codes.items():
            found = X[:, column : column + 1] == from_numpy(values, X, dtype=X.dtype)[None, :]
            odd = observed[:, column] & ~xp.any(found, axis=1)
            if bool(xp.any(odd)):
                name = self._name(int(np.flatnonzero(self.is_valid)[column]))
                raise self._unseen(name, values, to_numpy(X[:, column])[to_numpy(odd)][0])
            parts.append(xp.astype(found, X.dtype))
            known.append(xp.broadcast_to(observed[:, column : column + 1], found.shape))
        return xp.concat(parts, axis=1), xp.concat(known, axis=1)

    def decoded(self, coded: Array, X: Array, observed: Array) -> Array:
        """Rows of valid columns from coded ones, the most likely categories; what is known is that of X."""
        xp = array_namespace(X)
        if self.codes:
            parts, start = [coded[:, : len(self.numeric)]], len(self.numeric)
            for values in self.codes.values():
                best = xp.argmax(coded[:, start : start + values.size], axis=1)
                parts.append(xp.take(from_numpy(values, X, dtype=X.dtype), best)[:, None])
                start += values.size
            back = np.argsort(np.concatenate([self.numeric, list(self.codes)]))
            coded = xp.take(xp.concat(parts, axis=1), from_numpy(back, X, dtype=xp.int64), axis=1)
        return xp.where(observed, X, coded)

    def with_empty(self, filled: Array) -> Array:
        """Valid columns, and zeros for the others."""
        if self.is_valid.all():
            return filled
        xp = array_namespace(filled)
        places = np.full(self.is_valid.size, filled.shape[1])
        places[self.is_valid] = np.arange(filled.shape[1])
        wider = xp.concat([filled, xp.zeros_like(filled[:, :1])], axis=1)
        return xp.take(wider, from_numpy(places, filled, dtype=xp.int64), axis=1)

    def in_words(self, filled: Array, keeps_empty: bool) -> Any:
        """A result with categories as the training rows had them: numbers, or text in an array of objects.

        `filled` has the shape (..., number of columns that come back).
        """
        if self.is_categorical is None:
            return filled
        places = np.cumsum(np.ones_like(self.is_valid) if keeps_empty else self.is_valid) - 1
        named = zip(self.numbers, self.categories, strict=True)
        words = {
            int(places[column]): found for column, found in named if found.dtype.kind == "O" and self.is_valid[column]
        }
        if words:
            filled = filled.astype(object)
            for place, found in words.items():
                filled[..., place] = found[filled[..., place].astype(int)]
        return filled

    def _name(self, column: int, X: Rows = None) -> str:
        names = getattr(X, "columns", self.names)
        return str(column) if names is None else repr(str(names[column]))

    def _distinct(self, values: np.ndarray, column: int) -> np.ndarray:
        """The categories among objects, in ascending order: numbers, or text."""
        known = [value for value in values if not is_nan(value)]
        if all(isinstance(value, Real) for value in known):
            return np.unique(np.array(known, dtype=float))
        if all(isinstance(value, str) for value in known):
            return np.array(sorted(set(known)), dtype=object)
        odd = sorted({type(value).__name__ for value in known})
        raise ValueError(
            f"{self.who} needs categories that are all numbers or all text; column {self._name(column)} has "
            f"{', '.join(odd)}. Convert them to one type."
        )

    def _as_codes(self, values: np.ndarray, categories: np.ndarray, name: str) -> np.ndarray:
        """Objects as numbers, NaN where they are missing: numbers themselves, text as its place in the categories."""
        if categories.dtype.kind != "O":
            try:
                return values.astype(float)
            except (TypeError, ValueError):
                odd = next(value for value in values if not isinstance(value, Real))
                raise self._unseen(name, categories, str(odd)) from None
        places = {word: float(place) for place, word in enumerate(categories)}
        for value in values:
            if not is_nan(value) and value not in places:
                raise self._unseen(name, categories, value)
        return np.array([np.nan if is_nan(value) else places[value] for value in values], dtype=float)

    def _unseen(self, name: str, categories: Array, value: Any) -> ValueError:
        """What is said about a category that the training rows did not have."""
        shown = [f"{each:g}" if isinstance(each, Real) else str(each) for each in (*categories[:8], value)]
        known = ", ".join(shown[:-1]) + (", ..." if len(categories) > 8 else "")
        return ValueError(
            f"{self.who} was fitted to the categories {known} of column {name}; got {shown[-1]}. Mark such entries as "
            f"missing, or fit {self.who} to rows that have them."
        )


def is_categorical(categorical_features: Any, X: Rows, who: str) -> np.ndarray | None:
    """Which columns of X are categories, as scikit-learn's `HistGradientBoostingClassifier` understands it.

    `categorical_features` is None, "from_dtype", or a list of bool, int or str. None if no column is.
    """
    if categorical_features is None:
        return None
    names = list(X.columns) if hasattr(X, "columns") else None
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                f"{who} needs categorical_features to be 'from_dtype', None, or a list of columns; got the text "
                f"{categorical_features!r}. Of one column, write categorical_features=[{categorical_features!r}]."
            )
        types = () if names is None else X.dtypes
        found = np.array([is_category(dtype) for dtype in types], dtype=bool)
        if names is not None:
            found |= np.array([truth_values(X, column) for column in range(len(names))], dtype=bool)
        return found if found.any() else None
    said, d = np.asarray(categorical_features), X.shape[1]
    found = np.zeros(d, dtype=bool)
    if said.ndim == 1 and said.dtype.kind == "b" and said.size == d:
        found[:] = said
    elif said.ndim == 1 and said.dtype.kind in "iu" and said.size and np.all((said >= 0) & (said < d)):
        found[said] = True
    elif said.ndim == 1 and said.dtype.kind in "UO" and names is not None and set(said) <= set(names):
        found[[names.index(name) for name in said]] = True
    elif said.size:
        known = "" if names is None else f", or names among {names[:8]}{'...' if d > 8 else ''}"
        raise ValueError(
            f"{who} needs categorical_features to be None, 'from_dtype', numbers of columns from 0 to {d - 1}, or a "
            f"boolean mask of {d} columns{known}; got {categorical_features!r:.200}."
        )
    return found if found.any() else None


def _with_shape(X: Rows, categorical_features: Any) -> Rows:
    """Lists that may have text as an array of objects."""
    if hasattr(X, "shape") or categorical_features is None or isinstance(categorical_features, str):
        return X
    return np.array(X, dtype=object)


def _categories(X: Rows, columns: np.ndarray, missing_values: Any) -> list[np.ndarray]:
    """Distinct known entries of columns, in ascending order; of lazy rows in a pass over them."""

    def counted(rows: Array) -> Counter:
        entries = [to_numpy(rows[:, int(column)]) for column in columns]
        known = [each[to_numpy(known_entries(each, missing_values))] for each in entries]
        return Counter((place, float(value)) for place, each in enumerate(known) for value in np.unique(each))

    found = sum_rows(counted, X, rows=LAZY_ROWS) if is_lazy(X) else counted(X)
    return [np.array(sorted(value for place, value in found if place == n)) for n in range(columns.size)]


def _objects(X: Rows, column: int, is_text: bool = False) -> np.ndarray | None:
    """A column as an array of objects, with NaN where it is missing; None if it is one of numbers, and not of text."""
    library = frame_library(X)
    if library is not None:
        series = library.column(X, column)
        if not is_text and getattr(series.dtype, "kind", "O") in "biuf":
            return None
        found = library.entries(series)
    elif isinstance(X, np.ndarray) and (is_text or X.dtype.kind in "OUS"):
        found = X[:, column].astype(object)
    else:
        return None
    found[np.array([is_nan(value) for value in found], dtype=bool)] = np.nan
    return found


def truth_values(X: Rows, column: int) -> bool:
    """Whether the known entries of a column of a data frame are truth values."""
    library = frame_library(X)
    return library is not None and library.has_truth_values(library.column(X, column))


def entries_of(X: Rows, column: int) -> np.ndarray:
    """Entries of a column as objects."""
    library = frame_library(X)
    return X[:, column] if library is None else library.entries(library.column(X, column))


def _with_columns(X: Rows, columns: dict[int, np.ndarray]) -> Rows:
    """A frame or array of objects in which columns are replaced; X itself does not change."""
    library = frame_library(X)
    if not columns:
        return X
    if library is not None:
        return library.replaced(X, columns)
    found = X.astype(object)
    for column, values in columns.items():
        found[:, column] = values
    return found
