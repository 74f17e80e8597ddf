"""Sparse pre-images: the Lasso path from the background to the dense solution."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

from preimage._arrays import array_namespace, epsilon, from_numpy, to_dense, to_numpy
from preimage._typing import Array
from preimage._validation import Interval, StrOptions, check_parameters
from preimage.feature_space import Expansion
from preimage.solvers._blocks import for_query_blocks
from preimage.solvers._descent import Evaluation, Objective, spread
from preimage.solvers._nearest_image import TargetModel, TargetObjective, distance_model
from preimage.solvers._preimage import DescentSolver, PreimageResult, Reason
from preimage.solvers._targets import GivenTargets, Targets

# A walk of path seeking rests where no derivative is larger than this: values of kernels are of the order of one, and
# smaller derivatives are rounding errors of their sums. With ten times more, walks end visibly before the minimum.
FLAT = 1e-8
# Steps of path seeking per unit of `max_iter`: single coordinates move by 1 % of the range at a time, so a path of ten
# coordinates has a thousand steps.
SEEKING_STEPS = 100
# A curvature bound that was quadrupled fifteen times in vain: the step is then below rounding, and the problem is done.
STEEPEST = 2.0**30
# The least factor of a curvature bound, which adds up moduli: vectors with coefficients of both signs, such as
# principal axes, have a tenth or less of it, and take ten times as many steps at 1. Less is of no use to any.
LONGEST = 2.0**-6


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

    Parameters
    ----------
    penalty : float or None, default=None
        λ of the solution to return; None lets `n_nonzero` choose, or returns the end of the path.
    n_nonzero : int or None, default=None
        Largest number of coordinates off the background; the last solution of the path within it is returned.
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

    def _descend(self, targets: Targets, start: Array | None, anchor: Array | None) -> PreimageResult:
        check_parameters(self)
        model, norms = distance_model(targets.kernel, targets.points), targets.squared_norms()
        scales = self._scales(targets.inputs, norms)

        def solve(rows: slice) -> PreimageResult:
            begin = self._begin(model, targets.coefficients(rows), scales)
            found = self._last_candidates(begin)
            xp = array_namespace(found.points)
            size = xp.sum(xp.abs(found.points - scales.background), axis=1)
            objective = begin.objective.at(found.points).value + norms[rows] + found.penalties * size
            reason = Reason.choose(found.settled, Reason.CONVERGED, Reason.ITERATION_LIMIT)
            return PreimageResult(found.points, objective, found.numbers + 1, found.settled, reason)

        return PreimageResult.join(for_query_blocks(solve, norms.shape[0], targets.points, norms))

    def path(self, target: Expansion) -> SparsePathResult:
        """All pre-images along the path.

        Returns
        -------
        SparsePathResult
        """
        check_parameters(self)
        targets = GivenTargets(target)
        scales = self._scales(target.inputs, target.coefficients)
        model = distance_model(target.kernel, target.points)
        begin = self._begin(model, targets.coefficients(slice(0, len(target))), scales)
        penalties, points, settled = map(list, zip(*self._steps(begin), strict=True))
        # A walk is one search: it has come to rest at its end or not at all.
        settled = settled if self.method == "proximal" else [settled[-1]] * len(settled)
        return _as_path(penalties, points, scales.background, settled)

    def _scales(self, points: Array, like: Array) -> "_Scales":
        xp = array_namespace(like)
        d = points.shape[1]
        background = from_numpy(np.broadcast_to(np.asarray(self.background, dtype=float), (d,)), like)
        return _Scales(background, spread(points), float(xp.max(xp.abs(to_dense(points) - background))))

    def _begin(self, model: TargetModel, W: Array, scales: "_Scales") -> "_Begin":
        xp = array_namespace(W)
        background = scales.background
        Z = xp.broadcast_to(background, (W.shape[0], background.shape[0])) + xp.zeros_like(W[:, :1])
        objective = TargetObjective.of(model, W, Z, 0.0)
        steepest = xp.max(xp.abs(objective.at(Z).gradient), axis=1)
        if bool(xp.any(steepest <= 0)):
            raise ValueError(
                "SparsePath cannot leave the background: all kernel values of training points vanish there. Subtract "
                "the background (the mean, for instance), or use a wider kernel."
            )
        return _Begin(objective, Z, scales, steepest)

    def _steps(self, begin: "_Begin") -> Iterator["_Step"]:
        """The steps of the path, one after the other."""
        return self._proximal_steps(begin) if self.method == "proximal" else self._seek(begin)

    def _last_candidates(self, begin: "_Begin") -> "_Found":
        """For each target the last step that it may end at; the steps before are not kept, there may be thousands."""
        xp = array_namespace(begin.Z)
        points, penalties = begin.Z, begin.steepest
        numbers, settled = np.zeros(begin.Z.shape[0], int), np.zeros(begin.Z.shape[0], bool)
        for number, (weights, Z, done) in enumerate(self._steps(begin)):
            allowed = self._is_candidate(weights, Z, begin.scales.background)
            mask = from_numpy(allowed, Z, dtype=xp.bool)
            points, penalties = xp.where(mask[:, None], Z, points), xp.where(mask, weights, penalties)
            numbers = np.where(allowed, number, numbers)
            settled = np.where(allowed, done, settled) if self.method == "proximal" else done
        return _Found(points, penalties, numbers, settled)

    def _is_candidate(self, penalties: Array, Z: Array, background: Array) -> np.ndarray:
        """Whether each target may end at this step; the last such step is the answer."""
        if self.n_nonzero is not None:
            return _counts(Z, background) <= self.n_nonzero
        if self.penalty is not None:
            return to_numpy(penalties) >= self.penalty
        return np.ones(Z.shape[0], bool)

    def _proximal_steps(self, begin: "_Begin") -> Iterator["_Step"]:
        """The solutions for penalties from λ_max downwards, each the start of the next."""
        xp = array_namespace(begin.Z)
        all_weights = [begin.steepest * float(ratio) for ratio in np.geomspace(1, self.smallest, self.n_penalties)]
        if self.penalty is not None:
            all_weights = [xp.clip(weights, min=float(self.penalty)) for weights in all_weights]
            all_weights.append(xp.full_like(begin.steepest, float(self.penalty)))
        tolerance = max(self.tol, 4 * epsilon(begin.Z.dtype)) * begin.scales.spread
        Z, background = begin.Z, begin.scales.background
        for weights in all_weights:
            Z, done = _proximal_descent(begin.objective, Z, background, weights, tolerance, self.max_iter)
            yield _Step(weights, Z, done)

    def _seek(self, begin: "_Begin") -> Iterator["_Step"]:
        """The steps of the walk.

        Invariant: point j is the background plus `size · counts[j]`, so a walk is on a grid, and a target that comes
        to a point of the grid for the second time circles from there on.
        """
        Z, background = begin.Z, begin.scales.background
        size = self.step * begin.scales.largest
        counts = np.zeros(Z.shape, dtype=np.int64)
        rows, resting = np.arange(len(counts)), np.zeros(len(counts), bool)
        visited: list[set[bytes]] = [set() for _ in counts]
        for _ in range(SEEKING_STEPS * self.max_iter):
            Z = background + size * from_numpy(counts, Z)
            downhill = -to_numpy(begin.objective.at(Z).gradient)
            steepest = np.abs(downhill).max(axis=1)
            resting = resting | (steepest < FLAT)
            yield _Step(from_numpy(steepest, Z), Z, resting)
            if resting.all():
                return
            # Where coordinates would move back to the background, the steepest of these moves, else of all.
            returning = downhill * counts < 0
            priority = np.where(returning.any(axis=1, keepdims=True) & ~returning, -1.0, np.abs(downhill))
            chosen = np.argmax(priority, axis=1)
            moved = counts.copy()
            moved[rows, chosen] += np.sign(downhill[rows, chosen]).astype(np.int64)
            for j in np.flatnonzero(~resting):
                key = blake2b(
                    moved[j].tobytes(), digest_size=16
                ).digest()  # the counts themselves are as large as images
                resting[j] = key in visited[j]
                visited[j].add(key)
            counts = np.where(resting[:, None], counts, moved)


class _Scales(NamedTuple):
    """The background, the spread of the points, and their largest modulus around the background."""

    background: Array
    spread: float
    largest: float


class _Begin(NamedTuple):
    """The start of a path: the distances, the background in every row, scales, and λ_max of each target."""

    objective: Objective
    Z: Array
    scales: _Scales
    steepest: Array


class _Step(NamedTuple):
    """A step of a path: λ (q,), points (q, d), and which targets have met their stopping rule."""

    penalties: Array
    points: Array
    settled: np.ndarray


class _Found(NamedTuple):
    """Steps that were chosen, one per target, with their numbers."""

    points: Array
    penalties: Array
    numbers: np.ndarray
    settled: np.ndarray


def _proximal_descent(
    objective: Objective, Z: Array, background: Array, weights: Array, tolerance: float, max_iter: int
) -> tuple[Array, np.ndarray]:
    """Minimise ρ(z) + λ‖z − b‖₁ by steps z ← shrink(z − g/D, λ/D), D raised until the objective falls.

    D is lowered again while it does. Returns the points, and which of them met the tolerance.
    """
    xp = array_namespace(Z)
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
    return Z, to_numpy(settled)


def _curvature_bound(here: Evaluation) -> Array:
    """A first guess of the largest second derivative: that of the kernel values, or the gradient over a unit step."""
    xp = array_namespace(here.value)
    if here.safe_curvature is None:
        lengths = xp.sqrt(xp.sum(here.gradient**2, axis=1))
        return xp.clip(lengths, min=epsilon(lengths.dtype))
    return xp.where(here.safe_curvature > 0, here.safe_curvature, xp.ones_like(here.value))


def _as_path(
    penalties: list[Array], points: list[Array], background: Array, settled: list[np.ndarray]
) -> SparsePathResult:
    xp = array_namespace(points[0])
    counts = [_counts(Z, background) for Z in points]
    return SparsePathResult(xp.stack(penalties, axis=0), xp.stack(points, axis=0), np.stack(counts), np.stack(settled))


def _counts(Z: Array, background: Array) -> np.ndarray:
    """How many coordinates of each row differ from the background, in NumPy."""
    xp = array_namespace(Z)
    return to_numpy(xp.sum(xp.astype(background != Z, xp.int64), axis=1))
