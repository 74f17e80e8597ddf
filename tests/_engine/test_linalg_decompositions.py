"""Eigenvectors and singular vectors, to rounding errors in every precision and on every device."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage._engine.linalg import cholesky, eigh, eigvalsh, in_double_precision, is_iterated, svd

# Residuals and products of vectors are sums of this many rounding errors, for every row of a matrix.
ROUNDING = 4
SIZES = [1, 2, 40, 200, 480]
# Spectra that decay, that have many equal values, and of which a cluster lies next to many that are nearly zero.
SPECTRA = {
    "decaying": lambda n: np.geomspace(1, 1e-6, n),
    "equal": lambda n: np.repeat([1.0, 0.5, 0.01], [n // 3, n // 3, n - 2 * (n // 3)]),
    "cluster": lambda n: np.where(np.arange(n) < 30, 0.03 + 1e-6 * np.arange(n), 1e-4),
}


@pytest.fixture(params=["numpy", "torch", pytest.param("cuda", marks=pytest.mark.cuda)])
def on(request):
    """From a NumPy array to one of a library, on a device."""
    if request.param == "numpy":
        return np.asarray
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    return lambda values: torch.asarray(values, device="cpu" if request.param == "torch" else "cuda")


def orthonormal(rng, n, m):
    return np.linalg.qr(rng.normal(size=(n, m)))[0]


def assert_orthonormal(columns, eps):
    n = columns.shape[-1]
    products = np.swapaxes(columns, -1, -2) @ columns
    assert_allclose(products, np.broadcast_to(np.eye(n), products.shape), atol=ROUNDING * n * eps)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
class TestVectorsToRounding:
    def test_eigenvectors(self, on, dtype, n, spectrum, rng):
        Q, values = orthonormal(rng, n, n), SPECTRA[spectrum](n)
        A = ((Q * values) @ Q.T).astype(dtype)
        A = (A + A.T) / 2
        found, vectors = map(to_numpy, eigh(on(A)))
        assert found.dtype == vectors.dtype == dtype
        eps, vectors = np.finfo(dtype).eps, vectors.astype(np.float64)
        assert np.all(np.diff(found) >= -ROUNDING * n * eps)
        assert_allclose(A @ vectors, vectors * found, atol=ROUNDING * n * eps)
        assert_orthonormal(vectors, eps)
        assert_allclose(to_numpy(eigvalsh(on(A))), found, atol=ROUNDING * n * eps)

    def test_singular_vectors(self, on, dtype, n, spectrum, rng):
        values = np.sort(SPECTRA[spectrum](n))[::-1]
        A = ((orthonormal(rng, n + 20, n) * values) @ orthonormal(rng, n, n).T).astype(dtype)
        U, found, Vt = map(to_numpy, svd(on(A)))
        assert U.dtype == found.dtype == Vt.dtype == dtype
        eps = np.finfo(dtype).eps
        assert_allclose(found, values, atol=ROUNDING * n * eps)
        U, Vt = U.astype(np.float64), Vt.astype(np.float64)
        assert_allclose((U * found) @ Vt, A, atol=ROUNDING * n * eps)
        assert_orthonormal(U, eps)
        assert_orthonormal(Vt.T, eps)


def test_a_stack_of_matrices(on, rng):
    A = rng.normal(size=(7, 64, 64)).astype("float32")
    A = A + np.swapaxes(A, 1, 2)
    values, vectors = map(to_numpy, eigh(on(A)))
    assert_allclose(A @ vectors, vectors * values[:, None, :], atol=1e-3)
    assert_orthonormal(vectors.astype(np.float64), np.finfo("f4").eps)


def test_double_precision_on_the_way_only(rng):
    A = rng.normal(size=(20, 10)).astype("float32")
    parts = in_double_precision(np.linalg.svd)(A, full_matrices=False)
    assert [part.dtype for part in parts] == ["float32"] * 3
    exact = np.linalg.svd(A.astype(float), full_matrices=False)
    for part, expected in zip(parts, exact, strict=True):
        assert_allclose(part, expected.astype("float32"), rtol=0, atol=0)


def test_only_devices_iterate(rng):
    torch = pytest.importorskip("torch")
    A = rng.normal(size=(5, 5)).astype("float32")
    assert not is_iterated(A)
    assert not is_iterated(torch.asarray(A))


def test_cholesky_factors_say_where_there_is_none(on, rng):
    B = rng.normal(size=(20, 20))
    L = to_numpy(cholesky(on(B @ B.T)))
    assert_allclose(L @ L.T, B @ B.T, atol=1e-12)
    assert_allclose(L, np.tril(L), atol=0)
    for indefinite in (-np.eye(3), np.array([[1.0, 2.0], [2.0, 1.0]])):
        assert cholesky(on(indefinite)) is None
