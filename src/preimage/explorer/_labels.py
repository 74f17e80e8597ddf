"""What rows are coloured by: labels, and further columns of names or numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import in_memory, to_numpy
from preimage._engine.typing import Targets
from preimage.explorer._precision import deviations, in_single, shown

# Groups that a page tells apart, the rarest ones beyond it being one: legends of more cannot be read, and colours
# cannot be told apart long before.
MOST_GROUPS = 60
# Different whole numbers up to which they are labels, such as ten digits; more of them are measurements.
MOST_NUMBERED = 30


@dataclass(frozen=True)
class Groups:
    """Rows in groups with names: codes are numbers of names, −1 where a row is in no group."""

    name: str
    names: list[str]
    codes: np.ndarray

    def at(self, rows: np.ndarray) -> dict[str, Any]:
        """The record of some of the rows."""
        return {"name": self.name, "names": self.names, "codes": self.codes[rows].astype(np.int32)}


@dataclass(frozen=True)
class Measurements:
    """One number per row, NaN where it is missing."""

    name: str
    values: np.ndarray

    def at(self, rows: np.ndarray) -> dict[str, Any]:
        """The record of some of the rows."""
        values = self.values[rows]
        return {"name": self.name, "values": in_single(values, deviations(values[:, None])[0])}


def read_labels(y: Targets, n: int, unlabelled: bool, name: str | None = None) -> Groups | Measurements | None:
    """Labels of n rows, or measurements where y has many different numbers; None without y or with no label at all.

    With `unlabelled`, −1 is the missing label, as in scikit-learn's semi-supervised models.
    """
    if y is None:
        return None
    name = getattr(y, "name", None) if name is None else name
    found = read_column("label" if name is None else shown(name), y, n, "y")
    if unlabelled and isinstance(found, Groups) and "-1" in found.names:
        missing = found.names.index("-1")
        codes = np.where(found.codes == missing, -1, found.codes - (found.codes > missing))
        found = Groups(found.name, [each for each in found.names if each != "-1"], codes)
    return None if isinstance(found, Groups) and not found.names else found


def read_columns(colors: Any, n: int) -> list[Groups | Measurements]:
    """Columns to colour by: a dictionary, or a frame of n rows."""
    if colors is None:
        return []
    if hasattr(colors, "columns"):
        colors = {name: colors[name] for name in colors.columns}
    if not isinstance(colors, Mapping):
        raise TypeError(
            "explore takes colors as a dictionary of columns, such as {'age': ages}, or as a data frame; got "
            f"{type(colors).__name__}."
        )
    return [read_column(shown(name), values, n, f"colors[{shown(name)!r}]") for name, values in colors.items()]


def read_column(name: str, values: Targets, n: int, who: str) -> Groups | Measurements:
    """One value per row: groups where values are names or few whole numbers, measurements otherwise."""
    array = _flat(values, n, who)
    if array.dtype.kind in "mM":
        return _from_times(name, array)
    missing = _missing(array)
    known = array[~missing]
    numbers = None if array.dtype.kind == "b" or array.dtype.kind in "USO" else array
    if array.dtype.kind == "O" and known.size and all(_is_number(each) for each in known):
        numbers = np.where(missing, np.nan, array).astype(np.float64)
    if numbers is not None and known.size and not _are_labels(numbers[~missing]):
        values = numbers.astype(np.float64)
        return Measurements(name, np.where(np.isfinite(values), values, np.nan))
    return _grouped(name, array if numbers is None else numbers, missing)


def _flat(values: Targets, n: int, who: str) -> np.ndarray:
    values = in_memory(values)
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(object), None)
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    elif isinstance(values, (list, tuple)):
        values = _as_given(values)
    array = to_numpy(values) if hasattr(values, "shape") else np.asarray(values)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim != 1 or array.dtype.kind in "cV":
        raise ValueError(
            f"explore needs one label or number per row in {who}; got an array of shape {array.shape} and type "
            f"{array.dtype}. Pass further columns as colors={{name: values}}."
        )
    if array.size != n:
        raise ValueError(f"explore was given {n:,} rows in X and {array.size:,} values in {who}; one each is needed.")
    return array


def _as_given(values: Any) -> np.ndarray:
    """A list as an array in which numbers and names that stand together stay what they are."""
    if any(isinstance(each, (list, tuple, np.ndarray)) for each in values):
        return np.asarray(values)
    if any(isinstance(each, str) or each is None for each in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def _missing(array: np.ndarray) -> np.ndarray:
    """Where there is no value: NaN, None, missing values of pandas, or an empty text."""
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind == "U":
        return array == ""
    if array.dtype.kind != "O":
        return np.zeros(array.size, bool)
    return np.array([_is_missing(each) for each in array], dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value == ""):
        return True
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _are_labels(numbers: np.ndarray) -> bool:
    """Whether numbers are few and whole."""
    if numbers.dtype.kind == "f" and not np.all(numbers == np.rint(numbers)):
        return False
    return np.unique(numbers).size <= MOST_NUMBERED


def _grouped(name: str, array: np.ndarray, missing: np.ndarray) -> Groups:
    codes = np.full(array.size, -1)
    if np.all(missing):
        return Groups(name, [], codes)
    known = array[~missing]
    if known.dtype.kind == "O":
        # Values of different types, such as 1 and "1", have no order; their texts have.
        texts = np.array([f"{type(each).__name__}:{each}" if not _is_number(each) else shown(each) for each in known])
        _, first, found = np.unique(texts, return_index=True, return_inverse=True)
        values = known[first]
    else:
        values, found = np.unique(known, return_inverse=True)
    names, found = _most_frequent([shown(each) for each in values], found)
    codes[~missing] = found
    return Groups(name, names, codes)


def _most_frequent(names: list[str], codes: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and codes in which all but the most frequent groups are one, where there are too many."""
    if len(names) <= MOST_GROUPS:
        return names, codes
    counts = np.bincount(codes, minlength=len(names))
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_GROUPS - 1])
    numbers = np.full(len(names), kept.size)
    numbers[kept] = np.arange(kept.size)
    others = f"{len(names) - kept.size:,} other labels"
    return [*(names[number] for number in kept), others], numbers[codes]


def _from_times(name: str, array: np.ndarray) -> Measurements:
    """Days since the first of the dates, or lengths of time in days."""
    missing = np.isnat(array)
    if np.all(missing):
        return Measurements(name, np.full(array.size, np.nan))
    if array.dtype.kind == "M":
        first = np.min(array[~missing])
        days, unit = (array - first) / np.timedelta64(1, "D"), f"days since {np.datetime_as_string(first, unit='D')}"
    else:
        days, unit = array / np.timedelta64(1, "D"), "days"
    return Measurements(f"{name} ({unit})", np.where(missing, np.nan, days.astype(np.float64)))
