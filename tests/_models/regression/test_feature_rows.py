"""Passes over rows along a frame: what plain products of matrices give, whatever holds the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage._models.regression._feature_rows import FeatureRows
from preimage._models.regression._landmark_ridge import nested_frame
from preimage.kernels import Gaussian, Linear

KEPT = pytest.mark.parametrize("max_memory", [None, 10], ids=["kept", "computed again"])


@KEPT
@pytest.mark.parametrize("intercept", [True, False])
def test_passes_are_products_of_matrices(rng, xp, block_shape, max_memory, intercept):
    X = rng.normal(size=(50, 2))
    frame = nested_frame(Gaussian(0.5), xp.asarray(X[:5]))
    rows = FeatureRows.of(frame, xp.asarray(X), intercept=intercept, max_memory=max_memory)
    assert rows.is_kept == (max_memory is None)
    raw = to_numpy(frame(xp.asarray(X)))
    assert_allclose(rows.unit, np.sqrt(np.mean(np.sum(raw**2, axis=1))))
    G = np.hstack([raw / rows.unit, np.ones((50, 1))]) if intercept else raw / rows.unit
    assert rows.n_columns == G.shape[1] == 5 + intercept
    assert_allclose(rows.penalized[:, 0], np.arange(G.shape[1]) < 5)
    W, R, D = rng.normal(size=(G.shape[1], 3)), rng.normal(size=(50, 3)), rng.uniform(0, 1, size=(50, 3))
    D[:, 1] *= rng.random(50) < 0.3  # few rows, which are picked out
    D[:, 2] = 0
    D[:7, 1] -= 0.5  # of both signs
    assert_allclose(rows.values(W), G @ W, atol=1e-12)
    assert_allclose(rows.sums(R), G.T @ R, atol=1e-11)
    assert_allclose(rows.squares(D), [(G * d[:, None]).T @ G for d in D.T], atol=1e-11)
    roots = rng.normal(size=(3, G.shape[1], G.shape[1]))
    some = np.array([3, 17, 18, 40])
    few = rows.chosen(some)
    assert few.is_kept
    assert_allclose(few.values(W), G[some] @ W, atol=1e-12)
    assert_allclose(few.sums(R[some]), G[some].T @ R[some], atol=1e-11)
    assert_allclose(rows.forms(roots), np.stack([np.sum((G @ root.T) ** 2, axis=1) for root in roots], axis=1))


def test_negligible_rows_are_left_out(rng):
    X = rng.normal(size=(50, 2))
    rows = FeatureRows.of(nested_frame(Gaussian(0.5), X[:5]), X, intercept=False)
    D = np.linspace(0, 1, 50)[:, None]
    assert_allclose(rows.squares(D, negligible=0.4), rows.squares(np.where(D > 0.4, D, 0.0)))


def test_rows_that_vanish_have_a_unit(rng):
    rows = FeatureRows.of(nested_frame(Linear(), np.zeros((2, 3))), np.zeros((4, 3)), intercept=True)
    assert rows.unit == 1
    assert_allclose(rows.values(np.ones((3, 1))), 1)
