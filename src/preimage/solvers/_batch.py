"""Many small problems iterated together: blocks of them, and the rows that are still in work."""

import numpy as np

from preimage._arrays import concat_rows, take_rows, transposed
from preimage._rows import for_blocks
from preimage.solvers._blocks import query_blocks
from preimage.solvers._preimage import CONVERGED, ITERATION_LIMIT, VANISHING, PreimageResult
from preimage.solvers._starts import nearest_points

# Finished rows are only cleared away in such shares, because the others must be copied.
CLEARING_SHARE = 0.05


def solve_in_blocks(iterate, target, start, anchor):
    """Join the results of `iterate(W, norms, Z, anchor)` over blocks of the vectors of `target`.

    Problems that begin where the kernel vanishes begin again at the nearest point of `target`.
    """
    result = _solve_in_blocks(iterate, target, start, anchor)
    lost = np.flatnonzero(result.reason == VANISHING)
    if lost.size:
        part = target.take(lost)
        again = _solve_in_blocks(iterate, part, nearest_points(part), take_rows(anchor, lost))
        result = result.replaced(lost, again.better_of(result.take(lost)))
    return result


def _solve_in_blocks(iterate, target, start, anchor):
    norms = target.squared_norms()
    blocks = query_blocks(start, target.points)
    # One row of coefficients a problem, contiguous: every step reads them several times.
    work = lambda rows: iterate(transposed(target.coefficients[:, rows]), norms[rows], start[rows, :], anchor[rows, :])
    return PreimageResult.join(for_blocks(work, blocks, start))


class Batch:
    """Keeps account of which problems of a block are in work, and of the results of the others."""

    def __init__(self, size, max_iter):
        self.max_iter = max_iter
        self.active = np.arange(size)
        self.done = np.zeros(size, bool)
        self.reason = np.full(size, ITERATION_LIMIT, dtype=object)
        self.steps = np.zeros(size, int)
        self._pieces = []

    def note(self, step, **reasons):
        """Record problems that stop now; the first reason counts."""
        self.steps[~self.done] = step
        for reason, rows in reasons.items():
            new = rows & ~self.done
            self.reason[new] = reason.replace("_", " ")
            self.done |= new

    def finished(self, step):
        return step == self.max_iter or bool(self.done.all())

    def worth_clearing(self):
        return self.done.sum() >= max(1, CLEARING_SHARE * len(self.done))

    def clear(self, points, objective, everything=False):
        """Take the results of finished problems (or of all); return the positions of the others."""
        out = np.arange(len(self.done)) if everything else np.flatnonzero(self.done)
        stay = np.setdiff1d(np.arange(len(self.done)), out)
        piece = (self.active[out], take_rows(points, out), take_rows(objective, out), self.steps[out], self.reason[out])
        self._pieces.append(piece)
        self.active, self.done, self.reason, self.steps = (
            array[stay] for array in (self.active, self.done, self.reason, self.steps)
        )
        return stay

    def result(self):
        numbers, points, objectives, steps, reasons = zip(*self._pieces, strict=True)
        order = np.argsort(np.concatenate(numbers))
        reason = np.concatenate(reasons)[order]
        return PreimageResult(
            take_rows(concat_rows(*points), order),
            take_rows(concat_rows(*objectives), order),
            np.concatenate(steps)[order],
            reason == CONVERGED,
            reason,
        )
