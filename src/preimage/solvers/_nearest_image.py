"""The nearest images (P1) of vectors of feature space: the vectors, where to start, and how distances are minimised."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, concat_rows, take_rows, to_dense, to_numpy, transposed
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage.descent import Box, PreimageResult, Reason, StepRule, for_query_blocks, minimize_rows, spread, tile_rows
from preimage.feature_space import Expansion, Gram, Subspace
from preimage.kernels import Kernel
from preimage.solvers._distance import TargetModel, TargetObjective, distance_model

# Points farther from the middle of the data than this many times the farthest data point, and than their start, are
# lost: kernel PCA knows nothing of what lies beyond the data. At ten times as much, answers of sigmoid kernels leave
# the wine data by 40 standard deviations.
REACH = 2.0


@dataclass(frozen=True)
class NearestImage:
    """The problems ρ(z) + λ‖z − anchor‖² → min, one per vector Ψⱼ = Σᵢ wⱼᵢ φ(xᵢ) on shared points.

    Attributes
    ----------
    kernel : Kernel
    points : array of shape (n, d)
    weights : array of shape (q, n) or (q, k)
        The coefficients w; or coordinates, where ``weights @ axes + constant`` are the coefficients: these are formed
        for a block of problems at a time, since there are as many per target as there are training points.
    squared_norms : array of shape (q,)
    nearest_to : callable
        Maps weights to the points with the nearest images.
    axes, constant : arrays of shape (k, n) and (n,), or None
    start, anchor : arrays of shape (q, d)
        Set by `starting`.
    penalty : float
        λ.
    """

    kernel: Kernel
    points: Array
    weights: Array
    squared_norms: Array
    nearest_to: Callable[[Array], Array]
    axes: Array | None = None
    constant: Array | None = None
    start: Array = None
    anchor: Array = None
    penalty: float = 0.0

    @classmethod
    def of_vectors(cls, vectors: Expansion) -> "NearestImage":
        """The problems of the vectors of an expansion."""
        kernel, points = vectors.kernel, vectors.points
        nearest_to = lambda weights: nearest_points(Expansion(kernel, points, weights.T))
        return cls(kernel, points, vectors.coefficients.T, vectors.squared_norms(), nearest_to)

    @classmethod
    def of_coordinates(cls, subspace: Subspace, Y: Array) -> "NearestImage":
        """The problems of the points of a subspace with coordinates Y."""
        frame, origin = subspace.frame, subspace.origin
        points, axes = frame.points, frame.coefficients
        constant = None if origin is None else origin.coefficients[:, 0]
        if origin is not None and origin.points is not points:
            xp = array_namespace(axes)
            points = concat_rows(points, origin.points)
            constant = xp.concat([xp.zeros_like(axes[:, 0]), constant])
            axes = concat_rows(axes, xp.zeros_like(axes[:1, :] * origin.coefficients))
        axes = axes if subspace.signature is None else axes * subspace.signature
        nearest_to = lambda weights: nearest_in_subspace(subspace, weights)
        return cls(frame.kernel, points, Y, subspace.embedded_norms(Y), nearest_to, axes.T, constant)

    @property
    def inputs(self) -> Array:
        """The points as rows of data, shape (n, d)."""
        return self.kernel.inputs_of_points(self.points)

    def coefficients(self, rows: slice) -> Array:
        """The coefficients of some of the vectors, one contiguous row each: every step of a descent reads them."""
        if self.axes is None:
            return transposed(self.weights[rows, :].T)
        inside = self.weights[rows, :] @ self.axes
        if self.constant is None:
            return inside
        return np.add(inside, self.constant, out=inside) if isinstance(inside, np.ndarray) else inside + self.constant

    def nearest(self) -> Array:
        """The points with the nearest images, shape (q, d)."""
        return self.nearest_to(self.weights)

    def take(self, rows: np.ndarray) -> "NearestImage":
        """The problems with the given NumPy indices."""
        fields = {name: getattr(self, name) for name in ("weights", "squared_norms", "start", "anchor")}
        return replace(self, **{name: take_rows(each, rows) for name, each in fields.items() if each is not None})

    def moved(self, kernel: Kernel, origin: Array) -> "NearestImage":
        """The same vectors under `kernel` of inputs x − origin; norms do not change with the move."""
        nearest_to = lambda weights: self.nearest_to(weights) - origin
        return replace(self, kernel=kernel, points=to_dense(self.points) - origin, nearest_to=nearest_to)

    def starting(self, start: Array | None, anchor: Array | None = None, penalty: float = 0.0) -> "NearestImage":
        """The problems from a start, by default the point with the nearest image, drawn to the anchor or the start."""
        start = self.nearest() if start is None else to_dense(start)
        anchor = start if anchor is None else to_dense(anchor)
        return replace(self, start=start, anchor=anchor, penalty=float(penalty))

    def solve(
        self, rule: StepRule, box: Box, max_iter: int, model: TargetModel | None = None, rough: Any = None
    ) -> PreimageResult:
        """Descend from all starts, by `rule`, within `box`; `model` is the objective, the distance (P1) by default.

        Problems that start where the kernel vanishes start again at the point with the nearest image. With `rough`
        steps (`RoughSteps`) the descent begins where these end.
        """
        model = distance_model(self.kernel, self.points) if model is None else model
        result = self._in_blocks(rule, box, max_iter, model, rough)
        lost = np.flatnonzero(result.reason == Reason.VANISHING)
        if lost.size:
            part = self.take(lost)
            again = replace(part, start=part.nearest())._in_blocks(rule, box, max_iter, model, None)
            result = result.replaced(lost, again.better_of(result.take(lost)))
        return result

    def _in_blocks(self, rule: StepRule, box: Box, max_iter: int, model: TargetModel, rough: Any) -> PreimageResult:
        with stage("Finding pre-images", self.start.shape[0]) as advance:

            def descend(rows: slice) -> PreimageResult:
                W, start, anchor = self.coefficients(rows), self.start[rows, :], self.anchor[rows, :]
                minimize = minimize_rows if rough is None else rough.of(W, anchor)
                found = minimize(TargetObjective.of(model, W, anchor, self.penalty), start, box, rule, max_iter)
                advance(rows.stop - rows.start)
                return found

            work = {} if rough is None else {"work_of_a_step": rough.work_of_a_step}
            blocks = for_query_blocks(descend, self.start.shape[0], self.points, self.start, **work)
        result = PreimageResult.join(blocks)
        return replace(result, objective=result.objective + self.squared_norms)

    def kept_near(self, result: PreimageResult, rule: StepRule, box: Box, max_iter: int) -> PreimageResult:
        """`result` with the problems that ran away from the points solved again within the range of the data.

        The distance (P1) is bounded below for a positive semidefinite kernel only. For an indefinite one it may
        decrease without bound towards infinity, where inputs have nothing to do with the target.
        """
        if self.kernel.is_positive_semidefinite:
            return result
        lost = beyond_reach(result.points, self.points, self.start)
        if not lost.size:
            return result
        points = to_dense(self.points)
        xp = array_namespace(points)
        again = self.take(lost).solve(rule, box.within(xp.min(points, axis=0), xp.max(points, axis=0)), max_iter)
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


def _distances(Z: Array, middle: Array) -> np.ndarray:
    """Distances of the rows of Z from a point, in NumPy."""
    Z = to_dense(Z)
    xp = array_namespace(Z)
    return to_numpy(xp.sqrt(xp.sum((Z - middle) ** 2, axis=1)))


def nearest_in_subspace(subspace: Subspace, Y: Array) -> Array:
    """The training points whose images are nearest to the points of `subspace` with coordinates Y.

    ρ(xᵢ) = ‖φ(xᵢ) − Pφ(xᵢ)‖² + ‖β(xᵢ) − y‖² needs no kernel values other than the coordinates of the points.
    """
    numbers = nearest_among(subspace, *subspace.of_points, Y)
    return to_dense(take_rows(subspace.frame.points, numbers))


def nearest_among(subspace: Subspace, known: Array, residuals: Array, Y: Array) -> np.ndarray:
    """Numbers of the points whose images are nearest to the points of `subspace` with coordinates Y.

    They are known by their coordinates, and by their squared distances to the subspace.
    """
    signs = 1 if subspace.signature is None else subspace.signature
    constant = residuals + array_namespace(known).sum(known * known * signs, axis=1)
    return _smallest(lambda rows: constant[None, :] - 2 * (rows * signs) @ known.T, Y, known.shape[0])


def nearest_points(target: Expansion) -> Array:
    """For each vector of `target`, the one of its points with the smallest ρ."""
    inputs = target.inputs
    gram = Gram(target.kernel, inputs, None if inputs is target.points else target.points)
    values = gram @ target.coefficients  # ψ at all points, (n, q)
    diagonal = target.kernel.diagonal(inputs)
    numbers = _smallest(lambda rows: diagonal[None, :] - 2 * rows, values.T, diagonal.shape[0])
    return to_dense(take_rows(inputs, numbers))


def _smallest(function: Callable[[Array], Array], rows: Array, n_columns: int) -> np.ndarray:
    """The number of the smallest of the `n_columns` columns of `function(rows)`, for each row."""
    smallest = lambda block: np.argmin(to_numpy(function(block)), axis=1)
    return map_rows(smallest, rows, rows=tile_rows(n_columns, rows))
