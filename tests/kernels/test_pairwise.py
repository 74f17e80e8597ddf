"""Pairwise quantities: values of each formula for every kind of input, exact zeros, contracted gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage._engine.arrays import to_numpy
from preimage.kernels import ChiSquaredDistance, InnerProduct, ManhattanDistance, SquaredDistance, _pairwise

ALL = slice(None)
FORMULAS = {
    InnerProduct(): lambda x, y: np.sum(x * y, axis=-1),
    SquaredDistance(): lambda x, y: np.sum((x - y) ** 2, axis=-1),
    ManhattanDistance(): lambda x, y: np.sum(np.abs(x - y), axis=-1),
    ChiSquaredDistance(): lambda x, y: np.sum((x - y) ** 2 / np.where(x + y > 0, x + y, 1.0), axis=-1),
}
quantities = pytest.mark.parametrize("quantity", FORMULAS, ids=lambda quantity: type(quantity).__name__)


def data(rng):
    """Non-negative rows with zeros, as histograms have."""
    X = np.maximum(rng.normal(size=(9, 5)), 0)
    return X, np.vstack([np.maximum(rng.normal(size=(6, 5)), 0), X[2]])


@quantities
def test_values_are_those_of_the_formula(quantity, xp, rng):
    X, Y = data(rng)
    expected = FORMULAS[quantity](X[:, None], Y[None])
    there = xp.asarray(X), xp.asarray(Y)
    block = quantity.prepare(there[1]).tiles(there[0])
    assert_allclose(to_numpy(block(ALL, ALL)), expected, atol=1e-13)
    assert_allclose(to_numpy(block(slice(2, 5), slice(1, 7))), expected[2:5, 1:7], atol=1e-13)
    assert_allclose(to_numpy(quantity.prepare(there[1])(there[0])), expected, atol=1e-13)
    assert_allclose(to_numpy(quantity.diagonal(there[0])), FORMULAS[quantity](X, X), atol=1e-13)


@quantities
def test_sparse_rows_have_the_same_values(quantity, rng):
    X, Y = data(rng)
    expected = FORMULAS[quantity](X[:, None], Y[None])
    for left in (X, sparse.csr_matrix(X)):
        for right in (Y, sparse.csr_matrix(Y)):
            assert_allclose(quantity.prepare(right)(left), expected, atol=1e-13)
            values = quantity.prepare(right)(left)
            assert type(values) is np.ndarray
            assert_allclose(values, expected, atol=1e-13)
    assert_allclose(quantity.diagonal(sparse.csr_matrix(X)), FORMULAS[quantity](X, X), atol=1e-13)


@quantities
def test_gradients_are_contracted_derivatives(quantity, rng):
    step = 1e-6
    X, Y = data(rng)
    Z = X + 0.1 + 0.1 * rng.random(X.shape)  # away from corners
    weights = rng.normal(size=(9, 7))
    value = lambda Z: np.sum(weights * FORMULAS[quantity](Z[:, None], Y[None]), axis=1)
    own = lambda Z: FORMULAS[quantity](Z, Z)
    for f in range(5):
        move = step * np.eye(5)[f]
        difference = (value(Z + move) - value(Z - move)) / (2 * step)
        assert_allclose(quantity.gradient(Z, Y, weights)[:, f], difference, atol=1e-7)
        assert_allclose(quantity.diagonal_gradient(Z)[:, f], (own(Z + move) - own(Z - move)) / (2 * step), atol=1e-7)


def test_copies_of_points_are_at_distance_zero(xp, rng):
    """Exactly, also far from the origin, where the expanded square leaves rounding errors."""
    X = 1e4 + rng.normal(size=(20, 7))
    there = xp.asarray(X)
    own = to_numpy(SquaredDistance().prepare(there)(there))
    copied = to_numpy(SquaredDistance().prepare(xp.asarray(X[5:9]))(there))
    assert (np.diagonal(own) == 0).all() and (np.diagonal(copied[5:9]) == 0).all()
    assert (own[~np.eye(20, dtype=bool)] > 0).all()
    part = to_numpy(SquaredDistance().prepare(there).tiles(there)(slice(4, 9), slice(6, 15)))
    assert (np.diagonal(part[2:]) == 0).all()


def test_missing_values_stay_visible():
    X = np.array([[1.0, np.nan], [0.0, 1.0]])
    values = SquaredDistance().prepare(X[1:])(X[:1])
    assert np.isnan(values).all()


def test_single_precision_is_widened_only_where_it_must(rng):
    near = rng.normal(size=(40, 3)).astype(np.float32)
    far = np.concatenate([1e-2 * near[:20] + 3000, 1e-2 * near[20:] - 3000]).astype(np.float32)
    for X in (near, far):
        values = SquaredDistance().prepare(X.copy())(X)
        exact = FORMULAS[SquaredDistance()](X.astype(float)[:, None], X.astype(float)[None])
        assert values.dtype == np.float32
        assert_allclose(values, exact, rtol=1e-4, atol=1e-5 * np.median(exact[exact > 0]) if X is near else 1e-7)


def test_quantities_of_one_class_are_equal():
    assert SquaredDistance() == SquaredDistance() and hash(SquaredDistance()) == hash(SquaredDistance())
    assert SquaredDistance() != ManhattanDistance()


def test_chi_squared_distances_refuse_negative_values():
    X = np.array([[1.0, -0.5]])
    for call in (lambda: ChiSquaredDistance().prepare(X).tiles(X), lambda: ChiSquaredDistance().prepare(-X)):
        with pytest.raises(ValueError, match="non-negative"):
            call()


def test_norms_of_sparse_points_are_computed_once_for_all_queries(rng, monkeypatch):
    points, of_points = sparse.csr_matrix(rng.normal(size=(4, 3))), []
    norms = _pairwise.squared_row_norms
    monkeypatch.setattr(
        _pairwise, "squared_row_norms", lambda X: of_points.append(1) or norms(X) if sparse.issparse(X) else norms(X)
    )
    distances = SquaredDistance().prepare(points)
    for Z in rng.normal(size=(3, 5, 3)):
        assert_allclose(distances(Z), FORMULAS[SquaredDistance()](Z[:, None], points.toarray()), atol=1e-12)
    assert len(of_points) == 1
