"""Derivatives of kernels on the diagonal: exact where the kernel is known, by differences elsewhere."""

from functools import singledispatch
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np

from preimage._engine.arrays import epsilon, to_numpy
from preimage.exceptions import UnsupportedKernelError
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


# Central differences with errors of fourth order: offsets in steps, and weights of the first and second derivative.
OFFSETS = np.array([-2.0, -1.0, 1.0, 2.0])
FIRST = np.array([1.0, -8.0, 8.0, -1.0]) / 12
SECOND = np.array([-1.0, 16.0, 16.0, -1.0]) / 12
SECOND_AT_CENTER = -30 / 12
# Step of the differences that find the length scale of a kernel, relative to it: errors are its square, 1e-8, and the
# scale is needed to a factor of two only.
SCALE_STEP = 1e-4
# A derivative changes when its step is halved by less than this fraction, plus this fraction of the largest one for
# derivatives that are nearly zero. Differences across an edge change by half or more.
SAME_DERIVATIVE, NEARLY_ZERO = 0.1, 1e-6

# A linear functional of functions of y: weights of their values, by offset from x in units of the steps.
Functional: TypeAlias = dict[tuple[float, ...], float]


def difference_jet(kernel: Kernel, X: np.ndarray, degrees: Degrees) -> Jet:
    """The jet of a kernel with a gradient, by differences of fourth order.

    One derivative in x is exact; the others, one for the metric, two for the connection, three for the curvature, are
    differences with steps of ε^(1/5), ε^(1/6), ε^(1/7) of the length over which φ changes. Relative errors of smooth
    kernels are about 1e-12, 1e-9 and 1e-8.
    """
    kernel.require_gradient("The geometry of feature space")
    points = [_jet_at(kernel, x, degrees) for x in X]
    return Jet({degree: np.stack([point[degree] for point in points]) for degree in degrees}, degrees)


def _jet_at(kernel: Kernel, x: np.ndarray, degrees: Degrees) -> dict[tuple[int, int], np.ndarray]:
    """All derivatives of k(x, y) at y = x up to the last of `degrees`.

    With functionals D₀ (the value at y = x), D₁ … D_d (first derivatives in y) and D_ce (second derivatives in y), one
    contracted gradient gives G[z, D, a] = D ∂ₐk(z, ·) for all of them, at z = x and, where second derivatives in x are
    wanted, at points around x. Derivatives that commute are averaged, which halves rounding errors.
    """
    d, (in_x, in_y) = len(x), degrees[-1]
    # One of the derivatives is exact, m = in_x + in_y − 1 are differences. Their rounding errors ε/h^m and the errors
    # h⁴ of the formula balance at h = ε^(1/(m + 4)).
    steps = epsilon(np.float64) ** (1 / (3 + in_x + in_y)) * _length_scale(kernel, x)
    Y, functionals = _functionals(x, steps, in_y)
    around = x + (OFFSETS[:, None, None] * np.diag(steps)).reshape(-1, d)  # (offsets · d, d)
    Z = np.vstack([x[None], around]) if in_x == 2 else x[None]
    weights = np.tile(functionals, (len(Z), 1))
    G = kernel.gradient(np.repeat(Z, len(functionals), axis=0), Y, weights).reshape(len(Z), len(functionals), d)
    metric = G[0, 1 : d + 1].T
    parts = {(0, 0): kernel.diagonal(x[None])[0], (1, 0): G[0, 0], (1, 1): (metric + metric.T) / 2}
    if in_x == 2:
        # Differences in x of all functionals: second[D, a, b] = D ∂ₐ∂_b k.
        offsets = G[1:].reshape(len(OFFSETS), d, len(functionals), d)
        second = np.einsum("o,obfa->fab", FIRST, offsets) / steps
        second = (second + second.transpose(0, 2, 1)) / 2
        parts[2, 0] = second[0]
        parts[2, 1] = second[1 : d + 1].transpose(1, 2, 0)
        if in_y == 2:
            parts[2, 2] = _symmetric_fourth(second[d + 1 :], d)
    return parts


def _symmetric_fourth(second: np.ndarray, d: int) -> np.ndarray:
    """∂ₐ∂_b∂_c∂_e k with both pairs symmetric and exchangeable, from D_ce ∂ₐ∂_b k for c ≤ e."""
    fourth = np.empty((d, d, d, d))
    for (c, e), derivatives in zip(combinations_with_replacement(range(d), 2), second, strict=True):
        fourth[:, :, c, e] = fourth[:, :, e, c] = derivatives
    return (fourth + fourth.transpose(2, 3, 0, 1)) / 2


def _functionals(x: np.ndarray, steps: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Points around x, and weights on them: the value, all first and, for order 2, all second derivatives.

    Returns the points, shape (p, d), and one row of weights per functional, shape (functionals, p).
    """
    d = len(x)
    center = (0.0,) * d
    functionals: list[Functional] = [{center: 1.0}]
    for c in range(d):
        functionals.append({tuple(o * np.eye(d)[c]): w / steps[c] for o, w in zip(OFFSETS, FIRST, strict=True)})
    for c, e in combinations_with_replacement(range(d), 2) if order == 2 else ():
        functionals.append(_second_derivative(c, e, d, steps))
    # Functionals share points: each distinct offset is evaluated once and has one column of weights.
    numbers = {center: 0}
    for functional in functionals:
        for offset in functional:
            numbers.setdefault(offset, len(numbers))
    weights = np.zeros((len(functionals), len(numbers)))
    for row, functional in zip(weights, functionals, strict=True):
        for offset, weight in functional.items():
            row[numbers[offset]] = weight
    return x + np.array(list(numbers)) * steps, weights


def _second_derivative(c: int, e: int, d: int, steps: np.ndarray) -> Functional:
    axes = np.eye(d)
    if c == e:
        around = {tuple(o * axes[c]): w / steps[c] ** 2 for o, w in zip(OFFSETS, SECOND, strict=True)}
        return around | {(0.0,) * d: SECOND_AT_CENTER / steps[c] ** 2}
    return {
        # A mixed derivative is the product of two first differences.
        tuple(o * axes[c] + p * axes[e]): w * v / (steps[c] * steps[e])
        for o, w in zip(OFFSETS, FIRST, strict=True)
        for p, v in zip(OFFSETS, FIRST, strict=True)
    }


def _length_scale(kernel: Kernel, x: np.ndarray) -> np.ndarray:
    """For each input, the distance over which φ(x) changes by as much as it is long: √(k(x, x)/g_aa).

    In two rounds: the first, with steps relative to the size of x, may be far off; the second starts from its result.
    """
    value = abs(float(kernel.diagonal(x[None])[0]))
    scale = np.full(len(x), 1 + np.abs(x).max())
    for _ in range(2):
        diagonal = np.abs(_metric_diagonal(kernel, x, SCALE_STEP * scale))
        known = (diagonal > 0) & (value > 0)
        scale = np.where(known, np.sqrt(value / np.where(known, diagonal, 1.0)), scale)
    _require_smooth(kernel, x, scale)
    return scale


def _require_smooth(kernel: Kernel, x: np.ndarray, scale: np.ndarray) -> None:
    """Refuse kernels with an edge on the diagonal, whose differences grow as steps shrink."""
    steps = SCALE_STEP * scale
    wide, narrow = (np.abs(_metric_diagonal(kernel, x, step)) for step in (steps, steps / 2))
    if (np.abs(wide - narrow) > SAME_DERIVATIVE * np.maximum(wide, narrow) + NEARLY_ZERO * narrow.max()).any():
        raise UnsupportedKernelError(
            "The geometry of feature space needs a kernel that is differentiable on the diagonal; differences of the "
            f"gradient of {kernel!r} at {x} depend on the step. Gaussian, or Matern(nu=1.5), and what is made of them, "
            "are smooth enough."
        )


def _metric_diagonal(kernel: Kernel, x: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """g_aa by central differences of the gradient."""
    Y = np.vstack([x + np.diag(steps), x - np.diag(steps)])
    weights = np.hstack([np.diag(0.5 / steps), np.diag(-0.5 / steps)])
    return np.diagonal(kernel.gradient(np.tile(x, (len(x), 1)), Y, weights))
