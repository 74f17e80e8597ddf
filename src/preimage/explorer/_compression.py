"""Models of many points made small for a page, and what that changes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage._engine.typing import Array, Seed
from preimage._engine.validation import generator
from preimage._engine.warnings import unwarned
from preimage._models.machines import Coordinates, KernelMachine
from preimage.descent import spread
from preimage.estimators import compress
from preimage.explorer._models import PageModel
from preimage.explorer._precision import POINT_STEP, counted, in_steps, percent
from preimage.feature_space import Expansion
from preimage.kernels import Kernel, is_profile
from preimage.landmarks import AutoLandmarks
from preimage.reduced_sets import Distill, Reducer, Reduction

# Rows that a small model is fitted to, and steps in which its points move. On the 7,291 digits of USPS with 16
# components pre-images move by 1.4 % of the spread of the data without a step (3 s on one core), 0.35 % with 20 steps
# (5 s), 0.25 % with 40 (7 s) and 0.21 % with 60 (9 s); the constructed starts and 120 steps of `compress` reach 0.21 %
# in 30 s.
ROWS_TO_FIT, STEPS = 1000, 40
# Rows of which pre-images are compared: a median of more hardly changes.
ROWS_TO_COMPARE = 50


@dataclass(frozen=True)
class Loss:
    """What a small model loses.

    Attributes
    ----------
    n_points, n_original_points : int
    variance : float
        Fraction of the variance of coordinates that is not reproduced.
    preimages : float
        Median distance of pre-images of the rows from those of the original, relative to the spread of the data;
        infinite where no nearest image is finite.
    """

    n_points: int
    n_original_points: int
    variance: float
    preimages: float

    def __str__(self) -> str:
        return (
            f"The page computes with {counted(self.n_points, 'point')} in place of the model's "
            f"{self.n_original_points:,}: coordinates lose {percent(self.variance)} of their "
            f"variance{_moved(percent, self.preimages)}."
        )


def said_of(losses: list[Loss]) -> list[str]:
    """One sentence about all compressed models of a page: what the worst of them loses."""
    if len(losses) < 2:
        return [str(loss) for loss in losses]
    most = lambda name: max(getattr(loss, name) for loss in losses)
    return [
        f"The page computes with {most('n_points'):,} points or fewer per model in place of up to "
        f"{most('n_original_points'):,}: coordinates lose {_up_to(most('variance'))} of their "
        f"variance{_moved(_up_to, most('preimages'))}."
    ]


def _moved(text: Callable[[float], str], fraction: float) -> str:
    return f", and pre-images move by {text(fraction)} of the spread of the data" if np.isfinite(fraction) else ""


def _up_to(fraction: float) -> str:
    text = percent(fraction)
    return text if text.startswith("less") else f"up to {text}"


def small_model(model: PageModel, n_points: int, Z: np.ndarray, random_state: Seed) -> tuple[PageModel, Loss | None]:
    """The model on at most `n_points` points, fitted to the rows Z of inputs of the kernel, and what that loses."""
    n_original = model.points.shape[0]
    if n_original <= n_points:
        return model, None
    Z = _some(Z, ROWS_TO_FIT)
    # Rows of a user may be few, or unlike the training set; the points of the model are like it.
    inputs = model.kernel.inputs_of_points(model.points)
    known = Z if Z.shape[0] >= ROWS_TO_FIT else np.concatenate([Z, _some(inputs, ROWS_TO_FIT)])
    # Landmarks of indefinite kernels cannot be chosen by what they leave.
    start = Centers() if model.kernel.is_positive_semidefinite else None
    method = OnRoundedPoints(Distill(start=start, max_iter=STEPS))
    small = compress(_machine(model, known), n_points, X=known, method=method, random_state=random_state)
    machine = small.machine_
    found = model.on(machine.expansion, np.asarray(machine.intercept))
    return found, _loss(model, found, known, Z)


class Centers(Reducer):
    """The points that landmarks of the same number would be, without coefficients: where `Distill` starts."""

    def reduce(
        self, target: Expansion, n_points: int, *, X: Array | None = None, rng: np.random.Generator | None = None
    ) -> Reduction:
        found = AutoLandmarks(n_points).select(target.kernel, target.points, rng=generator(0))
        return _Given(_some_at_least(found.points, target)).reduce(target, n_points)


class OnRoundedPoints(Reducer):
    """The points of another reducer, rounded so that they pack well, with coefficients that are best for them."""

    def __init__(self, reducer: Reducer) -> None:
        self.reducer = reducer

    def reduce(
        self, target: Expansion, n_points: int, *, X: Array | None = None, rng: np.random.Generator | None = None
    ) -> Reduction:
        found = self.reducer.reduce(target, n_points, X=X, rng=rng)
        points = _some_at_least(np.asarray(found.expansion.points), target)
        step = POINT_STEP * _deviations_seen(target.kernel, points)
        again = Distill(start=_Given(in_steps(points, step)), max_iter=0).reduce(target, n_points, X=X, rng=rng)
        return replace(again, converged=found.converged, reason=found.reason, n_iter=found.n_iter)


def _some_at_least(points: np.ndarray, target: Expansion) -> np.ndarray:
    """The points themselves; an error where a reducer found none."""
    if points.shape[0] == 0:
        raise ValueError(
            f"explore cannot compress this model: values of {target.kernel!r:.200} are too small to tell points apart. "
            f"Scale the inputs, choose another width, or keep all points by n_points={target.points.shape[0]}."
        )
    return points


def _deviations_seen(kernel: Kernel, points: np.ndarray) -> Any:
    """The deviation of points along one column: of all columns together where the kernel sees these alike."""
    alike = is_profile(kernel)
    return spread(points) / points.shape[1] ** 0.5 if alike else np.std(points, axis=0)


class _Given(Reducer):
    """Points that are known already, without coefficients."""

    def __init__(self, points: np.ndarray) -> None:
        self.points = points

    def reduce(
        self, target: Expansion, n_points: int, *, X: Array | None = None, rng: np.random.Generator | None = None
    ) -> Reduction:
        return Reduction(Expansion(target.kernel, self.points, np.zeros((self.points.shape[0], len(target)))))


def _some(rows: np.ndarray, count: int) -> np.ndarray:
    """About `count` of the rows, at equal distances."""
    return rows[:: -(-rows.shape[0] // count)]


def _machine(model: PageModel, Z: np.ndarray) -> KernelMachine:
    """Functions and origin of a model as a machine; errors count as they change the vectors with these coordinates."""
    functions, k = model.functions, len(model)
    Y = model.coordinates(Z)
    B = Y if model.features is None else Y @ model.features.T @ model.features
    weights, intercept, coefficients = np.std(B, axis=0), -model.offset, functions.coefficients
    if model.origin is not None:
        weights, intercept = np.append(weights, 1.0), np.append(intercept, 0.0)
        coefficients = np.concatenate([coefficients, model.origin.coefficients], axis=1)
    expansion = Expansion(model.kernel, functions.points, coefficients)
    return KernelMachine(expansion, intercept, Coordinates(k), Z.shape[1], None, weights)


@unwarned()
def _loss(model: PageModel, small: PageModel, known: np.ndarray, Z: np.ndarray) -> Loss:
    """Coordinates of all known rows, which a single row of a user would not tell about; pre-images of rows Z."""
    Y, approximate = model.coordinates(known), small.coordinates(known)
    variance = float(np.sum((Y - np.mean(Y, axis=0)) ** 2))
    squared = float(np.sum((approximate - Y) ** 2))
    some = _some(Z, ROWS_TO_COMPARE)
    before = model.solver.solve(model.target(model.coordinates(some)), some).points
    after = model.solver.solve(small.target(small.coordinates(some)), some).points
    moved = np.linalg.norm(after - before, axis=1) / spread(model.points)
    moved = moved[np.isfinite(moved)]  # nearest images of some kernels are at infinity
    lost = squared / variance if variance > 0 else 0.0
    return Loss(small.points.shape[0], model.points.shape[0], lost, float(np.median(moved)) if moved.size else np.inf)
