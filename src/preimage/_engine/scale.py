"""The sizes of numbers that algorithms are given: settled once, where data come in."""

import math
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, in_double, is_sparse, itemsize, to_numpy
from preimage._engine.typing import Array

# Limits by bytes per number: the largest modulus, of which the reciprocal is the lower limit. Squares of inputs, sums
# of squares, and derivatives of kernels, which have the reciprocal of a square as a factor, must be numbers with room
# for squares of rounding errors. A thousand times more, and descents in single precision lose their way.
INPUTS = {8: 1e110, 4: 1e12}
# Algorithms square kernel values as well, and add up n² squares: with 1e12 and single precision 1e14 of them. Squares
# of rounding errors of values as small as the reciprocal are numbers, too.
VALUES = {8: 1e120, 4: 1e12}
# Queries are compared with inputs once: their squares must be numbers, and may be much larger than those of inputs.
QUERIES = {8: 1e150, 4: 1e18}
# Half of the largest distance of which the square is a number; that of two rows of d entries up to a is 2a√d at most.
FARTHEST = {8: 5e153, 4: 4e18}
# Parameters of kernels in single precision, such as γ, which is multiplied by squares of inputs.
PARAMETERS = 1e30


def is_moderate(X: Array, dtype: Any = None, *, may_be_tiny: bool = False) -> bool:
    """Whether all entries of X are finite, and the largest modulus is within the limits of inputs of a precision.

    On a device the norm is looked at, which is at least the largest modulus and at most that times the root of their
    number; so False may also mean that a closer look is needed. The precision is that of X unless it is given.
    """
    limit, values = INPUTS[itemsize(X.dtype if dtype is None else dtype)], X.data if is_sparse(X) else X
    if isinstance(values, np.ndarray):
        # Not the norm by BLAS, whose threads would go on to wait where ours begin to work.
        norm, size = largest_entry(values), 1
    else:
        size = math.prod(values.shape)
        norm = float(array_namespace(values).linalg.vector_norm(values)) if size else 0.0
    return norm <= limit and (may_be_tiny or size**0.5 / limit <= norm)


def largest_entry(X: Array) -> float:
    """The largest modulus in X, dense or sparse, of any library; NaN where an entry is, zero where there are none."""
    values = X.data if is_sparse(X) else X
    if 0 in values.shape:
        return 0.0
    if isinstance(values, np.ndarray):  # without the detour of `np.min`, which one row would notice
        low, high = float(values.min()), float(values.max())
    else:
        xp = array_namespace(values)
        low, high = float(xp.min(values)), float(xp.max(values))
    return high if high >= -low else -low


def training_inputs(who: str, X: Array) -> Array:
    """Rows to fit, of which entries may be missing: in double precision where single precision has no squares of them.

    Refused where double precision has none either.
    """
    if is_moderate(X):
        return X
    size, largest = itemsize(X.dtype), largest_entry(_filled(X))
    if _is_within(largest, INPUTS[size]):
        return X
    if size == 4:
        return in_double(X)  # in which all numbers of single precision have squares
    raise _out_of_range(who, X, INPUTS[8], "sums of squares, and derivatives, of such numbers leave")


def largest_query(n_columns: int, dtype: Any) -> float:
    """The largest entry of rows of so many columns whose squared distances are numbers in a precision."""
    return min(QUERIES[itemsize(dtype)], FARTHEST[itemsize(dtype)] / max(1, n_columns) ** 0.5)


def refuse_far_queries(who: str, X: Array, dtype: Any, *, is_block: bool = False) -> None:
    """Refuse rows, of which entries may be missing, without squares in the precision `dtype` of a fitted model.

    Where they are a block of more rows, the message does not number them.
    """
    limit, precision = largest_query(X.shape[1], dtype), "single" if itemsize(dtype) == 4 else ""
    if not is_moderate(X, dtype, may_be_tiny=True) and largest_entry(_filled(X)) > limit:
        raise _out_of_range(who, X, limit, "squares of such rows leave", precision, is_block)


def compared_inputs(kernel: Any, X: Array, Y: Array) -> tuple[Array, Array]:
    """Rows that a kernel compares: in double precision where single precision is not enough, or refused."""
    is_single = itemsize(X.dtype) == 4
    are_moderate = is_moderate(X, may_be_tiny=True) and (Y is X or is_moderate(Y, may_be_tiny=True))
    if are_moderate and not (is_single and kernel.has_extreme_parameters):
        return X, Y
    for rows in (X, Y):
        refuse_far_queries(repr(kernel), rows, np.float64)
    if is_single:
        X, Y = in_double(X), in_double(Y) if Y is not X else None
    return X, X if Y is None else Y


def are_moderate_values(largest: float, dtype: Any) -> bool:
    """Whether kernel values up to a largest modulus have squares in a precision, and sums of squares."""
    return _is_within(largest, VALUES[itemsize(dtype)])


def _is_within(largest: float, limit: float) -> bool:
    return largest == 0 or 1 / limit <= largest <= limit


def _filled(X: Array) -> Array:
    """X with zeros for missing entries."""
    if is_sparse(X):
        return X
    xp = array_namespace(X)
    return xp.where(xp.isnan(X), xp.zeros_like(X), X)


def _out_of_range(
    who: str, X: Array, limit: float, why: str, precision: str = "", is_block: bool = False
) -> ValueError:
    entries = X.tocoo() if is_sparse(X) else None
    sizes = np.abs(to_numpy(_filled(X)) if entries is None else entries.data)
    place = int(np.argmax(sizes))
    row, column = np.unravel_index(place, X.shape) if entries is None else (entries.row[place], entries.col[place])
    largest = float(sizes.ravel()[place])
    beyond = f"beyond {limit:.0e}" if largest > limit else f"below {1 / limit:.0e}"
    where = f"in column {column}" if is_block else f"in row {row}, column {column}"
    of_precision = f" of {precision} precision" if precision else ""
    wider = ", or fit in double precision, on float64 data" if precision else ""
    return ValueError(
        f"{who} needs inputs of moderate size, and the largest entry of X, {largest:.3g} {where}, is {beyond}: {why} "
        f"the range of numbers{of_precision}. Scale the data, for instance with StandardScaler{wider}."
    )
