"""Sparse pre-images: the Lasso path from the background to the dense solution."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Integral, Real

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon, from_numpy, take_rows, to_dense, to_numpy, transposed
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, StrOptions, check_parameters
from preimage._engine.warnings import warn_user
from preimage.descent import Batched, Evaluation, Objective, PreimageResult, Reason, for_query_blocks, spread
from preimage.exceptions import ConvergenceWarning
from preimage.feature_space import Expansion
from preimage.solvers._distance import TargetModel, TargetObjective, distance_model
from preimage.solvers._nearest_image import NearestImage
from preimage.solvers._preimage import DescentSolver


@dataclass(frozen=True)
class SparsePathResult:
    """Pre-images along a path of penalties.

    Attributes
    ----------
    penalties : array of shape (m, q)
        λ of each step and target, falling.
    points : array of shape (m, q, d)
    n_nonzero : integer array of shape (m, q)
        Coordinates that differ from the background, in NumPy.
    settled : boolean array of shape (m, q)
        Whether each solution met its stopping rule, in NumPy.
    """

    penalties: Array
    points: Array
    n_nonzero: np.ndarray
    settled: np.ndarray


class SparsePath(DescentSolver):
    r"""Sparse pre-images, :math:`\rho(z) + \lambda \|z - b\|_1 \to \min`.

    Coordinates stay at the background b unless moving them lowers the distance by more than the penalty. Two ways along
    the path from :math:`\lambda_{\max} = \|\nabla\rho(b)\|_\infty`, where z = b, downwards:

    - "proximal": proximal gradient steps with a step length that never raises the objective, each solution the
      start of the next; every point of the path is stationary for its λ.
    - "path_seeking": generalised path seeking [1]_: one coordinate moves by a small fixed step at a time, the one
      with the largest derivative; coordinates whose derivative points back to the background come first. Every iterate
      is an estimate for some λ.

    For `n_nonzero` a path is followed until it has more coordinates, and λ is bisected from there. Where solutions jump
    over the number, because a minimum vanishes or columns are equal, path seeking goes on from before the jump. A
    `ConvergenceWarning` says if results are the background itself.

    Parameters
    ----------
    penalty : float or None, default=None
        λ of the solution to return; None lets `n_nonzero` choose, or returns the end of the path.
    n_nonzero : int or None, default=None
        Number k of coordinates off the background: the last solution of the path that has k of them. It has fewer only
        where the path ends before: the nearest image itself has fewer, or `penalty` is reached, if that is given too.
    background : float or array of shape (d,), default=0.0
        b.
    method : {"proximal", "path_seeking"}, default="proximal"
        How the path is followed, see above.
    n_penalties : int, default=30
        Values of λ, geometric from λ_max to `smallest` · λ_max (proximal).
    smallest : float, default=1e-3
        Ratio of the last λ to the first.
    step : float, default=0.01
        Step of path seeking, as a fraction of the largest modulus of the training points around the background.
    tol : float, default=1e-6
        Stop at a λ when a step is shorter than `tol` times the spread of the training points.
    max_iter : int, default=1000
        Steps for each λ (proximal), or hundreds of steps of path seeking.

    See Also
    --------
    Gradient : A squared distance as penalty, which moves all coordinates.
    preimage.model_selection.split_half_denoising : How well sparse pre-images of scans reproduce.
    preimage.KernelPCA.denoise : Uses it with ``preimage=SparsePath(...)``.

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "Sparse non-linear denoising: generalization performance and pattern
       reproducibility in functional MRI", Pattern Recognition Letters 32, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import SparsePath
    >>> x = np.array([[2.0, 0.1, 1.0, 0.0]])
    >>> SparsePath(n_nonzero=2).solve(Expansion(Gaussian(0.1), x, np.ones((1, 1)))).points.round(1)
    array([[1.9, 0. , 0.9, 0. ]])
    """

    _parameter_constraints = {
        "penalty": [Interval(Real, 0, None, closed="left"), None],
        "n_nonzero": [Interval(Integral, 0, None, closed="left"), None],
        "background": [Real, "array-like"],
        "method": [StrOptions({"proximal", "path_seeking"})],
        "n_penalties": [Interval(Integral, 2, None, closed="left")],
        "smallest": [Interval(Real, 0, 1, closed="neither")],
        "step": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        penalty: float | None = None,
        n_nonzero: int | None = None,
        background: float | Array = 0.0,
        method: str = "proximal",
        n_penalties: int = 30,
        smallest: float = 1e-3,
        step: float = 0.01,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.penalty = penalty
        self.n_nonzero = n_nonzero
        self.background = background
        self.method = method
        self.n_penalties = n_penalties
        self.smallest = smallest
        self.step = step
        self.tol = tol
        self.max_iter = max_iter

    def _descend(self, problem: NearestImage, start: Array | None, anchor: Array | None) -> PreimageResult:
        check_parameters(self)
        model, norms = distance_model(problem.kernel, problem.points), problem.squared_norms
        lengths = self._lengths(problem.inputs, norms)

        def solve(rows: slice) -> tuple[PreimageResult, float]:
            paths = self._paths(model, problem.coefficients(rows), *lengths)
            found, n_iter = paths.chosen()
            xp = array_namespace(found.points)
            size = xp.sum(xp.abs(found.points - paths.start), axis=1)
            objective = paths.objective.at(found.points).value + norms[rows] + found.penalties * size
            reason = Reason.choose(found.settled, Reason.CONVERGED, Reason.ITERATION_LIMIT)
            result = PreimageResult(found.points, objective, n_iter, found.settled, reason)
            return result, float(xp.max(paths.steepest))

        blocks = for_query_blocks(solve, norms.shape[0], problem.points, norms)
        result = PreimageResult.join([block for block, _ in blocks])
        self._warn_of_background(_counts_off(result.points, lengths[0]), max(most for _, most in blocks))
        return result

    def path(self, target: Expansion) -> SparsePathResult:
        """All pre-images along the path.

        Returns
        -------
        SparsePathResult
        """
        check_parameters(self)
        lengths = self._lengths(target.inputs, target.coefficients)
        model = distance_model(target.kernel, target.points)
        steps = list(self._paths(model, transposed(target.coefficients), *lengths).steps())
        # A walk is one search: it has come to rest at its end or not at all.
        settled = [(step if self.method == "proximal" else steps[-1]).settled for step in steps]
        xp = array_namespace(target.coefficients)
        return SparsePathResult(
            xp.stack([step.penalties for step in steps], axis=0),
            xp.stack([step.points for step in steps], axis=0),
            np.stack([_counts_off(step.points, lengths[0]) for step in steps]),
            np.stack(settled),
        )

    def _lengths(self, points: Array, like: Array) -> tuple[Array, float, float]:
        """The background, the spread of the points, and their largest modulus around the background."""
        xp = array_namespace(like)
        background = from_numpy(np.broadcast_to(np.asarray(self.background, dtype=float), points.shape[1:]), like)
        return background, spread(points), float(xp.max(xp.abs(to_dense(points) - background)))

    def _paths(self, model: TargetModel, W: Array, background: Array, size: float, largest: float) -> "_Paths":
        xp = array_namespace(W)
        start = xp.broadcast_to(background, (W.shape[0], background.shape[0])) + xp.zeros_like(W[:, :1])
        objective = TargetObjective.of(model, W, start, 0.0)
        steepest = xp.max(xp.abs(objective.at(start).gradient), axis=1)
        if bool(xp.any(steepest <= 0)):
            raise ValueError(
                "SparsePath cannot leave the background: all kernel values of training points vanish there. Subtract "
                "the background (the mean, for instance), or use a wider kernel."
            )
        return _Paths(self, objective, start, steepest, size, largest)

    def _warn_of_background(self, counts: np.ndarray, steepest: float) -> None:
        """Say how many results are the background itself, unless that was asked for."""
        n_left = int(np.sum(counts == 0))
        if not n_left or self.n_nonzero == 0:
            return
        why = (
            "no step from there lowers the distance. Give another `background`, or a wider kernel."
            if self.penalty is None
            else f"penalty={self.penalty:g} leaves them there (from {steepest:.3g} on it does so for all of these "
            "targets). Lower the penalty, or give n_nonzero instead."
        )
        warn_user(
            f"SparsePath returned the background for {n_left} of {len(counts)} targets: {why}", ConvergenceWarning
        )


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


@dataclass(frozen=True)
class _Step(Batched):
    """A step of a path: λ (q,), points (q, d), and which targets have met their stopping rule, in NumPy."""

    penalties: Array
    points: Array
    settled: np.ndarray


@dataclass(frozen=True)
class _Paths:
    """Paths of some targets: their distances, the background in every row, λ_max of each, and lengths of the data."""

    solver: SparsePath
    objective: Objective
    start: Array
    steepest: Array
    size: float
    largest: float

    def take(self, rows: np.ndarray) -> "_Paths":
        """The paths with the given NumPy indices."""
        some = lambda array: take_rows(array, rows)
        return replace(self, objective=self.objective.take(rows), start=some(self.start), steepest=some(self.steepest))

    def penalties(self) -> list[Array]:
        """λ of each step of a proximal path, falling, not below `penalty`."""
        xp, solver, least = array_namespace(self.start), self.solver, self.solver.penalty
        ratios = np.geomspace(1, solver.smallest, solver.n_penalties)
        weights = [self.steepest * float(ratio) for ratio in ratios]
        if least is None:
            return weights
        return [*(xp.clip(each, min=float(least)) for each in weights), xp.full_like(self.steepest, float(least))]

    def steps(self) -> Iterator[_Step]:
        """The steps of the path, one after the other."""
        if self.solver.method == "path_seeking":
            yield from self.walk(self.start, self.solver.step)
            return
        Z = self.start
        for weights in self.penalties():
            step = self.descended(Z, weights)
            yield step
            Z = step.points

    def chosen(self) -> tuple[_Step, np.ndarray]:
        """For each target the step that it ends at, and how many it took; the steps before are not kept."""
        if self.solver.n_nonzero is not None:
            return _Search(self, int(self.solver.n_nonzero)).found()
        least, q, xp = self.solver.penalty, self.start.shape[0], array_namespace(self.start)
        chosen, numbers = _Step(self.steepest, self.start, np.zeros(q, bool)), np.zeros(q, int)
        for number, step in enumerate(self.steps()):
            allowed = np.ones(q, bool) if least is None else to_numpy(step.penalties) >= least
            chosen = step.where(from_numpy(allowed, step.points, dtype=xp.bool), chosen)
            numbers = np.where(allowed, number, numbers)
        # A walk is one search, see `path`.
        settled = chosen.settled if self.solver.method == "proximal" else step.settled
        return replace(chosen, settled=settled), numbers + 1

    def descended(self, Z: Array, weights: Array) -> _Step:
        """Minimise ρ(z) + λ‖z − b‖₁ from Z by steps z ← shrink(z − g/D, λ/D), D raised until the objective falls.

        D is lowered again while it does. A step shorter than `tol` times the spread of the points is the last.
        """
        xp, objective, background = array_namespace(Z), self.objective, self.start
        tolerance = max(self.solver.tol, 4 * epsilon(Z.dtype)) * self.size
        penalty = lambda Z: weights * xp.sum(xp.abs(Z - background), axis=1)
        here = objective.at(Z)
        value = here.value + penalty(Z)
        raised = xp.ones_like(value)
        settled = xp.zeros_like(value, dtype=xp.bool)
        # Invariant: `here` and `value` belong to Z, `value` never rises, and rows that are settled stay where they are:
        # so a result does not depend on the others of its block.
        for _ in range(self.solver.max_iter):
            bound = _curvature_bound(here) * raised
            moved = Z - here.gradient / bound[:, None] - background
            threshold = (weights / bound)[:, None]
            new_Z = background + xp.sign(moved) * xp.clip(xp.abs(moved) - threshold, min=0.0)
            there = objective.at(new_Z)
            new_value = there.value + penalty(new_Z)
            better = (new_value <= value) & ~settled
            # Coordinates are cut where they are too long alone: squares of runaways of unbounded kernels overflow.
            step = xp.sqrt(xp.sum(xp.clip(new_Z - Z, min=-2 * tolerance, max=2 * tolerance) ** 2, axis=1))
            settled = settled | (step <= tolerance) | (~better & (raised > STEEPEST))
            Z = xp.where(better[:, None], new_Z, Z)
            value = xp.where(better, new_value, value)
            here = there.where(better, here)
            # Twice as long steps after a success, four times shorter ones after a failure.
            raised = xp.clip(xp.where(better, raised / 2, raised * 4), min=LONGEST, max=4 * STEEPEST)
            if bool(xp.all(settled)):
                break
        return _Step(weights, Z, to_numpy(settled))

    def walk(self, Z: Array, step: float, most: int | None = None) -> Iterator[_Step]:
        """Generalised path seeking from Z, all walks at once; a walk ends before it has more than `most` coordinates.

        Invariant: point j is the background plus `size · counts[j]`, so a walk is on a grid, and a target that comes
        to a point of the grid for the second time circles from there on.
        """
        size = step * self.largest
        counts = np.rint(to_numpy(Z - self.start) / size).astype(np.int64)
        rows, resting = np.arange(len(counts)), np.zeros(len(counts), bool)
        visited: list[set[bytes]] = [set() for _ in counts]
        for _ in range(SEEKING_STEPS * self.solver.max_iter):
            Z = self.start + size * from_numpy(counts, Z)
            downhill = -to_numpy(self.objective.at(Z).gradient)
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
            yield _Step(from_numpy(steepest, Z), Z, resting)
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


class _Search:
    """The last solution of each path before it has more than `count` coordinates off the background.

    Invariant: `kept` has at most `count` coordinates and a larger λ than `beyond`, whose solution has more; that is NaN
    until such a λ was seen. Every descent starts at `kept`, as along the path.
    """

    def __init__(self, paths: _Paths, count: int) -> None:
        q = paths.start.shape[0]
        self.paths, self.count = paths, count
        self.kept = _Step(paths.steepest, paths.start, np.ones(q, bool))  # at λ_max the background is stationary
        self.beyond = np.full(q, np.nan)
        self.n_iter = np.zeros(q, int)

    def found(self) -> tuple[_Step, np.ndarray]:
        """The steps that were chosen, one per target, and how many steps or penalties each took, in NumPy."""
        solver = self.paths.solver
        rows = np.arange(len(self.beyond))
        if solver.method == "proximal":
            penalties = self.paths.penalties()
            for weights in penalties:
                self.attempt(np.isnan(self.beyond), weights)
            if solver.penalty is None:
                # After the last λ of the path, down to a negligible fraction of λ_max.
                ratio = float(to_numpy(penalties[-1] / self.paths.steepest).min())
                for value in ratio / FARTHER ** np.arange(1, 64):
                    if value >= LEAST:
                        self.attempt(np.isnan(self.beyond) & self.has_fewer(), self.paths.steepest * float(value))
            while (unsettled := self.unsettled()).any():
                middle = np.sqrt(to_numpy(self.kept.penalties) * self.beyond)
                self.attempt(unsettled, from_numpy(middle, self.paths.start))
            rows = np.flatnonzero(~np.isnan(self.beyond) & self.has_fewer())  # which paths jump over the number
        # Walks that rest on their grid with too few coordinates go on with shorter steps.
        for step in solver.step / FARTHER ** np.arange(FINER_GRIDS):
            if rows.size:
                self.walk(rows, float(step))
            rows = rows[self.has_fewer()[rows] & self.kept.settled[rows]]
        return self.kept, self.n_iter

    def has_fewer(self) -> np.ndarray:
        """Which paths have fewer coordinates than wanted."""
        counts = _counts_off(self.kept.points, self.paths.start)
        return counts < min(self.count, self.paths.start.shape[1])

    def unsettled(self) -> np.ndarray:
        """Which brackets are to be halved."""
        ratio = to_numpy(self.kept.penalties) / self.beyond  # NaN for paths without a bracket, which compares as False
        return ratio > np.where(self.has_fewer(), JUMP, LAST)

    def attempt(self, mask: np.ndarray, weights: Array) -> None:
        """Solve for new penalties where `mask` holds, and move one end of each bracket there."""
        rows = np.flatnonzero(mask)
        if not rows.size:
            return
        paths = self.paths if mask.all() else self.paths.take(rows)
        weights = take_rows(weights, rows)
        found = paths.descended(take_rows(self.kept.points, rows), weights)
        within = _counts_off(found.points, paths.start) <= self.count
        self.kept = self.kept.replaced(rows[within], found.take(np.flatnonzero(within)))
        self.beyond[rows[~within]] = to_numpy(weights)[~within]
        self.n_iter[rows] += 1

    def walk(self, rows: np.ndarray, step: float) -> None:
        """Let the given paths go on one coordinate at a time, while the penalty of the solver allows."""
        paths, before, least = self.paths.take(rows), self.kept.take(rows), self.paths.solver.penalty or 0.0
        last, n_steps, moving = before, np.zeros(rows.size, int), np.ones(rows.size, bool)
        xp = array_namespace(last.points)
        for each in paths.walk(last.points, step, self.count):
            moving = moving & (to_numpy(each.penalties) >= least)
            last = each.where(from_numpy(moving, each.points, dtype=xp.bool), last)
            n_steps += moving
            moving = moving & ~each.settled
            if not moving.any():
                break
        # Starts of walks are rounded to the grid, by which small coordinates may be lost for good.
        more = _counts_off(last.points, paths.start) >= _counts_off(before.points, paths.start)
        last = replace(last, settled=~moving)
        self.kept = self.kept.replaced(rows[more], last.take(np.flatnonzero(more)))
        self.n_iter[rows] += n_steps


def _counts_off(Z: Array, background: Array) -> np.ndarray:
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
