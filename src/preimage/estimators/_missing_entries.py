"""Rows with missing entries as scikit-learn's imputers take them: known entries, and the columns that come back."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, as_points, from_numpy, is_lazy, to_numpy
from preimage._engine.finite import current_method, working_method
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_lazy_points, check_points, check_same_device, is_stream
from preimage.estimators._estimator import LAZY_ROWS


def is_nan(missing_values: Any) -> bool:
    """Whether a `missing_values` parameter stands for NaN: NaN itself, None, or the missing value of pandas."""
    if missing_values is None or type(missing_values).__name__ == "NAType":
        return True
    return isinstance(missing_values, Real) and bool(missing_values != missing_values)


def check_incomplete(estimator: Any, X: Rows, *, reset: bool, min_samples: int = 1, like: Array = None) -> Rows:
    """Validate rows that may have missing entries; NaN is one of them only if `missing_values` is.

    With `like`, an array of the fitted model, X gets its precision, and must be of its library and device.
    """
    name = type(estimator).__name__
    if is_stream(X):
        raise TypeError(f"{name} was given an iterator of blocks, which can be read once only. Pass its blocks.")
    if is_lazy(X):
        return check_lazy_points(estimator, X, reset=reset, min_samples=min_samples)
    X = check_points(
        estimator,
        X,
        reset=reset,
        min_samples=min_samples,
        accept_sparse=False,
        allow_missing=is_nan(getattr(estimator, "missing_values", np.nan)),
    )
    if like is None:
        return X
    check_same_device(estimator, X, like)
    return array_namespace(X).astype(X, like.dtype, copy=False)


def known_entries(X: Array, missing_values: Any) -> Array:
    """A boolean array that is True where an entry of X is known."""
    xp = array_namespace(X)
    return ~xp.isnan(X) if is_nan(missing_values) else missing_values != X


def map_incomplete(
    estimator: Any, function: Callable[[Array, Array], Array], X: Rows, like: Array, missing_values: Any
) -> Array:
    """`function` of validated rows and of their known entries, in memory or in a pass over lazy rows."""
    if not is_lazy(X):
        return function(X, known_entries(X, missing_values))
    name, dtype = type(estimator).__name__, like.dtype
    method = current_method()

    def of_block(rows: Array) -> Array:
        rows = as_points(rows).astype(dtype, copy=False)
        observed = known_entries(rows, missing_values)
        if not np.isfinite(rows[observed]).all():
            raise ValueError(f"Input X contains infinity, or NaN that is not the missing value. {name} needs numbers.")
        with working_method(method):
            return function(rows, observed)

    return map_rows(of_block, X, rows=LAZY_ROWS)


class ImputedColumns:
    """Mixed into imputers: which columns come back, and under which names, as scikit-learn's imputers have it.

    The estimator has the parameters `missing_values`, `add_indicator` and `keep_empty_features`.
    """

    missing_values: Any
    add_indicator: bool
    keep_empty_features: bool
    valid_features_: np.ndarray
    indicator_features_: np.ndarray

    @property
    def _is_valid(self) -> np.ndarray:
        """`valid_features_` in NumPy, where numbers of columns are found."""
        return to_numpy(self.valid_features_)

    def _store_columns(self, observed: Array) -> None:
        xp = array_namespace(observed)
        self.valid_features_ = to_numpy(xp.any(observed, axis=0))
        self.indicator_features_ = np.flatnonzero(~to_numpy(xp.all(observed, axis=0)))

    def _valid(self, X: Array) -> Array:
        """The columns that had a known entry in the training set."""
        if self._is_valid.all():
            return X
        xp = array_namespace(X)
        numbers = from_numpy(np.flatnonzero(self._is_valid), X, dtype=xp.int64)
        return xp.take(X, numbers, axis=1)

    def _with_columns(self, filled: Array, observed: Array) -> Array:
        """Filled valid columns, with zeros for empty ones if they are kept, and indicators of missing entries."""
        xp = array_namespace(filled)
        if self.keep_empty_features and not self._is_valid.all():
            zeros = xp.zeros_like(filled[:, :1])
            places = np.full(self._is_valid.size, filled.shape[1])
            places[self._is_valid] = np.arange(filled.shape[1])
            filled = xp.take(xp.concat([filled, zeros], axis=1), from_numpy(places, filled, dtype=xp.int64), axis=1)
        if not self.add_indicator:
            return filled
        numbers = from_numpy(to_numpy(self.indicator_features_), filled, dtype=xp.int64)
        return xp.concat([filled, xp.astype(~xp.take(observed, numbers, axis=1), filled.dtype)], axis=1)

    def _names_out(self, names: np.ndarray) -> np.ndarray:
        kept = names if self.keep_empty_features else names[self._is_valid]
        if not self.add_indicator:
            return kept
        indicators = [f"missingindicator_{name}" for name in names[to_numpy(self.indicator_features_)]]
        return np.concatenate([kept, np.asarray(indicators, dtype=object)])
