"""Kernel values on given rows: whether squares of them are numbers, and how large their rounding errors are."""

import numpy as np
from scipy.spatial.distance import cdist

from preimage._engine.arrays import (
    as_points,
    epsilon,
    in_double,
    is_lazy,
    is_objects,
    is_sparse,
    itemsize,
    squared_row_norms,
    take_rows,
    to_numpy,
)
from preimage._engine.finite import are_moderate_values, largest_entry, training_inputs
from preimage._engine.linalg import rank_tolerance
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import unwarned
from preimage.kernels._kernel import Kernel
from preimage.kernels._pairwise import distance_errors

# Rows whose kernel values are looked at for their size, next to the longest and the shortest. What a few larger values
# make of sums overflows, and is noticed.
SAMPLE = 64
# Pairs of points on which errors are estimated: those of some rows with so many others that nearest neighbours, of
# which narrow kernels have the only values that are not zero, are among them. Ten times as many take milliseconds.
ROWS, OTHERS = 64, 512
# Units of rounding of k(x, x) below which errors are those of any formula, and nobody looks closer.
FEW_UNITS = 8
# Rounding errors of kernel values, in units of the floating type. Measured against 60 digits they are below one unit
# for all rules and widths tried; ten times more would stop selections a decade early, a tenth would let rounding pass.
KERNEL_ROUNDING = 4
# Rows on which rounding is measured, and how much larger it may be on others: of 64 draws of a quantity with a normal
# distribution the largest is within a factor of two of that of millions.
MEASURED, MEASURED_MARGIN = 64, 4


def moderate_inputs(who: str, kernel: Kernel, X: Rows, *, are_checked: bool = False) -> Rows:
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
    are_checked : bool, default=False
        Whether squares of the entries are known to be numbers.
    """
    if kernel.points_are_row_numbers or 0 in X.shape:
        return X
    if is_objects(X):
        _refuse_large_values(who, kernel, X)
        return X
    X = X if are_checked or is_lazy(X) else training_inputs(who, X)
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


def _refuse_large_values(who: str, kernel: Kernel, X: Array) -> None:
    """Refuse a kernel on objects of which squares are no numbers; what is not finite is refused where it is used."""
    with unwarned():
        largest = largest_entry(kernel.diagonal(take_rows(X, np.arange(0, X.shape[0], max(1, X.shape[0] // SAMPLE)))))
    if largest < np.inf and not are_moderate_values(largest, np.float64):
        raise ValueError(
            f"{who} squares kernel values, and k(x, x) of {kernel!r} is up to {largest:.3g} on these objects: such "
            "squares leave the range of numbers. Divide the kernel by a number, or use Normalized(kernel)."
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


@unwarned()
def value_errors(kernel: Kernel, X: Array, known: np.ndarray | None = None) -> tuple[float, float] | None:
    r"""Rounding errors of values of a radial kernel among the rows of X, typical and largest; None for other kernels.

    The typical one is the largest root mean square of the errors of a point's values: with √n, the norm of a matrix.
    `known` are the rounding errors of the squared norms of the rows, where a matrix of values was computed from them.

    Squared distances are :math:`\|x\|^2 - 2 x \cdot y + \|y\|^2` about a common origin, with errors of
    :math:`\varepsilon (\|x\|^2 + \|y\|^2)`, and values f(s) have errors :math:`|f'(s)|` times as large. These are many
    digits where points are far from each other and the kernel is narrow. Where errors of distances are larger than the
    width of the kernel, its derivative tells nothing, and the change of f over them is what they do.
    """
    if not kernel.is_radial or not kernel.has_gradient or not X.shape[0]:
        return None
    n = X.shape[0]
    some_rows = None if n <= OTHERS else np.linspace(0, n - 1, OTHERS).astype(int)
    others = X if some_rows is None else take_rows(X, some_rows)
    if known is not None:
        errors = known if some_rows is None else known[some_rows]
    else:
        errors = distance_errors(others)  # of ‖x‖², for each point
    # What the farthest points, whose errors are largest, would make of the shortest distances: see `_changes`.
    farthest = 2 * float(errors.max())
    values, slopes = map(to_numpy, kernel.profile_with_derivative(np.array([0.0, farthest, 2 * farthest])))
    change = max(abs(float(slopes[1])) * farthest, abs(float(values[0] - values[2])) / 2)
    if change <= FEW_UNITS * epsilon(kernel.value_type(X)) * float(values[0]):
        return 0.0, 0.0
    points = np.asarray((others.toarray() if is_sparse(others) else to_numpy(others)), dtype=np.float64)
    some = slice(None, None, max(1, points.shape[0] // ROWS))
    squared, rounding = cdist(points[some], points, "sqeuclidean"), errors[some, None] + errors
    found = np.where(squared > 0, _changes(kernel, np.maximum(squared, rounding), rounding), 0.0)
    found = np.nan_to_num(found, nan=0.0, posinf=np.finfo(float).max ** 0.25)
    return float(np.sqrt(np.mean(found**2, axis=1).max())), float(found.max())


def _changes(kernel: Kernel, squared: Array, rounding: Array) -> Array:
    """How far values change when squared distances, which are at least as large, do by their rounding errors."""
    profile = lambda s: to_numpy(kernel.profile(s))
    derivatives = np.abs(to_numpy(kernel.profile_derivative(squared)))
    return np.maximum(derivatives * rounding, np.abs(profile(squared - rounding) - profile(squared + rounding)) / 2)


def value_rounding(kernel: Kernel, rows: Array, *, on_average: bool = False) -> float:
    """Rounding errors of kernel values on rows in their precision, relative to k(x, x); the largest, or on average.

    `KERNEL_ROUNDING` units, or more where distances are differences of large squared lengths and narrow kernels
    multiply their errors (`value_errors`). Of other kernels errors are measured on some of the rows: k(x, x) against
    the kernel of x and a copy, as any pair is computed, and values in single precision against those in double.
    """
    dtype = kernel.value_type(rows)
    units = rank_tolerance(KERNEL_ROUNDING, dtype)
    if kernel.points_are_row_numbers or not rows.shape[0]:
        return units  # values that are given are not computed
    if (found := value_errors(kernel, rows)) is not None:
        largest = float(to_numpy(kernel.diagonal(rows[:1, :]))[0])
        size = found[0] if on_average else found[1]
        return max(units, size / largest) if largest > 0 else units
    some = take_rows(rows, np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], MEASURED)).astype(int))
    values, diagonal = to_numpy(kernel(some, some)), to_numpy(kernel.diagonal(some))
    if itemsize(dtype) == 4:
        errors = values - to_numpy(kernel(in_double(some), in_double(some)))
        # Twice the root of the mean square: errors of many values are summed, and those of a few pairs are far larger.
        typical = 2 * np.sqrt(np.mean(errors**2))
        return max(units, float(typical / max(np.max(diagonal), np.finfo(values.dtype).tiny)))
    errors = np.abs(np.diagonal(values) - diagonal) / np.where(diagonal > 0, diagonal, np.inf)
    return max(units, MEASURED_MARGIN * float(np.max(errors)))
