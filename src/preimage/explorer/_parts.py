"""One model of a page: what comes before its kernel, the model itself, and how both are made small."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import in_memory, to_numpy
from preimage._engine.typing import Seed
from preimage._engine.warnings import unwarned
from preimage.estimators import KernelNoveltyDetector
from preimage.explorer._compression import Loss, small_model
from preimage.explorer._drawn import DrawnRows
from preimage.explorer._fronts import Front, front_of, taken_apart
from preimage.explorer._models import PageModel, page_model
from preimage.explorer._records import model_record

# Components of a page: each has a slider, a picture and an entry in two menus.
MOST_COMPONENTS = 64
# Points of a page, numbers that they have together, and how many there are whatever their length. A pre-image takes
# about twenty evaluations, each of two operations per number: two million numbers are a tenth of a second.
MOST_POINTS, MOST_POINT_NUMBERS, FEWEST_POINTS = 300, 2_000_000, 50
# Largest difference of coordinates from those that `transform` gives, in standard deviations: five times what models in
# single precision may lose. A class that computes something else differs by as much as coordinates vary.
MOST_DISAGREEMENT = 0.05


@dataclass(frozen=True)
class Smaller:
    """How models are made small enough for a page."""

    n_components: int | None
    n_points: int | None
    random_state: Seed


@dataclass(frozen=True)
class Detection:
    """Novelty of the drawn rows by the score of a detector, training rows measured by the others, and its threshold."""

    scores: np.ndarray
    threshold: float

    def record(self) -> dict[str, Any]:
        # In double precision: scores of rows can be the threshold itself, and decisions are those of the detector.
        return {"scores": np.ascontiguousarray(self.scores, dtype=np.float64), "threshold": float(self.threshold)}


@dataclass(frozen=True)
class Part:
    """A model, the map before it, the drawn rows as imputers before it fill them, and what a detector says of them."""

    model: PageModel
    front: Front
    inputs: np.ndarray
    detection: Detection | None = None

    def record(self, name: str, options: Smaller) -> tuple[dict[str, Any], list[str], Loss | None]:
        """The entry of the model on a page, what should be said about it, and what compression loses."""
        notes = []
        count = min(len(self.model), MOST_COMPONENTS if options.n_components is None else options.n_components)
        if count < len(self.model):
            notes.append(f"The first {count} of {len(self.model)} components are shown.")
        if self.model.other_solver is not None:
            notes.append(
                f"Pre-images on this page are nearest images, by {type(self.model.solver).__name__}; the model itself "
                f"uses {self.model.other_solver}."
            )
        rows = self.front.shifted(self.model.shift)(self.inputs)
        most = max(FEWEST_POINTS, min(MOST_POINTS, MOST_POINT_NUMBERS // rows.shape[1]))
        points = most if options.n_points is None else options.n_points
        small, loss = small_model(self.model.leading(count), points, rows, options.random_state)
        record = model_record(small, self.front, self.inputs, name, "" if loss is None else str(loss))
        return {**record, "detection": None if self.detection is None else self.detection.record()}, notes, loss


def read_part(estimator: Any, drawn: DrawnRows) -> Part:
    """A fitted estimator for a page, checked with the rows that are drawn."""
    steps, last = taken_apart(estimator)
    model = page_model(last)
    if isinstance(last, KernelNoveltyDetector):
        with unwarned():
            scores = -to_numpy(in_memory(estimator.score_samples(drawn.given)))
        return Part(model, *front_of(steps, drawn.values), Detection(scores, -last.offset_))
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
