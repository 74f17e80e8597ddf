"""Lloyd's algorithm in feature space: laws, and agreement with ordinary k-means."""

import numpy as np
import pytest
from naive import monomials
from sklearn.cluster import KMeans

from preimage.clustering import lloyd
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
    ours = lloyd(Gram(Linear(), X).held(), starts[:1], 4, np.ones(60))
    assert np.array_equal(ours.labels, peer.labels_)
    assert ours.inertia == pytest.approx(peer.inertia_)


def test_polynomial_kernel_is_kmeans_on_monomials(X, starts, rng):
    weights = rng.uniform(0.1, 2, 60)
    for start in starts:
        labels, inertia = naive_lloyd(monomials(X, 2, 1.0), start, 4, weights)
        ours = lloyd(Gram(Polynomial(2, gamma=1.0, coef0=1.0), X).held(), start[None], 4, weights)
        assert np.array_equal(ours.labels, labels)
        assert ours.inertia == pytest.approx(inertia)


@pytest.mark.parametrize("gamma", [0.01, 0.3, 5.0])
def test_objective_never_increases(X, starts, gamma):
    for start in starts:
        path = lloyd(Gram(Gaussian(gamma), X).held(), start[None], 4, np.ones(60)).path
        assert np.all(np.diff(path) <= 1e-12 * path[0])


def test_runs_together_are_runs_alone_and_the_best_is_kept(X, starts):
    gram = Gram(Gaussian(0.5), X).held()
    alone = [lloyd(gram, start[None], 4, np.ones(60)).inertia for start in starts]
    assert lloyd(gram, starts, 4, np.ones(60)).inertia == pytest.approx(min(alone))


def test_held_or_not_and_in_any_blocks_is_the_same(X, starts, block_shape, xp):
    held = lloyd(Gram(Gaussian(0.5), X).held(), starts, 4, np.ones(60))
    gram = Gram(Gaussian(0.5), xp.asarray(X))
    for each in (gram, gram.held()):
        other = lloyd(each, starts, 4, np.ones(60))
        assert np.array_equal(other.labels, held.labels)
        assert other.inertia == pytest.approx(held.inertia)


def test_float32_agrees(X, starts):
    wide = lloyd(Gram(Gaussian(0.5), X).held(), starts, 4, np.ones(60))
    narrow = lloyd(Gram(Gaussian(0.5), X.astype(np.float32)).held(), starts, 4, np.ones(60))
    assert narrow.inertia == pytest.approx(wide.inertia, rel=1e-4)


def test_weights_are_repetitions(X, starts, rng):
    weights = rng.integers(1, 4, 60)
    once = lloyd(Gram(Gaussian(0.5), X).held(), starts[:1], 4, weights.astype(float))
    repeated = np.repeat(np.arange(60), weights)
    often = lloyd(Gram(Gaussian(0.5), X[repeated]).held(), starts[:1, repeated], 4, np.ones(repeated.size))
    assert np.array_equal(once.labels[repeated], often.labels)
    assert once.inertia == pytest.approx(often.inertia)


def test_weight_zero_is_absence(X, starts):
    weights = np.ones(60)
    weights[40:] = 0
    some = lloyd(Gram(Gaussian(0.5), X).held(), starts[:1], 4, weights)
    fewer = lloyd(Gram(Gaussian(0.5), X[:40]).held(), starts[:1, :40], 4, np.ones(40))
    assert np.array_equal(some.labels[:40], fewer.labels)
    assert some.inertia == pytest.approx(fewer.inertia)
    assert some.labels.min() >= 0


def test_centers_are_means_of_their_members(X, starts):
    found = lloyd(Gram(Linear(), X).held(), starts[:1], 4, np.ones(60))
    centers = found.coefficients(np.ones(60)).T @ X
    for number in range(4):
        assert np.allclose(centers[number], X[found.labels == number].mean(axis=0))
        assert found.squared_norms[number] == pytest.approx(centers[number] @ centers[number])


def test_empty_clusters_get_the_farthest_points():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [50.0]])
    found = lloyd(Gram(Linear(), X).held(), np.zeros((1, 5), int), 3, np.ones(5))
    assert np.unique(found.labels).size == 3
    assert np.all(np.diff(found.path) <= 0)
    assert found.inertia == pytest.approx(0.02)


def test_constant_data_end_at_once():
    found = lloyd(Gram(Gaussian(1.0), np.ones((6, 2))).held(), np.zeros((2, 6), int), 3, np.ones(6))
    assert found.inertia == 0
    assert found.converged and found.n_iter <= 2


def test_rows_without_a_label_join_the_nearest():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    found = lloyd(Gram(Linear(), X).held(), np.array([[0, -1, 1, -1]]), 2, np.ones(4))
    assert np.array_equal(found.labels, [0, 0, 1, 1])


def test_the_limit_of_iterations_is_reported(X, starts):
    found = lloyd(Gram(Gaussian(0.5), X).held(), starts[:1], 4, np.ones(60), max_iter=1)
    assert not found.converged and found.n_iter == 1
