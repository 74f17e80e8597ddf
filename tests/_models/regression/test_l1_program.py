"""Linear programs of l1 machines against SciPy's solver, their optimality conditions, and hostile scales."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from preimage._models.regression import L1Machine, best_intercept, solve_l1_program
from preimage._models.regression._l1_program import _loss
from preimage.kernels import Gaussian, Linear


def objective(K, alpha, b, lower, upper, costs):
    return np.abs(alpha).sum() + _loss(K @ alpha + b, lower, upper, costs)


def naive_minimum(K, lower, upper, costs, intercept=True):
    """The same program in the words of a general solver: p, q, b, and an error for every row."""
    n, m = K.shape
    below, above = np.isfinite(lower), np.isfinite(upper)
    constant = np.full((n, 1), float(intercept))
    A = np.hstack([K, -K, constant, np.eye(n)])
    B = np.hstack([-K, K, -constant, np.eye(n)])
    found = linprog(
        np.concatenate([np.ones(2 * m), [0], costs]),
        A_ub=-np.concatenate([A[below], B[above]]),
        b_ub=-np.concatenate([lower[below], -upper[above]]),
        bounds=[(0, None)] * (2 * m) + [(None, None)] + [(0, None)] * n,
    )
    return found.fun


def bounds(kind, rng, X):
    if kind == "classes":
        signs = np.where(X[:, 0] + 0.3 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
        signs[:2] = 1, -1
        return np.where(signs > 0, 1.0, -np.inf), np.where(signs < 0, -1.0, np.inf)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=len(X))
    return y - 0.1, y + 0.1


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["classes", "values"]),
    n=st.integers(3, 40),
    m=st.integers(1, 12),
    C=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    intercept=st.booleans(),
)
@example(seed=1810, kind="classes", n=19, m=11, C=30.0, intercept=False)  # a small coefficient with a small multiplier
def test_the_minimum_is_that_of_a_general_solver(seed, kind, n, m, C, intercept):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    K = Gaussian(0.7)(X, X[: min(m, n)])
    lower, upper = bounds(kind, rng, X)
    costs = C * rng.uniform(0.5, 2, n)
    found = solve_l1_program(K, lower, upper, costs, intercept=intercept)
    expected = naive_minimum(K, lower, upper, costs, intercept)
    assert_allclose(found.objective, expected, rtol=1e-6, atol=1e-9)
    assert_allclose(found.objective, objective(K, found.coefficients, found.intercept, lower, upper, costs), rtol=1e-12)
    assert found.bound <= expected * (1 + 1e-6) + 1e-9
    assert found.converged


@pytest.mark.parametrize("kind", ["classes", "values"])
def test_multipliers_say_which_functions_are_worth_a_coefficient(kind, rng):
    X = rng.normal(size=(200, 2))
    K = Gaussian(0.5)(X, X[:30])
    lower, upper = bounds(kind, rng, X)
    found = solve_l1_program(K, lower, upper, np.full(200, 2.0))
    pull = K.T @ found.multipliers
    used = found.coefficients != 0
    assert 0 < used.sum() < 30
    assert_allclose(pull[used], np.sign(found.coefficients[used]), atol=1e-6)
    assert np.abs(pull).max() <= 1 + 1e-6
    assert abs(found.multipliers.sum()) < 1e-6 and np.abs(found.multipliers).max() <= 2.0 + 1e-9
    f = K @ found.coefficients + found.intercept
    inside = (f > lower + 1e-6) & (f < upper - 1e-6)
    assert_allclose(found.multipliers[inside], 0)
    assert_allclose(found.multipliers[f < lower - 1e-6], 2.0, atol=1e-6)


def test_where_errors_cost_little_no_function_is_used(rng):
    X = rng.normal(size=(50, 2))
    K = Gaussian(0.5)(X)
    y = X[:, 0]
    found = solve_l1_program(K, y, y, np.full(50, 1e-3))
    assert not found.coefficients.any()
    assert_allclose(found.intercept, np.median(y))
    assert_allclose(found.objective, 1e-3 * np.abs(y - np.median(y)).sum())


def test_the_best_constant_is_a_weighted_median(rng):
    y, w = rng.normal(size=41), rng.uniform(0.1, 3, 41)
    found = best_intercept(np.zeros(41), y, y, w)
    cost = lambda b: w @ np.abs(y - b)
    assert cost(found) <= min(cost(b) for b in y) + 1e-12
    assert_allclose(best_intercept(np.zeros(2), np.array([0.0, 4.0]), np.array([0.0, 4.0]), np.ones(2)), 2.0)


@pytest.mark.parametrize("size", [1e-150, 1e-8, 1e8, 1e150])
@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_of_kernels_and_values_do_not_matter(size, unit, rng):
    X = rng.normal(size=(60, 2))
    K = Gaussian(0.5)(X, X[:10])
    y = np.sin(X[:, 0])
    plain = solve_l1_program(K, y - 0.1, y + 0.1, np.full(60, 3.0))
    moved = solve_l1_program(size * K, unit * (y - 0.1), unit * (y + 0.1), np.full(60, 3.0) / size)
    assert_allclose(size * (moved.coefficients / unit), plain.coefficients, atol=1e-6)
    assert_allclose(moved.objective * size / unit, plain.objective, rtol=1e-6)


def test_equal_columns_and_columns_of_zeros_are_no_trouble(rng):
    X = rng.normal(size=(60, 2))
    K = Gaussian(0.5)(X, X[:10])
    y = np.sin(X[:, 0])
    plain = solve_l1_program(K, y, y, np.ones(60))
    more = solve_l1_program(np.hstack([K, K, np.zeros((60, 2))]), y, y, np.ones(60))
    assert_allclose(more.objective, plain.objective, rtol=1e-7)
    assert not more.coefficients[-2:].any()
    nothing = solve_l1_program(np.zeros((60, 3)), y, y, np.ones(60))
    assert not nothing.coefficients.any()
    assert_allclose(nothing.intercept, np.median(y))


@pytest.mark.parametrize("seed", [57, 108, 165, 233, 273, 300])
def test_gaps_bound_what_all_rows_gain_where_landmarks_gain_nothing(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 15))
    X = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-2, 3, size=(n, 1))
    signs = np.where(rng.random(n) < 0.3, 1, -1)
    signs[:2] = 1, -1
    lower, upper = np.where(signs > 0, 1.0, -np.inf), np.where(signs < 0, -1.0, np.inf)
    costs = rng.random(n) * 10.0 ** rng.integers(-8, 0)
    shortest = X[[np.argmin(np.sum(X**2, axis=1))]]
    machine = L1Machine.fit(Linear(), shortest, X, lower[:, None], upper[:, None], costs, intercept=True, max_gap=0.01)
    expected = naive_minimum(X @ X.T, lower, upper, costs)
    assert machine.objective[0] * (1 - machine.gap[0]) <= expected * (1 + 1e-6)


def test_growing_points_end_at_the_minimum_on_all_rows(rng):
    X = rng.normal(size=(150, 2))
    kernel = Gaussian(0.7)
    lower, upper = bounds("classes", rng, X)
    expected = naive_minimum(kernel(X), lower, upper, np.full(150, 5.0))
    fit = lambda gap: L1Machine.fit(
        kernel, X[:5], X, lower[:, None], upper[:, None], np.full(150, 5.0), intercept=True, max_gap=gap
    )
    rough, loose, tight = fit(None), fit(0.6), fit(1e-6)
    assert rough.gap is None and not rough.joined.size
    assert 0 < len(loose.joined) < len(tight.joined)
    for machine in (loose, tight):  # the gap is a bound of what all rows could gain
        assert machine.objective[0] >= expected * (1 - 1e-7)
        assert machine.objective[0] * (1 - machine.gap[0]) <= expected * (1 + 1e-7)
    assert_allclose(tight.objective, expected, rtol=1e-5)
    assert loose.gap[0] <= 0.6 and tight.gap[0] <= 1e-6
