"""Which rows help as landmarks and which landmarks are missed least: refits say it too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._models.regression import LandmarkRidge
from preimage._models.regression._refined_landmarks import RowDerivatives, _largest_falls, importance, rows_to_add
from preimage.kernels import Gaussian

ALPHA = 0.1


def objective(X, Y, points):
    kernel = Gaussian(0.5)
    fit = LandmarkRidge.fit(kernel, points, X, Y, None, alpha=ALPHA, intercept=False)
    F = fit.expansion(X)
    beta = fit.expansion.coefficients
    return float(np.sum((Y - F) ** 2) + ALPHA * np.sum(beta * (kernel(points) @ beta))), fit, F


def problem(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 0]]) + 0.1 * rng.normal(size=(n, 2))


def derivatives(Y, F):
    return RowDerivatives(2 * (Y - F), np.full(len(Y), 2.0), ALPHA)


def test_the_first_row_lowers_squares_most(rng):
    """The parabola is the objective for the squared loss: no other row would do better."""
    X, Y = problem()
    _, _, F = objective(X, Y, X[:8])
    (best,) = rows_to_add(Gaussian(0.5), X[:8], X, derivatives(Y, F), 1, rng)
    found = [objective(X, Y, np.vstack([X[:8], X[[i]]]))[0] for i in range(8, 60)]
    assert best == 8 + int(np.argmin(found))


def test_rows_lower_the_objective_one_after_another(rng):
    X, Y = problem(1)
    now, _, F = objective(X, Y, X[:8])
    rows = rows_to_add(Gaussian(0.5), X[:8], X, derivatives(Y, F), 6, rng)
    assert len(set(rows)) == 6
    assert not set(rows) & set(range(8))
    falls = []
    for count in range(1, 7):
        value = objective(X, Y, np.vstack([X[:8], X[rows[:count]]]))[0]
        falls.append(now - value)
        now = value
    assert np.all(np.array(falls) > 0)
    random = np.mean([objective(X, Y, np.vstack([X[:8], X[8:][rng.permutation(52)[:6]]]))[0] for _ in range(20)])
    assert now < random


def test_points_are_worth_what_the_objective_rises_without_them():
    X, Y = problem(2)
    now, fit, F = objective(X, Y, X[:8])
    worth = importance(Gaussian(0.5), X[:8], X, derivatives(Y, F), fit.expansion.coefficients)
    rises = [objective(X, Y, np.delete(X[:8], j, axis=0))[0] - now for j in range(8)]
    assert_allclose(worth / 2, rises, rtol=1e-6)


def test_rows_that_are_landmarks_already_do_not_join(rng):
    X, Y = problem(3, n=12)
    _, _, F = objective(X, Y, X)
    assert rows_to_add(Gaussian(0.5), X, X, derivatives(Y, F), 3, rng).size == 0
    calm = RowDerivatives(np.zeros((12, 2)), np.ones(12), ALPHA)
    assert rows_to_add(Gaussian(0.5), X[:3], X, calm, 3, rng).size == 0


@pytest.mark.parametrize("count", [1, 4, 9])
def test_parabolas_are_lowered_greedily(rng, count):
    A = rng.normal(size=(9, 9))
    B, g = A @ A.T + np.eye(9), rng.normal(size=(9, 2))
    chosen = list(_largest_falls(B, g, np.ones(9, dtype=bool), count))
    for t in range(count):
        fall = lambda some: np.sum(g[some] * np.linalg.solve(B[np.ix_(some, some)], g[some]))
        others = [j for j in range(9) if j not in chosen[:t]]
        assert chosen[t] == max(others, key=lambda j: fall([*chosen[:t], j]))
