"""Checks of the fields of outputs, which may come from a file that somebody else wrote."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np


def check_flag(owner: str, name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        _fail(owner, name, "True or False", value)
    return bool(value)


def check_number(owner: str, name: str, value: Any) -> float:
    """A finite real number."""
    number = _plain_array([value])
    if number is None or not np.isfinite(number[0]):
        _fail(owner, name, "a finite number", value)
    return float(number[0])


def check_count(owner: str, name: str, value: Any) -> int:
    """An integer of at least one."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        _fail(owner, name, "an integer of at least 1", value)
    return int(value)


def check_choice(owner: str, name: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few strings."""
    if not isinstance(value, str) or value not in choices:
        _fail(owner, name, " or ".join(map(repr, choices)), value)
    return str(value)


def check_vector(owner: str, name: str, value: Any, size: int) -> np.ndarray:
    """`size` finite numbers, as a read-only array."""
    values = _plain_array(value)
    if values is None or values.dtype.kind not in "iuf" or values.shape != (size,) or not np.all(np.isfinite(values)):
        _fail(owner, name, f"{size} finite numbers", value)
    return _frozen(values.astype(np.float64))


def check_optional_vectors(owner: str, size: int, **vectors: Any) -> dict[str, np.ndarray | None]:
    """All of `vectors`, or all of them None."""
    missing = [name for name, value in vectors.items() if value is None]
    if missing and len(missing) < len(vectors):
        raise ValueError(f"{owner} needs {' and '.join(vectors)} together or not at all; {missing[0]} is None.")
    return {name: None if missing else check_vector(owner, name, value, size) for name, value in vectors.items()}


def check_classes(owner: str, classes: Any, *, minimum: int = 2) -> np.ndarray:
    """Distinct labels as a read-only array; strings given as a list become an array of objects."""
    wanted = f"at least {minimum} distinct labels: an array of numbers or strings, or a list of strings"
    values = _labels(classes)
    if values is None or values.size < minimum or len(set(values.tolist())) < values.size:
        _fail(owner, "classes", wanted, classes)
    return _frozen(values.copy())


def _labels(classes: Any) -> np.ndarray | None:
    """A flat array of finite numbers, flags or strings, or None."""
    if isinstance(classes, list):
        are_strings = all(isinstance(label, str) for label in classes)
        return np.array(classes, dtype=object) if are_strings else None
    values = _plain_array(classes, kinds="biufUO")
    if values is None or values.ndim != 1:
        return None
    if values.dtype.kind == "O":
        return values if all(isinstance(label, str) for label in values) else None
    return values if values.dtype.kind != "f" or np.all(np.isfinite(values)) else None


def _plain_array(value: Any, kinds: str = "iuf") -> np.ndarray | None:
    """An array of `value` if it is one, or a flat list of numbers; None if it is anything else."""
    if isinstance(value, list) and all(isinstance(item, Real) and not isinstance(item, bool) for item in value):
        try:
            value = np.array(value, dtype=np.float64)
        except OverflowError:  # an integer beyond all floating numbers
            return None
    if not isinstance(value, np.ndarray):
        return None
    return np.asarray(value) if value.dtype.kind in kinds else None


def _frozen(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


def _fail(owner: str, name: str, wanted: str, value: Any) -> NoReturn:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    raise ValueError(f"{owner} needs `{name}` to be {wanted}; got {shown}.")
