"""Dask arrays: passes, copies and counts of rows that live in chunks, and sums over pairs of blocks of rows."""

import itertools
from concurrent.futures import CancelledError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preimage._engine.dask import LEAST_BLOCK_ROWS, PairSums, Workers, fetch_rows, known_rows, pair_blocks, workers_of
from preimage._engine.rows import map_rows, sum_rows

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


def outer(X, Y, V, W):
    """X Yᵀ W and Y Xᵀ V: what a symmetric matrix X Xᵀ gives to two blocks of rows."""
    return X @ (Y.T @ W), Y @ (X.T @ V)


@pytest.fixture(scope="module")
def threads():
    """A cluster of two workers in this process."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 2, "dashboard_address": ":0"}
    with distributed.Client(set_as_default=False, **options) as client:
        yield client


class TestPairs:
    """Products with X Xᵀ, of which every unordered pair of blocks computes its part once."""

    X, V = np.random.default_rng(1).normal(size=(103, 4)), np.random.default_rng(2).normal(size=(103, 3))

    def sums(self, client, count):
        pairs = PairSums(Workers(client), lambda X, V: X @ (X.T @ V), outer, self.X)
        bounds = np.linspace(0, 103, count + 1).astype(int)
        pairs.blocks = [slice(a, b) for a, b in itertools.pairwise(bounds)]
        return pairs

    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_sums_do_not_depend_on_blocks(self, threads, count):
        pairs, expected = self.sums(threads, count), self.X @ (self.X.T @ self.V)
        assert_allclose(pairs(self.V), expected, rtol=1e-11)
        assert_array_equal(pairs(self.V), pairs(self.V))  # whoever computed which pair
        assert_allclose(pairs(self.V[:, :1]), expected[:, :1], rtol=1e-11)

    def test_rows_are_sent_once(self, threads, monkeypatch):
        pairs, sent = self.sums(threads, 3), []
        send = pairs._send
        monkeypatch.setattr(pairs, "_send", lambda pieces: sent.append(pieces) or send(pieces))
        pairs(self.V), pairs(self.V)
        assert [len(pieces) for pieces in sent] == [2 + 3, 3, 3]  # two functions and the blocks of X; then blocks of V

    def test_lost_rows_are_sent_again(self, threads):
        pairs = self.sums(threads, 3)
        expected = pairs(self.V)
        threads.cancel(pairs._sent[2:4])
        assert_array_equal(pairs(self.V), expected)

    def test_images_of_blocks_are_those_of_all_rows(self, threads):
        pairs, Y = self.sums(threads, 3), self.V[:7] @ np.ones((3, 4))
        distances = lambda X, Y, W: (X @ Y.T) ** 2 @ W
        expected = distances(self.X, Y, self.V[:7])
        assert_allclose(pairs.images(distances, Y, self.V[:7]), expected, rtol=1e-11)
        threads.cancel(pairs._sent[2:4])
        assert_allclose(pairs.images(distances, Y, self.V[:7]), expected, rtol=1e-11)

    def test_a_dead_worker_that_is_sent_to_counts_as_a_loss(self, threads, monkeypatch):
        pairs, scatter, failures = self.sums(threads, 3), threads.scatter, [OSError("closed"), OSError("closed")]
        expected = pairs(self.V)

        def fail_twice(*arguments, **options):
            if failures:
                raise failures.pop()
            return scatter(*arguments, **options)

        monkeypatch.setattr(threads, "scatter", fail_twice)
        assert_array_equal(pairs(self.V), expected)

    def test_losses_end(self, threads, monkeypatch):
        monkeypatch.setattr("preimage._engine.dask.SECONDS_AFTER_LOSS", 0)
        pairs = self.sums(threads, 3)
        monkeypatch.setattr(threads, "scatter", lambda *arguments, **options: (_ for _ in ()).throw(OSError("closed")))
        with pytest.raises(CancelledError, match="lost"):
            pairs(self.V)

    def test_errors_of_functions_arrive_at_once(self, threads):
        calls = []

        def fail(X, V):
            calls.append(len(X))
            raise FileNotFoundError("a kernel of the user")

        pairs = PairSums(Workers(threads), fail, outer, self.X)
        with pytest.raises(FileNotFoundError, match="user"):
            pairs(self.V)
        assert len(calls) == 1

    def test_tasks_of_a_worker_with_several_threads_use_one_each(self, threads):
        from preimage._engine.threads import available_threads

        pairs = PairSums(Workers(threads), lambda X, V: np.full_like(V, available_threads()), outer, self.X)
        assert_array_equal(pairs(self.V), np.ones_like(self.V))


def test_blocks_suit_threads_and_rows():
    assert pair_blocks(100, 64) == 1
    assert pair_blocks(3 * LEAST_BLOCK_ROWS, 64) == 3
    for n_threads in (1, 2, 16, 100):
        count = pair_blocks(10**6, n_threads)
        assert 6 * n_threads <= count * (count + 1) / 2 <= 20 * n_threads


@pytest.mark.parametrize("n_threads", [2, 4, 8, 10, 16, 32, 64])
def test_threads_end_together(n_threads):
    """A pair of a block with itself is half as much work as others; at most a fiftieth of the time is left over."""
    halves = pair_blocks(10**6, n_threads) ** 2
    assert -(-halves // n_threads) * n_threads <= 1.02 * halves


def test_only_clusters_have_workers(threads):
    chunked = da.from_array(X, chunks=(6, 4))
    assert workers_of(chunked) is None
    with threads.as_current():
        found = workers_of(chunked)
    assert found.client is threads and found.n_threads == 4
