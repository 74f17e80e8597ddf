"""What points lose outside the training span, and how it is restored."""

import numpy as np
import pytest
from scipy import sparse

from preimage import KernelPCA
from preimage.exceptions import UnsupportedKernelError
from preimage.inflation._corrections import TrainingSpan, gaussian_gamma, left_out_distances, restore_lost_projection
from preimage.kernels import Gaussian, Laplacian

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(12, 40)), RNG.normal(size=(7, 40))


def residual(points, z):
    return z - points.T @ np.linalg.lstsq(points.T, z, rcond=None)[0]


def test_distances_are_lengths_of_residuals():
    expected = [residual(X, z) @ residual(X, z) for z in Z]
    np.testing.assert_allclose(TrainingSpan(X).squared_distances(Z), expected)
    np.testing.assert_allclose(TrainingSpan(sparse.csr_array(X)).squared_distances(sparse.csr_array(Z)), expected)
    moved = [residual(X - X.mean(0), z - X.mean(0)) for z in Z]
    np.testing.assert_allclose(TrainingSpan(X, affine=True).squared_distances(Z), [r @ r for r in moved])


def test_affine_distances_do_not_depend_on_the_origin():
    here, there = (TrainingSpan(X + shift, affine=True).squared_distances(Z + shift) for shift in (0.0, 3.0))
    np.testing.assert_allclose(here, there)


def test_points_of_the_span_have_distance_zero():
    inside = RNG.normal(size=(5, 12)) @ X
    assert TrainingSpan(X).squared_distances(inside).max() < 1e-20 * (inside**2).max()
    assert TrainingSpan(np.zeros((3, 40))).squared_distances(Z) == pytest.approx((Z**2).sum(axis=1))


@pytest.mark.parametrize("affine", [False, True])
def test_left_out_distances_are_those_to_the_others(affine):
    expected = [TrainingSpan(np.delete(X, n, 0), affine).squared_distances(X[n : n + 1])[0] for n in range(12)]
    np.testing.assert_allclose(left_out_distances(X @ X.T, affine), expected, rtol=1e-9)


@pytest.mark.parametrize("affine", [False, True])
def test_points_that_the_others_span_have_left_out_distance_zero(affine):
    many = RNG.normal(size=(30, 6))
    assert (left_out_distances(many @ many.T, affine) == 0).all()
    twice = np.concatenate([X, X[:1]])
    distances = left_out_distances(twice @ twice.T, affine)
    assert distances[0] == distances[-1] == 0 and (distances[1:-1] > 1).all()


@pytest.mark.parametrize("gamma", [1e-4, 1 / 40, 0.1])
def test_restored_scores_are_those_of_projected_points(gamma):
    model = KernelPCA(3, gamma=gamma).fit(X)
    projected = Z - np.array([residual(X, z) for z in Z])
    restored = restore_lost_projection(
        model.transform(Z), -model.subspace_.offset, TrainingSpan(X).squared_distances(Z), gamma
    )
    np.testing.assert_allclose(restored, model.transform(projected), rtol=1e-6, atol=1e-9)


def test_far_points_do_not_overflow():
    restored = restore_lost_projection(np.array([0.5, 0.5 + 1e-300]), 0.5, np.array([1e9, 1e9]), 1.0)
    assert np.isfinite(restored).all()


def test_nothing_changes_inside_the_span():
    values = RNG.normal(size=(4, 2))
    np.testing.assert_array_equal(restore_lost_projection(values, 0.0, np.zeros(4), 2.0), values)
    np.testing.assert_allclose(restore_lost_projection(values, np.array([0.3, -1]), np.zeros(4), 2.0), values)


def test_only_gaussian_kernels_factorise():
    assert gaussian_gamma("x", Gaussian(0.3)) == 0.3
    with pytest.raises(UnsupportedKernelError, match=r"this needs the Gaussian kernel.*got Laplacian"):
        gaussian_gamma("this", Laplacian(0.3))


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="has 3 columns; the training points have 40"):
        TrainingSpan(X).squared_distances(Z[:, :3])
    with pytest.raises(ValueError, match=r"shape \(n, d\); got shape \(12,\)"):
        TrainingSpan(X[:, 0])


def test_rounding_errors_are_not_enlarged():
    """Far points have the constant as their value, up to rounding; a factor of e^700 must not make it a verdict."""
    constant = -0.22
    values = np.array([constant * (1 + 2e-16), np.nextafter(constant, 0), constant + 1e-9])
    restored = restore_lost_projection(values, constant, np.array([1e6, 1e6, 2.0]), 1.0)
    np.testing.assert_allclose(restored, [constant, constant, constant + 1e-9 * np.exp(2)], rtol=1e-6)
