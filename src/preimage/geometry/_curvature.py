"""Curvature of the mapped surface: Riemann, Ricci and scalar curvature, and that of planes."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from preimage._arguments import names_its_arguments
from preimage._finite import working_method
from preimage._typing import Array, Rows
from preimage.geometry._diagonal_jet import diagonal_jet
from preimage.geometry._dot_product import dot_product_geometry
from preimage.geometry._isotropic import (
    embedded_riemann,
    is_radial,
    isotropic_chart,
    isotropic_curvatures,
    radial_direction,
)
from preimage.geometry._jet import CURVATURE
from preimage.geometry._metric import check_geometry, metric, require_regular, smallest_relative_eigenvalues
from preimage.kernels import Kernel

# Numbers in the largest tensor to return (1 GiB), and in the largest intermediate tensor of smaller results (32 MiB,
# several of which are held at a time).
LARGEST_RESULT = 2**27
LARGEST_BLOCK = 2**22

# A function of Riemann's tensor and the inverse metric at some points, and of their rows.
Contraction: TypeAlias = Callable[[np.ndarray, np.ndarray, slice], np.ndarray]


@working_method("riemann_tensor")
def riemann_tensor(kernel: Kernel, X: Rows) -> Array:
    r"""Riemann's curvature tensor :math:`R_{abcd}` of the surface φ(x), all indices down, by Gauss' equation  (C3).

    The sign is that of the sphere: :math:`R_{abab} > 0` where the surface is curved like one. Every kernel of dot
    products with non-negative Taylor coefficients that is not linear is curved the other way, like a saddle.

    Parameters
    ----------
    kernel : Kernel
        As in `metric_tensor`. Where the gradient is differentiated by differences, errors are about 1e-8.
    X : array of shape (n, d)
        Points where the metric is invertible. The result has n·d⁴ numbers; more than 2²⁷ are refused.

    Returns
    -------
    array of shape (n, d, d, d, d)
        ``[:, a, b, c, d]``.

    See Also
    --------
    plane_curvatures : Two numbers per point, which describe the tensor completely for dot-product kernels.
    ricci_tensor : A trace of it.
    scalar_curvature : One number per point.

    Examples
    --------
    >>> from preimage.geometry import riemann_tensor
    >>> from preimage.kernels import Polynomial
    >>> float(riemann_tensor(Polynomial(2, coef0=1.0), [[0.0, 0.0]])[0, 0, 1, 0, 1])
    -2.0
    """
    who = "riemann_tensor"
    points, restore = check_geometry(who, kernel, X)
    n, d = points.shape
    if n * d**4 > LARGEST_RESULT:
        raise ValueError(
            f"riemann_tensor of {n} points with {d} inputs has n·d⁴ = {n * d**4:.3g} numbers, more than 2²⁷. Take "
            "fewer points, or scalar_curvature and sectional_curvatures, which need not store it."
        )
    require_regular(who, kernel, points, smallest_relative_eigenvalues(metric(kernel, points)))
    return restore(_riemann(kernel, points))


@working_method("ricci_tensor")
def ricci_tensor(kernel: Kernel, X: Rows) -> Array:
    r"""Ricci's tensor :math:`R_{bd} = g^{ac} R_{abcd}`: for a unit vector u, the sum of curvatures of planes with u.

    Parameters
    ----------
    kernel : Kernel
        As in `metric_tensor`. Kernels that no rotation changes (dot products, distances, and what is made of them)
        take O(d²) per point; others O(d⁴).
    X : array of shape (n, d)
        Points where the metric is invertible.

    Returns
    -------
    array of shape (n, d, d)
        Symmetric.

    See Also
    --------
    riemann_tensor : The tensor of which it is a trace.
    scalar_curvature : Its trace.

    Examples
    --------
    >>> from preimage.geometry import ricci_tensor
    >>> from preimage.kernels import Polynomial
    >>> ricci_tensor(Polynomial(2, coef0=1.0), [[0.0, 0.0]])
    array([[[-1.,  0.],
            [ 0., -1.]]])
    """
    who = "ricci_tensor"
    points, restore = check_geometry(who, kernel, X)
    d = points.shape[1]
    chart = isotropic_chart(kernel, points)
    if chart is None:
        contract = lambda R, inverse, rows: np.einsum("nac,nabcd->nbd", inverse, R)
        return restore(curvature_by_blocks(who, kernel, points, contract))
    across, along = isotropic_curvatures(who, chart.kernel, chart.X)
    g = metric(chart.kernel, chart.X)
    radial, _ = radial_direction(chart.kernel, chart.X)
    # Planes that contain a unit vector u perpendicular to x: d − 2 of them do not contain x, one does. For u along x,
    # all d − 1 planes contain x.
    others = (d - 2) * across + along if d > 1 else along
    ricci = others[:, None, None] * g
    ricci += ((d - 1) * along - others)[:, None, None] * radial[:, :, None] * radial[:, None, :]
    return restore(ricci if chart.matrix is None else chart.matrix.T @ ricci @ chart.matrix)


@working_method("scalar_curvature")
def scalar_curvature(kernel: Kernel, X: Rows) -> Array:
    r"""The scalar curvature :math:`R = g^{ac} g^{bd} R_{abcd}` of the surface φ(x).

    Twice Gauss' curvature for two inputs; d(d − 1)/ρ² on a sphere of radius ρ. Zero for radial kernels, whose surface
    is bent in feature space but flat in itself. Kernels that no rotation changes (dot products, distances, and sums,
    products, powers and normalised forms of them, also on invertibly mapped inputs) take O(d) per point in any
    dimension; others go through Riemann's tensor, a few points at a time.

    Parameters
    ----------
    kernel : Kernel
        As in `metric_tensor`.
    X : array of shape (n, d)
        Points where the metric is invertible. Others, such as x = 0 for homogeneous kernels where R tends to −∞, are
        refused by name.

    Returns
    -------
    array of shape (n,)
        R.

    See Also
    --------
    plane_curvatures : Two numbers per point, for kernels that no rotation changes.
    metric_tensor : The metric.
    preimage.plotting.KernelGeometryDisplay : Draws curvature over the plane.

    Examples
    --------
    Inhomogeneous polynomials have R = −(p − 1)d(d − 1)/p at the origin:

    >>> from preimage.geometry import scalar_curvature
    >>> from preimage.kernels import Gaussian, Polynomial
    >>> scalar_curvature(Polynomial(2, coef0=1.0), [[0.0, 0.0, 0.0]])
    array([-3.])
    >>> scalar_curvature(Gaussian(0.3), [[1.0, 2.0]])
    array([0.])
    """
    who = "scalar_curvature"
    points, restore = check_geometry(who, kernel, X)
    d = points.shape[1]
    chart = isotropic_chart(kernel, points)
    if chart is None:
        contract = lambda R, inverse, rows: np.einsum("nac,nbd,nabcd->n", inverse, inverse, R, optimize=True)
        return restore(curvature_by_blocks(who, kernel, points, contract))
    across, along = isotropic_curvatures(who, chart.kernel, chart.X)
    # (C8); two inputs have no planes across x, whose curvature may be infinite where theirs is zero.
    return restore(2 * (d - 1) * along + ((d - 1) * (d - 2) * across if d > 2 else 0.0))


def _riemann(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    n, d = X.shape
    if is_radial(kernel) or d == 1:
        return np.zeros((n, d, d, d, d))
    closed = dot_product_geometry(kernel, X)
    return embedded_riemann(diagonal_jet(kernel, X, CURVATURE), d) if closed is None else closed.riemann()


def curvature_by_blocks(who: str, kernel: Kernel, X: np.ndarray, contract: Contraction) -> np.ndarray:
    """A contraction of Riemann's tensor with the inverse metric, of a few points at a time."""
    n, d = X.shape
    if d**4 > LARGEST_BLOCK:
        raise ValueError(
            f"{who} of {kernel!r} goes through tensors of d⁴ numbers; {d} inputs are too many (the most is "
            f"{int(LARGEST_BLOCK**0.25)}). Kernels of dot products or distances take any number."
        )
    g = metric(kernel, X)
    require_regular(who, kernel, X, smallest_relative_eigenvalues(g))
    size = max(1, LARGEST_BLOCK // d**4)
    blocks = [slice(start, start + size) for start in range(0, n, size)]
    return np.concatenate([contract(_riemann(kernel, X[rows]), np.linalg.inv(g[rows]), rows) for rows in blocks])


# Squared sine of the angle of two directions below which they span no plane: the area is a difference of numbers with
# errors of ε, so that smaller ones have no right digit.
NO_PLANE = 1e-14


@working_method("sectional_curvatures")
@names_its_arguments
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
        Negative where the surface is curved like a saddle.

    See Also
    --------
    plane_curvatures : The two values that dot-product kernels have.
    scalar_curvature : A sum over planes.

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


@working_method("plane_curvatures")
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

    See Also
    --------
    sectional_curvatures : Any plane, and any kernel.
    scalar_curvature : One number per point.

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
