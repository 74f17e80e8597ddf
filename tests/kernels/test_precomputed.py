"""Kernels whose values are a matrix: points are row numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Normalized, Precomputed, ProfileKernel

EVERYTHING = slice(None)


def matrix(rng, n=6):
    X = rng.normal(size=(n, 3))
    return X @ X.T


def test_precomputed_values_are_looked_up(rng):
    X = rng.normal(size=(6, 3))
    K = X @ X.T
    kernel = Precomputed().resolve(K)
    points = kernel.inputs(K)
    assert_allclose(kernel.prepare(points)(points), K)
    assert_allclose(kernel.prepare(points[3:])(K[:2]), K[:2, 3:])
    assert_allclose(kernel.diagonal(points[2:]), np.diagonal(K)[2:])
    with pytest.raises(UnsupportedKernelError, match="diagonal="):
        kernel.diagonal(K)
    with pytest.raises(UnsupportedKernelError, match="new points"):
        kernel.prepare(K[2:]).tiles(K[:2])
    with pytest.raises(ValueError, match="square"):
        Precomputed().resolve(K[:3])


def test_only_kernels_of_a_matrix_have_numbered_points():
    assert Precomputed().points_are_row_numbers
    others = Gaussian(), Gaussian() + Gaussian(), Normalized(Gaussian())
    assert not any(kernel.points_are_row_numbers for kernel in others)
    assert not ProfileKernel.points_are_row_numbers


def test_row_numbers_stay_row_numbers(xp, rng):
    K = xp.asarray(matrix(rng))
    kernel = Precomputed().resolve(K)
    points = kernel.inputs(K)
    assert to_numpy(points)[:, 0].tolist() == list(range(6))
    assert kernel.inputs(points) is points
    some = points[1:4, :]
    assert kernel.inputs(some) is some
    assert_allclose(to_numpy(kernel.prepare(points)(some)), to_numpy(K)[1:4])
    assert_allclose(to_numpy(kernel.diagonal(some)), np.diagonal(to_numpy(K))[1:4])


def test_a_matrix_of_integers_is_a_matrix():
    K = np.array([[2, 1], [1, 2]])
    assert Precomputed(K).inputs(K).tolist() == [[0], [1]]


def test_known_values_are_the_matrix_itself(rng):
    K = matrix(rng)
    kernel = Precomputed().resolve(K)
    points = kernel.inputs(K)
    assert kernel.known_values(points, points) is K
    some = points[:3]
    assert kernel.known_values(some, some) is None and kernel.known_values(points, some) is None
    assert Precomputed().known_values(points, points) is None


def test_values_have_the_precision_of_the_matrix(rng):
    K = matrix(rng).astype(np.float32)
    kernel = Precomputed().resolve(K)
    points = kernel.inputs(K)
    assert kernel.value_type(points) == np.float32
    assert kernel.prepare(points)(points).dtype == np.float32


def test_values_of_new_points_need_no_matrix(rng):
    """A fitted SVC keeps none; rows of values k(z, x) are all that its decisions take."""
    rows = rng.normal(size=(3, 6))
    points = np.array([[1], [4]])
    assert_allclose(Precomputed().prepare(points)(rows), rows[:, [1, 4]])
    with pytest.raises(UnsupportedKernelError, match="does not hold the values among training points"):
        Precomputed().prepare(points).tiles(points)


def test_there_is_no_gradient(rng):
    kernel = Precomputed(matrix(rng))
    for call in (lambda: kernel.gradient(None, None, None), lambda: kernel.diagonal_gradient(None)):
        with pytest.raises(UnsupportedKernelError, match="gradient"):
            call()
