"""Equal rows are one row with several numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from preimage._models.neighbors import Copies

values = st.lists(st.integers(0, 4), min_size=1, max_size=30)


@given(values)
def test_distinct_rows_are_numbered_as_they_come_first(column):
    points = np.array(column, dtype=float)[:, None]
    copies = Copies.among(points, row_numbers=False)
    copies.check_fields()
    assert_array_equal(copies.first, np.sort(np.unique(points, return_index=True)[1]))
    assert_array_equal(points[copies.first][copies.of_rows], points)


@given(values, st.integers(1, 30))
def test_nearest_copies_are_the_nearest_rows(column, k):
    points = np.array(column, dtype=float)[:, None]
    copies, k = Copies.among(points, row_numbers=False), min(k, len(column))
    keys = points[copies.first, 0]
    order = np.argsort(keys)
    found, rows = copies.nearest(keys[order][None], order[None], k)
    expected = np.argsort(points[:, 0], kind="stable")[:k]
    assert_array_equal(rows[0], expected)
    assert_array_equal(found[0], points[expected, 0])


def test_rows_known_by_numbers_are_distinct():
    copies = Copies.among(np.arange(5)[:, None], row_numbers=True)
    assert_array_equal(copies.first, np.arange(5))
