"""Expansions joined on the union of their points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from preimage.feature_space import Expansion, distinct_rows
from preimage.kernels import Polynomial


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_joined_functions_are_the_same_functions(seed, is_sparse):
    rng = np.random.default_rng(seed)
    pool = rng.integers(-1, 2, size=(6, 2)).astype(float)  # with equal rows, and equal rows within one part
    parts = []
    for n, k in [(5, 1), (4, 2), (7, 1)]:
        points = pool[rng.integers(0, 6, n)]
        points = sparse.csr_array(points) if is_sparse else points
        parts.append(Expansion(Polynomial(2), points, rng.normal(size=(n, k))))
    Z = rng.normal(size=(8, 2))
    joined = Expansion.join(parts)
    assert_allclose(joined(Z), np.concatenate([part(Z) for part in parts], axis=1), rtol=1e-9, atol=1e-9)
    points = joined.points.toarray() if is_sparse else joined.points
    assert np.unique(points, axis=0).shape == points.shape


@pytest.mark.parametrize("as_points", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_order_of_distinct_rows_does_not_depend_on_where_they_come(as_points, rng):
    rows = np.array([[2.0, 0.0], [1.0, 3.0], [2.0, -0.0], [0.0, 0.0], [1.0, 3.0]])
    kept, numbers = distinct_rows(as_points(rows))
    assert sorted(kept) == [0, 1, 3]
    assert_array_equal(rows[kept][numbers], rows)
    for _ in range(5):
        order = rng.permutation(5)
        shuffled, again = distinct_rows(as_points(rows[order]))
        assert_array_equal(rows[order][shuffled], rows[kept])
        assert_array_equal(again, numbers[order])


def test_merging_keeps_the_vectors(rng):
    points = rng.integers(0, 2, size=(30, 2)).astype(float)
    target = Expansion(Polynomial(2), points, rng.normal(size=(30, 3)))
    Z = rng.normal(size=(5, 2))
    assert target.merged().points.shape[0] == 4
    assert_allclose(target.merged()(Z), target(Z))


def test_sparse_rows_are_equal_however_they_are_stored():
    # Sorted; unsorted; with a stored zero; with an entry in two parts.
    data = [1.0, 2.0, 2.0, 1.0, 1.0, 0.0, 2.0, 1.0, 1.5, 0.5]
    points = sparse.csr_array((data, [0, 2, 2, 0, 0, 1, 2, 0, 2, 2], [0, 2, 4, 7, 10]), shape=(4, 3))
    before = points.data.copy()
    assert_array_equal(distinct_rows(points)[1], [0, 0, 0, 0])
    assert_array_equal(points.data, before)


def test_numbers_of_training_points_are_rows_too():
    assert_array_equal(distinct_rows(np.array([[4], [2], [4]]))[1], [1, 0, 1])
