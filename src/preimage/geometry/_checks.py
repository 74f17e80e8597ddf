"""Checks of the arguments of geometry: a resolved kernel, finite points."""

from collections.abc import Callable

import numpy as np

from preimage._arrays import as_points, from_numpy, is_sparse, to_numpy
from preimage._typing import Array, Rows
from preimage.kernels import Kernel


def check_geometry(who: str, kernel: Kernel, X: Rows) -> tuple[np.ndarray, Callable[[np.ndarray], Array]]:
    """Validate a kernel and rows of inputs for the function named `who`.

    Returns X as a NumPy array in double precision, and a function that converts NumPy results to the array library,
    device and precision of X.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"{who} needs a kernel of preimage.kernels, such as Polynomial(3); got {kernel!r}. A fitted model has its "
            "own as `kernel_`."
        )
    given = as_points(X)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"{who} expects 2D data of shape (n_points, n_inputs), neither zero; got shape {tuple(given.shape)}. "
            "Reshape a single point with `x.reshape(1, -1)`."
        )
    if not kernel.is_resolved:
        raise ValueError(f"{kernel!r} finds gamma from data: call `resolve(X)` first, and use the kernel it returns.")
    points = np.asarray(to_numpy(given), dtype=np.float64)
    if not np.isfinite(points).all():
        i = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise ValueError(f"{who} needs finite points; row {i} of X contains NaN or infinity. Impute or drop it first.")
    with np.errstate(all="ignore"):
        lengths = np.asarray(kernel.diagonal(points))  # also the kernel's own check of the number of inputs
    if not np.isfinite(lengths).all():
        i = int(np.argmin(np.isfinite(lengths)))
        raise ValueError(
            f"{who} needs finite kernel values; k(x, x) is {lengths[i]} at point {i}. Scale the inputs or the kernel."
        )
    like = points.astype(given.dtype) if is_sparse(given) else given
    return points, lambda values: from_numpy(values, like)
