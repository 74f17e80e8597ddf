"""The image nearest to each target: problems in blocks, safe where kernels vanish or objectives have no minimum."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._arrays import array_namespace, take_rows, to_dense, to_numpy, transposed
from preimage._rows import for_blocks
from preimage._typing import Array
from preimage.feature_space import Expansion
from preimage.solvers._batch import query_blocks
from preimage.solvers._descent import Box, StepRule, minimize_rows, spread
from preimage.solvers._distance import TargetModel, TargetObjective, distance_model
from preimage.solvers._preimage import PreimageResult, Reason
from preimage.solvers._starts import nearest_points

# Points farther from the middle of the data than this many times the farthest data point, and than their start, are
# lost: kernel PCA knows nothing of what lies beyond the data. At ten times as much, answers of sigmoid kernels leave
# the wine data by 40 standard deviations.
REACH = 2.0


@dataclass(frozen=True)
class NearestImage:
    """The problems ρ(z) + λ‖z − anchor‖² → min, one per vector of `target`."""

    target: Expansion
    start: Array
    anchor: Array
    penalty: float = 0.0

    @classmethod
    def of(cls, target: Expansion, start: Array | None, anchor: Array | None, penalty: float) -> "NearestImage":
        """The problems with their defaults: start at the nearest point of the target, be drawn to the start."""
        start = nearest_points(target) if start is None else to_dense(start)
        return cls(target, start, start if anchor is None else to_dense(anchor), float(penalty))

    def take(self, rows: np.ndarray) -> "NearestImage":
        """The problems with the given NumPy indices."""
        return replace(
            self,
            target=self.target.take(rows),
            start=take_rows(self.start, rows),
            anchor=take_rows(self.anchor, rows),
        )

    def solve(self, rule: StepRule, box: Box, max_iter: int, model: TargetModel | None = None) -> PreimageResult:
        """Descend from all starts, by `rule`, within `box`; `model` is the objective, the distance (P1) by default.

        Problems that start where the kernel vanishes start again at the nearest point of the target.
        """
        model = distance_model(self.target.kernel, self.target.points) if model is None else model
        result = self._in_blocks(rule, box, max_iter, model)
        lost = np.flatnonzero(result.reason == Reason.VANISHING)
        if lost.size:
            part = self.take(lost)
            again = replace(part, start=nearest_points(part.target))._in_blocks(rule, box, max_iter, model)
            result = result.replaced(lost, again.better_of(result.take(lost)))
        return result

    def _in_blocks(self, rule: StepRule, box: Box, max_iter: int, model: TargetModel) -> PreimageResult:
        coefficients, start, anchor = self.target.coefficients, self.start, self.anchor

        def descend(rows: slice) -> PreimageResult:
            # One contiguous row of coefficients per problem: every step reads them several times.
            W = transposed(coefficients[:, rows])
            objective = TargetObjective.of(model, W, anchor[rows, :], self.penalty)
            return minimize_rows(objective, start[rows, :], box, rule, max_iter)

        blocks = query_blocks(start, self.target.points)
        result = PreimageResult.join(for_blocks(descend, blocks, start))
        return replace(result, objective=result.objective + self.target.squared_norms())

    def kept_near(self, result: PreimageResult, rule: StepRule, box: Box, max_iter: int) -> PreimageResult:
        """`result` with the problems that ran away from the points solved again within the range of the data.

        The distance (P1) is bounded below for a positive semidefinite kernel only. For an indefinite one it may fall
        for ever on the way to infinity, where inputs have nothing to do with the target.
        """
        if self.target.kernel.is_positive_semidefinite:
            return result
        lost = beyond_reach(result.points, self.target.points, self.start)
        if not lost.size:
            return result
        again = self.take(lost).solve(rule, box.within(*_range_of(self.target.points)), max_iter)
        again = replace(again, reason=Reason.array(lost.size, Reason.RESTRICTED), converged=np.zeros(lost.size, bool))
        return result.replaced(lost, again)


def beyond_reach(Z: Array, points: Array, start: Array) -> np.ndarray:
    """Numbers of the rows of Z that lie far outside the points, and farther out than their starts."""
    middle, radius = enclosing_sphere(points)
    return np.flatnonzero(~(_distances(Z, middle) <= REACH * np.maximum(radius, _distances(start, middle))))


def led_away(Z: Array, points: Array, start: Array) -> np.ndarray:
    """Numbers of the rows of Z that lie farther out than their starts, and than the points do on average.

    A projection leads towards the data; a descent that leads away from it follows an objective without a minimum.
    """
    middle, _ = enclosing_sphere(points)
    return np.flatnonzero(~(_distances(Z, middle) <= np.maximum(spread(points), _distances(start, middle))))


def enclosing_sphere(points: Array) -> tuple[Array, float]:
    """The mean of the points, and the distance of the farthest from it."""
    points = to_dense(points)
    middle = array_namespace(points).mean(points, axis=0)
    return middle, float(_distances(points, middle).max())


def _range_of(points: Array) -> tuple[Array, Array]:
    """The smallest and the largest value of each column, two arrays of shape (d,)."""
    points = to_dense(points)
    xp = array_namespace(points)
    return xp.min(points, axis=0), xp.max(points, axis=0)


def _distances(Z: Array, middle: Array) -> np.ndarray:
    """Distances of the rows of Z from a point, in NumPy."""
    Z = to_dense(Z)
    xp = array_namespace(Z)
    return to_numpy(xp.sqrt(xp.sum((Z - middle) ** 2, axis=1)))
