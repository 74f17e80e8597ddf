"""Clipped values, such as saturated pixels: how they are recognised, and the noise that clipping leaves in them."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from preimage._engine.typing import Array

# Fraction of a column at its smallest or largest value from which on it may be clipped, and of the whole table from
# which on it matters. A column of continuous values has one row there.
LEAST_PILE = 0.01
# Of noise that is clipped, at least 0.38 times as many values as lie at the limit lie within half a deviation of it:
# Φ(½) − ½ compared with Φ(0), if the clean value is the limit itself, and more if it lies inside. The deviation that is
# estimated from clipped values is about 0.6 of the true one, which makes it 0.23. An honest background, the zeros of
# clean digits, has 0.00 to 0.04.
LEAST_NEIGHBOURS = 0.1
# A limit that is not there lies so many deviations outside, where Gaussian noise never comes.
FAR = 40.0
# Clean values at which the moments of clipped noise are tabulated, from limit to limit. They change over distances of a
# deviation, a twentieth or more of the range in pictures with visible noise.
TABLE = 257


@dataclass(frozen=True)
class Clipping:
    """The limits at which columns are clipped.

    Attributes
    ----------
    lower, upper : arrays of shape (d,)
        Smallest and largest value of each column.
    at_lower, at_upper : boolean arrays of shape (d,)
        Whether it is clipped there.
    fraction : float
        Of all values, those that lie at such a limit.
    """

    lower: Array
    upper: Array
    at_lower: Array
    at_upper: Array
    fraction: float

    @classmethod
    def of(cls, X: Array, deviation: float) -> "Clipping":
        """Recognise values that are piled up at the ends of columns, with the noise of `deviation` next to them."""
        lower, upper = X.min(axis=0), X.max(axis=0)
        with np.errstate(over="ignore"):  # a distance beyond all numbers is far, and nothing else
            at_lower, lost_below = _piled_up(X - lower, deviation)
            at_upper, lost_above = _piled_up(upper - X, deviation)
        return cls(lower, upper, at_lower, at_upper, lost_below + lost_above)

    def variance(self, X: Array, rows: Array, deviation: float) -> Array:
        """Variance of Gaussian noise of `deviation` after clipping, for each value of some rows of X.

        It depends on the clean value. A table from means of clipped values to their variances is read at a
        reconstruction of X by the principal components above the noise, which is near these means.
        """
        means = _reconstructed(X, deviation)[rows]
        found = np.empty_like(means)
        for column in range(X.shape[1]):
            grid = np.linspace(self.lower[column], self.upper[column], TABLE)
            below = grid[0] if self.at_lower[column] else grid[0] - FAR * deviation
            above = grid[-1] if self.at_upper[column] else grid[-1] + FAR * deviation
            found[:, column] = np.interp(means[:, column], *_clipped_moments(grid, deviation, below, above))
        return found


def _piled_up(distance: Array, deviation: float) -> tuple[Array, float]:
    """Which columns are clipped where the distance is zero, and the fraction of all values that lie there."""
    at_limit = distance == 0
    piles = (at_limit.sum(axis=0) - 1) / len(distance)
    piles[piles > 1 - 1.5 / len(distance)] = 0  # constant columns
    suspect = piles > LEAST_PILE
    neighbours = np.mean((distance > 0) & (distance <= deviation / 2), axis=0)
    total = float(piles[suspect].sum())
    if total < LEAST_PILE * len(piles) or neighbours[suspect].sum() < LEAST_NEIGHBOURS * total:
        return np.zeros_like(suspect), 0.0
    return suspect, float(at_limit[:, suspect].sum() / distance.size)


def _reconstructed(X: Array, deviation: float) -> Array:
    """X by its principal components above the edge of the spectrum of noise alone (Marchenko and Pastur)."""
    mean = X.mean(axis=0)
    left, values, right = np.linalg.svd(X - mean, full_matrices=False)
    count = max(1, int(np.sum(values > deviation * (np.sqrt(X.shape[0]) + np.sqrt(X.shape[1])))))
    return mean + (left[:, :count] * values[:count]) @ right[:count]


def _clipped_moments(clean: Array, deviation: float, lower: float, upper: float) -> tuple[Array, Array]:
    """Mean and variance of clip(clean + deviation · ε, lower, upper), ε standard normal."""
    a, b = (lower - clean) / deviation, (upper - clean) / deviation
    below, above = ndtr(a), ndtr(-b)
    density_a, density_b = (np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) for t in (a, b))
    # Moments of the clipped noise in deviations: its mass at both limits, and the part between them.
    mean = a * below + b * above + density_a - density_b
    square = a**2 * below + b**2 * above + (1 - below - above) + a * density_a - b * density_b
    return clean + deviation * mean, deviation**2 * np.maximum(square - mean**2, 0.0)
