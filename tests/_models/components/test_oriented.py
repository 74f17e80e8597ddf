"""Moments in the coordinates of a span, and features made of them."""

import numpy as np
import pytest

from preimage._models.components import _oriented, coordinate_moments, oriented_features, pair_moment
from preimage.feature_space import Moments, Subspace
from preimage.kernels import Gaussian

rng = np.random.default_rng(0)
X, Y, Z = rng.normal(size=(25, 2)), rng.normal(size=(25, 2)), rng.normal(size=(9, 2))
SPACE = Subspace.span(Gaussian(0.5), Z)


@pytest.mark.parametrize("block", [7, 25, 1000])
def test_moments_do_not_depend_on_blocks(monkeypatch, block):
    monkeypatch.setattr(_oriented, "BLOCK", block)
    coordinates = SPACE.coordinates(X)
    moments = coordinate_moments(SPACE, X)
    np.testing.assert_allclose(moments.covariance(), np.cov(coordinates.T, bias=True), atol=1e-12)
    change = coordinates - SPACE.coordinates(Y)
    np.testing.assert_allclose(pair_moment(SPACE, X, Y), change.T @ change / 25, atol=1e-12)


def test_repeated_points_change_nothing():
    twice = Subspace.span(Gaussian(0.5), np.concatenate([Z, Z[:4]]))
    assert len(twice) == len(SPACE)
    ratios = [
        oriented_features(space, coordinate_moments(space, X), pair_moment(space, X, Y), 1e-3, 3).ratios
        for space in (SPACE, twice)
    ]
    np.testing.assert_allclose(*ratios, rtol=1e-6)


def test_features_are_orthogonal_in_the_noise():
    noise = pair_moment(SPACE, X, Y)
    features = oriented_features(SPACE, coordinate_moments(SPACE, X), noise, 0.01, 4)
    A = SPACE.frame.inner(features.vectors)
    np.testing.assert_allclose(A.T @ (noise + 0.01 * np.eye(len(SPACE))) @ A, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(features.noise, np.diag(A.T @ noise @ A), atol=1e-8)


def test_all_features_are_found_when_no_number_is_given():
    signal = coordinate_moments(SPACE, X)
    assert isinstance(signal, Moments)
    assert len(oriented_features(SPACE, signal, None, 1.0).vectors) == len(SPACE)
