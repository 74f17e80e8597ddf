"""Gram matrices as operators."""

import tracemalloc

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage._engine import threads as _threads
from preimage._engine.arrays import to_numpy
from preimage._engine.rows import forced_block_shape
from preimage._engine.threads import at_most
from preimage.feature_space import Gram, _gram
from preimage.feature_space._gram import mirrored_products
from preimage.kernels import Gaussian, Laplacian, Linear, Polynomial

KERNELS = [Gaussian(0.3), Polynomial(2), Linear() * Gaussian(0.2), Laplacian(0.3)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_products_and_entries_do_not_depend_on_blocks(kernel, xp, block_shape, rng):
    X, Y, V, W = rng.normal(size=(37, 3)), rng.normal(size=(29, 3)), rng.normal(size=(37, 4)), rng.normal(size=(29, 4))
    square, cross = kernel(X), kernel(X, Y)
    x, y, v, w = (xp.asarray(array) for array in (X, Y, V, W))
    assert_allclose(to_numpy(Gram(kernel, x).dense()), square, atol=1e-12)
    assert_allclose(to_numpy(Gram(kernel, x) @ v), square @ V, atol=1e-11)
    assert_allclose(to_numpy(Gram(kernel, x).held() @ v), square @ V, atol=1e-11)
    assert_allclose(to_numpy(Gram(kernel, x, y).dense()), cross, atol=1e-12)
    assert_allclose(to_numpy(Gram(kernel, x, y) @ w), cross @ W, atol=1e-11)
    assert_allclose(to_numpy(Gram(kernel, y, x) @ v), cross.T @ V, atol=1e-11)
    assert_allclose(to_numpy(Gram(kernel, y, x).held() @ v), cross.T @ V, atol=1e-11)


def test_entries_equal_pairs_one_by_one(rng, block_shape):
    X, Y = rng.normal(size=(9, 3)), rng.normal(size=(8, 3))
    assert_allclose(Gram(Gaussian(0.3), X, Y).dense(), naive.gram(Gaussian(0.3), X, Y), atol=1e-13)


def test_symmetric_matrix_is_exactly_symmetric_with_exact_diagonal(rng, block_shape):
    K = Gram(Gaussian(0.3), rng.normal(size=(40, 3)) + 100).dense()
    assert (K == K.T).all()
    assert (np.diagonal(K) == 1).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_entries_and_products_do_not_depend_on_the_number_of_threads(kernel, rng, monkeypatch):
    X, V = rng.normal(size=(700, 5)), rng.normal(size=(700, 3))
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 8)
    entries, products = [], []
    for threads in (1, 2, 8):
        with at_most(threads), forced_block_shape(64, 96):
            entries.append(Gram(kernel, X).dense())
            products.append(Gram(kernel, X) @ V)
    assert all((each == entries[0]).all() for each in entries)
    for each in products:  # partial sums are one per thread
        assert_allclose(each, products[0], atol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Linear()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_panels_give_what_tiles_give_with_any_number_of_threads(kernel, dtype, rng, monkeypatch):
    X, Y, V = (rng.normal(size=size).astype(dtype) for size in ((700, 5), (600, 5), (600, 3)))
    W = rng.normal(size=(700, 3)).astype(dtype)
    X[::7] = X[1::7]  # distances that are rounding
    with forced_block_shape(64, 96):
        expected = [Gram(kernel, X).dense(), Gram(kernel, X, Y).dense(), Gram(kernel, X, Y) @ V, Gram(kernel, X) @ W]
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 8)
    monkeypatch.setattr(_gram, "PANEL_COLUMNS", 250)  # narrower than the matrix
    found = []
    for threads in (1, 2, 8):
        with at_most(threads):
            found.append([Gram(kernel, X).dense(), Gram(kernel, X, Y).dense(), Gram(kernel, X, Y) @ V])
            symmetric = Gram(kernel, X) @ W
        tolerance = 1e-12 if dtype == np.float64 else 1e-3
        for result, right in zip([*found[-1], symmetric], expected, strict=True):
            assert result.dtype == dtype
            assert_allclose(result, right, atol=tolerance * max(1, abs(right).max()))
        assert (found[-1][0] == found[-1][0].T).all()
    for each in found[1:]:
        assert all((result == first).all() for result, first in zip(each, found[0], strict=True))


def test_large_held_products_do_not_depend_on_the_number_of_threads(rng, monkeypatch):
    gram, V = Gram(Gaussian(0.3), rng.normal(size=(900, 5))).held(), rng.normal(size=(900, 40))
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 8)
    expected = gram.values @ V
    for threads in (1, 2, 8):
        with at_most(threads):
            assert_allclose(gram @ V, expected, atol=1e-11)


def test_sparse_points(rng, block_shape):
    X = np.where(rng.random((30, 6)) < 0.4, rng.normal(size=(30, 6)), 0)
    V = rng.normal(size=(30, 2))
    S = sparse.csr_matrix(X)
    assert_allclose(Gram(Gaussian(0.3), S).dense(), Gaussian(0.3)(X), atol=1e-12)
    assert_allclose(Gram(Gaussian(0.3), S) @ V, Gaussian(0.3)(X) @ V, atol=1e-12)


def test_columns_and_diagonal(xp, rng):
    X = rng.normal(size=(20, 3))
    gram = Gram(Polynomial(2), xp.asarray(X))
    assert_allclose(to_numpy(gram.columns(np.array([3, 17]))), Polynomial(2)(X)[:, [3, 17]])
    assert_allclose(to_numpy(gram.diagonal()), np.diagonal(Polynomial(2)(X)))


@pytest.mark.parametrize("held", [True, False])
def test_centering_is_a_projection_on_both_sides(held, xp, block_shape, rng):
    X, V = rng.normal(size=(31, 3)), rng.normal(size=(31, 4))
    K = naive.centered(Gaussian(0.3)(X))
    gram = Gram(Gaussian(0.3), xp.asarray(X))
    centered = (gram.held() if held else gram).centered()
    assert_allclose(to_numpy(centered @ xp.asarray(V)), K @ V, atol=1e-12)
    assert_allclose(to_numpy(centered.row_means), Gaussian(0.3)(X).mean(axis=0), atol=1e-14)
    assert_allclose(to_numpy(centered @ xp.asarray(V)), K @ V, atol=1e-12)
    assert_allclose(to_numpy(centered.dense()), K, atol=1e-12)
    assert_allclose(centered.trace(), np.trace(K))


def test_first_product_carries_the_row_means(rng):
    """Without a held matrix, row means must not cost a pass of their own."""
    X = rng.normal(size=(31, 3))
    passes = []

    class Counting(Gaussian):
        def prepare(self, Y):
            passes.append(1)
            return super().prepare(Y)

    centered = Gram(Counting(0.3), X).centered()
    centered @ rng.normal(size=(31, 2))
    assert centered.row_means is not None
    assert len(passes) == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("held", [True, False])
def test_a_sample_is_the_matrix_of_every_stride_th_point(held, weighted, xp, rng):
    X, weights = rng.normal(size=(31, 3)), rng.uniform(1, 2, size=31)
    gram = Gram(Gaussian(0.3), xp.asarray(X))
    centered = (gram.held() if held else gram).centered(xp.asarray(weights) if weighted else None)
    expected = Gram(Gaussian(0.3), X[::4]).centered(weights[::4] if weighted else None).dense()
    sample = centered.sample(4)
    assert sample.is_held
    assert_allclose(to_numpy(sample.dense()), expected, atol=1e-12)


@pytest.mark.parametrize("held", [True, False])
def test_sketch_is_a_product_with_strided_columns(held, rng):
    X, weights = rng.normal(size=(31, 3)), rng.normal(size=(8, 4))
    gram = Gram(Gaussian(0.3), X)
    selection = np.zeros((31, 8))
    selection[np.arange(0, 31, 4), np.arange(8)] = 1
    expected = (np.eye(31) - 1 / 31) @ Gaussian(0.3)(X) @ selection @ weights
    assert_allclose((gram.held() if held else gram).centered().sketch(weights, 4), expected, atol=1e-12)


def test_overflow_is_reported(rng):
    X = 1e3 * rng.normal(size=(10, 3)).astype(np.float32)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="NaN or infinite"):
        Gram(Polynomial(20), X).centered().row_means  # noqa: B018


def test_float32_stays_float32(rng):
    X = rng.normal(size=(10, 3)).astype(np.float32)
    assert Gram(Gaussian(0.3), X).dense().dtype == np.float32
    assert (Gram(Gaussian(0.3), X) @ X).dtype == np.float32


KERNELS = [Gaussian(0.3), Laplacian(0.2), Polynomial(2, gamma=0.1), Gaussian(0.1) + Polynomial(2, gamma=0.1)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("shape", [(256, 256), (7, 10)])
def test_both_products_are_those_of_the_matrix(rng, kernel, shape):
    X, Y = rng.normal(size=(150, 3)), rng.normal(size=(61, 3))
    V, W = rng.normal(size=(150, 4)), rng.normal(size=(61, 4))
    K = kernel(X, Y)
    with forced_block_shape(*shape):
        left, right = mirrored_products(kernel, X, Y, V, W)
    assert_allclose(left, K @ W, rtol=1e-11, atol=1e-12)
    assert_allclose(right, K.T @ V, rtol=1e-11, atol=1e-12)


def test_single_precision_and_sparse_rows(rng):
    X, Y = rng.normal(size=(40, 6)), rng.normal(size=(30, 6))
    V, W = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    K = Gaussian(0.3)(X, Y)
    single = mirrored_products(Gaussian(0.3), *(each.astype(np.float32) for each in (X, Y, V, W)))
    assert all(each.dtype == np.float32 for each in single)
    assert_allclose(single[0], K @ W, atol=1e-4)
    rows = mirrored_products(Gaussian(0.3), sparse.csr_matrix(X), sparse.csr_matrix(Y), V, W)
    assert_allclose(rows[0], K @ W, rtol=1e-10)
    assert_allclose(rows[1], K.T @ V, rtol=1e-10)


def test_no_block_of_kernel_values_is_held(rng):
    X, V = rng.normal(size=(4000, 3)), rng.normal(size=(4000, 4))
    mirrored_products(Gaussian(0.3), X[:300], X[300:600], V[:300], V[300:600])  # what imports and pools keep
    tracemalloc.start()
    try:
        mirrored_products(Gaussian(0.3), X[:2000], X[2000:], V[:2000], V[2000:])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.3 * 8 * 2000 * 2000


def test_a_gram_matrix_multiplies_by_the_product_it_is_given(rng):
    X, V = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    seen = []
    gram = Gram(Gaussian(0.3), X, multiply=lambda V: seen.append(V.shape) or Gram(Gaussian(0.3), X) @ V)
    assert_allclose(gram.centered() @ V, Gram(Gaussian(0.3), X).centered() @ V)
    assert seen == [(20, 3)]  # with the column of the mean
    assert_allclose(gram.held() @ V, Gram(Gaussian(0.3), X) @ V)
    assert not gram.is_held and gram.held().is_held
