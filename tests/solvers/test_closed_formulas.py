"""Solvers without iteration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage._arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import (
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Multiquadric,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from preimage.solvers import ConformalMap, DistanceConstraint, ExactInverse, LearnedMap, Reason, WeightedMean


def written_with_others(kernel, z, rng, n=30):
    """φ(z) as an expansion over other points that span feature space."""
    X = rng.normal(size=(n, z.shape[1]))
    return Expansion(kernel, X, np.linalg.lstsq(kernel(X), kernel(X, z), rcond=None)[0])


class TestExactInverse:
    @pytest.mark.parametrize(
        "kernel",
        [Polynomial(3, coef0=0.0), Polynomial(5, coef0=0.0), Polynomial(3), Polynomial(2), Polynomial(4), Linear()],
        ids=repr,
    )
    def test_recovers_inputs_from_other_points(self, kernel, rng):
        z = rng.normal(size=(4, 2))
        result = ExactInverse().solve(written_with_others(kernel, z, rng))
        assert_allclose(result.points, z, atol=1e-6)
        assert result.converged.all()

    @pytest.mark.parametrize(
        "kernel",
        [
            Gaussian(0.3),
            RationalQuadratic(0.3),
            InverseMultiquadric(0.3),
            Multiquadric(0.3),
            Exponential(0.3),
            Sigmoid(0.2, 0.1),
            2.0 * Gaussian(0.3),
        ],
        ids=repr,
    )
    def test_recovers_single_images(self, kernel, xp, rng):
        z = rng.normal(size=(5, 3))
        target = Expansion(kernel, xp.asarray(z), xp.asarray(np.eye(5)))
        result = ExactInverse().solve(target)
        assert_allclose(to_numpy(result.points), z, atol=1e-8)
        assert result.converged.all()

    @pytest.mark.parametrize("degree", [2, 4])
    def test_even_homogeneous_degrees_up_to_the_sign(self, degree, rng):
        z = rng.normal(size=(4, 3))
        points = ExactInverse().solve(written_with_others(Polynomial(degree, coef0=0.0), z, rng)).points
        assert_allclose(points * np.sign(np.sum(points * z, axis=1))[:, None], z, atol=1e-5)

    def test_says_when_there_is_none(self, rng):
        target = Expansion(Gaussian(0.5), rng.normal(size=(5, 3)), rng.random((5, 4)))
        result = ExactInverse().solve(target)
        assert not result.converged.any()
        assert set(result.reason) == {Reason.NOT_EXACT}
        assert np.isfinite(result.points).all()

    def test_other_kernels_are_refused(self, rng):
        with pytest.raises(UnsupportedKernelError, match=r"'gradient' finds the nearest image.*'learned'.*'auto'"):
            ExactInverse().solve(Expansion(Laplacian(0.5), np.ones((1, 2)), np.ones((1, 1))))


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


class TestLearnedMap:
    def test_interpolates_training_points_without_ridge(self, rng):
        X = rng.normal(size=(30, 3))
        model = KernelPCA(gamma=0.5, preimage=LearnedMap("rbf", ridge=1e-10, gamma=2.0)).fit(X)
        assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-4)

    def test_mean_is_kept(self, rng):
        X = rng.normal(size=(30, 3)) + 100
        model = KernelPCA(2, kernel="linear", preimage=LearnedMap(ridge=1e9)).fit(X)
        assert_allclose(model.inverse_transform(model.transform(X)), np.tile(X.mean(axis=0), (30, 1)), atol=1e-3)

    def test_ridge_is_the_best_by_leave_one_out(self, rng):
        X = rng.normal(size=(25, 3))
        model = KernelPCA(3, gamma=0.5, preimage=LearnedMap("rbf", gamma=0.5)).fit(X)
        B, fitted = model.transform(X), model.preimage_
        mean = X.mean(axis=0)

        def error(ridge):
            total = 0.0
            for i in range(25):
                rest = np.arange(25) != i
                weights = np.linalg.solve(Gaussian(0.5)(B[rest]) + ridge * np.eye(24), X[rest] - mean)
                total += np.sum((Gaussian(0.5)(B[i : i + 1], B[rest]) @ weights - (X[i] - mean)) ** 2)
            return total

        assert error(fitted.ridge) <= min(error(fitted.ridge * 3), error(fitted.ridge / 3)) + 1e-9

    def test_unfitted_map_says_so(self, rng):
        with pytest.raises(ValueError, match="fit"):
            LearnedMap().inverse(None, np.ones((1, 2)))

    def test_array_libraries_agree(self, xp, rng):
        X = rng.normal(size=(30, 3))
        expected = KernelPCA(3, gamma=0.5, preimage="learned").fit(X)
        model = KernelPCA(3, gamma=0.5, preimage="learned").fit(xp.asarray(X))
        Y = expected.transform(X)
        assert_allclose(to_numpy(model.inverse_transform(xp.asarray(Y))), expected.inverse_transform(Y), atol=1e-5)


@pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
class TestExactInverseOfIndefiniteKernels:
    @pytest.mark.parametrize(
        "kernel", [Sigmoid(1.0, -1.0), Polynomial(2, coef0=-0.5), Polynomial(3, coef0=-0.5)], ids=repr
    )
    def test_non_images_are_not_called_exact(self, kernel):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            target = Expansion(kernel, rng.normal(size=(50, 3)), rng.normal(size=(50, 1)))
            assert not ExactInverse().solve(target).converged.any()

    @pytest.mark.parametrize(
        "kernel", [Sigmoid(0.3, -0.2), Polynomial(2, coef0=-0.5), Polynomial(4, coef0=-0.5)], ids=repr
    )
    def test_images_are_found(self, kernel):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            z, others = rng.normal(size=(1, 3)), rng.normal(size=(30, 3))
            weights = np.zeros((31, 1))
            weights[0] = 1.0
            result = ExactInverse().solve(Expansion(kernel, np.vstack([z, others]), weights), start=others[:1])
            assert result.converged.all()
            assert_allclose(result.points, z, atol=1e-6)
