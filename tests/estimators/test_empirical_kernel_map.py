"""Kernel values as features."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from preimage import EmpiricalKernelMap, KernelFisherDiscriminant, KernelKMeans, KernelPCA
from preimage._engine.arrays import to_numpy
from preimage.exceptions import IndefiniteKernelWarning, UnsupportedKernelError
from preimage.feature_space import Expansion, Gram, _empirical_map, empirical_map
from preimage.kernels import CallableKernel, Gaussian, Linear, Multiquadric, Normalized, Polynomial, Sigmoid
from preimage.widths import enclosing_ball


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


def test_plain_map_is_the_kernel_matrix(X, xp):
    features = EmpiricalKernelMap(gamma=0.3).fit(xp.asarray(X))
    assert_allclose(to_numpy(features.transform(xp.asarray(X[:7]))), rbf_kernel(X[:7], X, gamma=0.3), atol=1e-12)
    assert features.get_feature_names_out().shape == (40,)


def test_whitened_map_has_the_inner_products_of_the_kernel(X):
    features = EmpiricalKernelMap(gamma=0.3, whiten=True)
    F = features.fit_transform(X)
    assert_allclose(F @ F.T, rbf_kernel(X, gamma=0.3), atol=1e-8)


def test_other_points(X, rng):
    points = rng.normal(size=(6, 3))
    features = EmpiricalKernelMap(gamma=0.3, landmarks=points).fit(X)
    assert_allclose(features.transform(X), rbf_kernel(X, points, gamma=0.3))
    with pytest.raises(ValueError, match="2 features"):
        EmpiricalKernelMap(landmarks=points[:, :2]).fit(X)


def test_linear_machine_on_whitened_features_is_the_kernel_machine(X):
    y = (np.sum(X**2, axis=1) > 2.5).astype(int)
    F = EmpiricalKernelMap(gamma=0.3, whiten=True).fit(X)
    linear = SVC(kernel="linear", tol=1e-8).fit(F.transform(X), y)
    kernel = SVC(gamma=0.3, tol=1e-8).fit(X, y)
    Z = X + 0.05
    assert_allclose(linear.decision_function(F.transform(Z)), kernel.decision_function(Z), atol=1e-4)


def test_precomputed(X):
    K = rbf_kernel(X, gamma=0.3)
    plain = EmpiricalKernelMap("precomputed").fit(K)
    assert_allclose(plain.transform(K[:5]), K[:5])
    F = EmpiricalKernelMap("precomputed", whiten=True).fit_transform(K)
    assert_allclose(F @ F.T, K, atol=1e-8)


def test_precomputed_kernels_take_no_other_points(X):
    K = rbf_kernel(X, gamma=0.3)
    with pytest.raises(ValueError, match="leave `landmarks` out"):
        EmpiricalKernelMap("precomputed", landmarks=K[10:15]).fit(K)


@pytest.mark.parametrize("kernel", [Sigmoid(1.0, -1.0), Multiquadric(1.0), "additive_chi2"], ids=str)
def test_whitening_warns_of_negative_eigenvalues_and_keeps_the_positive_part(X, kernel):
    X = np.abs(X)
    with pytest.warns(IndefiniteKernelWarning, match=r"negative eigenvalues.*positive part"):
        features = EmpiricalKernelMap(kernel, whiten=True).fit(X)
    values, vectors = np.linalg.eigh(features.kernel_(X))
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    F = features.transform(X)
    assert_allclose(F @ F.T, positive, atol=1e-7 * np.abs(values).max())


def test_whitening_is_silent_where_the_kernel_is_positive(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in (Gaussian(1e-3), Linear(), Polynomial(3)):
            EmpiricalKernelMap(kernel, whiten=True).fit(np.vstack([X, X, 0 * X]))
            EmpiricalKernelMap(kernel, whiten=True).fit(X.astype(np.float32))
        EmpiricalKernelMap(Sigmoid(1.0, -1.0)).fit(X)


def root_of_squares(F):
    """(F Fᵀ)^½ by the singular value decomposition."""
    U, values, _ = np.linalg.svd(F, full_matrices=False)
    return (U * values) @ U.T


def share_of_second(x, z):
    """A similarity with a direction: how much of z is in x."""
    return np.minimum(x, z).sum() / z.sum()


def test_whitening_by_data_gives_the_root_of_the_squared_values(X, xp, rng):
    points = rng.normal(size=(9, 3))
    features = EmpiricalKernelMap(gamma=0.3, landmarks=xp.asarray(points), whiten="data").fit(xp.asarray(X))
    S = to_numpy(features.transform(xp.asarray(X)))
    assert S.shape == (40, 9)
    assert_allclose(S @ S.T, root_of_squares(rbf_kernel(X, points, gamma=0.3)), atol=1e-9)


@pytest.mark.parametrize("n", [300, 30_000])
def test_many_rows_of_single_precision_keep_all_directions_above_rounding(rng, n):
    """Rounding errors of n × m values grow no faster than their norm: n has no part in the rank."""
    X = rng.normal(size=(n, 5)).astype(np.float32)
    single, double = (
        empirical_map(Gaussian(0.1), rows[:60], whiten=True, against=rows)(rows[:50]) for rows in (X, X.astype(float))
    )
    assert_allclose(single @ single.T, double @ double.T, atol=1e-4 * np.max(double @ double.T))


def test_on_one_set_and_a_positive_kernel_both_whitenings_agree(X):
    by_data = EmpiricalKernelMap(gamma=0.3, whiten="data").fit(X)
    by_points = EmpiricalKernelMap(gamma=0.3, whiten=True).fit(X)
    Z = X[::3] + 0.1
    assert_allclose(by_data.transform(Z), by_points.transform(Z), atol=1e-5)
    assert_allclose(by_data.transform(Z) @ by_data.transform(X).T, rbf_kernel(Z, X, gamma=0.3), atol=1e-8)


def test_whitening_by_data_counts_negative_eigenvalues_by_their_modulus(X):
    features = EmpiricalKernelMap(Sigmoid(1.0, -1.0), whiten="data").fit(X)
    values, vectors = np.linalg.eigh(features.kernel_(X))
    assert values.min() < -0.1 * values.max()
    F = features.transform(X)
    assert_allclose(F @ F.T, (vectors * np.abs(values)) @ vectors.T, atol=1e-8 * np.abs(values).max())


def test_kernels_with_a_direction(X, rng):
    X, points = np.abs(X), np.abs(rng.normal(size=(6, 3)))
    kernel = CallableKernel(share_of_second, symmetric=False)
    values = np.array([[share_of_second(x, z) for z in points] for x in X])
    assert_allclose(EmpiricalKernelMap(kernel, landmarks=points).fit(X).transform(X), values)
    S = EmpiricalKernelMap(kernel, landmarks=points, whiten="data").fit_transform(X)
    assert_allclose(S @ S.T, root_of_squares(values), atol=1e-10)
    alone = EmpiricalKernelMap(kernel, whiten="data").fit(X)
    assert_allclose(alone.transform(X) @ alone.transform(X).T, root_of_squares(kernel(X)), atol=1e-8)


DIRECTED = CallableKernel(share_of_second, symmetric=False)


@pytest.mark.parametrize(
    "kernel",
    [DIRECTED, DIRECTED + Gaussian(1.0), 2.0 * DIRECTED, Normalized(DIRECTED)],
    ids=["alone", "sum", "multiple", "normalized"],
)
@pytest.mark.parametrize(
    "estimator",
    [KernelPCA(2), KernelPCA(2, landmarks=5), KernelKMeans(2), EmpiricalKernelMap(whiten=True)],
    ids=repr,
)
def test_other_methods_refuse_kernels_with_a_direction(X, kernel, estimator):
    with pytest.raises(UnsupportedKernelError, match=r"needs a symmetric kernel.*whiten='data'"):
        estimator.set_params(kernel=kernel).fit(np.abs(X))


def test_functions_of_feature_space_refuse_kernels_with_a_direction(X):
    X = np.abs(X)
    for refused in (lambda: Gram(DIRECTED, X), lambda: enclosing_ball(DIRECTED, X)):
        with pytest.raises(UnsupportedKernelError, match="needs a symmetric kernel"):
            refused()
    with pytest.raises(UnsupportedKernelError, match="needs a symmetric kernel"):
        KernelFisherDiscriminant(kernel=DIRECTED).fit(X, X[:, 0] > 0.5)


@pytest.mark.parametrize("shape", [(40, 7), (7, 7), (5, 9), (1, 4)])
def test_a_precomputed_matrix_of_any_shape(shape, rng):
    F = rng.normal(size=shape)
    features = EmpiricalKernelMap("precomputed", whiten="data").fit(F)
    assert features.n_features_in_ == shape[1]
    S = features.transform(F)
    assert_allclose(S @ S.T, root_of_squares(F), atol=1e-10)
    assert_allclose(features.transform(F[:1]), S[:1], atol=1e-12)
    if shape[0] != shape[1]:
        with pytest.raises(ValueError, match="square"):
            EmpiricalKernelMap("precomputed", whiten=True).fit(F)


def test_blocks_of_rows_do_not_change_the_map(X, rng, monkeypatch):
    points = rng.normal(size=(6, 3))
    whole = empirical_map(Gaussian(0.3), points, whiten=True, against=X).coefficients
    monkeypatch.setattr(_empirical_map, "FEWEST_ROWS", 7)
    monkeypatch.setattr(_empirical_map, "ROWS_PER_POINT", 1)
    assert_allclose(empirical_map(Gaussian(0.3), points, whiten=True, against=X).coefficients, whole, atol=1e-10)


def test_small_singular_values_keep_their_digits(rng, monkeypatch):
    """Products FᵀF would leave nothing of values below 1e-8 of the largest."""
    U, V = np.linalg.qr(rng.normal(size=(60, 5)))[0], np.linalg.qr(rng.normal(size=(5, 5)))[0]
    F = (U * np.array([1.0, 1e-2, 1e-5, 1e-8, 1e-9])) @ V.T
    monkeypatch.setattr(_empirical_map, "FEWEST_ROWS", 16)
    S = EmpiricalKernelMap("precomputed", whiten="data").fit_transform(F)
    inside = U.T @ S @ S.T @ U
    assert_allclose(np.diag(inside), [1.0, 1e-2, 1e-5, 1e-8, 1e-9], rtol=1e-4)


def test_whitened_maps_of_two_sets_are_vectors_of_feature_space(X, rng):
    vectors = empirical_map(Gaussian(0.3), rng.normal(size=(4, 3)), whiten=True, against=X)
    assert isinstance(vectors, Expansion) and len(vectors) == 4


@pytest.mark.parametrize("kind", ["chunks", "memory map"])
def test_whitening_by_data_reads_rows_block_by_block(X, kind, tmp_path, monkeypatch):
    """No kernel matrix of all rows: only triangular factors of blocks."""
    points = X[:6] + 0.1
    expected = EmpiricalKernelMap(gamma=0.3, landmarks=points, whiten="data").fit(X)
    if kind == "chunks":
        lazy = pytest.importorskip("dask.array").from_array(X, chunks=(13, 3))
    else:
        np.save(tmp_path / "rows.npy", X)
        lazy = np.load(tmp_path / "rows.npy", mmap_mode="r")
    monkeypatch.setattr(_empirical_map, "FEWEST_ROWS", 8)
    monkeypatch.setattr(_empirical_map, "ROWS_PER_POINT", 1)
    found = EmpiricalKernelMap(gamma=0.3, landmarks=points, whiten="data").fit(lazy)
    assert_allclose(found.expansion_.coefficients, expected.expansion_.coefficients, atol=1e-9)
    assert_allclose(np.asarray(found.transform(lazy)), expected.transform(X), atol=1e-9)


def test_points_are_called_landmarks(X):
    with pytest.warns(FutureWarning, match="'points' 'landmarks'"):
        old = EmpiricalKernelMap(gamma=0.3, points=X[:4])
    assert_allclose(clone(old).fit_transform(X), rbf_kernel(X, X[:4], gamma=0.3))
    assert EmpiricalKernelMap(landmarks="auto").fit(X).landmarks_ is None
