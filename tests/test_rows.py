"""The two passes over data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage._arrays import to_numpy
from preimage._rows import cut, forced_block_shape, map_rows, sum_rows


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
