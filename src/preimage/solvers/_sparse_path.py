"""Sparse pre-images: the Lasso path from the background to the dense solution."""

from dataclasses import dataclass
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import numpy as np

from preimage._arrays import array_namespace, epsilon, from_numpy, to_numpy
from preimage._validation import Interval, StrOptions, check_parameters
from preimage.solvers._distance import TargetObjective, distance_model
from preimage.solvers._preimage import PreimageResult, Reason, TargetSolver, objective_at
from preimage.solvers._starts import spread


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

    penalties: Any
    points: Any
    n_nonzero: Any
    settled: Any


class SparsePath(TargetSolver):
    r"""Sparse pre-images, :math:`\rho(z) + \lambda \|z - b\|_1 \to \min`.

    Coordinates stay at the background b ("nothing there") unless the target asks for them. Two ways along the path from
    :math:`\lambda_{\max} = \|\nabla\rho(b)\|_\infty`, where z = b, downwards:

    - "proximal": proximal gradient steps with a step length that never raises the objective, each solution the
      start of the next; every point of the path is stationary for its λ.
    - "path_seeking": generalised path seeking [1]_: one coordinate moves by a small fixed step at a time, the one
      with the steepest slope, after those that want to return to zero. Every iterate is an estimate for some λ.

    Parameters
    ----------
    penalty : float or None, default=None
        λ of the solution to return; None lets `n_nonzero` choose, or returns the end of the path.
    n_nonzero : int or None, default=None
        Largest number of coordinates off the background; the last solution of the path within it is returned.
    background : float or array of shape (d,), default=0.0
        b.
    method : {"proximal", "path_seeking"}, default="proximal"
    n_penalties : int, default=30
        Values of λ, geometric from λ_max to `smallest` · λ_max (proximal).
    smallest : float, default=1e-3
        Ratio of the last λ to the first.
    step : float, default=0.01
        Step of path seeking, as a share of the largest modulus of the training points around the background.
    tol : float, default=1e-6
        Stop at a λ when a step is shorter than `tol` times the spread of the training points.
    max_iter : int, default=1000
        Steps for each λ (proximal), or hundreds of steps of path seeking.

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
        penalty=None,
        n_nonzero=None,
        background=0.0,
        method="proximal",
        n_penalties=30,
        smallest=1e-3,
        step=0.01,
        tol=1e-6,
        max_iter=1000,
    ):
        self.penalty = penalty
        self.n_nonzero = n_nonzero
        self.background = background
        self.method = method
        self.n_penalties = n_penalties
        self.smallest = smallest
        self.step = step
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, target, start=None, anchor=None):
        if self.method == "path_seeking":
            return self._solve_seeking(target)
        path = self.path(target)
        xp = array_namespace(path.points)
        chosen = self._choose(path)
        points = xp.stack([path.points[int(row), j, :] for j, row in enumerate(chosen)], axis=0)
        weights = from_numpy(to_numpy(path.penalties)[chosen, np.arange(len(chosen))], points)
        size = xp.sum(xp.abs(points - self._background(points)), axis=1)
        settled = path.settled[chosen, np.arange(len(chosen))]
        reason = Reason.choose(settled, Reason.CONVERGED, Reason.ITERATION_LIMIT)
        objective = objective_at(target, points) + weights * size
        return PreimageResult(points, objective, chosen + 1, settled, reason)

    def path(self, target):
        """All pre-images along the path.

        Returns
        -------
        SparsePathResult
        """
        objective, Z, background, steepest = self._begin(target)
        if self.method == "proximal":
            return self._proximal_path(objective, Z, background, steepest, spread(target.points))
        steps = list(self._seek(objective, Z, background, target))
        penalties, points, resting = zip(*steps, strict=True)
        return _as_path(list(penalties), list(points), background, [resting[-1]] * len(steps))

    def _begin(self, target):
        check_parameters(self)
        W = target.coefficients.T
        xp = array_namespace(W)
        background = self._background(W, target.points.shape[1])
        Z = xp.broadcast_to(background, (W.shape[0], background.shape[0])) + xp.zeros_like(W[:, :1])
        objective = TargetObjective.of(distance_model(target.kernel, target.points), W, Z, 0.0)
        steepest = xp.max(xp.abs(objective.at(Z).gradient), axis=1)
        if bool(xp.any(steepest <= 0)):
            raise ValueError(
                "SparsePath cannot leave the background: the kernel does not feel the training points from there. "
                "Subtract the background (the mean, for instance), or widen the kernel."
            )
        return objective, Z, background, steepest

    def _solve_seeking(self, target):
        """The step of the walk that `_choose` would choose, with no other step kept: a walk has thousands of them."""
        objective, start, background, steepest = self._begin(target)
        xp = array_namespace(start)
        points, weights, chosen = start, steepest, np.zeros(start.shape[0], int)
        settled = np.zeros(start.shape[0], bool)
        for number, (penalties, Z, resting) in enumerate(self._seek(objective, start, background, target)):
            wanted = self._is_candidate(penalties, Z, background)
            mask = from_numpy(wanted, Z, dtype=xp.bool)
            points, weights = xp.where(mask[:, None], Z, points), xp.where(mask, penalties, weights)
            chosen, settled = np.where(wanted, number, chosen), resting
        size = xp.sum(xp.abs(points - background), axis=1)
        reason = Reason.choose(settled, Reason.CONVERGED, Reason.ITERATION_LIMIT)
        return PreimageResult(points, objective_at(target, points) + weights * size, chosen + 1, settled, reason)

    def _is_candidate(self, penalties, Z, background):
        """Whether each target may end at this step; the last such step is the answer."""
        if self.n_nonzero is not None:
            return _counts(Z, background) <= self.n_nonzero
        if self.penalty is not None:
            return to_numpy(penalties) >= self.penalty
        return np.ones(Z.shape[0], bool)

    def _proximal_path(self, objective, Z, background, steepest, size):
        xp = array_namespace(Z)
        ratios = np.geomspace(1, self.smallest, self.n_penalties)
        tolerance = max(self.tol, 4 * epsilon(Z.dtype)) * size
        penalties, points, settled = [], [], []
        for ratio in ratios:
            weights = steepest * float(ratio)
            if self.penalty is not None:
                weights = xp.clip(weights, min=float(self.penalty))
            Z, done = _proximal_descent(objective, Z, background, weights, tolerance, self.max_iter)
            penalties.append(weights)
            points.append(Z)
            settled.append(done)
        if self.penalty is not None:
            weights = xp.full_like(steepest, float(self.penalty))
            Z, done = _proximal_descent(objective, Z, background, weights, tolerance, self.max_iter)
            penalties.append(weights)
            points.append(Z)
            settled.append(done)
        return _as_path(penalties, points, background, settled)

    def _seek(self, objective, Z, background, target):
        """The steps of the walk, one after the other: λ (q,), points (q, d), and which targets have come to rest."""
        xp = array_namespace(Z)
        largest = float(xp.max(xp.abs(target.points - background)))
        size = self.step * largest
        counts = np.zeros(Z.shape, dtype=np.int64)
        seen = [set() for _ in counts]
        rows = np.arange(len(counts))
        resting = np.zeros(len(counts), bool)
        for _ in range(100 * self.max_iter):
            Z = background + size * from_numpy(counts, Z)
            scores = -to_numpy(objective.at(Z).gradient)
            steepest = np.abs(scores).max(axis=1)
            resting = resting | (steepest < 1e-8)
            yield from_numpy(steepest, Z), Z, resting
            if resting.all():
                return
            shrinking = scores * counts < 0
            order = np.where(shrinking.any(axis=1)[:, None] & ~shrinking, -1.0, np.abs(scores))
            chosen = np.argmax(order, axis=1)
            moved = counts.copy()
            moved[rows, chosen] += np.sign(scores[rows, chosen]).astype(np.int64)
            for j in np.flatnonzero(~resting):
                key = blake2b(moved[j].tobytes(), digest_size=16).digest()  # a step has as many bytes as an image
                resting[j] = key in seen[j]  # been there: from here on the walk only circles
                seen[j].add(key)
            counts = np.where(resting[:, None], counts, moved)

    def _choose(self, path):
        """The step of the path to return, for each target."""
        m, q = path.n_nonzero.shape
        if self.n_nonzero is not None:
            within = path.n_nonzero <= self.n_nonzero
            return m - 1 - np.argmax(within[::-1], axis=0)
        return np.full(q, m - 1)

    def _background(self, like, size=None):
        d = like.shape[-1] if size is None else size
        return from_numpy(np.broadcast_to(np.asarray(self.background, dtype=float), (d,)), like)


def _proximal_descent(objective, Z, background, weights, tolerance, max_iter):
    """Minimise ρ(z) + λ‖z − b‖₁ by steps z ← shrink(z − g/D, λ/D), D raised until the objective falls."""
    xp = array_namespace(Z)
    penalty = lambda Z: weights * xp.sum(xp.abs(Z - background), axis=1)
    here = objective.at(Z)
    value = here.value + penalty(Z)
    raised = xp.ones_like(value)
    for _ in range(max_iter):
        bound = _curvature_bound(here) * raised
        moved = Z - here.gradient / bound[:, None] - background
        threshold = (weights / bound)[:, None]
        new_Z = background + xp.sign(moved) * xp.clip(xp.abs(moved) - threshold, min=0.0)
        there = objective.at(new_Z)
        new_value = there.value + penalty(new_Z)
        better = new_value <= value
        step = xp.sqrt(xp.sum((new_Z - Z) ** 2, axis=1))
        settled = (step <= tolerance) | (~better & (raised > 2.0**30))
        Z = xp.where(better[:, None], new_Z, Z)
        value = xp.where(better, new_value, value)
        here = there.where(better, here)
        raised = xp.where(better, xp.clip(raised / 2, min=1.0), raised * 4)
        if bool(xp.all(settled)):
            break
    return Z, to_numpy(settled)


def _curvature_bound(here):
    xp = array_namespace(here.value)
    if here.safe_curvature is None:
        lengths = xp.sqrt(xp.sum(here.gradient**2, axis=1))
        return xp.clip(lengths, min=epsilon(lengths.dtype))
    return xp.where(here.safe_curvature > 0, here.safe_curvature, xp.ones_like(here.value))


def _as_path(penalties, points, background, settled):
    xp = array_namespace(points[0])
    counts = [_counts(Z, background) for Z in points]
    return SparsePathResult(xp.stack(penalties, axis=0), xp.stack(points, axis=0), np.stack(counts), np.stack(settled))


def _counts(Z, background):
    """How many coordinates of each row differ from the background, in NumPy."""
    xp = array_namespace(Z)
    return to_numpy(xp.sum(xp.astype(background != Z, xp.int64), axis=1))
