"""Several starts, and the best of their ends."""

from collections.abc import Sequence

import numpy as np

from preimage._engine.arrays import take_rows, to_dense
from preimage._engine.typing import Array, Seed
from preimage._engine.validation import check_parameters, generator
from preimage.descent import PreimageResult
from preimage.feature_space import Expansion
from preimage.solvers._nearest_image import nearest_points, ranked_points
from preimage.solvers._preimage import TargetSolver

KINDS = ("input", "nearest", "neighbors", "random")
# Points of the start "neighbors": enough to average noise away, few enough to stay within one cluster.
NEIGHBORS = 10


class MultiStart(TargetSolver):
    """Run another solver from several starts and keep, for each target, the result with the smallest objective.

    The nearest image is not always the best denoised input: with narrow kernels and few components it can belong to
    another cluster than the noisy point. Denoise from "input" alone then, or with a small penalty.

    Parameters
    ----------
    solver : TargetSolver
        The solver to run.
    starts : tuple of str or solvers, default=("input", "nearest")
        "input" is the given start (the noisy point, in denoising), "nearest" the training point nearest in feature
        space, "neighbors" the mean of the ten nearest, "random" a random training point. A solver among the starts
        means its answer. Names may be repeated.
    random_state : int, RandomState, Generator or None, default=0
        Seed of random starts.

    See Also
    --------
    FixedPoint : A solver that ends in the minimum next to its start.
    Gradient : The same for other kernels.
    WeightedMean : A start without iterations.

    Examples
    --------
    Two bumps of different height; from between them the nearest image is not found, from the nearest point it is:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import FixedPoint, MultiStart
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0], [4.0]]), np.array([[0.4], [0.6]]))
    >>> start = np.array([[0.5]])
    >>> FixedPoint().solve(target, start).points.round(2)
    array([[0.]])
    >>> MultiStart(FixedPoint()).solve(target, start).points.round(2)
    array([[4.]])
    """

    _parameter_constraints = {
        "solver": [TargetSolver],
        "starts": [tuple, list],
        "random_state": ["random_state", object],
    }

    def __init__(
        self,
        solver: TargetSolver,
        starts: Sequence[str | TargetSolver] = ("input", "nearest"),
        random_state: Seed = 0,
    ) -> None:
        self.solver = solver
        self.starts = starts
        self.random_state = random_state

    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        check_parameters(self)
        rng = generator(self.random_state)
        best = None
        for kind in self.starts:
            begin = self._start(kind, target, start, rng)
            if begin is None:
                continue
            result = self.solver.solve(target, begin, anchor=start if anchor is None else anchor)
            best = result if best is None else best.better_of(result)
        return self.solver.solve(target) if best is None else best

    def _start(
        self, kind: str | TargetSolver, target: Expansion, start: Array | None, rng: np.random.Generator
    ) -> Array | None:
        if isinstance(kind, TargetSolver):
            return kind.solve(target, start).points
        if kind == "input":
            return start
        if kind == "nearest":
            return nearest_points(target)
        if kind == "neighbors":
            return mean_of_neighbors(target, NEIGHBORS)
        if kind == "random":
            return to_dense(take_rows(target.inputs, rng.integers(target.points.shape[0], size=len(target))))
        raise ValueError(f"Unknown start {kind!r}; known: {', '.join(KINDS)}, or a solver.")


def mean_of_neighbors(target: Expansion, count: int) -> Array:
    """For each vector of `target`, the mean of its `count` nearest points in feature space."""
    ranked = ranked_points(target, min(count, target.points.shape[0]))
    points = to_dense(target.inputs)
    return sum(take_rows(points, numbers) for numbers in ranked.T) / ranked.shape[1]
