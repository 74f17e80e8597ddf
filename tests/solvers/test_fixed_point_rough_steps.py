"""Plain steps in single precision: near the fixed points, or no worse than not having been taken."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian
from preimage.solvers import FixedPoint, objective_at
from preimage.solvers._fixed_point import MOST_STEPS, RoughSteps


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
