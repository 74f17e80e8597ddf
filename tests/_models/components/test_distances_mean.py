"""Distances to a mean of the other rows in which dense places count more."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._models.components import robust_mean_distances
from preimage.kernels import Gaussian, Polynomial


def naive(kernel, X, weights):
    """Means of explicit copies in feature space, one row left out at a time."""
    copies = np.repeat(np.arange(len(X)), weights)
    K = kernel(X, X)

    def without_one(i):
        others = list(copies)
        if i in others:
            others.remove(i)
        return np.asarray(others)

    density = np.array([max(0.0, K[i, without_one(i)].mean()) for i in range(len(X))])
    distances = []
    for i in range(len(X)):
        others = without_one(i)
        a = density[others] / density[others].sum()
        distances.append(K[i, i] - 2 * a @ K[others, i] + a @ K[np.ix_(others, others)] @ a)
    return distances


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Polynomial(2, coef0=0.5)], ids=str)
@pytest.mark.parametrize("most", [1, 3])
def test_weights_are_copies_and_one_is_left_out(kernel, most, rng):
    X, weights = rng.normal(size=(25, 2)), np.arange(25) % (most + 1)
    K = kernel(X, X)
    found = robust_mean_distances(lambda masses: K @ masses, np.diag(K).copy(), weights.astype(float))
    assert_allclose(found, naive(kernel, X, weights), rtol=1e-9)


def test_a_group_is_farther_than_lonely_rows_among_many(rng):
    X = np.vstack([rng.normal(size=(90, 2)), [6.0, 6.0] + 0.01 * rng.normal(size=(10, 2))])
    K = Gaussian(1.0)(X, X)
    found = robust_mean_distances(lambda masses: K @ masses, np.ones(100), np.ones(100))
    assert np.median(found[:90]) < found[90:].min()


def test_rows_without_any_neighbour_have_the_distance_to_zero():
    K = np.eye(4)
    assert_allclose(robust_mean_distances(lambda masses: K @ masses, np.ones(4), np.ones(4)), np.ones(4))
