"""Kernels of image patches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.kernels import Linear, Patches, Polynomial


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
