"""Pre-images from distances to neighbours."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._arrays import to_numpy
from preimage.feature_space import Expansion
from preimage.kernels import (
    Gaussian,
    Polynomial,
    RationalQuadratic,
)
from preimage.solvers import DistanceConstraint


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

    def test_training_points_are_reproduced_by_both_forms(self, rng):
        X = rng.normal(size=(20, 3))
        target = Expansion(Gaussian(0.1), X, np.eye(20))
        for form in ("inner_products", "published"):
            assert_allclose(DistanceConstraint(form=form).solve(target).points, X, atol=1e-6)

    def test_narrow_kernels_end_finite(self, rng):
        X = rng.normal(size=(20, 3))
        for form in ("inner_products", "published"):
            result = DistanceConstraint(form=form).solve(Expansion(Gaussian(1e4), X, rng.normal(size=(20, 5))))
            assert np.isfinite(result.points).all()

    def test_array_libraries_agree(self, xp, rng):
        X, W = rng.normal(size=(20, 3)), rng.random((20, 5)) / 20
        expected = DistanceConstraint(5).solve(Expansion(Gaussian(0.1), X, W)).points
        result = DistanceConstraint(5).solve(Expansion(Gaussian(0.1), xp.asarray(X), xp.asarray(W)))
        assert_allclose(to_numpy(result.points), expected, atol=1e-8)
