"""Newton's method on smooth losses: minima by other solvers, decreasing objectives, gaps that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from preimage._models.regression import _newton
from preimage._models.regression._feature_rows import FeatureRows
from preimage._models.regression._landmark_ridge import nested_frame
from preimage._models.regression._losses import HuberLoss, LogisticLoss, SoftmaxLoss, SquaredHingeLoss
from preimage._models.regression._newton import conjugate_gradients, minimize_smooth, zero_of
from preimage._models.regression._solution import Problem, relative_gap
from preimage.kernels import Gaussian

LOSSES = [LogisticLoss(), SquaredHingeLoss(), HuberLoss(0.1), HuberLoss(1e-3), SoftmaxLoss()]


def problem(loss, alpha, seed=0, n=80, m=12, intercept=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2 - 1, X[:, 0]], axis=1) + 0.3 * rng.standard_t(2, size=(n, 3))
    if isinstance(loss, SoftmaxLoss):
        classes = np.append(np.arange(3), np.argmax(Y, axis=1)[3:])  # where one has no rows, its constant has no limit
        Y = np.where(classes[:, None] == np.arange(3), 1.0, -1.0)
    elif not isinstance(loss, HuberLoss):
        Y = np.where(Y > 0, 1.0, -1.0)
    rows = FeatureRows.of(nested_frame(Gaussian(0.5), X[:m]), X, intercept=intercept)
    is_there = (rng.random(n) > 0.1) | (np.arange(n) < 3)
    return Problem(rows, loss, Y, rng.uniform(0.1, 2, size=n) * is_there, alpha)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_minimum_is_that_of_a_general_solver(loss, intercept):
    it = problem(loss, 0.1, intercept=intercept)
    found = minimize_smooth(it, None, tol=1e-12, max_iter=100)
    shape = found.V.shape

    def objective(flat):
        V = flat.reshape(shape)
        return it.objective(V, it.rows.values(V)).sum()

    general = minimize(objective, np.zeros(found.V.size), method="BFGS", options={"gtol": 1e-9})
    assert objective(found.V.ravel()) <= general.fun + 1e-9
    assert_allclose(objective(found.V.ravel()), general.fun, rtol=1e-7)
    assert_allclose(found.F, it.rows.values(found.V))


@settings(max_examples=30)
@given(
    loss=st.sampled_from(LOSSES),
    alpha=st.sampled_from([1e-5, 1e-3, 0.1, 10.0, 1e6]),
    seed=st.integers(0, 10**6),
    n=st.integers(4, 80),
    intercept=st.booleans(),
)
def test_gaps_are_closed(loss, alpha, seed, n, intercept):
    it = problem(loss, alpha, seed, n=n, m=min(12, n), intercept=intercept)
    objective, gap = relative_gap(it, minimize_smooth(it, None, tol=1e-10, max_iter=200))
    assert np.all(gap <= 1e-9)
    # No functions nearby are better, and zero is not.
    zero = np.zeros((it.rows.n_columns, 3))
    assert np.all(objective <= it.objective(zero, it.rows.values(zero)) * (1 + 1e-12))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_objectives_never_rise(loss, monkeypatch):
    it, seen = problem(loss, 1e-4).of_columns(np.arange(3 if loss.is_joint else 1)), []
    at = _newton._Point.at

    def watched(*arguments):
        point = at(*arguments)
        seen.append(point.objective)
        return point

    monkeypatch.setattr(_newton._Point, "at", watched)
    minimize_smooth(it, None, tol=1e-12, max_iter=100)
    assert len(seen) > 3
    assert np.all(np.diff(seen, axis=0) <= 1e-12 * seen[0])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gaps_bound_what_is_missing(loss):
    """Stopped early, the objective is above the minimum by no more than the gap, which the bound makes."""
    it = problem(loss, 1e-2)
    minimum = it.objective(*(lambda s: (s.V, s.F))(minimize_smooth(it, None, tol=1e-13, max_iter=200)))
    for max_iter in (0, 1, 2, 4):
        early = minimize_smooth(it, None, tol=1e-13, max_iter=max_iter)
        objective, gap = relative_gap(it, early)
        assert np.all(it.bound(early.A) <= minimum * (1 + 1e-12))
        assert np.all(objective - minimum <= (gap + 1e-12) * objective)


def test_a_start_at_the_minimum_stays_there():
    it = problem(LogisticLoss(), 1e-2)
    first = minimize_smooth(it, None, tol=1e-10, max_iter=100)
    again = minimize_smooth(it, first.V, tol=1e-10, max_iter=100)
    assert again.n_iter == 1
    assert_allclose(again.V, first.V, atol=1e-8)


def test_functions_are_fitted_as_if_alone():
    it = problem(SquaredHingeLoss(), 1e-3)
    together = minimize_smooth(it, None, tol=1e-12, max_iter=100)
    for c in range(3):
        alone = minimize_smooth(it.of_columns(np.array([c])), None, tol=1e-12, max_iter=100)
        assert_allclose(together.V[:, [c]], alone.V, atol=1e-6)


def test_conjugate_gradients_solve(rng):
    A = rng.normal(size=(9, 9))
    A = A @ A.T + np.eye(9)
    R = rng.normal(size=(3, 3))
    product = lambda X: (A @ X.ravel()).reshape(3, 3)
    X = conjugate_gradients(product, R, lambda R: R / np.diag(A).reshape(3, 3))
    assert_allclose(product(X), R, atol=1e-2)
    assert np.vdot(X, R) > 0


def test_zeros_of_increasing_functions_are_found():
    functions = lambda t: np.array([t[0] - 0.3, np.sign(t[1] - 17.3) * 2 + 1e-3 * t[1], np.arctan(t[2] - 1e-4)])
    zeros = zero_of(functions, functions(np.zeros(3)), np.ones(3), functions(np.ones(3)))
    assert_allclose(zeros, [0.3, 17.3, 1e-4], rtol=1e-2)
