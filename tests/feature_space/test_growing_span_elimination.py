"""Elimination in a block against the residual matrix written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preimage.feature_space._growing_span import BlockResiduals, by_largest, by_rejection, eliminate, in_order


@pytest.fixture
def H(rng):
    A = rng.normal(size=(8, 6))
    return A @ A.T  # of rank six


def residual(H, pivots):
    return H - H[:, pivots] @ np.linalg.solve(H[np.ix_(pivots, pivots)], H[pivots])


FLOOR = np.full(8, 1e-12)


@pytest.mark.parametrize("rule", ["order", "largest", "rejection"])
def test_pivots_are_independent_and_have_their_cholesky_factor(rule, H, rng):
    choose = {"order": in_order, "largest": by_largest(), "rejection": by_rejection(H, rng)}[rule]
    kept, L = eliminate(H, FLOOR, choose, 8)
    assert len(kept) == len(set(kept)) == 6 if rule != "rejection" else len(kept) <= 6
    assert_allclose(L @ L.T, H[np.ix_(kept, kept)], atol=1e-10)
    assert_allclose(np.triu(L, 1), 0)


def test_the_largest_residual_comes_next(H):
    kept, _ = eliminate(H, FLOOR, by_largest(), 5)
    for step, j in enumerate(kept):
        left = np.diagonal(residual(H, kept[:step])) if step else np.diagonal(H)
        assert left[j] == pytest.approx(left.max())


def test_a_rule_may_stop_and_a_limit_does(H):
    largest = np.diagonal(H).max()
    assert eliminate(H, FLOOR, by_largest(at_least=2 * largest), 8)[0] == []
    assert len(eliminate(H, FLOOR, in_order, 3)[0]) == 3
    assert eliminate(H, np.full(8, np.inf), in_order, 8)[0] == []


def test_columns_and_squared_norms_follow_the_residual_matrix(H):
    residuals = BlockResiduals(H, 5)
    for step, j in enumerate([2, 7, 0, 4]):
        now = residual(H, [2, 7, 0, 4][:step]) if step else H
        assert_allclose(residuals.diagonal, np.diagonal(now), atol=1e-10)
        assert_allclose(residuals.squares * residuals.unit**2, np.sum(now**2, axis=0), atol=1e-8)
        assert_allclose(residuals.project_out(j), now[j] / np.sqrt(now[j, j]), atol=1e-10)


def test_of_equal_scores_the_longest_residual_wins():
    H = np.diag([1.0, 4.0, 9.0, 4.0])
    kept, _ = eliminate(H, np.zeros(4), by_largest(lambda residuals: np.ones(4)), 4)
    assert_array_equal(kept[0], 2)


@pytest.mark.parametrize("seed", range(20))
def test_products_of_the_factor_are_the_matrix_however_small_its_pivots(seed):
    """A wide kernel on crowded points: pivots reach the size of rounding errors, the factor stays one."""
    X = np.random.default_rng(seed).normal(size=(50, 2)) / 4
    H = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
    kept, L = eliminate(H, np.full(50, 4 * np.finfo(float).eps), in_order, 50)
    assert np.diagonal(L).min() ** 2 < 1e-12
    assert_allclose(L @ L.T, H[np.ix_(kept, kept)], rtol=0, atol=20 * np.finfo(float).eps)
