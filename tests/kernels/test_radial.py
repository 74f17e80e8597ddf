"""Laws special to kernels of a distance; kernels of the chi-squared distance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel, laplacian_kernel

from preimage import KernelPCA
from preimage.feature_space import Expansion, Gram
from preimage.kernels import (
    AdditiveChi2,
    Chi2,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    RationalQuadratic,
    ScaledInputs,
    Student,
    gamma_from_width,
)
from preimage.kernels._pairwise import SquaredDistance
from preimage.solvers import Gradient
from preimage.testing import check_kernel

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


def test_student_is_the_density_over_its_maximum_and_becomes_a_gaussian(rng):
    X, Y = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    r = cdist(X, Y)
    for nu in (0.5, 3.0, 40.0):
        assert_allclose(Student(1.0, nu)(X, Y), stats.t(nu).pdf(r) / stats.t(nu).pdf(0), rtol=1e-12)
    assert_allclose(Student(0.7, 1.0)(X, Y), RationalQuadratic(0.7)(X, Y), rtol=1e-14)
    # 1 + γs/ν is rounded to one here.
    assert_allclose(Student(0.7, 1e18)(X, Y), Gaussian(0.35)(X, Y), rtol=1e-13)


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
    assert_allclose([kernel.prepare(X)(X[i : i + 1])[0, i] for i in range(60)], 1.0)
    assert_allclose(np.diagonal(kernel(sparse.csr_array(X), sparse.csr_array(X.copy()))), 1.0)


def test_distances_above_rounding_stay(rng):
    X = rng.normal(size=(50, 3))
    Y = X + 1e-6 * rng.normal(size=X.shape)
    expected = np.sum((X - Y) ** 2, axis=1)
    assert_allclose(-np.log(np.diagonal(Gaussian(1e10)(X, Y))) / 1e10, expected, rtol=1e-2)


def histograms(rng, n=12, d=4):
    X = rng.random((n, d)) + 0.05  # away from zero, where differences of the contract would leave the domain
    return X / X.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "kernel",
    [Chi2(0.7), Chi2("median"), AdditiveChi2(), Chi2(0.5) + Gaussian(1.0), 2.0 * Chi2(0.5) ** 2, Chi2(1.0) * Linear()],
    ids=repr,
)
def test_kernels_keep_the_contract(kernel, rng):
    check_kernel(kernel, 4 * histograms(rng))


def test_values_are_scikit_learns_also_with_empty_columns(rng):
    X, Y = rng.integers(0, 3, (9, 5)).astype(float), rng.integers(0, 2, (7, 5)).astype(float)
    X[:, 2] = Y[:, 2] = 0
    X[0] = 0
    assert_allclose(Chi2(0.3)(X, Y), chi2_kernel(X, Y, gamma=0.3), rtol=1e-14)
    assert_allclose(AdditiveChi2()(X, Y), additive_chi2_kernel(X, Y), rtol=1e-14)
    assert_allclose(Chi2(0.3)(sparse.csr_array(X), Y), chi2_kernel(X, Y, gamma=0.3), rtol=1e-14)


def test_array_libraries_agree(xp, rng):
    X, Z, W = rng.integers(0, 3, (8, 3)), rng.integers(0, 3, (5, 3)), rng.normal(size=(5, 8))
    X, Z = X.astype(float), Z.astype(float)
    there = [xp.asarray(array) for array in (X, Z, W)]
    kernel = Chi2(0.4)
    assert_allclose(np.asarray(kernel(there[1], there[0])), kernel(Z, X), rtol=1e-14)
    assert_allclose(np.asarray(kernel.gradient(there[1], there[0], there[2])), kernel.gradient(Z, X, W), atol=1e-14)


@pytest.mark.parametrize("kernel", [Chi2(1.0), AdditiveChi2(), Chi2(1.0) + Linear()], ids=repr)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_negative_inputs_are_refused(kernel, convert, rng):
    X = rng.random((6, 3))
    bad = X.copy()
    bad[2, 1] = -0.25
    for left, right in ((bad, X), (X, bad)):
        with pytest.raises(ValueError, match=r"non-negative.*-0\.25"):
            kernel(convert(left), convert(right))
    with pytest.raises(ValueError, match="non-negative"):
        kernel.prepare(X)(bad)
    with pytest.raises(ValueError, match="non-negative"):
        KernelPCA(2, kernel=kernel).fit(convert(bad))


def test_minus_the_distance_is_positive_semidefinite_when_centred(rng):
    X = rng.random((30, 6)) * rng.integers(0, 2, (30, 6))
    K = AdditiveChi2()(X)
    H = np.eye(30) - 1 / 30
    assert np.linalg.eigvalsh(K)[0] < -1
    assert np.linalg.eigvalsh(H @ K @ H)[0] > -1e-12 * np.abs(K).max()
    assert not AdditiveChi2().is_positive_semidefinite and Chi2().is_positive_semidefinite


def test_percentiles_are_those_of_chi_squared_distances(rng):
    X = rng.random((15, 4))
    distances = -additive_chi2_kernel(X)[np.triu_indices(15, 1)]
    assert Chi2("median").resolve(X).gamma == pytest.approx(1 / np.median(distances))


@pytest.mark.parametrize("kernel", [Chi2(2.0), Chi2(1.0) + Gaussian(1.0), ScaledInputs(Chi2(1.0), np.ones(4))])
def test_descent_stays_among_non_negative_inputs(kernel, rng):
    X = histograms(rng, 20)
    X[:10, 0] = 0
    # Weights of both signs push towards the border of the domain.
    target = Expansion(kernel, X, rng.normal(size=(20, 15)))
    result = Gradient().solve(target)
    assert np.isfinite(result.points).all() and result.points.min() >= 0
    kept = Gradient(lower=-1.0, upper=0.3).solve(target).points
    assert kept.min() >= 0 and kept.max() <= 0.3


@pytest.mark.parametrize("kernel", [Gaussian(0.3), RationalQuadratic(0.3)], ids=repr)
def test_a_profile_that_overwrites_is_the_profile(kernel):
    s = np.linspace(0, 3, 7)
    expected = kernel.profile(s)
    kernel.apply_profile(s)
    assert (s == expected).all()


class HalfValues:
    def profile(self, s):
        return super().profile(s) / 2


def test_another_profile_is_refused_where_derivatives_of_the_first_would_stay():
    with pytest.raises(TypeError, match=r"Narrow has the profile of Narrow, but .* of ExponentialDecay. Derive"):

        class Narrow(Gaussian):
            def profile(self, s):
                return np.exp(-2 * self.gamma * s)

    with pytest.raises(TypeError, match="OfHalves has the profile of HalfValues"):

        class OfHalves(HalfValues, Gaussian):
            pass


class HalfPrepared:
    def prepare(self, Y):
        return super().prepare(Y).changed(self, lambda values: values / 2)


class OfHalf(HalfPrepared, Gaussian):
    pass


class HalfDistance(HalfPrepared, SquaredDistance):
    pass


class OfHalfDistance(Gaussian):
    pairwise = HalfDistance()


@pytest.mark.parametrize("kernel", [OfHalf(0.5), OfHalfDistance(0.5)], ids=repr)
def test_what_is_mixed_in_counts_in_every_form_of_the_values(kernel, rng):
    X, Z, V = rng.normal(size=(300, 2)), rng.normal(size=(4, 2)), rng.normal(size=(300, 1))
    factor = 1.0 if isinstance(kernel, OfHalfDistance) else 0.5
    values = lambda A, B: factor * Gaussian(0.25 if factor == 1 else 0.5)(A, B)
    assert_allclose(Gram(kernel, X).dense(), values(X, X))
    assert_allclose(Gram(kernel, X) @ V, values(X, X) @ V)
    assert_allclose(kernel.prepare(X)(Z), values(Z, X))
    assert_allclose(kernel.prepare(X)(Z, np.empty((4, 300))), values(Z, X))
    assert_allclose(kernel.prepare(X).with_gradient(Z)[0], values(Z, X))
