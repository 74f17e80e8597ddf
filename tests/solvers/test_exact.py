"""Exact pre-images."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import (
    Constant,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from preimage.solvers import ExactInverse, Reason


def written_with_others(kernel, z, rng, n=30):
    """φ(z) as an expansion over other points that span feature space."""
    X = rng.normal(size=(n, z.shape[1]))
    return Expansion(kernel, X, np.linalg.lstsq(kernel(X), kernel(X, z), rcond=None)[0])


class TestExactInverse:
    @pytest.mark.parametrize(
        "kernel",
        [
            Polynomial(3, coef0=0.0),
            Polynomial(5, coef0=0.0),
            Polynomial(3),
            Polynomial(2),
            Polynomial(4),
            Linear(),
            Linear() + 1.0,
            (Linear() + 1.0) ** 2,
            Linear() * Polynomial(2),
            Polynomial(2, coef0=0.0) + Linear() / 2,
            Polynomial(2) * Polynomial(2),
        ],
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
            Gaussian(0.3) + 1.0,
            Gaussian(0.3) * RationalQuadratic(0.2),
            Gaussian(0.3) + Matern(0.2),
            RationalQuadratic(0.2) ** 3,
            Exponential(0.2) ** 2,
            Exponential(0.2) * Polynomial(2) + 1.0,
            (Sigmoid(0.2, 0.1) + 0.5) / 3,
            Multiquadric(0.3) + 4.0,
        ],
        ids=repr,
    )
    def test_recovers_single_images(self, kernel, xp, rng):
        z = rng.normal(size=(5, 3))
        target = Expansion(kernel, xp.asarray(z), xp.asarray(np.eye(5)))
        far = xp.asarray(10 + np.zeros((5, 3)))  # the formula itself, not the nearest point
        result = ExactInverse().solve(target, start=far)
        assert_allclose(to_numpy(result.points), z, atol=1e-8)
        assert result.converged.all()

    @pytest.mark.parametrize(
        "kernel",
        [
            Polynomial(2, coef0=0.0),
            Polynomial(4, coef0=0.0),
            Linear() ** 2,
            Linear() * Linear() + 1.0,
            Polynomial(2, coef0=0.0) + 0.1 * Polynomial(4, coef0=0.0),
        ],
        ids=repr,
    )
    def test_even_functions_up_to_the_sign(self, kernel, rng):
        z = rng.normal(size=(4, 3))
        points = ExactInverse().solve(written_with_others(kernel, z, rng)).points
        assert_allclose(points * np.sign(np.sum(points * z, axis=1))[:, None], z, atol=1e-5)

    def test_says_when_there_is_none(self, rng):
        target = Expansion(Gaussian(0.5), rng.normal(size=(5, 3)), rng.random((5, 4)))
        result = ExactInverse().solve(target)
        assert not result.converged.any()
        assert set(result.reason) == {Reason.NOT_EXACT}
        assert np.isfinite(result.points).all()

    @pytest.mark.parametrize(
        "kernel",
        [Laplacian(0.5), Gaussian(0.5) * Linear(), Sigmoid() ** 2, Multiquadric() ** 2, Constant(1.0)],
        ids=repr,
    )
    def test_other_kernels_are_refused(self, kernel):
        with pytest.raises(UnsupportedKernelError, match=r"'gradient' finds the nearest image.*'learned'.*'auto'"):
            ExactInverse().solve(Expansion(kernel, np.ones((1, 2)), np.ones((1, 1))))


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
