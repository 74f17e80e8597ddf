"""Products that workers compute: each kernel value is used twice, and the result is that of one process."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage._engine.rows import forced_block_shape
from preimage.feature_space import Gram
from preimage.feature_space._worker_product import mirrored_products
from preimage.kernels import Gaussian, Laplacian, Polynomial

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
