"""Location and scale of columns: mean and deviation, whatever single values do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preimage._engine.robust import far_rows, location_and_scale

NORMAL = np.random.default_rng(0).normal(5, 2, size=(200, 1))


def test_columns_without_outliers_have_mean_and_deviation():
    location, scale = location_and_scale(NORMAL)
    np.testing.assert_allclose([location, scale], [NORMAL.mean(axis=0), NORMAL.std(axis=0)])


@pytest.mark.parametrize("value", [1e9, -1e9, 1e300, -1.7e308])
def test_one_value_changes_the_scale_little(value):
    rows = NORMAL.copy()
    rows[17] = value
    (location, scale), (of_normal, deviation) = location_and_scale(rows), location_and_scale(NORMAL)
    assert scale == pytest.approx(deviation, rel=0.1) and abs(location - of_normal) < 0.1 * deviation


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 199), st.floats(1e-100, 1e100), st.floats(-1e3, 1e3))
def test_columns_of_two_values_have_mean_and_deviation(count, step, start):
    rows = step * (start + np.repeat([0.0, 1.0], [200 - count, count]))[:, None]
    (location,), (scale,) = location_and_scale(rows)
    assert scale == pytest.approx(rows.std(), rel=1e-9) and location == pytest.approx(rows.mean(), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=50), st.sampled_from([2.0**-300, 0.25, 2.0**300]))
def test_units_do_not_matter(values, unit):
    column = np.array(values)[:, None]
    column = np.where(np.abs(column) < 1e-6, 0.0, column)
    for here, there in zip(location_and_scale(column), location_and_scale(unit * column), strict=True):
        np.testing.assert_allclose(unit * here, there, rtol=1e-12)


def test_columns_that_are_mostly_zero_keep_their_scale():
    rng = np.random.default_rng(1)
    rows = np.where(rng.random((500, 1)) < 0.05, rng.normal(3, 1, size=(500, 1)), 0.0)
    deviation = rows.std()
    rows[3] = 1e9
    assert deviation < location_and_scale(rows)[1] < 2 * deviation


def test_small_deviations_about_a_large_mean_are_seen():
    rows = 1e9 + np.random.default_rng(2).normal(0, 1e-3, size=(300, 1))
    location, scale = location_and_scale(rows)
    assert scale == pytest.approx(1e-3, rel=0.1) and location == pytest.approx(1e9)


def test_missing_values_are_passed_over():
    rows = np.hstack([NORMAL, np.full((200, 1), np.nan), np.full((200, 1), 3.0)])
    rows[::2, 0] = np.nan
    location, scale = location_and_scale(rows)
    np.testing.assert_allclose(location, [NORMAL[1::2].mean(), np.nan, 3.0])
    np.testing.assert_allclose(scale, [NORMAL[1::2].std(), np.nan, 0.0])


def test_rows_with_a_value_far_from_all_others_are_found():
    rng = np.random.default_rng(3)
    rows = np.hstack([NORMAL, rng.random((200, 1)) < 0.01, rng.lognormal(size=(200, 1)), np.ones((200, 1))])
    assert not far_rows(rows).any()
    rows[17, 0], rows[30, 2] = 1e9, -1e300
    assert np.flatnonzero(far_rows(rows)).tolist() == [17, 30]


def test_half_of_a_column_may_be_nearly_equal():
    """As the background of pictures whose noise was clipped: the median lies just above the pile."""
    rng = np.random.default_rng(4)
    rows = np.clip(rng.normal(size=(999, 1)), 0, None)
    assert np.median(rows) < 0.05 and not far_rows(rows).any()
    np.testing.assert_allclose(location_and_scale(rows), [rows.mean(axis=0), rows.std(axis=0)])
