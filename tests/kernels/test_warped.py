"""Laws of kernels bent along a graph."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Gram
from preimage.kernels import (
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Warped,
)
from preimage.kernels._warped import MOST_POINTS
from preimage.testing import check_kernel

RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(14, 4))
NEW = RNG.normal(size=(6, 4))


def naive_moment(K, L):
    return np.linalg.solve(np.eye(len(K)) + L @ K, L)


def combinatorial(K):
    return np.diag(K.sum(axis=1)) - K


@pytest.mark.parametrize(
    "kernel",
    [
        Warped(Gaussian(0.3)),
        Warped(Gaussian("median"), strength=10.0),
        Warped(Gaussian(0.3), POINTS, laplacian="normalized"),
        Warped(Gaussian(0.3), POINTS, laplacian="knn", n_neighbors=3),
        Warped(Gaussian(0.3), POINTS, power=2),
        Warped(Gaussian(0.3), sparse.csr_matrix(POINTS)),
        Warped(Matern(0.5)),
        Warped(RationalQuadratic(0.5), strength=0.1),
        Warped(InverseMultiquadric(0.5) + Gaussian(1.0)),
        Warped(Laplacian(0.3)),
        Warped(Linear()),
        Warped(Polynomial(2, coef0=1.0), POINTS),
        Warped(Gaussian(0.3) + Linear(), POINTS),
        Warped(Warped(Gaussian(0.3), POINTS), POINTS[:5]),
        2.0 * Warped(Gaussian(0.3)) + Linear(),
        Warped(Gaussian(0.3)) ** 2,
        Warped(Gaussian(0.3), POINTS[:1]),
    ],
    ids=lambda kernel: str(kernel)[:60].replace("\n", " "),
)
def test_warped_kernels_keep_the_contract(kernel):
    check_kernel(kernel)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 12),
    strength=st.floats(1e-6, 1e4),
    gamma=st.floats(1e-3, 1e3),
    kind=st.sampled_from(["combinatorial", "normalized", "knn"]),
    duplicated=st.booleans(),
)
def test_on_the_points_it_adds_the_laplacian_to_the_inverse(seed, n, strength, gamma, kind, duplicated):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    X = np.concatenate([X, X[:2]]) if duplicated else X
    plain = Gaussian(gamma)
    kernel = Warped(plain, X, strength=strength, laplacian=kind, n_neighbors=2)
    K, K_warped = plain(X), kernel(X)
    # K̃ = K(I + LK)⁻¹ also where K is singular; L is read off the kernel's own identity below.
    W = K.copy()
    if kind == "knn":
        W *= nearest(K, 2)
    L = combinatorial(W)
    if kind == "normalized":
        roots = np.sqrt(W.sum(axis=1))
        L = np.eye(len(X)) - W / np.outer(roots, roots)
    L = strength * L
    expected = np.linalg.solve(np.eye(len(X)) + K @ L, K)
    np.testing.assert_allclose(K_warped, expected, atol=1e-8)
    taken = K - K_warped
    assert np.linalg.eigvalsh(taken)[0] > -1e-9  # K̃ ≼ K
    assert np.linalg.eigvalsh((K_warped + K_warped.T) / 2)[0] > -1e-9
    assert np.allclose(K_warped, K_warped.T, atol=1e-13)


def nearest(K, count):
    joined = np.zeros_like(K)
    for i, row in enumerate(K):
        others = [j for j in np.argsort(-row, kind="stable") if j != i]
        joined[i, others[:count]] = 1
    return np.maximum(joined, joined.T)


def test_values_are_the_formula():
    plain = Gaussian(0.4)
    kernel = Warped(plain, POINTS, strength=0.7)
    M = naive_moment(plain(POINTS), 0.7 * combinatorial(plain(POINTS)))
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    expected = plain(NEW, POINTS[3:8]) - plain(NEW, POINTS) @ M @ plain(POINTS, POINTS[3:8])
    np.testing.assert_allclose(kernel(NEW, POINTS[3:8]), expected, atol=1e-12)
    k = plain(NEW, POINTS)
    np.testing.assert_allclose(kernel.diagonal(NEW), 1 - np.einsum("ij,jk,ik->i", k, M, k), atol=1e-12)


def test_kernel_matrix_is_the_inverse_of_inverse_plus_laplacian():
    plain = Gaussian(2.0)
    K = plain(POINTS)
    np.testing.assert_allclose(
        Warped(plain, POINTS)(POINTS), np.linalg.inv(np.linalg.inv(K) + combinatorial(K)), atol=1e-10
    )


def test_no_strength_is_the_plain_kernel_exactly():
    plain, kernel = Gaussian(0.3), Warped(Gaussian(0.3), POINTS, strength=0.0)
    weights = RNG.normal(size=(6, 14))
    np.testing.assert_array_equal(kernel(NEW, POINTS), plain(NEW, POINTS))
    np.testing.assert_array_equal(kernel.diagonal(NEW), plain.diagonal(NEW))
    np.testing.assert_array_equal(kernel.gradient(NEW, POINTS, weights), plain.gradient(NEW, POINTS, weights))
    np.testing.assert_array_equal(kernel.diagonal_gradient(NEW), plain.diagonal_gradient(NEW))
    zero = Warped(plain, POINTS, laplacian=np.zeros((14, 14)))
    np.testing.assert_array_equal(zero(NEW), plain(NEW))


@pytest.mark.parametrize("strength", [1e-3, 1e-6, 1e-9])
def test_little_strength_changes_little(strength):
    change = np.abs(Warped(Gaussian(0.3), POINTS, strength=strength)(NEW) - Gaussian(0.3)(NEW)).max()
    assert 0 < change < 100 * strength


def test_the_stable_form_survives_an_extreme_strength():
    kernel = Warped(Gaussian(1e-4), POINTS, strength=1e12)
    values = np.linalg.eigvalsh(kernel(POINTS))
    assert values[0] > -1e-9 and np.isfinite(values).all()
    # Only constants on the points cost nothing, and this kernel has them nearly.
    assert values[-1] > 100 * abs(values[-2])


@pytest.mark.parametrize("others", [POINTS, POINTS[2:9], NEW], ids=["the points", "some", "others"])
def test_prepared_forms_agree_with_plain_calls(others):
    kernel = Warped(Gaussian(0.3), POINTS, strength=2.0)
    weights = RNG.normal(size=(len(NEW), len(others)))
    np.testing.assert_allclose(kernel.prepare(others)(NEW), kernel(NEW, others), atol=1e-13)
    values, gradient = kernel.prepare(others).with_gradient(NEW)
    np.testing.assert_allclose(values, kernel(NEW, others), atol=1e-13)
    np.testing.assert_allclose(gradient(weights), kernel.gradient(NEW, others, weights), atol=1e-13)
    form, plain = kernel.unwarped(others), kernel.kernel(NEW, kernel.unwarped(others).points)
    np.testing.assert_allclose(
        np.sum(plain * form.lift(weights), axis=1), np.sum(weights * kernel(NEW, others), axis=1), atol=1e-12
    )
    np.testing.assert_allclose(1 - np.sum(plain * form.correction(plain), axis=1), kernel.diagonal(NEW), atol=1e-12)


def test_the_diagonal_is_not_constant():
    kernel = Warped(Gaussian(0.3), POINTS)
    assert np.ptp(kernel.diagonal(POINTS)) > 0.01
    far = kernel.diagonal(POINTS + 100.0)
    np.testing.assert_allclose(far, 1.0)


def test_resolving_fixes_points_and_widths():
    kernel = Warped(Gaussian("median"))
    assert not kernel.is_resolved
    with pytest.raises(ValueError, match="resolve"):
        kernel(POINTS)
    resolved = kernel.resolve(POINTS)
    assert resolved.is_resolved and kernel.points is None
    assert np.array_equal(resolved.points, POINTS) and not np.shares_memory(resolved.points, POINTS)
    assert resolved.kernel.gamma == Gaussian("median").resolve(POINTS).gamma
    assert resolved.resolve(NEW) is resolved
    subset = Warped(Gaussian("median"), POINTS[:4]).resolve(POINTS)
    assert subset.points.shape == (4, 4) and subset.kernel.gamma == resolved.kernel.gamma
    with pytest.raises(ValueError, match="resolve"):
        Warped(Gaussian(1.0)).diagonal(POINTS)


def test_what_is_computed_once_is_no_parameter():
    kernel = Warped(Gaussian(0.3), POINTS)
    before = kernel(NEW)
    assert kernel._graph is kernel._graph
    assert set(kernel.get_params(deep=False)) == {
        "kernel", "points", "strength", "laplacian", "n_neighbors", "power"
    }  # fmt: skip
    copied, pickled = clone(kernel), pickle.dumps(kernel)
    assert "_graph" not in vars(copied) and b"_graph" not in pickled
    np.testing.assert_allclose(pickle.loads(pickled)(NEW), before, atol=1e-14)
    assert kernel.is_same(copied) and not kernel.is_same(Warped(Gaussian(0.3), POINTS + 1))
    kernel.set_params(strength=0.0)
    np.testing.assert_array_equal(kernel(NEW), Gaussian(0.3)(NEW))
    kernel.set_params(strength=1.0, kernel__gamma=0.6)
    np.testing.assert_allclose(kernel(NEW), Warped(Gaussian(0.6), POINTS)(NEW), atol=1e-14)


def test_single_precision_stays_and_comes_close():
    kernel = Warped(Gaussian(0.3), POINTS, strength=3.0)
    single = POINTS.astype(np.float32)
    for there, here in (
        (kernel(single), kernel(POINTS)),
        (kernel.diagonal(single), kernel.diagonal(POINTS)),
        (kernel.prepare(single)(single), kernel(POINTS)),
        (kernel.diagonal_gradient(single), kernel.diagonal_gradient(POINTS)),
        (kernel.resolve(single)(single), kernel(POINTS)),
    ):
        assert there.dtype == np.float32
        np.testing.assert_allclose(there, here, atol=2e-5)


def test_sparse_rows_are_rows():
    dense = np.where(np.abs(POINTS) > 0.5, POINTS, 0)
    rows, weights = sparse.csr_matrix(dense), RNG.normal(size=(6, 14))
    a, b = Warped(Gaussian(0.3)).resolve(dense), Warped(Gaussian(0.3)).resolve(rows)
    np.testing.assert_allclose(b(rows), a(dense), atol=1e-12)
    np.testing.assert_allclose(b(sparse.csr_matrix(NEW), rows), a(NEW, dense), atol=1e-12)
    np.testing.assert_allclose(b(NEW, rows), a(NEW, dense), atol=1e-12)
    np.testing.assert_allclose(b.gradient(NEW, rows, weights), a.gradient(NEW, dense, weights), atol=1e-12)
    np.testing.assert_allclose(b.gradient(NEW, dense, weights), a.gradient(NEW, dense, weights), atol=1e-12)


def test_array_libraries_agree(xp):
    weights = RNG.normal(size=(6, 14))
    here = Warped(Gaussian(0.3), laplacian="knn").resolve(POINTS)
    X, Z, W = xp.asarray(POINTS), xp.asarray(NEW), xp.asarray(weights)
    for kernel in (here, Warped(Gaussian(0.3), laplacian="knn").resolve(X)):
        for expected, value in (
            (here(NEW, POINTS), kernel(Z, X)),
            (here.diagonal(POINTS), kernel.diagonal(X)),
            (here.gradient(NEW, POINTS, weights), kernel.gradient(Z, X, W)),
            (here.diagonal_gradient(NEW), kernel.diagonal_gradient(Z)),
            (here(NEW, POINTS), kernel.prepare(X)(Z)),
        ):
            np.testing.assert_allclose(to_numpy(value), expected, atol=1e-11)


def test_a_given_laplacian_is_taken():
    K = Gaussian(0.3)(POINTS)
    kernel = Warped(Gaussian(0.3), POINTS, laplacian=combinatorial(K))
    np.testing.assert_allclose(kernel(NEW), Warped(Gaussian(0.3), POINTS)(NEW), atol=1e-12)
    of_sparse = Warped(Gaussian(0.3), POINTS, laplacian=sparse.csr_matrix(combinatorial(K)))
    np.testing.assert_array_equal(of_sparse(NEW), kernel(NEW))
    squared = Warped(Gaussian(0.3), POINTS, laplacian=combinatorial(K) @ combinatorial(K))
    np.testing.assert_allclose(squared(NEW), Warped(Gaussian(0.3), POINTS, power=2)(NEW), atol=1e-9)


def test_what_cannot_be_warped_says_so():
    with pytest.raises(ValueError, match="shape \\(3, 3\\)"):
        Warped(Gaussian(0.3), POINTS, laplacian=np.eye(3))(NEW)
    with pytest.raises(ValueError, match="positive semidefinite Laplacian"):
        Warped(Gaussian(0.3), POINTS, laplacian=-np.eye(14))(NEW)
    with pytest.raises(ValueError, match="symmetric"):
        Warped(Gaussian(0.3), POINTS, laplacian=np.triu(np.ones((14, 14))))(NEW)
    with pytest.raises(ValueError, match="Laplacian of finite numbers"):
        Warped(Gaussian(0.3), POINTS, laplacian=np.full((14, 14), np.nan))(NEW)
    with pytest.raises(ValueError, match="points of 4 columns; the data have 3"):
        Warped(Gaussian(0.3), POINTS).resolve(NEW[:, :3])
    with pytest.raises(ValueError, match="combinatorial, normalized, knn"):
        Warped(Gaussian(0.3), laplacian="random").resolve(POINTS)
    with pytest.raises(ValueError, match="combinatorial, normalized, knn"):
        Warped(Gaussian(0.3), POINTS, laplacian="random")(NEW)
    with pytest.raises(ValueError, match="strength"):
        Warped(Gaussian(0.3), strength=-1.0).resolve(POINTS)
    with pytest.raises(ValueError, match=r"power=1e\+06 of Warped"), np.errstate(all="ignore"):
        Warped(Gaussian(0.3), POINTS, power=1e6)(NEW)
    with pytest.raises(TypeError, match="precomputed"):
        Warped(Precomputed()).resolve(np.eye(3))
    with pytest.raises(UnsupportedKernelError, match="positive semidefinite on its points"):
        Warped(Multiquadric(5.0), strength=5.0, laplacian=np.eye(14)).resolve(POINTS)(NEW)
    with pytest.raises(ValueError, match="NaN or infinite"), np.errstate(all="ignore"):
        Warped(Polynomial(9), 1e100 * POINTS)(NEW)
    with pytest.raises(ValueError, match="third power"):
        Warped(Gaussian(0.3)).resolve(np.zeros((MOST_POINTS + 1, 1)))
    assert not Warped(Sigmoid(0.3, -0.5)).is_positive_semidefinite


def test_values_do_not_depend_on_blocks(block_shape):
    kernel = Warped(Gaussian(0.3), POINTS)
    M = naive_moment(Gaussian(0.3)(POINTS), combinatorial(Gaussian(0.3)(POINTS)))
    K = Gaussian(0.3)(POINTS)
    np.testing.assert_allclose(Gram(kernel, POINTS).dense(), K - K @ M @ K, atol=1e-12)
    k = Gaussian(0.3)(NEW, POINTS)
    np.testing.assert_allclose(Gram(kernel, NEW, POINTS) @ np.eye(14), k - k @ M @ K, atol=1e-12)


def test_a_copy_of_the_points_is_as_good_as_they_are():
    kernel = Warped(Gaussian(0.3), POINTS)
    assert kernel.unwarped(POINTS.copy()).points.shape == (14, 4)
    assert kernel.unwarped(POINTS[:13]).points.shape == (27, 4)
    np.testing.assert_allclose(kernel(POINTS.copy(), POINTS), kernel(POINTS), atol=1e-13)


def test_many_rows_are_possible_with_few_points():
    X = RNG.normal(size=(MOST_POINTS + 1, 1))
    kernel = Warped(Gaussian(0.3), X[:20]).resolve(X)
    assert kernel(X[:3], X).shape == (3, MOST_POINTS + 1)
