"""Laws special to kernels of a distance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel

from preimage.kernels import (
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern,
    Multiquadric,
    RationalQuadratic,
    gamma_from_width,
)

RADIAL = [
    Gaussian(0.4),
    RationalQuadratic(0.4),
    InverseMultiquadric(0.4),
    Multiquadric(0.4),
    Matern(0.4),
    Laplacian(0.4),
]


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_translation_changes_nothing(kernel, rng):
    X, shift = rng.normal(size=(6, 3)), rng.normal(size=3)
    assert_allclose(kernel(X + shift), kernel(X), atol=1e-12)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_a_point_compared_with_itself_is_exact(kernel, rng):
    X = 1e6 + rng.normal(size=(50, 3))
    assert (np.diagonal(kernel(X)) == kernel.profile(np.zeros(1))[0]).all()


def test_distances_survive_a_large_mean(rng):
    X = rng.normal(size=(30, 4))
    assert_allclose(Gaussian(0.3)(X + 1e5), Gaussian(0.3)(X), atol=1e-9)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_equals_the_gaussian_process_kernel(nu, rng):
    X, length_scale = rng.normal(size=(8, 3)), 1.7
    kernel = Matern(gamma_from_width(length_scale, "length_scale"), nu)
    assert_allclose(kernel(X), gp.Matern(length_scale, nu=nu)(X), rtol=1e-10)


def test_other_smoothness_is_refused():
    with pytest.raises(ValueError, match=r"0\.5, 1\.5 or 2\.5"):
        Matern(1.0, nu=2.0)(np.ones((2, 2)))
    with pytest.raises(ValueError, match="nu"):
        Matern(1.0, nu=2.0).resolve(np.ones((2, 2)))


def test_laplacian_is_scikit_learns(rng):
    X = rng.normal(size=(8, 3))
    assert_allclose(Laplacian(0.4)(X), laplacian_kernel(X, gamma=0.4))


def test_centered_multiquadric_is_positive_semidefinite(rng):
    K = Multiquadric(0.7)(rng.normal(size=(40, 3)))
    H = np.eye(40) - 1 / 40
    assert np.linalg.eigvalsh(H @ K @ H)[0] > -1e-10


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.4), RationalQuadratic(0.4), InverseMultiquadric(0.4), Multiquadric(0.4), 3.0 * Gaussian(0.4)]
)
def test_inverse_profile_undoes_the_profile(kernel):
    s = np.linspace(0, 5, 41)
    assert_allclose(kernel.inverse_profile(kernel.profile(s)), s, atol=1e-9)


def exact_gaussian(X):
    X = np.asarray(X, dtype=float)
    return np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2))


def test_one_distant_row_does_not_spoil_the_others(rng):
    X = np.vstack([rng.normal(size=(100, 3)), [[1e10, 0, 0]]])
    assert_allclose(Gaussian(1.0)(X), exact_gaussian(X), atol=1e-12)


def test_groups_far_apart_in_float32(rng):
    X = np.concatenate([0.3 * rng.normal(size=(20, 3)) + 1000, 0.3 * rng.normal(size=(20, 3)) - 1000]).astype(
        np.float32
    )
    assert Gaussian(1.0)(X).dtype == np.float32
    assert_allclose(Gaussian(1.0)(X), exact_gaussian(X), atol=1e-5)
    assert_allclose(Gaussian(1.0)(sparse.csr_matrix(X)), exact_gaussian(X), atol=1e-4)


def test_rules_for_the_width_of_a_laplacian_follow_the_scale(rng):
    X = rng.normal(size=(50, 4))
    small, large = (Laplacian("median").resolve(c * X)(c * X) for c in (1, 1000))
    assert_allclose(small, large, rtol=1e-9)


def with_long_indices(X):
    """A CSR matrix whose indices are 64-bit numbers, as SciPy makes of large or stacked matrices."""
    S = sparse.csr_matrix(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


def test_laplacian_takes_sparse_inputs_with_long_indices(rng):
    X = np.where(rng.random((9, 5)) < 0.5, rng.normal(size=(9, 5)), 0)
    S = with_long_indices(X)
    for left, right in ((S, S), (S, X), (X, S), (S, sparse.csr_matrix(X))):
        assert_allclose(Laplacian(0.4)(left, right), Laplacian(0.4)(X), rtol=1e-13)
    assert S.indices.dtype == np.int64  # the caller's matrix stays as it was


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 3, 64, 500])
@pytest.mark.parametrize("offset", [0.0, 1.0, 100.0])
def test_copies_of_a_row_are_at_distance_zero(d, offset, dtype, rng):
    # Rows of different sizes about an offset: rounding errors of norms exceed zero, which a narrow kernel would show.
    X = (offset + rng.normal(size=(60, d)) * rng.choice([1.0, 100.0], size=(60, 1))).astype(dtype)
    kernel = Gaussian(1e30)
    assert_allclose(np.diagonal(kernel(X.copy(), X)), 1.0)
    assert_allclose([kernel.against(X)(X[i : i + 1])[0, i] for i in range(60)], 1.0)
    assert_allclose(np.diagonal(kernel(sparse.csr_array(X), sparse.csr_array(X.copy()))), 1.0)


def test_distances_above_rounding_stay(rng):
    X = rng.normal(size=(50, 3))
    Y = X + 1e-6 * rng.normal(size=X.shape)
    expected = np.sum((X - Y) ** 2, axis=1)
    assert_allclose(-np.log(np.diagonal(Gaussian(1e10)(X, Y))) / 1e10, expected, rtol=1e-2)
