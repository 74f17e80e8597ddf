"""Pictures of vectors of feature space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from preimage import KernelPCA
from preimage.feature_space import Expansion
from preimage.kernels import Cosine, Gaussian, Linear, Matern, Polynomial
from preimage.solvers import (
    FixedPoint,
    Gradient,
    MultiStart,
    free_length_preimages,
)


def test_free_length_of_a_scaled_image(rng):
    x = rng.normal(size=(1, 3))
    for factor in (2.5, -1.5):
        points, factors, left = free_length_preimages(Expansion(Gaussian(0.5), x, np.array([[factor]])), FixedPoint())
        assert_allclose(points, x, atol=1e-6)
        assert_allclose(factors, factor, atol=1e-6)
        assert_allclose(left, 0, atol=1e-8)


def test_free_length_for_degree_two_is_the_leading_eigenvector(rng):
    X, W = rng.normal(size=(10, 3)), rng.normal(size=(10, 1))
    S = (X * W).T @ X
    values, vectors = np.linalg.eigh(S)
    leading = np.argmax(np.abs(values))
    target = Expansion(Polynomial(2, coef0=0.0), X, W)
    points, _, left = free_length_preimages(target, FixedPoint(tol=1e-10, max_iter=3000))
    z = points[0] / np.linalg.norm(points[0])
    assert_allclose(abs(z @ vectors[:, leading]), 1, atol=1e-4)
    assert_allclose(left, target.squared_norms() - values[leading] ** 2, rtol=1e-4)


def test_pictures_of_linear_components_are_the_axes(rng):
    X = rng.normal(size=(40, 4)) @ np.diag([3, 2, 1, 0.5])
    model = KernelPCA(2, kernel=Linear()).fit(X)
    axes = X.T @ model.subspace_.frame.coefficients
    assert_allclose(model.component_images(), axes.T, atol=1e-10)
    pictures = model.component_preimages()
    cosines = np.sum(pictures.T * axes, axis=0) / np.linalg.norm(pictures, axis=1)
    assert_allclose(np.abs(cosines), 1, atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "exact", FixedPoint(), Gradient()], ids=str)
def test_pictures_of_linear_components_do_not_depend_on_where_the_data_lie(solver):
    """Searches may end far away along an axis; pulled back towards the data they would leave it."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 8)) * np.linspace(3, 0.5, 8) + rng.normal(size=8) * 5
        model = KernelPCA(6, kernel="linear", preimage=solver).fit(X)
        pictures = model.component_preimages()
        pictures /= np.linalg.norm(pictures, axis=1, keepdims=True)
        cosines = np.sum(pictures * PCA(6).fit(X).components_, axis=1)
        assert_allclose(np.abs(cosines), 1, atol=1e-5)


@pytest.mark.parametrize("kernel", [Cosine(), Polynomial(2, coef0=0.0), Linear()], ids=repr)
def test_rows_without_length_change_no_picture(kernel):
    """A blank image has k(x, x) = 0 and no direction; 0/0 must not be the largest value."""
    for seed in range(10):
        rows = np.random.default_rng(seed).normal(size=(20, 3))
        axes = KernelPCA(2, kernel=kernel).fit(rows).subspace_.frame
        plain = free_length_preimages(axes)
        padded = Expansion(kernel, np.vstack([np.zeros(3), rows]), np.vstack([np.zeros((1, 2)), axes.coefficients]))
        points, _, left = free_length_preimages(padded)
        assert np.linalg.norm(points, axis=1).min() > 1e-3
        assert_allclose(left, plain[2], atol=1e-6)
        blank = KernelPCA(2, kernel=kernel, preimage="gradient").fit(np.vstack([np.zeros(3), rows]))
        assert np.linalg.norm(blank.component_preimages(), axis=1).min() > 1e-3


@pytest.mark.parametrize("kernel", [Gaussian(0.2), Polynomial(3, coef0=0.0), Matern(0.3), Cosine()], ids=repr)
def test_pictures_are_stationary_and_no_worse_than_any_point(kernel, rng):
    X = rng.normal(size=(40, 3))
    axes = KernelPCA(4, kernel=kernel).fit(X).subspace_.frame
    points, _, left = free_length_preimages(axes, Gradient(tol=1e-9))
    ratio = lambda Z: np.diagonal(axes(Z)) ** 2 / axes.kernel.diagonal(Z)
    assert_allclose(left, axes.squared_norms() - ratio(points), atol=1e-10)
    best = np.max(axes(X) ** 2 / axes.kernel.diagonal(X)[:, None], axis=0)
    assert (ratio(points) >= best - 1e-9).all()
    for shift in 1e-3 * np.vstack([np.eye(3), -np.eye(3)]):
        assert (ratio(points + shift) <= ratio(points) + 1e-7).all()


def test_other_solvers_take_turns_with_the_length(rng):
    X = rng.normal(size=(30, 4))
    axes = KernelPCA(2, gamma=0.1).fit(X).subspace_.frame
    direct, in_turns = free_length_preimages(axes), free_length_preimages(axes, MultiStart(FixedPoint(), ("input",)))
    assert_allclose(in_turns[2], direct[2], atol=1e-3)
    assert_allclose(in_turns[0], direct[0], atol=0.1)


def test_kernels_without_a_gradient_are_pictured_by_training_points(rng):
    X = rng.normal(size=(30, 4))
    model = KernelPCA(3, kernel=lambda x, y: float(np.exp(-0.1 * np.sum((x - y) ** 2)))).fit(X)
    expected = X[np.argmax(np.abs(model.subspace_.frame(X)), axis=0)]
    assert_allclose(model.component_preimages(), expected)
