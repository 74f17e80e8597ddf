"""Derivatives of kernels on the diagonal, as numbers that add and multiply."""

from functools import singledispatch
from itertools import product
from math import factorial
from typing import TypeAlias

import numpy as np

from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
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

# Numbers of derivatives in x and in y, one pair per part of a jet.
Degrees: TypeAlias = tuple[tuple[int, int], ...]
Parts: TypeAlias = dict[tuple[int, int], np.ndarray]

#: Which derivatives (number in x, number in y) the metric, the connection and the curvature are made of.
METRIC: Degrees = ((0, 0), (1, 0), (1, 1))
CONNECTION: Degrees = (*METRIC, (2, 0), (2, 1))
CURVATURE: Degrees = (*CONNECTION, (2, 2))


class Jet:
    r"""The derivatives :math:`\partial_x^i \partial_y^j k(x, y)|_{y=x}` of a symmetric function at n points.

    A polynomial in displacements u of x and v of y, truncated beyond second degree in either. Truncation is compatible
    with sums and products, so that jets of sums, products and functions of kernels follow exactly from jets of the
    parts; only derivatives of one-dimensional profiles enter. As k is symmetric, derivatives with i ≥ j are enough.

    Parameters
    ----------
    parts : dict of (int, int) to array of shape (n, d, …, d)
        Derivatives with i indices of x followed by j of y; those left out are zero. (0, 0), of shape (n,), is needed.
    degrees : tuple of (int, int)
        `METRIC`, `CONNECTION` or `CURVATURE`: what is kept.
    """

    def __init__(self, parts: Parts, degrees: Degrees) -> None:
        self.parts = {degree: part for degree, part in parts.items() if degree in degrees}
        self.degrees = degrees

    def part(self, in_x: int, in_y: int) -> np.ndarray | None:
        """The derivatives of this degree, or None where all are zero."""
        if in_x >= in_y:
            return self.parts.get((in_x, in_y))
        mirrored = self.parts.get((in_y, in_x))
        if mirrored is None:
            return None
        x_slots, y_slots = range(1, in_y + 1), range(in_y + 1, in_x + in_y + 1)
        return mirrored.transpose(0, *y_slots, *x_slots)

    def dense(self, in_x: int, in_y: int, dimension: int) -> np.ndarray:
        """The derivatives of this degree, zeros written out."""
        part = self.part(in_x, in_y)
        shape = (len(self.parts[0, 0]),) + (in_x + in_y) * (dimension,)
        return np.zeros(shape) if part is None else part

    def __add__(self, other: "Jet") -> "Jet":
        sums = {degree: _plus(self.parts.get(degree), part) for degree, part in other.parts.items()}
        return Jet(self.parts | sums, self.degrees)

    def __mul__(self, other: "Jet | float") -> "Jet":
        if not isinstance(other, Jet):
            return Jet({degree: other * part for degree, part in self.parts.items()}, self.degrees)
        return Jet(
            {d: part for d in self.degrees if (part := _leibniz(self, other, *d)) is not None},
            self.degrees,
        )

    def compose(self, derivatives: list[np.ndarray]) -> "Jet":
        """The jet of f(s) from that of s and the list f(s), f′(s), … at the values of s."""
        displacement = Jet({degree: part for degree, part in self.parts.items() if degree != (0, 0)}, self.degrees)
        coefficients = [value / factorial(m) for m, value in enumerate(derivatives)]
        result = Jet({(0, 0): coefficients[-1]}, self.degrees)
        for coefficient in coefficients[-2::-1]:
            result = result * displacement + Jet({(0, 0): coefficient}, self.degrees)
        return result

    def pull_back(self, matrix: np.ndarray) -> "Jet":
        """The jet of k(Ax, Ay) from that of k at Ax, for A of shape (l, d)."""
        return Jet({degree: _along(part, matrix) for degree, part in self.parts.items()}, self.degrees)


def one_sided(values: list[np.ndarray], degrees: Degrees) -> Jet:
    """The jet of q(x)q(y) from the derivatives [q, ∂q, ∂∂q] of a function of one point."""
    parts = {}
    for in_x, in_y in degrees:
        x_slots, y_slots = "ab"[:in_x], "cd"[:in_y]
        parts[in_x, in_y] = np.einsum(f"n{x_slots},n{y_slots}->n{x_slots}{y_slots}", values[in_x], values[in_y])
    return Jet(parts, degrees)


def _leibniz(left: Jet, right: Jet, in_x: int, in_y: int) -> np.ndarray | None:
    """A derivative of a product: each index falls on one of the factors."""
    total: np.ndarray | None = None
    for of_left in product((True, False), repeat=in_x + in_y):
        slots = list(zip("abcd", of_left, strict=False))
        first, second = left.part(*_count(slots[:in_x], slots[in_x:], True)), None
        if first is not None:
            second = right.part(*_count(slots[:in_x], slots[in_x:], False))
        if first is not None and second is not None:
            # Indices of the left factor, then of the right one; einsum puts them back in order.
            own = "".join(name for name, taken in slots if taken)
            rest = "".join(name for name, taken in slots if not taken)
            total = _plus(total, np.einsum(f"n{own},n{rest}->n{'abcd'[: in_x + in_y]}", first, second))
    return total


def _count(x_slots: list[tuple[str, bool]], y_slots: list[tuple[str, bool]], taken: bool) -> tuple[int, int]:
    return sum(mine == taken for _, mine in x_slots), sum(mine == taken for _, mine in y_slots)


def _plus(left: np.ndarray | None, right: np.ndarray) -> np.ndarray:
    return right if left is None else left + right


def _along(part: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    for _ in range(part.ndim - 1):
        # The first index after the points goes, the new one comes last: after all of them the order is as before.
        part = np.tensordot(part, matrix, axes=(1, 0))
    return part


@singledispatch
def diagonal_jet(kernel: Kernel, X: np.ndarray, degrees: Degrees) -> Jet:
    """Derivatives of k(x, y) at y = x for the rows of a NumPy array X in double precision.

    Dispatches on the class of the kernel: a class registers a function that returns a `Jet`.
    """
    raise UnsupportedKernelError(
        "The geometry of feature space follows from derivatives of kernels of dot products and squared distances, and "
        f"of what is made of them; got {kernel!r}, of which they are not known."
    )


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
    derivatives = kernel.profile_derivatives(s, sum(degrees[-1]))
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
    if isinstance(kernel, ScaledInputs):
        matrix = np.diag(np.sqrt(np.asarray(to_numpy(kernel.weights), dtype=float)))
    else:
        matrix = np.asarray(to_numpy(kernel.matrix), dtype=float)
    return diagonal_jet(kernel.kernel, X @ matrix.T, degrees).pull_back(matrix)


@diagonal_jet.register(ShiftedInputs)
def _(kernel: ShiftedInputs, X: np.ndarray, degrees: Degrees) -> Jet:
    return diagonal_jet(kernel.kernel, X - np.asarray(to_numpy(kernel.origin), dtype=float), degrees)
