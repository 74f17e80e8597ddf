"""Curvature of the mapped surface: scalar curvature, and that of planes."""

import numpy as np

from preimage._engine.finite import working_method
from preimage._engine.typing import Array, Rows
from preimage.geometry._diagonal_jet import diagonal_jet
from preimage.geometry._isotropic import (
    embedded_riemann,
    is_radial,
    isotropic_chart,
    isotropic_curvatures,
)
from preimage.geometry._jet import CURVATURE
from preimage.geometry._metric import check_geometry, metric, require_regular, smallest_relative_eigenvalues
from preimage.kernels import Kernel

# Numbers in the largest intermediate tensor: 32 MiB, several of which are held at a time.
LARGEST_BLOCK = 2**22


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
        return restore(_by_blocks(who, kernel, points))
    across, along = isotropic_curvatures(who, chart.kernel, chart.X)
    # (C8); two inputs have no planes across x, whose curvature may be infinite where theirs is zero.
    return restore(2 * (d - 1) * along + ((d - 1) * (d - 2) * across if d > 2 else 0.0))


def riemann(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Riemann's tensor R_abcd, all indices down, by Gauss' equation  (C3); R_abab > 0 as on the sphere."""
    n, d = X.shape
    if is_radial(kernel) or d == 1:
        return np.zeros((n, d, d, d, d))
    return embedded_riemann(diagonal_jet(kernel, X, CURVATURE), d)


def _by_blocks(who: str, kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """g^ac g^bd R_abcd, of a few points at a time."""
    n, d = X.shape
    if d**4 > LARGEST_BLOCK:
        raise ValueError(
            f"{who} of {kernel!r} goes through tensors of d⁴ numbers; {d} inputs are too many (the most is "
            f"{int(LARGEST_BLOCK**0.25)}). Kernels of dot products or distances take any number."
        )
    g = metric(kernel, X)
    require_regular(who, kernel, X, smallest_relative_eigenvalues(g))
    inverse, size = np.linalg.inv(g), max(1, LARGEST_BLOCK // d**4)
    return np.concatenate(
        [
            np.einsum("nac,nbd,nabcd->n", inverse[rows], inverse[rows], riemann(kernel, X[rows]), optimize=True)
            for rows in (slice(start, start + size) for start in range(0, n, size))
        ]
    )


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
    scalar_curvature : One number per point, of any kernel.

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
            "scalar_curvature takes any kernel."
        )
    across, along = isotropic_curvatures(who, kernel, points)
    return restore(across), restore(along)
