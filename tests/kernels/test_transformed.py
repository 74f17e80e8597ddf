"""Kernels on scaled and linearly mapped inputs; kernels iterated over a reference sample."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from preimage._engine.memory import limited_memory
from preimage._engine.threads import available_threads
from preimage.feature_space import Gram
from preimage.kernels import Gaussian, Iterated, Laplacian, Linear, MappedInputs, Polynomial, ScaledInputs, Sigmoid


def test_scaled_inputs_put_a_diagonal_in_the_inner_product(rng):
    X, weights = rng.normal(size=(6, 3)), np.array([0.5, 0.0, 2.0])
    expected = (X @ np.diag(weights) @ X.T + 1) ** 2
    assert_allclose(ScaledInputs(Polynomial(2), weights)(X), expected)


def test_orthogonal_map_changes_nothing(rng):
    X, rotation = rng.normal(size=(6, 3)), ortho_group.rvs(3, random_state=0)
    assert_allclose(MappedInputs(Polynomial(3, coef0=0.0), rotation)(X), Polynomial(3, coef0=0.0)(X))


def test_map_is_applied_before_the_width_is_chosen(rng):
    X = rng.normal(size=(20, 3))
    mapped = MappedInputs(Gaussian("median"), 10 * np.eye(3)).resolve(X)
    assert_allclose(mapped.kernel.gamma, Gaussian("median").resolve(10 * X).gamma)


@pytest.mark.parametrize("kernel", [ScaledInputs(Linear(), [1.0]), MappedInputs(Linear(), np.eye(2))], ids=["s", "m"])
def test_wrong_number_of_columns_is_refused(kernel):
    with pytest.raises(ValueError, match="3 columns"):
        kernel(np.ones((2, 3)))


def test_iterated_gaussian_is_a_wider_gaussian():
    """(K11): the integral of two Gaussians over the line is a Gaussian of half the γ."""
    gamma, X = 0.8, np.array([[0.3], [-0.9], [2.0]])
    grid, step = np.linspace(-12, 12, 4001, retstep=True)
    iterated = Iterated(Gaussian(gamma), grid[:, None])  # a mean over the grid
    integral = iterated(X) * grid.size * step
    assert_allclose(integral, np.sqrt(np.pi / (2 * gamma)) * Gaussian(gamma / 2)(X), rtol=1e-10)


def test_iterated_sigmoid_is_positive_semidefinite(rng):
    X = 3 * rng.normal(size=(40, 3))
    assert np.linalg.eigvalsh(Sigmoid(1.0, -1.0)(X))[0] < -1e-3
    assert np.linalg.eigvalsh(Iterated(Sigmoid(1.0, -1.0), X)(X))[0] > -1e-10


def test_iterated_kernel_squares_the_spectrum(rng):
    X = rng.normal(size=(20, 3))
    values = np.linalg.eigvalsh(Gaussian(0.3)(X))
    assert_allclose(np.linalg.eigvalsh(Iterated(Gaussian(0.3)).resolve(X)(X)), values**2 / 20, atol=1e-12)


def test_iterated_kernel_asks_for_its_reference():
    with pytest.raises(ValueError, match="reference"):
        Iterated(Gaussian())(np.ones((2, 2)))


@pytest.mark.parametrize("inner", [Gaussian(0.3), Sigmoid(0.2, -0.5), Laplacian(0.4)], ids=repr)
def test_iterated_kernels_are_the_same_where_their_maps_do_not_fit_into_memory(inner, rng, monkeypatch):
    X, Z, W = rng.normal(size=(60, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 60))
    kernel = Iterated(inner, rng.normal(size=(50, 3)))
    found = {}
    monkeypatch.setattr("preimage.kernels._transformed.PART", 16)
    monkeypatch.setattr("preimage._engine.memory.LEAST_WORK", 1)  # maps of so few rows fit otherwise
    for limit in ("1GB", 1):
        with limited_memory(limit, X):
            values, contracted = kernel.prepare(X).with_gradient(Z)
            found[limit] = [
                kernel(X),
                kernel(Z, X),
                kernel.prepare(X).tiles(X)(slice(3, 9), slice(5, 20)),
                values,
                contracted(W),
                kernel.gradient(Z, X, W),
                kernel.diagonal(X),
            ]
    for held, formed in zip(found["1GB"], found[1], strict=True):
        assert_allclose(formed, held, atol=1e-12)
    assert_allclose(found[1][4], found[1][5], atol=1e-12)


def test_iterated_kernels_keep_within_memory(rng):
    X = rng.normal(size=(2000, 3))
    kernel = Iterated(Gaussian(0.3), X)
    tracemalloc.start()
    with limited_memory("8MB", X):
        Gram(kernel, X) @ X[:, :1]  # the map of all points has 32 MB
        kernel.gradient(X[:10], X, np.ones((10, 2000)))
        kernel.diagonal(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6 * max(1, available_threads())  # tiles of kernel values, per thread
