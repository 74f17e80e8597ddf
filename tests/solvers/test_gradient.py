"""Quasi-Newton pre-images; L-BFGS steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, rosen, rosen_der

from preimage._engine.arrays import to_numpy
from preimage.descent import SameFunction, minimize_set
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import (
    AdditiveChi2,
    CallableKernel,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Sigmoid,
)
from preimage.solvers import Box, FixedPoint, Gradient, QuasiNewton, Reason, minimize_rows, objective_at


def random_target(rng, kernel, n=20, d=3, q=6):
    return Expansion(kernel, rng.normal(size=(n, d)), rng.random((n, q)))


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.5), Polynomial(3), Matern(0.3), Linear() * Gaussian(0.2), Cosine() + Gaussian(0.1), Sigmoid(0.1)],
    ids=repr,
)
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_stationary_at_the_end(kernel, penalty, rng):
    target, start = random_target(rng, kernel), rng.normal(size=(6, 3))
    result = Gradient(penalty=penalty, tol=1e-9, max_iter=2000).solve(target, start)
    gradient = target.distance_gradient(result.points) + 2 * penalty * (result.points - start)
    assert result.converged.all()
    assert_allclose(gradient, 0, atol=1e-5 * np.abs(target.distance_gradient(start)).max())
    assert (result.objective <= objective_at(target, start) + 1e-12).all()


def test_reaches_what_scipy_reaches(rng):
    target, start = random_target(rng, Gaussian(0.5)), rng.normal(size=(6, 3))
    result = Gradient(tol=1e-9).solve(target, start)
    for j, single in enumerate(target[j] for j in range(6)):
        distance = lambda z, single=single: single.squared_distances(z[None])[0, 0]
        best = minimize(distance, start[j], method="BFGS", options={"gtol": 1e-8})
        assert result.objective[j] <= best.fun + 1e-6


def test_same_minimum_as_the_fixed_point_in_fewer_steps_for_wide_kernels(rng):
    X = rng.normal(size=(100, 5))
    target = Expansion(Gaussian(0.01), X, rng.normal(size=(100, 10)) / 100 + 0.01)
    start = rng.normal(size=(10, 5))
    fixed, quasi = FixedPoint(tol=1e-8, max_iter=3000).solve(target, start), Gradient(tol=1e-8).solve(target, start)
    assert_allclose(quasi.objective, fixed.objective, atol=1e-8)


def test_box_is_kept_and_optimal(rng):
    target, start = random_target(rng, Gaussian(0.3)), rng.normal(size=(6, 3))
    result = Gradient(lower=[-0.1, -0.2, 0.1], upper=[0.2, 0.0, 0.5], tol=1e-9).solve(target, start)
    lower, upper = np.array([-0.1, -0.2, 0.1]), np.array([0.2, 0.0, 0.5])
    assert (result.points >= lower).all() and (result.points <= upper).all()
    gradient = target.distance_gradient(result.points)
    inside = (result.points > lower) & (result.points < upper)
    scale = np.abs(gradient).max()
    assert_allclose(gradient[inside], 0, atol=1e-5 * scale)
    assert (gradient[result.points == lower] >= -1e-6 * scale).all()
    assert (gradient[result.points == upper] <= 1e-6 * scale).all()


def test_impossible_boxes_are_refused(rng):
    with pytest.raises(ValueError, match="lower ≤ upper"):
        Gradient(lower=1.0, upper=0.0).solve(random_target(rng, Gaussian(0.3)))


def test_kernels_without_gradient_are_refused(rng):
    with pytest.raises(UnsupportedKernelError, match="gradient"):
        Gradient().solve(random_target(rng, CallableKernel(lambda X, Y: X @ Y.T)), np.ones((6, 3)))


def test_kinks_end_finite(rng):
    result = Gradient(max_iter=200).solve(random_target(rng, Laplacian(0.5)), rng.normal(size=(6, 3)))
    assert np.isfinite(result.points).all()


def test_array_libraries_agree(xp, rng):
    target, start = random_target(rng, Gaussian(0.5)), rng.normal(size=(6, 3))
    there = Expansion(Gaussian(0.5), xp.asarray(target.points), xp.asarray(target.coefficients))
    expected = Gradient(lower=-1, upper=1).solve(target, start)
    assert_allclose(
        to_numpy(Gradient(lower=-1, upper=1).solve(there, xp.asarray(start)).points), expected.points, atol=1e-6
    )


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
