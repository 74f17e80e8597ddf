"""Exact kernel PCA against the same formulas in extended precision, where it is badly conditioned too."""

import warnings

import numpy as np
import precise
import pytest
from for_each import for_each
from precise import needs_long_double

from preimage import KernelPCA
from preimage._engine.linalg import DETERMINED
from preimage.kernels import Gaussian, Laplacian, Linear, Polynomial

pytestmark = needs_long_double

# Eigenvalues closer than this, relative to themselves, share a plane in which axes are arbitrary up to a rotation.
CLOSE = 0.05

HARD = ["rank deficient", "repeated", "zero rows", "constant column", "two groups", "tiny", "huge"]


def rows(kind, n=40, d=3):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, d))
    if kind == "rank deficient":
        X[:, 2] = X[:, 0] - X[:, 1]
    if kind == "repeated":
        X = X[rng.integers(0, n // 3, n)]
    if kind == "zero rows":
        X[::6] = 0.0
    if kind == "constant column":
        X[:, 1] = 4.0
    if kind == "two groups":
        X[: n // 2] += 30.0
    scale = {"tiny": 1e-8, "huge": 1e8}.get(kind, 1.0)
    X = X * scale
    queries = X[rng.integers(0, n, 12)] + 0.3 * scale * rng.normal(size=(12, d))
    return X, queries


def compare(model, oracle, X, queries, accuracy):
    """Largest error of coordinates, in units of their standard deviations, after turning axes in shared planes."""
    values = oracle.values
    k = model.n_components_
    ours_train, ours = model.transform(X).astype(float), model.transform(queries).astype(float)
    train, new = oracle.coordinates(X, k + 1), oracle.coordinates(queries, k + 1)
    compared, worst = 0, 0.0
    start = 0
    while start < k:
        stop = start + 1
        while stop < len(values) and values[stop - 1] - values[stop] < CLOSE * values[stop - 1]:
            stop += 1
        if stop > k:  # the cut goes through a plane
            break
        plane = slice(start, stop)
        weights = np.asarray(train[:, plane] / np.sqrt(values[plane]), float)
        U, _, Vt = np.linalg.svd(weights.T @ (ours_train[:, plane] / np.sqrt(values[plane]).astype(float)))
        deviations = np.sqrt(values[plane] / oracle.w.sum()).astype(float)
        error = np.abs(np.asarray(new[:, plane], float) @ (U @ Vt) - ours[:, plane]) / deviations
        worst, compared = max(worst, float(error.max())), compared + stop - start
        start = stop
    assert worst <= accuracy, f"{worst:.1e} of a standard deviation, {k} components"
    return compared


def kernel_and_formula(name, gamma):
    if name == "gaussian":
        return Gaussian(gamma), lambda X, Y: precise.gaussian(X, Y, gamma)
    return Laplacian(gamma), lambda X, Y: precise.laplacian(X, Y, gamma)


@for_each("dtype", ["float64", "float32"])
@for_each("gamma", 10.0 ** np.arange(-5, 4))
@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_widths_over_eight_decades(name, gamma, dtype):
    X, queries = (rows.astype(dtype) for rows in rows("plain"))
    kernel, exact = kernel_and_formula(name, float(gamma))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # components are arbitrary where all kernel values vanish
        model = KernelPCA(kernel=kernel).fit(X)
    oracle = precise.KernelPCA(exact, X)
    compare(model, oracle, X, queries, DETERMINED[np.dtype(dtype).itemsize])


@for_each("solver", ["dense", "block_krylov"])
@for_each("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_hard_data(name, kind, dtype, solver):
    X, queries = (rows.astype(dtype) for rows in rows(kind))
    scale = {"tiny": 1e-8, "huge": 1e8}.get(kind, 1.0)
    kernel, exact = kernel_and_formula(name, 0.2 / scale**2 if name == "gaussian" else 0.2 / scale)
    model = KernelPCA(kernel=kernel, eigen_solver=solver).fit(X)
    oracle = precise.KernelPCA(exact, X)
    compared = compare(model, oracle, X, queries, DETERMINED[np.dtype(dtype).itemsize])
    assert compared >= (3 if dtype == "float32" else 8)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_linear_kernels_far_from_the_origin(offset, dtype):
    if dtype == "float32" and offset > 1e5:
        pytest.skip("float32 cannot hold such data")
    X, queries = ((rows + offset).astype(dtype) for rows in rows("plain"))
    for kernel in (Linear(), 2.0 * Linear()):
        factor = kernel(np.ones((1, 1)))[0, 0]
        model = KernelPCA(3, kernel=kernel).fit(X)
        # About the offset, which centring removes: extended precision has its limits as well.
        oracle = precise.KernelPCA(lambda X, Y, a=factor: a * precise.linear(X - offset, Y - offset), X)
        assert compare(model, oracle, X, queries, DETERMINED[np.dtype(dtype).itemsize]) == 3


@pytest.mark.parametrize("degree", [2, 3, 5])
@pytest.mark.parametrize("offset", [0.0, 3.0, 100.0])
def test_polynomials(degree, offset):
    X, queries = (rows + offset for rows in rows("plain"))
    model = KernelPCA(kernel=Polynomial(degree, 0.5)).fit(X)
    oracle = precise.KernelPCA(lambda X, Y: precise.polynomial(X, Y, degree, 0.5), X)
    assert compare(model, oracle, X, queries, 1e-6) >= 1


@pytest.mark.parametrize("kind", ["plain", "repeated", "two groups"])
def test_distances_to_the_subspace(kind):
    X, queries = rows(kind)
    model = KernelPCA(gamma=0.2).fit(X)
    oracle = precise.KernelPCA(lambda X, Y: precise.gaussian(X, Y, 0.2), X)
    expected = oracle.residual(queries, model.n_components_).astype(float)
    np.testing.assert_allclose(model.reconstruction_error(queries), expected, atol=1e-6 * expected.max())


def test_the_oracle_agrees_with_arbitrary_precision(rng):
    mpmath = pytest.importorskip("mpmath")
    A = rng.normal(size=(7, 7))
    A = A @ A.T
    values, vectors = precise.eigh(A)
    with mpmath.workdps(40):
        exact = sorted(
            (float(value) for value in mpmath.eigsy(mpmath.matrix(A.tolist()), eigvals_only=True)), reverse=True
        )
    np.testing.assert_allclose(values.astype(float), exact, rtol=1e-14)
    np.testing.assert_allclose((A @ vectors - vectors * values).astype(float), 0, atol=1e-16 * exact[0])


def test_weights_are_repetitions(rng):
    X, queries = rows("plain", n=30)
    weights = rng.integers(1, 4, 30)
    oracle = precise.KernelPCA(lambda X, Y: precise.gaussian(X, Y, 0.3), X, weights)
    model = KernelPCA(gamma=0.3).fit(X, sample_weight=weights)
    assert compare(model, oracle, X, queries, 1e-6) > 8
    np.testing.assert_allclose(model.eigenvalues_, oracle.values[: model.n_components_].astype(float), rtol=1e-7)
