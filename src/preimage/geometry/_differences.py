"""Jets of kernels of which only the gradient is known."""

from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np

from preimage._arrays import epsilon
from preimage.exceptions import UnsupportedKernelError
from preimage.geometry._jet import Degrees, Jet
from preimage.kernels import Kernel

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
