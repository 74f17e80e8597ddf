"""Newton's method on smooth losses: minima by other solvers, decreasing objectives, gaps that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from preimage._engine.arrays import to_numpy
from preimage._models.regression import _newton
from preimage._models.regression._convex_machine import left_out_values
from preimage._models.regression._feature_rows import FeatureRows
from preimage._models.regression._landmark_ridge import nested_frame
from preimage._models.regression._losses import HuberLoss, LogisticLoss, SoftmaxLoss, SquaredHingeLoss
from preimage._models.regression._newton import conjugate_gradients, minimize_smooth, zero_of
from preimage._models.regression._solution import Problem, relative_gap
from preimage.kernels import Gaussian

LOSSES = [LogisticLoss(), SquaredHingeLoss(), HuberLoss(0.1), HuberLoss(1e-3), SoftmaxLoss()]


def problem(loss, alpha, seed=0, n=80, m=12, intercept=True, max_memory=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2 - 1, X[:, 0]], axis=1) + 0.3 * rng.standard_t(2, size=(n, 3))
    if isinstance(loss, SoftmaxLoss):
        classes = np.append(np.arange(3), np.argmax(Y, axis=1)[3:])  # where one has no rows, its constant has no limit
        Y = np.where(classes[:, None] == np.arange(3), 1.0, -1.0)
    elif not isinstance(loss, HuberLoss):
        Y = np.where(Y > 0, 1.0, -1.0)
    rows = FeatureRows.of(nested_frame(Gaussian(0.5), X[:m]), X, intercept=intercept, max_memory=max_memory)
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


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("max_memory", [None, 40_000], ids=["kept", "computed again"])
def test_a_sample_of_many_rows_is_where_iterations_begin(loss, max_memory, monkeypatch):
    it = problem(loss, 1e-2, n=900, max_memory=max_memory)
    assert it.rows.is_kept == (max_memory is None)
    cold = minimize_smooth(it, None, tol=1e-12, max_iter=100)
    monkeypatch.setattr(_newton, "LEAST_PILOT", 100)
    warm = minimize_smooth(it, None, tol=1e-12, max_iter=100)
    assert_allclose(warm.F, cold.F, atol=1e-4)
    objective, gap = relative_gap(it, warm)
    assert np.all(gap <= 1e-9)
    before = it.objective(cold.V, cold.F)
    assert_allclose(objective, before, rtol=1e-8)
    start = _newton._start_of_sample(it, 100)
    worth = it.objective(constants := _newton._constants(it), it.rows.values(constants)) - before
    assert np.all(it.objective(start, it.rows.values(start)) - before < 0.7 * worth)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_minima_do_not_depend_on_the_library(loss, xp):
    """Numbers of rows stay in the library that keeps the rows, and so do those of functions."""
    it = problem(loss, 1e-2, n=120)
    expected = minimize_smooth(it, None, tol=1e-12, max_iter=100)
    X = np.random.default_rng(0).normal(size=(120, 2))  # those of the problem
    moved = FeatureRows.of(
        nested_frame(Gaussian(0.5), xp.asarray(to_numpy(it.rows.frame.points))), xp.asarray(X), intercept=True
    )
    other = Problem.near(moved, loss, it.Y, it.weights, it.alpha)
    found = minimize_smooth(other, None, tol=1e-12, max_iter=100)
    assert type(found.F) is type(moved.rows)
    assert_allclose(to_numpy(found.F), expected.F, atol=1e-6)
    for mine, theirs in zip(relative_gap(other, found), relative_gap(it, expected), strict=True):
        assert isinstance(mine, np.ndarray)
        assert_allclose(mine, theirs, rtol=1e-6, atol=1e-9)
    assert_allclose(to_numpy(left_out_values(other, found)), left_out_values(it, expected), atol=1e-5)


def test_few_rows_have_no_sample():
    assert _newton._start_of_sample(problem(LogisticLoss(), 1e-2, n=900), 100) is None
    it = problem(LogisticLoss(), 1e-2, n=9000, max_memory=10)  # no room for one
    assert _newton._start_of_sample(it, 100) is None


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_matrices_of_samples_lead_to_the_same_minimum(loss, monkeypatch):
    it = problem(loss, 1e-2, n=400)
    expected = minimize_smooth(it, None, tol=1e-12, max_iter=100)
    monkeypatch.setattr(_newton, "SAMPLED_ROWS", 1)
    found = minimize_smooth(it, None, tol=1e-12, max_iter=100)
    assert np.all(relative_gap(it, found)[1] <= 1e-9)
    assert_allclose(found.F, expected.F, atol=1e-4)


def test_samples_stand_for_all_rows(rng):
    D = rng.gamma(0.1, size=(20_000, 2)) * (rng.random((20_000, 2)) < 0.5)
    few = _newton._sampled(D, 5000)
    assert np.all(few[D == 0] == 0)
    assert np.all(np.count_nonzero(few, axis=0) <= 5000)
    assert_allclose(few.sum(axis=0), D.sum(axis=0), rtol=0.1)
    features = rng.normal(size=(20_000, 3))
    assert_allclose(features.T**2 @ few, features.T**2 @ D, rtol=0.2)
    assert not _newton._sampled(np.zeros((5, 1)), 3).any()


def test_matrices_follow_their_rows(rng):
    rows = problem(LogisticLoss(), 1.0).rows
    matrices, D = _newton._Matrices(rows), rng.uniform(0, 1, size=(80, 3))
    for changed in (80, 3, 10, 70, 0):
        D = D.copy()
        D[:changed] = rng.uniform(0, 1, size=(changed, 3)) * (rng.random((changed, 3)) < 0.7)
        found, is_exact = matrices.of(D)
        assert is_exact
        assert_allclose(found, rows.squares(D), atol=1e-12)
    matrices.keep(np.array([True, False, True]))
    assert_allclose(matrices.of(D[:, [0, 2]])[0], rows.squares(D[:, [0, 2]]), atol=1e-12)


@pytest.mark.parametrize("is_joint", [True, False])
def test_conjugate_gradients_solve(rng, is_joint, monkeypatch):
    """One system of all columns, or one per column, of which some are solved before others."""
    monkeypatch.setattr(_newton, "STEP_RESIDUAL", 1e-8)
    systems = [rng.normal(size=(9, 9)) for _ in range(3)]
    systems = [scale * (A @ A.T) + np.eye(9) for A, scale in zip(systems, (0.0, 1.0, 10.0), strict=True)]
    M = np.zeros((27, 27)) + is_joint
    for c, A in enumerate(systems):
        M[9 * c : 9 * c + 9, 9 * c : 9 * c + 9] += A
    R = rng.normal(size=(9, 3))
    product = lambda X: (M @ X.T.ravel()).reshape(3, 9).T
    X = conjugate_gradients(product, R, lambda R: R / np.diag(M).reshape(3, 9).T, is_joint)
    assert_allclose(product(X), R, atol=1e-5)


def test_zeros_of_increasing_functions_are_found():
    functions = lambda t: np.array([t[0] - 0.3, np.sign(t[1] - 17.3) * 2 + 1e-3 * t[1], np.arctan(t[2] - 1e-4)])
    zeros = zero_of(functions, functions(np.zeros(3)), np.ones(3), functions(np.ones(3)))
    assert_allclose(zeros, [0.3, 17.3, 1e-4], rtol=1e-2)
