"""Inverses of profiles without a formula: bisection, where a profile rises or falls everywhere."""

from collections.abc import Callable

import numpy as np

from preimage._arrays import array_namespace, from_numpy, to_numpy
from preimage._typing import Array
from preimage._warnings import unwarned

# Powers of two among which the first bracket is looked for: arguments from 1e-90 to 1e90, whatever the unit of inputs.
# Cubes of these are numbers of double precision; profiles that overflow for smaller ones are cut where they do.
EXPONENTS = np.arange(-300, 301)
# Halvings of an interval between two powers of two, after which its ends are neighbouring numbers of double precision.
HALVINGS = 54


@unwarned()
def invert_monotone(profile: Callable[[np.ndarray], np.ndarray], values: Array, *, rising: bool) -> Array:
    """The s ≥ 0 with profile(s) = values, elementwise, to rounding.

    Parameters
    ----------
    profile : callable
        Of NumPy arrays; rises from s = 0 on, or falls.
    values : array of any shape
        Values before that of s = 0 count as this one.
    rising : bool

    Returns
    -------
    array of the shape of `values`
        NaN for values beyond all that the profile takes.
    """
    sign = 1.0 if rising else -1.0
    wanted = sign * to_numpy(values).astype(float)
    grid = np.concatenate([[0.0], 2.0**EXPONENTS])
    found = sign * profile(grid)
    usable = np.isfinite(found)
    grid, found = grid[usable], np.maximum.accumulate(found[usable])  # rounding errors are no descents
    place = np.searchsorted(found, wanted)  # the first in the grid with at least the value
    low, high = grid[np.clip(place - 1, 0, None)], grid[np.clip(place, None, len(grid) - 1)]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = sign * profile(middle) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    s = from_numpy(np.where((place == len(grid)) | np.isnan(wanted), np.nan, high), values)
    return array_namespace(values).astype(s, values.dtype, copy=False)
