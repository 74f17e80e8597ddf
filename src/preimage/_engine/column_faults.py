"""Errors that name the columns of a table which hold no numbers, or not enough of them, and say what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from sklearn.utils import check_array

from preimage._engine.arrays import is_sparse
from preimage._engine.frames import OBJECTS, TEXT, TIMES, frame_library
from preimage._engine.objects import are_objects, as_objects, describe_objects

# What NumPy and Python say of entries that are no numbers, and scikit-learn of those that are not finite.
NO_NUMBERS = ("could not convert", "Unable to convert", "float() argument must be", "Cannot cast")
NOT_FINITE = ("contains NaN", "contains infinity")
# Most columns that a message names.
MOST_NAMED = 5
# Longest entry that a message repeats.
LONGEST = 30


def refuse_columns(estimator: Any, who: str, X: Any, error: Exception, *, allows_nan: bool = False) -> None:
    """Say in the names of columns what scikit-learn has refused in X, if it is text, NaN or infinity; else do nothing.

    Parameters
    ----------
    estimator : estimator
    who : str
        Estimator and method.
    X : rows
        As given by the user.
    error : Exception
        What scikit-learn or NumPy said.
    allows_nan : bool, default=False
        Whether NaN is a missing entry that is allowed.
    """
    said = str(error)
    if said.startswith(NO_NUMBERS):
        refuse_words(who, X, takes_categories=hasattr(estimator, "categorical_features"))
    if is_sparse(X) or not any(words in said for words in NOT_FINITE):
        return
    try:
        values = check_array(X, dtype=np.float64, ensure_all_finite=False)
    except (TypeError, ValueError):  # of text that the estimator takes
        return
    refuse_holes(who, X, values, fills=hasattr(estimator, "missing_values"), allows_nan=allows_nan)


def refuse_words(who: str, X: Any, *, takes_categories: bool = False) -> None:
    """Refuse tables with columns of text, of dates or of times; X is a data frame or an array.

    Parameters
    ----------
    who : str
        Estimator and method.
    X : rows
    takes_categories : bool, default=False
        Whether the estimator takes columns of categories that are named to it.
    """
    faults = list(_columns_of_words(X))
    if not faults:
        return
    shown = "; ".join(str(fault) for fault in faults[:MOST_NAMED])
    more = f"; and {len(faults) - MOST_NAMED} more columns" if len(faults) > MOST_NAMED else ""
    it = "it" if len(faults) == 1 else "them"
    remedies = [f"Leave {it} out, or encode {it} in numbers, for instance with scikit-learn's OneHotEncoder."]
    if len(faults) == 1 and faults[0].what == TEXT and faults[0].n_words == faults[0].n_rows:
        remedies.append("A column of texts alone has kernels of its own: Strings in preimage.kernels.")
    if takes_categories:
        remedies.append(
            f"{who.partition('.')[0]}(categorical_features=[...]) takes the names of columns of categories."
        )
    if any(0 < fault.n_words < fault.n_rows for fault in faults):
        remedies.append("Words that mark missing values should be NaN, which KernelImputer fills.")
    if any(fault.is_digits for fault in faults):
        remedies.append("Measurements that were read as text become numbers by astype(float).")
    raise ValueError(f"{who} needs columns of numbers: {shown}{more}. {' '.join(remedies)}")


def refuse_texts(estimator: Any, who: str, X: Any) -> None:
    """Refuse a list of texts or sets where rows of numbers are needed; X as given by the user."""
    is_list = isinstance(X, (list, tuple)) or (getattr(X, "ndim", 2) == 1 and not is_sparse(X))
    if is_list and isinstance(next(iter(X), None), (str, bytes, set, frozenset, dict)) and are_objects(X):
        raise ValueError(
            f"{who} needs rows of numbers; got {describe_objects(as_objects(who, X))}. {_kernels_on_objects(estimator)}"
        )


def _kernels_on_objects(estimator: Any) -> str:
    if getattr(estimator, "_takes_objects", False):
        return (
            "Texts themselves are rows for kernel=Strings.spectrum(3) of preimage.kernels, and objects of any kind for "
            "a function of two of them as the kernel."
        )
    return "Encode them in numbers, for instance by KernelPCA(kernel=Strings.spectrum(3)), or by CountVectorizer."


def refuse_holes(who: str, X: Any, values: np.ndarray, *, fills: bool, allows_nan: bool) -> None:
    """Refuse missing and infinite entries, with the columns that have them; `values` are the numbers of X.

    Parameters
    ----------
    who : str
        Estimator and method.
    X : rows
        As given, for the names of columns.
    values : array of shape (n, d)
    fills : bool
        Whether the estimator is one that fills missing entries.
    allows_nan : bool
        Whether NaN is a missing entry.
    """
    is_bad = np.isinf(values) if allows_nan else np.isnan(values)
    what, kind = ("infinity", "infinite") if allows_nan else ("NaN", "missing")
    if not is_bad.any():
        is_bad, what, kind = np.isinf(values), "infinity", "infinite"
    if not is_bad.any():
        return
    counts = is_bad.sum(axis=0)
    columns = np.flatnonzero(counts)
    named = ", ".join(f"{_name(X, int(column))} ({counts[column]})" for column in columns[:MOST_NAMED])
    more = f" and {columns.size - MOST_NAMED} more" if columns.size > MOST_NAMED else ""
    columns_of = "column" if columns.size == 1 else "columns"
    total = int(counts.sum())
    entries = "entry" if total == 1 else "entries"
    raise ValueError(
        f"Input X contains {what}: {total} {kind} {entries} in {columns_of} {named}{more}. {_remedy(who, what, fills)}"
    )


def _remedy(who: str, what: str, fills: bool) -> str:
    estimator = who.partition(".")[0]
    if what == "NaN":
        if fills:
            return f"{estimator} fills what `missing_values` names: leave it at NaN, or replace NaN by that value."
        return (
            f"{who} needs every entry: fill the missing ones with KernelImputer, as in "
            f"make_pipeline(KernelImputer(), {estimator}()), or leave out these columns or rows."
        )
    filled = f"which {estimator} fills" if fills else "which KernelImputer fills"
    return f"{who} needs finite values: if infinity marks missing entries, replace it by NaN, {filled}."


@dataclass(frozen=True)
class Fault:
    """What a column holds in place of numbers.

    Attributes
    ----------
    column : str
        As messages name it.
    what : str
        `TEXT` or `TIMES`.
    n_words, n_rows : int
        How many entries are no numbers, and how many there are.
    first : str
        The first of them, or nothing, and the number of its row.
    row : int
    is_digits : bool
        Whether all words can be read as numbers.
    """

    column: str
    what: str
    n_words: int
    n_rows: int
    first: str = ""
    row: int = 0
    is_digits: bool = False

    def __str__(self) -> str:
        shown = self.first if len(self.first) <= LONGEST else f"{self.first[:LONGEST]}…"
        found = f"column {self.column} holds {self.what}"
        if self.n_words < self.n_rows:
            return f"{found} in {self.n_words} of {self.n_rows} rows ({shown!r} in row {self.row})"
        return f"{found} ({shown!r})" if self.first else found


def _columns_of_words(X: Any) -> Iterator[Fault]:
    """Columns without numbers, in their order."""
    library = frame_library(X)
    if library is not None:
        held = {dtype: library.holds(dtype) for dtype in set(X.dtypes)}
        for place, dtype in enumerate(X.dtypes if any(held.values()) else ()):
            if held[dtype] == TIMES:
                yield Fault(_name(X, place), TIMES, len(X), len(X))
            elif held[dtype] in (TEXT, OBJECTS):
                yield from _words_among(library.entries(library.column(X, place)), _name(X, place))
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        for place in range(X.shape[1]):
            # NumPy makes text of numbers next to text, and scikit-learn makes numbers of them again.
            yield from _words_among(X[:, place], str(place), ignores_digits=X.dtype.kind != "O")


def _words_among(entries: np.ndarray, column: str, ignores_digits: bool = False) -> Iterator[Fault]:
    """What a column of objects holds in place of numbers; nothing if there is neither text nor time."""
    is_word = lambda value: isinstance(value, (str, bytes)) and not (ignores_digits and _is_number(value))
    rows = [row for row, value in enumerate(entries) if is_word(value) or isinstance(value, (date, time, timedelta))]
    if rows:
        first = entries[rows[0]]
        what = TEXT if isinstance(first, (str, bytes)) else TIMES
        are_digits = what == TEXT and all(map(_is_number, entries[rows]))
        yield Fault(column, what, len(rows), len(entries), str(first), rows[0], are_digits)


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def _name(X: Any, place: int) -> str:
    """A column as messages name it: quoted if it has a name, otherwise by its number."""
    return str(place) if frame_library(X) is None else repr(str(X.columns[place]))
