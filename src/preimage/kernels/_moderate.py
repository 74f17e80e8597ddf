"""Inputs on which squares of kernel values are numbers."""

import numpy as np

from preimage._engine.arrays import as_points, in_double, is_lazy, itemsize, squared_row_norms, take_rows, to_numpy
from preimage._engine.scale import are_moderate_values, largest_entry, training_inputs
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import unwarned
from preimage.kernels._kernel import Kernel

# Rows whose kernel values are looked at for their size, next to the longest and the shortest. What a few larger values
# make of sums overflows, and is noticed.
SAMPLE = 64


def moderate_inputs(who: str, kernel: Kernel, X: Rows) -> Rows:
    """Rows to fit, in a precision in which squares of them and of their kernel values are numbers, or refused.

    Single precision becomes double where inputs, values or parameters of the kernel leave its range; rows on disk or in
    chunks, which stay as they are, are refused then. Of matrices of kernel values the entries are the inputs.

    Parameters
    ----------
    who : str
        Who squares them, for messages.
    kernel : Kernel
        With all parameters resolved.
    X : array of shape (n, d), possibly lazy; or the row numbers of a precomputed kernel
    """
    if kernel.points_are_row_numbers or 0 in X.shape:
        return X
    X = X if is_lazy(X) else training_inputs(who, X)
    rows = _sample(kernel, X)
    is_single = itemsize(rows.dtype) == 4
    with unwarned():
        largest = largest_entry(kernel.diagonal(in_double(rows)))
    if are_moderate_values(largest, rows.dtype) and not (is_single and kernel.has_extreme_parameters):
        return X
    if is_single and not is_lazy(X):
        return moderate_inputs(who, kernel, in_double(X))
    if not is_single and not largest < np.inf:  # refused where they are used, with more to say
        return X
    precision, instead = ("single", ", or pass float64 data") if is_single else ("double", "")
    why = f"{who} squares kernel values, and k(x, x) of {kernel!r} is up to {largest:.3g} on these rows: such squares"
    if are_moderate_values(largest, rows.dtype):
        why = f"{who} has the kernel {kernel!r}: products of its parameters with squares of inputs"
    raise ValueError(
        f"{why} leave the range of numbers of {precision} precision. Scale the data, for instance with StandardScaler, "
        f"or choose another kernel, degree or gamma{instead}."
    )


def _sample(kernel: Kernel, X: Rows) -> Array:
    """Some rows, the longest and the shortest among them, on which k(x, x) is looked at.

    That of radial kernels is the same everywhere, and chunks are not read for it.
    """
    if kernel.is_radial:
        return as_points(np.zeros((1, X.shape[1]), dtype=X.dtype)) if is_lazy(X) else X[:1, :]
    numbers = np.arange(0, X.shape[0], max(1, X.shape[0] // SAMPLE))
    if not is_lazy(X):
        lengths = to_numpy(squared_row_norms(X))
        numbers = np.append(numbers, [lengths.argmax(), lengths.argmin()])
    return as_points(take_rows(X, numbers))
