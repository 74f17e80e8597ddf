"""Which regression predicts the inputs of new coordinates best; kernel ridge regression of several outputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from preimage import KernelPCA
from preimage.kernels import Constant, Gaussian, Linear, Polynomial
from preimage.solvers._map_choice import (
    candidate_kernels,
    choose_map,
    held_out_errors,
    leave_one_out_errors,
    ridge_weights,
)


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data / 16
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[:300]], X[order[300:600]]


@pytest.mark.parametrize("kernel", [Gaussian("median"), Polynomial(3, 0.05)], ids=["Gaussian", "polynomial"])
@pytest.mark.parametrize("count", [8, 64])
def test_the_choice_is_nearly_the_best_for_new_rows(kernel, count, digits):
    X, T = digits
    model = KernelPCA(count, kernel=kernel).fit(X)
    Y, Z = model.transform(X), model.transform(T)
    best = min(
        held_out_errors(each, Y, X, Z, T, True).sum(axis=1).min() for each in candidate_kernels(Y)
    )
    assert np.sum((model.inverse_transform(Z) - T) ** 2) < 1.1 * best


def test_a_linear_subspace_is_reconstructed_as_by_pca(digits):
    X, T = digits
    model, linear = KernelPCA(16, kernel=Linear() + Constant(1.0)).fit(X), PCA(16).fit(X)
    error = np.mean((model.inverse_transform(model.transform(T)) - T) ** 2)
    assert error < 1.02 * np.mean((linear.inverse_transform(linear.transform(T)) - T) ** 2)


def test_the_expected_error_is_that_of_new_rows_also_with_a_component_for_each_row(rng):
    """Training coordinates alone would promise next to nothing."""
    X, T = rng.normal(size=(60, 12)), rng.normal(size=(200, 12))
    model = KernelPCA(40, gamma=0.05).fit(X)
    Y = model.transform(X)
    found = choose_map(model.subspace_, X, Y, X)
    error = np.mean((model.inverse_transform(model.transform(T)) - T) ** 2)
    assert 0.6 * error < found.error < 1.7 * error


def test_leave_one_out_is_exact_down_to_small_ridges(rng):
    Y, X = rng.normal(size=(15, 2)), rng.normal(size=(15, 3))
    L, ridges = Gaussian(0.5)(Y), np.array([1e-6, 1e-2, 1.0])
    expected = []
    for ridge in ridges:
        rest = [np.delete(np.arange(15), i) for i in range(15)]
        predicted = [L[i, r] @ np.linalg.solve(L[np.ix_(r, r)] + ridge * np.eye(14), X[r]) for i, r in enumerate(rest)]
        expected.append(np.mean((np.array(predicted) - X) ** 2))
    assert_allclose(leave_one_out_errors(L, X, ridges, rounding=1.0), expected, rtol=1e-6)


def test_ridges_that_rounding_would_spoil_do_not_compete(rng):
    Y = rng.normal(size=(60, 2))
    errors = leave_one_out_errors(Gaussian(1e-4)(Y), rng.normal(size=(60, 3)), np.array([1e-15, 1.0]))
    assert np.isinf(errors[0]) and np.isfinite(errors[1])


def test_weights_without_a_ridge_are_those_of_the_pseudo_inverse(rng):
    Y = np.repeat(rng.normal(size=(5, 2)), 2, axis=0)
    X = rng.normal(size=(10, 3))
    assert_allclose(ridge_weights(Gaussian(0.5), Y, X, 0.0), np.linalg.pinv(Gaussian(0.5)(Y)) @ X, atol=1e-8)


def test_errors_do_not_depend_on_how_many_ridges_are_tried_at_once(rng, monkeypatch):
    Y, X, Z, truth = (
        rng.normal(size=(30, 2)),
        rng.normal(size=(30, 3)),
        rng.normal(size=(7, 2)),
        rng.normal(size=(7, 3)),
    )
    together = held_out_errors(Gaussian(0.5), Y, X, Z, truth, True)
    monkeypatch.setattr("preimage.solvers._held_out_maps.MOST_ENTRIES", 200)
    assert_allclose(held_out_errors(Gaussian(0.5), Y, X, Z, truth, True), together, rtol=1e-6)
