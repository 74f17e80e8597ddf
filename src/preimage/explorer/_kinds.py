"""Which view suits the rows of a data set: images, curves, tables or volumes; and what that view needs to know."""

import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from preimage._engine.arrays import from_device, to_numpy
from preimage._engine.typing import Array
from preimage.explorer._columns import Axis, axis_of_names, grid_of_names, is_enumeration
from preimage.explorer._precision import shown

# Rows that are compared: enough for a decision, few enough that it takes no time.
_MOST_ROWS = 500
# The mean squared difference of columns at a distance, relative to columns in random order, is 1 where order means
# nothing. Measured: digits, faces and objects have at most 0.6 from one image row to the next, less than 0.6 times
# that of half a row; spectra and series have ranks that differ by at most 0.22; tables have at least 0.31.
_LIKE_RANDOM = 0.8
_IMAGE_LIMIT = 0.65
_IMAGE_TO_HALF_ROW = 0.6
_CURVE_LIMIT = 0.25
# Fewer columns look smooth by chance: the ranks of 16 columns in random order stay below the limit once in a thousand.
_FEWEST_COLUMNS = 16
_SHORTEST_SIDE = 8


def looks_like_images(inputs: np.ndarray) -> tuple[int, int] | None:
    """Height and width, where rows of X seem to be square images; None otherwise.

    In an image a pixel resembles the one below it, a whole row of pixels later, more than the one half a row later.
    In a curve that is never so, unless its period is exactly that.
    """
    side = math.isqrt(inputs.shape[1])
    if side * side != inputs.shape[1] or side < _SHORTEST_SIDE:
        return None
    rows = _some_rows(inputs)
    below, half = _roughness(rows, side), _roughness(rows, side // 2)
    is_image = _roughness(rows, 1) < _LIKE_RANDOM and below < min(_IMAGE_LIMIT, _IMAGE_TO_HALF_ROW * half)
    return (side, side) if is_image else None


def looks_like_curves(inputs: np.ndarray) -> bool:
    """Whether neighbouring columns have similar values.

    Ranks of the columns in a row, or in the mean row where rows are noisy, do not depend on the scales of columns: a
    table with a single large column is not smooth.
    """
    if inputs.shape[1] < _FEWEST_COLUMNS:
        return False
    rows = _some_rows(inputs)
    mean = rows.mean(axis=0, keepdims=True)
    smooth = min(_roughness(_ranks(rows), 1), _roughness(_ranks(mean), 1)) < _CURVE_LIMIT
    return smooth and _roughness(rows, 1) < _LIKE_RANDOM


def _some_rows(inputs: np.ndarray) -> np.ndarray:
    """Rows at equal distances, without those that have missing entries."""
    rows = inputs[:: max(1, math.ceil(len(inputs) / _MOST_ROWS))]
    complete = rows[~np.isnan(rows).any(axis=1)]
    return complete if len(complete) else np.nan_to_num(rows[:1])


def _ranks(rows: np.ndarray) -> np.ndarray:
    return rows.argsort(axis=1, kind="stable").argsort(axis=1).astype(np.float64)


def _roughness(rows: np.ndarray, lag: int) -> float:
    """Mean squared difference of columns at distance `lag`, divided by that of columns in random order."""
    # Relative to the largest value, so that squares of large numbers do not overflow.
    rows = rows / max(float(np.abs(rows).max(initial=0.0)), np.finfo(float).tiny)
    scatter = float(rows.var(axis=1).mean())
    return float(np.mean((rows[:, lag:] - rows[:, :-lag]) ** 2)) / (2 * scatter) if scatter > 0 else 1.0


# Values farther from the middle half of their column than so many times its width are outliers: the outer fences of box
# plots, which one of half a million normal values is beyond.
FENCE = 3.0


def within_fences(X: np.ndarray) -> np.ndarray:
    """X with outliers of each column moved to the fences; NaN stays."""
    known = np.where(np.isnan(X).all(axis=0), 0.0, X)
    low, high = np.nanquantile(known, [0.25, 0.75], axis=0)
    # Columns that are mostly one number have no such middle half: their other values are what one looks for.
    reach = np.where(high > low, FENCE * (high - low), np.inf)
    return np.clip(X, low - reach, high + reach)


KINDS = ("image", "curve", "table", "volume")
# The option that a kind is recognized by; tables need none.
_OPTIONS = {"image": "image_shape", "volume": "mask", "curve": "axis"}
# Voxels at the edge of a mask can be much brighter than all others; the common colour scale leaves out this fraction of
# the values at either end. Ten times more would saturate the patterns that one wants to see.
_OUTSIDE_SCALE = 0.01
# Values lie on both sides of zero if the nearer end of their range is this fraction of the farther one, or more.
_BALANCED = 0.5


def view_record(
    inputs: Array,
    *,
    kind: str = "auto",
    image_shape: Sequence[int] | None = None,
    mask: Any = None,
    axis: Any = None,
    axis_label: str | None = None,
    value_label: str | None = None,
    names: Sequence[str] | None = None,
    units: Sequence[str] | Mapping[str, str] | str | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """The `view` of a page, and sentences that say what was guessed and how to change it.

    Parameters
    ----------
    inputs : array of shape (n, d)
        The rows that are drawn, in the units of the user; NaN for missing entries.
    kind : {"auto", "image", "curve", "table", "volume"}, default="auto"
        "auto" decides by the options that are given, then by the names of the columns, then by how smoothly the values
        change from column to column.
    image_shape : two or three ints or None
        Height and width of images, and 3 for images in colour (red, green, blue), which follow each other in a row.
    mask : array of shape (x, y, z), or an image with an affine, or None
        Where the voxels of a row lie: those that are not zero, in C order.
    axis : array of shape (d,) or None
        Where the values of a curve were measured; rising or falling.
    axis_label, value_label : str or None
        What the axes of curves show.
    names, units : d strings or None
        Of the columns; units may also be one string for all, or a dict from names to units.

    Returns
    -------
    record : dict
        Besides the kind: `low`, `high`, `mean` and `deviation` of each column (`low` and `high` are two numbers for
        images), `range`, the common scale of pictures, and what the kind needs; `signed` volumes have colours for both
        sides of zero, and tables the `usual` statistics, those without outliers.
    messages : list of str
    """
    inputs = np.asarray(inputs, dtype=np.float64)
    d = inputs.shape[1]
    names = _checked_names(names, d)
    units = _checked_units(units, names, d)
    _check_kind(kind, {"image_shape": image_shape, "mask": mask, "axis": axis})
    messages: list[str] = []
    if kind == "auto":
        kind, image_shape, axis, messages = _guess(inputs, image_shape, mask, axis, names)
    record = {"kind": kind, **_statistics(inputs)}
    if names is not None or kind == "table":
        record["names"] = [f"x{column}" for column in range(d)] if names is None else [*map(shown, names)]
        record["units"] = [*map(shown, units)]
    if kind == "image":
        record.update(_image(record, _checked_image_shape(image_shape, d)))
    elif kind == "curve":
        record.update(_curve(axis, names, axis_label, value_label, d))
    elif kind == "volume":
        record.update(_volume(mask, d), **_volume_scale(inputs))
    else:
        usual = _statistics(within_fences(inputs))
        record["usual"] = {name: usual[name] for name in ("low", "high", "mean", "deviation")}
    return record, messages


def _guess(inputs: Array, image_shape: Any, mask: Any, axis: Any, names: Sequence[str] | None) -> tuple:
    """The kind, the shape of images, the axis of curves, and a sentence where data or names decided."""
    if image_shape is not None or mask is not None or axis is not None:
        return "image" if image_shape is not None else "volume" if mask is not None else "curve", image_shape, axis, []
    shape, found = grid_of_names(names), axis_of_names(names)
    if shape is not None:
        return "image", shape, None, [_image_guess(shape, "the columns are named for the pixels of a grid")]
    if names is not None and found is not None:
        return "curve", None, found, [_curve_guess(f"the column names are numbers ({names[0]}, {names[1]}, …)")]
    if names is None or is_enumeration(names):
        shape = looks_like_images(inputs)
        if shape is not None:
            return "image", shape, None, [_image_guess(shape, "neighbouring pixels have similar values")]
        if looks_like_curves(inputs):
            return "curve", None, None, [_curve_guess("neighbouring columns have similar values")]
    return "table", None, None, [_table_guess(inputs.shape[1])]


def _image_guess(shape: Sequence[int], because: str) -> str:
    return (
        f"Rows are drawn as images of {shape[0]} × {shape[1]} pixels: a guess, because {because}. image_shape=(height, "
        'width) sets another shape; kind="curve" draws lines and kind="table" draws bars.'
    )


def _curve_guess(because: str) -> str:
    return (
        f"Rows are drawn as curves: a guess, because {because}. axis=… sets where the values were measured; "
        'kind="table" draws bars and image_shape=(height, width) images.'
    )


def _table_guess(d: int) -> str:
    curves = ', kind="curve" draws lines' if d > 1 else ""
    return f"Rows are drawn as tables, one bar per column: a guess. image_shape=(height, width) draws images{curves}."


def _check_kind(kind: str, options: dict[str, Any]) -> None:
    """Refuse unknown kinds, and options that belong to another kind."""
    if kind not in ("auto", *KINDS):
        raise ValueError(f"explore needs `kind` to be one of {', '.join(map(repr, ('auto', *KINDS)))}; got {kind!r}.")
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise ValueError(
            f"explore draws rows as one kind of data; `{given[0]}` and `{given[1]}` belong to different kinds. "
            "Give one of them."
        )
    if kind != "auto" and given and _OPTIONS.get(kind) != given[0]:
        belongs = next(other for other, option in _OPTIONS.items() if option == given[0])
        raise ValueError(
            f'`{given[0]}` is for kind="{belongs}"; explore got kind="{kind}". Leave out one of the two arguments.'
        )


def _checked_names(names: Sequence[str] | None, d: int) -> list[str] | None:
    if names is None:
        return None
    _check_one_each("names", names, d)
    return [name if isinstance(name, str) else shown(name) for name in names]


def _checked_units(units: Any, names: Sequence[str] | None, d: int) -> list[str]:
    """One unit for each column, empty where there is none."""
    if units is None or isinstance(units, str):
        return [units or ""] * d
    if isinstance(units, Mapping):
        unknown = [name for name in units if names is None or name not in names]
        if unknown:
            known = "X has no column names" if names is None else f"the columns are {_some(names)}"
            raise ValueError(
                f"`units` has a unit for {unknown[0]!r}, but {known}. Give `names` of the columns as well."
            )
        return ["" if units.get(name) is None else str(units[name]) for name in names or ()]
    _check_one_each("units", units, d)
    return ["" if unit is None else str(unit) for unit in units]


def _check_one_each(what: str, given: Any, d: int) -> None:
    is_list = hasattr(given, "__len__") and not isinstance(given, str)
    if not is_list or len(given) != d:
        came = len(given) if is_list else "one string" if isinstance(given, str) else f"{given!r:.50}"
        raise ValueError(f"explore needs one of `{what}` for each of the {d} columns of X; got {came}.")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _checked_image_shape(image_shape: Any, d: int) -> tuple[int, ...]:
    """Height and width, and 3 for colours; of square images where no shape is given."""
    side = math.isqrt(d)
    if image_shape is None and side * side == d:
        return side, side
    if image_shape is None:
        raise ValueError(
            f'explore needs `image_shape` for kind="image": rows have {d} values, which is not a square. Give height '
            "and width, such as image_shape=(16, 12), or (16, 12, 3) for colours."
        )
    sides = tuple(image_shape) if hasattr(image_shape, "__len__") else ()
    if len(sides) not in (2, 3) or not all(isinstance(side, Integral) and int(side) > 0 for side in sides):
        raise ValueError(
            "explore needs `image_shape` as two positive numbers, height and width in pixels, such as (16, 16), or "
            f"three for images in colour, such as (16, 16, 3); got {image_shape!r}."
        )
    if sides[2:] not in ((), (1,), (3,)):
        raise ValueError(f"explore draws images with 1 channel (grey) or 3 (red, green, blue); got {sides[2]}.")
    if math.prod(sides) != d:
        count = " × ".join(map(str, sides))
        raise ValueError(
            f"`image_shape` {tuple(map(int, sides))} has {count} = {math.prod(sides)} values; X has {d} columns. Give "
            "the height and width of the images that the rows of X hold."
        )
    return tuple(int(side) for side in (sides[:2] if sides[2:] == (1,) else sides))


def _image(record: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    low, high = record["range"]
    return {"shape": list(shape), "low": low, "high": high}


def _curve(axis: Any, names: Any, axis_label: str | None, value_label: str | None, d: int) -> dict[str, Any]:
    found = axis if isinstance(axis, Axis) else axis_of_names(names) if axis is None else None
    if found is not None:
        values, label = found.values, found.label
    elif axis is None:
        values, label = np.arange(1.0, d + 1), "column"
    else:
        values, label = _checked_axis(axis, d), "axis"
    return {"axis": values, "axis_label": shown(axis_label or label), "value_label": shown(value_label or "value")}


def _checked_axis(axis: Any, d: int) -> np.ndarray:
    values = _as_numpy(axis)
    if values.shape != (d,) or values.dtype.kind not in "iuf":
        raise ValueError(
            f"explore needs `axis` as {d} numbers, one for each column of X; got an array of shape {values.shape} and "
            f"type {values.dtype}."
        )
    values = values.astype(np.float64)
    steps = np.diff(values)
    if not np.isfinite(values).all() or not (np.all(steps > 0) or np.all(steps < 0)):
        raise ValueError(
            "explore needs `axis` to rise, or to fall, from each column to the next, without missing values. Sort the "
            "columns of X by it, and average columns with the same value."
        )
    return values


def _volume(mask: Any, d: int) -> dict[str, Any]:
    """Shape and voxels of a mask, and the size and direction of voxels where it is an image that knows them."""
    if mask is None:
        raise ValueError(
            'explore needs `mask` for kind="volume": a boolean array of shape (x, y, z) that is true for the voxels '
            f"of a row, or such an image; rows have {d} voxels."
        )
    values = np.asarray(
        mask.dataobj if hasattr(mask, "dataobj") else to_numpy(mask) if hasattr(mask, "dtype") else mask
    )
    if values.ndim == 4 and values.shape[3] == 1:
        values = values[..., 0]
    if values.ndim != 3 or values.dtype.kind not in "biuf":
        raise ValueError(
            f"explore needs `mask` as a volume of shape (x, y, z); got shape {values.shape} and type {values.dtype}. "
            "mask[:, :, None] makes a volume of a single slice."
        )
    voxels = np.flatnonzero(np.nan_to_num(values.astype(np.float64)))
    if len(voxels) != d:
        raise ValueError(f"`mask` has {len(voxels)} voxels that are not zero; X has {d} columns. They must agree.")
    record: dict[str, Any] = {"shape": [int(side) for side in values.shape], "voxels": voxels.astype(np.int32)}
    affine = np.asarray(getattr(mask, "affine", np.zeros((0, 0))), dtype=np.float64)
    if affine.shape == (4, 4) and np.isfinite(affine).all() and np.all(np.linalg.norm(affine[:3, :3], axis=0) > 0):
        record["voxel_size"] = np.linalg.norm(affine[:3, :3], axis=0).tolist()
        record["directions"] = _directions(affine[:3, :3])
    return record


def _directions(matrix: np.ndarray) -> list[list[str]]:
    """What lies at the beginning and at the end of each axis of an image: left or right, back or front, below or above.

    The conventions of NIfTI: the first coordinate of the world grows to the right of the person, the second to the
    front, the third upwards.
    """
    ends = [("L", "R"), ("P", "A"), ("I", "S")]
    strongest = np.abs(matrix).argmax(axis=0)
    return [list(ends[world] if matrix[world, axis] > 0 else ends[world][::-1]) for axis, world in enumerate(strongest)]


def _as_numpy(values: Any) -> np.ndarray:
    """Arrays of any library, lists, and the data of an image that is still on disk."""
    return np.asarray(from_device(values))


def _statistics(inputs: np.ndarray) -> dict[str, Any]:
    """Lowest, highest, mean and standard deviation of each column, and the range of all; without missing entries."""
    known = ~np.isnan(inputs)
    count = known.sum(axis=0)
    some = count > 0
    low = np.where(some, np.where(known, inputs, np.inf).min(axis=0), 0.0)
    high = np.where(some, np.where(known, inputs, -np.inf).max(axis=0), 0.0)
    # Relative to the range of a column: sums of large equal numbers would round, and their squares overflow.
    width = np.where(high > low, high - low, 1.0)
    relative = np.where(known, (inputs - low) / width, 0.0)
    mean = relative.sum(axis=0) / np.maximum(count, 1)
    deviation = np.sqrt((np.where(known, relative - mean, 0.0) ** 2).sum(axis=0) / np.maximum(count, 1))
    common = _with_width(float(low[some].min()), float(high[some].max())) if some.any() else _with_width(0.0, 0.0)
    return {"low": low, "high": high, "mean": low + width * mean, "deviation": width * deviation, "range": common}


def _volume_scale(inputs: np.ndarray) -> dict[str, Any]:
    """The range of all values but the most extreme, symmetric around zero where values lie on both sides of it.

    Zero then has a colour of its own: what is more active than usual is seen, and what is less.
    """
    known = inputs[~np.isnan(inputs)]
    ends = np.quantile(known, [_OUTSIDE_SCALE, 1 - _OUTSIDE_SCALE]).tolist() if len(known) else [0.0, 0.0]
    low, high = _with_width(*ends)
    nearer, farther = sorted([-low, high])
    if nearer < _BALANCED * farther:
        return {"range": [low, high], "signed": False}
    return {"range": [-farther, farther], "signed": True}


def _with_width(low: float, high: float) -> list[float]:
    """A scale needs some width: equal values are drawn in its middle."""
    if high > low:
        return [low, high]
    margin = 0.5 * max(abs(low), 1.0)
    return [low - margin, low + margin]
