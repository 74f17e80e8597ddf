"""Discriminants on all points: different routes to one solution, and rows left out."""

import numpy as np
import pytest
from fisher_data import data, same_up_to_scale, scatter_problem
from numpy.testing import assert_allclose

from preimage._models.discriminants import GramFisher
from preimage.kernels import Gaussian


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_short_form_on_all_points_equals_the_general_one(rng, n_classes, weighted):
    X, codes = data(rng, n_classes=n_classes)
    weights = rng.uniform(0.5, 2, size=50) if weighted else None
    K = Gaussian(0.3)(X)
    short, general = GramFisher(K, codes, n_classes, weights), scatter_problem(K, codes, n_classes, weights=weights)
    for ridge in (0.01, 1.0):
        (ratios, alpha), (expected, other) = short.directions([ridge])[0], general.directions([ridge])[0]
        assert_allclose(ratios, expected, rtol=1e-6)
        same_up_to_scale(K @ alpha, K @ other)
        same_up_to_scale(K @ short.contrasts(ridge), K @ general.contrasts(ridge))


def test_contrasts_are_the_discriminants_of_merged_classes(rng):
    X, codes = data(rng, n_classes=3)
    K = Gaussian(0.3)(X)
    contrasts = GramFisher(K, codes, 3, is_relative=False).contrasts(0.1)
    for c in range(3):
        alone = GramFisher(K, (codes == c).astype(int), 2, is_relative=False).directions([0.1])[0][1]
        same_up_to_scale(K @ contrasts[:, [c]], K @ alone)


def test_without_a_ridge_it_interpolates_the_labels(rng):
    X, codes = data(rng, n=30)
    K = Gaussian(2.0)(X)
    _, alpha = GramFisher(K, codes, 2).directions([0.0])[0]
    same_up_to_scale(alpha - alpha.mean() * 0, _without_constant(K, 2.0 * codes - 1))


def _without_constant(K, y):
    """K⁻¹(y − b1) with coefficients that sum to zero: the interpolation of labels up to a constant."""
    solved = np.linalg.solve(K, np.column_stack([y, np.ones(len(y))]))
    return (solved[:, 0] - solved[:, 1] * solved[:, 0].sum() / solved[:, 1].sum())[:, None]


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refitting(rng, weighted):
    X, codes = data(rng, n=15)
    K, y = Gaussian(0.3)(X), (2.0 * codes - 1)[:, None]
    weights = rng.uniform(0.5, 2, size=15) if weighted else np.ones(15)
    values = GramFisher(K, codes, 2, weights, is_relative=False).leave_one_out(0.3, y)[:, 0]
    for i in range(15):
        rest = np.arange(15) != i
        A = np.block([[np.zeros((1, 1)), np.ones((1, 14))], [np.ones((14, 1)), _ridged(K, weights, rest)]])
        solution = np.linalg.solve(A, np.concatenate([[0], y[rest, 0]]))
        assert_allclose(values[i], solution[0] + K[i, rest] @ solution[1:], rtol=1e-8)


def _ridged(K, weights, rows):
    return K[np.ix_(rows, rows)] + np.diag(0.3 / weights[rows])


@pytest.mark.parametrize("n", [6, 10])
def test_left_out_errors_of_minimum_norm_regression_follow_the_law(n):
    rng, d, noise, errors = np.random.default_rng(1), 20, 0.5, []
    w = np.full(d, 2 / np.sqrt(d))
    for _ in range(800):
        X = rng.normal(size=(n, d))
        y = X @ w + np.sqrt(noise) * rng.normal(size=n)
        problem = GramFisher(X @ X.T, np.arange(n) % 2, 2, is_relative=False)
        errors.append(np.mean((problem.leave_one_out(0.0, y[:, None])[:, 0] - y) ** 2))
    m = n - 2  # points of a fold, less one for the constant
    law = (1 - m / d) * 4 + noise * (d - 1) / (d - m - 1)
    assert np.mean(errors) == pytest.approx(law * n / (n - 1), rel=0.1)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_decisions_are_a_line_of_left_out_values(rng, weighted):
    X, codes = data(rng, n=20)
    weights = rng.uniform(0.5, 2, size=20) if weighted else None
    problem = GramFisher(Gaussian(0.3)(X), codes, 2, weights)
    signs = (2.0 * codes - 1)[:, None]
    fitted = problem._least_squares(signs, problem.ridge(0.1))[0][:, 0]
    values, levels = problem.left_out_decisions(0.1, 3 * fitted - 1)
    assert_allclose(values, 3 * problem.leave_one_out(0.1, signs)[:, 0] - 1)
    fractions = np.full(20, 1 / 20) if weights is None else weights / weights.sum()
    assert_allclose(levels, fractions @ (3 * fitted - 1) + fractions * (values - (3 * signs[:, 0] - 1)))
    assert problem.left_out_decisions(0.1, np.sin(5 * fitted)) is None
