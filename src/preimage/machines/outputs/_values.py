"""Outputs that are numbers: regression, detection of novelties, coordinates."""

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array, Targets
from preimage.machines.outputs._output import Output, check_count, check_flag, check_number, shift_keeping_decisions

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
