"""Count, mean and scatter of coordinates, merged without loss over any split of the data; moments of higher order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from preimage._arrays import array_namespace, integer_power
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


def component_moments(Y: Array, order: int) -> Array:
    r"""Central moments :math:`P_{j_1 \dots j_p} = \frac1n \sum_i \prod_r \beta_{j_r}(x_i)` of coordinates  (S18).

    Parameters
    ----------
    Y : array of shape (n, q)
        Coordinates, for instance ``KernelPCA(q).fit_transform(X)``; centred here.
    order : int
        p ≥ 1. The result has q^p entries: keep q small.

    Returns
    -------
    array of shape (q,) * order

    Examples
    --------
    Second moments of kernel principal components are their variances:

    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.geometry import component_moments
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = KernelPCA(2, gamma=0.2)
    >>> np.allclose(component_moments(model.fit_transform(X), 2), np.diag(model.explained_variance_))
    True
    """
    if order < 1:
        raise ValueError(f"The order of a moment is at least 1; got {order!r}.")
    xp = array_namespace(Y)
    Y = Y - xp.mean(Y, axis=0)
    n, q = Y.shape
    products = Y
    # Products of order − 1 coordinates side by side, then one matrix product sums over the rows.
    for _ in range(order - 2):
        products = xp.reshape(products[:, :, None] * Y[:, None, :], (n, -1))
    if order == 1:
        return xp.mean(Y, axis=0)
    return xp.reshape(products.T @ Y / n, (q,) * order)


def directional_moment(Y: Array, direction: Array, order: int) -> float:
    r"""Central moment :math:`\frac1n \sum_i (w \cdot \beta(x_i))^p` along a direction w of the coordinates."""
    xp = array_namespace(Y)
    values = (Y - xp.mean(Y, axis=0)) @ direction
    return float(xp.mean(integer_power(values, order)))


def excess_kurtosis(Y: Array, direction: Array) -> float:
    r"""Kurtosis minus three along a direction: an index for projection pursuit in feature space.

    Zero for a Gaussian, negative for two separate clusters, positive for heavy tails.
    """
    variance = directional_moment(Y, direction, 2)
    if not variance > 0:
        raise ValueError("The kurtosis needs a direction with variance; the coordinates are constant along this one.")
    return directional_moment(Y, direction, 4) / variance**2 - 3
