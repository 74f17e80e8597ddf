"""Moments and ranges of columns are those of all rows, however these are cut into parts."""

import numpy as np
import pytest

from preimage._engine.column_moments import ColumnMoments

ROWS = np.random.default_rng(0).normal(size=(90, 3)) * [1.0, 100.0, 30_000.0]


@pytest.mark.parametrize("cut", [1, 17, 89])
def test_moments_of_parts_are_those_of_the_whole(cut):
    rows = ROWS.copy()
    rows[3:7, 1] = np.nan
    both, whole = ColumnMoments.of(rows[:cut]) + ColumnMoments.of(rows[cut:]), ColumnMoments.of(rows)
    np.testing.assert_array_equal(both.count, whole.count)
    np.testing.assert_allclose(both.mean, np.nanmean(rows, axis=0))
    np.testing.assert_allclose(both.deviation, np.nanstd(rows, axis=0))
    np.testing.assert_array_equal([both.lowest, both.highest], [np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)])
    assert both.n_missing == whole.n_missing == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_that_differ_by_rounding_are_constant(dtype):
    value = np.array(0.3, dtype=dtype)
    rows = np.array(
        [[value, 1e9, np.nan, 0], [np.nextafter(value, dtype(1)), 1e9, np.nan, 0], [value, 1e9 + 64, np.nan, 0]]
    )
    found = ColumnMoments.of(rows).is_constant(dtype)
    assert found.tolist() == [True, dtype == np.float32, False, True]


def test_moments_of_some_columns():
    some = ColumnMoments.of(ROWS).of_columns(np.array([2, 0]))
    np.testing.assert_allclose(some.deviation, ColumnMoments.of(ROWS[:, [2, 0]]).deviation)
