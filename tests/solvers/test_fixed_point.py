"""The safeguarded fixed point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import (
    Cosine,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from preimage.solvers import FixedPoint, objective_at

RADIAL = [
    Gaussian(0.5),
    RationalQuadratic(0.5),
    InverseMultiquadric(0.5),
    Matern(0.5, 2.5),
    Gaussian(0.5) + RationalQuadratic(0.1),
]


def random_target(rng, kernel, n=20, d=3, q=6, mixed=True):
    coefficients = rng.normal(size=(n, q)) if mixed else rng.random((n, q))
    return Expansion(kernel, rng.normal(size=(n, d)), coefficients)


def plain_gaussian_iteration(target, Z, gamma, steps):
    """(P2g), as printed."""
    W = target.coefficients.T
    for _ in range(steps):
        E = W * np.exp(-gamma * np.sum((Z[:, None] - target.points[None]) ** 2, axis=2))
        Z = E @ target.points / E.sum(axis=1)[:, None]
    return Z


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_a_single_point_is_its_own_preimage(kernel, rng):
    x = rng.normal(size=(1, 3))
    result = FixedPoint(tol=1e-10).solve(Expansion(kernel, x, np.array([[0.7]])), x + 0.3)
    assert_allclose(result.points, x, atol=1e-8)
    assert result.converged.all()


@pytest.mark.parametrize("kernel", [*RADIAL, Polynomial(3), Polynomial(2), Exponential(0.3), Linear()], ids=repr)
@pytest.mark.parametrize("penalty", [0.0, 0.2])
def test_reported_optima_are_stationary(kernel, penalty, rng):
    target = random_target(rng, kernel, mixed=False)
    start = rng.normal(size=(6, 3))
    result = FixedPoint(penalty=penalty, tol=1e-10, max_iter=5000).solve(target, start)
    gradient = target.distance_gradient(result.points) + 2 * penalty * (result.points - start)
    assert result.converged.all()
    assert_allclose(gradient, 0, atol=1e-5 * np.abs(target.coefficients).sum())


@pytest.mark.parametrize("kernel", [*RADIAL, Polynomial(3), Exponential(0.3)], ids=repr)
@pytest.mark.parametrize("penalty", [0.0, 0.2])
def test_objective_never_exceeds_the_start(kernel, penalty, rng):
    target = random_target(rng, kernel)
    start = rng.normal(size=(6, 3))
    previous = objective_at(target, start)
    for steps in (1, 2, 3, 5, 10, 100):
        result = FixedPoint(penalty=penalty, max_iter=steps).solve(target, start)
        assert (result.objective <= previous + 1e-12).all()
        previous = result.objective
        extra = penalty * np.sum((result.points - start) ** 2, axis=1)
        assert_allclose(result.objective, objective_at(target, result.points) + extra, atol=1e-10)


def test_equals_the_printed_iteration_where_that_is_safe(rng):
    target = random_target(rng, Gaussian(0.5), mixed=False)
    start = rng.normal(size=(6, 3))
    plain = plain_gaussian_iteration(target, start, 0.5, 3000)
    assert_allclose(FixedPoint(tol=1e-10, max_iter=5000).solve(target, start).points, plain, atol=1e-6)


def test_two_bumps_close_together_have_one_preimage_and_far_apart_two(rng):
    for distance, expected in ((1.0, {0.5}), (3.0, {0.0, 3.0})):
        target = Expansion(Gaussian(1.0), np.array([[0.0], [distance]]), np.full((2, 2), 0.5))
        Z = FixedPoint(tol=1e-10, max_iter=5000).solve(target, np.array([[-0.5], [distance + 0.5]])).points
        assert set(Z[:, 0].round(2)) == expected


def test_linear_kernel_is_exact_in_one_step(rng):
    target = random_target(rng, Linear())
    result = FixedPoint().solve(target, rng.normal(size=(6, 3)))
    assert_allclose(result.points, target.coefficients.T @ target.points, atol=1e-12)


def test_large_penalty_returns_the_input(rng):
    target, start = random_target(rng, Gaussian(0.5)), rng.normal(size=(6, 3))
    assert_allclose(FixedPoint(penalty=1e9).solve(target, start).points, start, atol=1e-6)


def test_penalty_above_the_convexity_bound_forgets_the_start(rng):
    """(6): one minimum, whatever the start."""
    target, anchor = random_target(rng, Gaussian(0.5)), rng.normal(size=(6, 3))
    W = target.coefficients
    bound = 0.5 * (0.8925 * np.where(W > 0, W, 0).sum(axis=0) + 2 * np.where(W < 0, -W, 0).sum(axis=0)).max()
    ends = [
        FixedPoint(penalty=1.01 * bound, tol=1e-10).solve(target, rng.normal(size=(6, 3)), anchor=anchor).points
        for _ in range(3)
    ]
    assert_allclose(ends[1], ends[0], atol=1e-6)
    assert_allclose(ends[2], ends[0], atol=1e-6)


def test_moves_with_the_data(rng):
    target, start = random_target(rng, Gaussian(0.5), mixed=False), rng.normal(size=(6, 3))
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    move = lambda X: X @ rotation + 5
    moved = Expansion(Gaussian(0.5), move(target.points), target.coefficients)
    plain = FixedPoint(tol=1e-9).solve(target, start).points
    assert_allclose(FixedPoint(tol=1e-9).solve(moved, move(start)).points, move(plain), atol=1e-6)
    scaled = Expansion(Gaussian(0.5 / 9), 3 * target.points, target.coefficients)
    assert_allclose(FixedPoint(tol=1e-9).solve(scaled, 3 * start).points, 3 * plain, atol=1e-5)


def test_stays_in_the_affine_hull(rng):
    points = rng.normal(size=(20, 3))
    points[:, 1] = 0.7
    start = rng.normal(size=(5, 3))
    start[:, 1] = 0.7
    result = FixedPoint().solve(Expansion(Gaussian(0.5), points, rng.normal(size=(20, 5))), start)
    assert_allclose(result.points[:, 1], 0.7, atol=1e-9)


def test_array_libraries_agree(xp, rng):
    target, start = random_target(rng, Gaussian(0.5)), rng.normal(size=(6, 3))
    there = Expansion(Gaussian(0.5), xp.asarray(target.points), xp.asarray(target.coefficients))
    expected = FixedPoint(penalty=0.01).solve(target, start)
    result = FixedPoint(penalty=0.01).solve(there, xp.asarray(start))
    assert_allclose(to_numpy(result.points), expected.points, atol=1e-8)
    assert (result.reason == expected.reason).all()


def test_cancelling_coefficients_never_give_nan(rng):
    x = rng.normal(size=(1, 3))
    target = Expansion(Gaussian(0.5), np.vstack([x, x]), np.array([[1.0], [-1.0]]))
    result = FixedPoint().solve(target, x + 0.1)
    assert np.isfinite(result.points).all() and np.isfinite(result.objective).all()


@pytest.mark.parametrize("kernel", [Laplacian(0.5), Cosine()], ids=repr)
def test_kernels_without_fixed_point_are_told_of_gradient(kernel, rng):
    with pytest.raises(UnsupportedKernelError, match=r"'gradient' works.*'learned'.*'auto'"):
        FixedPoint().solve(random_target(rng, kernel))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**31),
    st.floats(-4, 2),
    st.floats(-2, 4),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.01, 1.0]),
)
def test_random_problems_end_finite_and_no_worse_than_they_began(seed, log_gamma, log_far, duplicate, single, penalty):
    """Widths over six decades, coefficients of both signs, duplicates, far-away starts, both precisions."""
    rng = np.random.default_rng(seed)
    n, d, q = int(rng.integers(1, 30)), int(rng.integers(1, 8)), int(rng.integers(1, 20))
    points = rng.normal(size=(n, d))
    if duplicate:
        points[n // 2 :] = points[: n - n // 2]
    start = rng.normal(size=(q, d)) * 10.0**log_far
    dtype = np.float32 if single else np.float64
    target = Expansion(
        Gaussian(10.0**log_gamma), points.astype(dtype), (rng.normal(size=(n, q)) * 10 ** rng.normal()).astype(dtype)
    )
    start = start.astype(dtype)
    result = FixedPoint(penalty=penalty).solve(target, start)
    assert np.isfinite(result.points).all()
    assert np.isfinite(result.objective).all()
    before = objective_at(target, start)
    slack = (1e-3 if single else 1e-10) * (1 + np.abs(target.coefficients).sum(axis=0)) ** 2
    assert (result.objective <= before + slack).all()
