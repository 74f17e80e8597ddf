"""Gross errors of rows: which entries they are, and what stands in their place."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, to_numpy
from preimage._engine.typing import Array
from preimage._models.completion._energy import SubspaceEnergy
from preimage._models.completion._losses import Loss
from preimage._models.completion._neighborhoods import Neighborhoods
from preimage._models.completion._robust import RobustResult, repair
from preimage.descent import Batched, Reason

# Rows of which more entries than this disagree with what the others say are unusual, not wrong.
MOST_WRONG = 0.5
# Energies are at least this fraction of k(x, x), far below those of rows with noise: their ratios are then finite.
LEAST_ENERGY = 1e-9


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
class MeasuredErrors:
    r"""A row has gross errors if its repair explains it far better than repairs explain rows without such errors.

    The row is repaired with the loss of a scale per column. Its residuals :math:`r_j = |x_j - z_j| / \tau_j` are in
    units of those that clean rows have. Replacing entries beyond `threshold` changes the energy E, the squared
    distance to the subspace, to E'. The evidence for gross errors is

    .. math:: \tfrac12 \log \tfrac1d \sum_j r_j^2 + \log (E / E').

    Rows that are merely unlike the others have large residuals, but remain as far from the subspace when some of
    their entries are replaced. A row whose evidence is at most `limit` stays as it is. All numbers are measured on rows
    that are left out of the model: see `measured_errors`.

    Attributes
    ----------
    loss : Loss
    connectivity : array, sparse matrix or None
        With it, squared residuals are means over neighbourhoods.
    scale, unit : NumPy arrays of shape (d,)
        Of the loss, and of residuals (τ).
    threshold, limit : float
    """

    loss: Loss
    connectivity: Any
    scale: np.ndarray
    unit: np.ndarray
    threshold: float = np.inf
    limit: float = np.inf

    def repaired(self, energy: SubspaceEnergy, X: Array, known: Array) -> RepairedRows:
        """Rows X, numbers also where entries are unknown, with gross errors and unknown entries replaced."""
        xp, scale = array_namespace(X), from_numpy(self.scale, X)
        found = repair(energy, X, known, loss=self.loss, scale=scale, connectivity=self.connectivity)
        suspects = self.suspects(energy, X, known, found.preimages.points)
        is_wrong = suspects.is_possible & (suspects.evidence > self.limit)
        return RepairedRows.of(X, found, ~known | (suspects.outliers & from_numpy(is_wrong[:, None], X, dtype=xp.bool)))

    def suspects(self, energy: SubspaceEnergy, X: Array, known: Array, repaired: Array) -> "Suspects":
        """Which entries of rows disagree with their repaired versions, and how much that explains."""
        xp = array_namespace(X)
        residuals = xp.where(known, X - repaired, xp.zeros_like(X)) / from_numpy(self.unit, X)
        squares = Neighborhoods.of(self.connectivity, X).averages(residuals**2)
        outliers = known & (squares > self.threshold**2)
        n_known = np.maximum(to_numpy(xp.sum(xp.astype(known, X.dtype), axis=1)), 1.0)
        count = to_numpy(xp.sum(xp.astype(outliers, X.dtype), axis=1))
        before = xp.where(known, X, repaired)
        gains = _log_energies(energy, before) - _log_energies(energy, xp.where(outliers, repaired, before))
        sizes = np.maximum(to_numpy(xp.sum(residuals**2, axis=1)) / n_known, LEAST_ENERGY)
        return Suspects(outliers, (count > 0) & (count <= MOST_WRONG * n_known), 0.5 * np.log(sizes) + gains)


@dataclass(frozen=True)
class Suspects:
    """Entries of rows that may be gross errors.

    Attributes
    ----------
    outliers : boolean array of shape (q, d)
    is_possible : boolean array of shape (q,), in NumPy
        Whether there are any, and not too many.
    evidence : array of shape (q,), in NumPy
    """

    outliers: Array
    is_possible: np.ndarray
    evidence: np.ndarray


def _log_energies(energy: SubspaceEnergy, Z: Array) -> np.ndarray:
    """Logarithms of energies, none of them smaller than rounding errors are."""
    here = energy.at(Z)
    least = np.maximum(LEAST_ENERGY * to_numpy(energy.kernel.diagonal(Z)), to_numpy(here.noise))
    return np.log(np.maximum(to_numpy(here.value), np.maximum(least, np.finfo(float).tiny)))
