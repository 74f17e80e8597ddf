"""Rounding errors of kernels of the squared distance, which is a difference of squared lengths."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from preimage._engine.arrays import epsilon, is_sparse, take_rows, to_numpy
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage.kernels._kernel import Kernel
from preimage.kernels._pairwise import distance_errors

# Pairs of points on which errors are estimated: those of some rows with so many others that nearest neighbours, of
# which narrow kernels have the only values that are not zero, are among them. Ten times as many take milliseconds.
ROWS, OTHERS = 64, 512
# Units of rounding of k(x, x) below which errors are those of any formula, and nobody looks closer.
FEW_UNITS = 8


@dataclass(frozen=True)
class ValueErrors:
    """Rounding errors of kernel values that come from those of squared distances.

    Attributes
    ----------
    typical : float
        The largest root mean square of the errors of a point's values: with √n, the norm of a matrix of errors.
    largest : float
    """

    typical: float = 0.0
    largest: float = 0.0


@unwarned()
def value_errors(kernel: Kernel, X: Array) -> ValueErrors | None:
    r"""Estimates of rounding errors for the values of a kernel among the rows of X; None for other quantities.

    Squared distances are :math:`\|x\|^2 - 2 x \cdot y + \|y\|^2` about a common origin, with errors of
    :math:`\varepsilon (\|x\|^2 + \|y\|^2)`, and values f(s) have errors :math:`|f'(s)|` times as large. These are many
    digits where points are far from each other and the kernel is narrow. Where errors of distances are larger than the
    width of the kernel, its derivative tells nothing, and the change of f over them is what they do.
    """
    if not kernel.is_radial or not kernel.has_gradient or not X.shape[0]:
        return None
    others = take_rows(X, np.linspace(0, X.shape[0] - 1, min(X.shape[0], OTHERS)).astype(int))
    errors = distance_errors(others)  # of ‖x‖², for each point
    farthest = 2 * np.max(errors, keepdims=True)
    enough = FEW_UNITS * epsilon(kernel.value_type(X)) * float(to_numpy(kernel.profile(np.zeros(1)))[0])
    if float(_changes(kernel, farthest, farthest)[0]) <= enough:
        return ValueErrors()
    points = np.asarray((others.toarray() if is_sparse(others) else to_numpy(others)), dtype=np.float64)
    some = slice(None, None, max(1, points.shape[0] // ROWS))
    squared, rounding = cdist(points[some], points, "sqeuclidean"), errors[some, None] + errors
    found = np.where(squared > 0, _changes(kernel, np.maximum(squared, rounding), rounding), 0.0)
    found = np.nan_to_num(found, nan=0.0, posinf=np.finfo(float).max ** 0.25)
    return ValueErrors(float(np.sqrt(np.mean(found**2, axis=1).max())), float(found.max()))


def _changes(kernel: Kernel, squared: Array, rounding: Array) -> Array:
    """How far values change when squared distances, which are at least as large, do by their rounding errors."""
    profile = lambda s: to_numpy(kernel.profile(s))
    derivatives = np.abs(to_numpy(kernel.profile_derivative(squared)))
    return np.maximum(derivatives * rounding, np.abs(profile(squared - rounding) - profile(squared + rounding)) / 2)
