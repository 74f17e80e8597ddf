"""Vectors of feature space; expansions joined on the union of their points."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion, distinct_rows
from preimage.kernels import CallableKernel, Gaussian, Linear, Polynomial

KERNEL = Polynomial(2, coef0=1.0)


@pytest.fixture
def pair(rng):
    """Two expansions and their explicit vectors."""
    points, others = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    A, B = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    features = lambda X: naive.monomials(X, 2, 1.0)
    return Expansion(KERNEL, points, A), Expansion(KERNEL, others, B), features(points).T @ A, features(others).T @ B


def test_everything_equals_explicit_vectors(pair, rng):
    e, f, u, v = pair
    Z = rng.normal(size=(4, 2))
    phi = naive.monomials(Z, 2, 1.0)
    assert_allclose(e(Z), phi @ u)
    assert_allclose(e.inner(f), u.T @ v)
    assert_allclose(e.inner(e), u.T @ u)
    assert_allclose(e.squared_norms(), np.sum(u * u, axis=0))
    assert_allclose((e + f)(Z), phi @ (u + v))
    assert_allclose((e - f)(Z), phi @ (u - v))
    assert_allclose((e - e).squared_norms(), 0, atol=1e-12)
    assert_allclose((-e)(Z), -phi @ u)
    C = rng.normal(size=(3, 2))
    assert_allclose((e @ C)(Z), phi @ (u @ C))
    assert_allclose(e[1](Z), phi @ u[:, [1]])
    assert_allclose(e[-1](Z), phi @ u[:, [2]])
    assert_allclose(e[1:](Z), phi @ u[:, 1:])
    distances = np.sum((phi[:, :, None] - u[None]) ** 2, axis=1)
    assert_allclose(e.squared_distances(Z), distances)


def test_a_single_vector_is_added_to_all(pair, rng):
    e, f, u, v = pair
    Z = rng.normal(size=(4, 2))
    assert_allclose((e + f[0])(Z), naive.monomials(Z, 2, 1.0) @ (u + v[:, [0]]))
    assert_allclose((f[0] + e)(Z), naive.monomials(Z, 2, 1.0) @ (u + v[:, [0]]))


def test_distance_gradient_against_differences(rng):
    e = Expansion(Gaussian(0.4), rng.normal(size=(6, 3)), rng.normal(size=(6, 4)))
    Z, step = rng.normal(size=(4, 3)), 1e-6
    value = lambda Z: np.diagonal(e.squared_distances(Z))
    differences = np.stack(
        [(value(Z + step * axis) - value(Z - step * axis)) / (2 * step) for axis in np.eye(3)], axis=1
    )
    assert_allclose(e.distance_gradient(Z), differences, atol=1e-7)


def test_array_libraries_agree(xp, rng):
    points, A, Z = rng.normal(size=(6, 3)), rng.normal(size=(6, 4)), rng.normal(size=(4, 3))
    here = Expansion(Gaussian(0.4), points, A)
    there = Expansion(Gaussian(0.4), xp.asarray(points), xp.asarray(A))
    z = xp.asarray(Z)
    assert_allclose(to_numpy(there(z)), here(Z), atol=1e-13)
    assert_allclose(to_numpy(there.squared_distances(z)), here.squared_distances(Z), atol=1e-12)
    assert_allclose(to_numpy(there.distance_gradient(z)), here.distance_gradient(Z), atol=1e-12)
    assert_allclose(to_numpy((there + there[0]).inner(there)), (here + here[0]).inner(here), atol=1e-12)


def test_prune_keeps_the_vectors(rng):
    points, A = rng.normal(size=(8, 3)), rng.normal(size=(8, 2))
    A[[1, 5]] = 0
    e = Expansion(Gaussian(0.4), points, A)
    pruned = e.prune()
    assert pruned.points.shape == (6, 3)
    assert_allclose(pruned(points), e(points), atol=1e-14)


def test_mismatches_are_refused(pair, rng):
    e, f, *_ = pair
    with pytest.raises(ValueError, match="one row of coefficients per point"):
        Expansion(KERNEL, np.ones((3, 2)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="3 and 2 vectors"):
        e + f[:2]
    with pytest.raises(ValueError, match="pairs rows with vectors"):
        e.distance_gradient(np.ones((2, 2)))
    with pytest.raises(UnsupportedKernelError, match="distance_gradient needs the gradient"):
        Expansion(CallableKernel(np.dot), np.ones((1, 2)), np.ones((1, 1))).distance_gradient(np.ones((1, 2)))


def test_vectors_of_different_spaces_are_not_combined(rng):
    X = rng.normal(size=(6, 3))
    a, b = (Expansion(Gaussian(gamma), X, np.ones((6, 1))) for gamma in (1.0, 5.0))
    for combine in (lambda: a - b, lambda: a + b, lambda: a.inner(b)):
        with pytest.raises(ValueError, match="different feature spaces"):
            combine()


def test_numpy_numbers_choose_vectors(pair, rng):
    e, *_ = pair
    Z = rng.normal(size=(4, 2))
    assert_allclose(e[np.int64(1)](Z), e[1](Z))


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.5)])
def test_vectors_on_no_points_are_zero(kernel, rng):
    zero, Z = Expansion(kernel, np.zeros((0, 2)), np.zeros((0, 3))), rng.normal(size=(3, 2))
    assert not zero(Z).any() and not zero.squared_norms().any() and not zero.inner(zero).any()
    assert_allclose(zero.squared_distances(Z), np.tile(kernel.diagonal(Z)[:, None], 3))
    other = Expansion(kernel, Z, rng.normal(size=(3, 3)))
    assert_allclose((zero + other)(Z), other(Z))
    assert len(zero.prune().merged(by_image=True)) == 3
    with pytest.raises(ValueError, match="a column at least"):
        Expansion(kernel, np.zeros((2, 0)), np.zeros((2, 1)))


def test_the_zero_vector_survives_pruning(rng):
    zero = Expansion(Gaussian(1.0), rng.normal(size=(6, 3)), np.zeros((6, 2))).prune()
    assert_allclose(zero(rng.normal(size=(4, 3))), 0)


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


@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_merging_sees_through_sparse_storage(layout, rng):
    points = np.round(np.maximum(rng.normal(size=(40, 3)), 0))
    coefficients = rng.normal(size=(40, 2))
    dense = Expansion(Gaussian(0.3), points, coefficients).merged()
    thin = Expansion(Gaussian(0.3), sparse.csr_matrix(layout(points)), coefficients).merged()
    assert thin.points.shape == dense.points.shape
    Z = rng.normal(size=(5, 3))
    assert_allclose(thin(Z), dense(Z))


def test_explicit_zeros_are_zeros():
    stored = sparse.csr_matrix((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert Expansion(Linear(), stored, np.ones((2, 1))).merged().points.shape[0] == 1


def test_merging_takes_zeros_of_both_signs_as_one(rng):
    points = np.round(rng.normal(size=(40, 2)))  # signed zeros among them
    target = Expansion(Gaussian(0.3), points, rng.normal(size=(40, 3)))
    short = target.merged()
    assert short.points.shape[0] == len({tuple(row + 0) for row in points})
    assert_allclose((target - short).squared_norms(), 0, atol=1e-12)


def test_points_are_prepared_once_for_calls_with_few_queries(rng, monkeypatch):
    prepared = []
    prepare = Gaussian.prepare
    monkeypatch.setattr(Gaussian, "prepare", lambda self, X: prepared.append(len(X)) or prepare(self, X))
    expansion = Expansion(Gaussian(0.1), rng.normal(size=(5000, 3)), rng.normal(size=(5000, 2)))
    Z = rng.normal(size=(400, 3))
    few = np.concatenate([expansion(Z[row : row + 1]) for row in range(8)])
    assert prepared == [5000]
    assert_allclose(few, expansion(Z)[:8], rtol=1e-9, atol=1e-9)
    assert "_values" not in expansion.__getstate__()


def test_a_large_copy_of_points_is_not_kept(rng, monkeypatch):
    monkeypatch.setattr("preimage.feature_space._expansion.SMALL_COPY", 100)
    expansion = Expansion(Gaussian(0.1), rng.normal(size=(50, 3)), rng.normal(size=(50, 2)))
    expansion(rng.normal(size=(1, 3)))
    assert "_values" not in vars(expansion)
