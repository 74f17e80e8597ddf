"""The online update on coordinates: what `partial_fit` does with each batch."""

import numpy as np


def coordinate_online(centers, sizes, Y, weights):
    r"""Centres and their weights after rows Y came one by one, each to the nearest centre  (S20).

    :math:`c_\alpha \leftarrow c_\alpha + \zeta (y_t - c_\alpha)` with :math:`\zeta = w_t/(n_\alpha + w_t)`.

    Parameters
    ----------
    centers : array of shape (k, m)
    sizes : array of shape (k,)
    Y : array of shape (b, m)
    weights : array of shape (b,)

    Returns
    -------
    centers, sizes

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.clustering import coordinate_online
    >>> coordinate_online(np.array([[0.0], [9.0]]), np.ones(2), np.array([[1.0], [10.0]]), np.ones(2))
    (array([[0.5], [9.5]]), array([2., 2.]))
    """
    centers, sizes = centers.copy(), sizes.astype(float)
    squared_norms = np.sum(centers * centers, axis=1)
    for y, weight in zip(Y, weights):
        if weight == 0:
            continue
        chosen = int(np.argmin(squared_norms - 2 * (centers @ y)))
        sizes[chosen] += weight
        centers[chosen] += weight / sizes[chosen] * (y - centers[chosen])
        squared_norms[chosen] = centers[chosen] @ centers[chosen]
    return centers, sizes
