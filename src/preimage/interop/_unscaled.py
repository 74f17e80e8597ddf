"""Scalers before a kernel machine as part of its kernel."""

import numpy as np

from preimage._arrays import is_sparse, to_dense, to_numpy
from preimage.feature_space import Expansion
from preimage.interop._affine import affine_map_of
from preimage.kernels import ProfileKernel, ScaledInputs, ShiftedInputs
from preimage.machines._machine import KernelMachine


def on_unscaled_inputs(machine, scaler):
    """The machine that takes what the scaler before it takes; None if the step is no scaler.

    A scaler x ↦ (x − c)s makes k(x, y) the kernel k((x − c)s, (y − c)s), and z the point z/s + c. Distances do not
    notice the shift. One machine in place of two steps can be saved and exported; `compress` itself leaves scalers
    alone, whose parameters mean something.
    """
    affine, expansion = affine_map_of(scaler), machine.expansion
    scale = None if affine is None else _positive_diagonal(affine.matrix)
    if scale is None or expansion.kernel.points_are_row_numbers:
        return None
    center = -affine.shift / scale
    kernel = ScaledInputs(expansion.kernel, scale**2)
    if np.any(center) and not (isinstance(expansion.kernel, ProfileKernel) and expansion.kernel.is_radial):
        kernel = ShiftedInputs(kernel, center)
    points = expansion.points
    if is_sparse(points) and not np.any(center):
        points = points.multiply(1 / scale).tocsr()
    else:
        points = to_numpy(to_dense(points)) / scale + center
    return KernelMachine(
        Expansion(kernel, points, expansion.coefficients),
        machine.intercept,
        machine.output,
        scale.size,
        getattr(scaler, "feature_names_in_", None),
        machine.weights,
    )


def _positive_diagonal(matrix):
    """The diagonal of a map that only scales; None for any other."""
    is_square = is_sparse(matrix) and matrix.shape[0] == matrix.shape[1]
    diagonal = matrix.diagonal() if is_square else np.zeros(1)
    return diagonal if np.all(diagonal > 0) and matrix.nnz == diagonal.size else None
