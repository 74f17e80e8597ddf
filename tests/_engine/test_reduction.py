"""Householder's reduction as far as it goes: an orthogonal transformation of the matrix it is given."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.reduction import Reduction, can_reduce

STEPS = [(1, 1), (3, 2), (10, 7), (20, 15)]


def reduced(dtype, rng, steps, n=40):
    A = rng.normal(size=(n, n)).astype(dtype)
    A = A + A.T
    start = rng.normal(size=n).astype(dtype)
    reduction = Reduction(A.copy(), start)
    for count in steps:
        reduction.advance(count)
    return A, start, reduction


def digits(dtype):
    return {"rtol": 0, "atol": 1000 * np.finfo(dtype).eps}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("steps", STEPS)
def test_the_matrix_in_the_basis_is_tridiagonal(dtype, steps, rng):
    A, start, reduction = reduced(dtype, rng, steps)
    j = sum(steps)
    assert can_reduce(dtype) and (reduction.size, reduction.n_left) == (j, 40 - j)
    Q = reduction.expanded(np.eye(j, dtype=dtype))
    assert Q.dtype == dtype
    assert_allclose(Q.T @ Q, np.eye(j), **digits(dtype))
    diagonal, beside = reduction.tridiagonal
    assert_allclose(Q.T @ A @ Q, np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1), **digits(dtype))
    assert_allclose(abs(Q[:, 0]), abs(start) / np.linalg.norm(start), **digits(dtype))
    # Images leave the span by the last vector alone, as far as the coupling says.
    outside = A @ Q - Q @ (Q.T @ A @ Q)
    assert_allclose(np.linalg.norm(outside[:, :-1]), 0, **digits(dtype))
    assert_allclose(np.linalg.norm(outside[:, -1]), reduction.coupling, **digits(dtype))


@pytest.mark.parametrize("steps", STEPS)
def test_what_is_left_has_the_other_eigenvalues(steps, rng):
    A, _, reduction = reduced(np.float64, rng, steps)
    rest, multiply = np.triu(reduction.rest()), reduction.rest_multiplier()
    rest = rest + np.triu(rest, 1).T
    diagonal, beside = reduction.tridiagonal
    whole = np.zeros_like(A)
    j = reduction.size
    whole[:j, :j] = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    whole[j:, j:] = rest
    whole[j, j - 1] = whole[j - 1, j] = reduction.coupling
    assert_allclose(np.linalg.eigvalsh(whole), np.linalg.eigvalsh(A), atol=1e-12)
    vector, out = rng.normal(size=40 - j), np.empty(40 - j)
    multiply(vector, out)
    assert_allclose(out, rest @ vector, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 9])
def test_products_and_the_matrix_itself_are_not_lost(k, rng):
    A, _, reduction = reduced(np.float64, rng, (12,), n=150)
    V = rng.normal(size=(k, 150)).T
    assert_allclose(reduction.product(V), A @ V, atol=1e-11)
    assert_allclose(reduction.restored(), A, atol=0, rtol=0)


def test_a_matrix_of_low_rank_ends_without_a_coupling(rng):
    factor = rng.normal(size=(60, 3))
    reduction = Reduction(factor @ factor.T, factor @ rng.normal(size=3))
    reduction.advance(3)
    assert reduction.coupling < 1e-12
    reduction.advance(20)  # arbitrary vectors of the complement, still orthogonal
    Q = reduction.expanded(np.eye(23))
    assert_allclose(Q.T @ Q, np.eye(23), atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 60])  # one by one, and in blocks
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_whole_reduction_needs_no_start(dtype, k, rng):
    A = rng.normal(size=(80, 80)).astype(dtype)
    A = A + A.T
    reduction = Reduction(A.copy())
    reduction.finish()
    diagonal, beside = reduction.tridiagonal
    Q = reduction.expanded(np.eye(80, dtype=dtype)[:, -k:])
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    assert_allclose(Q.T @ A @ Q, T[-k:, -k:], **digits(dtype))
    assert_allclose(reduction.product(Q), A @ Q, **digits(dtype))
    assert_allclose(reduction.restored(), A, atol=0, rtol=0)
