"""Bounds on inputs: those that users know, and the range of the data where an objective has no minimum."""

from dataclasses import replace

import numpy as np

from preimage._arrays import array_namespace, from_numpy, take_rows, to_dense, to_numpy
from preimage.solvers._preimage import RESTRICTED
from preimage.solvers._starts import range_of, spread

# Points farther from the middle of the data than this many times the farthest of them, and than their start, were lost:
# kernel PCA sees nothing beyond the data. At ten times larger answers of sigmoid kernels leave wine by 40 deviations.
REACH = 2.0


class Box:
    """Bounds on inputs, or none."""

    def __init__(self, lower, upper, like):
        plain = lambda value: to_numpy(value) if hasattr(value, "shape") else value
        bound = lambda value, default: from_numpy(
            np.broadcast_to(default if value is None else plain(value), tuple(like.shape[1:])), like
        )
        self.is_open = lower is None and upper is None
        self.lower, self.upper = bound(lower, -np.inf), bound(upper, np.inf)
        if not self.is_open and bool(array_namespace(like).any(self.lower > self.upper)):
            raise ValueError("Gradient needs lower ≤ upper in every coordinate.")

    @classmethod
    def of_inputs(cls, lower, upper, kernel, like):
        """Bounds given by a user, `lower` raised to the smallest input that the kernel accepts."""
        least = kernel.lowest_input
        if least is not None:
            lower = least if lower is None else np.maximum(np.asarray(lower, dtype=float), least)
        return cls(lower, upper, like)

    def within(self, lower, upper):
        """The part of this box between `lower` and `upper`; where there is none, the edge of this box."""
        xp = array_namespace(lower)
        return Box(
            xp.minimum(xp.maximum(self.lower, lower), self.upper),
            xp.maximum(xp.minimum(self.upper, upper), self.lower),
            lower[None, :],
        )

    def clip(self, Z):
        if self.is_open:
            return Z
        xp = array_namespace(Z)
        return xp.where(self.lower > Z, self.lower, xp.where(self.upper < Z, self.upper, Z))

    def free(self, Z, gradient):
        """One where a coordinate may follow −gradient, zero where it would leave the box."""
        xp = array_namespace(Z)
        if self.is_open:
            return xp.ones_like(Z[:, :1])
        held = ((self.lower >= Z) & (gradient > 0)) | ((self.upper <= Z) & (gradient < 0))
        return xp.astype(~held, Z.dtype)


def within_reach(result, target, start, anchor, box, solve):
    """`result` with the problems that ran away from the points solved again inside their range.

    The distance (P1) is bounded below for a positive semidefinite kernel only. For an indefinite one it may fall for
    ever on the way to infinity, where inputs have nothing to do with the target. `solve(box, target, start, anchor)`
    solves in a box; the reason of problems solved again is `RESTRICTED`.
    """
    if target.kernel.is_positive_semidefinite:
        return result
    lost = beyond_reach(result.points, target.points, start)
    if not lost.size:
        return result
    inside = box.within(*range_of(target.points))
    again = solve(inside, target.take(lost), take_rows(start, lost), take_rows(anchor, lost))
    reasons = np.full(lost.size, RESTRICTED, dtype=object)
    return result.replaced(lost, replace(again, reason=reasons, converged=np.zeros(lost.size, bool)))


def beyond_reach(Z, points, start):
    """Numbers of the rows of Z that lie far outside the points, and farther out than their starts."""
    middle, radius = ball_of(points)
    return np.flatnonzero(~(_distances(Z, middle) <= REACH * np.maximum(radius, _distances(start, middle))))


def led_away(Z, points, start):
    """Numbers of the rows of Z that lie farther out than their starts, and than the points do on average.

    A projection leads towards the data; a descent that leads away from it follows an objective without a minimum.
    """
    middle, _ = ball_of(points)
    return np.flatnonzero(~(_distances(Z, middle) <= np.maximum(spread(points), _distances(start, middle))))


def ball_of(points):
    """The mean of the points, and the distance of the farthest from it."""
    points = to_dense(points)
    middle = array_namespace(points).mean(points, axis=0)
    return middle, float(_distances(points, middle).max())


def _distances(Z, middle):
    """Distances of the rows of Z from a point, in NumPy."""
    Z = to_dense(Z)
    xp = array_namespace(Z)
    return to_numpy(xp.sqrt(xp.sum((Z - middle) ** 2, axis=1)))
