"""The metric that feature space gives to input space, its volume element, and checks of arguments."""

from collections.abc import Callable

import numpy as np

from preimage._engine.arrays import array_namespace, as_points, from_numpy, is_sparse, to_numpy
from preimage._engine.finite import finite_result, training_inputs, working_method
from preimage._engine.linalg import rank_tolerance
from preimage._engine.typing import Array, Rows
from preimage.exceptions import UnsupportedKernelError
from preimage.geometry._jet import METRIC, diagonal_jet
from preimage.kernels import Kernel


def check_geometry(who: str, kernel: Kernel, X: Rows) -> tuple[np.ndarray, Callable[[np.ndarray], Array]]:
    """Validate a kernel and rows of inputs for the function named `who`.

    Returns X as a NumPy array in double precision, and a function that converts NumPy results to the array library,
    device and precision of X.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"{who} needs a kernel of preimage.kernels, such as Polynomial(3); got {kernel!r}. A fitted model has its "
            "own as `kernel_`."
        )
    if not kernel.takes_numbers:
        raise UnsupportedKernelError(
            f"{who} needs a kernel on rows of numbers; {kernel!r} compares objects. "
            "preimage.testing.check_kernel(kernel, objects) tests such a kernel."
        )
    given = as_points(X)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"{who} expects 2D data of shape (n_points, n_inputs), neither zero; got shape {tuple(given.shape)}. "
            "Reshape a single point with `x.reshape(1, -1)`."
        )
    if not kernel.is_resolved:
        raise ValueError(f"{kernel!r} finds gamma from data: call `resolve(X)` first, and use the kernel it returns.")
    points = np.asarray(to_numpy(given), dtype=np.float64)
    if not np.isfinite(points).all():
        i = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise ValueError(f"{who} needs finite points; row {i} of X contains NaN or infinity. Impute or drop it first.")
    points = training_inputs(who, points)
    with np.errstate(all="ignore"):
        lengths = np.asarray(kernel.diagonal(points))  # also the kernel's own check of the number of inputs
    if not np.isfinite(lengths).all():
        i = int(np.argmin(np.isfinite(lengths)))
        raise ValueError(
            f"{who} needs finite kernel values; k(x, x) is {lengths[i]} at point {i}. Scale the inputs or the kernel."
        )
    like = points.astype(given.dtype) if is_sparse(given) else given
    return points, lambda values: finite_result(from_numpy(values, like), points, who=who)


# Rounding errors of sums and products of jets, in units of those of one sum over the inputs: a metric is made of some
# ten such operations. Ten times more would call metrics degenerate that have two digits of their smallest eigenvalue.
JET_ROUNDING = 100


@working_method("metric_tensor")
def metric_tensor(kernel: Kernel, X: Rows) -> Array:
    r"""The metric :math:`g_{ab} = \partial_{x_a} \partial_{y_b} k(x, y)|_{y=x}` of the surface φ(x)  (C1).

    A small step u in input space is a step of squared length :math:`u^\top g\,u` in feature space. Exact for all
    kernels of the library that are differentiable on the diagonal, their sums, products, powers, multiples,
    normalised forms and linear maps of inputs. Others are refused.

    Parameters
    ----------
    kernel : Kernel
        Resolved: with a number for `gamma`.
    X : array of shape (n, d)
        Points.

    Returns
    -------
    array of shape (n, d, d)
        Symmetric; positive semidefinite if the kernel is. Homogeneous kernels give zero at x = 0.

    See Also
    --------
    log_volume_element : How much volumes are magnified.
    arc_length : Lengths of paths.
    scalar_curvature : One number for the curvature.
    preimage.plotting.KernelGeometryDisplay : Draws the geometry of a kernel of two inputs.

    Notes
    -----
    Everything in `preimage.geometry` is computed by NumPy in double precision; results have the library, device and
    precision of X. Dot-product kernels have :math:`k'\delta_{ab} + k'' x_a x_b`  (C4), radial ones are flat with
    :math:`-2f'(0)\,\delta_{ab}`.

    Examples
    --------
    >>> from preimage.geometry import metric_tensor
    >>> from preimage.kernels import Gaussian, Polynomial
    >>> metric_tensor(Gaussian(0.5), [[1.0, 2.0]])
    array([[[1., 0.],
            [0., 1.]]])
    >>> metric_tensor(Polynomial(2, coef0=1.0), [[1.0, 0.0]])
    array([[[6., 0.],
            [0., 4.]]])
    """
    points, restore = check_geometry("metric_tensor", kernel, X)
    return restore(metric(kernel, points))


@working_method("log_volume_element")
def log_volume_element(kernel: Kernel, X: Rows) -> Array:
    r"""The logarithm of :math:`\sqrt{\det g}`: by how much φ magnifies volumes at x.

    A density p(x) of inputs is a density :math:`p(x)/\sqrt{\det g}` on the surface. The logarithm stays finite for
    hundreds of inputs.

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
    g = metric(kernel, points)
    scaled, lengths = _with_unit_diagonal(g)
    logs = 0.5 * np.linalg.slogdet(scaled)[1] + np.sum(np.log(lengths), axis=1)
    smallest = smallest_relative_eigenvalues(g)
    tolerance = regularity_tolerance(points.shape[1])
    # Indefinite metrics are refused; degenerate ones have no volume, whatever sign rounding gives to their smallest
    # eigenvalue.
    require_regular(who, kernel, points, np.where(np.abs(smallest) <= tolerance, 1.0, smallest))
    regular = smallest > tolerance
    found = restore(np.where(regular, logs, 0.0))
    xp = array_namespace(found)
    return xp.where(from_numpy(regular, found, dtype=xp.bool), found, xp.full_like(found, -float("inf")))


def metric(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """g of a checked kernel at checked points."""
    g = diagonal_jet(kernel, X, METRIC).dense(1, 1, X.shape[1])
    return (g + g.transpose(0, 2, 1)) / 2  # symmetric to the last digit


def smallest_relative_eigenvalues(g: np.ndarray) -> np.ndarray:
    """Smallest eigenvalue of each metric with its diagonal scaled to one, so that units of inputs do not matter.

    Minus infinity where a diagonal entry is negative, zero where one is zero.
    """
    diagonal = np.diagonal(g, axis1=1, axis2=2)
    values = np.linalg.eigvalsh(_with_unit_diagonal(g)[0])[:, 0]
    values = np.where((diagonal == 0).any(axis=1), np.minimum(values, 0.0), values)
    return np.where((diagonal < 0).any(axis=1), -np.inf, values)


def _with_unit_diagonal(g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Metrics in units of the lengths of steps along each input, and these lengths; one where a length is none."""
    diagonal = np.diagonal(g, axis1=1, axis2=2)
    lengths = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return g / lengths[:, :, None] / lengths[:, None, :], lengths


def regularity_tolerance(d: int) -> float:
    """Relative eigenvalues of metrics of d inputs below this are rounding errors of sums and products of jets."""
    return JET_ROUNDING * rank_tolerance(d, np.float64)


def require_regular(who: str, kernel: Kernel, X: np.ndarray, smallest: np.ndarray) -> None:
    """Refuse points where the metric is not positive definite; `smallest` are eigenvalues relative to the largest."""
    tolerance = regularity_tolerance(X.shape[1])
    regular = smallest > tolerance
    if regular.all():
        return
    i = int(np.argmin(regular))
    if smallest[i] < -tolerance:
        reason = "indefinite: the kernel is not positive semidefinite there (see mercer_report)"
    else:
        reason = (
            "degenerate: some steps from this point do not change φ. Homogeneous kernels have such a point at x = 0, "
            "linear maps to fewer dimensions everywhere"
        )
    raise ValueError(
        f"{who} needs a positive definite metric; that of {kernel!r} at point {i} ({_short(X[i])}) is {reason}. Leave "
        f"such points out ({int(np.sum(~regular))} of {len(X)}), or add a constant to the kernel's argument."
    )


def _short(x: np.ndarray) -> str:
    return np.array2string(x, precision=3, threshold=6, edgeitems=2)
