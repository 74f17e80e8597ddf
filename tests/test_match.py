"""Which axis of one model stands for which of another: permutations, signs, and axes that are missing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preimage._engine.linalg import match, matched


@pytest.mark.parametrize("n_pairs", [None, 3])
def test_matching_undoes_permutations_and_signs(rng, n_pairs):
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0] * 0.1 + np.eye(5)
    order, signs = rng.permutation(5), rng.choice([-1.0, 1.0], size=5)
    overlaps = (signs * Q[:, order]).T
    found_order, found_signs = match(overlaps if n_pairs is None else np.tile(overlaps, (n_pairs, 1, 1)))
    for each_order, each_signs in zip(np.atleast_2d(found_order), np.atleast_2d(found_signs), strict=True):
        assert_array_equal(order[each_order], np.arange(5))
        assert_array_equal(each_signs, signs[each_order])


def test_no_axis_stands_for_two_others():
    overlaps = np.array([[0.9, 0.8], [0.7, 0.1]])  # both want the first: the best sum is 0.8 + 0.7
    order, signs = match(overlaps)
    assert_array_equal(order, [1, 0])
    assert_array_equal(signs, [1, 1])


def test_columns_that_nothing_stands_for_are_zero(rng):
    columns = rng.normal(size=(4, 1))
    order, signs = match(np.array([[0.1, -0.9]]))
    assert_allclose(matched(columns, order, signs), np.column_stack([np.zeros(4), -columns[:, 0]]))


def test_without_axes_there_is_nothing_to_match():
    order, signs = match(np.zeros((3, 4, 0)))
    assert order.shape == signs.shape == (3, 0)
    assert matched(np.ones((2, 1)), order[0], signs[0]).shape == (2, 0)
