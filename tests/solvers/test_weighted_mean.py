"""Pre-images as one weighted mean."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import (
    Gaussian,
    Polynomial,
    RationalQuadratic,
)
from preimage.solvers import WeightedMean


class TestWeightedMean:
    @pytest.mark.parametrize("form", ["inner_products", "published"])
    def test_reproduces_training_points(self, form, rng):
        X = rng.normal(size=(20, 3))
        assert_allclose(WeightedMean(form).solve(Expansion(Gaussian(0.1), X, np.eye(20))).points, X, atol=1e-10)

    def test_denominator_is_the_squared_length(self, rng):
        """(8′): Σ γᵢ(Kγ)ᵢ = ‖Ψ‖², so the formula needs no guard for positive definite kernels."""
        X, W = rng.normal(size=(20, 3)), rng.normal(size=(20, 1))
        target = Expansion(Gaussian(0.5), X, W)
        values = Gaussian(0.5)(X) @ W
        expected = (W * values).T @ X / target.squared_norms()
        assert_allclose(WeightedMean().solve(target).points, expected, rtol=1e-9)

    def test_other_radial_kernels(self, rng):
        X = rng.normal(size=(20, 3))
        assert_allclose(WeightedMean().solve(Expansion(RationalQuadratic(0.3), X, np.eye(20))).points, X, atol=1e-8)

    def test_dot_product_kernels_are_refused(self, rng):
        with pytest.raises(UnsupportedKernelError, match="squared distance"):
            WeightedMean().solve(Expansion(Polynomial(2), np.ones((1, 2)), np.ones((1, 1))))
