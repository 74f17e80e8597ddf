"""Coordinates of rows that kernel PCA has not seen, against kernel PCA that is repeated without them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.kernels import Gaussian, Linear
from preimage.solvers._map_errors import left_out_coordinates


def images_of(K, about_mean):
    """Rows of feature space in an orthonormal frame whose first axes are principal axes, and their number."""
    n = len(K)
    H = np.eye(n) - 1 / n if about_mean else np.eye(n)
    values, vectors = np.linalg.eigh(H @ K @ H)
    kept = values[::-1] > 1e-11 * values[-1]
    return (vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0)))[:, kept]


def refitted(images, k, about_mean):
    """Projections of each row on the principal axes of the others, along the first axes of all."""
    found = np.empty((len(images), k))
    for i, row in enumerate(images):
        others = np.delete(images, i, axis=0)
        mean = others.mean(axis=0) if about_mean else 0 * row
        axes = np.linalg.svd(others - mean, full_matrices=False)[2][: min(k, len(others) - about_mean)]
        found[i] = (mean + (row - mean) @ axes.T @ axes)[:k]
    return found


@pytest.mark.parametrize("about_mean", [True, False])
@pytest.mark.parametrize(("gamma", "k"), [(1e-3, 2), (0.1, 10), (1.0, 10)])
def test_coordinates_are_nearly_those_of_kernel_pca_without_the_row(gamma, k, about_mean, rng):
    X = rng.normal(size=(40, 5)) * [3, 2, 1, 1, 1]
    K = Gaussian(gamma)(X)
    images = images_of(K, about_mean)
    Y, expected = images[:, :k], refitted(images, k, about_mean)
    found = left_out_coordinates(K, Y, 40, about_mean)
    assert np.linalg.norm(found - expected) < 0.5 * np.linalg.norm(Y - expected)


def test_a_row_that_has_an_axis_to_itself_loses_it(rng):
    """With as many components as rows allow, each row takes one with it: exactly known."""
    K = Gaussian(0.5)(rng.normal(size=(20, 5)))
    images = images_of(K, True)
    assert images.shape[1] == 19
    assert_allclose(left_out_coordinates(K, images, 20, True), refitted(images, 19, True), atol=1e-8)


def test_rows_within_a_subspace_that_others_span_stay(rng):
    X = rng.normal(size=(50, 4))
    images = images_of(Linear()(X), True)
    assert_allclose(left_out_coordinates(Linear()(X), images, 50, True), images, atol=1e-10)


def test_coordinates_get_shorter_and_less_so_among_many_rows(rng):
    X = rng.normal(size=(60, 8))
    K = Gaussian(0.1)(X)
    Y = images_of(K, True)[:, :5]
    lengths = [np.sum(left_out_coordinates(K, Y, n, True) ** 2) for n in (60, 600, 60000)]
    assert lengths[0] < lengths[1] < lengths[2] <= np.sum(Y**2) * (1 + 1e-6)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_any_unit_and_equal_rows(unit, rng):
    X = np.repeat(rng.normal(size=(3, 2)), 4, axis=0)
    K = unit * (X @ X.T)
    Y = images_of(K / unit, True) * unit**0.5
    found = left_out_coordinates(K, Y, 12, True)
    assert np.isfinite(found).all() and np.sum(found**2) / unit <= np.sum(Y**2) / unit * (1 + 1e-6)
