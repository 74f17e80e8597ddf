"""Fitted clusters: centres, distances and boundaries, against explicit coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preimage._engine.arrays import to_numpy
from preimage._models.clustering import Clusters, distances_to_centers, nearest_centers, pairwise_boundaries
from preimage._models.clustering._coordinate_kmeans import coordinate_online
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Gaussian, Linear
from preimage.landmarks import Uniform


@pytest.fixture
def X(rng):
    return rng.normal(size=(30, 3))


@pytest.fixture
def centers(X, rng, xp):
    """Four vectors of input space, for the linear kernel."""
    return Expansion(Linear(), xp.asarray(X), xp.asarray(rng.dirichlet(np.ones(30), size=4).T))


def explicit(centers):
    return to_numpy(centers.coefficients).T @ to_numpy(centers.points)


def test_distances_are_those_of_the_vectors(X, centers, xp):
    expected = np.linalg.norm(X[:, None] - explicit(centers), axis=2)
    assert_allclose(to_numpy(distances_to_centers(centers, xp.asarray(X))), expected)
    assert_array_equal(nearest_centers(centers, xp.asarray(X)), expected.argmin(axis=1))


def test_boundaries_have_the_sign_of_the_nearer_center(X, centers, xp):
    first, second = np.triu_indices(4, 1)
    functions, intercepts = pairwise_boundaries(centers, first, second)
    distances = np.linalg.norm(X[:, None] - explicit(centers), axis=2) ** 2
    values = to_numpy(functions(xp.asarray(X))) + to_numpy(intercepts)
    assert_allclose(values, (distances[:, second] - distances[:, first]) / 2)


def test_a_point_that_is_a_center_has_distance_zero_and_ties_go_to_the_first(X, xp):
    rows = xp.asarray(X)
    centers = Expansion(Gaussian(0.1), rows, xp.asarray(np.eye(30)[:, [7, 7, 2]]))
    assert to_numpy(distances_to_centers(centers, rows))[7, 0] == 0
    assert nearest_centers(centers, rows)[[7, 2]].tolist() == [0, 2]


def test_clusters_of_a_subspace_are_vectors_and_learn(X, rng):
    landmarks = Uniform(8).select(Gaussian(0.2), X, rng=rng)
    space = Subspace.span(Gaussian(0.2), landmarks.points)
    clusters = Clusters(space, rng.normal(size=(2, 8)), np.array([3.0, 5.0]))
    assert_allclose(space.frame.inner(clusters.vectors).T, clusters.centers, atol=1e-9)
    assert_allclose(clusters.vectors.squared_norms(), np.sum(clusters.centers**2, axis=1))
    Y = space.coordinates(X)
    centers, sizes = coordinate_online(clusters.centers, clusters.sizes, Y, np.ones(30))
    after, _ = clusters.after(X, np.ones(30), landmarks, Uniform(8), rng, lambda space: space.coordinates)
    assert_allclose(after.centers, centers)
    assert_allclose(after.sizes, sizes)
