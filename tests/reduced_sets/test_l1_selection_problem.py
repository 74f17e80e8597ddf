"""Coefficients under an L1 penalty: optimality, paths, and the solver of joint problems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from random_targets import random_target
from scipy.optimize import minimize
from sklearn.linear_model import Lasso

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Laplacian
from preimage.reduced_sets import SelectL1
from preimage.reduced_sets._l1_selection import _PenalizedProblem, group_lasso, row_norms, shrink_rows

several = pytest.mark.parametrize("k", [1, 4])


weighting = pytest.mark.parametrize("adaptive", [True, False])


TIGHT = {"tol": 1e-11, "max_iter": 100_000}


def problem_of(target, adaptive):
    """K, α and c in the order of the merged points."""
    target = target.merged()
    sizes = np.abs(target.coefficients).max(axis=1)
    weights = sizes.mean() / sizes if adaptive else np.ones_like(sizes)
    return target.kernel(target.points), target.coefficients, weights


def largest_penalty(target, adaptive):
    K, alpha, weights = problem_of(target, adaptive)
    return np.max(np.abs(K @ alpha).sum(axis=1) / weights)


@weighting
@several
@pytest.mark.parametrize("share", [0.9, 0.3, 0.03])
def test_solutions_meet_the_conditions_of_optimality(share, k, adaptive, rng):
    """(R14) for one target, (R16) for several."""
    target = random_target(rng, Gaussian(0.5), k=k)
    K, alpha, weights = problem_of(target, adaptive)
    penalty = share * largest_penalty(target, adaptive)
    beta = SelectL1(adaptive, **TIGHT)._shrunk(target, penalty)[1]
    G, limits = K @ (alpha - beta), penalty * weights
    used, scale = beta.any(axis=1), np.abs(K @ alpha).max()
    assert 0 < used.sum() < 25
    assert (np.abs(G).sum(axis=1) <= limits + 1e-8 * scale).all()
    assert_allclose(np.abs(G[used]).sum(axis=1), limits[used], atol=1e-8 * scale)
    assert_allclose(
        np.sum(G * beta, axis=1)[used], (limits * np.abs(beta).max(axis=1))[used], rtol=1e-6, atol=1e-9 * scale
    )


@weighting
@several
def test_limits_of_the_penalty(k, adaptive, rng):
    target, selector = random_target(rng, k=k), SelectL1(adaptive)
    top = largest_penalty(target, adaptive)
    assert_array_equal(selector._shrunk(target, 0)[1], target.merged().coefficients)
    assert not selector._shrunk(target, 1.0001 * top)[1].any()
    assert not selector._shrunk(target, 1e3 * top)[1].any()
    assert selector._shrunk(target, 0.99 * top)[1].any()


@weighting
def test_path_is_the_lasso(adaptive, rng):
    """With a square root of K for its design, and columns divided by the weights."""
    target = random_target(rng, Gaussian(0.5), k=1)
    K, alpha, weights = problem_of(target, adaptive)
    penalties, coefficients, _ = _PenalizedProblem(target.merged(by_image=True), adaptive).path()
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
    assert (np.diff(penalties) <= 0).all()
    assert_allclose(penalties[0], largest_penalty(target, adaptive))
    for step in (1, 5, 12):
        lasso = Lasso(penalties[step] / 25, fit_intercept=False, tol=1e-13, max_iter=1_000_000)
        lasso.fit(root / weights, (root @ alpha)[:, 0])
        assert_allclose(coefficients[:, step], lasso.coef_ / weights, atol=1e-5)


def test_path_ends_at_the_target(rng):
    target = random_target(rng, Laplacian(1.0), k=1)
    _, coefficients, _ = _PenalizedProblem(target.merged(by_image=True), True).path()
    assert_allclose(coefficients[:, -1], target.merged().coefficients[:, 0], atol=1e-4)


def test_quadratic_program(rng):
    """(R13): coefficients split by sign."""
    target = random_target(rng, Gaussian(0.5), m=10, k=1)
    K, alpha, weights = problem_of(target, True)
    penalty = 0.2 * largest_penalty(target, True)
    inner = (K @ alpha)[:, 0]

    def program(halves):
        plus, minus = halves[:10], halves[10:]
        slope = K @ (plus - minus)
        value = 0.5 * (plus - minus) @ slope + plus @ (penalty * weights - inner) + minus @ (penalty * weights + inner)
        return value, np.concatenate([slope + penalty * weights - inner, -slope + penalty * weights + inner])

    best = minimize(program, np.zeros(20), jac=True, bounds=[(0, None)] * 20, options={"ftol": 1e-15, "gtol": 1e-12})
    beta = SelectL1(**TIGHT)._shrunk(target, penalty)[1][:, 0]
    assert_allclose(beta, best.x[:10] - best.x[10:], atol=1e-4)


@weighting
def test_joint_problem_of_one_target_is_the_single_one(adaptive, rng):
    target = random_target(rng, Gaussian(0.5), k=1)
    K, alpha, weights = problem_of(target, adaptive)
    penalty = 0.2 * largest_penalty(target, adaptive)
    joint, converged, _ = group_lasso(K, K @ alpha, penalty * weights, np.zeros_like(alpha), 1e-12, 200_000)
    assert converged
    assert_allclose(SelectL1(adaptive)._shrunk(target, penalty)[1], joint, atol=1e-6)


@given(st.integers(0, 2**31), st.integers(1, 6), st.floats(0.0, 5.0))
def test_shrinking_is_the_proximal_map_of_the_maximum(seed, columns, radius):
    rng = np.random.default_rng(seed)
    V, radii = rng.normal(size=(4, columns)), np.full(4, radius)
    shrunk = shrink_rows(V, radii)
    value = lambda W: 0.5 * np.sum((V - W) ** 2, axis=1) + radii * np.abs(W).max(axis=1)
    assert (row_norms(V - shrunk) <= np.maximum(radii, 0) + 1e-12).all()  # Moreau: the rest lies in the ball
    for size in (1e-3, 1e-1, 1.0):
        assert (value(shrunk) <= value(shrunk + size * rng.normal(size=V.shape)) + 1e-12).all()


@several
def test_scale_of_the_kernel_does_not_matter(k, rng):
    target = random_target(rng, k=k)
    scaled = Expansion(1e-9 * target.kernel, target.points, 1e7 * target.coefficients)
    assert_array_equal(SelectL1().reduce(target, 6).expansion.points, SelectL1().reduce(scaled, 6).expansion.points)
