"""Pre-images by the map that keeps inner products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.feature_space import Expansion
from preimage.kernels import (
    Gaussian,
    Laplacian,
    Polynomial,
)
from preimage.solvers import ConformalMap


class TestConformalMap:
    @pytest.mark.parametrize("kernel", [Gaussian(0.5), Polynomial(2), Laplacian(0.5)], ids=repr)
    def test_without_penalty_it_is_the_plain_mean(self, kernel, rng):
        X, W = rng.normal(size=(20, 3)), rng.normal(size=(20, 4))
        assert_allclose(ConformalMap().solve(Expansion(kernel, X, W)).points, W.T @ X, atol=1e-10)

    def test_penalty_solves_the_stated_least_squares(self, rng):
        X, W = rng.normal(size=(20, 3)), rng.normal(size=(20, 4))
        K = Gaussian(5.0)(X)
        right = (X @ X.T - 1e-3 * np.linalg.inv(K)) @ W
        expected = np.linalg.lstsq(X, right, rcond=None)[0].T
        assert_allclose(ConformalMap(1e-3).solve(Expansion(Gaussian(5.0), X, W)).points, expected, atol=1e-8)
