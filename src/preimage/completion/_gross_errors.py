"""Gross errors of rows: which entries they are, and what stands in their place."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage._arrays import array_namespace, from_numpy, take_rows, to_numpy
from preimage._typing import Array
from preimage.completion._energy import SubspaceEnergy
from preimage.completion._losses import Loss
from preimage.completion._neighborhoods import Neighborhoods
from preimage.completion._robust import RobustResult, repair
from preimage.solvers._preimage import Batched, Reason


@dataclass(frozen=True)
class RepairedRows(Batched):
    """Rows whose gross errors and missing entries are replaced.

    Attributes
    ----------
    rows : array of shape (q, d)
        Entries that are trusted are those that were given.
    outliers : boolean array of shape (q, d)
        The entries that were replaced.
    converged : boolean array of shape (q,), in NumPy
        Whether the descents of rows with replaced entries met their stopping rule.
    reason : array of q members of `Reason`, in NumPy
    """

    rows: Array
    outliers: Array
    converged: np.ndarray
    reason: np.ndarray

    @classmethod
    def of(cls, X: Array, found: RobustResult, outliers: Array) -> "RepairedRows":
        """Rows X with `outliers` replaced by what was found."""
        xp, result = array_namespace(X), found.preimages
        is_touched = to_numpy(xp.any(outliers, axis=1))
        converged = np.where(is_touched, result.converged, True)
        reason = np.where(is_touched, result.reason, Reason.array(len(converged), Reason.CONVERGED))
        return cls(xp.where(outliers, result.points, X), outliers, converged, reason)


@dataclass(frozen=True)
class GivenScale:
    """Entries are gross errors that the loss of a given scale trusts less than a residual of three scales."""

    loss: Loss
    connectivity: Any
    scale: float

    def repaired(self, energy: SubspaceEnergy, X: Array, known: Array) -> RepairedRows:
        """Rows X, numbers also where entries are unknown, with gross errors and unknown entries replaced."""
        found = repair(energy, X, known, loss=self.loss, scale=self.scale, connectivity=self.connectivity)
        return RepairedRows.of(X, found, found.outliers)


@dataclass(frozen=True)
class Measure:
    """The scale of a loss, and the residuals that left-out rows have under it; one number per column, in NumPy."""

    scale: np.ndarray
    unit: np.ndarray


@dataclass(frozen=True)
class MeasuredErrors:
    r"""Rows have gross errors if their residuals are larger than those of all rows that were left out of the model.

    Rows of the training set are left out, and repaired by models of the others with the loss of a scale per column, a
    multiple of the residuals from means of nearest points. Their residuals :math:`x_j - z_j` have a root mean square
    :math:`\tau_j` per column. A row whose :math:`R = \sqrt{\frac1d \sum_j \min(|x_j - z_j| / \tau_j, c)^2}` is at
    most `limit`, the largest of left-out rows and somewhat more, has no gross errors and stays as it is. In other rows
    entries beyond `threshold` times :math:`\tau_j` are replaced. With a small ceiling c it takes several entries to
    make a row one with gross errors, as there are in images; without one a single entry can.

    The limit is measured with half of the scale, with which more entries are distrusted: what is expected of clean rows
    holds also for rows that are further from the others than those at hand. Rows that are noisy in all entries have
    larger scales: the factor is their median residual over that of rows with gross errors.

    Attributes
    ----------
    loss : Loss
    connectivity : array, sparse matrix or None
    rows, entries : Measure
        With which rows are judged, and entries of rows with gross errors.
    ceiling, limit, threshold : float
    typical : float
        A median residual, in units of `rows`, that few rows with gross errors exceed.
    """

    loss: Loss
    connectivity: Any
    rows: Measure
    entries: Measure
    ceiling: float
    limit: float
    threshold: float
    typical: float

    def repaired(self, energy: SubspaceEnergy, X: Array, known: Array) -> RepairedRows:
        """Rows X, numbers also where entries are unknown, with gross errors and unknown entries replaced."""
        xp, options = array_namespace(X), {"loss": self.loss, "connectivity": self.connectivity}
        neighborhoods = Neighborhoods.of(self.connectivity, X)
        found = repair(energy, X, known, scale=from_numpy(self.rows.scale, X), **options)
        residuals = _residuals(X, known, found)
        factor = np.maximum(1.0, _medians(residuals / self.rows.unit, to_numpy(known)) / self.typical)
        if (noisy := np.flatnonzero(factor > 1)).size:
            scale = from_numpy(factor[noisy, None] * self.rows.scale, X)
            again = repair(energy, take_rows(X, noisy), take_rows(known, noisy), scale=scale, **options)
            found = _replaced(found, noisy, again)
            residuals = _residuals(X, known, found)
        sizes = row_sizes(residuals / (factor[:, None] * self.rows.unit), self.ceiling, to_numpy(known))
        outliers = ~to_numpy(known)
        if (wrong := np.flatnonzero(sizes > self.limit)).size:
            scale = from_numpy(factor[wrong, None] * self.entries.scale, X)
            rows, here = take_rows(X, wrong), take_rows(known, wrong)
            again = repair(energy, rows, here, scale=scale, **options)
            found = _replaced(found, wrong, again)
            units = factor[wrong, None] * self.entries.unit
            outliers[wrong] |= beyond(self.threshold, _residuals(rows, here, again) / units, neighborhoods, X)
        return RepairedRows.of(X, found, from_numpy(outliers, X, dtype=xp.bool))


def _residuals(X: Array, known: Array, found: RobustResult) -> np.ndarray:
    return np.abs(to_numpy(known) * to_numpy(X - found.preimages.points))


def row_sizes(residuals: np.ndarray, ceiling: float, known: np.ndarray | None = None) -> np.ndarray:
    """Root mean squares of known residuals of rows, none counted as more than `ceiling`; zero if nothing is known."""
    count = residuals.shape[1] if known is None else np.maximum(known.sum(axis=1), 1)
    return np.sqrt(np.sum(np.minimum(residuals, ceiling) ** 2, axis=1) / count)


def _medians(residuals: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Medians of known residuals of rows, shape (q,); zero where nothing is known."""
    ordered = np.sort(np.where(known, residuals, np.inf), axis=1)
    count = known.sum(axis=1)
    middle = np.take_along_axis(ordered, np.maximum(count - 1, 0)[:, None] // 2, axis=1)[:, 0]
    return np.where(count > 0, middle, 0.0)


def beyond(threshold: float, residuals: np.ndarray, neighborhoods: Neighborhoods, like: Array) -> np.ndarray:
    """Entries whose residuals, as root mean squares of neighbourhoods, exceed the threshold."""
    squares = neighborhoods.averages(from_numpy(residuals**2, like))
    return to_numpy(squares) > threshold**2


def _replaced(found: RobustResult, rows: np.ndarray, again: RobustResult) -> RobustResult:
    """The result with the problems `rows` replaced by others; of the first one, only pre-images are used."""
    return replace(found, preimages=found.preimages.replaced(rows, again.preimages))
