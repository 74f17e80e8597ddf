"""The nearest image (P1): the distance to targets, one point per target, and how it is minimised."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon, is_sparse, take_rows, to_dense, to_numpy
from preimage._engine.progress import stage
from preimage._engine.rows import ThreadBuffer
from preimage._engine.typing import Array
from preimage.kernels import Gaussian, InnerProduct, Kernel, ProfileKernel, SquaredDistance, Warped
from preimage.solvers._blocks import WORK_OF_A_ROUGH_STEP, WORK_OF_A_STEP, for_query_blocks, tile_rows, tiles
from preimage.solvers._descent import Box, Evaluation, Objective, StepRule, minimize_rows, spread
from preimage.solvers._preimage import PreimageResult, Reason
from preimage.solvers._rough_steps import FEWEST_NUMBERS, RoughResult, RoughSteps
from preimage.solvers._targets import Targets


def distance_model(kernel: Kernel, points: Array) -> "TargetModel":
    """The distance ρ(z) − ‖Ψ‖² = k(z, z) − 2ψ(z) of (P1), prepared for targets on the given points."""
    if type(kernel) is Gaussian:  # a subclass may have another profile
        return _GaussianDistance(kernel, points)
    if not has_fixed_point(kernel) or isinstance(kernel, Warped):
        kernel.require_gradient("A pre-image")
    if isinstance(kernel, Warped):
        return _WarpedDistance(kernel, points)
    if has_fixed_point(kernel):
        return (_RadialDistance if kernel.is_radial else _DotProductDistance)(kernel, points)
    return _GeneralDistance(kernel, points)


def has_fixed_point(kernel: Kernel) -> bool:
    """Whether the papers' fixed points exist: profiles of the squared distance or inner product, warped or not."""
    return _has_profile(kernel.kernel if isinstance(kernel, Warped) else kernel)


class TargetModel(ABC):
    """An objective of z for targets Σ αᵢ φ(xᵢ) on fixed points: what does not depend on coefficients, prepared once."""

    @abstractmethod
    def __init__(self, kernel: Kernel, points: Array) -> None: ...

    def lift(self, W: Array) -> Array:
        """Coefficients (q, n) of targets, as `evaluate` takes them."""
        return W

    @abstractmethod
    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        """The objectives of the targets with coefficients W at the rows of Z."""


@dataclass(frozen=True)
class TargetObjective(Objective):
    """A model with one target per row, and λ‖z − anchor‖² added."""

    model: TargetModel
    coefficients: Array
    anchor: Array
    penalty: float

    @classmethod
    def of(cls, model: TargetModel, W: Array, anchor: Array, penalty: float) -> "TargetObjective":
        return cls(model, model.lift(W), anchor, penalty)

    def at(self, Z: Array) -> Evaluation:
        W = self.coefficients
        parts = [self.model.evaluate(W[tile, :], Z[tile, :]) for tile in tiles(W.shape[0], W.shape[1], W)]
        return Evaluation.join(parts).penalized(Z, self.anchor, self.penalty)

    def take(self, rows: np.ndarray) -> "TargetObjective":
        some = lambda array: take_rows(array, rows)
        return replace(self, coefficients=some(self.coefficients), anchor=some(self.anchor))


class _GaussianDistance(TargetModel):
    """The radial model for f′ = −γf, with half the passes over the block: denoising spends its time here."""

    def __init__(self, kernel: Gaussian, points: Array) -> None:
        self.kernel, self.points = kernel, points
        most = tile_rows(points.shape[0], points)
        self.on_host = most is not None and not is_sparse(points)
        self.values = kernel.prepare(points)
        if most is not None and self.on_host:
            # The same memory in every step: new memory would cost as much as the values.
            self.tile = ThreadBuffer(most, points.shape[0], points.dtype)

    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        xp, gamma = array_namespace(W), self.kernel.gamma
        # With f′ = −γf value, gradient and curvature need only W ∘ K and its row sums.
        weights = self._kernel_values(Z)
        weights *= W
        psi, contracted = xp.sum(weights, axis=1), weights @ self.points
        size = xp.sum(_moduli_of(weights), axis=1)
        return Evaluation(
            1 - 2 * psi,
            (4 * gamma) * (psi[:, None] * Z - contracted),
            _rounding(xp.ones_like(psi), size),
            4 * gamma * psi,
            4 * gamma * size,
        )

    def _kernel_values(self, Z: Array) -> Array:
        """K, which may be changed, and is valid until the same thread asks again."""
        if not self.on_host:
            return self.values(Z)
        out = self.tile.part(Z.shape[0], self.points.shape[0])
        out = out if out.shape[0] == Z.shape[0] else np.empty((Z.shape[0], self.points.shape[0]), out.dtype)
        return self.values(Z, out)


def _moduli_of(fresh: Array) -> Array:
    """|w|, in place for a NumPy array, which no one else may hold."""
    return np.abs(fresh, out=fresh) if isinstance(fresh, np.ndarray) else array_namespace(fresh).abs(fresh)


class _RadialDistance(TargetModel):
    def __init__(self, kernel: ProfileKernel, points: Array) -> None:
        self.kernel, self.points = kernel, points
        self.squared_distances = kernel.pairwise.prepare(points)

    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        xp = array_namespace(W)
        values, derivatives = self.kernel.profile_with_derivative(self.squared_distances(Z))
        weights = W * derivatives  # (q, n); a point with a negative weight attracts
        total = xp.sum(weights, axis=1)
        diagonal = self.kernel.diagonal(Z)
        return Evaluation(
            diagonal - 2 * xp.vecdot(W, values),
            -4 * (total[:, None] * Z - weights @ self.points),  # of −2ψ, by (K0d)
            _rounding(diagonal, xp.vecdot(xp.abs(W), xp.abs(values))),
            -4 * total,
            4 * xp.sum(xp.abs(weights), axis=1),
        )


class _DotProductDistance(TargetModel):
    def __init__(self, kernel: ProfileKernel, points: Array) -> None:
        self.kernel, self.points = kernel, points

    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        xp, points = array_namespace(W), self.points
        products = to_dense((points @ Z.T).T) if is_sparse(points) else Z @ points.T
        values, derivatives = self.kernel.profile_with_derivative(products)
        diagonal, diagonal_derivative = self.kernel.profile_with_derivative(xp.sum(Z * Z, axis=1))
        return Evaluation(
            diagonal - 2 * xp.vecdot(W, values),
            2 * (diagonal_derivative[:, None] * Z - (W * derivatives) @ points),
            _rounding(diagonal, xp.vecdot(xp.abs(W), xp.abs(values))),
            2 * diagonal_derivative,
            2 * xp.abs(diagonal_derivative),
        )


class _WarpedDistance(TargetModel):
    """Under a warped kernel the coefficients a of a target on the points of the graph become a + Mk(z)  (W3).

    ρ(z) = k(z, z) − kᵀMk − 2kᵀa has the gradient of k(z, z) − 2kᵀw for w = a + Mk held fixed, hence also the fixed
    point of the kernel itself with the weights w. They have both signs whatever the target.
    """

    def __init__(self, kernel: Warped, points: Array) -> None:
        self.form, self.kernel = kernel.unwarped(points), kernel.kernel
        self.has_profile = _has_profile(self.kernel)
        nodes = self.form.points
        self.prepared = (self.kernel.pairwise if self.has_profile else self.kernel).prepare(nodes)

    def lift(self, W: Array) -> Array:
        return self.form.lift(W)

    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        xp, kernel = array_namespace(W), self.kernel
        derivatives = None
        if self.has_profile:
            values, derivatives = kernel.profile_with_derivative(self.prepared(Z))
            contracted = lambda weights: kernel.pairwise.gradient(Z, self.form.points, weights * derivatives)
        else:
            values, contracted = self.prepared.with_gradient(Z)
        correction = self.form.correction(values)
        weights = W + correction
        diagonal = kernel.diagonal(Z)
        return Evaluation(
            diagonal - xp.vecdot(values, correction) - 2 * xp.vecdot(values, W),
            kernel.diagonal_gradient(Z) - 2 * contracted(weights),
            _rounding(diagonal, xp.vecdot(xp.abs(values), xp.abs(W)) + self.form.correction_rounding(values) / 2),
            *self._curvatures(weights, derivatives, Z),
        )

    def _curvatures(self, weights: Array, derivatives: Array | None, Z: Array) -> tuple[Array | None, Array | None]:
        if derivatives is None:
            return None, None
        xp = array_namespace(weights)
        if self.kernel.is_radial:
            return -4 * xp.vecdot(weights, derivatives), 4 * xp.vecdot(xp.abs(weights), xp.abs(derivatives))
        diagonal = 2 * self.kernel.profile_derivative(self.kernel.pairwise.diagonal(Z))
        return diagonal, xp.abs(diagonal)


class _GeneralDistance(TargetModel):
    """Any kernel with a gradient; no fixed point."""

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self.kernel, self.prepared = kernel, kernel.prepare(points)

    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        xp = array_namespace(W)
        values, contracted = self.prepared.with_gradient(Z)
        diagonal = self.kernel.diagonal(Z)
        return Evaluation(
            diagonal - 2 * xp.vecdot(W, values),
            self.kernel.diagonal_gradient(Z) - 2 * contracted(W),
            _rounding(diagonal, xp.vecdot(xp.abs(W), xp.abs(values))),
        )


def _has_profile(kernel: Kernel) -> bool:
    return isinstance(kernel, ProfileKernel) and kernel.pairwise in (SquaredDistance(), InnerProduct())


def _rounding(diagonal: Array, size: Array) -> Array:
    """Rounding errors of k(z, z) − 2ψ(z) when the terms of ψ have the given sum of moduli."""
    return 4 * epsilon(size.dtype) * (array_namespace(size).abs(diagonal) + 2 * size)


# Points farther from the middle of the data than this many times the farthest data point, and than their start, are
# lost: kernel PCA knows nothing of what lies beyond the data. At ten times as much, answers of sigmoid kernels leave
# the wine data by 40 standard deviations.
REACH = 2.0


@dataclass(frozen=True)
class NearestImage:
    """The problems ρ(z) + λ‖z − anchor‖² → min, one per target."""

    targets: Targets
    start: Array
    anchor: Array
    penalty: float = 0.0

    @classmethod
    def of(cls, targets: Targets, start: Array | None, anchor: Array | None, penalty: float) -> "NearestImage":
        """The problems with their defaults: start at the point with the nearest image, be drawn to the start."""
        start = targets.nearest() if start is None else to_dense(start)
        return cls(targets, start, start if anchor is None else to_dense(anchor), float(penalty))

    def take(self, rows: np.ndarray) -> "NearestImage":
        """The problems with the given NumPy indices."""
        return replace(
            self,
            targets=self.targets.take(rows),
            start=take_rows(self.start, rows),
            anchor=take_rows(self.anchor, rows),
        )

    def solve(
        self,
        rule: StepRule,
        box: Box,
        max_iter: int,
        model: TargetModel | None = None,
        *,
        rough_steps: RoughSteps | None = None,
    ) -> PreimageResult:
        """Descend from all starts, by `rule`, within `box`; `model` is the objective, the distance (P1) by default.

        Problems that start where the kernel vanishes start again at the point with the nearest image. With
        `rough_steps` the descent begins where these end.
        """
        model = distance_model(self.targets.kernel, self.targets.points) if model is None else model
        result = self._in_blocks(rule, box, max_iter, model, rough_steps)
        lost = np.flatnonzero(result.reason == Reason.VANISHING)
        if lost.size:
            part = self.take(lost)
            again = replace(part, start=part.targets.nearest())._in_blocks(rule, box, max_iter, model)
            result = result.replaced(lost, again.better_of(result.take(lost)))
        return result

    def rough_steps(self, size: float, tol: float) -> RoughSteps | None:
        """First steps to the fixed points, for a rule that goes there; None where there are none that gain time."""
        kernel, points = self.targets.kernel, self.targets.points
        is_double = isinstance(points, np.ndarray) and points.dtype == np.float64
        if type(kernel) is not Gaussian or not is_double or points.size < FEWEST_NUMBERS:
            return None
        return RoughSteps(kernel, points, self.penalty, size, tol)

    def _in_blocks(
        self, rule: StepRule, box: Box, max_iter: int, model: TargetModel, rough_steps: RoughSteps | None = None
    ) -> PreimageResult:
        start, anchor = self.start, self.anchor
        with stage("Finding pre-images", start.shape[0]) as advance:

            def descend(rows: slice) -> PreimageResult:
                W = self.targets.coefficients(rows)
                problem = TargetObjective.of(model, W, anchor[rows, :], self.penalty)
                if rough_steps is None:
                    found = minimize_rows(problem, start[rows, :], box, rule, max_iter)
                else:
                    rough = rough_steps(W, start[rows, :], anchor[rows, :])
                    found = _from_rough(rough, problem, start[rows, :], box, rule, max_iter)
                advance(rows.stop - rows.start)
                return found

            points, step = self.targets.points, WORK_OF_A_STEP if rough_steps is None else WORK_OF_A_ROUGH_STEP
            result = PreimageResult.join(for_query_blocks(descend, start.shape[0], points, start, step))
        return replace(result, objective=result.objective + self.targets.squared_norms())

    def kept_near(self, result: PreimageResult, rule: StepRule, box: Box, max_iter: int) -> PreimageResult:
        """`result` with the problems that ran away from the points solved again within the range of the data.

        The distance (P1) is bounded below for a positive semidefinite kernel only. For an indefinite one it may
        decrease without bound towards infinity, where inputs have nothing to do with the target.
        """
        if self.targets.kernel.is_positive_semidefinite:
            return result
        lost = beyond_reach(result.points, self.targets.points, self.start)
        if not lost.size:
            return result
        again = self.take(lost).solve(rule, box.within(*_range_of(self.targets.points)), max_iter)
        again = replace(again, reason=Reason.array(lost.size, Reason.RESTRICTED), converged=np.zeros(lost.size, bool))
        return result.replaced(lost, again)


# Steps in double precision after rough ones, at least. One leaves differences of 2e-8 between the same rows in other
# blocks, two leave 7e-9 and four leave 4e-10, on digits.
STEPS_AFTER_ROUGH = 3


def _from_rough(
    rough: RoughResult, objective: Objective, start: np.ndarray, box: Box, rule: StepRule, max_iter: int
) -> PreimageResult:
    """Descend from where rough steps ended, and from the start where the result may be no lower than that."""
    # Rounding errors of single precision, which depend on the block, are below the tolerance, and each step leaves a
    # fraction of them.
    left = max_iter - int(rough.n_iter.max(initial=0))
    found = minimize_rows(objective, rough.points, box, rule, left, least=STEPS_AFTER_ROUGH)
    found = replace(found, n_iter=found.n_iter + rough.n_iter)
    doubtful = np.flatnonzero(~(found.objective < rough.safe_values))
    if not doubtful.size:
        return found
    again = minimize_rows(objective.take(doubtful), start[doubtful], box, rule, max_iter)
    return found.replaced(doubtful, again)


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
