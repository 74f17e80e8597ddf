"""Curvature of the mapped surface, straightest paths on it, and their lengths."""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from preimage._engine.arrays import to_numpy
from preimage._engine.finite import finite_result, gives_finite_numbers, working_method
from preimage._engine.rows import cut
from preimage._engine.typing import Array, Rows
from preimage.geometry._jet import CONNECTION, CURVATURE, diagonal_jet
from preimage.geometry._metric import check_geometry, metric, require_regular, smallest_relative_eigenvalues
from preimage.kernels import Kernel

# Numbers in the largest intermediate tensor: 32 MiB, several of which are held at a time.
LARGEST_BLOCK = 2**22
# Evaluations of the connection after which a path ends where it is: some seconds. Paths of kernels whose curvature is
# large everywhere would take hours; usual ones take some hundred evaluations.
MOST_EVALUATIONS = 2_000
# Nodes of Gauss' rule on each straight piece of a path: exact where the speed is a polynomial of degree seven along it.
GAUSS_NODES = 4
# Absolute tolerance of the integration, relative to the size of the starting point: coordinates that are zero need one.
ZERO_COORDINATE = 1e-3


@working_method("scalar_curvature")
def scalar_curvature(kernel: Kernel, X: Rows) -> Array:
    r"""The scalar curvature :math:`R = g^{ac} g^{bd} R_{abcd}` of the surface φ(x).

    Twice Gauss' curvature for two inputs; d(d − 1)/ρ² on a sphere of radius ρ. Zero for radial kernels, whose surface
    is bent in feature space but flat in itself. It goes through Riemann's tensor, of d⁴ numbers.

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
    n, d = points.shape
    if d**4 > LARGEST_BLOCK:
        raise ValueError(
            f"{who} goes through tensors of d⁴ numbers; {d} inputs are too many (the most is "
            f"{int(LARGEST_BLOCK**0.25)})."
        )
    g = metric(kernel, points)
    require_regular(who, kernel, points, smallest_relative_eigenvalues(g))
    curvature = lambda h, x: np.einsum("nac,nbd,nabcd->n", h, h, riemann(kernel, x), optimize=True)
    inverse, blocks = np.linalg.inv(g), cut(n, max(1, LARGEST_BLOCK // d**4))
    return restore(np.concatenate([curvature(inverse[rows], points[rows]) for rows in blocks]))


def riemann(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Riemann's tensor R_abcd, all indices down; R_abab > 0 as on the sphere.

    Gauss' equation (C3): R_abcd = S_ac,bd − S_ad,bc with S the inner products of normal accelerations.
    """
    d, jet = X.shape[1], diagonal_jet(kernel, X, CURVATURE)
    g, connection, S = jet.dense(1, 1, d), jet.dense(2, 1, d), jet.dense(2, 2, d)
    # Γ_{m,ac} Γ^m_bd as squares of L⁻¹Γ for g = LLᵀ, with the diagonal of g scaled to one first.
    lengths = np.sqrt(np.diagonal(g, axis1=1, axis2=2))
    L = np.linalg.cholesky(g / lengths[:, :, None] / lengths[:, None, :])
    tangential = connection.reshape(len(g), d * d, d).transpose(0, 2, 1) / lengths[:, :, None]
    tangential = np.linalg.solve(L, tangential).reshape(len(g), d, d, d)
    S = S - np.einsum("nmac,nmbd->nacbd", tangential, tangential)
    return S.transpose(0, 1, 3, 2, 4) - S.transpose(0, 1, 3, 4, 2)


def christoffel(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Christoffel symbols  (C2) at points with an invertible metric, the upper index first."""
    n, d = X.shape
    jet = diagonal_jet(kernel, X, CONNECTION)
    lowered = jet.dense(2, 1, d).transpose(0, 3, 1, 2)
    return np.linalg.solve(jet.dense(1, 1, d), lowered.reshape(n, d, d * d)).reshape(n, d, d, d)


@dataclass(frozen=True)
class Geodesic:
    """A geodesic, at evenly spaced times.

    Attributes
    ----------
    times : array of shape (m,)
        From 0 to the requested end of the path, or to where the integration stopped.
    points, velocities : arrays of shape (m, d)
    speed : float
        The length of the velocity in feature space, the same at all times; the length of the path is speed · time.
    converged : bool
        Whether the path came to its end.
    reason : str
        Why it stopped.
    """

    times: Array
    points: Array
    velocities: Array
    speed: float
    converged: bool
    reason: str

    @property
    def length(self) -> float:
        """The length of the path in feature space."""
        return self.speed * float(self.times[-1])


@gives_finite_numbers()
def geodesic(
    kernel: Kernel, x: Rows, velocity: Rows, *, time: float = 1.0, n_points: int = 101, tol: float = 1e-9
) -> Geodesic:
    r"""The straightest path on the surface φ(x) from a point in a direction.

    Solves :math:`\ddot x^c = -\Gamma^c_{ab}\,\dot x^a \dot x^b` by a Runge–Kutta method of order eight.

    Parameters
    ----------
    kernel : Kernel
        As in `metric_tensor`.
    x, velocity : arrays of shape (d,)
        Where the path starts, and how fast in which direction.
    time : float, default=1.0
        How long to follow it.
    n_points : int, default=101
        Points to return.
    tol : float, default=1e-9
        Relative tolerance of the integration.

    Returns
    -------
    Geodesic
        A path that reaches a point without an invertible metric ends there; `reason` says so.

    See Also
    --------
    arc_length : The length of a path.
    preimage.KernelPCA.navigate : A straight line in the principal subspace, with pre-images.

    Examples
    --------
    A radial kernel makes a flat surface, where geodesics are straight:

    >>> import numpy as np
    >>> from preimage.geometry import geodesic
    >>> from preimage.kernels import Gaussian
    >>> path = geodesic(Gaussian(0.5), [0.0, 0.0], [1.0, 2.0], time=2.0)
    >>> np.allclose(path.points[-1], [2.0, 4.0])
    True
    """
    who = "geodesic"
    points, restore = check_geometry(who, kernel, _as_row(x))
    start, d = points[0], points.shape[1]
    velocity = np.asarray(to_numpy(velocity) if hasattr(velocity, "shape") else velocity, dtype=float)
    if velocity.shape != (d,) or not np.isfinite(velocity).all():
        raise ValueError(f"geodesic needs a finite velocity of shape ({d},), as x has; got shape {velocity.shape}.")
    if not time > 0 or n_points < 2:
        raise ValueError(f"geodesic needs time > 0 and at least two points; got time={time!r}, n_points={n_points!r}.")
    g = metric(kernel, points)
    require_regular(who, kernel, points, smallest_relative_eigenvalues(g))
    # The speed ‖ẋ‖_g is constant along a geodesic, so that of the start is the speed of the path.
    speed = float(np.sqrt(velocity @ g[0] @ velocity))

    n_evaluations, last = 0, np.inf

    def motion(at: float, state: np.ndarray) -> np.ndarray:
        nonlocal n_evaluations, last
        n_evaluations += 1
        last = min(last, at) if n_evaluations > MOST_EVALUATIONS else last
        here, along = state[None, :d], state[d:]
        symbols = christoffel(kernel, here)[0]
        return np.concatenate([along, -np.einsum("cab,a,b->c", symbols, along, along)])

    def exhausted(at: float, _: np.ndarray) -> float:
        return min(last, 2 * time) - at

    exhausted.terminal = True  # type: ignore[attr-defined]  # how the integrator is told
    times, begin = np.linspace(0.0, time, n_points), np.concatenate([start, velocity])
    # Near a singular point the symbols overflow; the integrator then fails, which `reason` reports without warnings.
    with np.errstate(all="ignore"):
        # The integrator takes its first step from the derivative; if that is no number, it would shorten NaN for ever.
        path = None
        if np.isfinite(motion(0.0, begin)).all():
            path = solve_ivp(
                motion,
                (0.0, time),
                begin,
                method="DOP853",
                t_eval=times,
                rtol=tol,
                atol=tol * (ZERO_COORDINATE + np.abs(start).max()),
                events=exhausted,
            )
    if path is not None and len(path.t):
        passed, states, message = np.asarray(path.t), path.y, path.message
    else:  # the first step failed
        passed, states, message = np.zeros(1), begin[:, None], "The path cannot begin."
    ended, reached = path is not None and path.status == 0, passed[-1]
    stuck = f"the integration came no further than time {reached:.4g}, to a singular point perhaps: {message}"
    return Geodesic(
        times=restore(passed),
        points=restore(states[:d].T),
        velocities=restore(states[d:].T),
        speed=speed,
        converged=ended,
        reason="the end of the path was reached" if ended else stuck,
    )


@gives_finite_numbers()
def arc_length(kernel: Kernel, points: Rows) -> float:
    r"""The length in feature space of the path through `points`, :math:`\int \sqrt{\dot x^\top g(x)\,\dot x}\,dt`.

    Straight pieces between the points, the integral over each by Gauss' rule with four nodes.

    Parameters
    ----------
    kernel : Kernel
        As in `metric_tensor`.
    points : array of shape (m, d)
        The corners of the path, m ≥ 2.

    Returns
    -------
    float
        The length.

    See Also
    --------
    geodesic : The straightest path from a point in a direction.
    metric_tensor : Lengths of small steps.

    Examples
    --------
    >>> from preimage.geometry import arc_length
    >>> from preimage.kernels import Linear
    >>> arc_length(Linear(), [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    7.0
    """
    corners, _ = check_geometry("arc_length", kernel, points)
    if len(corners) < 2:
        raise ValueError("arc_length needs a path of at least two points; got one.")
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS_NODES)
    steps = np.diff(corners, axis=0)
    places = corners[:-1, None] + (nodes[:, None] + 1) / 2 * steps[:, None]
    g = metric(kernel, places.reshape(-1, corners.shape[1])).reshape(*places.shape, -1)
    squared = np.einsum("ma,mqab,mb->mq", steps, g, steps)
    lengths = finite_result(np.sqrt(np.maximum(squared, 0.0)) @ weights, corners[1:])
    return float(np.sum(lengths) / 2)


def _as_row(x: Rows) -> Array:
    if hasattr(x, "shape") and not isinstance(x, np.ndarray):
        return x[None, :]
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError(f"geodesic starts at one point of shape (d,); got shape {x.shape}.")
    return x[None, :]
