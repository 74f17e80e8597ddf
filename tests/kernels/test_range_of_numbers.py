"""Kernels at the ends of the range of numbers: limits where there are limits, and no warnings."""

import warnings

import numpy as np
import pytest
from for_each import for_each
from scipy import sparse

from preimage import KernelPCA
from preimage.kernels import (
    Chi2,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Student,
    resolve_gamma,
)

BASE = np.random.default_rng(0).normal(size=(9, 3))
DECAYING = [Gaussian, Laplacian, RationalQuadratic, InverseMultiquadric, Matern, Student]
SCALES = [1e-300, 1e-160, 1e-10, 1e10, 1e100, 1e149]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@for_each("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@for_each("dtype", ["float64", "float32"])
@for_each("scale", SCALES)
@pytest.mark.parametrize("kernel", DECAYING)
def test_kernels_of_distances_reach_their_limits(kernel, scale, dtype, make):
    if dtype == "float32" and scale > 1e30:
        scale = 1e30  # of which single precision has no squares
    X = make((BASE * scale).astype(dtype))
    for gamma in (1e-300, 1.0, 1e300):
        K = kernel(gamma)(X)
        assert np.isfinite(K).all()
        np.testing.assert_allclose(np.diag(K), 1, rtol=1e-5)
        assert K.min() >= 0
        assert K.max() <= 1 + 1e-6
    if scale >= 1e10:
        assert np.all(Gaussian(1.0)(X) == np.eye(len(BASE)))


@pytest.mark.parametrize("far", [1e60, 1e100, 1e149])
def test_one_far_row_changes_nothing_for_the_others(far):
    X = np.vstack([BASE, np.full((1, 3), far), np.full((1, 3), -far)])
    for kernel in (Gaussian(0.5), Matern(0.5), RationalQuadratic(0.5)):
        K = kernel(X)
        np.testing.assert_array_equal(np.diag(K), 1)
        np.testing.assert_allclose(K[:9, :9], kernel(BASE), rtol=1e-12)
        assert np.all(K[:9, 9:] < 1e-100)
        assert K[9, 10] < 1e-100


def test_distances_of_huge_rows_that_have_a_number_are_found():
    X = BASE[:, :1] * 1e149
    exact = (X / 1e149 - X.T / 1e149) ** 2
    np.testing.assert_allclose(RationalQuadratic(1e-298)(X), 1 / (1 + exact), rtol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("far", [1e151, 1e200, 1.7e308])
def test_rows_without_squares_are_refused_by_kernels(far, make):
    X = np.vstack([BASE, [[0, -far, 1]]])
    for arguments in ((make(X),), (make(BASE), make(X)), (make(X), make(BASE))):
        with pytest.raises(ValueError, match=r"row 9, column 1.*range of numbers.*StandardScaler"):
            Gaussian(0.5)(*arguments)


def test_huge_widths_of_single_precision_stay_numbers():
    X = BASE.astype("float32")
    np.testing.assert_array_equal(Gaussian(1e300)(X), np.eye(9))
    np.testing.assert_allclose(Sigmoid(1e-300, coef0=0.0)(X), 0, atol=1e-25)


@pytest.mark.parametrize("gamma", [np.inf, np.nan, 1e301, 0.0])
def test_widths_that_formulas_cannot_use_are_refused(gamma):
    with pytest.raises(ValueError, match="gamma"):
        Gaussian(gamma).resolve(BASE)
    with pytest.raises(ValueError, match="gamma"):
        KernelPCA(gamma=gamma).fit(BASE)


@pytest.mark.parametrize("rule", ["scale", "median", "p5"])
def test_rules_for_widths_follow_the_scale(rule):
    for scale in (1e-99, 1e-30, 1e30, 1e99):
        np.testing.assert_allclose(resolve_gamma(rule, BASE * scale) * scale**2, resolve_gamma(rule, BASE), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("rule", ["scale", "median", "p5"])
def test_rules_say_when_there_is_no_number_for_the_width(rule, scale):
    with pytest.raises(ValueError, match="Scale the data"):
        resolve_gamma(rule, BASE * scale)


def test_a_far_row_does_not_move_percentiles():
    X = np.vstack([np.tile(BASE, (3, 1)) + np.arange(27)[:, None] / 100, [[1e99, 0, 0]]])
    np.testing.assert_allclose(resolve_gamma("median", X), resolve_gamma("median", X[:-1]), rtol=0.2)


@for_each("kernel", [Gaussian(), Laplacian(), Polynomial(), Chi2()], ids=repr)
@for_each("kind", ["csr", "csc", "coo", "dok", "lil", "bsr", "dia"])
def test_every_kind_of_sparse_matrix_is_compared(kind, kernel):
    dense = np.where(BASE > 0.5, BASE, 0)
    np.testing.assert_allclose(kernel(sparse.csr_matrix(dense).asformat(kind)), kernel(dense), rtol=1e-12)


def test_entries_of_the_same_place_are_added_in_a_copy():
    data, columns, starts = np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 2, 3])
    X = sparse.csr_matrix((data, columns, starts), shape=(2, 2))
    np.testing.assert_array_equal(Polynomial(1, coef0=0.0)(X), [[9, 0], [0, 9]])
    KernelPCA(1, kernel="linear").fit(X).transform(X)
    assert X.nnz == 3
    np.testing.assert_array_equal(X.data, [1, 2, 3])


def test_models_of_single_precision_refuse_what_they_cannot_hold():
    model = KernelPCA(2).fit(BASE.astype("float32"))
    with pytest.raises(ValueError, match="single precision"):
        model.transform(np.full((1, 3), 1e200))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_rows_that_are_not_finite_stay_so(make):
    X = BASE.copy()
    X[3, 0] = np.nan
    K = Gaussian()(make(X), make(1e100 * BASE))
    assert np.isnan(K[3]).all()
