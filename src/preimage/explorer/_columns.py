"""What the names of columns say: wavelengths or times of a curve, pixels of a grid, or mere numbering."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Fewer columns are a table, whatever their names: "2019", "2020", "2021" of a spreadsheet.
_FEWEST_ON_AXIS = 5
# Names such as "a_1_2" that happen to form a grid of two by two are not pixels.
_SHORTEST_SIDE = 4
_NUMBER = re.compile(r"(\D*?)([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(\D*)")
_PIXEL = re.compile(r"(.*?)(\d+)\D(\d+)")


@dataclass(frozen=True)
class Axis:
    """Where the values of curves were measured, and what that is called."""

    values: np.ndarray
    label: str


def axis_of_names(names: Sequence[str] | None) -> Axis | None:
    """The axis that names such as "400", "402", … or "t=0.5 s", "t=1.0 s", … describe; None for others.

    Columns that are merely counted ("x0", "x1", …) have no axis.
    """
    found = _numbers(names)
    if found is None or is_enumeration(names):
        return None
    before, values, after = found
    steps = np.diff(values)
    if len(values) < _FEWEST_ON_AXIS or not (np.all(steps > 0) or np.all(steps < 0)):
        return None
    before, after = before.strip(" _-=:."), after.strip(" _-")
    return Axis(values, f"{before} ({after})" if before and after else before or after or "column name")


def grid_of_names(names: Sequence[str] | None) -> tuple[int, int] | None:
    """Height and width of images whose columns are named "pixel_0_0", "pixel_0_1", …, or "pixel1" … "pixel784"."""
    if names is None:
        return None
    side = math.isqrt(len(names))
    if is_enumeration(names) and re.match(r"(?i)(pixel|px)", names[0]) and side >= _SHORTEST_SIDE:
        return (side, side) if side * side == len(names) else None
    matches = [_PIXEL.fullmatch(name) for name in names]
    if not matches or not all(matches) or len({match[1] for match in matches if match}) > 1:
        return None
    rows, columns = np.array([(int(match[2]), int(match[3])) for match in matches if match]).T
    height, width = int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1
    if min(height, width) < _SHORTEST_SIDE or height * width != len(names):
        return None
    in_order = (rows - rows.min()) * width + columns - columns.min()
    return (height, width) if np.array_equal(in_order, np.arange(len(names))) else None


def is_enumeration(names: Sequence[str] | None) -> bool:
    """Whether names only count the columns, from 0 or 1: "0", "1", …; "x1", "x2", …; "feature_001", …"""
    found = _numbers(names)
    return found is not None and found[1][0] in (0, 1) and bool(np.all(np.diff(found[1]) == 1))


def _numbers(names: Sequence[str] | None) -> tuple[str, np.ndarray, str] | None:
    """The numbers in names that differ in nothing else, and what stands before and after them."""
    if not names:
        return None
    matches = [_NUMBER.fullmatch(name.strip()) for name in names]
    if not all(matches) or len({(match[1], match[3]) for match in matches if match}) > 1:
        return None
    before, after = (matches[0][1], matches[0][3]) if matches[0] else ("", "")
    return before, np.array([float(match[2]) for match in matches if match]), after
