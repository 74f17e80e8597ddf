"""Whether values change smoothly from column to column, or from pixel to pixel: the sign of curves and of images."""

import math

import numpy as np

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
