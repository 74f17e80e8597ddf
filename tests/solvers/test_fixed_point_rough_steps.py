"""Plain steps in single precision: near the fixed points, or no worse than not having been taken."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian
from preimage.solvers import FixedPoint, objective_at
from preimage.solvers._fixed_point import COARSE, MOST_COARSE_STEPS, MOST_STEPS, RoughSteps


def problem(rng, q=40, n=30, d=3, offset=0.0):
    X = rng.normal(size=(n, d)) + offset
    return X, rng.random((q, n)) / n, X[rng.integers(n, size=q)] + 0.1 * rng.normal(size=(q, d))


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_steps_end_near_the_fixed_points_of_the_solver(rng, penalty, offset):
    X, W, start = problem(rng, offset=offset)
    target = Expansion(Gaussian(0.2), X, W.T)
    exact = FixedPoint(penalty=penalty, tol=1e-12, max_iter=60).solve(target, start)  # too few steps to begin roughly
    points, n_iter, _ = RoughSteps(target.kernel, X, penalty, 1.0, 1e-6).taken(W, start, start)
    settled = n_iter < MOST_STEPS
    assert settled.mean() > 0.9
    assert_allclose(points[settled], exact.points[settled], atol=2e-4)


def test_values_at_the_start_are_lower_bounds(rng):
    X, W, start = problem(rng)
    target = Expansion(Gaussian(0.2), X, W.T)
    _, _, safe_values = RoughSteps(target.kernel, X, 0.3, 1.0, 1e-6).taken(W, start, start - 1.0)
    values = objective_at(target, start) - target.squared_norms() + 0.3 * 3
    assert (safe_values < values).all()
    assert_allclose(safe_values, values, atol=1e-4)


def test_batches_do_not_matter(rng):
    X, W, start = problem(rng)
    steps = RoughSteps(Gaussian(0.2), X, 0.0, 1.0, 1e-6)
    alone = [steps.taken(w[None], z[None], z[None])[0] for w, z in zip(W, start, strict=True)]
    assert_allclose(steps.taken(W, start, start)[0], np.concatenate(alone), atol=1e-4)


def test_what_is_not_finite_stays_at_its_start(rng):
    X, W, start = problem(rng)
    start[3] = 1e4  # the exponential overflows
    W[5] = 0.0
    points, n_iter, _ = RoughSteps(Gaussian(1.0), X, 0.0, 1.0, 1e-6).taken(W, start, start)
    assert np.isfinite(points).all()
    assert_allclose(points[[3, 5]], start[[3, 5]])
    assert (n_iter[[3, 5]] == 0).all()


def test_no_result_is_higher_than_its_start(rng, monkeypatch):
    monkeypatch.setattr("preimage.solvers._fixed_point.FEWEST_NUMBERS", 0)
    X = rng.normal(size=(50, 3))
    W = rng.normal(size=(300, 50)) / 5  # of both signs: plain steps may lead anywhere
    target = Expansion(Gaussian(0.4), X, W.T)
    start = rng.normal(size=(300, 3))
    found = FixedPoint().solve(target, start)
    assert (found.objective <= objective_at(target, start) + 1e-9).all()


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_coarse_tolerances_are_met_without_a_descent(rng, monkeypatch, penalty):
    """Rough steps alone: the step from where they end, in double precision, is shorter than the tolerance."""
    X, W, start = problem(rng, q=200, n=120)
    target, size = Expansion(Gaussian(0.2), X, W.T), np.sqrt(np.var(X, axis=0).sum())
    exact = FixedPoint(penalty, tol=1e-12, max_iter=60).solve(target, start)  # too few steps to begin roughly
    monkeypatch.setattr("preimage.solvers._fixed_point.FEWEST_NUMBERS", 0)
    taken = []
    judge = "preimage.solvers._fixed_point._FixedPointSteps.judge"
    monkeypatch.setattr(judge, lambda *parts: taken.append(1))
    found = FixedPoint(penalty, tol=COARSE, max_iter=MOST_COARSE_STEPS + 40).solve(target, start)
    assert not taken and found.converged.all()
    assert_allclose(found.points, exact.points, atol=20 * COARSE * size)
    moved = penalty * np.sum((found.points - start) ** 2, axis=1)
    assert_allclose(found.objective, objective_at(target, found.points) + moved, atol=1e-6)
    assert (found.objective <= objective_at(target, start) + 1e-12).all()


def test_rows_that_do_not_rest_go_on_in_double_precision(rng, monkeypatch):
    monkeypatch.setattr("preimage.solvers._fixed_point.FEWEST_NUMBERS", 0)
    monkeypatch.setattr("preimage.solvers._fixed_point.MOST_COARSE_STEPS", 2)
    X, W, start = problem(rng, q=200, n=120)
    target = Expansion(Gaussian(0.2), X, W.T)
    found = FixedPoint(tol=COARSE, max_iter=500).solve(target, start)
    exact = FixedPoint(tol=1e-12, max_iter=60).solve(target, start)
    assert found.converged.all() and found.n_iter.max() > 3
    assert_allclose(found.points, exact.points, atol=20 * COARSE * np.sqrt(3))
