"""The connection of the mapped surface."""

import numpy as np

from preimage._typing import Array, Rows
from preimage.geometry._diagonal_jet import diagonal_jet
from preimage.geometry._dot_product import dot_product_geometry
from preimage.geometry._isotropic import is_radial
from preimage.geometry._jet import CONNECTION
from preimage.geometry._metric import check_geometry, metric, require_regular, smallest_relative_eigenvalues
from preimage.kernels import Kernel


def christoffel_symbols(kernel: Kernel, X: Rows) -> Array:
    r"""Christoffel symbols :math:`\Gamma^c_{ab} = g^{cm}\,\partial_{x_a}\partial_{x_b}\partial_{y_m} k|_{y=x}`  (C2).

    They say how the metric changes: a geodesic, the straightest path on the surface φ(x), obeys
    :math:`\ddot x^c = -\Gamma^c_{ab}\,\dot x^a \dot x^b`.

    Parameters
    ----------
    kernel : Kernel
        As in `metric_tensor`.
    X : array of shape (n, d)
        Points where the metric is invertible.

    Returns
    -------
    array of shape (n, d, d, d)
        The upper index first: ``[:, c, a, b]``. Zero for radial kernels.

    Examples
    --------
    >>> from preimage.geometry import christoffel_symbols
    >>> from preimage.kernels import Polynomial
    >>> christoffel_symbols(Polynomial(2, coef0=0.0), [[2.0]])  # d/dx log(√g) for g = 4x²
    array([[[[0.5]]]])
    """
    who = "christoffel_symbols"
    points, restore = check_geometry(who, kernel, X)
    g = metric(kernel, points)
    require_regular(who, kernel, points, smallest_relative_eigenvalues(g))
    return restore(christoffel(kernel, points, g))


def christoffel(kernel: Kernel, X: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Γ of a checked kernel at points with the invertible metric g."""
    n, d = X.shape
    if is_radial(kernel):
        return np.zeros((n, d, d, d))
    closed = dot_product_geometry(kernel, X)
    if closed is not None:
        return closed.christoffel()
    lowered = diagonal_jet(kernel, X, CONNECTION).dense(2, 1, d).transpose(0, 3, 1, 2)
    return np.linalg.solve(g, lowered.reshape(n, d, d * d)).reshape(n, d, d, d)
