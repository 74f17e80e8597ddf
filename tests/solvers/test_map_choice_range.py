"""Bounds of answers: the range of the training rows, and a margin judged by the tails of each column."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preimage.solvers._map_choice import MOST_ENTRIES, range_with_margin


def naive_upper(column):
    """Hill's estimate of one column, one row after another."""
    above = sorted((value - np.median(column) for value in column), reverse=True)
    n_above = sum(value > 0 for value in above)
    k = min(max(1, min(int(len(column) ** 0.5), len(column) // 6)), n_above - 1)
    if k < 1:
        return max(column) + max(above[0], 0)
    exponent = sum(np.log(above[i] / above[k]) for i in range(k)) / k * (1 + 1 / k**0.5)
    return max(column) + above[0] * (1000 ** min(exponent, 0.75) - 1)


@pytest.mark.parametrize("n", [2, 7, 30, 200])
def test_margins_are_those_of_hills_estimate(n, rng):
    X = np.column_stack([rng.normal(size=n), rng.standard_t(2, size=n), np.exp(rng.normal(size=n))])
    lower, upper = range_with_margin(X)
    assert_allclose(upper, [naive_upper(column) for column in X.T], rtol=1e-10)
    assert_allclose(lower, [-naive_upper(-column) for column in X.T], rtol=1e-10)


def test_bounds_contain_the_rows_and_move_and_grow_with_them(rng):
    X = rng.standard_t(3, size=(50, 4))
    lower, upper = range_with_margin(X)
    assert (lower <= X.min(axis=0)).all() and (upper >= X.max(axis=0)).all()
    moved_lower, moved_upper = range_with_margin(3 * X + 7)
    assert_allclose(moved_lower, 3 * lower + 7)
    assert_allclose(moved_upper, 3 * upper + 7)
    mirrored_lower, mirrored_upper = range_with_margin(-X)
    assert_allclose(mirrored_lower, -upper)
    assert_allclose(mirrored_upper, -lower)


def test_heavier_tails_have_larger_margins(rng):
    n = 400
    X = np.column_stack(
        [rng.uniform(size=n), rng.normal(size=n), np.exp(rng.normal(size=n)), rng.standard_t(2, size=n)]
    )
    _, upper = range_with_margin(X)
    factors = upper / X.max(axis=0)
    assert (np.diff(factors) > 0).all()
    assert factors[0] < 1.5


def test_columns_that_end_in_equal_values_have_no_margin(rng):
    X = np.column_stack([rng.integers(0, 2, size=100), np.clip(rng.normal(size=100), -1, 1), np.full(100, 3.0)])
    lower, upper = range_with_margin(X)
    assert_array_equal(lower, X.min(axis=0))
    assert_array_equal(upper, X.max(axis=0))


def test_a_single_value_above_the_median_may_occur_twice_as_large():
    X = np.zeros((40, 1))
    X[3] = 5.0
    lower, upper = range_with_margin(X)
    assert (lower[0], upper[0]) == (0, 10)


def test_a_single_row_is_its_own_range():
    lower, upper = range_with_margin(np.array([[1.0, -2.0]]))
    assert_array_equal(lower, [1, -2])
    assert_array_equal(upper, [1, -2])


def test_numbers_near_the_largest_one_have_finite_bounds(rng):
    lower, upper = range_with_margin(rng.standard_t(1, size=(60, 2)) * 1e305)
    assert np.isfinite(lower).all() and np.isfinite(upper).all()


def test_columns_are_sorted_block_by_block(rng, monkeypatch):
    X = rng.normal(size=(30, 7))
    whole = range_with_margin(X)
    assert MOST_ENTRIES > 30 * 7
    monkeypatch.setattr("preimage.solvers._map_choice.MOST_ENTRIES", 60)
    for part, all_of_it in zip(range_with_margin(X), whole, strict=True):
        assert_array_equal(part, all_of_it)
