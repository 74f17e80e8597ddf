"""The energy of an input: the squared distance to a subspace, or the Mahalanobis length of probabilistic kernel PCA."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage._models.completion import NoisySubspace, SubspaceEnergy, SubspaceFit, noisy_energy
from preimage._models.components import Wanted
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Gaussian, Laplacian, Linear, Polynomial, RationalQuadratic, Sigmoid

POINTS = np.random.default_rng(0).normal(size=(40, 3))
QUERIES = np.random.default_rng(1).normal(size=(7, 3))
KERNELS = [
    Gaussian(0.3),
    Linear(),
    Polynomial(degree=2),
    RationalQuadratic(0.5),
    Laplacian(0.2),
    Gaussian(0.3) + Linear(),
]


def fitted(kernel, X=POINTS, count=4, noise=0.0):
    return SubspaceFit(kernel, Wanted(number=count), noise)(X)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("noise", [0.0, 0.02, None])
def test_gradients_are_those_of_differences(kernel, noise):
    energy = fitted(kernel, count=3, noise=noise).energy
    found, step = energy.at(QUERIES), 1e-6
    for column in range(3):
        shift = step * np.eye(3)[column]
        difference = (energy.at(QUERIES + shift).value - energy.at(QUERIES - shift).value) / (2 * step)
        assert_allclose(found.gradient[:, column], difference, rtol=1e-5, atol=1e-7)


def test_without_weights_it_is_the_squared_distance_to_the_subspace(xp):
    model = fitted(Gaussian(0.3), xp.asarray(POINTS))
    Z = xp.asarray(QUERIES)
    assert_allclose(to_numpy(model.energy.at(Z).value), to_numpy(model.principal.subspace.residuals(Z)), atol=1e-12)


def test_with_noise_it_is_a_mahalanobis_length():
    """For the linear kernel, feature space is input space and the covariance can be inverted."""
    model = fitted(Linear(), count=2, noise=0.05)
    centered = POINTS - POINTS.mean(axis=0)
    values, axes = np.linalg.eigh(centered.T @ centered / len(POINTS))
    variances = np.array([model.noise, *values[1:]])
    y = (QUERIES - POINTS.mean(axis=0)) @ axes
    assert_allclose(model.energy.at(QUERIES).value, model.noise * np.sum(y**2 / variances, axis=1), rtol=1e-9)


def test_axes_below_the_noise_count_as_noise():
    model = fitted(Linear(), count=3)
    variances = model.principal.variances
    cut = noisy_energy(model.principal.subspace, variances, float(variances[1]))
    assert_allclose(cut.weights, [1 - variances[1] / variances[0]])
    full = SubspaceEnergy(model.principal.subspace, np.array([*cut.weights, 0, 0]))
    assert_allclose(cut.at(QUERIES).value, full.at(QUERIES).value)


def test_most_likely_noise_is_the_mean_of_what_is_left_out():
    model = SubspaceFit(Gaussian(0.3), Wanted(number=5), None)(POINTS)
    K = Gaussian(0.3)(POINTS)
    H = np.eye(40) - 1 / 40
    values = np.linalg.eigvalsh(H @ K @ H)[::-1] / 40
    assert_allclose(model.noise, values[5:].sum() / 34, rtol=1e-9)


def test_other_weights_need_no_new_preparation():
    energy = fitted(Gaussian(0.3)).energy
    energy.at(QUERIES)
    other = energy.of_the_mean()
    assert other._basis is energy._basis
    origin = energy.subspace.origin
    assert_allclose(other.at(QUERIES).value, origin.squared_distances(QUERIES)[:, 0], atol=1e-12)


def test_frame_and_origin_on_different_points():
    frame = Subspace.span(Gaussian(0.3), POINTS[:5]).frame
    origin = Expansion(Gaussian(0.3), POINTS[5:8], np.full((3, 1), 1 / 3))
    energy = SubspaceEnergy(Subspace(frame, origin))
    assert_allclose(energy.at(QUERIES).value, energy.subspace.residuals(QUERIES), atol=1e-12)


def test_the_objective_of_a_fit_is_the_least_over_frames():
    """No other subspace, variances or noise give the training rows a smaller one."""
    model = SubspaceFit(Gaussian(0.3), Wanted(number=5), None)(POINTS)
    best = model.objective()
    energies = model.energy.at(POINTS).value
    explicit = np.sum(np.log(model.principal.variances)) + 34 * np.log(model.noise) + np.mean(energies) / model.noise
    assert_allclose(best, explicit, rtol=1e-9)
    for other in (
        SubspaceFit(Gaussian(0.3), Wanted(number=5), None)(POINTS[::2]),
        NoisySubspace(model.principal, 1.1 * model.noise),
        NoisySubspace(model.principal, 0.9 * model.noise),
    ):
        count = len(POINTS) - 1 - 5
        variances = other.principal.variances
        energies = other.energy.at(POINTS).value
        value = np.sum(np.log(variances)) + count * np.log(other.noise) + np.mean(energies) / other.noise
        assert value > best


def test_indefinite_kernels_have_signed_weights():
    model = fitted(Sigmoid(gamma=0.5), count=3)
    assert_allclose(model.energy.at(QUERIES).value, model.principal.subspace.residuals(QUERIES), rtol=1e-9, atol=1e-9)


def test_axes_of_little_variance_do_not_go_through_one_matrix():
    """Rounding errors of kᵀMk are those of coordinates divided by the variance."""
    energy = fitted(Gaussian(0.05), count=39).energy
    assert not energy._has_matrix
    assert_allclose(energy.at(QUERIES).value, energy.subspace.residuals(QUERIES), atol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_many_axes_go_through_one_matrix(noise):
    energy = fitted(Gaussian(0.3), count=30, noise=noise).energy
    assert energy._has_matrix
    values = energy._prepared(QUERIES)
    for one, other in zip(energy._through_matrix(values), energy._through_frame(values), strict=True):
        assert_allclose(one, other, rtol=1e-7, atol=1e-9)
