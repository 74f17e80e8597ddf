"""Columns of categories: as columns of indicators for a model of numbers, and back."""

from collections import Counter
from typing import Any

import numpy as np
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import array_namespace, from_numpy, is_lazy, to_numpy
from preimage._engine.memory import limited_memory
from preimage._engine.rows import sum_rows
from preimage._engine.threads import within_n_jobs
from preimage._engine.typing import Array, Rows
from preimage._models.completion import Indicators
from preimage.estimators._category_names import (
    as_codes,
    distinct,
    is_categorical,
    objects_of,
    unseen,
    with_columns,
    with_types,
)
from preimage.estimators._estimator import LAZY_ROWS
from preimage.estimators._missing_entries import check_incomplete, is_nan, known_entries

# Most categories of a column, as many as scikit-learn's gradient boosting takes: names and numbers of rows have more,
# and every category is a column of the model.
MOST_CATEGORIES = 255


class CategoricalColumns:
    """Mixed into imputers: the parameter `categorical_features`, `is_categorical_` and `categories_`.

    Rows go through three forms: as given, with text or numbers (`_in_numbers` makes numbers of it, `_in_words` undoes
    that); codes, one number per entry; and coded rows, first the columns of numbers, then an indicator per category.
    """

    categorical_features: Any
    missing_values: Any
    #: Models of files that were written before there were categories have none.
    is_categorical_: np.ndarray | None = None
    categories_: list[np.ndarray]
    _is_valid: np.ndarray

    @within_n_jobs
    def category_probabilities(self: Any, X: Rows) -> list[Array]:
        """Probabilities of the categories of each entry in the categorical columns.

        `transform` fills in the most likely category, and `sample` draws with these probabilities. The ones of a known
        entry are one for its category and zero for the others.

        Parameters
        ----------
        X : array or data frame of shape (q, d), in memory

        Returns
        -------
        list of arrays of shape (q, number of categories)
            One per categorical column with a known entry in the training set; columns of the arrays are `categories_`.

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import KernelImputer
        >>> size = np.linspace(0, 1, 60)
        >>> kind = np.where(size < 0.5, 1, 2)
        >>> imputer = KernelImputer(categorical_features=[1]).fit(np.column_stack([size, kind]))
        >>> imputer.category_probabilities([[0.1, np.nan], [0.2, 1]])[0].round(1)
        array([[1., 0.],
               [1., 0.]])
        """
        check_is_fitted(self)
        name = type(self).__name__
        if self.is_categorical_ is None:
            raise ValueError(
                f"{name} was fitted without categories; say which columns have them: categorical_features."
            )
        if is_lazy(X):
            raise TypeError(f"{name}.category_probabilities takes rows in memory; pass parts of them.")
        X = check_incomplete(self, self._in_numbers(X), reset=False, like=self.center_)
        observed = self._valid(known_entries(X, self.missing_values))
        with limited_memory(self.max_memory, self.center_):
            filled = self._filled_codes(self._valid(X), observed)
        return self._indicators().probabilities(self._scaling().apply(filled))

    def _in_numbers(self: Any, X: Rows, reset: bool = False) -> Rows:
        """Rows with numbers for text and pandas' categories; with `reset`, find out which columns are categorical."""
        who = type(self).__name__
        if reset:
            self.is_categorical_, self.categories_ = None, []
        if is_lazy(X) or (self.categorical_features if reset else self.is_categorical_) is None:
            return X
        if not hasattr(X, "shape"):
            X = X if isinstance(self.categorical_features, str) else np.array(X, dtype=object)
        if len(getattr(X, "shape", ())) != 2:
            return X
        if reset:
            self.is_categorical_ = is_categorical(self.categorical_features, X, who)
            self.categories_ = [] if self.is_categorical_ is None else [np.zeros(0)] * int(self.is_categorical_.sum())
        elif len(self.is_categorical_) != X.shape[1]:
            return X
        columns = {}
        for place, column in enumerate(self._categorical_numbers):
            values = objects_of(X, column, self.categories_[place].dtype.kind == "O")
            if values is None:
                continue
            name = _name(X, column)
            if reset:
                self.categories_[place] = distinct(values, who, name)
            columns[column] = as_codes(values, self.categories_[place], who, name)
            if self.categories_[place].dtype.kind == "O" and not is_nan(self.missing_values):
                raise ValueError(f"{who} takes text with missing_values=np.nan; got {self.missing_values!r}.")
        return with_columns(X, columns)

    def _store_categories(self: Any, X: Rows) -> None:
        """Find the categories of columns of numbers, in validated rows."""
        who = type(self).__name__
        if self.categorical_features is not None and is_lazy(X) and not isinstance(self.categorical_features, str):
            self.is_categorical_ = is_categorical(self.categorical_features, X, who)
            self.categories_ = [np.zeros(0)] * len(self._categorical_numbers)
        numbers = [n for n, found in enumerate(self.categories_) if found.dtype.kind != "O"]
        seen = _categories(X, self._categorical_numbers[numbers], self.missing_values) if numbers else []
        for place, found in zip(numbers, seen, strict=True):
            self.categories_[place] = found
        for column, found in zip(self._categorical_numbers, self.categories_, strict=True):
            count = found.size
            if count > MOST_CATEGORIES:
                raise ValueError(
                    f"{who} takes at most {MOST_CATEGORIES} categories per column; column {self._column_name(column)} "
                    f"has {count}. Merge rare ones, or leave the column out of categorical_features."
                )

    @property
    def _categorical_numbers(self) -> np.ndarray:
        """Numbers of the categorical columns."""
        return np.flatnonzero([] if self.is_categorical_ is None else to_numpy(self.is_categorical_))

    @property
    def _codes(self) -> dict[int, np.ndarray]:
        """Numbers that stand for categories, by the place of their column among the valid ones."""
        if self.is_categorical_ is None:
            return {}
        places = np.cumsum(self._is_valid) - 1
        return {
            int(places[column]): np.arange(float(found.size)) if found.dtype.kind == "O" else found
            for column, found in zip(self._categorical_numbers, self.categories_, strict=True)
            if self._is_valid[column]
        }

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(codes.size for codes in self._codes.values())

    @property
    def _groups(self) -> np.ndarray | None:
        """The number of the entry that each coded column belongs to; None without categories."""
        return Indicators(len(self._numeric), self._sizes).groups if self._codes else None

    @property
    def _numeric(self) -> np.ndarray:
        """Places of the columns of numbers among the valid ones."""
        return np.setdiff1d(np.arange(int(self._is_valid.sum())), list(self._codes))

    def _indicators(self: Any) -> Indicators:
        return Indicators(len(self._numeric), self._sizes, self.center_, self.scale_)

    def _coded(self, X: Array, observed: Array) -> tuple[Array, Array]:
        """Rows of valid columns with indicators in place of categories, and which of their columns are known.

        Categories that the training rows did not have are an error.
        """
        codes = self._codes
        if not codes:
            return X, observed
        xp = array_namespace(X)
        numeric = from_numpy(self._numeric, X, dtype=xp.int64)
        parts, known = [xp.take(X, numeric, axis=1)], [xp.take(observed, numeric, axis=1)]
        for column, values in codes.items():
            found = X[:, column : column + 1] == from_numpy(values, X, dtype=X.dtype)[None, :]
            odd = observed[:, column] & ~xp.any(found, axis=1)
            if bool(xp.any(odd)):
                name = self._column_name(int(np.flatnonzero(self._is_valid)[column]))
                raise unseen(type(self).__name__, name, values, to_numpy(X[:, column])[to_numpy(odd)][0])
            parts.append(xp.astype(found, X.dtype))
            known.append(xp.broadcast_to(observed[:, column : column + 1], found.shape))
        return xp.concat(parts, axis=1), xp.concat(known, axis=1)

    def _decoded(self, coded: Array, X: Array, observed: Array) -> Array:
        """Rows of valid columns from coded ones, the most likely categories; what is known is that of X."""
        xp, codes = array_namespace(X), self._codes
        if not codes:
            return xp.where(observed, X, coded)
        n_numeric = len(self._numeric)
        parts, start = [coded[:, :n_numeric]], n_numeric
        for values in codes.values():
            best = xp.argmax(coded[:, start : start + values.size], axis=1)
            parts.append(xp.take(from_numpy(values, X, dtype=X.dtype), best)[:, None])
            start += values.size
        back = np.argsort(np.concatenate([self._numeric, list(codes)]))
        return xp.where(observed, X, xp.take(xp.concat(parts, axis=1), from_numpy(back, X, dtype=xp.int64), axis=1))

    def _in_words(self: Any, filled: Array, X: Rows) -> Any:
        """A result with categories as they were given: in text, and in a pandas frame of the types of X if wanted.

        Parameters
        ----------
        filled : array of shape (..., number of columns that come back)
        X : rows as they were given
        """
        if self.is_categorical_ is None:
            return filled
        kept = np.ones(self._is_valid.size, dtype=bool) if self.keep_empty_features else self._is_valid
        places = np.cumsum(kept) - 1
        mine = {
            int(places[column]): (int(column), found)
            for column, found in zip(self._categorical_numbers, self.categories_, strict=True)
            if self._is_valid[column]
        }
        words = {place: found for place, (_, found) in mine.items() if found.dtype.kind == "O"}
        if words:
            filled = filled.astype(object)
            for place, found in words.items():
                filled[..., place] = found[filled[..., place].astype(int)]
        is_frame = hasattr(X, "iloc") and np.ndim(filled) == 2
        if is_frame and _get_output_config("transform", self)["dense"] == "pandas":
            return with_types(to_numpy(filled), X, {place: column for place, (column, _) in mine.items()})
        return filled

    def _column_name(self: Any, column: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return str(column) if names is None else repr(str(names[column]))


def _name(X: Rows, column: int) -> str:
    return repr(str(X.columns[column])) if hasattr(X, "columns") else str(column)


def _categories(X: Rows, columns: np.ndarray, missing_values: Any) -> list[np.ndarray]:
    """Distinct known entries of columns, in ascending order; of lazy rows in a pass over them."""

    def counted(rows: Array) -> Counter:
        entries = [to_numpy(rows[:, int(column)]) for column in columns]
        known = [each[to_numpy(known_entries(each, missing_values))] for each in entries]
        return Counter((place, float(value)) for place, each in enumerate(known) for value in np.unique(each))

    found = sum_rows(counted, X, rows=LAZY_ROWS) if is_lazy(X) else counted(X)
    return [np.array(sorted(value for place, value in found if place == n)) for n in range(columns.size)]
