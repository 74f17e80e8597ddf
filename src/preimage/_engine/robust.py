"""Mean and deviation of columns without what their outliers do to them."""

import numpy as np

from preimage._engine.typing import Array

# How far most values of a column lie from its median: this quantile of the distances, without those of zero. With the
# median of the distances, half of a column that is nearly equal, as the background of pictures, would make the other
# half look like mistakes; with one much larger, a few mistakes in a small table would be what is usual.
MOST = 0.9
# Values count for no more than so many times that distance. Of normal values that is five deviations, where there are
# none, so that their mean and deviation are what they always are; with a limit ten times larger, one wrong value in a
# hundred rows would make a deviation five times too large.
FARTHEST = 3.0
# Values are far from all others beyond so many times that distance, twenty deviations of normal values. One such value
# is a large part of the squared error of some hundred rows; values of heavy tails are not often as far.
FAR = 12.0


def location_and_scale(rows: Array) -> tuple[Array, Array]:
    r"""Mean and deviation of each column, of values clipped at :math:`m \pm 3\,t`; NaN are passed over.

    m is the median, and nine in ten of the values that differ from it are within t of it: a column that is mostly zero
    has the scale of its other values. Columns of two values, and those without outliers, have their mean and deviation.

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
        shifted, reach = _about_median(column)
        found |= np.abs(shifted) > FAR * reach
    return found


def _of_column(values: Array) -> tuple[float, float]:
    if not len(values):
        return np.nan, np.nan
    shifted, reach = _about_median(values)
    middle = float(np.median(values))
    if reach == 0:
        return middle, 0.0
    # In units of that distance, squares neither overflow nor vanish.
    relative = np.clip(shifted / reach, -FARTHEST, FARTHEST)
    return float(middle + reach * relative.mean()), float(reach * relative.std())


def _about_median(values: Array) -> tuple[Array, float]:
    """Values minus their median, and how far most of those that differ from it are from it; 0 if none do."""
    with np.errstate(over="ignore"):  # a distance beyond all numbers is larger than others, and nothing else
        shifted = values - np.median(values)
    distances = np.abs(shifted[shifted != 0])
    return shifted, float(np.quantile(distances, MOST, method="lower")) if len(distances) else 0.0
