"""The two passes over data."""

import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage._engine import rows as _rows
from preimage._engine import threads as _threads
from preimage._engine.arrays import to_numpy
from preimage._engine.rows import (
    PANEL_ENTRIES,
    ThreadBuffer,
    accumulate_rows,
    cut,
    forced_block_shape,
    map_rows,
    panel_rows,
    stacked_blocks,
    sum_rows,
)
from preimage._engine.threads import run_parallel


@pytest.mark.parametrize("rows", [1, 3, 7, 10, 100])
def test_map_keeps_the_order_of_rows(rows, xp, rng):
    X = rng.normal(size=(10, 3))
    assert_allclose(to_numpy(map_rows(lambda block: 2 * block, xp.asarray(X), rows=rows)), 2 * X)


@pytest.mark.parametrize("rows", [1, 3, 7, 10, 100])
def test_sum_counts_every_row_once(rows, xp, rng):
    X = rng.normal(size=(10, 3))
    total = sum_rows(lambda block: block.T @ block, xp.asarray(X), rows=rows)
    assert_allclose(to_numpy(total), X.T @ X)


def test_sparse_rows(rng):
    X = sparse.random(50, 6, 0.3, format="csr", random_state=0)
    assert_allclose(map_rows(lambda block: block.toarray(), X, rows=7), X.toarray())


@pytest.mark.parametrize("rows", [3, 100])
def test_arrays_travel_together(rows, xp, rng):
    X, weights = rng.normal(size=(10, 3)), rng.random(10)
    weighted = lambda x, w, none: x * xp.asarray(w)[:, None]
    assert_allclose(to_numpy(map_rows(weighted, xp.asarray(X), weights, None, rows=rows)), X * weights[:, None])
    total = sum_rows(lambda x, w: x.T @ (x * xp.asarray(w)[:, None]), xp.asarray(X), weights, rows=rows)
    assert_allclose(to_numpy(total), X.T @ (X * weights[:, None]))


def test_ranges_become_slices_and_vectors_are_cut():
    assert_allclose(map_rows(lambda rows: np.arange(9)[rows], range(9), rows=4), np.arange(9))
    assert_allclose(
        map_rows(lambda rows, x: np.arange(rows.start, rows.stop) * x, range(9), np.ones(9), rows=4), np.arange(9)
    )
    assert_allclose(map_rows(lambda x: 2 * x, np.arange(9), rows=4), 2 * np.arange(9))


def test_no_rows(rng):
    assert map_rows(lambda block: block @ np.ones((3, 2)), np.empty((0, 3))).shape == (0, 2)


def test_errors_of_blocks_reach_the_caller(rng):
    def fail(block):
        raise RuntimeError("bad block")

    with pytest.raises(RuntimeError, match="bad block"):
        sum_rows(fail, np.ones((100, 2)), rows=5)


def test_inputs_are_not_written(rng):
    X = rng.normal(size=(10, 3))
    X.flags.writeable = False
    map_rows(lambda block: block + 1, X, rows=3)


def test_cut_covers_everything_once():
    assert [index for part in cut(10, 4) for index in range(10)[part]] == list(range(10))
    assert cut(0, 4) == []


def test_forced_shape_ends_with_its_block():
    with forced_block_shape(2, 3), pytest.raises(ZeroDivisionError):
        1 / 0  # noqa: B018
    seen = []
    map_rows(lambda block: seen.append(len(block)) or block, np.ones((10, 2)))
    assert seen == [10]


def test_a_buffer_belongs_to_its_thread(monkeypatch):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 4)
    buffer, meet = ThreadBuffer(6, 50, np.float32), threading.Barrier(4, timeout=10)

    def work(number):
        part = buffer.part(5, 40)
        part[...] = number
        meet.wait()  # all threads have written now
        assert buffer.part(5, 40) is not part and np.shares_memory(buffer.part(5, 40), part)
        return part.shape == (5, 40) and part.dtype == np.float32 and bool((part == number).all())

    assert run_parallel(work, range(4)) == [True] * 4


@pytest.mark.parametrize("worth", [0.0, np.inf])
def test_blocks_are_the_same_with_and_without_threads(monkeypatch, worth):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 4)
    monkeypatch.setattr(_rows, "WORTH_THREADS", worth)
    X = np.arange(40.0).reshape(20, 2)
    np.testing.assert_array_equal(map_rows(lambda rows: rows * 2, X, rows=3), X * 2)


def test_sums_do_not_depend_on_which_thread_is_fast(monkeypatch, rng):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 4)
    X, delays = rng.normal(size=(64, 3)), rng.random(64) * 0.003
    results = []
    for _ in range(4):
        rng.shuffle(delays)

        def term(rows, wait=None):
            time.sleep(float(wait[0]))
            return rows.T @ rows

        results.append(sum_rows(term, X, delays.copy(), rows=2))
    assert all((each == results[0]).all() for each in results)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("rows", [1, 3, 7, 10, 100])
def test_accumulated_sums_count_every_row_once(threads, rows, rng, monkeypatch):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: threads)
    X, made = rng.normal(size=(10, 3)), []

    def add(block, total):
        total += X[block].T @ X[block]

    def zeros():
        made.append(np.zeros((3, 3)))
        return made[-1]

    totals = [accumulate_rows(add, zeros, 10, rows, X) for _ in range(3)]
    assert_allclose(totals[0], X.T @ X)
    assert all((each == totals[0]).all() for each in totals)  # whichever thread is the fastest
    assert len(made) <= 3 * (1 if threads == 1 else 2 * threads)


@pytest.mark.parametrize("step", [1, 4, 10, 11])
def test_stacked_blocks_keep_the_order_of_rows(step, xp, rng, monkeypatch):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 4)
    X = xp.asarray(rng.normal(size=(10, 3)))
    assert_allclose(to_numpy(stacked_blocks(lambda block: 2 * X[block, :], 10, step, X)), 2 * to_numpy(X))
    assert stacked_blocks(lambda block: X[block, :], 0, step, X).shape == (0, 3)


class _Sum:
    """A term that can hold the sum, and knows who has written into it."""

    adds_in_place = True

    def __init__(self, value):
        self.value, self.is_a_term = value, True

    def __add__(self, other):
        total = _Sum(self.value + other.value)
        total.is_a_term = False
        return total

    def __iadd__(self, other):
        assert not self.is_a_term
        self.value += other.value
        return self


def test_terms_that_can_hold_sums_are_not_written_into(rng):
    terms = [_Sum(float(value)) for value in rng.normal(size=6)]
    before = [each.value for each in terms]
    total = sum_rows(lambda rows: terms[int(rows[0, 0])], np.arange(6.0)[:, None], rows=1)
    assert_allclose(total.value, sum(before))
    assert [each.value for each in terms] == before


def test_sums_write_into_no_term(rng):
    X = rng.normal(size=(12, 3))
    before = X.copy()
    np.testing.assert_allclose(sum_rows(lambda rows: rows, X, rows=4), before[:4] + before[4:8] + before[8:])
    np.testing.assert_array_equal(X, before)


def test_sums_widen_where_a_term_does():
    terms = [np.ones(2, np.float32), np.ones(2, np.float32), np.ones(2) * 1e-12, np.ones(2)]
    assert sum_rows(lambda rows: terms[int(rows[0, 0])], np.arange(4.0)[:, None], rows=1)[0] == 3 + 1e-12


@pytest.mark.parametrize(("n", "rows"), [(10, 128), (4000, 128), (5000, 157), (20_000, 52), (2_000_000, 1)])
def test_panels_are_few_and_small(n, rows):
    assert panel_rows(n, n) == rows
    assert rows * n <= max(PANEL_ENTRIES, n)


def test_work_space_is_one_per_thread_and_is_not_sent_to_workers():
    buffer = ThreadBuffer(3, 5, np.dtype(np.float32))
    with ThreadPoolExecutor(1) as other:
        theirs = other.submit(lambda: buffer.part(2, 4)).result()
        assert other.submit(lambda: buffer.part(2, 4).base is theirs.base).result()
    assert buffer.part(2, 4).base is not theirs.base
    copy = pickle.loads(pickle.dumps(buffer))
    assert copy.part(3, 5).shape == (3, 5) and copy.part(3, 5).dtype == np.float32
