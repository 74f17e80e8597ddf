"""Batches of rows: what they leave behind is that of all rows for least squares, and Laplace's parabola otherwise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, minimize

from preimage._models.regression import _streams
from preimage._models.regression._losses import LogisticLoss, SoftmaxLoss
from preimage._models.regression._streams import LogisticStream, SquaredStream


def rows(seed, n, m, k):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, m)) / np.sqrt(m)
    values = F @ rng.normal(size=(m, k)) * 2 + rng.normal(size=(n, k))
    Y = np.where(values > 0, 1.0, -1.0) if k == 1 else np.where(values == values.max(axis=1, keepdims=True), 1.0, -1.0)
    return F, Y, values, rng.uniform(0.2, 3, size=n)


@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 40), max_size=4), intercept=st.booleans())
def test_least_squares_do_not_depend_on_batches(seed, cuts, intercept):
    F, _, targets, weights = rows(seed, 40, 6, 2)
    begin = SquaredStream.begin(6, 2, 0.1, intercept)
    whole, parts = begin.after(F, targets, weights), begin
    for part in np.split(np.arange(40), sorted(cuts)):
        if part.size:
            parts = parts.after(F[part], targets[part], weights[part])
    assert_allclose(parts.coefficients, whole.coefficients, atol=1e-10)
    assert_allclose(parts.intercept, whole.intercept, atol=1e-10)
    assert_allclose(parts.squares.count, weights.sum())


@pytest.mark.parametrize("intercept", [True, False])
def test_later_coordinates_were_zero(intercept):
    F, _, targets, weights = rows(1, 50, 6, 2)
    first, rest = slice(0, 20), slice(20, 50)
    narrow = SquaredStream.begin(4, 2, 0.1, intercept).after(F[first, :4], targets[first], weights[first])
    found = narrow.extended(2).after(F[rest], targets[rest], weights[rest])
    F = F.copy()
    F[first, 4:] = 0
    expected = SquaredStream.begin(6, 2, 0.1, intercept).after(F, targets, weights)
    assert_allclose(found.coefficients, expected.coefficients, atol=1e-10)
    assert_allclose(found.intercept, expected.intercept, atol=1e-10)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_batch_minimises_its_losses_and_the_parabola(k, intercept):
    """By a general solver, after one batch and after a second."""
    loss = LogisticLoss() if k == 1 else SoftmaxLoss()
    F, Y, _, weights = rows(2, 90, 5, k)
    stream = LogisticStream.begin(5, k, 0.1, intercept)
    for part in (slice(0, 50), slice(50, 90)):
        G = np.column_stack([F[part], np.ones(len(F[part]))]) if intercept else F[part]
        mean, precision = stream.mean, stream.precision

        def objective(flat, G=G, part=part, mean=mean, precision=precision):
            V = flat.reshape(k, -1).T
            away = (V - mean).T.ravel()
            return np.sum(weights[part] @ loss.value(G @ V, Y[part])) + 0.5 * away @ precision @ away

        stream = stream.after(F[part], Y[part], weights[part])
        found = stream.mean.T.ravel()
        general = minimize(objective, np.zeros(found.size), method="BFGS", options={"gtol": 1e-9})
        assert objective(found) <= general.fun + 1e-9
        gradient = lambda flat, objective=objective: approx_fprime(flat, objective, 1e-6)
        second = approx_fprime(found, gradient, 1e-3)
        assert_allclose(stream.precision, second, atol=2e-2 * np.abs(second).max())
        assert_allclose(stream.precision, stream.precision.T, atol=1e-9)


@pytest.mark.parametrize("k", [1, 3])
def test_new_coordinates_have_the_penalty_alone(k):
    F, Y, _, weights = rows(3, 40, 4, k)
    before = LogisticStream.begin(4, k, 0.1, True).after(F, Y, weights)
    after = before.extended(2)
    assert_allclose(after.coefficients, np.vstack([before.coefficients, np.zeros((2, k))]))
    assert_allclose(after.intercept, before.intercept)
    # Rows without them change nothing there, and the rest as before.
    wide = np.hstack([F, np.zeros((40, 2))])
    assert_allclose(after.after(wide, Y, weights).mean[[0, 1, 2, 3, 6]], before.after(F, Y, weights).mean, atol=1e-8)


def test_many_batches_are_close_to_one():
    F, Y, _, weights = rows(4, 2000, 8, 3)
    begin = LogisticStream.begin(8, 3, 0.5, True)
    whole, parts = begin.after(F, Y, weights), begin
    for part in np.split(np.arange(2000), 10):
        parts = parts.after(F[part], Y[part], weights[part])
    probabilities = [np.exp(F @ each.coefficients + each.intercept) for each in (whole, parts)]
    whole, parts = (p / p.sum(axis=1, keepdims=True) for p in probabilities)
    assert np.abs(whole - parts).mean() < 0.01


def test_a_class_without_rows_has_a_constant():
    F, Y, _, weights = rows(5, 60, 4, 3)
    Y[:, 2] = -1
    Y[np.all(Y < 0, axis=1), 0] = 1
    stream = LogisticStream.begin(4, 3, 0.1, True).after(F, Y, weights)
    assert np.isfinite(stream.mean).all()
    assert stream.intercept[2] < stream.intercept[:2].min() - 5
    other = np.where(np.arange(3) == 2, 1.0, -1.0) * np.ones((60, 1))
    assert stream.after(F, other, weights).intercept[2] > stream.intercept[2] + 3  # and does not stay there


def test_matrices_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(_streams, "memory_budget", lambda *_: 10**6)
    with pytest.raises(MemoryError, match="30 logistic functions on 100 landmarks"):
        LogisticStream.begin(100, 30, 0.1, True)
