"""Subsets by an L1 penalty."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from random_targets import random_target

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, ScaledInputs
from preimage.reduced_sets import SelectL1, project, relative_error
from preimage.solvers import Reason

several = pytest.mark.parametrize("k", [1, 4])


weighting = pytest.mark.parametrize("adaptive", [True, False])


def problem_of(target, adaptive):
    """K, α and c in the order of the merged points."""
    target = target.merged()
    sizes = np.abs(target.coefficients).max(axis=1)
    weights = sizes.mean() / sizes if adaptive else np.ones_like(sizes)
    return target.kernel(target.points), target.coefficients, weights


def largest_penalty(target, adaptive):
    K, alpha, weights = problem_of(target, adaptive)
    return np.max(np.abs(K @ alpha).sum(axis=1) / weights)


@several
def test_selection_projects_on_the_support(k, rng):
    target = random_target(rng, k=k)
    penalty = 0.1 * largest_penalty(target, True)
    problem, beta, _, _ = SelectL1()._shrunk(target, penalty)
    shrunk, reduction = Expansion(target.kernel, problem.target.points, beta), SelectL1().select(target, penalty)
    support = shrunk.points[beta.any(axis=1)]
    assert_array_equal(reduction.expansion.points, support)
    assert_allclose(reduction.expansion.coefficients, project(target, support).coefficients)
    assert relative_error(target, reduction.expansion) <= relative_error(target, shrunk)


@weighting
@several
@pytest.mark.parametrize("n", [1, 3, 10, 24])
def test_reduces_to_what_was_asked(n, k, adaptive, rng):
    target = random_target(rng, Gaussian(0.5), k=k)
    reduction = SelectL1(adaptive).reduce(target, n)
    assert reduction.expansion.points.shape[0] == n
    assert reduction.converged


@several
def test_points_that_come_together_are_told_apart(k):
    """Orthogonal images and equal coefficients: all enter at one penalty."""
    target = Expansion(Gaussian(1e3), np.arange(20.0)[:, None], np.ones((20, k)))
    reduced = SelectL1().reduce(target, 5).expansion
    assert reduced.points.shape[0] == 5
    assert_allclose(relative_error(target, reduced), 0.75)


def test_adaptive_weights_leave_absent_points_out(rng):
    target = random_target(rng, m=20)
    absent = target.coefficients * (np.arange(20) % 2)[:, None]
    reduced = SelectL1().reduce(Expansion(target.kernel, target.points, absent), 12).expansion
    assert {tuple(row) for row in reduced.points} <= {tuple(row) for row in target.points[1::2]}
    assert relative_error(Expansion(target.kernel, target.points, absent), reduced) < 1e-10


def test_an_iteration_limit_is_admitted(rng):
    target = random_target(rng, k=3)
    reduction = SelectL1(tol=1e-12, max_iter=2).select(target, 0.1 * largest_penalty(target, True))
    assert not reduction.converged
    assert reduction.reason == Reason.ITERATION_LIMIT


@pytest.mark.parametrize("penalty", [-1.0, np.nan])
def test_penalties_without_meaning_are_refused(penalty, rng):
    with pytest.raises(ValueError, match="not negative"):
        SelectL1().select(random_target(rng), penalty)


@pytest.mark.parametrize("adaptive", [True, False])
def test_points_with_equal_images_count_as_one(rng, adaptive):
    # The kernel ignores the last column, so four points share each image.
    kernel = ScaledInputs(Gaussian(0.5), np.array([1.0, 1.0, 0.0]))
    distinct, alpha = rng.normal(size=(30, 3)), rng.normal(size=(120, 1))
    points = np.repeat(distinct, 4, axis=0)
    points[:, 2] = rng.normal(size=120)
    sums = alpha.reshape(30, 4).sum(axis=1, keepdims=True)
    once, often = Expansion(kernel, distinct, sums), Expansion(kernel, points, alpha)
    expected, found = (SelectL1(adaptive=adaptive).reduce(target, 15) for target in (once, often))
    assert found.converged
    assert found.expansion.points.shape[0] == 15
    queries = rng.normal(size=(20, 3))
    assert_allclose(found.expansion(queries), expected.expansion(queries), atol=1e-6)
