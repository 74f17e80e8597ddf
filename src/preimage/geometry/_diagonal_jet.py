"""The jet on the diagonal of every kernel: exact where its parts are known, else by differences of the gradient."""

from functools import singledispatch

import numpy as np

from preimage._arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.geometry._differences import difference_jet
from preimage.geometry._jet import Degrees, Jet, one_sided
from preimage.kernels import (
    InnerProduct,
    Kernel,
    MappedInputs,
    Normalized,
    Power,
    Product,
    ProfileKernel,
    Scaled,
    ScaledInputs,
    ShiftedInputs,
    SquaredDistance,
    Sum,
)


@singledispatch
def diagonal_jet(kernel: Kernel, X: np.ndarray, degrees: Degrees) -> Jet:
    """Derivatives of k(x, y) at y = x for the rows of a NumPy array X in double precision.

    Dispatches on the class of the kernel. A class registers a function that returns a `Jet`; others, which only have
    a gradient, are differentiated by differences.
    """
    return difference_jet(kernel, X, degrees)


@diagonal_jet.register(ProfileKernel)
def _(kernel: ProfileKernel, X: np.ndarray, degrees: Degrees) -> Jet:
    if kernel.pairwise == SquaredDistance():
        return _radial_jet(kernel, X, degrees)
    if kernel.pairwise == InnerProduct():
        return _dot_product_jet(kernel, X, degrees)
    raise UnsupportedKernelError(
        f"The geometry of feature space needs a kernel that is differentiable on the diagonal; {kernel!r} is a "
        f"function of {type(kernel.pairwise).__name__}, which is not. Gaussian, or Matern(nu=1.5), are."
    )


def _dot_product_jet(kernel: ProfileKernel, X: np.ndarray, degrees: Degrees) -> Jet:
    n, d = X.shape
    s = np.einsum("ij,ij->i", X, X)
    try:
        derivatives = kernel.profile_derivatives(s, sum(degrees[-1]))
    except UnsupportedKernelError:
        return difference_jet(kernel, X, degrees)
    quantity = Jet({(0, 0): s, (1, 0): X, (1, 1): np.broadcast_to(np.eye(d), (n, d, d))}, degrees)
    return quantity.compose(derivatives)


def _radial_jet(kernel: ProfileKernel, X: np.ndarray, degrees: Degrees) -> Jet:
    n, d = X.shape
    s = np.zeros(n)
    try:
        value, first, second = kernel.profile_derivatives(s, 2)
    except UnsupportedKernelError:
        value, first = kernel.profile_derivatives(s, 1)
        second = np.full(n, np.inf)
    if not np.isfinite(first).all():
        raise UnsupportedKernelError(
            "The geometry of feature space needs a kernel that is differentiable on the diagonal; the profile of "
            f"{kernel!r} has an infinite derivative at zero. Gaussian, or Matern(nu=1.5), have a finite one."
        )
    # f″(0) multiplies a totally symmetric tensor, which cancels in the curvature: where it is infinite or unknown,
    # zero in its place leaves every geometric quantity what the metric makes it.
    second = np.where(np.isfinite(second), second, 0.0)
    identity = np.broadcast_to(np.eye(d), (n, d, d))
    quantity = Jet({(0, 0): s, (2, 0): 2 * identity, (1, 1): -2 * identity}, degrees)
    return quantity.compose([value, first, second])


@diagonal_jet.register(Sum)
def _(kernel: Sum, X: np.ndarray, degrees: Degrees) -> Jet:
    return diagonal_jet(kernel.left, X, degrees) + diagonal_jet(kernel.right, X, degrees)


@diagonal_jet.register(Product)
def _(kernel: Product, X: np.ndarray, degrees: Degrees) -> Jet:
    return diagonal_jet(kernel.left, X, degrees) * diagonal_jet(kernel.right, X, degrees)


@diagonal_jet.register(Scaled)
def _(kernel: Scaled, X: np.ndarray, degrees: Degrees) -> Jet:
    return diagonal_jet(kernel.kernel, X, degrees) * float(kernel.factor)


@diagonal_jet.register(Power)
def _(kernel: Power, X: np.ndarray, degrees: Degrees) -> Jet:
    base = diagonal_jet(kernel.kernel, X, degrees)
    result = base
    for _ in range(kernel.exponent - 1):
        result = result * base
    return result


@diagonal_jet.register(Normalized)
def _(kernel: Normalized, X: np.ndarray, degrees: Degrees) -> Jet:
    d = X.shape[1]
    base = diagonal_jet(kernel.kernel, X, degrees)
    squared = base.parts[0, 0]  # κ(x) = k(x, x), whose derivatives are 2∂ₓk and 2(∂ₓ∂ₓk + ∂ₓ∂ᵧk)
    if not (squared > 0).all():
        i = int(np.argmin(squared > 0))
        raise ValueError(
            f"{kernel!r} has no direction, hence no geometry, where k(x, x) = 0: point {i} is {X[i]}. Leave it out."
        )
    first = 2 * base.dense(1, 0, d)
    inverse_length = [squared**-0.5, -0.5 * squared[:, None] ** -1.5 * first]
    if (2, 0) in degrees:
        second = 2 * (base.dense(2, 0, d) + base.dense(1, 1, d))
        squares = first[:, :, None] * first[:, None, :]
        curved = 0.75 * squared[:, None, None] ** -2.5 * squares - 0.5 * squared[:, None, None] ** -1.5 * second
        inverse_length.append(curved)
    return base * one_sided(inverse_length, degrees)


@diagonal_jet.register(ScaledInputs)
@diagonal_jet.register(MappedInputs)
def _(kernel: ScaledInputs | MappedInputs, X: np.ndarray, degrees: Degrees) -> Jet:
    matrix = input_map(kernel)
    return diagonal_jet(kernel.kernel, X @ matrix.T, degrees).pull_back(matrix)


@diagonal_jet.register(ShiftedInputs)
def _(kernel: ShiftedInputs, X: np.ndarray, degrees: Degrees) -> Jet:
    return diagonal_jet(kernel.kernel, X - np.asarray(to_numpy(kernel.origin), dtype=float), degrees)


def input_map(kernel: ScaledInputs | MappedInputs) -> np.ndarray:
    """The matrix A of a kernel k(Ax, Ay)."""
    if isinstance(kernel, ScaledInputs):
        return np.diag(np.sqrt(np.asarray(to_numpy(kernel.weights), dtype=float)))
    return np.asarray(to_numpy(kernel.matrix), dtype=float)
