"""Mean and deviation of columns without what their outliers do to them."""

import numpy as np

from preimage._engine.typing import Array

# Values count for no more than so many times the typical distance from the median. Of normal values that is five
# deviations, where there are none, so that their mean and deviation are what they always are; with a limit ten times
# larger, one wrong value in a hundred rows would make a deviation five times too large.
FARTHEST = 7.5
# Values are far from all others beyond so many times the typical distance, twenty deviations of normal values. One such
# value is a large part of the squared error of some hundred rows; values of heavy tails are not often as far.
FAR = 30


def location_and_scale(rows: Array) -> tuple[Array, Array]:
    r"""Mean and deviation of each column, of values clipped at :math:`m \pm 7.5\,t`; NaN are passed over.

    m is the median and t the median distance from it, of the values that differ from it: half of a column that is
    mostly zero may be zero. Columns of two values, and those without outliers, have their mean and deviation.

    Parameters
    ----------
    rows : array of shape (n, d)

    Returns
    -------
    location, scale : arrays of shape (d,)
        The scale of a constant column is zero; both are NaN for a column without values.
    """
    found = [_of_column(column[~np.isnan(column)]) for column in np.asarray(rows, dtype=np.float64).T]
    location, scale = np.array(found, dtype=np.float64).reshape(-1, 2).T
    return location, scale


def far_rows(rows: Array) -> Array:
    """Which rows have a value that is no more like the others of its column: far beyond where values are clipped."""
    found = np.zeros(len(rows), dtype=bool)
    for column in np.asarray(rows, dtype=np.float64).T:
        shifted, typical = _about_median(column)
        found |= np.abs(shifted) > FAR * typical
    return found


def _of_column(values: Array) -> tuple[float, float]:
    if not len(values):
        return np.nan, np.nan
    shifted, typical = _about_median(values)
    middle = float(np.median(values))
    if typical == 0:
        return middle, 0.0
    # In units of the typical distance, squares neither overflow nor vanish.
    relative = np.clip(shifted / typical, -FARTHEST, FARTHEST)
    return float(middle + typical * relative.mean()), float(typical * relative.std())


def _about_median(values: Array) -> tuple[Array, float]:
    """Values minus their median, and the typical distance from it of those that differ from it; 0 if none do."""
    with np.errstate(over="ignore"):  # a distance beyond all numbers is larger than others, and nothing else
        shifted = values - np.median(values)
    distances = np.abs(shifted[shifted != 0])
    return shifted, float(np.median(distances)) if len(distances) else 0.0
