"""Fisher's criterion in feature space: laws, and different routes to one solution."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import cho_factor, cho_solve, eigh

from preimage.discriminants import GramFisher, ScatterFisher
from preimage.discriminants._point_coordinates import PointCoordinates
from preimage.discriminants._ridged import refined_solution
from preimage.discriminants._sparse_fisher import polished, sparse_paths
from preimage.feature_space import ClassMoments
from preimage.kernels import Gaussian, Polynomial


def data(rng, n=50, d=3, n_classes=2):
    codes = np.arange(n) % n_classes
    return rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(n_classes, d))[codes], codes


def same_up_to_scale(A, B, tol=1e-7):
    A, B = A / np.linalg.norm(A, axis=0), B / np.linalg.norm(B, axis=0)
    assert_allclose(np.abs(np.sum(A * B, axis=0)), 1, atol=tol)


def scatter_problem(K, codes, n_classes=2, regularizer="norm", weights=None, gram=None, **options):
    coordinates = PointCoordinates(K if gram is None else gram, regularizer)
    return ScatterFisher(ClassMoments.of(coordinates.of(K), codes, n_classes, weights), coordinates, **options)


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


@pytest.mark.parametrize("regularizer", ["norm", "identity", "both"])
def test_cholesky_eigen_and_quadratic_program_agree(rng, regularizer):
    X, codes = data(rng)
    K = Gaussian(0.3)(X)
    few = scatter_problem(K, codes, regularizer=regularizer)
    many = scatter_problem(K, codes, regularizer=regularizer, n_ridges=100)
    noise, means, between, _ = few.on_distinct_points(0.01)
    contrast = means[1] - means[0]
    ratios, alpha = few.directions(0.01)
    by_eigenvectors = many.directions(0.01)
    program = cho_solve(cho_factor(noise), contrast)
    program /= contrast @ program  # minimises αᵀN_μα subject to αᵀμ = 1
    generalized = eigh(between @ between.T, noise)[1][:, -1:]
    assert_allclose(by_eigenvectors[0], ratios, rtol=1e-8)
    for other in (by_eigenvectors[1], program[:, None], generalized):
        same_up_to_scale(K @ alpha, K @ other)
    share = np.prod(few.moments.counts) / few.moments.count
    assert_allclose(ratios[0] * (program @ noise @ program), share, rtol=1e-6)  # J_max times the minimum


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_short_form_on_all_points_equals_the_general_one(rng, n_classes, weighted):
    X, codes = data(rng, n_classes=n_classes)
    weights = rng.uniform(0.5, 2, size=50) if weighted else None
    K = Gaussian(0.3)(X)
    short, general = GramFisher(K, codes, n_classes, weights), scatter_problem(K, codes, n_classes, weights=weights)
    for ridge in (0.01, 1.0):
        (ratios, alpha), (expected, other) = short.directions(ridge), general.directions(ridge)
        assert_allclose(ratios, expected, rtol=1e-6)
        same_up_to_scale(K @ alpha, K @ other)
        same_up_to_scale(K @ short.contrasts(ridge), K @ general.contrasts(ridge))


def test_contrasts_are_the_discriminants_of_merged_classes(rng):
    X, codes = data(rng, n_classes=3)
    K = Gaussian(0.3)(X)
    contrasts = GramFisher(K, codes, 3, is_relative=False).contrasts(0.1)
    for c in range(3):
        alone = GramFisher(K, (codes == c).astype(int), 2, is_relative=False).directions(0.1)[1]
        same_up_to_scale(K @ contrasts[:, [c]], K @ alone)


def test_without_a_ridge_it_interpolates_the_labels(rng):
    X, codes = data(rng, n=30)
    K = Gaussian(2.0)(X)
    _, alpha = GramFisher(K, codes, 2).directions(0.0)
    same_up_to_scale(alpha - alpha.mean() * 0, _without_constant(K, 2.0 * codes - 1))


def _without_constant(K, y):
    """K⁻¹(y − b1) with coefficients that sum to zero: the interpolation of labels up to a constant."""
    solved = np.linalg.solve(K, np.column_stack([y, np.ones(len(y))]))
    return (solved[:, 0] - solved[:, 1] * solved[:, 0].sum() / solved[:, 1].sum())[:, None]


@pytest.mark.parametrize("regularizer", ["norm", "identity"])
def test_direction_of_ridge_regression_with_a_constant(rng, regularizer):
    X, codes = data(rng)
    K, y = Gaussian(0.3)(X), 2.0 * codes - 1
    H = np.eye(50) - 1 / 50
    penalty = K if regularizer == "norm" else np.eye(50)
    regression = np.linalg.solve(K @ H @ K + 0.1 * penalty, K @ H @ y)[:, None]
    _, alpha = scatter_problem(K, codes, regularizer=regularizer, is_relative=False).directions(0.1)
    same_up_to_scale(K @ alpha, K @ regression)


def test_repeated_points_change_nothing_with_the_norm(rng):
    X, codes = data(rng, n=20)
    Z = np.concatenate([X, X[:5]])
    kernel = Gaussian(0.3)
    values = []
    for points in (X, Z):
        problem = scatter_problem(kernel(X, points), codes, gram=kernel(points), is_relative=False)
        _, alpha = problem.directions(0.1)
        values.append(kernel(X, points) @ alpha)
    same_up_to_scale(*values)


def test_relative_ridges_do_not_see_the_scale_of_the_kernel(rng):
    X, codes = data(rng)
    K = Gaussian(0.3)(X)
    for regularizer in ("norm", "identity", "both"):
        a, b = (scatter_problem(s * K, codes, regularizer=regularizer).directions(0.1)[1] for s in (1.0, 100.0))
        same_up_to_scale(K @ a, K @ b)
    a, b = (GramFisher(s * K, codes, 2).directions(0.1)[1] for s in (1.0, 100.0))
    same_up_to_scale(a, b)


def test_sparse_path_is_optimal_and_ends_at_the_discriminant(rng):
    X, codes = data(rng)
    problem = scatter_problem(Gaussian(0.3)(X), codes, regularizer="identity")
    ((path, noise, contrast, _),) = sparse_paths(problem, 0.1)
    for penalty in path.penalties[[1, 8, 20]] * 0.97:
        alpha = path.at(penalty)
        eta = 2 * alpha @ noise @ alpha + penalty * np.abs(alpha).sum()
        slope = eta * contrast - 2 * noise @ alpha  # λ times a subgradient of the L1 norm
        assert_allclose(slope[alpha != 0], penalty * np.sign(alpha[alpha != 0]), rtol=1e-8)
        assert np.max(np.abs(slope)) <= penalty * (1 + 1e-8)
        assert_allclose(contrast @ alpha, 1)
    same_up_to_scale(path.coefficients[:, -1:], problem.directions(0.1)[1])
    first = int(np.argmax(np.abs(contrast)))
    assert_allclose(path.at(np.inf), np.eye(50)[first] / contrast[first])


def test_polished_support_is_the_discriminant_on_it(rng):
    X, codes = data(rng)
    kernel = Gaussian(0.3)
    problem = scatter_problem(kernel(X), codes, regularizer="identity", is_relative=False)
    ((path, noise, contrast, _),) = sparse_paths(problem, 0.1, 10)
    support = path.support(10)
    assert 8 <= support.size <= 10
    few = scatter_problem(
        kernel(X, X[support]), codes, regularizer="identity", gram=kernel(X[support]), is_relative=False
    )
    _, alpha = few.directions(0.1)
    same_up_to_scale(polished(noise, contrast, support)[support, None], alpha)


def test_tangent_term_never_raises_the_variation_along_the_transformation(rng):
    X, codes = data(rng)
    kernel, t = Gaussian(0.3), 1e-3
    shift = np.array([t, 0, 0])
    G = (kernel(X, X + shift) - kernel(X, X - shift)) / (2 * t * np.sqrt(50))
    variations = []
    for weight in (0, 0.1, 1, 10, 100):
        B = PointCoordinates(kernel(X), "norm").basis
        problem = scatter_problem(kernel(X), codes, tangent=weight * 50 * (B.T @ G) @ (B.T @ G).T)
        _, alpha = problem.directions(0.01)
        means = problem.moments_of(alpha).means[:, 0]
        gap = means[1] - means[0]
        variations.append(np.sum((G.T @ alpha) ** 2) / gap**2)
    assert np.all(np.diff(variations) <= 0)


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


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 1.0])
def test_factors_in_single_precision_lose_no_digits(rng, ridge):
    K = Gaussian(0.3)(rng.normal(size=(120, 3)))
    B = rng.normal(size=(120, 2))
    refined = refined_solution(K, ridge, B)
    exact = np.linalg.solve(K + ridge * np.eye(120), B)
    if refined is not None:
        assert_allclose(refined, exact, rtol=1e-6, atol=1e-8 * np.abs(exact).max())
    assert refined is not None or ridge < 1e-3


def test_matrices_too_coarse_for_single_precision_are_left_to_double(rng):
    K = Gaussian(0.01)(rng.normal(size=(100, 2)))
    assert refined_solution(K, 1e-12, np.ones((100, 1))) is None
    assert refined_solution(1e60 * np.eye(5), 1.0, np.ones((5, 1))) is None
