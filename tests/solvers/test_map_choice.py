"""Which regression predicts the inputs of new coordinates best."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from preimage import KernelPCA
from preimage.kernels import Constant, Gaussian, Linear, Polynomial
from preimage.solvers._map_choice import candidate_kernels, choose_map, held_out_errors


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
        held_out_errors(each, Y, X, Z, T, True).sum(axis=1).min() for each in candidate_kernels(Y, model.kernel_)
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
