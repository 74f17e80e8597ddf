"""One model of a page: what comes before its kernel, the model itself, how both are made small, and their record."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import in_memory, is_sparse, to_dense, to_numpy
from preimage._engine.typing import Array, Seed
from preimage._engine.warnings import unwarned
from preimage.descent import Box, spread
from preimage.estimators import KernelNoveltyDetector
from preimage.explorer._compression import Loss, small_model
from preimage.explorer._decisions import Decision
from preimage.explorer._models import PageModel, fitted_kernel, is_machine, page_model, require_inputs, width_of
from preimage.explorer._precision import COORDINATE_STEP, in_single, in_steps
from preimage.explorer._rows import DrawnRows
from preimage.explorer._stand_ins import components_of
from preimage.interop import machine_of
from preimage.interop._page import kernel_record
from preimage.interop._pipeline import AffineMap, Steps, affine_map_of, taken_apart
from preimage.kernels import ChiSquaredDistance, Kernel, ManhattanDistance, ProfileKernel, Warped
from preimage.solvers import FixedPoint, Gradient
from preimage.solvers._nearest_image import enclosing_sphere

# Components of a page: each has a slider, a picture and an entry in two menus.
MOST_COMPONENTS = 64
# Points of a page, numbers that they have together, and how many there are whatever their length. A pre-image takes
# about twenty evaluations, each of two operations per number: two million numbers are a tenth of a second.
MOST_POINTS, MOST_POINT_NUMBERS, FEWEST_POINTS = 300, 2_000_000, 50
# Largest difference of coordinates from those that `transform` gives, in standard deviations: five times what models in
# single precision may lose. A class that computes something else differs by as much as coordinates vary.
MOST_DISAGREEMENT = 0.05
# Change of coordinates, in standard deviations, up to which points may be rounded to single precision. Pre-images then
# change by about as much of the spread of the data, a hundredth of what users are promised (1e-4).
MOST_ROUNDING = 1e-6
# Rows on which rounding is measured: what is lost is lost on most of them.
ROWS_TO_MEASURE = 256


@dataclass(frozen=True)
class Part:
    """A model, the map before it, the drawn rows as imputers before it fill them, and what a detector says of them."""

    model: PageModel
    front: Front
    inputs: np.ndarray
    detection: dict[str, Any] | None = None
    decision: Decision | None = None

    def record(
        self, name: str, n_components: int | None, n_points: int | None, random_state: Seed
    ) -> tuple[dict[str, Any], list[str], Loss | None]:
        """The entry of the model on a page, what should be said about it, and what compression loses."""
        notes = []
        count = min(len(self.model), n_components or MOST_COMPONENTS)
        if count < len(self.model):
            notes.append(f"The first {count} of {len(self.model)} components are shown.")
        if self.model.other_solver is not None:
            notes.append(
                f"Pre-images on this page are nearest images, by {type(self.model.solver).__name__}; the model itself "
                f"uses {self.model.other_solver}."
            )
        rows = self.front.shifted(self.model.shift)(self.inputs)
        most = max(FEWEST_POINTS, min(MOST_POINTS, MOST_POINT_NUMBERS // rows.shape[1]))
        small, loss = small_model(self.model.leading(count), n_points or most, rows, random_state)
        record = model_record(small, self.front, self.inputs, name, "" if loss is None else str(loss))
        decision = None
        if self.decision is not None:
            decision, said = self.decision.record(self.front, self.inputs, n_points or most, random_state)
            notes += said
        return {**record, "detection": self.detection, "decision": decision}, notes, loss


def read_part(estimator: Any, drawn: DrawnRows, n_components: int | None = None) -> Part:
    """A fitted estimator for a page, checked with the rows that are drawn."""
    steps, last = taken_apart(estimator)
    if is_machine(last):
        kernel = fitted_kernel(last)  # which refuses what is no kernel machine
        require_inputs(last, kernel)
        decision = Decision.of(estimator, last, drawn.given)
        front, inputs = front_of(steps, drawn.values)
        model = page_model(components_of(machine_of(last).expansion.kernel, front(inputs), n_components))
        return Part(model, front, inputs, _detection(estimator, last, drawn), decision)
    model = page_model(last)
    if isinstance(last, KernelNoveltyDetector):
        decision = Decision.of(estimator, last, drawn.given)
        return Part(model, *front_of(steps, drawn.values), _detection(estimator, last, drawn), decision)
    with unwarned():  # scikit-learn adds up rows to see whether they are finite
        expected = to_numpy(estimator.transform(drawn.given))  # which says what is wrong with rows
    front, inputs = front_of(steps, drawn.values)
    Z = front.shifted(model.shift)(inputs)
    found, expected = model.coordinates(Z), expected[:, : len(model)]
    # Rows that lie in the mean have coordinates of rounding errors alone: the unit is that of the training set, too.
    unit = np.maximum(model.deviations(found), np.max(np.abs(expected), axis=0) / 10)
    if found.shape != expected.shape or np.any(np.abs(found - expected) > MOST_DISAGREEMENT * unit):
        raise TypeError(
            f"explore would show other coordinates than {type(estimator).__name__}.transform gives; a subclass with "
            "another `transform` cannot be shown."
        )
    return Part(model, front, inputs)


def _detection(estimator: Any, last: Any, drawn: DrawnRows) -> dict[str, Any] | None:
    """Scores of the drawn rows, larger for outliers, and the threshold; None for models that detect nothing."""
    if not hasattr(last, "offset_") or not hasattr(last, "score_samples"):
        return None
    with unwarned():
        scores = -to_numpy(in_memory(estimator.score_samples(drawn.given)))
    # In double precision: scores of rows can be the threshold itself, and decisions are those of the detector.
    threshold = float(-to_numpy(last.offset_).reshape(-1)[0]) if np.ndim(last.offset_) else float(-last.offset_)
    return {"scores": np.ascontiguousarray(scores, dtype=np.float64), "threshold": threshold}


@dataclass(frozen=True)
class Front:
    """The map of rows of a user to inputs of the kernel, and a map back."""

    forward: AffineMap
    back: AffineMap

    @classmethod
    def shift(cls, shift: np.ndarray) -> Front:
        """The map that subtracts a vector."""
        one = np.ones(shift.size)
        return cls(AffineMap(one, -shift), AffineMap(one, shift))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return self.forward(X)

    def then(self, other: Front) -> Front:
        """This map, followed by another."""
        return Front(self.forward.then(other.forward), other.back.then(self.back))

    def shifted(self, shift: np.ndarray | None) -> Front:
        """This map with a vector subtracted from its results."""
        return self if shift is None else self.then(Front.shift(shift))

    def record(self) -> dict[str, Any] | None:
        """As a page has it; None for the identity."""
        matrix, shift = self.forward.matrix, self.forward.shift
        if matrix.ndim == 2:
            return {"matrix": matrix, "shift": shift, "back": self.back.matrix, "back_shift": self.back.shift}
        is_identity = bool(np.all(matrix == 1) and np.all(shift == 0))
        return None if is_identity else {"scale": matrix, "shift": shift}


def front_of(steps: Steps, X: np.ndarray) -> tuple[Front, np.ndarray]:
    """The steps as one map, and the rows X, which may have NaN, as imputers among the steps fill them.

    Raises
    ------
    TypeError
        If a step is neither affine nor an imputer.
    """
    front, filled, Z = Front.shift(np.zeros(X.shape[1])), X, X
    for name, step in steps:
        check_is_fitted(step)
        part = _part(step, Z)
        if part is not None:
            Z, front = part(Z), front.then(part)
        elif type(step).__name__.endswith(("Imputer", "ImputerCV")):
            complete = _imputed(name, step, Z)
            filled = np.where(np.isnan(filled), front.back(complete), filled)
            Z = complete
        else:
            raise TypeError(
                f"explore shows inputs in their original units, for which it needs steps that it can undo; the step "
                f"{name!r} of the pipeline, {type(step).__name__}, it cannot. Scalers, PCA, selections of columns and "
                "imputers are possible. Or transform X beforehand and pass the last step alone."
            )
    return front, filled


def _part(step: Any, Z: np.ndarray) -> Front | None:
    """The map of one fitted step, or None if it is not known to be affine."""
    found = affine_map_of(step)
    if found is None:
        return None
    matrix = to_dense(found.matrix) if is_sparse(found.matrix) else found.matrix
    forward = AffineMap(np.asarray(matrix, dtype=np.float64), np.asarray(found.shift, dtype=np.float64))
    matrix, shift = forward.matrix, forward.shift
    if isinstance(step, SelectorMixin):
        # Columns that were left out are unknown on the way to inputs: their mean is the best guess without the others.
        with unwarned():
            means = np.nan_to_num(np.nanmean(Z, axis=0))
        means[step.get_support(indices=True)] = 0.0
        return Front(forward, AffineMap(matrix.T, means))
    if matrix.ndim == 1:
        return Front(forward, AffineMap(1 / matrix, -shift / matrix))
    # An affine map is known by its values at zero and at the unit vectors.
    d = shift.size
    back = np.asarray(step.inverse_transform(np.vstack([np.zeros((1, d)), np.eye(d)])), dtype=np.float64)
    return Front(forward, AffineMap(back[1:] - back[0], back[0]))


def _imputed(name: str, imputer: Any, Z: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        # Columns have names in the pipeline, which scikit-learn misses here.
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        complete = np.asarray(imputer.transform(Z), dtype=np.float64)
    if complete.shape != Z.shape:
        raise TypeError(
            f"explore needs imputers that keep the columns as they are; the step {name!r} of the pipeline, "
            f"{type(imputer).__name__}, makes {complete.shape[1]} of {Z.shape[1]}. Set add_indicator=False and "
            "keep_empty_features=True, or leave empty columns out of X."
        )
    return complete


def model_record(model: PageModel, front: Front, X: np.ndarray, name: str, note: str) -> dict[str, Any]:
    """The entry of a model in the header of a page, for drawn rows X in the units of their user."""
    front = front.shifted(model.shift)
    Z = front(X)
    Y = model.coordinates(Z)
    residuals = model.residuals(Z, Y)
    deviations = model.deviations(Y)
    d = model.kernel.inputs_of_points(model.points).shape[1]
    points = _rounded(model, Z, deviations)
    optional = lambda expansion: None if expansion is None else expansion.coefficients[:, 0]
    return {
        "name": name,
        "width": width_of(model.kernel),
        "note": note,
        "n_features": d,
        "n_rows": None if model.n_rows is None else int(model.n_rows),
        "front": front.record(),
        "kernel": kernel_record(model.kernel, points.astype(np.float64)),
        "points": points,
        "frame": model.functions.coefficients,
        "origin": optional(model.origin),
        "offset": model.offset,
        "origin_squared_norm": model.origin_squared_norm,
        "signature": model.signature,
        "features": model.features,
        "component_names": [f"Component {number + 1}" for number in range(len(model))],
        "eigenvalues": deviations**2 if model.eigenvalues is None else model.eigenvalues,
        "explained": model.explained,
        "deviations": deviations,
        "coordinates": in_single(in_steps(Y, COORDINATE_STEP * deviations), deviations),
        "errors": in_single(residuals, np.max(np.abs(residuals)) or 1.0),
        **solver_record(model.solver, model.kernel, model.kernel.inputs_of_points(model.points), model.shift),
    }


def _rounded(model: PageModel, Z: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """The points in single precision, unless coordinates change by more than rounding may."""
    if isinstance(model.kernel, Warped):
        return model.points  # which the kernel then need not bring once more
    if _has_corners(model.kernel):
        return model.points
    with np.errstate(over="ignore", under="ignore"):
        single = model.points.astype(np.float32)
    if not np.all(np.isfinite(single)):
        return model.points
    inputs = model.kernel.inputs_of_points(model.points)
    rows = np.concatenate([Z[:ROWS_TO_MEASURE], inputs[:ROWS_TO_MEASURE]])
    rough = type(model.functions)(model.kernel, single.astype(np.float64), model.functions.coefficients)
    change = np.max(np.abs(rough(rows) - model.functions(rows)) / deviations)
    return single if change <= MOST_ROUNDING else model.points


def _has_corners(kernel: Kernel) -> bool:
    """Whether a kernel has corners at its points: descents stop there, and moved corners change half of the answers."""
    corners = isinstance(kernel, ProfileKernel) and kernel.pairwise in (ManhattanDistance(), ChiSquaredDistance())
    return corners or any(_has_corners(part) for part in kernel.parts())


def solver_record(solver: FixedPoint | Gradient, kernel: Kernel, points: Array, origin: Array = None) -> dict[str, Any]:
    """What `nearest_image.js` reads of a solver, a kernel and its points; `origin` was subtracted from the inputs."""
    is_fixed_point = type(solver) is FixedPoint
    inputs = to_numpy(to_dense(points)).astype(np.float64)
    middle, radius = enclosing_sphere(inputs)
    # Bounds on the inputs of the kernel; a fixed point has none.
    moved = lambda bound: bound if bound is None or origin is None else np.asarray(bound) - to_numpy(origin)
    lower, upper = (moved(getattr(solver, name, None)) for name in ("lower", "upper"))
    box = Box() if is_fixed_point else Box.of_inputs(lower, upper, kernel, inputs)
    return {
        "solver": {
            "name": "fixed_point" if is_fixed_point else "gradient",
            "penalty": float(solver.penalty),
            "tol": float(solver.tol),
            "max_iter": int(solver.max_iter),
            "memory": None if is_fixed_point else int(solver.memory),
            "lower": box.lower,
            "upper": box.upper,
        },
        "spread": spread(inputs),
        "middle": middle,
        "radius": radius,
        "positive_semidefinite": bool(kernel.is_positive_semidefinite),
    }
