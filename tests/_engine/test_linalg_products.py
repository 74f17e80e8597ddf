"""Products on threads are products."""

import numpy as np
import pytest
from for_each import for_each

from preimage._engine import linalg as _products
from preimage._engine import threads as _threads
from preimage._engine.linalg import difference, product
from preimage._engine.threads import at_most

SHAPES = [
    (700, 300, 41),  # pieces of rows
    (41, 300, 700),  # of columns
    (30, 5000, 20),  # a sum
    (30, 5003, 1),
    (1, 4000, 1),
    (3, 2, 5),
    (0, 5, 3),
    (5, 0, 3),
]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(_products, "FEWEST_MULTIPLICATIONS", 1000)
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 8)


@for_each("shape", SHAPES)
@for_each("dtype", [np.float64, np.float32])
@for_each("order", ["C", "F", "strided"])
def test_a_product_is_that_of_numpy(shape, dtype, order):
    n, m, k = shape
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal(size).astype(dtype) for size in ((n, m), (m, k)))
    if order == "strided":
        A, B = np.repeat(A, 2, axis=1)[:, ::2], np.repeat(B, 2, axis=0)[::2]
    else:
        A, B = np.asarray(A, order=order), np.asarray(B, order=order)
    found = product(A, B)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, A @ B, rtol=0, atol=m * np.finfo(dtype).eps * 10)


@pytest.mark.parametrize("shape", SHAPES)
def test_products_do_not_depend_on_the_number_of_threads(shape):
    n, m, k = shape
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((n, m)), rng.standard_normal((m, k))
    for threads in (1, 2, 3, 8):
        with at_most(threads):
            first, second = product(A, B), product(A, B)
        np.testing.assert_array_equal(first, second)  # the same pieces each time, in the same order
        np.testing.assert_allclose(first, A @ B, rtol=0, atol=m * 1e-15 * 10)


def test_small_products_wake_no_threads(monkeypatch):
    monkeypatch.setattr(_products, "run_parallel", None)
    monkeypatch.setattr(_products, "FEWEST_MULTIPLICATIONS", 10**6)
    A = np.ones((100, 100))
    np.testing.assert_array_equal(product(A, A), np.full((100, 100), 100.0))


def test_other_arrays_are_left_to_their_library():
    torch = pytest.importorskip("torch")
    A = torch.ones((300, 300))
    assert bool((product(A, A) == 300).all())


def test_a_difference_uses_the_memory_of_what_is_subtracted():
    A, B = np.ones((3, 2)), np.full((3, 2), 3.0)
    result = difference(A, B)
    assert result is B and (result == -2).all() and (A == 1).all()
    assert difference(A, np.ones((3, 2), np.float32)).dtype == np.float64


@pytest.mark.parametrize("m", [2**17, 2**17 + 5, 3 * 2**16])
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_long_sums_of_single_precision_tensors_are_added_in_double_precision(m, order, rng):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    A, B = rng.random((3, m)).astype(np.float32), rng.random((m, 4)).astype(np.float32)
    a, b = torch.asarray(A), torch.asarray(B)
    if order == "columns":  # transposed views, as bases are
        a, b = torch.asarray(A.T.copy()).T, torch.asarray(B.T.copy()).T
    found, exact = product(a, b), A.astype(float) @ B.astype(float)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.numpy(), exact, rtol=2e-6)
