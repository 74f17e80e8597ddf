"""Distances of feature space between queries and rows, and numbers that are in the same order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage._engine.arrays import epsilon, in_double, itemsize, take_rows, to_numpy
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned, warn_user
from preimage.exceptions import IndefiniteKernelWarning
from preimage.kernels import Kernel, ManhattanDistance, SquaredDistance
from preimage.kernels._profile import ProfileKernel, is_profile

# Squared distances of at most so many units in the last place of k(x, x) + k(z, z) are zero: sums of some dozens of
# products have errors of a few. Ten times more, and in single precision rows that differ by half a per cent of the
# length of their images would count as equal.
ROUNDING = 16
# Squared distances below minus this fraction of k(x, x) + k(z, z), by bytes per number, are not due to rounding errors.
NEGATIVE = {8: 1e-9, 4: 1e-3}
EVERYTHING = slice(None)
# scikit-learn's names of the distances of which kernels are functions.
METRICS = {SquaredDistance(): "euclidean", ManhattanDistance(): "manhattan"}

Keys = Callable[[slice], np.ndarray]


class Measure(ABC):
    """Keys of pairs of a query and a row, which are in the order of distances in feature space, and these distances."""

    kernel: Kernel
    points: Array

    @abstractmethod
    def keys(self, Z: Array, diagonal: np.ndarray) -> Keys:
        """A function of a slice of the queries Z, where k(z, z) is `diagonal`: their keys with all rows, (q, n)."""

    @abstractmethod
    def settled(self, keys: np.ndarray, diagonal: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Keys of some pairs without what rounding errors make of zero; `diagonal` has one entry for each pair."""

    @abstractmethod
    def distances(self, keys: np.ndarray) -> np.ndarray:
        """‖φ(z) − φ(x)‖ of settled keys."""

    @abstractmethod
    def rounding(self, keys: np.ndarray, diagonal: float, numbers: np.ndarray) -> float:
        """Largest rounding error of the keys of one query, where k(z, z) is `diagonal`, with rows as near as these."""

    @abstractmethod
    def taken(self, numbers: np.ndarray) -> Measure:
        """The measure for the rows with these numbers, in double precision."""

    @property
    def is_single(self) -> bool:
        """Whether values are computed in single precision, of which the nearest rows deserve better."""
        return not self.kernel.points_are_row_numbers and itemsize(self.kernel.value_type(self.points)) == 4


@dataclass(frozen=True)
class FeatureMeasure(Measure):
    """Squared distances k(z, z) − 2k(z, x) + k(x, x) themselves.

    Parameters
    ----------
    kernel : Kernel
    points : array of shape (n, d)
    diagonal : array of shape (n,)
        k(x, x) of the points.
    """

    kernel: Kernel
    points: Array
    diagonal: np.ndarray

    def check_fields(self) -> None:
        """Raise ValueError if the fields, which may come from a file, do not belong together."""
        if self.diagonal.shape != (self.points.shape[0],):
            raise ValueError(f"{self.points.shape[0]} points need as many k(x, x); got shape {self.diagonal.shape}.")

    def keys(self, Z: Array, diagonal: np.ndarray) -> Keys:
        with unwarned():
            values = self.kernel.prepare(self.points).tiles(Z)

        @unwarned()
        def of_block(rows: slice) -> np.ndarray:
            found = to_numpy(values(rows, EVERYTHING))
            # Precomputed values are those of the matrix itself.
            found = found.astype(np.float64, copy=self.kernel.points_are_row_numbers)
            found *= -2
            found += self.diagonal
            found += diagonal[rows, None]
            if np.min(found, initial=0.0) < 0:
                self._warn_of_negatives(found, diagonal[rows])
                np.maximum(found, 0.0, out=found)
            return found

        return of_block

    def settled(self, keys: np.ndarray, diagonal: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        size = np.abs(diagonal) + np.abs(self.diagonal[numbers])
        return np.where(keys <= ROUNDING * epsilon(self._dtype) * size, 0.0, keys)

    def rounding(self, keys: np.ndarray, diagonal: float, numbers: np.ndarray) -> float:
        size = abs(diagonal) + float(np.max(np.abs(self.diagonal[numbers])))
        return ROUNDING * epsilon(self._dtype) * size

    @property
    def _dtype(self) -> Any:
        return self.kernel.value_type(self.points)

    def _warn_of_negatives(self, keys: np.ndarray, diagonal: np.ndarray) -> None:
        """Warn of squared distances that are negative by more than rounding errors."""
        queries, rows = np.nonzero(keys < 0)
        size = np.abs(diagonal[queries]) + np.abs(self.diagonal[rows])
        if np.any(keys[queries, rows] < -NEGATIVE[itemsize(self._dtype)] * size):
            warn_user(
                f"{self.kernel!r} is indefinite on these rows: some squared distances k(x, x) − 2k(x, z) + k(z, z) are "
                "negative. They count as zero.",
                IndefiniteKernelWarning,
            )

    def distances(self, keys: np.ndarray) -> np.ndarray:
        return np.sqrt(keys)

    def taken(self, numbers: np.ndarray) -> FeatureMeasure:
        points = doubled(self.kernel, take_rows(self.points, numbers))
        return replace(self, points=points, diagonal=self.diagonal[numbers])


@dataclass(frozen=True)
class InputMeasure(Measure):
    """Distances s of inputs, of which ‖φ(z) − φ(x)‖² = 2f(0) − 2f(s) is an increasing function.

    Rows are told apart where their images are not any more: by a kernel so narrow that all of its values are zero, or
    so wide that all are one.

    Parameters
    ----------
    kernel : ProfileKernel
        Of the squared Euclidean distance or the Manhattan distance, with a falling profile f; or linear, for which s
        is the squared distance itself.
    points : array of shape (n, d)
    """

    kernel: Kernel
    points: Array

    def check_fields(self) -> None:
        """Raise ValueError if the fields, which may come from a file, do not belong together."""
        if input_metric(self.kernel) is None:
            raise ValueError(
                f"Neighbours by distances of inputs need a kernel that falls with them; got {self.kernel}."
            )

    def keys(self, Z: Array, diagonal: np.ndarray) -> Keys:
        pairwise = SquaredDistance() if self.kernel.is_bilinear else self.kernel.pairwise
        with unwarned():
            values = pairwise.prepare(self.points).tiles(Z)
        return unwarned()(lambda rows: to_numpy(values(rows, EVERYTHING)).astype(np.float64, copy=False))

    def settled(self, keys: np.ndarray, diagonal: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return keys

    def rounding(self, keys: np.ndarray, diagonal: float, numbers: np.ndarray) -> float:
        return np.inf  # of a matrix product, it depends on where all rows are

    @unwarned()
    def distances(self, keys: np.ndarray) -> np.ndarray:
        if self.kernel.is_bilinear:
            return np.sqrt(keys)
        profile = self.kernel.profile
        return np.sqrt(np.maximum(2 * (profile(np.zeros_like(keys)) - profile(keys)), 0.0))

    def taken(self, numbers: np.ndarray) -> InputMeasure:
        return replace(self, points=doubled(self.kernel, take_rows(self.points, numbers)))


def doubled(kernel: Kernel, X: Array) -> Array:
    """Rows in double precision; the numbers of rows of a precomputed matrix as they are."""
    return X if kernel.points_are_row_numbers else in_double(X)


def input_metric(kernel: Kernel) -> str | None:
    """scikit-learn's name of the distance of inputs with which distances in feature space grow; None if there is none.

    A positive semidefinite kernel of such a distance need not fall with it everywhere when its profile is a user's
    own, but the profiles of this library do: those whose inverse is known by name or by a formula.
    """
    if type(kernel).__name__ == "Linear" and kernel.is_bilinear:
        return "euclidean"
    if not is_profile(kernel) or kernel.pairwise not in METRICS:
        return None
    return METRICS[kernel.pairwise] if _falls(kernel) else None


def _falls(kernel: ProfileKernel) -> bool:
    """Whether the profile is known to fall: kernels of the library, and positive semidefinite ones of any dimension."""
    if not kernel.has_inverse_profile:
        return False
    with unwarned():
        s = np.concatenate([[0.0], 2.0 ** np.arange(-60, 60)])
        values = to_numpy(kernel.profile(s)).astype(float)
    values = values[np.isfinite(values)]
    return bool(np.all(np.diff(values) <= ROUNDING * epsilon(values.dtype) * np.max(np.abs(values))))
