"""Moments of order three and higher in feature space, restricted to the leading axes."""

from preimage._arrays import array_namespace, integer_power
from preimage._typing import Array


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
