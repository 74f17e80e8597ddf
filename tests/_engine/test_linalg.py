"""Small dense algebra, and decisions about rank, definiteness and variance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage._engine.linalg import (
    DETERMINED,
    NO_VARIANCE,
    WHITENING,
    are_determined,
    determined_count,
    eigh_descending,
    fix_signs,
    graded_eigh,
    inverse_of_triangle,
    is_semidefinite,
    low_rank_eigenpairs,
    numerical_rank,
    orthogonalize,
    orthonormal_columns,
    orthonormal_factor,
    rank_tolerance,
    require_semidefinite,
    require_variance,
    semidefinite_tolerance,
    solve_factored,
    squares,
    top_eigh,
    whitening_factor,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Sigmoid

EPS = np.finfo(float).eps


def symmetric(rng, values):
    """A symmetric matrix with these eigenvalues."""
    Q, _ = np.linalg.qr(rng.normal(size=(len(values), len(values))))
    return (Q * np.asarray(values)) @ Q.T


@pytest.mark.parametrize("rank", [0, 1, 4, 9])
def test_rank_is_the_number_of_values_above_rounding(rank, xp, rng):
    F = rng.normal(size=(9, rank))
    values, _ = eigh_descending(xp.asarray(F @ F.T))
    assert numerical_rank(values, 9) == rank


def test_rank_is_relative_to_the_largest_value_or_to_what_was_subtracted():
    values = np.array([1.0, 1e-3, 20 * EPS, 0.0, -1e-3])
    assert numerical_rank(values, 5) == 3 and numerical_rank(1e-200 * values, 5) == 3
    assert numerical_rank(values, 5, scale=1e9) == 2
    assert numerical_rank(values, 5, tolerance=1e-2) == 1
    assert numerical_rank(values[:0], 5) == 0
    assert rank_tolerance(5, np.float32) > 1e8 * rank_tolerance(5, np.float64)


def test_semidefinite_means_up_to_half_of_the_digits(xp):
    tolerance = semidefinite_tolerance(np.float64)
    assert is_semidefinite(xp.asarray([0.0, 1.0])) and is_semidefinite(xp.asarray([1.0, -0.5 * tolerance]))
    assert not is_semidefinite(xp.asarray([1.0, -2 * tolerance]))
    assert not is_semidefinite(xp.asarray([-1.0]))
    assert is_semidefinite(xp.asarray([1.0, -0.1]), allowed=0.2)
    assert is_semidefinite(xp.asarray([1.0, -1e-5]), dtype=np.float32)
    assert is_semidefinite(xp.asarray([]))


def test_kernels_are_refused_by_their_values_not_by_their_names(rng):
    X = rng.normal(size=(10, 3))
    sigmoid = Sigmoid(1.0, -1.0)
    with pytest.raises(UnsupportedKernelError, match=r"Select needs .* negative eigenvalues .* Do that\."):
        require_semidefinite(sigmoid, sigmoid(X), "Select", "Do that.")
    require_semidefinite(sigmoid, np.eye(3), "Select", "Do that.")
    require_semidefinite(Gaussian(), -np.eye(3), "Select", "Do that.")  # its promise is trusted


def test_variance_is_more_than_rounding_of_squared_lengths():
    least = NO_VARIANCE * EPS * 100.0
    require_variance(Gaussian(), 2 * least, 100.0, np.float64)
    for variance, dtype in ((0.5 * least, np.float64), (0.0, np.float64), (1e-6, np.float32)):
        with pytest.raises(ValueError, match=r"no variance in feature space.*Gaussian\(\)"):
            require_variance(Gaussian(), variance, 100.0, dtype)


def test_components_after_the_first_that_is_lost_are_not_determined(xp):
    deviations = xp.asarray([1.0, 1.0, 0.1, 1.0])
    error = 0.5 * DETERMINED[8]
    assert determined_count(error, deviations, np.float64) == 2
    assert determined_count(error, deviations, np.float32) == 4
    assert determined_count(xp.asarray([0.0, error, 0.0, 3 * error]), deviations, np.float64) == 3
    assert determined_count(1.0, deviations, np.float64) == 0


def test_functions_need_values_and_lengths_above_rounding(xp):
    """The first is sound, the second varies by 1e-9 only, the third has coefficients that leave its length no digit."""
    coefficients = xp.asarray([[1.0, 1.0, 1e6], [-1.0, -1.0, -1e6]])
    deviations = xp.asarray([1.0, 1e-9, 1e3])
    found = are_determined(coefficients, deviations, 1.0, 4 * np.finfo(float).eps, 1.0, np.float64)
    assert to_numpy(found).tolist() == [True, False, False]
    longer = are_determined(coefficients, deviations, 1e12, 4 * np.finfo(float).eps, 1.0, np.float64)
    assert to_numpy(longer).tolist() == [True, False, True]
    assert not to_numpy(are_determined(coefficients, deviations, 1e12, 1e-3, 1.0, np.float64)).any()


@pytest.mark.parametrize("k", [1, 4, 12, None])
def test_eigenpairs_are_largest_first(k, xp, rng):
    A = symmetric(rng, [5, 3, 3, 3, 1, 1, 0, -1, -2, -2, -3, -4])
    values, vectors = (to_numpy(array) for array in top_eigh(xp.asarray(A), k))
    assert_allclose(values, [5, 3, 3, 3, 1, 1, 0, -1, -2, -2, -3, -4][:k], atol=1e-12)
    assert_allclose(A @ vectors, vectors * values, atol=1e-12)
    assert_allclose(vectors.T @ vectors, np.eye(values.size), atol=1e-12)


def test_equal_eigenvalues_all_come(rng):
    values, vectors = top_eigh(np.eye(30), 5)
    assert values.shape == (5,) and vectors.shape == (30, 5)


def test_orthonormal_columns_span_what_they_were_given(xp, rng):
    W = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 5))
    Q = to_numpy(orthonormal_columns(orthonormal_columns(xp.asarray(W))))
    assert Q.shape == (20, 3)
    assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    assert_allclose(Q @ (Q.T @ W), W, atol=1e-10)
    assert orthonormal_columns(xp.asarray(0 * W)).shape == (20, 0)
    assert orthonormal_columns(xp.asarray(W), floor=1e6).shape == (20, 0)


def test_orthogonalized_columns_are_new_directions(xp, rng):
    basis, _ = np.linalg.qr(rng.normal(size=(20, 4)))
    W = np.column_stack([basis @ rng.normal(size=(4, 2)), rng.normal(size=20)])
    W[:, 2] = 1e-6 * W[:, 2] + basis[:, 0]  # almost inside
    Q = to_numpy(orthogonalize(xp.asarray(W), xp.asarray(basis), floor=1e-12))
    assert Q.shape == (20, 1)
    assert_allclose(basis.T @ Q, 0, atol=1e-14)
    assert_allclose(np.linalg.norm(Q), 1)
    assert orthogonalize(xp.asarray(W[:, :2]), xp.asarray(basis), floor=1e-12).shape == (20, 0)


@pytest.mark.parametrize("rank", [3, 8])
def test_factors_make_coordinates_orthonormal(rank, xp, rng):
    G = rng.normal(size=(8, rank))
    K = G @ G.T
    factor = to_numpy(orthonormal_factor(xp.asarray(K)))
    whitening = to_numpy(whitening_factor(xp.asarray(K), np.float64))
    for F in (factor, whitening):
        assert_allclose(F.T @ K @ F, np.eye(rank), atol=1e-9)
        assert_allclose(K @ F @ (F.T @ K), K, atol=1e-9 * np.abs(K).max())


def test_whitening_leaves_out_what_rounding_of_the_data_fills(rng):
    K = symmetric(rng, [1.0, 0.5, 0.1 * WHITENING[4], 0.1 * WHITENING[8]])
    assert whitening_factor(K, np.float32).shape == (4, 2)
    assert whitening_factor(K, np.float64).shape == (4, 3)
    assert whitening_factor(np.zeros((4, 4)), np.float64).shape == (4, 1)


def test_a_well_conditioned_matrix_is_whitened_by_its_cholesky_factor(rng):
    K = symmetric(rng, np.linspace(1, 2, 6))
    F = whitening_factor(K, np.float64)
    assert_allclose(F, np.triu(F))  # the inverse of a triangular factor, not eigenvectors
    assert_allclose(F.T @ K @ F, np.eye(6), atol=1e-12)


def test_a_tensor_is_whitened_as_an_array_is(xp, rng):
    for values in (np.linspace(1, 2, 6), np.array([1.0, 0.5, 0.1, 0.0])):
        K = symmetric(rng, values)
        F = to_numpy(whitening_factor(xp.asarray(K), np.float64))
        G = whitening_factor(K, np.float64)
        assert_allclose(F @ F.T, G @ G.T, atol=1e-9)


@pytest.mark.parametrize("columns", [3, 1023, 1030])
def test_squares_are_symmetric_products(columns, xp, rng):
    Y = rng.normal(size=(20, columns))
    found = to_numpy(squares(xp.asarray(Y)))
    assert_allclose(found, Y.T @ Y, atol=1e-12)
    assert_allclose(found, found.T, atol=1e-13)


def test_signs_make_the_largest_entry_positive(xp):
    vectors = xp.asarray([[1.0, -3.0, 2.0, -2.0], [-2.0, 1.0, -2.0, 2.0]])
    assert to_numpy(fix_signs(vectors)).tolist() == [-1.0, -1.0, 1.0, -1.0]  # the first of equal moduli decides


def test_low_ranks_have_the_eigenpairs_of_the_whole_matrix(rng):
    X = rng.normal(size=(400, 2))
    K = Gaussian(0.5)(X)
    values, vectors = low_rank_eigenpairs(K)
    all_values, _ = eigh_descending(K)
    rank = values.size
    assert rank < 240 and all_values[rank] < 1e-12 * all_values[0]
    assert_allclose(values, all_values[:rank], atol=1e-13 * all_values[0])
    assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-12)
    assert_allclose((vectors * values) @ vectors.T, K, atol=1e-11)


def test_high_ranks_and_small_matrices_are_left_to_others(rng):
    assert low_rank_eigenpairs(np.eye(400)) is None
    assert low_rank_eigenpairs(np.ones((50, 50))) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-7, 1e-4, 0.1])
def test_columns_become_orthonormal_however_far_from_it_they_are(dtype, size, rng):
    Q = np.linalg.qr(rng.normal(size=(300, 7)))[0]
    W = (Q + size * rng.normal(size=Q.shape)).astype(dtype)
    U = orthonormal_columns(orthonormal_columns(W), 0.5)
    assert U.dtype == dtype and U.shape == W.shape
    assert_allclose(U.T @ U, np.eye(7), atol=20 * np.finfo(dtype).eps)
    assert_allclose(U @ (U.T @ W), W, atol=20 * np.finfo(dtype).eps)  # they span the same


def test_known_inner_products_are_used(rng):
    W = rng.normal(size=(50, 4))
    expected = orthogonalize(W, W[:, :0])
    assert_allclose(orthogonalize(W, W[:, :0], 0.0, W[:, :0], W.T @ W), expected, atol=1e-12)


def test_small_eigenvalues_of_a_graded_matrix_are_right(rng, xp):
    """LAPACK is right to ε times the largest eigenvalue, which is as large as the last ones here."""
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    sizes = 10.0 ** np.array([0, -3, -6, -8, -9, -10])
    inner = Q * np.array([1.0, 1.1, 1.3, 1.5, 1.7, 2.0]) @ Q.T
    S = sizes[:, None] * inner * sizes  # every entry is right to its own digits
    values, vectors = map(to_numpy, graded_eigh(xp.asarray(S), None))
    normal = vectors.T @ S @ vectors / np.sqrt(np.outer(values, values))
    assert_allclose(normal, np.eye(6), atol=1e-9)
    assert_allclose(np.prod(values), np.linalg.det(inner) * np.prod(sizes) ** 2, rtol=1e-9)
    assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-12)
    first = to_numpy(graded_eigh(xp.asarray(S), 3)[0])
    assert_allclose(first, values[:3], rtol=1e-9)


def test_triangular_factors_solve_on_any_device(rng, xp):
    """What is above the diagonal has no part in an inverse."""
    A = rng.normal(size=(5, 5))
    L = np.linalg.cholesky(A @ A.T + np.eye(5))
    above = np.triu(np.ones((5, 5)), 1)
    assert_allclose(to_numpy(inverse_of_triangle(xp.asarray(L + above))), np.linalg.inv(L), atol=1e-12)
    for R in (rng.normal(size=5), rng.normal(size=(5, 2))):
        expected = np.linalg.solve(L @ L.T, R)
        assert_allclose(to_numpy(solve_factored(xp.asarray(L), xp.asarray(R))), expected, atol=1e-12)
