"""Errors of regressions at rows that were left out, against regressions that are fitted without them, one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.kernels import Gaussian
from preimage.solvers._map_errors import LeftOutRows, LinearFit, measured_columns

RIDGES = np.array([1e-4, 1e-2, 1.0])


@pytest.fixture
def problem(rng):
    """Coordinates, those that rows have if they are left out, those for corrections, and inputs."""
    Y = rng.normal(size=(25, 3)) + 1
    X = np.column_stack([Y @ [1, 2, 3], Y[:, 0] ** 2, np.sin(Y[:, 1])]) + 0.1 * rng.normal(size=(25, 3))
    asked = Y + 0.1 * rng.normal(size=Y.shape)
    return Y, asked, np.clip(asked, 0, 2), X


def test_a_linear_fit_is_that_of_least_squares(problem):
    Y, _, _, X = problem
    fit = LinearFit(Y, X)
    assert_allclose(fit.map(), np.linalg.lstsq(Y, X, rcond=None)[0])
    assert_allclose(fit.map(0.3), np.linalg.solve(Y.T @ Y + 0.3 * np.eye(3), Y.T @ X))
    assert_allclose(Y.T @ fit.weights(0.3), fit.map(0.3))


def test_columns_of_rounding_errors_are_left_out_of_a_linear_fit(problem, rng):
    Y, _, _, X = problem
    doubled = np.column_stack([Y, Y[:, 0] + 1e-14 * rng.normal(size=25)])
    assert_allclose(doubled @ LinearFit(doubled, X).map(), Y @ LinearFit(Y, X).map(), atol=1e-8)


@pytest.mark.parametrize("center", [True, False])
def test_errors_are_those_of_regressions_without_each_row(problem, center):
    Y, asked, within, X = problem
    rows, kernel = LeftOutRows(Y, asked, X, center), Gaussian(0.2)
    linear = rows.linear_errors(RIDGES)
    alone, after = rows.kernel_errors(kernel(Y), kernel(asked, Y), kernel(within, Y), RIDGES)
    for place, ridge in enumerate(RIDGES):
        for i in range(25):
            A, B = np.delete(Y, i, axis=0), np.delete(X, i, axis=0)
            shift, mean = (A.mean(axis=0), B.mean(axis=0)) if center else (np.zeros(3), np.zeros(3))
            A, B, z = A - shift, B - mean, asked[i] - shift
            found = mean + z @ np.linalg.solve(A.T @ A + ridge * np.eye(3), A.T @ B)
            assert_allclose(linear[place, i], np.sum((found - X[i]) ** 2), rtol=1e-8)
            solve = np.linalg.inv(kernel(A) + ridge * np.eye(24))
            found = mean + kernel(z[None], A)[0] @ solve @ B
            assert_allclose(alone[place, i], np.sum((found - X[i]) ** 2), rtol=1e-6)
            plain = np.linalg.lstsq(A, B, rcond=None)[0]
            found = mean + z @ plain + kernel(within[i : i + 1] - shift, A)[0] @ solve @ (B - A @ plain)
            assert_allclose(after[place, i], np.sum((found - X[i]) ** 2), rtol=1e-6)


def test_several_kernels_at_once_are_those_one_by_one(problem):
    Y, asked, within, X = problem
    rows, kernels = LeftOutRows(Y, asked, X, True), (Gaussian(0.1), Gaussian(1.0))
    values = lambda Z: np.stack([kernel(Z, Y) for kernel in kernels])
    together = rows.kernel_errors(values(Y), values(asked), values(within), RIDGES)
    for kernel, found in zip(kernels, together, strict=True):
        expected = rows.kernel_errors(kernel(Y), kernel(asked, Y), kernel(within, Y), RIDGES)
        assert_allclose(found, expected, rtol=1e-8)


def test_leaving_out_one_row_and_some_in_folds_find_the_same_error(rng):
    """Errors of the same regression by ten folds differ by no more than their own noise."""
    Y = rng.normal(size=(200, 2))
    X = np.column_stack([Y, Y[:, 0] * Y[:, 1]]) + 0.2 * rng.normal(size=(200, 3))
    kernel, ridge = Gaussian(0.3), np.array([0.1])
    one = LeftOutRows(Y, Y, X, True).kernel_errors(kernel(Y), kernel(Y), kernel(Y), ridge)[0, 0]
    folds = np.empty(200)
    for held in np.array_split(rng.permutation(200), 10):
        rest = np.setdiff1d(np.arange(200), held)
        mean = X[rest].mean(axis=0)
        weights = np.linalg.solve(kernel(Y[rest]) + 0.1 * np.eye(rest.size), X[rest] - mean)
        folds[held] = np.sum((mean + kernel(Y[held], Y[rest]) @ weights - X[held]) ** 2, axis=1)
    assert abs(np.mean(one - folds)) < 3 * np.std(one - folds) / 200**0.5 + 0.02 * np.mean(folds)


def test_ridges_that_rounding_would_spoil_do_not_compete(rng):
    Y, kernel = rng.normal(size=(60, 2)), Gaussian(1e-4)
    rows = LeftOutRows(Y, Y, rng.normal(size=(60, 3)), True)
    errors = rows.kernel_errors(kernel(Y), kernel(Y), kernel(Y), np.array([1e-15, 1.0]))
    assert np.isinf(errors[:, 0]).all() and np.isfinite(errors[:, 1]).all()


def test_many_columns_are_measured_by_few_with_the_same_lengths(rng):
    few, many = rng.normal(size=(300, 32)), rng.normal(size=(300, 1000)) * np.linspace(0, 2, 1000)
    assert measured_columns(few) is few
    measured = measured_columns(many)
    assert measured.shape == (300, 16)
    assert_allclose(np.sum(measured**2), np.sum(many**2), rtol=0.05)
