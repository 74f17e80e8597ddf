"""The interior-point method: minima by a general solver, gaps that hold, and hostile weights and penalties."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from preimage._models.regression._feature_rows import FeatureRows
from preimage._models.regression._interior_point import minimize_intervals
from preimage._models.regression._landmark_ridge import nested_frame
from preimage._models.regression._losses import EpsilonInsensitiveLoss, HingeLoss, QuantileLoss
from preimage._models.regression._solution import Problem, relative_gap
from preimage.kernels import Gaussian

LOSSES = [HingeLoss(), EpsilonInsensitiveLoss(0.2), QuantileLoss(0.5), QuantileLoss(0.05)]


def problem(loss, alpha, seed=0, n=60, m=12, intercept=True, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.sin(2 * X[:, [0]]) + X[:, [1]] * np.arange(k) + 0.3 * rng.normal(size=(n, k))
    Y = np.where(Y > 0, 1.0, -1.0) if isinstance(loss, HingeLoss) else Y
    rows = FeatureRows.of(nested_frame(Gaussian(0.5), X[:m]), X, intercept=intercept)
    return Problem(rows, loss, Y, rng.uniform(0.1, 2, size=n) * (rng.random(n) > 0.1), alpha)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_minimum_is_that_of_a_general_solver(loss, intercept):
    it = problem(loss, 0.05, n=14, m=6, intercept=intercept)
    found = minimize_intervals(it, tol=1e-10, max_iter=100)
    G = it.rows.values(np.eye(it.rows.n_columns))[:, :6]
    for c in range(2):
        expected = naive.interval_machine(
            G @ G.T, *(end[:, c] for end in loss.interval(it.Y)), *loss.steepness(), it.weights, it.alpha, intercept
        )
        assert_allclose(it.objective(found.V, found.F)[c], expected, rtol=1e-6)


@settings(max_examples=40)
@given(
    loss=st.sampled_from(LOSSES),
    alpha=st.sampled_from([1e-6, 1e-3, 0.1, 10.0, 1e6]),
    seed=st.integers(0, 10**6),
    n=st.integers(3, 60),
    intercept=st.booleans(),
)
def test_gaps_are_closed(loss, alpha, seed, n, intercept):
    it = problem(loss, alpha, seed, n=n, m=min(12, n), intercept=intercept)
    found = minimize_intervals(it, tol=1e-8, max_iter=200)
    objective, gap = relative_gap(it, found)
    assert np.all(gap <= 1e-7)
    zero = np.zeros((it.rows.n_columns, 2))
    assert np.all(objective <= it.objective(zero, it.rows.values(zero)) * (1 + 1e-9) + it.nearly_nothing)
    assert_allclose(found.F, it.rows.values(found.V), atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gaps_bound_what_is_missing(loss):
    it = problem(loss, 1e-2)
    best = minimize_intervals(it, tol=1e-12, max_iter=100)
    minimum = it.objective(best.V, best.F)
    for max_iter in (0, 1, 2, 4, 8):
        early = minimize_intervals(it, tol=1e-12, max_iter=max_iter)
        objective, gap = relative_gap(it, early)
        assert early.n_iter == max_iter
        assert np.all(it.bound(early.A) <= minimum * (1 + 1e-10))
        assert np.all(objective - minimum <= (gap + 1e-10) * objective)


def test_functions_are_fitted_as_if_alone():
    it = problem(HingeLoss(), 1e-2, k=3)
    together = minimize_intervals(it, tol=1e-11, max_iter=100)
    for c in range(3):
        alone = minimize_intervals(it.of_columns(np.array([c])), tol=1e-11, max_iter=100)
        assert_allclose(together.F[:, [c]], alone.F, atol=1e-4)


def test_rows_of_weight_zero_change_nothing():
    it = problem(EpsilonInsensitiveLoss(0.1), 1e-2)
    absurd = np.where(it.weights[:, None] > 0, it.Y, 1e9)
    other = Problem(it.rows, it.loss, absurd, it.weights, it.alpha)
    found, same = (minimize_intervals(each, tol=1e-10, max_iter=100) for each in (it, other))
    assert_allclose(found.F, same.F, atol=1e-6)
    assert np.all(found.A[it.weights == 0] == 0)
