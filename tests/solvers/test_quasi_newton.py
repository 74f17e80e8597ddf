"""L-BFGS steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, rosen, rosen_der

from preimage.kernels import AdditiveChi2, Gaussian
from preimage.solvers import Box, QuasiNewton, Reason, minimize_rows
from preimage.solvers._descent import SameFunction
from preimage.solvers._quasi_newton import minimize_set


@pytest.mark.parametrize("memory", [3, 8])
def test_a_curved_valley_is_followed_as_fast_as_by_scipy(memory, rng):
    start = rng.uniform(-1.5, 1.5, size=(10, 4))
    valleys = SameFunction(lambda Z: (rosen(Z.T), rosen_der(Z.T).T))
    result = minimize_rows(valleys, start, Box(), QuasiNewton(1.0, 1e-9, memory), 1000)
    for row, j in zip(start, range(10), strict=True):
        theirs = minimize(rosen, row, jac=rosen_der, method="L-BFGS-B", options={"maxcor": memory, "gtol": 1e-9})
        assert np.linalg.norm(rosen_der(result.points[j])) < 1e-5
        assert result.n_iter[j] < 4 * theirs.nfev


def test_a_set_of_points_moves_as_one(rng):
    """Two points that repel each other in a bowl: the minimum is where they are opposite."""

    def energy(Z):
        between = Z[0] - Z[1]
        repulsion = np.exp(-between @ between)
        gradient = 2 * Z + 0.0
        gradient[0] -= 8 * repulsion * between
        gradient[1] += 8 * repulsion * between
        return float(np.sum(Z**2) + 4 * repulsion), gradient

    start = rng.normal(size=(2, 3))
    points, converged, reason, n_iter = minimize_set(energy, start, Gaussian(), tol=1e-9, max_iter=500)
    assert converged and reason is Reason.CONVERGED and n_iter > 1
    assert_allclose(points[0], -points[1], atol=1e-5)
    assert_allclose(np.sum((points[0] - points[1]) ** 2), np.log(8), rtol=1e-5)  # r² + 4 exp(−4r²) at its minimum


def test_sets_stay_where_the_kernel_is_defined_and_none_moves_without_steps(rng):
    start = rng.random(size=(4, 3))
    downwards = lambda Z: (float(np.sum(Z)), np.ones_like(Z))
    points, *_ = minimize_set(downwards, start, AdditiveChi2(), tol=1e-9, max_iter=100)
    assert_allclose(points, 0, atol=1e-12)
    assert minimize_set(downwards, start, Gaussian(), tol=1e-9, max_iter=0)[0] is start
