"""Columns of unlike units on one scale, from the entries that are known."""

from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon, from_numpy, to_numpy
from preimage._engine.typing import Array

# Columns are divided by their standard deviations unless the 90th percentile of these is at most so many times their
# median: pixels, spectra and sensors of one kind have 1.1 to 1.5, tables of unlike columns 3 to 1,000. If pixels were
# divided, those at the border, which are nearly constant, would count as much as the others.
ALIKE = 2.0


@dataclass(frozen=True)
class ColumnScale:
    """The map x ↦ (x − center)/scale of columns.

    Attributes
    ----------
    center, scale : arrays of shape (d,)
    """

    center: Array
    scale: Array

    @classmethod
    def of(cls, X: Array, observed: Array, divides: bool | None, groups: np.ndarray | None = None) -> "ColumnScale":
        """Means of the known entries, and their standard deviations; one number for all columns if they are alike.

        Parameters
        ----------
        X : array of shape (n, d)
        observed : boolean array of shape (n, d)
            With a known entry in every column.
        divides : bool or None
            Whether each column is divided by its own standard deviation; None does so unless these are alike.
        groups : integer array of shape (d,), optional
            Columns with the same number, indicators of the same entry, have one standard deviation, the root of the sum
            of their variances, so that a category varies as much as a number. None divides then.
        """
        xp = array_namespace(X)
        count = xp.sum(xp.astype(observed, X.dtype), axis=0)
        zeros = xp.zeros_like(X)
        center = xp.sum(xp.where(observed, X, zeros) / count, axis=0)
        shifted = xp.where(observed, X - center, zeros)
        deviations = xp.sqrt(xp.sum(shifted**2, axis=0) / count)
        # A column that varies by rounding errors of its mean alone is constant.
        constant = ~(deviations > 4 * epsilon(X.dtype) * xp.abs(center))
        if groups is not None:
            divides = divides is None or divides
            sums = np.bincount(groups, weights=to_numpy(deviations) ** 2)
            deviations = from_numpy(np.sqrt(sums)[groups], X, dtype=X.dtype)
            varies = np.bincount(groups, weights=~to_numpy(constant)) > 0
            constant = from_numpy(~varies[groups], X, dtype=xp.bool)
        center = xp.where(constant, xp.max(xp.where(observed, X, xp.full_like(X, -np.inf)), axis=0), center)
        spread = to_numpy(deviations)[~to_numpy(constant)]
        if not spread.size:
            return cls(center, xp.ones_like(center))
        if divides is None:
            divides = bool(np.percentile(spread, 90) > ALIKE * np.median(spread))
        if not divides:
            return cls(center, xp.full_like(center, float(np.sqrt(np.mean(spread**2)))))
        return cls(center, xp.where(constant, xp.ones_like(center), deviations))

    def apply(self, X: Array) -> Array:
        return (X - self.center) / self.scale

    def undo(self, Z: Array) -> Array:
        return Z * self.scale + self.center
