"""Distances to combinations of training images: the formula, and rows left out one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage._models.components import SpanDistance
from preimage.kernels import Gaussian, Polynomial

KERNELS = [Gaussian(0.5), Polynomial(2)]


def naive(kernel, X, Z, ridge, weights=None):
    """k(z, z) − k(z)ᵀ (K + λ/w)⁻¹ k(z), by a solve."""
    weights = np.ones(len(X)) if weights is None else weights
    K, values = kernel(X, X) + np.diag(ridge / weights), kernel(Z, X)
    return kernel.diagonal(Z) - np.sum(values * np.linalg.solve(K, values.T).T, axis=1)


def distance_of(kernel, X, ridge, weights=None, **parameters):
    model = KernelPCA(kernel=kernel, center=False, **parameters).fit(X, sample_weight=weights)
    return SpanDistance(model.subspace_, model.eigenvalues_, ridge)


def parts_of(distance, X):
    return distance.parts(X, distance.subspace.coordinates(X))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
def test_the_formula_is_a_penalised_projection(kernel, ridge, rng):
    X, Z = rng.normal(size=(30, 3)), 2 * rng.normal(size=(20, 3))
    assert_allclose(distance_of(kernel, X, ridge)(Z), naive(kernel, X, Z, ridge), rtol=1e-6, atol=1e-9)
    # the minimum over coefficients: no other ones are better
    K, values, a = kernel(X, X), kernel(Z, X), rng.normal(size=(20, 30)) / 30
    objective = (
        kernel.diagonal(Z) - 2 * np.sum(a * values, axis=1) + np.sum(a @ K * a, axis=1) + ridge * np.sum(a**2, 1)
    )
    assert (distance_of(kernel, X, ridge)(Z) <= objective + 1e-9).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("weights", [None, np.arange(30) % 4 * 0.7 + 0.4], ids=["once", "weights"])
def test_a_row_is_left_out_exactly(kernel, weights, rng):
    X, ridge = rng.normal(size=(30, 3)), 0.05
    w = np.ones(30) if weights is None else weights
    distance = distance_of(kernel, X, ridge, weights)
    inside, outside = parts_of(distance, X)
    expected = []
    for i in range(30):
        fewer = np.where(np.arange(30) == i, np.maximum(w - 1, 0), w)  # one copy of it
        kept = fewer > 0
        expected.append(naive(kernel, X[kept], X[i : i + 1], ridge, fewer[kept])[0])
    assert_allclose(distance.left_out(inside, w) + outside, expected, rtol=1e-6, atol=1e-9)


def test_weights_are_copies(rng):
    X, counts = rng.normal(size=(20, 2)), np.arange(20) % 3 + 1
    once = distance_of(Gaussian(1.0), X, 0.1, counts)
    copies = distance_of(Gaussian(1.0), np.repeat(X, counts, axis=0), 0.1)
    Z = rng.normal(size=(10, 2))
    assert_allclose(once(Z), copies(Z), rtol=1e-8)
    left = [each.left_out(parts_of(each, X)[0], counts) for each in (once, copies)]
    assert_allclose(*left, rtol=1e-8)


def test_landmarks_leave_a_row_of_their_model_out(rng):
    X, kernel, ridge = rng.normal(size=(60, 2)), Gaussian(1.0), 0.05
    distance = distance_of(kernel, X, ridge, landmarks=15)
    points = distance.subspace.frame.points
    within = KernelPCA(kernel=kernel, center=False).fit(points).transform  # coordinates in the span of the landmarks
    inside, outside = parts_of(distance, X)
    Y = within(X)
    assert_allclose(outside, 1 - np.sum(Y**2, axis=1), atol=1e-8)
    for i in range(5):
        others = np.delete(Y, i, axis=0)
        expected = ridge * Y[i] @ np.linalg.solve(others.T @ others + ridge * np.eye(Y.shape[1]), Y[i])
        assert_allclose(distance.left_out(inside, np.ones(60))[i], expected, rtol=1e-6)


def test_distances_fall_with_more_rows_and_grow_with_the_penalty(rng):
    X, Z = rng.normal(size=(40, 2)), rng.normal(size=(15, 2))
    few, many = (distance_of(Gaussian(1.0), rows, 0.1)(Z) for rows in (X[:20], X))
    assert (many <= few + 1e-12).all() and (many >= 0).all() and (few <= 1).all()
    assert (distance_of(Gaussian(1.0), X, 0.5)(Z) >= many).all()
