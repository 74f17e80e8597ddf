"""Data frames of pandas and polars in memory: what their columns hold, and results as frames.

Neither library is imported here: whoever has a frame has imported its library, and the one that `set_output` names is
imported where scikit-learn's settings are read.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

# What columns hold in place of numbers, as messages say it.
TEXT, TIMES, OBJECTS = "text", "dates or times", "objects"
# Floating types of columns that keep their precision, and those of them that are single. The names are pandas'.
SINGLE = ("float32", "Float32", "float[pyarrow]")
DOUBLE = ("float64", "Float64", "double[pyarrow]")


class FrameLibrary(ABC):
    """What this package asks of data frames of one library; X is a frame and `place` the number of a column."""

    name: str

    @property
    def module(self) -> Any:
        """The library, which someone has imported; None if nobody has."""
        return sys.modules.get(self.name)

    def owns(self, X: Any) -> bool:
        """Whether X is a data frame of this library in memory."""
        return isinstance(X, getattr(self.module, "DataFrame", ()))

    @abstractmethod
    def rows(self, X: Any, numbers: np.ndarray) -> Any:
        """The rows with these numbers."""

    @abstractmethod
    def column(self, X: Any, place: int) -> Any:
        """A column, as a series."""

    @abstractmethod
    def entries(self, column: Any) -> np.ndarray:
        """Entries of a series as objects; missing ones are None, NaN or NA."""

    @abstractmethod
    def replaced(self, X: Any, columns: dict[int, np.ndarray]) -> Any:
        """A frame in which columns have other values; X itself does not change."""

    @abstractmethod
    def holds(self, dtype: Any) -> str | None:
        """`TEXT`, `TIMES`, `OBJECTS`, which may be numbers, or None for columns of numbers and truth values."""

    @abstractmethod
    def is_of_truth_values(self, dtype: Any) -> bool:
        """Whether a type of columns is that of truth values, with or without missing ones."""

    def has_truth_values(self, column: Any) -> bool:
        """Whether the known entries of a series are truth values, by its type, or one by one if they are objects."""
        if self.holds(column.dtype) != OBJECTS:
            return self.is_of_truth_values(column.dtype)
        known = [each for each in self.entries(column) if not is_missing(each)]
        return bool(known) and all(isinstance(each, (bool, np.bool_)) for each in known)

    @abstractmethod
    def floating_type(self, dtype: Any) -> str:
        """Among `SINGLE` and `DOUBLE`, the type that goes with the type of a column."""

    @abstractmethod
    def floating(self, values: np.ndarray, name: str) -> Any:
        """A column of numbers in one of these types."""

    @abstractmethod
    def converted(self, values: np.ndarray, dtype: Any) -> Any:
        """Values as a series of a type, with more categories if need be; an error where that cannot be."""

    @abstractmethod
    def frame(self, columns: list[Any], names: list[str], index_of: Any) -> Any:
        """A frame of columns, with the index of the frame `index_of` where the library has one."""

    @abstractmethod
    def table(self, values: np.ndarray, names: list[str], index_of: Any) -> Any:
        """A frame of an array, of one type and without a loop over columns."""


class Pandas(FrameLibrary):
    """Data frames with an index, whose types of columns come from NumPy, pandas and Arrow."""

    name = "pandas"

    def rows(self, X: Any, numbers: np.ndarray) -> Any:
        return X.iloc[numbers]

    def column(self, X: Any, place: int) -> Any:
        return X.iloc[:, place]

    def entries(self, column: Any) -> np.ndarray:
        return np.array(column, dtype=object)

    def replaced(self, X: Any, columns: dict[int, np.ndarray]) -> Any:
        found = X.copy(deep=False)
        for place, values in columns.items():
            found.isetitem(place, values)
        return found

    def holds(self, dtype: Any) -> str | None:
        types = self.module.api.types
        if is_category(dtype):
            return self.holds(dtype.categories.dtype)
        if types.is_object_dtype(dtype):
            return OBJECTS
        if types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype) or types.is_complex_dtype(dtype):
            return None
        return TEXT if types.is_string_dtype(dtype) else TIMES

    def is_of_truth_values(self, dtype: Any) -> bool:
        return not is_category(dtype) and self.module.api.types.is_bool_dtype(dtype)

    def floating_type(self, dtype: Any) -> str:
        name = str(dtype)
        if name in SINGLE:
            return name
        if name.endswith("[pyarrow]"):
            return "double[pyarrow]"
        # Types with a missing value of pandas' own begin with a capital letter, but for that of truth values.
        return "Float64" if name[0].isupper() or name == "boolean" else "float64"

    def floating(self, values: np.ndarray, name: str) -> Any:
        return self.module.Series(values).astype(name)

    def converted(self, values: np.ndarray, dtype: Any) -> Any:
        if is_category(dtype):
            more = [value for value in self.module.unique(values) if value not in dtype.categories]
            dtype = self.module.CategoricalDtype([*dtype.categories, *more], ordered=dtype.ordered)
        return self.module.Series(values).astype(dtype)

    def frame(self, columns: list[Any], names: list[str], index_of: Any) -> Any:
        arrays = {place: self.module.Series(column).array for place, column in enumerate(columns)}
        found = self.module.DataFrame(arrays, index=self._index(index_of), copy=True)
        found.columns = names  # which may be equal
        return found

    def table(self, values: np.ndarray, names: list[str], index_of: Any) -> Any:
        return self.module.DataFrame(values, columns=names, index=self._index(index_of))

    def _index(self, X: Any) -> Any:
        return X.index if self.owns(X) else None


class Polars(FrameLibrary):
    """Data frames without an index, all of whose types have a missing value."""

    name = "polars"

    def rows(self, X: Any, numbers: np.ndarray) -> Any:
        return X[numbers]

    def column(self, X: Any, place: int) -> Any:
        return X.to_series(place)

    def entries(self, column: Any) -> np.ndarray:
        found = np.empty(len(column), dtype=object)
        found[:] = column.to_list()
        return found

    def replaced(self, X: Any, columns: dict[int, np.ndarray]) -> Any:
        return X.with_columns([self.module.Series(X.columns[place], values) for place, values in columns.items()])

    def holds(self, dtype: Any) -> str | None:
        if dtype == self.module.Object:
            return OBJECTS
        if dtype.is_numeric() or dtype in (self.module.Boolean, self.module.Null):
            return None
        return TIMES if dtype.is_temporal() else TEXT

    def is_of_truth_values(self, dtype: Any) -> bool:
        return dtype == self.module.Boolean

    def floating_type(self, dtype: Any) -> str:
        return "float32" if dtype == self.module.Float32 else "float64"

    def floating(self, values: np.ndarray, name: str) -> Any:
        return values.astype(np.float32 if name in SINGLE else np.float64)

    def converted(self, values: np.ndarray, dtype: Any) -> Any:
        try:
            return self.module.Series(values.tolist(), strict=True).cast(dtype)
        except self.module.exceptions.PolarsError as error:
            raise ValueError(str(error)) from error

    def frame(self, columns: list[Any], names: list[str], index_of: Any) -> Any:
        series = self.module.Series
        return self.module.DataFrame([series(name, column) for name, column in zip(names, columns, strict=True)])

    def table(self, values: np.ndarray, names: list[str], index_of: Any) -> Any:
        return self.module.DataFrame(values, schema=names, orient="row")


LIBRARIES = {each.name: each for each in (Pandas(), Polars())}


def frame_library(X: Any) -> FrameLibrary | None:
    """The library of a data frame in memory; None if X is none."""
    return next((each for each in LIBRARIES.values() if each.owns(X)), None)


def is_category(dtype: Any) -> bool:
    """Whether a type of columns of pandas or polars is one of categories."""
    return str(dtype).lower().startswith(("category", "categorical", "enum"))


def floating_types(X: Any) -> list[str]:
    """For each column of a data frame the floating type that goes with its own, by the name that pandas has for it.

    Types of single and double precision are themselves, also those of pandas and Arrow that have a missing value; other
    columns get the double precision of their family.
    """
    library = frame_library(X)
    return [] if library is None else [library.floating_type(dtype) for dtype in X.dtypes]


def as_frame(
    values: np.ndarray, names: Iterable[str], library: str, index_of: Any = None, types: Sequence[str] | None = None
) -> Any:
    """An array as a data frame.

    Parameters
    ----------
    values : array of shape (q, d)
    names : d str
    library : "pandas" or "polars"
    index_of : object, optional
        A frame of pandas of q rows gives its index to one of pandas.
    types : sequence of d str, optional
        Floating types of the columns, see `floating_types`; by default they have that of the array.
    """
    made, named = LIBRARIES[library], [str(name) for name in names]
    if types is None or set(types) == {str(values.dtype)}:
        return made.table(values, named, index_of)
    return made.frame([made.floating(values[:, j], name) for j, name in enumerate(types)], named, index_of)


def as_completed_frame(values: np.ndarray, names: Iterable[str], library: str, X: Any, places: Sequence[int]) -> Any:
    """Rows of which some entries were filled as a data frame, in whose columns nothing else changes.

    A column in which no entry differs is that of X itself, if both frames are of one library. Others keep its type if
    that holds the values, as floating types, categories and text do; what is left becomes floating.

    Parameters
    ----------
    values : array of shape (q, d)
        Numbers, or objects if there is text.
    names : d str
    library : "pandas" or "polars"
    X : data frame of q rows
        What was completed.
    places : sequence of d int
        For each column of the result that of X, or -1 for a new one.
    """
    made, given = LIBRARIES[library], frame_library(X)
    assert given is not None
    columns = []
    for place, column in zip(places, map(_inferred, values.T), strict=True):
        if place < 0:
            columns.append(column)
            continue
        source = given.column(X, int(place))
        found = _as_it_was(made, source, column) if given is made else None
        if found is None:
            is_number = column.dtype.kind in "fiub"
            found = made.floating(column, given.floating_type(source.dtype)) if is_number else column
        columns.append(found)
    return made.frame(columns, [str(name) for name in names], X)


def _as_it_was(library: FrameLibrary, source: Any, values: np.ndarray) -> Any:
    """Values as the series that they come from: itself, or of its type; None if that does not hold them."""
    if _are_equal(library.entries(source), values):
        return source
    if str(source.dtype).lower() in (*SINGLE, *DOUBLE):  # which round
        return None
    if library.holds(source.dtype) == OBJECTS:
        values = _with_known_objects(library.entries(source), values)
    try:
        found = library.converted(values, source.dtype)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if _are_equal(library.entries(found), values) else None


def _with_known_objects(entries: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A column of objects in which only missing entries are filled; truth values among truth values."""
    is_known = np.array([not is_missing(each) for each in entries], dtype=bool)
    known = entries[is_known]
    if not is_known.any() or not _are_equal(known, values[is_known]):
        return values
    filled = values[~is_known]
    if all(isinstance(each, (bool, np.bool_)) for each in known) and np.isin(filled, [0, 1]).all():
        filled = filled.astype(bool)
    found = entries.copy()
    found[~is_known] = filled.tolist()
    return found


def is_missing(value: Any) -> bool:
    """Whether an entry of a column of objects is None, NaN, or the missing value of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real) and bool(value != value)


def _are_equal(entries: np.ndarray, values: np.ndarray) -> bool:
    """Whether all entries of a column are known and are these values; NumPy compares objects one by one."""
    try:
        same = entries.astype(float) == values if values.dtype != object else entries == values
    except (TypeError, ValueError):  # text, or a missing value that is no number
        return False
    return bool(np.all(same))


def _inferred(values: np.ndarray) -> np.ndarray:
    """A column of objects as numbers if they all are."""
    is_number = values.dtype != object or all(isinstance(value, (int, float, np.number)) for value in values)
    return values.astype(float) if values.dtype == object and is_number else values
