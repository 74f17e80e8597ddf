"""Errors of regressions on rows that were held out, against regressions that are fitted one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.kernels import Gaussian, Linear
from preimage.solvers._held_out_maps import RIDGES, Fold, LinearFit, mean_diagonal, measured_columns


@pytest.fixture
def problem(rng):
    Y, Z = rng.normal(size=(30, 3)) + 1, rng.normal(size=(8, 3)) + 1
    to_inputs = lambda rows: np.column_stack([rows @ [1, 2, 3], rows[:, 0] ** 2, np.sin(rows[:, 1])])
    return Y, to_inputs(Y), Z, to_inputs(Z)


def test_a_linear_fit_is_that_of_least_squares(problem):
    Y, X, _, _ = problem
    fit = LinearFit(Y, X)
    assert_allclose(fit.map(), np.linalg.lstsq(Y, X, rcond=None)[0])
    assert_allclose(fit.map(0.3), np.linalg.solve(Y.T @ Y + 0.3 * np.eye(3), Y.T @ X))
    assert_allclose(Y.T @ fit.weights(0.3), fit.map(0.3))


def test_columns_of_rounding_errors_are_left_out_of_a_linear_fit(problem, rng):
    Y, X, _, _ = problem
    doubled = np.column_stack([Y, Y[:, 0] + 1e-14 * rng.normal(size=30)])
    assert_allclose(doubled @ LinearFit(doubled, X).map(), Y @ LinearFit(Y, X).map(), atol=1e-8)


@pytest.mark.parametrize("center", [True, False])
def test_errors_are_those_of_regressions_one_by_one(problem, center):
    Y, X, Z, truth = problem
    shift, mean = (Y.mean(axis=0), X.mean(axis=0)) if center else (0, 0)
    fold = Fold.of(*problem, center)
    fit, kernel = LinearFit(fold.Y, fold.X), Gaussian(0.2)
    alone, after = fold.errors(kernel, fit)
    linear = np.linalg.lstsq(Y - shift, X - mean, rcond=None)[0]
    left = X - mean - (Y - shift) @ linear
    for place in (8, 12, 16):
        solve = np.linalg.inv(kernel(Y) + RIDGES[place] * np.eye(30))
        found = mean + kernel(Z, Y) @ solve @ (X - mean)
        assert_allclose(alone[place], np.sum((found - truth) ** 2, axis=1), rtol=1e-5)
        found = mean + (Z - shift) @ linear + kernel(Z, Y) @ solve @ left
        assert_allclose(after[place], np.sum((found - truth) ** 2, axis=1), rtol=1e-5)
        ridge = RIDGES[place] * mean_diagonal(Linear(), Y - shift)
        found = mean + (Z - shift) @ fit.map(ridge)
        assert_allclose(fold.linear_errors(fit)[place], np.sum((found - truth) ** 2, axis=1), rtol=1e-8)


def test_many_columns_are_measured_by_few_with_the_same_lengths(rng):
    few, many = rng.normal(size=(300, 64)), rng.normal(size=(300, 1000)) * np.linspace(0, 2, 1000)
    assert measured_columns(few) is few
    measured = measured_columns(many)
    assert measured.shape == (300, 32)
    assert_allclose(np.sum(measured**2), np.sum(many**2), rtol=0.05)
