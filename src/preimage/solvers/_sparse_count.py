"""Sparse pre-images with a given number of coordinates: the penalty is bisected, and jumps are walked."""

from typing import NamedTuple

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, take_rows, to_numpy
from preimage._engine.typing import Array
from preimage.solvers._sparse_steps import Begin, Step, counts_off, descended, walk

# Below the last λ of a path, and with finer grids, paths with too few coordinates are followed in steps of this factor,
FARTHER = 4.0
# λ down to this fraction of λ_max, where the penalty moves coordinates by less than usual tolerances.
LEAST = 1e-8
# A solution with the right number of coordinates is the last of the path to this ratio of penalties: coordinates are
# shrunk in proportion to λ, so by 1 % too much at most.
LAST = 1.01
# Between penalties of this ratio the path has a jump. Solutions are known to about 1e-6; a path that is not followed
# as far, with coordinates one after the other in between, is walked instead, which finds them as well.
JUMP = 1.0001
# Grids of walks, each finer than the last by the factor above: coordinates shorter than a step are not found on the
# first. The last one has steps of 1e-5 of the range, which is less than the noise of any data.
FINER_GRIDS = 6


class Found(NamedTuple):
    """Steps that were chosen, one per target, and how many steps or penalties each took, in NumPy."""

    step: Step
    n_iter: np.ndarray


def last_within(
    begin: Begin,
    count: int,
    penalties: list[Array] | None,
    penalty: float | None,
    *,
    step: float,
    tol: float,
    max_iter: int,
) -> Found:
    """The last solution of each path before it has more than `count` coordinates off the background.

    Parameters
    ----------
    penalties : list of arrays of shape (q,), or None
        λ of the steps of a proximal path; None walks all the way.
    penalty : float or None
        λ below which no path goes.
    step, tol, max_iter
        As of `SparsePath`.
    """
    search = _Search(begin, count, tol, max_iter)
    if penalties is None:
        return search.walked(np.arange(begin.Z.shape[0]), step, penalty)
    for weights in penalties:
        search.attempt(search.unbounded(), weights)
    if penalty is None:
        for weights in _farther(penalties[-1], begin.steepest):
            search.attempt(search.unbounded() & search.has_fewer(), weights)
    while (rows := search.unsettled()).any():
        search.attempt(rows, search.between())
    return search.walked(np.flatnonzero(search.jumps()), step, penalty)


def _farther(last: Array, steepest: Array) -> list[Array]:
    """λ after the last of a path, down to a negligible fraction of λ_max; none where the path ends there."""
    ratio = float(to_numpy(last / steepest).min())
    return [steepest * float(value) for value in ratio / FARTHER ** np.arange(1, 64) if value >= LEAST]


class _Search:
    """Brackets of the penalties that have the wanted number of coordinates.

    Invariant: `kept` has at most `count` coordinates and a larger λ than `beyond`, whose solution has more; that is NaN
    until such a λ was seen. Every descent starts at `kept`, as along the path.
    """

    def __init__(self, begin: Begin, count: int, tol: float, max_iter: int) -> None:
        q = begin.Z.shape[0]
        self.begin, self.count, self.tol, self.max_iter = begin, count, tol, max_iter
        self.kept = Step(begin.steepest, begin.Z, np.ones(q, bool))  # at λ_max the background is stationary
        self.beyond = np.full(q, np.nan)
        self.n_iter = np.zeros(q, int)

    def counts(self) -> np.ndarray:
        return counts_off(self.kept.points, self.begin.scales.background)

    def has_fewer(self) -> np.ndarray:
        """Which paths have fewer coordinates than wanted."""
        return self.counts() < min(self.count, self.begin.Z.shape[1])

    def unbounded(self) -> np.ndarray:
        """Which paths were not followed to more coordinates than wanted."""
        return np.isnan(self.beyond)

    def unsettled(self) -> np.ndarray:
        """Which brackets are to be halved."""
        ratio = to_numpy(self.kept.penalties) / self.beyond  # NaN for paths without a bracket, which compares as False
        return ratio > np.where(self.has_fewer(), JUMP, LAST)

    def jumps(self) -> np.ndarray:
        """Which paths jump over the number."""
        return ~self.unbounded() & self.has_fewer()

    def between(self) -> Array:
        """Geometric means of both ends of the brackets."""
        return from_numpy(np.sqrt(to_numpy(self.kept.penalties) * self.beyond), self.begin.Z)

    def attempt(self, mask: np.ndarray, weights: Array) -> None:
        """Solve for new penalties where `mask` holds, and move one end of each bracket there."""
        rows = np.flatnonzero(mask)
        if not rows.size:
            return
        begin = self.begin if mask.all() else self.begin.take(rows)
        weights = take_rows(weights, rows)
        found = descended(begin, self.kept.take(rows).points, weights, self.tol, self.max_iter)
        within = counts_off(found.points, begin.scales.background) <= self.count
        self.kept = self.kept.replaced(rows[within], found.take(np.flatnonzero(within)))
        self.beyond[rows[~within]] = to_numpy(weights)[~within]
        self.n_iter[rows] += 1

    def walked(self, rows: np.ndarray, step: float, penalty: float | None) -> Found:
        """What was found, with the given paths walked on one coordinate at a time while `penalty` allows.

        Walks that rest on their grid with too few coordinates go on with shorter steps.
        """
        for _ in range(FINER_GRIDS):
            if rows.size:
                self._walk(rows, step, penalty)
            rows, step = rows[self.has_fewer()[rows] & self.kept.settled[rows]], step / FARTHER
        return Found(self.kept, self.n_iter)

    def _walk(self, rows: np.ndarray, step: float, penalty: float | None) -> None:
        begin, last = self.begin.take(rows), self.kept.take(rows)
        n_steps, moving = np.zeros(rows.size, int), np.ones(rows.size, bool)
        xp = array_namespace(last.points)
        for each in walk(begin, last.points, step, self.max_iter, self.count):
            moving = moving & (to_numpy(each.penalties) >= (penalty or 0.0))
            last = each.where(from_numpy(moving, each.points, dtype=xp.bool), last)
            n_steps += moving
            moving = moving & ~each.settled
            if not moving.any():
                break
        # Starts of walks are rounded to the grid, by which small coordinates may be lost for good.
        more = counts_off(last.points, begin.scales.background) >= self.counts()[rows]
        last = Step(last.penalties, last.points, ~moving)
        self.kept = self.kept.replaced(rows[more], last.take(np.flatnonzero(more)))
        self.n_iter[rows] += n_steps
