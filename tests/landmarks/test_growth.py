"""Landmarks that are added to those of a stream."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from preimage.kernels import Gaussian, Linear, Polynomial
from preimage.landmarks import PivotedCholesky, RandomlyPivotedCholesky

X = np.random.default_rng(0).normal(size=(400, 2))


def left(kernel, points, rows):
    points, rows = np.asarray(points, dtype=float), np.asarray(rows, dtype=float)
    G = PivotedCholesky(len(points)).select(kernel, points).points  # without points that depend on others
    C, W = kernel(rows, G), kernel(G)
    return 1 - np.trace(C @ np.linalg.solve(W, C.T)) / np.trace(kernel(rows))


def grown(kernel, points, rows, n_more, tolerance, seed=0):
    selector = RandomlyPivotedCholesky(n_more, tol=tolerance, sample_size=2000)
    return selector.select_more(kernel, rows, points, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gamma", [0.001, 0.1, 2.0])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-5])
def test_rows_are_added_until_the_tolerance_is_met(dtype, gamma, tolerance):
    kernel, rows = Gaussian(gamma), X.astype(dtype)
    old = rows[:3]
    new = grown(kernel, old, rows[100:], 400, tolerance)
    assert new.dtype == dtype
    assert left(kernel, np.vstack([old, new]), rows[100:]) <= 1.01 * tolerance
    assert all((row == rows[100:]).all(axis=1).any() for row in new)


def test_no_more_than_asked_for_and_none_without_need():
    assert len(grown(Gaussian(1.0), X[:3], X, 7, 1e-6)) == 7
    assert len(grown(Gaussian(1.0), X, X, 7, 1e-6)) == 0
    assert len(grown(Linear(), X[:2], X, 7, 0.0)) == 0


def test_growth_ends_at_the_rank_and_takes_no_row_twice():
    rows = np.repeat(X[:30], 5, axis=0)
    new = grown(Polynomial(2), X[100:101], rows, 100, 0.0)
    assert len(new) == 5  # 1, x₁, x₂ and their products are six functions
    new = grown(Gaussian(5.0), X[:4], rows, 100, 0.0)
    assert len(np.unique(new, axis=0)) == len(new) == 26


def test_the_same_rows_again_with_the_same_seed():
    assert_array_equal(grown(Gaussian(1.0), X[:3], X, 20, 1e-3), grown(Gaussian(1.0), X[:3], X, 20, 1e-3))
