"""Rows that are objects, such as texts, sets and graphs: one column of them, and when two of them are equal."""

from collections.abc import Hashable
from numbers import Number
from typing import Any

import numpy as np

from preimage._engine.arrays import is_foreign, is_lazy, is_masked, is_objects, is_sparse
from preimage._engine.frames import OBJECTS, TEXT, frame_library
from preimage._engine.typing import Array, Rows
from preimage.exceptions import UnsupportedKernelError

# What may be a row of numbers in a list of rows. Anything else (a text, a set, a graph) is an object, and NumPy is not
# asked, which would look into objects that have a length.
ROWS_OF_NUMBERS = (list, tuple, np.ndarray, Number)
COLLECTIONS_WITHOUT_ORDER = (set, frozenset, dict)


def are_objects(X: Rows) -> bool:
    """Whether what a user gave are objects one by one, not rows of numbers and not a table with several columns."""
    if is_sparse(X) or is_foreign(X) or is_lazy(X) or hasattr(X, "__next__"):
        return False
    library = frame_library(X)
    if library is not None:
        return X.shape[1] == 1 and library.holds(next(iter(X.dtypes))) in (TEXT, OBJECTS)
    if isinstance(X, np.ndarray):
        is_column = X.ndim == 1 or (X.ndim == 2 and X.shape[1] == 1)
        return is_column and X.dtype.kind in "OUST" and not _are_numbers(X.ravel())
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and _are_objects(X)
    if not hasattr(X, "dtype") or not hasattr(X, "__len__"):
        return False
    return not hasattr(X, "shape") or (len(X.shape) == 1 and not _are_numbers(_items(X)))  # a series


def _are_objects(X: Any) -> bool:
    """Whether entries of a list are objects: some is certainly no row, or they are no rows of as many numbers."""
    if not all(isinstance(row, ROWS_OF_NUMBERS) for row in X):
        return True
    try:
        found = np.asarray(X)
    except ValueError:  # rows of different lengths
        return True
    if found.dtype.kind == "O":  # lists with a missing entry among numbers are rows
        return not any(isinstance(value, Number) for value in found.ravel())
    return found.dtype.kind in "US" or found.ndim > 2


def _are_numbers(items: Any) -> bool:
    return all(isinstance(item, Number) for item in items)


def as_objects(who: str, X: Rows) -> Array:
    """Objects as a column, shape (n, 1), which nothing looks into.

    A column, since code that cuts blocks of rows need not know then what they are.

    Parameters
    ----------
    who : str
        What takes the objects, for messages.
    X : sequence of n objects
        A list, a NumPy array of one dimension, a series, or a table with one column.
    """
    if is_objects(X):
        return X
    items = _items_of(who, X)
    column = np.empty((len(items), 1), dtype=object)
    for row, item in enumerate(items):  # one by one: NumPy would take a list of lists for an array
        column[row, 0] = item
    return column


def _items_of(who: str, X: Rows) -> Any:
    library = frame_library(X)
    if library is not None or (isinstance(X, np.ndarray) and X.ndim == 2):
        if X.shape[1] == 1:
            return _items_of(who, X[:, 0]) if library is None else library.entries(library.column(X, 0))
        raise ValueError(
            f"{who} takes one object per row; got {X.shape[1]} columns. Pass a single column, X['name'] of a table, or "
            "a list with one object per row."
        )
    if isinstance(X, (str, bytes)):
        raise TypeError(f"{who} takes a list of objects; got a single {type(X).__name__}. Pass [{X!r:.30}].")
    if is_masked(X):
        raise ValueError(f"{who} got masked entries, which are missing values: drop them.")
    if isinstance(X, COLLECTIONS_WITHOUT_ORDER) or hasattr(X, "__next__"):
        raise TypeError(f"{who} takes a list of objects, in an order; got {type(X).__name__}. Pass list(X).")
    is_sequence = hasattr(X, "__len__") and hasattr(X, "__getitem__") and getattr(X, "shape", (0,)) != ()
    if is_sparse(X) or is_foreign(X) or is_lazy(X) or not is_sequence:
        raise TypeError(
            f"{who} takes objects in memory: a list, an array of one dimension or a series; got {type(X).__name__}."
        )
    return _items(X)


def _items(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return X.tolist() if X.ndim == 1 else list(X)
    for method in ("to_pylist", "to_list", "tolist"):  # of Arrow, polars and pandas
        if hasattr(X, method):
            return getattr(X, method)()
    return [X[row] for row in range(len(X))]


def column_of(X: Any) -> Any:
    """A column of objects as users get it, an array of shape (n,); anything else as it is."""
    return X[:, 0] if is_objects(X) else X


def describe_objects(X: Array) -> str:
    """What a column holds, for messages: 'objects of type str'."""
    kinds = sorted({type(each).__name__ for each in X[:, 0]})
    return f"objects of type {', '.join(kinds[:3])}{', ...' if len(kinds) > 3 else ''}" if kinds else "no objects"


def refuse_objects(who: str, points: Array, instead: str) -> None:
    """Raise where the points of a model are objects, and `who` needs numbers; `instead` says what to do."""
    if is_objects(points):
        raise UnsupportedKernelError(
            f"{who} needs rows of numbers; this model was fitted to {describe_objects(points)}. {instead}"
        )


class _Same:
    """An object that is equal to itself only."""

    def __init__(self, value: Any) -> None:
        self.value = value  # held, so that no other object can get its id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def object_key(value: Any) -> Hashable:
    """The same for equal objects: of collections by their contents, of others that have no hash by identity."""
    kind = type(value)
    if kind in (str, bytes):
        return value
    if kind in (list, tuple):
        return kind, tuple(map(object_key, value))
    if kind in (set, frozenset):
        return kind, frozenset(map(object_key, value))
    if kind is dict:
        return kind, frozenset((object_key(key), object_key(item)) for key, item in value.items())
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return kind, value.shape, value.dtype.str, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return _Same(value)
    return kind, value


def object_numbers(X: Array) -> np.ndarray:
    """A number for each object of a column, the same for equal ones: in the order of texts, or of first appearance."""
    if all(type(each) is str for each in X[:, 0]):
        order = {text: number for number, text in enumerate(sorted(set(X[:, 0])))}
        return np.array([order[text] for text in X[:, 0]], dtype=np.intp)
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(object_key(each), len(numbers)) for each in X[:, 0]], dtype=np.intp)
