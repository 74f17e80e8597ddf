"""A sample depends on rows and seed alone, and takes every row as often as any other."""

import numpy as np
import pytest
from for_each import for_each

from preimage._engine.row_sample import RowSample

ROWS = np.arange(400.0).reshape(200, 2)


def sample(rows, size, seed=0, chunk=50):
    found = RowSample(size, rows.shape[1], rows.dtype, seed)
    for first in range(0, len(rows), chunk):
        found.add(rows[first : first + chunk])
    assert found.n_seen == len(rows)
    return found.rows


@for_each("chunk", [1, 7, 29, 30, 31, 199])
def test_chunks_make_no_difference(chunk):
    whole = sample(ROWS, 30, chunk=200)
    assert whole.shape == (30, 2)
    np.testing.assert_array_equal(sample(ROWS, 30, chunk=chunk), whole)


def test_rows_keep_their_order_and_come_once():
    found = sample(ROWS, 40, seed=3)
    assert (np.diff(found[:, 0]) > 0).all() and np.isin(found, ROWS).all()


@pytest.mark.parametrize("size", [0, 200, 1000])
def test_samples_of_nothing_and_of_everything(size):
    np.testing.assert_array_equal(sample(ROWS.astype(np.float32), size), ROWS[: min(size, 200)])
    assert sample(ROWS.astype(np.float32), size).dtype == np.float32
    assert sample(ROWS[:0], size).shape == (0, 2)


def test_every_row_is_equally_likely():
    """Counts over seeds are binomial: their squared deviations add up to a chi-square of 39 degrees of freedom."""
    counts = np.zeros(40)
    for seed in range(400):
        counts[sample(ROWS[:40], 10, seed, chunk=9)[:, 0].astype(int) // 2] += 1
    expected = 400 * 10 / 40
    assert np.sum((counts - expected) ** 2) / (expected * 0.75) < 90  # one in a hundred thousand
