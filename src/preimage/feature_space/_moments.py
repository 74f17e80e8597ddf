"""Count, mean and scatter of coordinates, merged without loss over any split of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from preimage._arrays import array_namespace
from preimage._typing import Array


@dataclass(frozen=True)
class Moments:
    """Weighted count, mean and scatter Σᵢ wᵢ (yᵢ − mean)(yᵢ − mean)ᵀ of rows.

    `a + b` are the moments of both sets of rows together, so a sum over blocks, streams or machines gives what one
    pass over all rows gives. Means and scatters are merged; raw second moments would cancel in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Moments
    >>> Y = np.array([[0.0], [2.0], [4.0]])
    >>> merged = Moments.of(Y[:1]) + Moments.of(Y[1:])
    >>> merged.mean, merged.covariance()
    (array([2.]), array([[2.66666667]]))
    """

    count: float
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, Y: Array, weights: Array | None = None) -> Moments:
        """Moments of the rows of Y, each counted `weights[i]` times (once by default)."""
        xp = array_namespace(Y)
        if weights is None:
            count, mean = float(Y.shape[0]), xp.mean(Y, axis=0)
            centered = Y - mean
            return cls(count, mean, centered.T @ centered)
        count = float(xp.sum(weights))
        if not count > 0:
            raise ValueError(f"Moments need weights with a positive sum; got {count}.")
        mean = weights @ Y / count
        centered = Y - mean
        return cls(count, mean, (centered * weights[:, None]).T @ centered)

    @classmethod
    def about(cls, shift: Array, Y: Array, weights: Array | None = None) -> Moments:
        """Moments of the rows of Y + shift, for a shift close to their mean.

        Sums of squares of Y lose no digits then, and without weights no centred copy of Y is made.
        """
        if weights is not None:
            found = cls.of(Y, weights)
            return replace(found, mean=found.mean + shift)
        xp = array_namespace(Y)
        count, offset = float(Y.shape[0]), xp.mean(Y, axis=0)
        return cls(count, shift + offset, Y.T @ Y - (count * offset)[:, None] * offset[None, :])

    @classmethod
    def empty(cls, Y: Array) -> Moments:
        """Moments of no rows, with the columns of Y: the zero of `+`."""
        zero = array_namespace(Y).zeros_like(Y[0, :])
        return cls(0.0, zero, zero[:, None] * zero)

    def __add__(self, other: Moments) -> Moments:
        if self.count == 0 or other.count == 0:  # no mean to merge
            return self if other.count == 0 else other
        count = self.count + other.count
        shift = other.mean - self.mean
        mean = self.mean + shift * (other.count / count)
        between = shift[:, None] * shift[None, :] * (self.count * other.count / count)
        return Moments(count, mean, self.scatter + other.scatter + between)

    def mapped(self, A: Array) -> Moments:
        """Moments of the rows Y A, from those of Y."""
        return Moments(self.count, self.mean @ A, A.T @ self.scatter @ A)

    def covariance(self, ddof: int = 0) -> Array:
        """Scatter over (count − ddof)."""
        if self.count <= ddof:
            raise ValueError(f"A covariance with ddof={ddof} needs a count above it; got {self.count}.")
        return self.scatter / (self.count - ddof)
