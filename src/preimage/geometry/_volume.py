"""Magnification by the feature map."""

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy
from preimage._engine.finite import working_method
from preimage._engine.typing import Array, Rows
from preimage.geometry._isotropic import Chart, isotropic_chart, metric_eigenvalues
from preimage.geometry._metric import (
    check_geometry,
    metric,
    regularity_tolerance,
    require_regular,
    smallest_relative_eigenvalues,
)
from preimage.kernels import Kernel


@working_method("log_volume_element")
def log_volume_element(kernel: Kernel, X: Rows) -> Array:
    r"""The logarithm of :math:`\sqrt{\det g}`: by how much φ magnifies volumes at x.

    A density p(x) of inputs is a density :math:`p(x)/\sqrt{\det g}` on the surface. The logarithm stays finite for
    hundreds of inputs; it costs O(d) per point for kernels that no rotation changes  (C9), O(d³) for others.

    Parameters
    ----------
    kernel : Kernel
        As in `metric_tensor`.
    X : array of shape (n, d)
        Points.

    Returns
    -------
    array of shape (n,)
        Minus infinity where the metric is degenerate, as that of homogeneous kernels is at x = 0: volumes vanish.

    See Also
    --------
    metric_tensor : The metric whose determinant this is.
    preimage.plotting.KernelGeometryDisplay : Draws it over the plane.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.geometry import log_volume_element
    >>> from preimage.kernels import Gaussian, Polynomial
    >>> bool(np.isclose(log_volume_element(Gaussian(2.0), np.zeros((1, 256)))[0], 128 * np.log(4.0)))
    True
    >>> log_volume_element(Polynomial(3, coef0=0.0), [[0.0, 0.0]])
    array([-inf])
    """
    who = "log_volume_element"
    points, restore = check_geometry(who, kernel, X)
    chart = isotropic_chart(kernel, points)
    logs, smallest = _general(kernel, points) if chart is None else _isotropic(chart)
    tolerance = regularity_tolerance(points.shape[1])
    # Indefinite metrics are refused; degenerate ones have no volume, whatever sign rounding gives to their smallest
    # eigenvalue.
    require_regular(who, kernel, points, np.where(np.abs(smallest) <= tolerance, 1.0, smallest))
    regular = smallest > tolerance
    found = restore(np.where(regular, logs, 0.0))
    xp = array_namespace(found)
    return xp.where(from_numpy(regular, found, dtype=xp.bool), found, xp.full_like(found, -float("inf")))


def _isotropic(chart: Chart) -> tuple[np.ndarray, np.ndarray]:
    """Half the logarithm of the determinant by two eigenvalues, and the smallest relative to the largest."""
    d = chart.X.shape[1]
    across, along = metric_eigenvalues(chart.kernel, chart.X)
    across = along if d == 1 else across
    smallest, largest = np.minimum(across, along), np.maximum(np.abs(across), np.abs(along))
    positive = lambda values: np.where(values > 0, values, 1.0)
    logs = 0.5 * ((d - 1) * np.log(positive(across)) + np.log(positive(along))) + chart.log_stretch()
    return logs, smallest / positive(largest)


def _general(kernel: Kernel, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by the determinant of the metric with its diagonal scaled to one."""
    g = metric(kernel, X)
    diagonal = np.diagonal(g, axis1=1, axis2=2)
    lengths = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    _, logs = np.linalg.slogdet(g / lengths[:, :, None] / lengths[:, None, :])
    return 0.5 * logs + np.sum(np.log(lengths), axis=1), smallest_relative_eigenvalues(g)
