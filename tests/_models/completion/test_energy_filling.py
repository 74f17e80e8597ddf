"""Missing entries that minimise the energy."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import nan_euclidean_distances

from preimage._engine.arrays import to_numpy
from preimage._models.completion import SubspaceFit, fill, median_distance, neighbor_start
from preimage._models.completion._partial_rows import PartialRows
from preimage._models.components import Wanted
from preimage.descent import Box
from preimage.kernels import Gaussian, Linear, Polynomial

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(60, 2)) @ RNG.normal(size=(2, 4)) + 0.1 * RNG.normal(size=(60, 4))
QUERIES = POINTS[:12] + 0.05
KNOWN = np.random.default_rng(3).random(QUERIES.shape) > 0.4
KNOWN[:, 0] |= ~KNOWN.any(axis=1)


def energy(kernel, count=2, noise=None, X=POINTS):
    return SubspaceFit(kernel, Wanted(number=count), noise)(X).energy


def test_linear_kernel_gives_the_conditional_mean_of_a_gaussian(xp):
    model = SubspaceFit(Linear(), Wanted(number=2), 0.01)(xp.asarray(POINTS))
    start = np.where(KNOWN, QUERIES, 0.0)
    found = fill(model.energy, xp.asarray(KNOWN, dtype=bool), xp.asarray(start), tol=1e-9, max_iter=500)
    expected = naive.conditional_mean(POINTS, QUERIES, KNOWN, n_components=2, noise=model.noise)
    assert_allclose(to_numpy(found.points), expected, atol=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(0.2), Polynomial(degree=2), Linear()], ids=repr)
def test_energies_never_rise_and_known_entries_stay(kernel):
    E, start = energy(kernel), np.where(KNOWN, QUERIES, 0.3)
    found = fill(E, KNOWN, start)
    assert np.all(found.objective <= E.at(start).value)
    assert np.array_equal(found.points[KNOWN], QUERIES[KNOWN])
    assert_allclose(E.at(found.points).value, found.objective, atol=1e-10)


def test_gradients_vanish_along_missing_entries():
    E = energy(Gaussian(0.2))
    found = fill(E, KNOWN, np.where(KNOWN, QUERIES, 0.0), tol=1e-8, max_iter=500)
    assert np.abs(E.at(found.points).gradient[~KNOWN]).max() < 1e-6


def test_rows_without_entries_get_the_pre_image_of_the_mean():
    nothing = np.zeros((3, 4), bool)
    found = fill(energy(Linear()), nothing, RNG.normal(size=(3, 4)), tol=1e-9)
    assert_allclose(found.points, np.tile(POINTS.mean(axis=0), (3, 1)), atol=1e-6)
    E = energy(Gaussian(0.2))
    found = fill(E, nothing, RNG.normal(size=(3, 4)), tol=1e-9)
    distance = E.subspace.origin.squared_distances
    assert np.all(distance(found.points) <= distance(POINTS).min() + 1e-12)


def test_bounds_hold():
    found = fill(energy(Linear()), KNOWN, np.where(KNOWN, QUERIES, 0.0), box=Box(np.full(4, -0.1), np.full(4, 0.1)))
    assert np.abs(found.points[~KNOWN]).max() <= 0.1
    assert np.array_equal(found.points[KNOWN], QUERIES[KNOWN])


def test_partial_distances_are_those_of_scikit_learn():
    X = np.where(KNOWN, QUERIES, np.nan)
    squared, common = PartialRows.of(QUERIES, KNOWN).squared_distances(PartialRows.of(POINTS))
    assert_allclose(squared, nan_euclidean_distances(X, POINTS, squared=True), atol=1e-12)
    assert_allclose(common, np.repeat(KNOWN.sum(axis=1)[:, None], 60, axis=1))


def test_starts_are_averages_of_like_rows(xp):
    points = xp.asarray(POINTS)
    scale = median_distance(points)
    start = to_numpy(neighbor_start(xp.asarray(QUERIES), xp.asarray(KNOWN, dtype=bool), scale, points))
    squared = nan_euclidean_distances(np.where(KNOWN, QUERIES, np.nan), POINTS, squared=True)
    weights = np.exp(-16 * squared / scale)
    expected = weights @ POINTS / weights.sum(axis=1)[:, None]
    assert_allclose(start[~KNOWN], expected[~KNOWN], atol=1e-5)
    assert np.array_equal(start[KNOWN], QUERIES[KNOWN])


def test_a_row_is_no_neighbor_of_itself():
    X, known = POINTS.copy(), np.ones(POINTS.shape, bool)
    known[0, 1], X[0, 1] = False, 1e6
    start = neighbor_start(X, known, median_distance(X, known))
    assert abs(start[0, 1]) < np.abs(POINTS).max()
