"""k-means on a Gram matrix: laws, agreement with ordinary k-means, and the online update."""

import numpy as np
import pytest
from naive import monomials
from sklearn.cluster import KMeans

from preimage._models.clustering._coordinate_kmeans import coordinate_online
from preimage._models.clustering._gram_kmeans import _OnlineCenters, gram_lloyd, gram_online
from preimage.feature_space import Gram
from preimage.kernels import Gaussian, Linear, Polynomial


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 3)) + 2 * rng.integers(0, 2, size=(60, 1))


@pytest.fixture
def starts(rng):
    return rng.integers(0, 4, size=(3, 60))


def naive_lloyd(Y, labels, k, weights, steps=300):
    """Ordinary k-means on explicit features."""
    for _ in range(steps):
        centers = np.array([np.average(Y[labels == c], axis=0, weights=weights[labels == c]) for c in range(k)])
        new = np.argmin(((Y[:, None, :] - centers) ** 2).sum(axis=2), axis=1)
        if np.array_equal(new, labels):
            break
        labels = new
    return labels, float(weights @ ((Y - centers[labels]) ** 2).sum(axis=1))


def test_linear_kernel_is_scikit_learns_kmeans(X, starts):
    centers = np.array([X[starts[0] == c].mean(axis=0) for c in range(4)])
    peer = KMeans(4, init=centers, n_init=1, tol=0).fit(X)
    ours = gram_lloyd(Gram(Linear(), X).held(), starts[:1], 4, np.ones(60))
    assert np.array_equal(ours.labels, peer.labels_)
    assert ours.inertia == pytest.approx(peer.inertia_)


def test_polynomial_kernel_is_kmeans_on_monomials(X, starts, rng):
    weights = rng.uniform(0.1, 2, 60)
    for start in starts:
        labels, inertia = naive_lloyd(monomials(X, 2, 1.0), start, 4, weights)
        ours = gram_lloyd(Gram(Polynomial(2, gamma=1.0, coef0=1.0), X).held(), start[None], 4, weights)
        assert np.array_equal(ours.labels, labels)
        assert ours.inertia == pytest.approx(inertia)


@pytest.mark.parametrize("gamma", [0.01, 0.3, 5.0])
def test_objective_never_increases(X, starts, gamma):
    for start in starts:
        path = gram_lloyd(Gram(Gaussian(gamma), X).held(), start[None], 4, np.ones(60)).path
        assert np.all(np.diff(path) <= 1e-12 * path[0])


def test_runs_together_are_runs_alone_and_the_best_is_kept(X, starts):
    gram = Gram(Gaussian(0.5), X).held()
    alone = [gram_lloyd(gram, start[None], 4, np.ones(60)).inertia for start in starts]
    assert gram_lloyd(gram, starts, 4, np.ones(60)).inertia == pytest.approx(min(alone))


def test_held_or_not_and_in_any_blocks_is_the_same(X, starts, block_shape, xp):
    held = gram_lloyd(Gram(Gaussian(0.5), X).held(), starts, 4, np.ones(60))
    gram = Gram(Gaussian(0.5), xp.asarray(X))
    for each in (gram, gram.held()):
        other = gram_lloyd(each, starts, 4, np.ones(60))
        assert np.array_equal(other.labels, held.labels)
        assert other.inertia == pytest.approx(held.inertia)


def test_float32_agrees(X, starts):
    wide = gram_lloyd(Gram(Gaussian(0.5), X).held(), starts, 4, np.ones(60))
    narrow = gram_lloyd(Gram(Gaussian(0.5), X.astype(np.float32)).held(), starts, 4, np.ones(60))
    assert narrow.inertia == pytest.approx(wide.inertia, rel=1e-4)


def test_weights_are_repetitions(X, starts, rng):
    weights = rng.integers(1, 4, 60)
    once = gram_lloyd(Gram(Gaussian(0.5), X).held(), starts[:1], 4, weights.astype(float))
    repeated = np.repeat(np.arange(60), weights)
    often = gram_lloyd(Gram(Gaussian(0.5), X[repeated]).held(), starts[:1, repeated], 4, np.ones(repeated.size))
    assert np.array_equal(once.labels[repeated], often.labels)
    assert once.inertia == pytest.approx(often.inertia)


def test_weight_zero_is_absence(X, starts):
    weights = np.ones(60)
    weights[40:] = 0
    some = gram_lloyd(Gram(Gaussian(0.5), X).held(), starts[:1], 4, weights)
    fewer = gram_lloyd(Gram(Gaussian(0.5), X[:40]).held(), starts[:1, :40], 4, np.ones(40))
    assert np.array_equal(some.labels[:40], fewer.labels)
    assert some.inertia == pytest.approx(fewer.inertia)
    assert some.labels.min() >= 0


def test_centers_are_means_of_their_members(X, starts):
    found = gram_lloyd(Gram(Linear(), X).held(), starts[:1], 4, np.ones(60))
    centers = found.coefficients(np.ones(60)).T @ X
    for number in range(4):
        assert np.allclose(centers[number], X[found.labels == number].mean(axis=0))
        assert found.squared_norms[number] == pytest.approx(centers[number] @ centers[number])


def test_empty_clusters_get_the_farthest_points():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [50.0]])
    found = gram_lloyd(Gram(Linear(), X).held(), np.zeros((1, 5), int), 3, np.ones(5))
    assert np.unique(found.labels).size == 3
    assert np.all(np.diff(found.path) <= 0)
    assert found.inertia == pytest.approx(0.02)


def test_constant_data_end_at_once():
    found = gram_lloyd(Gram(Gaussian(1.0), np.ones((6, 2))).held(), np.zeros((2, 6), int), 3, np.ones(6))
    assert found.inertia == 0
    assert found.converged and found.n_iter <= 2


def test_rows_without_a_label_join_the_nearest():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    found = gram_lloyd(Gram(Linear(), X).held(), np.array([[0, -1, 1, -1]]), 2, np.ones(4))
    assert np.array_equal(found.labels, [0, 0, 1, 1])


def test_the_limit_of_iterations_is_reported(X, starts):
    found = gram_lloyd(Gram(Gaussian(0.5), X).held(), starts[:1], 4, np.ones(60), max_iter=1)
    assert not found.converged and found.n_iter == 1


@pytest.fixture
def groups(rng):
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
def test_it_is_the_update_of_the_paper(groups, held):
    gram = Gram(Gaussian(0.3), groups)
    found = gram_online(gram.held() if held else gram, first_k(50, 3), 3, np.ones(50))
    gamma, members = naive_online(Gaussian(0.3)(groups), 3)
    assert np.array_equal(found.members, members)
    assert np.allclose(found.coefficients(np.ones(50)).T, gamma)


def test_every_center_is_the_mean_of_its_points(groups):
    found = gram_online(Gram(Linear(), groups).held(), first_k(50, 4), 4, np.ones(50))
    centers = found.coefficients(np.ones(50)).T @ groups
    for number in range(4):
        assert np.allclose(centers[number], groups[found.members == number].mean(axis=0))


def test_norms_are_carried_along(groups):
    K = Gram(Gaussian(0.3), groups).held()
    weights = np.linspace(0.5, 2, 50)
    members = first_k(50, 3)[0]
    state = _OnlineCenters(K, members, 3, weights)
    for number in range(3, 50):
        state.take(number, K.values[number] * weights, 1.0)
    gamma = (members == np.arange(3)[:, None]) * weights
    gamma /= gamma.sum(axis=1, keepdims=True)
    assert np.allclose(state.squared_norms, np.einsum("ki,ij,kj->k", gamma, K.values, gamma))


def test_coordinates_take_the_same_way(groups):
    weights = np.linspace(0.5, 2, 50)
    found = gram_online(Gram(Linear(), groups).held(), first_k(50, 3), 3, weights)
    centers, sizes = coordinate_online(groups[:3], weights[:3], groups[3:], weights[3:])
    assert np.allclose(centers, found.coefficients(weights).T @ groups)
    assert np.allclose(sizes, found.sizes)


def test_rows_of_weight_zero_do_not_count(groups):
    weights = np.ones(50)
    weights[10:20] = 0
    some = gram_online(Gram(Gaussian(0.3), groups).held(), first_k(50, 3), 3, weights)
    kept = np.flatnonzero(weights)
    fewer = gram_online(Gram(Gaussian(0.3), groups[kept]).held(), first_k(40, 3), 3, np.ones(40))
    assert np.array_equal(some.members[kept], fewer.members)


def test_a_cluster_without_a_seed_is_refused(groups):
    with pytest.raises(ValueError, match="cluster 2 has none"):
        gram_online(Gram(Linear(), groups).held(), first_k(50, 2), 3, np.ones(50))
