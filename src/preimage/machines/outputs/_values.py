"""Outputs that are numbers: regression, detection of novelties, coordinates."""

from dataclasses import dataclass

import numpy as np

from preimage.machines.outputs._checks import check_count, check_flag, check_number
from preimage.machines.outputs._output import Output


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
    fitted_constants = "values"

    def __post_init__(self):
        self._set(
            n_outputs=check_count("Regression", "n_outputs", self.n_outputs),
            flat=check_flag("Regression", "flat", self.flat),
        )

    @property
    def n_functions(self):
        return self.n_outputs

    def decision(self, F):
        return self.predict(F)

    def predict(self, F):
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

    def __post_init__(self):
        self._set(offset=check_number("Detection", "offset", self.offset))

    def decision(self, F):
        return self._columns(F)[:, 0]

    def predict(self, F):
        return np.where(self._numpy(F)[:, 0] > 0, 1, -1).astype(np.intp)

    def with_shift(self, shift):
        return Detection(self.offset - float(shift[0]))

    def scores(self, F):
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
    fitted_constants = "origin"

    def __post_init__(self):
        self._set(n_components=check_count("Coordinates", "n_components", self.n_components))

    @property
    def n_functions(self):
        return self.n_components

    def decision(self, F):
        return self.predict(F)

    def predict(self, F):
        if F.ndim != 2 or F.shape[1] < self.n_components:
            return self._columns(F)  # which says what is wrong
        return F[:, : self.n_components]
