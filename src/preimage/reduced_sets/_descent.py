"""Descent over all points of a reduced set at once."""

from preimage._arrays import array_namespace
from preimage.solvers import minimize_rows, spread

# Past steps that approximate the curvature: a set of points has more of it than one.
MEMORY = 10


def descend(function, points, max_iter, tol, lower=None):
    """Points with a smaller value of `function`, which returns value and gradient, by L-BFGS.

    The set of points is one row for `minimize_rows`: the descent runs where the points are, and never ends above its
    start. It stops when a step is shorter than `tol` times the size of the set. Inputs stay at `lower` and above.

    Returns
    -------
    points, converged, reason, n_iter
    """
    if max_iter == 0:
        return points, False, "iteration limit", 0
    xp = array_namespace(points)
    shape = tuple(points.shape)

    def flat(rows):
        value, gradient = function(xp.reshape(rows, shape))
        return xp.full_like(rows[:, 0], float(value)), xp.reshape(gradient, (1, -1))

    size = spread(points) * shape[0] ** 0.5
    start = xp.reshape(points, (1, -1))
    result = minimize_rows(flat, start, size=size, tol=tol, max_iter=max_iter, memory=MEMORY, lower=lower)
    return (
        xp.reshape(result.points, shape),
        bool(result.converged[0]),
        str(result.reason[0]),
        int(result.n_iter[0]),
    )
