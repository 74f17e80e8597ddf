"""Seeds of k-means++ in feature space, and the rule that ends runs."""

import numpy as np
import pytest

from preimage._models.clustering._gram_kmeans import kernel_rows, mean_order
from preimage._models.clustering._restarts import (
    Search,
    improves_too_little,
    plus_plus_seeds,
    seed_labels,
    squared_distances,
)
from preimage.feature_space import Gram
from preimage.kernels import Gaussian, Linear


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


def seeds(gram, weights, k, runs, seed=0):
    rows_of = lambda numbers: kernel_rows(gram, numbers)
    order = mean_order(gram, weights)
    search = Search(k, "k-means++", runs, "lloyd", 300, 0.0, np.random.default_rng(seed))
    return plus_plus_seeds(rows_of, gram.diagonal(), weights, order, search)


def test_distances_are_those_of_feature_space(X):
    gram = Gram(Linear(), X)
    distances = squared_distances(lambda numbers: kernel_rows(gram, numbers), gram.diagonal(), np.array([3, 5]))
    assert np.allclose(distances, ((X[[3, 5], None, :] - X) ** 2).sum(axis=2))


def test_seeds_are_distinct_and_one_per_distant_group():
    X = np.array([[0.0], [0.1], [100.0], [100.1], [200.0], [200.1]])
    found = seeds(Gram(Linear(), X).held(), np.ones(6), 3, 20)
    assert np.array_equal(np.sort(found // 2, axis=1), np.tile(np.arange(3), (20, 1)))


def test_all_rows_are_seeds_when_as_many_are_wanted(X):
    found = seeds(Gram(Gaussian(0.5), X).held(), np.ones(40), 40, 3)
    assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(40), (3, 1)))


def test_the_order_of_rows_does_not_matter(X, rng):
    order = rng.permutation(40)
    one = seeds(Gram(Gaussian(0.5), X).held(), np.ones(40), 5, 4)
    other = seeds(Gram(Gaussian(0.5), X[order]).held(), np.ones(40), 5, 4)
    assert np.array_equal(one, order[other])


def test_a_weight_is_copies(X, rng):
    weights = rng.integers(0, 4, 40)
    copies = np.repeat(np.arange(40), weights)
    one = seeds(Gram(Gaussian(0.5), X).held(), weights.astype(float), 5, 4)
    other = seeds(Gram(Gaussian(0.5), X[copies]).held(), np.ones(copies.size), 5, 4)
    assert np.array_equal(one, copies[other])


def test_equal_rows_leave_nothing_to_choose():
    found = seeds(Gram(Gaussian(0.5), np.ones((5, 2))).held(), np.ones(5), 3, 2)
    assert found.shape == (2, 3)


def test_rows_go_to_the_nearest_seed(X):
    gram = Gram(Linear(), X)
    labels = seed_labels(lambda numbers: kernel_rows(gram, numbers), gram.diagonal(), np.array([[1, 7], [3, 4]]))
    expected = [np.argmin(((X[:, None] - X[pair]) ** 2).sum(axis=2), axis=1) for pair in ([1, 7], [3, 4])]
    assert np.array_equal(labels, expected)


def test_runs_end_when_an_iteration_brings_little_of_what_all_have_brought():
    paths = np.array([[10.0, 5.0, 4.0], [10.0, 5.0, 4.99]])
    assert improves_too_little(paths, 0.01).tolist() == [False, True]
    assert not improves_too_little(paths[:, :1], 0.01).any()
    assert improves_too_little(np.array([3.0, 2.0, 2.0]), 0.0)
