"""Curvature of single planes."""

import numpy as np

from preimage._typing import Array, Rows
from preimage.geometry._curvature import curvature_by_blocks
from preimage.geometry._isotropic import isotropic_chart, isotropic_curvatures, radial_direction
from preimage.geometry._metric import check_geometry, metric
from preimage.kernels import Kernel

# Squared sine of the angle of two directions below which they span no plane: the area is a difference of numbers with
# errors of ε, so that smaller ones have no right digit.
NO_PLANE = 1e-14


def sectional_curvatures(kernel: Kernel, X: Rows, U: Rows, V: Rows) -> Array:
    r"""Gauss' curvature of the surface along planes :math:`\frac{R(u, v, u, v)}{g(u,u)\,g(v,v) - g(u,v)^2}`.

    Parameters
    ----------
    kernel : Kernel
        As in `scalar_curvature`, with the same costs.
    X : array of shape (n, d)
        Points where the metric is invertible.
    U, V : arrays of shape (n, d) or (d,)
        Two directions that span the plane at each point, or one plane for all points.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from preimage.geometry import sectional_curvatures
    >>> from preimage.kernels import Polynomial
    >>> kernel = Polynomial(2, coef0=0.0)
    >>> x = [[1.0, 0.0, 0.0]]
    >>> sectional_curvatures(kernel, x, [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])  # a plane across x
    array([-0.5])
    >>> sectional_curvatures(kernel, x, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0])  # one that contains x
    array([0.])
    """
    who = "sectional_curvatures"
    points, restore = check_geometry(who, kernel, X)
    U, V = (_check_directions(who, name, W, points) for name, W in (("U", U), ("V", V)))
    chart = isotropic_chart(kernel, points)
    if chart is None:
        contract = lambda R, inverse, rows: np.einsum(
            "nabcd,na,nb,nc,nd->n", R, U[rows], V[rows], U[rows], V[rows], optimize=True
        )
        # First, because it refuses degenerate metrics, in which planes have no area.
        curvature = curvature_by_blocks(who, kernel, points, contract)
        areas, _ = _plane_areas(who, metric(kernel, points), U, V)
        return restore(curvature / areas)
    across, along = isotropic_curvatures(who, chart.kernel, chart.X)
    U, V = chart.directions(U), chart.directions(V)
    g = metric(chart.kernel, chart.X)
    areas, products = _plane_areas(who, g, U, V)
    # The curvature operator has two eigenspaces: t is the fraction of the plane's area that contains the
    # direction of x.
    _, radial = radial_direction(chart.kernel, chart.X)
    u, v = np.einsum("na,nab,nb->n", radial, g, U), np.einsum("na,nab,nb->n", radial, g, V)
    uu, uv, vv = products
    t = (u * u * vv - 2 * u * v * uv + v * v * uu) / areas
    return restore(across + (along - across) * t)


def plane_curvatures(kernel: Kernel, X: Rows) -> tuple[Array, Array]:
    r"""The two sectional curvatures of a kernel that no rotation changes  (C8).

    Planes across x all have the first, planes that contain x the second; planes between have a mean of both. For
    dot-product kernels they are :math:`-k''/k'^2` and :math:`(-k'' - s(k''' - k''^2/k'))/(k'(k' + s k''))` at
    :math:`s = \|x\|^2`.

    Parameters
    ----------
    kernel : Kernel
        Of dot products or distances, or made of such by sums, products, powers and normalisation.
    X : array of shape (n, d)
        Points where the metric is invertible.

    Returns
    -------
    across, along : arrays of shape (n,)
        `across` counts from three inputs on, `along` from two.

    Examples
    --------
    >>> from preimage.geometry import plane_curvatures
    >>> from preimage.kernels import Polynomial
    >>> across, along = plane_curvatures(Polynomial(2, coef0=0.0), [[1.0, 0.0, 0.0]])
    >>> across, along
    (array([-0.5]), array([0.]))
    """
    who = "plane_curvatures"
    points, restore = check_geometry(who, kernel, X)
    chart = isotropic_chart(kernel, points)
    if chart is None or chart.matrix is not None:
        raise ValueError(
            f"plane_curvatures needs a kernel that no rotation of the inputs changes; got {kernel!r}. "
            "sectional_curvatures takes any kernel, and the planes."
        )
    across, along = isotropic_curvatures(who, kernel, points)
    return restore(across), restore(along)


def _plane_areas(
    who: str, g: np.ndarray, U: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Squared areas of parallelograms of u and v in the metric g, and g(u, u), g(u, v), g(v, v)."""
    uu, uv, vv = (np.einsum("na,nab,nb->n", A, g, B) for A, B in ((U, U), (U, V), (V, V)))
    areas = uu * vv - uv**2
    flat = ~(areas > NO_PLANE * uu * vv)
    if flat.any():
        i = int(np.argmax(flat))
        raise ValueError(f"{who} needs two independent directions at every point; those at point {i} span no plane.")
    return areas, (uu, uv, vv)


def _check_directions(who: str, name: str, W: Rows, X: np.ndarray) -> np.ndarray:
    W = np.asarray(W, dtype=float)
    if W.shape not in (X.shape, X.shape[1:]):
        raise ValueError(f"{who} needs {name} of shape {X.shape} or {X.shape[1:]}, as X has; got {W.shape}.")
    if not np.isfinite(W).all():
        raise ValueError(f"{who} needs finite directions; {name} contains NaN or infinity.")
    return np.broadcast_to(W, X.shape)
