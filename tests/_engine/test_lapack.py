"""Factorisations that leave the interpreter to other threads."""

import threading
import time

import numpy as np
import pytest

from preimage._engine import lapack as _lapack
from preimage._engine.lapack import cholesky_factor, cholesky_solve, largest_eigenpairs, triangular_solve


@pytest.fixture(params=["pointers", "SciPy's functions"], autouse=True)
def way(request, monkeypatch):
    if request.param != "pointers":
        monkeypatch.setattr(_lapack, "_routine", lambda name, dtype: None)


@pytest.fixture(params=[np.float64, np.float32])
def dtype(request):
    return request.param


def positive_definite(n, dtype):
    A = np.random.default_rng(n).standard_normal((n, n))
    return (A @ A.T + n * np.eye(n)).astype(dtype)


def close(dtype):
    return {"rtol": 1e3 * np.finfo(dtype).eps, "atol": 1e3 * np.finfo(dtype).eps}


@pytest.mark.parametrize("n", [1, 5, 60])
def test_factor_times_its_transpose_is_the_matrix(n, dtype):
    A = positive_definite(n, dtype)
    before = A.copy()
    U = np.triu(cholesky_factor(A))
    assert U.dtype == dtype
    np.testing.assert_allclose(U.T @ U, A, **close(dtype))
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("n", [1, 5, 60])
def test_solutions_solve(n, dtype):
    A, B = positive_definite(n, dtype), np.arange(3.0 * n).reshape(n, 3).astype(dtype) / n
    X = cholesky_solve(cholesky_factor(A.copy(), overwrite=True), B)
    np.testing.assert_allclose(A @ X, B, **close(dtype))
    L = np.linalg.cholesky(A)
    np.testing.assert_allclose(L @ triangular_solve(L, B), B, **close(dtype))
    np.testing.assert_allclose(L.T @ triangular_solve(L, B, transposed=True), B, **close(dtype))


def test_read_only_and_transposed_matrices_are_copied(dtype):
    A = positive_definite(7, dtype)
    A.setflags(write=False)
    B = np.asfortranarray(A[:, :2])
    expected = cholesky_solve(cholesky_factor(A, overwrite=True), B)
    np.testing.assert_allclose(cholesky_solve(cholesky_factor(A.T, overwrite=True), B), expected, **close(dtype))
    np.testing.assert_allclose(expected, np.eye(7)[:, :2], **close(dtype))


def test_a_matrix_that_is_not_positive_definite_is_refused(dtype):
    with pytest.raises(np.linalg.LinAlgError):
        cholesky_factor(np.diag([1.0, -1.0]).astype(dtype))
    with pytest.raises(np.linalg.LinAlgError):
        triangular_solve(np.zeros((2, 2), dtype), np.ones((2, 1), dtype))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (6, 2), (60, 20)])
def test_largest_eigenpairs_are_those_of_the_whole_decomposition(n, k, dtype):
    A = positive_definite(n, dtype)
    values, vectors = largest_eigenpairs(A, k)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[n - k :], **close(dtype))
    np.testing.assert_allclose(A @ vectors, vectors * values, rtol=0, atol=1e3 * np.finfo(dtype).eps * values.max())


def test_other_types_are_left_to_scipy():
    assert _lapack._routine("potrf", np.dtype(np.int64)) is None


@pytest.mark.parametrize("argument", ["long *", "int (char *"])
def test_unknown_signatures_are_left_to_scipy(argument, monkeypatch):
    kinds = ["char", _lapack._kind(argument), "int"]
    monkeypatch.setattr(_lapack, "published", lambda *names: (lambda *addresses: pytest.fail("called"), kinds))
    assert kinds[1] is None and _lapack._routine("posv_of_nobody", np.float64) is None


def test_other_threads_go_on(request):
    """The interpreter lock is free during a factorisation: a thread that only counts is not stopped for all of it."""
    if "pointers" not in request.node.name:
        pytest.skip("SciPy's own functions hold the lock")
    A = positive_definite(1500, np.float64)
    inside = threading.Event()
    ticks = []

    def factorise():
        inside.set()
        cholesky_factor(A)
        ticks.append(None)

    thread = threading.Thread(target=factorise)
    thread.start()
    inside.wait()
    count = 0
    while not ticks:
        count += 1
        time.sleep(0)
    thread.join()
    assert count > 10


@pytest.mark.parametrize(("first", "last"), [(0, 0), (7, 9), (29, 29), (0, 29)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pairs_of_a_tridiagonal_matrix(first, last, dtype, rng):
    diagonal, beside = rng.normal(size=30).astype(dtype), rng.normal(size=29).astype(dtype)
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    values, vectors = _lapack.tridiagonal_eigenpairs(diagonal, beside, first, last)
    assert vectors.shape == (30, last - first + 1)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(T)[first : last + 1], **close(dtype))
    np.testing.assert_allclose(T @ vectors, vectors * values, rtol=0, atol=1e3 * np.finfo(dtype).eps)


def test_pairs_that_do_not_exist_are_refused(rng):
    with pytest.raises(ValueError):
        _lapack.tridiagonal_eigenpairs(rng.normal(size=4), rng.normal(size=3), 3, 4)


@pytest.mark.parametrize("k", [1, 3, 12, 30])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("find", [_lapack.leading_tridiagonal, _lapack.bisected_tridiagonal])
@pytest.mark.parametrize("kind", ["one block", "three blocks", "copies"])
def test_leading_pairs_of_a_tridiagonal_matrix_by_every_method(kind, find, dtype, k, rng):
    n = 90
    diagonal, beside = rng.normal(size=n), rng.normal(size=n - 1)
    if kind == "three blocks":  # of which eigenvalues are found one block after the other
        beside[[29, 59]] = 0
    if kind == "copies":  # every eigenvalue three times
        beside[[29, 59]], diagonal[30:60], diagonal[60:] = 0, diagonal[:30], diagonal[:30]
        beside[30:59], beside[60:] = beside[:29], beside[:29]
    diagonal, beside = diagonal.astype(dtype), beside.astype(dtype)
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    values, vectors = find(diagonal, beside, k)
    assert values.dtype == vectors.dtype == dtype and vectors.shape == (n, k)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(T)[: -k - 1 : -1], **close(dtype))
    # Robust representations have larger residuals with some matrices than bisection, which callers know.
    size = (1e2 if find is _lapack.bisected_tridiagonal else 1e4) * np.finfo(dtype).eps
    np.testing.assert_allclose(T @ vectors, vectors * values, rtol=0, atol=size)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), rtol=0, atol=size)


def test_addresses_are_those_of_numpy(rng):
    A = rng.normal(size=(6, 4))
    frozen = A.copy()
    frozen.flags.writeable = False
    for array in (A, A[2:], A[:, 1:], A.T, A[:0], frozen):
        assert _lapack.address_of(array) == array.ctypes.data
