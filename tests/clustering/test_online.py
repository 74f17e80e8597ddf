"""The online update: centres stay means, norms are carried along."""

import numpy as np
import pytest

from preimage.clustering import coordinate_online, online
from preimage.clustering._online import _Centers
from preimage.feature_space import Gram
from preimage.kernels import Gaussian, Linear


@pytest.fixture
def X(rng):
    return rng.normal(size=(50, 2)) + 3 * rng.integers(0, 2, size=(50, 1))


def first_k(n, k):
    labels = np.full((1, n), -1)
    labels[0, :k] = np.arange(k)
    return labels


def naive_online(K, k):
    """(S20) as printed: the coefficients of all centres, with norms computed anew."""
    n = len(K)
    gamma, counts, members = np.zeros((k, n)), np.ones(k), np.arange(n)
    gamma[np.arange(k), np.arange(k)] = 1
    for t in range(k, n):
        norms = np.einsum("ki,ij,kj->k", gamma, K, gamma)
        a = int(np.argmin(norms - 2 * gamma @ K[t]))
        zeta = 1 / (counts[a] + 1)
        gamma[a] *= 1 - zeta
        gamma[a, t] += zeta
        counts[a] += 1
        members[t] = a
    return gamma, members


@pytest.mark.parametrize("held", [True, False])
def test_it_is_the_update_of_the_paper(X, held):
    gram = Gram(Gaussian(0.3), X)
    found = online(gram.held() if held else gram, first_k(50, 3), 3, np.ones(50))
    gamma, members = naive_online(Gaussian(0.3)(X), 3)
    assert np.array_equal(found.members, members)
    assert np.allclose(found.coefficients(np.ones(50)).T, gamma)


def test_every_center_is_the_mean_of_its_points(X):
    found = online(Gram(Linear(), X).held(), first_k(50, 4), 4, np.ones(50))
    centers = found.coefficients(np.ones(50)).T @ X
    for number in range(4):
        assert np.allclose(centers[number], X[found.members == number].mean(axis=0))


def test_norms_are_carried_along(X):
    K = Gram(Gaussian(0.3), X).held()
    weights = np.linspace(0.5, 2, 50)
    members = first_k(50, 3)[0]
    state = _Centers(K, members, 3, weights)
    for number in range(3, 50):
        state.take(number, K.values[number] * weights, 1.0)
    gamma = (members == np.arange(3)[:, None]) * weights
    gamma /= gamma.sum(axis=1, keepdims=True)
    assert np.allclose(state.squared_norms, np.einsum("ki,ij,kj->k", gamma, K.values, gamma))


def test_coordinates_take_the_same_way(X):
    weights = np.linspace(0.5, 2, 50)
    found = online(Gram(Linear(), X).held(), first_k(50, 3), 3, weights)
    centers, sizes = coordinate_online(X[:3], weights[:3], X[3:], weights[3:])
    assert np.allclose(centers, found.coefficients(weights).T @ X)
    assert np.allclose(sizes, found.sizes)


def test_rows_of_weight_zero_do_not_count(X):
    weights = np.ones(50)
    weights[10:20] = 0
    some = online(Gram(Gaussian(0.3), X).held(), first_k(50, 3), 3, weights)
    kept = np.flatnonzero(weights)
    fewer = online(Gram(Gaussian(0.3), X[kept]).held(), first_k(40, 3), 3, np.ones(40))
    assert np.array_equal(some.members[kept], fewer.members)


def test_a_cluster_without_a_seed_is_refused(X):
    with pytest.raises(ValueError, match="cluster 2 has none"):
        online(Gram(Linear(), X).held(), first_k(50, 2), 3, np.ones(50))
