"""Outputs that are numbers: regression, detection of novelties, coordinates."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, to_numpy
from preimage._engine.typing import Array, Targets
from preimage._models.machines.outputs._output import (
    Output,
    check_count,
    check_flag,
    check_number,
    shift_keeping_decisions,
)

# Support vectors of a one-class machine that are on its margin have the value zero, up to libsvm's tolerance of 1e-3.
# Their signs are chance and must not decide the threshold: twice that tolerance leaves them out. Ten times more would
# leave out clear decisions as well.
ON_THE_MARGIN = 2e-3


@dataclass(frozen=True, eq=False)
class Regression(Output):
    """The values themselves.

    Parameters
    ----------
    n_outputs : int, default=1
    flat : bool, default=True
        Whether predictions of a single output are one-dimensional.
    """

    n_outputs: int = 1
    flat: bool = True

    kind = "regressor"

    def __post_init__(self) -> None:
        self._set(
            n_outputs=check_count("Regression", "n_outputs", self.n_outputs),
            flat=check_flag("Regression", "flat", self.flat),
        )

    @property
    def n_functions(self) -> int:
        return self.n_outputs

    def decision(self, F: Array) -> Array:
        return self.predict(F)

    def predict(self, F: Array) -> Array:
        F = self._columns(F)
        return F[:, 0] if self.flat and self.n_outputs == 1 else F


@dataclass(frozen=True, eq=False)
class Detection(Output):
    """Inliers, +1, where F > 0; the rest, −1, is novel.

    Parameters
    ----------
    offset : float
        What `scores` have above decisions.
    """

    offset: float

    kind = "detector"
    n_functions = 1

    def __post_init__(self) -> None:
        self._set(offset=check_number("Detection", "offset", self.offset))

    def decision(self, F: Array) -> Array:
        return self._columns(F)[:, 0]

    def predict(self, F: Array) -> Array:
        return np.where(self._numpy(F)[:, 0] > 0, 1, -1).astype(np.intp)

    def with_shift(self, shift: Array) -> "Detection":
        return Detection(self.offset - float(shift[0]))

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        clear = np.abs(before) > ON_THE_MARGIN * np.max(np.abs(before))
        shift = shift_keeping_decisions(before, after, clear)
        return shift, self.with_shift(shift)

    def scores(self, F: Array) -> Array:
        """What `score_samples` returns."""
        return self.decision(F) + self.offset


@dataclass(frozen=True, eq=False)
class DistanceDetection(Output):
    """Inliers, +1, where the distance ℓ − Σⱼ Fⱼ² is at most the threshold; the rest, −1, is novel.

    For kernels of which ℓ = k(x, x) is the same everywhere, F are scaled coordinates, and the sum is what combinations
    of training images explain of φ(x).

    Parameters
    ----------
    n_axes : int
        Functions Fⱼ.
    squared_length : float
        ℓ.
    offset : float
        Minus the threshold: what `scores` have above decisions.
    """

    n_axes: int
    squared_length: float
    offset: float

    kind = "detector"

    def __post_init__(self) -> None:
        check = lambda name: check_number("DistanceDetection", name, getattr(self, name))
        self._set(
            n_axes=check_count("DistanceDetection", "n_axes", self.n_axes),
            squared_length=check("squared_length"),
            offset=check("offset"),
        )

    @property
    def n_functions(self) -> int:
        return self.n_axes

    def decision(self, F: Array) -> Array:
        return self.scores(F) - self.offset

    def predict(self, F: Array) -> Array:
        return np.where(to_numpy(self.decision(F)) >= 0, 1, -1).astype(np.intp)

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        """Functions keep their constants; the threshold is moved so that the fewest decisions change."""
        old, new = self.decision(before)[:, None], self.decision(after)[:, None]
        shift = float(shift_keeping_decisions(old, new)[0])
        return np.zeros(self.n_axes), replace(self, offset=self.offset - shift)

    def scores(self, F: Array) -> Array:
        """What `score_samples` returns: minus the distance."""
        F = self._columns(F)
        return array_namespace(F).sum(F * F, axis=1) - self.squared_length


@dataclass(frozen=True, eq=False)
class Coordinates(Output):
    """The first coordinates of a transformer.

    Parameters
    ----------
    n_components : int
    """

    n_components: int

    kind = "transformer"

    def __post_init__(self) -> None:
        self._set(n_components=check_count("Coordinates", "n_components", self.n_components))

    @property
    def n_functions(self) -> int:
        return self.n_components

    def decision(self, F: Array) -> Array:
        return self.predict(F)

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        """Coordinates keep their origin, which the reduction of axes and mean has approximated."""
        return np.zeros(before.shape[1]), self

    def predict(self, F: Array) -> Array:
        if F.ndim != 2 or F.shape[1] < self.n_components:
            return self._columns(F)  # which says what is wrong
        return F[:, : self.n_components]
