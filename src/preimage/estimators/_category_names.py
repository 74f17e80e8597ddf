"""Categories of data frames and of arrays of objects as numbers, and back: text, and pandas' categories."""

from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.typing import Array, Rows
from preimage.estimators._missing_entries import is_nan


def is_categorical(categorical_features: Any, X: Rows, who: str) -> np.ndarray | None:
    """Which columns of X are categories, as scikit-learn's `HistGradientBoostingClassifier` understands it.

    Parameters
    ----------
    categorical_features : None, "from_dtype", or a list of bool, int or str
    X : rows with a shape
    who : str
        The estimator, for messages.

    Returns
    -------
    boolean array of shape (d,), or None if no column is
    """
    if categorical_features is None:
        return None
    names = list(X.columns) if hasattr(X, "columns") else None
    if isinstance(categorical_features, str):
        found = np.array([names is not None and _is_category(dtype) for dtype in getattr(X, "dtypes", ())], dtype=bool)
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


def objects_of(X: Rows, column: int, is_text: bool = False) -> np.ndarray | None:
    """A column as an array of objects, with NaN where it is missing; None if it is one of numbers, and not of text."""
    if hasattr(X, "iloc"):
        values: Any = X.iloc[:, column]
    elif isinstance(X, np.ndarray) and (is_text or X.dtype.kind in "OUS"):
        values = X[:, column]
    else:
        return None
    if not is_text and getattr(values.dtype, "kind", "O") in "biuf":
        return None
    found = np.asarray(values, dtype=object).copy()
    found[np.array([is_nan(value) for value in found], dtype=bool)] = np.nan
    return found


def distinct(values: np.ndarray, who: str, name: str) -> np.ndarray:
    """The categories among objects, in ascending order: numbers, or text."""
    known = [value for value in values if not is_nan(value)]
    if all(isinstance(value, Real) for value in known):
        return np.unique(np.array(known, dtype=float))
    if all(isinstance(value, str) for value in known):
        return np.array(sorted(set(known)), dtype=object)
    odd = sorted({type(value).__name__ for value in known})
    raise ValueError(
        f"{who} needs categories that are all numbers or all text; column {name} has {', '.join(odd)}. Convert them "
        "to one type."
    )


def unseen(who: str, name: str, categories: Array, value: Any) -> ValueError:
    """What is said about a category that the training rows did not have."""
    shown = [each if isinstance(each, str) else f"{float(each):g}" for each in (*categories[:8], value)]
    known = ", ".join(shown[:-1]) + (", ..." if len(categories) > 8 else "")
    return ValueError(
        f"{who} was fitted to the categories {known} of column {name}; got {shown[-1]}. Mark such entries as missing, "
        f"or fit {who} to rows that have them."
    )


def as_codes(values: np.ndarray, categories: np.ndarray, who: str, name: str) -> np.ndarray:
    """Objects as numbers, NaN where they are missing: numbers themselves, text as its place among the categories."""
    if categories.dtype.kind != "O":
        try:
            return values.astype(float)
        except (TypeError, ValueError):
            odd = next(value for value in values if not isinstance(value, Real))
            raise unseen(who, name, categories, str(odd)) from None
    places = {word: float(place) for place, word in enumerate(categories)}
    odd = [value for value in values if not is_nan(value) and value not in places]
    if odd:
        raise unseen(who, name, categories, odd[0])
    return np.array([np.nan if is_nan(value) else places[value] for value in values], dtype=float)


def with_columns(X: Rows, columns: dict[int, np.ndarray]) -> Rows:
    """A frame or array of objects in which columns are replaced; X itself does not change."""
    if not columns:
        return X
    if isinstance(X, np.ndarray):
        found = X.astype(object)
        for column, values in columns.items():
            found[:, column] = values
        return found
    found = X.copy(deep=False)
    for column, values in columns.items():
        found.isetitem(column, values)
    return found


def with_types(values: np.ndarray, X: Rows, places: dict[int, int]) -> Any:
    """A data frame of filled values, in which columns of categories have the types that they have in the frame X.

    Parameters
    ----------
    values : array of shape (q, number of columns), of numbers or objects
    X : pandas.DataFrame of q rows
    places : dict
        The column of X for each column of `values` that has categories.
    """
    import pandas as pd

    columns = {}
    for place in range(values.shape[1]):
        column = values[:, place]
        if place not in places:
            columns[place] = column.astype(float)
            continue
        dtype = X.dtypes.iloc[places[place]]
        if _is_category(dtype):
            more = [value for value in pd.unique(column) if value not in dtype.categories]
            dtype = pd.CategoricalDtype([*dtype.categories, *more], ordered=dtype.ordered)
        columns[place] = pd.Series(column).astype(dtype).array
    return pd.DataFrame(columns, index=X.index)


def _is_category(dtype: Any) -> bool:
    return str(dtype).lower().startswith(("category", "categorical", "enum"))
