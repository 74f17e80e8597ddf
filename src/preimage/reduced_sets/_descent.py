"""Descent over all points of a reduced set at once."""

import numpy as np
from scipy.optimize import minimize

from preimage._arrays import array_namespace, from_numpy, to_numpy


def descend(function, points, max_iter, tol):
    """Points with a smaller value of `function`, which returns value and gradient, by L-BFGS.

    The iteration is SciPy's, on the host; values and gradients come from the device of the points.

    Returns
    -------
    points, converged, reason, n_iter
    """
    shape = tuple(points.shape)

    def flat(vector):
        value, gradient = function(from_numpy(vector.reshape(shape), points))
        return float(value), to_numpy(gradient).astype(float).reshape(-1)

    start = to_numpy(points).astype(float).reshape(-1)
    first, gradient = flat(start)
    # SciPy's first step has the length of one gradient, which knows nothing of the scale of the inputs.
    length = np.linalg.norm(gradient)
    if max_iter == 0 or not np.isfinite(first) or length == 0:
        return points, length == 0, "stationary start" if length == 0 else "iteration limit", 0
    result = minimize(
        flat, start, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "maxcor": 20, "ftol": tol, "gtol": 0.0}
    )
    if not result.fun <= first:
        return points, False, "no descent", int(result.nit)
    converged = result.status == 0
    reason = "converged" if converged else "iteration limit" if result.status == 1 else "line search failed"
    return from_numpy(result.x.reshape(shape), points), converged, reason, int(result.nit)


def pair_dot(A, B):
    """Σᵢⱼ aᵢⱼ bᵢⱼ as a number."""
    return float(array_namespace(A).sum(A * B))
