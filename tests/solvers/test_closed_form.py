"""Pre-images as one weighted mean; pre-images by the map that keeps inner products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import (
    Gaussian,
    Laplacian,
    Polynomial,
    RationalQuadratic,
)
from preimage.solvers import ConformalMap, DistanceConstraint, WeightedMean


class TestWeightedMean:
    def test_reproduces_training_points(self, rng):
        X = rng.normal(size=(20, 3))
        assert_allclose(WeightedMean().solve(Expansion(Gaussian(0.1), X, np.eye(20))).points, X, atol=1e-10)

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


class TestConformalMap:
    @pytest.mark.parametrize("kernel", [Gaussian(0.5), Polynomial(2), Laplacian(0.5)], ids=repr)
    def test_it_is_the_plain_mean(self, kernel, rng):
        X, W = rng.normal(size=(20, 3)), rng.normal(size=(20, 4))
        assert_allclose(ConformalMap().solve(Expansion(kernel, X, W)).points, W.T @ X, atol=1e-10)


class TestDistanceConstraint:
    @pytest.mark.parametrize(
        "kernel", [Gaussian(0.1), RationalQuadratic(0.3), Polynomial(3), Polynomial(3, coef0=0.0)], ids=repr
    )
    def test_exact_targets_are_placed_exactly(self, kernel, rng):
        X = rng.normal(size=(12, 3))
        inside = X[:6].mean(axis=0, keepdims=True)
        points = np.vstack([X, inside])
        coefficients = np.zeros((13, 1))
        coefficients[12] = 1
        result = DistanceConstraint(n_neighbors=13, rtol=1e-6).solve(Expansion(kernel, points, coefficients))
        assert_allclose(result.points, inside, atol=1e-6)

    def test_training_points_are_reproduced(self, rng):
        X = rng.normal(size=(20, 3))
        target = Expansion(Gaussian(0.1), X, np.eye(20))
        assert_allclose(DistanceConstraint().solve(target).points, X, atol=1e-6)

    def test_narrow_kernels_end_finite(self, rng):
        X = rng.normal(size=(20, 3))
        result = DistanceConstraint().solve(Expansion(Gaussian(1e4), X, rng.normal(size=(20, 5))))
        assert np.isfinite(result.points).all()

    def test_array_libraries_agree(self, xp, rng):
        X, W = rng.normal(size=(20, 3)), rng.random((20, 5)) / 20
        expected = DistanceConstraint(5).solve(Expansion(Gaussian(0.1), X, W)).points
        result = DistanceConstraint(5).solve(Expansion(Gaussian(0.1), xp.asarray(X), xp.asarray(W)))
        assert_allclose(to_numpy(result.points), expected, atol=1e-8)
