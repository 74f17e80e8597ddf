"""A kernel machine in the terms of this library: functions of feature space, intercepts, what they say, precision."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from preimage._engine.arrays import in_precision, itemsize, take_rows, to_numpy
from preimage._engine.finite import finite_result, largest_entry, largest_query, refuse_far_queries
from preimage._engine.typing import Array, Rows
from preimage._models.machines._outputs import Output
from preimage.feature_space import Expansion
from preimage.kernels import Precomputed

# How far a machine in single precision may be from the same in double, as a fraction of what its functions vary by.
# Rounding takes a thousandth where coefficients are large; a tenth would change decisions that users count on.
MOST_LOSS = 0.01
# Variation, relative to the size of a function, that is rounding of sums of many terms in double precision.
OF_CONSTANTS = 1e-12
# Rows on which the two are compared: precision that is lost is lost on most of them.
N_ROWS = 256


@dataclass(frozen=True)
class KernelMachine:
    """A fitted model of the form output(Σᵢ αᵢ k(xᵢ, ·) + b).

    Attributes
    ----------
    expansion : Expansion of k vectors
        The functions of the machine, on shared points.
    intercept : array of shape (k,)
    output : Output
        From function values to decisions, predictions and probabilities.
    n_features_in : int
        Columns that the model expects.
    feature_names_in : array of str, or None
    weights : array of shape (k,), or None
        How much an error of each function counts; None is the same for all.
    """

    expansion: Expansion
    intercept: Array
    output: Output
    n_features_in: int
    feature_names_in: Array | None = None
    weights: Array | None = None

    def __call__(self, X: Array) -> Array:
        """Values of all functions at the rows of X, intercepts included; shape (q, k)."""
        # Looked at here, since predictions and probabilities of NaN are wrong but finite.
        return finite_result(self.expansion(X) + self.intercept, X)

    @cached_property
    def multiplications(self) -> int:
        """What a prediction of one row costs.

        A kernel value costs as many multiplications as there are columns, and a function as many as it has
        coefficients; kernel values that several functions share count once.
        """
        expansion = self.expansion.merged()
        n, d = expansion.points.shape
        return n * d + int(np.count_nonzero(to_numpy(expansion.coefficients)[:, : self.output.n_functions]))

    def with_expansion(self, expansion: Expansion) -> "KernelMachine":
        """The same machine made of other vectors."""
        return replace(self, expansion=expansion)

    def with_shift(self, shift: Array, output: Output | None = None) -> "KernelMachine":
        """The machine with constants added to its functions, and the output that goes with them."""
        output = self.output.with_shift(shift) if output is None else output
        return replace(self, intercept=self.intercept + shift, output=output)


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
        _refuse_loss(_loss(machine, small, rows))
    return small


def _loss(double: KernelMachine, single: KernelMachine, rows: Rows | None) -> np.ndarray:
    """How far each function is off at some row, as a fraction of what it varies by; NaN beyond the range of numbers."""
    points, parts = single.expansion.points, (single.expansion.coefficients, single.intercept)
    # Kernels that saturate have finite values at points without squares.
    overflows = points.ndim > 1 and largest_entry(points) > largest_query(points.shape[1], np.float32)
    if overflows or not all(np.all(np.isfinite(to_numpy(part))) for part in parts):
        return np.full(1, np.nan)
    if rows is None:
        return np.zeros(1)
    rows = take_rows(rows, np.arange(min(N_ROWS, rows.shape[0])))
    with np.errstate(all="ignore"):
        try:
            refuse_far_queries("", rows, np.float32)  # as predictions will
            expected = to_numpy(double(in_precision(rows, np.dtype(np.float64))))
            found = to_numpy(single(in_precision(rows, np.dtype(np.float32)))).astype(np.float64)
        except ValueError:  # of numbers beyond the range
            return np.full(1, np.nan)
        varies, size = np.ptp(expected, axis=0), np.abs(expected).max(axis=0)
        # A constant, or a single row, varies by rounding errors only: its size counts. Nothing is lost of zero.
        unit = np.where(varies > OF_CONSTANTS * size, varies, size)
        return np.max(np.abs(found - expected), axis=0) / np.where(unit == 0, 1.0, unit)


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
