"""In which precision a page has its numbers: single where rounding does not show, double elsewhere."""

from typing import Any

import numpy as np

# Rounding errors that nobody sees, relative to how much numbers of their kind vary: a hundredth of a pixel on a screen.
# Times in seconds since 1970 are one of the kinds of numbers that single precision would make all alike.
INVISIBLE = 1e-5
# Bits of a mantissa that coordinates of drawn rows keep, of 24: errors of 2⁻¹⁶ of their size, less than a tenth of a
# pixel. Zeros instead of the others save a quarter of their bytes when a page is packed.
COORDINATE_BITS = 16
# Larger numbers have no squared distances in double precision, and pages would compute with infinity.
LARGEST = 1e100


def require_moderate(values: np.ndarray, what: str) -> None:
    """Raise for rows with numbers so large that squared distances are infinite; NaN are left out."""
    size = np.where(np.isnan(values), 0.0, np.abs(values))
    if size.size and not np.max(size) <= LARGEST:
        row, column = np.unravel_index(np.argmax(size), size.shape)
        raise ValueError(
            f"explore computes squared distances, for which {values[row, column]:.3g} in column {column} of {what} is "
            f"too large: at most {LARGEST:.0e} is possible. Leave such rows out of the fit, or use other units."
        )


def require_finite(header: Any, name: str = "") -> None:
    """Raise where a number of a page is not finite, except for missing measurements and bounds that there are none of.

    The last check before a page is made: what users can cause has errors of its own.
    """
    if isinstance(header, dict):
        for key, value in header.items():
            if key not in ("columns", "lower", "upper"):
                require_finite(value, f"{name}.{key}" if name else key)
    elif isinstance(header, (list, tuple)):
        for number, value in enumerate(header):
            require_finite(value, f"{name}[{number}]")
    elif isinstance(header, (float, np.floating, np.ndarray)) and not np.all(np.isfinite(header)):
        raise ValueError(
            f"explore cannot make a page of this model: {name} would not be finite. Kernel values or inputs are "
            "beyond the range of numbers; scale the inputs, or choose another width."
        )


def in_single(values: np.ndarray, unit: Any) -> np.ndarray:
    """The array in single precision if errors are invisible in these units, else as it is; NaN stay NaN."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single = values.astype(np.float32)
        error = np.abs(single.astype(np.float64) - values)
        known = ~np.isnan(values)
        fits = np.all((error <= INVISIBLE * unit)[known]) and np.all(np.isfinite(single[known]))
    return single if fits else values


def packable(values: np.ndarray, unit: Any) -> np.ndarray:
    """Numbers that are drawn and not computed with, in single precision with the mantissa cut to `COORDINATE_BITS`."""
    single = in_single(values, unit)
    if single.dtype != np.float32:
        return single
    dropped = 24 - COORDINATE_BITS
    bits = single.view(np.uint32).astype(np.uint64) + (1 << (dropped - 1))
    cut = (bits & np.uint64(2**32 - 2**dropped)).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(cut), cut, single)


def deviations(values: np.ndarray) -> np.ndarray:
    """How much columns vary: their standard deviation, or their size where they are constant; NaN are left out."""
    with np.errstate(all="ignore"):
        size = np.nan_to_num(np.max(np.abs(np.where(np.isnan(values), 0.0, values)), axis=0))
        scaled = values / np.where(size > 0, size, 1.0)
        known = np.sum(~np.isnan(scaled), axis=0)
        mean = np.nansum(scaled, axis=0) / np.maximum(known, 1)
        spread = np.sqrt(np.nansum((scaled - mean) ** 2, axis=0) / np.maximum(known, 1))
    # Differences of this order are rounding errors of the values themselves.
    return np.where(spread > 1e-14, spread, 1.0) * size
