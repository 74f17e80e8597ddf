"""Scalings, linear maps and patches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from preimage.kernels import (
    Gaussian,
    Iterated,
    Linear,
    MappedInputs,
    Patches,
    Polynomial,
    ScaledInputs,
    Sigmoid,
)


def test_scaled_inputs_put_a_diagonal_in_the_inner_product(rng):
    X, weights = rng.normal(size=(6, 3)), np.array([0.5, 0.0, 2.0])
    expected = (X @ np.diag(weights) @ X.T + 1) ** 2
    assert_allclose(ScaledInputs(Polynomial(2), weights)(X), expected)


def test_orthogonal_map_changes_nothing(rng):
    X, rotation = rng.normal(size=(6, 3)), ortho_group.rvs(3, random_state=0)
    assert_allclose(MappedInputs(Polynomial(3, coef0=0.0), rotation)(X), Polynomial(3, coef0=0.0)(X))


def test_map_is_applied_before_the_width_is_chosen(rng):
    X = rng.normal(size=(20, 3))
    mapped = MappedInputs(Gaussian("median"), 10 * np.eye(3)).resolve(X)
    assert_allclose(mapped.kernel.gamma, Gaussian("median").resolve(10 * X).gamma)


@pytest.mark.parametrize("kernel", [ScaledInputs(Linear(), [1.0]), MappedInputs(Linear(), np.eye(2))], ids=["s", "m"])
def test_wrong_number_of_columns_is_refused(kernel):
    with pytest.raises(ValueError, match="3 columns"):
        kernel(np.ones((2, 3)))


def test_degree_one_patches_are_the_inner_product(rng):
    images = rng.normal(size=(5, 48))
    assert_allclose(Patches((8, 6), patch=4, degree=1)(images), Linear()(images))


def test_one_patch_is_a_polynomial(rng):
    images = rng.normal(size=(5, 16))
    assert_allclose(Patches((4, 4), patch=4, degree=3)(images), Polynomial(3, coef0=0.0)(images))


def test_moving_whole_patches_changes_nothing(rng):
    images = rng.normal(size=(5, 8, 8))
    blocks = images.reshape(5, 2, 4, 2, 4)
    moved = blocks[:, ::-1].reshape(5, 64)
    assert_allclose(Patches((8, 8))(moved), Patches((8, 8))(images.reshape(5, 64)))


def test_patches_equal_an_explicit_sum(rng):
    images = rng.normal(size=(5, 8, 8))
    expected = 0
    for i in (0, 4):
        for j in (0, 4):
            part = images[:, i : i + 4, j : j + 4].reshape(5, -1)
            expected = expected + (part @ part.T) ** 2
    assert_allclose(Patches((8, 8), patch=4, degree=2)(images.reshape(5, -1)), expected)
    assert_allclose(Patches((8, 8), patch=4, degree=2, outer_degree=2)(images.reshape(5, -1)), expected**2)


def test_patches_need_images_of_their_shape():
    with pytest.raises(ValueError, match="need 64 columns; got 63"):
        Patches((8, 8))(np.ones((2, 63)))


def test_iterated_sigmoid_is_positive_semidefinite(rng):
    X = 3 * rng.normal(size=(40, 3))
    assert np.linalg.eigvalsh(Sigmoid(1.0, -1.0)(X))[0] < -1e-3
    assert np.linalg.eigvalsh(Iterated(Sigmoid(1.0, -1.0), X)(X))[0] > -1e-10


def test_iterated_kernel_squares_the_spectrum(rng):
    X = rng.normal(size=(20, 3))
    values = np.linalg.eigvalsh(Gaussian(0.3)(X))
    assert_allclose(np.linalg.eigvalsh(Iterated(Gaussian(0.3)).resolve(X)(X)), values**2 / 20, atol=1e-12)


def test_iterated_kernel_asks_for_its_reference():
    with pytest.raises(ValueError, match="reference"):
        Iterated(Gaussian())(np.ones((2, 2)))
