"""Numbers and names as a page has them: in single precision where rounding does not show, and short."""

from typing import Any

import numpy as np

# Rounding errors that nobody sees, relative to how much numbers of their kind vary: a hundredth of a pixel on a screen.
# Times in seconds since 1970 are one of the kinds of numbers that single precision would make all alike.
INVISIBLE = 1e-5
# Fractions of their standard deviation to which coordinates of drawn rows are rounded, and points of compressed models,
# whose coefficients are fitted afterwards. A map of a thousand pixels shows a hundredth of a deviation. Zeros at the
# end of their mantissas pack well: a page of USPS with 32 components has 1.9 MB instead of 2.2.
COORDINATE_STEP, POINT_STEP = 2.0**-10, 2.0**-9
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


def in_steps(values: np.ndarray, steps: Any) -> np.ndarray:
    """Values rounded to multiples of powers of two near `steps`, per column, which leaves zeros at their ends."""
    steps = np.asarray(steps, dtype=np.float64)
    with np.errstate(all="ignore"):
        powers = np.exp2(np.floor(np.log2(np.where(steps > 0, steps, 1.0))))
        rounded = np.rint(values / powers) * powers
    return np.where((steps > 0) & np.isfinite(rounded), rounded, values)


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


# Characters of a name on a page: longer ones fit no legend, menu or axis.
LONGEST_NAME = 200


def shown(text: Any) -> str:
    """A name as a page shows it: at most `LONGEST_NAME` characters, whole numbers without a decimal point."""
    if isinstance(text, (float, np.floating)) and float(text).is_integer():
        text = int(text)
    # Half of a pair of surrogates has no bytes in a file; a question mark takes its place.
    data = text if isinstance(text, bytes) else str(text).encode("utf-8", "replace")
    text = data.decode("utf-8", "replace")
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def counted(number: int | str, thing: str) -> str:
    """A number of things, such as "1 row" or "7,291 rows"; also of a text such as "3 to 5"."""
    text = number if isinstance(number, str) else f"{number:,}"
    return f"{text} {thing}{'' if text == '1' else 's'}"


def percent(fraction: float) -> str:
    """A fraction as text, such as "0.03 %" or "less than 0.01 %"."""
    value = 100 * fraction
    return "less than 0.01 %" if value < 0.01 else f"{value:.2g} %"
