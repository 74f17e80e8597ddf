"""Which regression predicts the inputs of new coordinates best; kernel ridge regression of several outputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from preimage import KernelPCA
from preimage.kernels import Constant, Gaussian, Linear, Polynomial
from preimage.solvers._map_choice import (
    CAREFUL,
    SURE,
    JudgedMaps,
    candidate_kernels,
    choose_map,
    distinct_rows,
    judge_maps,
)
from preimage.solvers._map_errors import RIDGES, leave_one_out_errors, ridge_weights


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data / 16
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[:300]], X[order[300:600]]


def best_error(kernel, Y, X, Z, T):
    """The smallest squared error at Z of regressions of X on Y, over ridges."""
    weights = (ridge_weights(kernel, Y, X - X.mean(axis=0), ridge) for ridge in RIDGES * np.mean(kernel.diagonal(Y)))
    return min(np.sum((X.mean(axis=0) + kernel(Z, Y) @ each - T) ** 2) for each in weights)


@pytest.mark.parametrize("kernel", [Gaussian("median"), Polynomial(3, 0.05)], ids=["Gaussian", "polynomial"])
@pytest.mark.parametrize("count", [8, 64])
def test_the_choice_is_nearly_the_best_for_new_rows(kernel, count, digits):
    X, T = digits
    model = KernelPCA(count, kernel=kernel).fit(X)
    Y, Z = model.transform(X), model.transform(T)
    best = min(best_error(each, Y, X, Z, T) for each in candidate_kernels(Y))
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


def errors_of_maps(plain, ridged, other, closer=np.inf):
    """`JudgedMaps` of a linear map without and with a ridge, and of it with two further kernels."""
    by_row = np.full((5, 2, len(plain)), np.inf)
    by_row[0], by_row[2, 1], by_row[4, 1] = [plain, ridged], other, closer
    return JudgedMaps([], by_row)


def test_a_map_must_be_surely_better_than_a_simpler_one(rng):
    plain = 1 + rng.random(400)
    noise = rng.normal(scale=0.5, size=400)
    noise -= noise.mean()
    standard_error = noise.std() / 20
    assert errors_of_maps(plain, plain + 1, plain + noise - (SURE - 0.1) * standard_error).settled() == (0, 0)
    assert errors_of_maps(plain, plain + 1, plain + noise - (SURE + 0.1) * standard_error).settled() == (2, 1)
    assert errors_of_maps(plain, plain - 0.1, plain - 0.05).settled() == (0, 1)


def test_a_smaller_gain_that_is_surer_is_taken(rng):
    plain = 1 + rng.random(400)
    noise = rng.normal(size=400)
    noise = (noise - noise.mean()) / noise.std()
    noisy = plain + noise - (CAREFUL + 1) / 20
    assert errors_of_maps(plain, plain, plain - 0.06, noisy).settled() == (2, 1)
    assert errors_of_maps(plain, plain, plain - 0.04, noisy).settled() == (4, 1)


def test_of_ridges_with_the_same_error_the_largest_is_taken(rng):
    plain = 1 + rng.random(100)
    assert errors_of_maps(plain, 1.005 * plain, plain + 1).settled() == (0, 0)  # nothing is better than the plain map
    by_row = np.stack([[plain, plain], [plain - 0.5, 1.005 * (plain - 0.5)], [plain, plain]])
    assert JudgedMaps([], by_row).settled() == (1, 1)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_of_the_inputs_does_not_matter(unit, rng):
    plain = 1 + rng.random(400)
    assert errors_of_maps(unit * plain, unit * plain, unit * (plain - 0.1)).settled() == (2, 1)
    assert errors_of_maps(unit * plain, unit * plain, unit * (plain + 0.1)).settled() == (0, 0)


def test_one_outlier_does_not_decide(rng):
    plain = 1 + rng.random(200)
    outlier = plain + 0.01
    outlier[0] -= 100
    assert outlier.mean() < plain.mean()
    assert errors_of_maps(plain, plain, outlier).settled() == (0, 0)


def test_linear_data_get_a_linear_map(rng):
    X = rng.normal(size=(150, 6)) * [3, 2, 1, 0.5, 0.5, 0.5]
    model = KernelPCA(3, gamma=1e-6).fit(X)
    found = choose_map(model.subspace_, X, model.transform(X), X)
    assert isinstance(found.kernel, Linear)


def test_curved_data_get_gaussians_on_what_a_linear_map_leaves(rng):
    u = rng.uniform(-2, 2, size=150)
    X = np.column_stack([3 * u, u**2, np.sin(2 * u), 0.1 * rng.normal(size=150)])
    model = KernelPCA(1, gamma=1e-6).fit(X)
    Y = model.transform(X)
    found = choose_map(model.subspace_, X, Y, X)
    assert isinstance(found.kernel, Gaussian)
    linear = PCA(1).fit(X)
    assert found.error < 0.5 * np.mean((linear.inverse_transform(linear.transform(X)) - X) ** 2)


def test_copies_of_a_row_do_not_judge_each_other(rng):
    X = rng.normal(size=(40, 5))
    copied = np.repeat(X, 3, axis=0)
    assert np.array_equal(copied[distinct_rows(copied)], X)
    model = KernelPCA(2, gamma=0.05).fit(copied)
    found = choose_map(model.subspace_, copied, model.transform(copied), copied)
    assert found.error > 0.5 * np.mean(np.sum(np.sort(np.var(X, axis=0))[:3]) / 5)


def test_curves_are_judged_with_all_widths_and_others_with_two(rng):
    Y = rng.normal(size=(100, 2))
    sound = np.ones(RIDGES.size, dtype=bool)
    for inputs, expected in ((np.column_stack([Y, Y[:, 0] * Y[:, 1]]), 11), (rng.normal(size=(100, 3)), 5)):
        judged = judge_maps(Y, Y.copy(), inputs, True, sound)
        finished = np.isfinite(judged.by_row).all(axis=2).any(axis=1)
        assert finished[0] and finished.sum() <= expected and judged.is_curved == (expected == 11)


def test_rows_of_nearly_the_same_coordinates_that_do_not_judge_spoil_nothing(rng):
    """A tiny ridge would be as good for the rows that judge."""
    Y = rng.normal(size=(400, 8))
    X = Y @ rng.normal(size=(8, 3)) + 0.5 * rng.normal(size=(400, 3))
    X[1::2] = X[::2] + 1e-3 * rng.normal(size=(200, 3))
    model = KernelPCA(20, gamma=0.05).fit(X)
    T = Y[:50] @ np.zeros((8, 3)) + X[:50] + 0.1
    assert np.abs(model.inverse_transform(model.transform(T))).max() < 5 * np.abs(X).max()
