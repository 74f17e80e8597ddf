"""Mean and deviation of columns without what their outliers do to them."""

import numpy as np

from preimage._engine.typing import Array

# Values count for no more than so many times the typical distance from the median. Of normal values that is five
# deviations, where there are none, so that their mean and deviation are what they always are; with a limit ten times
# larger, one wrong value in a hundred rows would make a deviation five times too large.
FARTHEST = 7.5


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


def _of_column(values: Array) -> tuple[float, float]:
    if not len(values):
        return np.nan, np.nan
    middle = np.median(values)
    with np.errstate(over="ignore"):  # a distance beyond all numbers is clipped like others
        shifted = values - middle
    distances = np.abs(shifted[shifted != 0])
    if not len(distances):
        return float(middle), 0.0
    typical = np.median(distances)
    # In units of the typical distance, squares neither overflow nor vanish.
    relative = np.clip(shifted / typical, -FARTHEST, FARTHEST)
    return float(middle + typical * relative.mean()), float(typical * relative.std())
