"""Sparse pre-images: the Lasso path from the background to the dense solution."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, to_dense, to_numpy
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, StrOptions, check_parameters
from preimage._engine.warnings import warn_user
from preimage.exceptions import ConvergenceWarning
from preimage.feature_space import Expansion
from preimage.solvers._blocks import for_query_blocks
from preimage.solvers._descent import spread
from preimage.solvers._nearest_image import TargetModel, TargetObjective, distance_model
from preimage.solvers._preimage import DescentSolver, PreimageResult, Reason
from preimage.solvers._sparse_count import Found, last_within
from preimage.solvers._sparse_steps import Begin, Scales, Step, counts_off, descended, walk
from preimage.solvers._targets import GivenTargets, Targets


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
    preimage.neuro.split_half_denoising : How well sparse pre-images of scans reproduce.
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

        def solve(rows: slice) -> tuple[PreimageResult, float]:
            begin = self._begin(model, targets.coefficients(rows), scales)
            found, n_iter = self._chosen(begin)
            xp = array_namespace(found.points)
            size = xp.sum(xp.abs(found.points - scales.background), axis=1)
            objective = begin.objective.at(found.points).value + norms[rows] + found.penalties * size
            reason = Reason.choose(found.settled, Reason.CONVERGED, Reason.ITERATION_LIMIT)
            result = PreimageResult(found.points, objective, n_iter, found.settled, reason)
            return result, float(xp.max(begin.steepest))

        blocks = for_query_blocks(solve, norms.shape[0], targets.points, norms)
        result = PreimageResult.join([block for block, _ in blocks])
        self._warn_of_background(counts_off(result.points, scales.background), max(most for _, most in blocks))
        return result

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
        steps = list(self._steps(begin))
        # A walk is one search: it has come to rest at its end or not at all.
        settled = [(step if self.method == "proximal" else steps[-1]).settled for step in steps]
        xp = array_namespace(begin.Z)
        return SparsePathResult(
            xp.stack([step.penalties for step in steps], axis=0),
            xp.stack([step.points for step in steps], axis=0),
            np.stack([counts_off(step.points, scales.background) for step in steps]),
            np.stack(settled),
        )

    def _scales(self, points: Array, like: Array) -> Scales:
        xp = array_namespace(like)
        d = points.shape[1]
        background = from_numpy(np.broadcast_to(np.asarray(self.background, dtype=float), (d,)), like)
        return Scales(background, spread(points), float(xp.max(xp.abs(to_dense(points) - background))))

    def _begin(self, model: TargetModel, W: Array, scales: Scales) -> Begin:
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
        return Begin(objective, Z, scales, steepest)

    def _steps(self, begin: Begin) -> Iterator[Step]:
        """The steps of the path, one after the other."""
        if self.method == "path_seeking":
            yield from walk(begin, begin.Z, self.step, self.max_iter)
            return
        Z = begin.Z
        for weights in self._penalties(begin):
            step = descended(begin, Z, weights, self.tol, self.max_iter)
            yield step
            Z = step.points

    def _penalties(self, begin: Begin) -> list[Array]:
        """λ of each step of a proximal path, falling, not below `penalty`."""
        xp, least = array_namespace(begin.Z), self.penalty
        weights = [begin.steepest * float(ratio) for ratio in np.geomspace(1, self.smallest, self.n_penalties)]
        if least is None:
            return weights
        return [*(xp.clip(each, min=float(least)) for each in weights), xp.full_like(begin.steepest, float(least))]

    def _chosen(self, begin: Begin) -> Found:
        """For each target the step that it ends at; the steps before are not kept, there may be thousands."""
        if self.n_nonzero is not None:
            penalties = None if self.method == "path_seeking" else self._penalties(begin)
            return last_within(
                begin,
                int(self.n_nonzero),
                penalties,
                self.penalty,
                step=self.step,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        xp, q = array_namespace(begin.Z), begin.Z.shape[0]
        chosen, numbers = Step(begin.steepest, begin.Z, np.zeros(q, bool)), np.zeros(q, int)
        for number, step in enumerate(self._steps(begin)):
            allowed = np.ones(q, bool) if self.penalty is None else to_numpy(step.penalties) >= self.penalty
            chosen = step.where(from_numpy(allowed, step.points, dtype=xp.bool), chosen)
            numbers = np.where(allowed, number, numbers)
        # A walk is one search, see `path`.
        settled = chosen.settled if self.method == "proximal" else step.settled
        return Found(Step(chosen.penalties, chosen.points, settled), numbers + 1)

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
