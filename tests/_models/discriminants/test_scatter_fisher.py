"""Discriminants on given points, from moments: laws of the criterion."""

import naive
import numpy as np
import pytest
from fisher_data import data, same_up_to_scale, scatter_problem
from numpy.testing import assert_allclose
from scipy.linalg import cho_factor, cho_solve, eigh

from preimage._models.discriminants import GramFisher
from preimage._models.discriminants._scatter_fisher import PointCoordinates
from preimage.feature_space import ClassMoments
from preimage.kernels import Gaussian, Polynomial


def test_quadratic_forms_are_those_of_the_feature_map(rng):
    X, codes = data(rng)
    Z = rng.normal(size=(7, 3))
    kernel, alpha = Polynomial(2, gamma=1.0, coef0=0.0), rng.normal(size=7)
    w = naive.monomials(Z, 2).T @ alpha
    moments = ClassMoments.of(kernel(X, Z), codes, 2)
    features = ClassMoments.of(naive.monomials(X, 2), codes, 2)
    assert_allclose(alpha @ moments.within @ alpha, w @ features.within @ w)
    assert_allclose(moments.means @ alpha, features.means @ w)
    assert_allclose(alpha @ moments.between_factor, w @ features.between_factor)


def test_scatter_within_has_the_rank_of_the_rows_less_the_classes(rng):
    X, codes = data(rng, n=20)
    K = Gaussian(0.5)(X)
    assert np.linalg.matrix_rank(ClassMoments.of(K, codes, 2).within, tol=1e-9) == 18


@pytest.mark.parametrize("regularizer", ["norm", "identity"])
def test_cholesky_eigen_and_quadratic_program_agree(rng, regularizer):
    X, codes = data(rng)
    K = Gaussian(0.3)(X)
    few = scatter_problem(K, codes, regularizer=regularizer)
    many = scatter_problem(K, codes, regularizer=regularizer, n_ridges=100)
    noise, means, between, _ = few.on_distinct_points(0.01)
    contrast = means[1] - means[0]
    ratios, alpha = few.directions([0.01])[0]
    by_eigenvectors = many.directions([0.01])[0]
    program = cho_solve(cho_factor(noise), contrast)
    program /= contrast @ program  # minimises αᵀN_μα subject to αᵀμ = 1
    generalized = eigh(between @ between.T, noise)[1][:, -1:]
    assert_allclose(by_eigenvectors[0], ratios, rtol=1e-8)
    for other in (by_eigenvectors[1], program[:, None], generalized):
        same_up_to_scale(K @ alpha, K @ other)
    share = np.prod(few.moments.counts) / few.moments.count
    assert_allclose(ratios[0] * (program @ noise @ program), share, rtol=1e-6)  # J_max times the minimum


@pytest.mark.parametrize("regularizer", ["norm", "identity"])
def test_direction_of_ridge_regression_with_a_constant(rng, regularizer):
    X, codes = data(rng)
    K, y = Gaussian(0.3)(X), 2.0 * codes - 1
    H = np.eye(50) - 1 / 50
    penalty = K if regularizer == "norm" else np.eye(50)
    regression = np.linalg.solve(K @ H @ K + 0.1 * penalty, K @ H @ y)[:, None]
    _, alpha = scatter_problem(K, codes, regularizer=regularizer, is_relative=False).directions([0.1])[0]
    same_up_to_scale(K @ alpha, K @ regression)


def test_repeated_points_change_nothing_with_the_norm(rng):
    X, codes = data(rng, n=20)
    Z = np.concatenate([X, X[:5]])
    kernel = Gaussian(0.3)
    values = []
    for points in (X, Z):
        problem = scatter_problem(kernel(X, points), codes, gram=kernel(points), is_relative=False)
        _, alpha = problem.directions([0.1])[0]
        values.append(kernel(X, points) @ alpha)
    same_up_to_scale(*values)


def test_relative_ridges_do_not_see_the_scale_of_the_kernel(rng):
    X, codes = data(rng)
    K = Gaussian(0.3)(X)
    for regularizer in ("norm", "identity", "both"):
        a, b = (scatter_problem(s * K, codes, regularizer=regularizer).directions([0.1])[0][1] for s in (1.0, 100.0))
        same_up_to_scale(K @ a, K @ b)
    a, b = (GramFisher(s * K, codes, 2).directions([0.1])[0][1] for s in (1.0, 100.0))
    same_up_to_scale(a, b)


def test_tangent_term_never_raises_the_variation_along_the_transformation(rng):
    X, codes = data(rng)
    kernel, t = Gaussian(0.3), 1e-3
    shift = np.array([t, 0, 0])
    G = (kernel(X, X + shift) - kernel(X, X - shift)) / (2 * t * np.sqrt(50))
    variations = []
    for weight in (0, 0.1, 1, 10, 100):
        B = PointCoordinates(kernel(X), "norm").basis
        problem = scatter_problem(kernel(X), codes, tangent=weight * 50 * (B.T @ G) @ (B.T @ G).T)
        _, alpha = problem.directions([0.01])[0]
        means = problem.moments_of(alpha).means[:, 0]
        gap = means[1] - means[0]
        variations.append(np.sum((G.T @ alpha) ** 2) / gap**2)
    assert np.all(np.diff(variations) <= 0)
