"""Dask arrays: passes, copies and counts of rows that live in chunks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preimage._dask import fetch_rows, known_rows
from preimage._rows import map_rows, sum_rows

da = pytest.importorskip("dask.array", reason="dask is not installed")

X = np.random.default_rng(0).normal(size=(20, 4))
WEIGHTS = np.linspace(0.5, 2, 20)


@pytest.fixture(params=["rows", "rows and columns", "single precision", "unknown lengths"])
def lazy(request):
    """X in chunks of several kinds, and the same values in memory."""
    chunked = da.from_array(X, chunks=((6, 5, 9), 4))
    if request.param == "rows and columns":
        return chunked.rechunk((7, 3)), X
    if request.param == "single precision":
        return chunked.astype(np.float32), X.astype(np.float32)
    if request.param == "unknown lengths":
        return chunked[chunked[:, 0] > -np.inf], X
    return chunked, X


def test_sums_are_those_in_memory(lazy):
    chunked, X = lazy
    seen = lambda rows: (rows.T @ rows).astype(float)
    assert_allclose(sum_rows(seen, chunked, rows=2), X.T @ X, rtol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, lambda values: da.from_array(values, chunks=11)])
def test_rows_travel_with_their_weights(lazy, kind):
    chunked, X = lazy
    weighted = lambda rows, weights, none: (rows * weights[:, None]).sum(axis=0)
    expected = WEIGHTS @ X
    assert_allclose(sum_rows(weighted, chunked, kind(WEIGHTS), None, rows=2), expected, rtol=1e-5)
    scaled = map_rows(lambda rows, weights, none: rows * weights[:, None], chunked, kind(WEIGHTS), None, rows=2)
    assert_allclose(scaled.compute(), X * WEIGHTS[:, None])


def test_maps_stay_lazy_and_know_their_shape(lazy):
    chunked, X = lazy
    same = map_rows(lambda rows: rows, chunked)
    assert same.chunks == (chunked.chunks[0], (4,)) and same.dtype == X.dtype
    assert_array_equal(same.compute(), X)
    assert_allclose(map_rows(lambda rows: rows.sum(axis=1), chunked, rows=2).compute(), X.sum(axis=1), rtol=1e-5)
    cubes = map_rows(lambda rows: rows[:, :, None] * rows[:, None, :], chunked)
    assert_allclose(cubes.compute(), X[:, :, None] * X[:, None, :], rtol=1e-5)


def test_chunks_without_rows_add_nothing():
    chunked = da.concatenate([da.zeros((0, 4)), da.from_array(X, chunks=(10, 4)), da.zeros((0, 4))])
    assert_allclose(sum_rows(lambda rows, weights: weights @ rows, chunked, WEIGHTS), WEIGHTS @ X)
    assert_allclose(map_rows(lambda rows: rows @ np.ones((4, 2)), chunked).compute(), X @ np.ones((4, 2)))


def test_rows_are_fetched_in_the_order_asked_for(lazy):
    chunked, X = lazy
    numbers = np.array([19, 0, 7, 7, 3])
    assert_array_equal(fetch_rows(known_rows(chunked), numbers), X[numbers])


def test_rows_are_counted_where_nobody_knows_them(lazy):
    chunked, X = lazy
    before = chunked.shape
    assert known_rows(chunked).shape == X.shape
    assert_array_equal(chunked.shape, before)  # the given array stays as it is
