"""Pairs of a reduction that stops early are those of LAPACK, whatever the spectrum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.eigensolvers._reduced_pairs import direct_pairs, reduced_pairs

N = 200


def matrix(values, rng):
    vectors, _ = np.linalg.qr(rng.normal(size=(N, N)))
    A = (vectors * values) @ vectors.T
    return (A + A.T) / 2


SPECTRA = {
    "decaying": 0.7 ** np.arange(N),
    "slow": 1 / np.arange(1, N + 1),
    "flat": np.linspace(1.2, 0.9, N),
    "low rank": np.where(np.arange(N) < 12, 2.0, 0.0) * np.linspace(1, 0.5, N),
    "pairs": np.repeat(0.8 ** np.arange(N // 2), 2),
    "one value many times": np.concatenate([np.full(30, 5.0), np.linspace(1, 0, N - 30)]),
    "copies of the last": np.concatenate([[9.0, 8.0, 7.0], np.full(5, 6.0), np.linspace(5.9, 0, N - 8)]),
    "far and near": np.concatenate([[1e6], 0.9 ** np.arange(N - 1)]),
}


@pytest.mark.parametrize("k", [1, 4, 8, 25])
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pairs_are_those_of_lapack(spectrum, k, dtype, rng):
    values = np.sort(SPECTRA[spectrum])[::-1]
    A = matrix(values, rng)
    tolerance, eps = {np.float64: 1e-10, np.float32: 5e-6}[dtype], np.finfo(dtype).eps
    result = reduced_pairs(A.astype(dtype), k, tolerance, N**0.5 * eps * values[0], rng)
    assert result.converged and result.vectors.shape == (N, k) and result.vectors.dtype == dtype
    assert_allclose(result.values, values[:k], atol=20 * max(tolerance**1.5, N * eps) * values[0])
    assert_allclose(result.vectors.T @ result.vectors, np.eye(k), atol=50 * N * eps)
    assert_allclose(result.products, A @ result.vectors, atol=50 * N * eps * values[0])
    residuals = np.linalg.norm(A @ result.vectors - result.vectors * result.values, axis=0)
    assert residuals.max() <= 2 * max(tolerance, 50 * N * eps) * values[0]


def test_few_columns_are_enough_where_eigenvalues_decay(rng):
    result = reduced_pairs(matrix(SPECTRA["decaying"], rng), 4, 1e-10, 1e-14, rng)
    assert result.n_products < N / 4 and not result.is_direct


def test_direct_pairs_are_exact(rng):
    result = direct_pairs(matrix(SPECTRA["slow"], rng), 7)
    assert result.is_direct and result.residuals.max() < 1e-13


@pytest.mark.parametrize("n", [3, 20, 64, 65, 130, 300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_direct_pairs_have_the_accuracy_of_lapack(n, dtype, rng):
    """With every method for the tridiagonal matrix, from one pair to all but one."""
    A = rng.normal(size=(n, 2 * n))
    A = (A @ A.T / n).astype(dtype)
    eps = np.finfo(dtype).eps
    for k in {1, 2, max(1, n // 8), max(1, n // 3), n - 1}:
        result = direct_pairs(np.array(A, order="C"), k)
        exact = A.astype(float)
        values = np.linalg.eigvalsh(exact)[: -k - 1 : -1]
        vectors = result.vectors.astype(float)
        assert_allclose(result.values, values, rtol=0, atol=100 * eps * values[0])
        assert_allclose(exact @ vectors, vectors * result.values, rtol=0, atol=100 * eps * values[0])
        assert_allclose(vectors.T @ vectors, np.eye(k), rtol=0, atol=20 * n * eps)
        assert_allclose(result.products, exact @ vectors, rtol=0, atol=20 * n * eps * values[0])


def test_direct_pairs_go_on_to_another_method_where_residuals_are_large(monkeypatch, rng):
    """A wrong vector of one method, and of both: the next one, and in the end LAPACK's driver, are right."""
    A = matrix(SPECTRA["slow"], rng)
    expected = np.linalg.eigvalsh(A)[:-8:-1]

    def wrong(diagonal, beside, k):
        return np.ones(k), np.eye(len(diagonal))[:, :k]

    for name in ("leading_tridiagonal", "bisected_tridiagonal"):
        monkeypatch.setattr(f"preimage.eigensolvers._reduced_pairs.{name}", wrong)
        result = direct_pairs(A.copy(), 7)
        assert_allclose(result.values, expected, atol=1e-13)
        assert result.residuals.max() < 1e-13


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_find_pairs_of_many_rows_whose_eigenvalues_are_alike(dtype, rng):
    rows = rng.normal(size=(1500, 700))
    A = rows @ rows.T / 700
    tolerance, eps = {np.float64: 1e-10, np.float32: 5e-6}[dtype], np.finfo(dtype).eps
    C = A.astype(dtype)
    result = reduced_pairs(C, 60, tolerance, 40 * eps, rng, floor=100 * eps)
    assert result.converged and not result.is_direct and result.n_products < 1000
    assert_allclose(result.values, np.linalg.eigvalsh(A)[:-61:-1], rtol=max(tolerance, 20 * eps))
    residuals = np.linalg.norm(A @ result.vectors - result.vectors * result.values, axis=0)
    assert residuals.max() <= 2 * max(tolerance, 50 * eps) * result.values[0]
    assert_allclose(result.vectors.T @ result.vectors, np.eye(60), atol=200 * eps)
