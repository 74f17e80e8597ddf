"""Compressed machines in the precision that they keep."""

from dataclasses import replace

import numpy as np

from preimage._engine.arrays import in_precision, itemsize, take_rows, to_numpy
from preimage._engine.finite import largest_entry, largest_query, refuse_far_queries
from preimage._engine.typing import Array, Rows
from preimage._models.machines import KernelMachine
from preimage.feature_space import Expansion
from preimage.kernels import Precomputed

# How far a machine in single precision may be from the same in double, as a fraction of what its functions vary by.
# Rounding takes a thousandth where coefficients are large; a tenth would change decisions that users count on.
MOST_LOSS = 0.01
# Variation, relative to the size of a function, that is rounding of sums of many terms in double precision.
OF_CONSTANTS = 1e-12
# Rows on which the two are compared: precision that is lost is lost on most of them.
N_ROWS = 256


def in_final_precision(machine: KernelMachine, dtype: str | None, rows: Rows | None) -> KernelMachine:
    """The machine in its final precision, without what only the reduction needed.

    Parameters
    ----------
    machine : KernelMachine
    dtype : {"float32", "float64"} or None
        None keeps the one it has.
    rows : array of shape (n, d) or None
        Inputs of the kind that it will get, to see whether single precision has the digits for them.

    Raises
    ------
    ValueError
        If single precision has not.
    """
    expansion, points = machine.expansion, None
    if expansion.kernel.points_are_row_numbers:
        points = expansion.points
        expansion = Expansion(Precomputed(), points, expansion.coefficients)
    change = lambda array: _final(array, dtype)
    with np.errstate(all="ignore"):  # numbers that single precision does not have are found below
        small = replace(machine, expansion=expansion.converted(change, points), intercept=change(machine.intercept))
    if dtype == "float32" and itemsize(machine.expansion.coefficients.dtype) == 8:
        # Kernels that saturate have finite values at points without squares.
        loss = np.full(1, np.nan if _overflows(small) else 0.0)
        if rows is not None and np.all(np.isfinite(loss)):
            loss = _loss(machine, small, take_rows(rows, np.arange(min(N_ROWS, rows.shape[0]))))
        _refuse_loss(loss)
    return small


def _overflows(machine: KernelMachine) -> bool:
    parts = (machine.expansion.coefficients, machine.intercept)
    points = machine.expansion.points
    has_squares = largest_entry(points) <= (np.inf if points.ndim == 1 else largest_query(points.shape[1], np.float32))
    return not has_squares or not all(np.all(np.isfinite(to_numpy(part))) for part in parts)


def _loss(double: KernelMachine, single: KernelMachine, rows: Array) -> np.ndarray:
    """How far each function is off at some row, as a fraction of what it varies by; NaN beyond the range of numbers."""
    with np.errstate(all="ignore"):
        narrow = in_precision(rows, np.dtype(np.float32))
        try:
            refuse_far_queries("", rows, np.float32)  # as predictions will
            expected = to_numpy(double(in_precision(rows, np.dtype(np.float64))))
            found = to_numpy(single(narrow)).astype(np.float64)
        except ValueError:  # of numbers beyond the range
            expected = found = np.full((1, 1), np.nan)
        loss, varies, size = (
            np.max(np.abs(found - expected), axis=0),
            np.ptp(expected, axis=0),
            np.abs(expected).max(axis=0),
        )
        # A constant, or a single row, varies by rounding errors only: its size counts. Nothing is lost of zero.
        unit = np.where(varies > OF_CONSTANTS * size, varies, size)
        return loss / np.where(unit == 0, 1.0, unit)


def _refuse_loss(loss: np.ndarray) -> None:
    if np.all(loss <= MOST_LOSS):
        return
    what = (
        f"its functions change by {100 * np.max(loss):.2g} % of what they vary by"
        if np.all(np.isfinite(loss))
        else "its numbers, or squares of them, are beyond 3.4e38, where single precision ends, or below 1e-38"
    )
    raise ValueError(
        f"This machine cannot be compressed to dtype='float32': {what}. Leave dtype out for double precision, or fit "
        "the original on inputs and targets of the size of one: StandardScaler and TransformedTargetRegressor scale "
        "them."
    )


def _final(array: Array, dtype: str | None) -> Array:
    array = array if dtype is None else in_precision(array, np.dtype(dtype))
    # Row-major where it can be: the order of additions, and so the last digits, depend on the layout.
    return np.ascontiguousarray(array) if isinstance(array, np.ndarray) else array
