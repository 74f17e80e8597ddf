"""Jets of kernels of which only the gradient is known."""

from itertools import combinations_with_replacement

import numpy as np

from preimage._arrays import epsilon
from preimage.exceptions import UnsupportedKernelError
from preimage.geometry._jet import Jet

# Central differences with errors of fourth order: offsets in steps, and weights of the first and second derivative.
OFFSETS = np.array([-2.0, -1.0, 1.0, 2.0])
SLOPE = np.array([1.0, -8.0, 8.0, -1.0]) / 12
BEND = np.array([-1.0, 16.0, 16.0, -1.0]) / 12
BEND_AT_CENTER = -30 / 12


def difference_jet(kernel, X, degrees):
    """The jet of a kernel with a gradient, by differences of fourth order.

    One derivative in x is exact; the others, one for the metric, two for the connection, three for the curvature, are
    differences with steps of ε^(1/5), ε^(1/6), ε^(1/7) of the length over which φ changes. Relative errors of smooth
    kernels are about 1e-12, 1e-9 and 1e-8.
    """
    kernel.require_gradient("The geometry of feature space")
    points = [_jet_at(kernel, x, degrees) for x in X]
    parts = {degree: np.stack([point[degree] for point in points]) for degree in degrees}
    return Jet(parts, degrees)


def _jet_at(kernel, x, degrees):
    d = len(x)
    wanted = degrees[-1]
    steps = epsilon(np.float64) ** (1 / (3 + sum(wanted))) * _length_scale(kernel, x)
    Y, functionals = _functionals(x, steps, wanted[1])
    moves = (OFFSETS[:, None, None] * np.diag(steps)).reshape(-1, d)
    Z = np.vstack([x[None], x + moves]) if wanted[0] == 2 else x[None]
    rows = np.repeat(Z, len(functionals), axis=0)
    weights = np.tile(functionals, (len(Z), 1))
    # G[z, functional, a] = the functional of y applied to ∂_a k(z, y): one contracted gradient gives all.
    G = kernel.gradient(rows, Y, weights).reshape(len(Z), len(functionals), d)
    parts = {(0, 0): kernel.diagonal(x[None])[0], (1, 0): G[0, 0], (1, 1): G[0, 1 : d + 1].T}
    parts[1, 1] = (parts[1, 1] + parts[1, 1].T) / 2
    if wanted[0] == 2:
        # Differences in x of all functionals: shape (functional, a, b).
        moved = np.einsum("o,obfa->fab", SLOPE, G[1:].reshape(len(OFFSETS), d, len(functionals), d)) / steps
        moved = (moved + moved.transpose(0, 2, 1)) / 2
        parts[2, 0] = moved[0]
        parts[2, 1] = moved[1 : d + 1].transpose(1, 2, 0)
    if wanted[1] == 2:
        bent = np.empty((d, d, d, d))
        for (c, e), second in zip(combinations_with_replacement(range(d), 2), moved[d + 1 :], strict=True):
            bent[:, :, c, e] = bent[:, :, e, c] = second
        parts[2, 2] = (bent + bent.transpose(2, 3, 0, 1)) / 2
    return parts


def _functionals(x, steps, order):
    """Points around x, and weights on them: the value, all first and, for order 2, all second derivatives."""
    d = len(x)
    points, rows = {(0.0,) * d: 0}, [{(0.0,) * d: 1.0}]
    for c in range(d):
        rows.append({tuple(o * np.eye(d)[c]): w / steps[c] for o, w in zip(OFFSETS, SLOPE, strict=True)})
    for c, e in combinations_with_replacement(range(d), 2) if order == 2 else ():
        rows.append(_second_derivative(c, e, d, steps))
    for row in rows:
        for place in row:
            points.setdefault(place, len(points))
    weights = np.zeros((len(rows), len(points)))
    for number, row in enumerate(rows):
        for place, weight in row.items():
            weights[number, points[place]] = weight
    return x + np.array(list(points)) * steps, weights


def _second_derivative(c, e, d, steps):
    axes = np.eye(d)
    if c == e:
        around = {tuple(o * axes[c]): w / steps[c] ** 2 for o, w in zip(OFFSETS, BEND, strict=True)}
        return around | {(0.0,) * d: BEND_AT_CENTER / steps[c] ** 2}
    return {
        tuple(o * axes[c] + p * axes[e]): w * v / (steps[c] * steps[e])
        for o, w in zip(OFFSETS, SLOPE, strict=True)
        for p, v in zip(OFFSETS, SLOPE, strict=True)
    }


def _length_scale(kernel, x):
    """For each input, the distance over which φ(x) changes by its own length: √(k(x, x)/g_aa), found in two rounds."""
    value = abs(float(kernel.diagonal(x[None])[0]))
    scale = np.full(len(x), 1 + np.abs(x).max())
    for _ in range(2):
        slopes = np.abs(_metric_diagonal(kernel, x, 1e-4 * scale))
        known = (slopes > 0) & (value > 0)
        scale = np.where(known, np.sqrt(value / np.where(known, slopes, 1.0)), scale)
    _require_smooth(kernel, x, scale)
    return scale


def _require_smooth(kernel, x, scale):
    """Refuse kernels with an edge on the diagonal, whose differences grow as steps shrink."""
    wide, narrow = (np.abs(_metric_diagonal(kernel, x, step * scale)) for step in (1e-4, 5e-5))
    if (np.abs(wide - narrow) > 0.1 * np.maximum(wide, narrow) + 1e-6 * narrow.max()).any():
        raise UnsupportedKernelError(
            "The geometry of feature space needs a kernel that is differentiable on the diagonal; differences of the "
            f"gradient of {kernel!r} at {x} depend on the step. Gaussian, or Matern(nu=1.5), and what is made of them, "
            "are smooth enough."
        )


def _metric_diagonal(kernel, x, steps):
    """g_aa by central differences of the gradient."""
    Y = np.vstack([x + np.diag(steps), x - np.diag(steps)])
    weights = np.hstack([np.diag(0.5 / steps), np.diag(-0.5 / steps)])
    return np.diagonal(kernel.gradient(np.tile(x, (len(x), 1)), Y, weights))
