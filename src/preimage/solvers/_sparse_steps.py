"""Steps of sparse pre-images: proximal descents for one penalty, and walks that move one coordinate at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon, from_numpy, take_rows, to_numpy
from preimage._engine.typing import Array
from preimage.descent import Batched, Evaluation, Objective

# A walk rests where no derivative is larger than this: values of kernels are of the order of one, and smaller
# derivatives are rounding errors of their sums. With ten times more, walks end visibly before the minimum.
FLAT = 1e-8
# Steps of a walk per unit of `max_iter`: single coordinates move by 1 % of the range at a time, so a path of ten
# coordinates has a thousand steps.
SEEKING_STEPS = 100
# A curvature bound that was quadrupled fifteen times in vain: the step is then below rounding, and the problem is done.
STEEPEST = 2.0**30
# The least factor of a curvature bound, which adds up moduli: vectors with coefficients of both signs, such as
# principal axes, have a tenth or less of it, and take ten times as many steps at 1. Less is of no use to any.
LONGEST = 2.0**-6


class Scales(NamedTuple):
    """The background, the spread of the points, and their largest modulus around the background."""

    background: Array
    spread: float
    largest: float


@dataclass(frozen=True)
class Begin:
    """The start of paths: the distances, the background in every row, scales, and λ_max of each target."""

    objective: Objective
    Z: Array
    scales: Scales
    steepest: Array

    def take(self, rows: np.ndarray) -> "Begin":
        """The paths with the given NumPy indices."""
        return Begin(self.objective.take(rows), take_rows(self.Z, rows), self.scales, take_rows(self.steepest, rows))


@dataclass(frozen=True)
class Step(Batched):
    """A step of a path: λ (q,), points (q, d), and which targets have met their stopping rule, in NumPy."""

    penalties: Array
    points: Array
    settled: np.ndarray


def descended(begin: Begin, Z: Array, weights: Array, tol: float, max_iter: int) -> Step:
    """Minimise ρ(z) + λ‖z − b‖₁ from Z by steps z ← shrink(z − g/D, λ/D), D raised until the objective falls.

    D is lowered again while it does. A step shorter than `tol` times the spread of the points is the last.
    """
    xp, objective, background = array_namespace(Z), begin.objective, begin.scales.background
    tolerance = max(tol, 4 * epsilon(Z.dtype)) * begin.scales.spread
    penalty = lambda Z: weights * xp.sum(xp.abs(Z - background), axis=1)
    here = objective.at(Z)
    value = here.value + penalty(Z)
    raised = xp.ones_like(value)
    settled = xp.zeros_like(value, dtype=xp.bool)
    # Invariant: `here` and `value` belong to Z, `value` never rises, and rows that are settled stay where they are: so
    # a result does not depend on the others of its block.
    for _ in range(max_iter):
        bound = _curvature_bound(here) * raised
        moved = Z - here.gradient / bound[:, None] - background
        threshold = (weights / bound)[:, None]
        new_Z = background + xp.sign(moved) * xp.clip(xp.abs(moved) - threshold, min=0.0)
        there = objective.at(new_Z)
        new_value = there.value + penalty(new_Z)
        better = (new_value <= value) & ~settled
        # Coordinates are cut where they are too long alone: squares of runaways of unbounded kernels would overflow.
        step = xp.sqrt(xp.sum(xp.clip(new_Z - Z, min=-2 * tolerance, max=2 * tolerance) ** 2, axis=1))
        settled = settled | (step <= tolerance) | (~better & (raised > STEEPEST))
        Z = xp.where(better[:, None], new_Z, Z)
        value = xp.where(better, new_value, value)
        here = there.where(better, here)
        # Twice as long steps after a success, four times shorter ones after a failure.
        raised = xp.clip(xp.where(better, raised / 2, raised * 4), min=LONGEST, max=4 * STEEPEST)
        if bool(xp.all(settled)):
            break
    return Step(weights, Z, to_numpy(settled))


def walk(begin: Begin, Z: Array, step: float, max_iter: int, most: int | None = None) -> Iterator[Step]:
    """Generalised path seeking from Z, all walks at once; a walk ends before it has more than `most` coordinates.

    Invariant: point j is the background plus `size · counts[j]`, so a walk is on a grid, and a target that comes
    to a point of the grid for the second time circles from there on.
    """
    background = begin.scales.background
    size = step * begin.scales.largest
    counts = np.rint(to_numpy(Z - background) / size).astype(np.int64)
    rows, resting = np.arange(len(counts)), np.zeros(len(counts), bool)
    visited: list[set[bytes]] = [set() for _ in counts]
    for _ in range(SEEKING_STEPS * max_iter):
        Z = background + size * from_numpy(counts, Z)
        downhill = -to_numpy(begin.objective.at(Z).gradient)
        steepest = np.abs(downhill).max(axis=1)
        # Where coordinates would move back to the background, the steepest of these moves, else of all.
        returning = downhill * counts < 0
        priority = np.where(returning.any(axis=1, keepdims=True) & ~returning, -1.0, np.abs(downhill))
        chosen = np.argmax(priority, axis=1)
        moved = counts.copy()
        moved[rows, chosen] += np.sign(downhill[rows, chosen]).astype(np.int64)
        resting = resting | (steepest < FLAT)
        if most is not None:
            resting = resting | (np.count_nonzero(moved, axis=1) > most)
        yield Step(from_numpy(steepest, Z), Z, resting)
        if resting.all():
            return
        circling = np.zeros(len(counts), bool)
        for j in np.flatnonzero(~resting):
            # The digest alone is kept: the counts themselves are as large as images.
            key = blake2b(moved[j].tobytes(), digest_size=16).digest()
            circling[j] = key in visited[j]
            visited[j].add(key)
        resting = resting | circling
        counts = np.where(resting[:, None], counts, moved)


def counts_off(Z: Array, background: Array) -> np.ndarray:
    """How many coordinates of each row differ from the background, in NumPy."""
    xp = array_namespace(Z)
    return to_numpy(xp.sum(xp.astype(background != Z, xp.int64), axis=1))


def _curvature_bound(here: Evaluation) -> Array:
    """A first guess of the largest second derivative: that of the kernel values, or the gradient over a unit step."""
    xp = array_namespace(here.value)
    if here.safe_curvature is None:
        lengths = xp.sqrt(xp.sum(here.gradient**2, axis=1))
        return xp.clip(lengths, min=epsilon(lengths.dtype))
    return xp.where(here.safe_curvature > 0, here.safe_curvature, xp.ones_like(here.value))
