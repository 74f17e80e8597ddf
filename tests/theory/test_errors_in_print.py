"""Formulas that are wrong as printed, next to the corrected ones: the tables "Errors in print" of docs/theory."""

import naive
import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

from preimage import KernelPCA, SemiSupervisedKernelPCA
from preimage._models.components import secular_minimum
from preimage.feature_space import Expansion
from preimage.inflation import renormalize
from preimage.kernels import Gaussian, Linear, Polynomial, Sigmoid, Warped
from preimage.neuro import reproducible_map
from preimage.solvers import FixedPoint, free_length_preimages
from preimage.widths import enclosing_ball


@pytest.fixture
def points(rng):
    return rng.normal(size=(12, 3))


@pytest.fixture
def labels():
    return np.where(np.arange(12) < 5, -1.0, 1.0)


def centering(n):
    return np.eye(n) - 1 / n


# Kernel PCA


def test_axes_have_length_one_with_the_root_of_the_eigenvalue_of_the_matrix(points):
    K = naive.centered(Gaussian(0.3)(points))
    values, vectors = np.linalg.eigh(K)
    value, u, n = values[-1], vectors[:, -1], len(points)
    length = lambda alpha: np.sqrt(alpha @ K @ alpha)
    assert length(u / np.sqrt(value)) == pytest.approx(1)
    assert length(u / np.sqrt(value / n)) == pytest.approx(np.sqrt(n))  # λ α·α = 1 with the covariance's λ
    assert length(u / value) == pytest.approx(1 / np.sqrt(value))  # α / (nλ)


def test_coordinates_belong_to_centred_images(points, rng):
    kernel, new = Gaussian(0.3), rng.normal(size=(4, 3))
    K = kernel(points)
    _, alpha = naive.kernel_pca(K, 2)
    of_centred, of_plain = naive.centered_test_gram(kernel(new, points), K) @ alpha, kernel(new, points) @ alpha
    offset = (K @ alpha).mean(axis=0)
    np.testing.assert_allclose(of_plain - offset, of_centred, atol=1e-12)
    assert abs(offset).max() > 0.01


def test_centring_takes_one_eigenvalue_away(points):
    assert np.linalg.matrix_rank(Gaussian(1.0)(points)) == 12
    assert np.linalg.matrix_rank(naive.centered(Gaussian(1.0)(points))) == 11


def test_centred_kernel_values_as_features_are_another_problem(points):
    K, H = Gaussian(0.3)(points), centering(12)
    eigenvalues = lambda A: np.linalg.eigvalsh(A)[::-1][:3]
    np.testing.assert_allclose(eigenvalues(K @ K), eigenvalues(K) ** 2)
    assert abs(eigenvalues(H @ K @ K @ H) - eigenvalues(H @ K @ H) ** 2).max() > 0.01


def test_monomials_have_multinomial_weights():
    """x₁²x₂ has weight √3 in degree three; as printed, √((d − 2 + 1)!) = √2."""
    x, y = np.array([[1.0, 0.5]]), np.array([[0.7, 0.9]])
    degree, correct = 3, lambda z: naive.monomials(z, 3)[0]  # x₁³, x₁²x₂, x₁x₂², x₂³
    printed = lambda z: correct(z) * np.sqrt([1, 2 / 3, 2 / 3, 1])
    assert correct(x) @ correct(y) == pytest.approx((x @ y.T).item() ** degree)
    assert abs(printed(x) @ printed(y) - (x @ y.T).item() ** degree) > 1e-3


def test_coefficients_of_online_centres_are_added_to():
    """A point that returns already has a coefficient; setting it to ζ, the centre is no mean any more."""
    gamma, zeta = np.array([0.25, 0.25, 0.5]), 0.2
    added, replaced = (1 - zeta) * gamma, (1 - zeta) * gamma
    added[2] += zeta
    replaced[2] = zeta
    assert added.sum() == pytest.approx(1)
    assert replaced.sum() == pytest.approx(0.6)


def test_multiquadrics_and_sigmoids_have_negative_eigenvalues(points):
    multiquadric = np.sqrt(1 + ((points[:, None] - points) ** 2).sum(axis=2))
    assert np.linalg.eigvalsh(multiquadric)[0] < -0.1
    assert np.linalg.eigvalsh(Sigmoid(1.0, -1.0)(points))[0] < -0.1


# Pre-images


def test_the_projection_contains_the_mean(points):
    model = KernelPCA(2, gamma=0.3).fit(points)
    target = model.subspace_.embed(model.transform(points[:3]))
    without = target.coefficients - 1 / 12
    K = Gaussian(0.3)(points)
    coordinates = lambda coefficients: (K @ coefficients).T @ model.subspace_.frame.coefficients - offset
    offset = K.mean(axis=0) @ model.subspace_.frame.coefficients
    np.testing.assert_allclose(coordinates(target.coefficients), model.transform(points[:3]), atol=1e-10)
    assert abs(coordinates(without) - model.transform(points[:3])).max() > 0.01
    np.testing.assert_allclose(np.sum(target.coefficients, axis=0), 1)


def test_free_length_pre_images_maximise(points, rng):
    target = Expansion(Polynomial(2, gamma=1.0, coef0=1.0), points, rng.normal(size=(12, 1)))
    quotient = lambda z: target(z[None])[0, 0] ** 2 / target.kernel.diagonal(z[None])[0]
    z = free_length_preimages(target)[0][0]
    assert all(quotient(z) >= quotient(z + 0.1 * rng.normal(size=3)) for _ in range(20))


def test_the_penalty_of_the_thesis_is_half_of_that_of_the_papers(points, rng):
    """(R + λ‖z − x₀‖²)/2 = −ψ + (λ/2)‖z − x₀‖² up to a constant."""
    target, anchor = Expansion(Gaussian(0.5), points, np.full((12, 1), 1 / 12)), rng.normal(size=(1, 3))
    found = FixedPoint(penalty=0.4, tol=1e-10).solve(target, start=anchor, anchor=anchor).points[0]
    half = lambda weight: lambda z: -target(z[None])[0, 0] + weight * ((z - anchor[0]) ** 2).sum()
    options = {"x0": found, "tol": 1e-12}
    np.testing.assert_allclose(minimize(half(0.2), **options).x, found, atol=1e-5)
    assert abs(minimize(half(0.4), **options).x - found).max() > 1e-3


def test_distances_of_projections_underestimate_how_kernel_values_differ(points):
    model = KernelPCA(2, gamma=2.0).fit(points)
    target = model.subspace_.embed(model.transform(points[1:2]))
    printed = 1 - target.squared_distances(points)[:, 0] / 2
    inner, norm = target(points)[:, 0], target.squared_norms()[0]
    np.testing.assert_allclose(printed, inner + (1 - norm) / 2)
    assert norm < 0.7  # so that a constant of 0.15 or more is added to all values


# Expansions


def test_exact_removal_costs_no_more_than_removal_by_eigenvectors(points, rng):
    K, alpha = Gaussian(0.3)(points), rng.normal(size=12)
    values, vectors = np.linalg.eigh(K)
    by_eigenvectors = (alpha**2 * values[:, None] / vectors.T**2).min(axis=0)
    exact = alpha**2 / np.diag(np.linalg.inv(K))
    assert np.all(exact <= by_eigenvectors * (1 + 1e-9))
    assert np.median(by_eigenvectors / exact) > 1.1


def test_inhomogeneous_quadratic_kernels_need_one_vector_more(points, rng):
    alpha = rng.normal(size=12)
    extended = np.hstack([points, np.ones((12, 1))])
    assert np.linalg.matrix_rank(points.T * alpha @ points) == 3
    assert np.linalg.matrix_rank(extended.T * alpha @ extended) == 4


def test_projections_on_one_image_divide_by_its_squared_norm(points):
    K = Polynomial(2, gamma=1.0, coef0=1.0)(points)
    residual = lambda coefficient: K[1, 0] - coefficient * K[0, 0]
    assert residual(K[1, 0] / K[0, 0]) == pytest.approx(0, abs=1e-12)
    assert abs(residual(K[1, 0] / K[0, 0] ** 2)) > 0.1


def test_frobenius_and_operator_norms_prefer_different_columns():
    rng = np.random.default_rng(3)
    disagreements = 0
    for _ in range(100):
        A = rng.normal(size=(4, 2))
        K = A @ A.T + 0.3 * np.eye(4)
        left = [K - np.outer(q, q @ K) for q in (K / np.linalg.norm(K, axis=0)).T]
        best = [np.argmin([np.linalg.norm(R, ord) for R in left]) for ord in ("fro", 2)]
        disagreements += best[0] != best[1]
    assert disagreements > 0


def test_the_bound_for_independent_samples_fails_for_fixed_numbers():
    m, drawn, difference, probability = 2, 1, 0.5, 0.5
    assert np.exp(-2 * m * drawn * difference**2 / (m - drawn)) < probability
    assert np.exp(-2 * drawn * difference**2 / (1 - (drawn - 1) / m)) > probability


# Labels and small samples


def test_interpolating_coefficients_are_discriminants(points, labels):
    K = Gaussian(0.3)(points)
    alpha = np.linalg.solve(K, labels)
    class_means = [K[:, labels == label].mean(axis=1) for label in (-1, 1)]
    D = K - np.where(labels > 0, class_means[1][:, None], class_means[0][:, None])
    assert np.linalg.matrix_rank(D) == 10  # n − 2: without a ridge the quotient is unbounded
    assert np.linalg.norm(alpha @ D) < 1e-8
    assert alpha @ (class_means[1] - class_means[0]) == pytest.approx(2)


def test_the_multiplier_of_semi_supervised_components_is_subtracted(rng):
    A, B = rng.normal(size=(2, 5, 8))
    C, P, b = np.eye(5) + A @ A.T, B @ B.T, rng.normal(size=5)
    found = secular_minimum(C, P, b, 9.0)
    size = lambda sign: (h := np.linalg.solve(C + sign * found.multiplier * P, b)) @ P @ h
    assert size(-1) == pytest.approx(9)
    assert abs(size(+1) - 9) > 1


def test_projections_on_functions_that_are_not_centred(points):
    y = np.array([0, 1, -1, -1, 0, 1, -1, -1, -1, -1, -1, -1])
    model = SemiSupervisedKernelPCA(2, gamma=0.3).fit(points, y)
    K, A, Y = Gaussian(0.3)(points), model.subspace_.frame.coefficients, model.transform(points[:4])
    centred = lambda values: values - K.mean(axis=0) @ A
    again = lambda coefficients: centred((K @ coefficients.T).T @ A)
    combined = Y @ A.T
    np.testing.assert_allclose(again(combined + 1 / 12), Y, atol=1e-10)
    assert abs(again(combined + (1 - combined.sum(axis=1, keepdims=True)) / 12) - Y).max() > 1e-3


def test_fixed_points_of_warped_kernels_have_one_term_of_each_kind(points, rng):
    """At a stationary point (W4) stays and the printed denominator, with ξᵀKM twice, moves."""
    kernel = Warped(Gaussian(0.3)).resolve(points)
    xi = np.full((12, 1), 1 / 12)
    target = Expansion(kernel, points, xi)
    z = FixedPoint(tol=1e-12, max_iter=5000).solve(target, start=points.mean(axis=0)[None]).points
    K, k = Gaussian(0.3)(points), Gaussian(0.3)(points, z)[:, 0]
    M = np.linalg.solve(K, K - kernel(points)) @ np.linalg.inv(K)
    weights = lambda times: k * (M @ k + xi[:, 0] - times * (M @ K @ xi)[:, 0])
    np.testing.assert_allclose(weights(1) @ points / weights(1).sum(), z[0], atol=1e-5)
    assert abs(weights(1) @ points / weights(2).sum() - z[0]).max() > 1e-2


def test_the_offset_is_not_part_of_the_lost_projection(rng):
    X = np.hstack([rng.normal(size=(20, 3)), np.zeros((20, 2))])
    x = rng.normal(size=(1, 5))
    inside = np.hstack([x[:, :3], np.zeros((1, 2))])
    kernel = Gaussian(0.2)
    K = kernel(X)
    _, alpha = naive.kernel_pca(K, 2)
    offset = (K @ alpha).mean(axis=0)
    coordinates = lambda z: kernel(z, X) @ alpha - offset
    factor = np.exp(-0.2 * (x[:, 3:] ** 2).sum())
    np.testing.assert_allclose(factor * (coordinates(inside) + offset) - offset, coordinates(x), atol=1e-12)
    assert abs(factor * coordinates(inside) - coordinates(x)).max() > 1e-3


def test_orders_are_not_ranks():
    training, new = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.3, 0.1, 0.4, 0.2])
    correct = renormalize(training[:, None], new[:, None])[:, 0]
    assert np.all(np.diff(correct[np.argsort(new)]) > 0)
    printed = training[np.argsort(new)]
    assert not np.all(np.diff(printed[np.argsort(new)]) > 0)


def test_cubic_splines_through_sorted_values_are_not_increasing():
    two_groups = np.array([0.0, 0.01, 0.02, 1.0, 1.01, 1.02])
    spline = CubicSpline(np.arange(6), two_groups)(np.linspace(0, 5, 101))
    assert np.diff(spline).min() < 0 and spline.max() > 1.02


def test_noise_adds_to_the_variance_of_predictions():
    """Minimum-norm least squares in d = 40 dimensions: the mean of ‖ŵ‖² over 400 draws."""
    rng = np.random.default_rng(0)
    d, n, noise, w = 40, 15, 0.5, np.full(40, 2 / np.sqrt(40))
    draws = []
    for _ in range(400):
        X = rng.normal(size=(n, d))
        y = X @ w + np.sqrt(noise) * rng.normal(size=n)
        draws.append((np.linalg.pinv(X) @ y) @ (np.linalg.pinv(X) @ y))
    printed, correct = n / d * (w @ w), n / d * (w @ w) + noise * n / (d - n - 1)
    error = np.std(draws) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - correct) < 4 * error < abs(np.mean(draws) - printed)


def test_axes_move_against_the_point_that_is_left_out():
    """The leading axis without the last point, to first order: −(1/n) Σ (u_m·d)(u_k·d)/(λ_k − λ_m) u_m."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * [3.0, 2.0, 1.0]
    values, U = np.linalg.eigh(np.cov(X.T, bias=True))
    d = X[-1] - X[:-1].mean(axis=0)
    step = sum((U[:, m] @ d) * (U[:, 2] @ d) / (values[2] - values[m]) * U[:, m] for m in (0, 1)) / 400
    moved = np.linalg.eigh(np.cov(X[:-1].T, bias=True))[1][:, 2]
    change = moved * np.sign(moved @ U[:, 2]) - U[:, 2]
    assert np.linalg.norm(change + step) < 0.2 * np.linalg.norm(step) < np.linalg.norm(change - step)


def test_weights_grow_on_far_points(points):
    """Multiplicative weights for the enclosing ball: as printed, the radius of the nearest point is found."""
    G = points @ points.T
    true = enclosing_ball(Linear(), points).radius ** 2

    def radius(sign, steps=2000, rate=0.1):
        p, log_q = np.full(12, 1 / 12), np.zeros(12)
        for t in range(1, steps + 1):
            distances = p @ G @ p + np.diag(G) - 2 * G @ p
            log_q += sign * rate * distances
            q = np.exp(log_q - log_q.max())
            p = (1 - 1 / t) * p + q / q.sum() / t
        distances = p @ G @ p + np.diag(G) - 2 * G @ p
        return distances[np.argmax(q)], distances.max()

    assert radius(+1)[1] == pytest.approx(true, rel=0.02)
    assert radius(-1)[0] < 0.1 * true


def test_half_the_largest_distance_is_a_lower_bound_of_the_radius():
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    assert enclosing_ball(Linear(), triangle).radius == pytest.approx(1 / np.sqrt(3)) and 1 / np.sqrt(3) > 0.5


def test_distances_to_drawn_means_are_too_large_by_their_spread(points, rng):
    p = rng.dirichlet(np.ones(12))
    expected = (p[:, None] * ((points[:, None] - points) ** 2).sum(axis=2)).sum(axis=0)
    spread = p @ (points**2).sum(axis=1) - (p @ points) @ (p @ points)
    np.testing.assert_allclose(expected - ((p @ points - points) ** 2).sum(axis=1), spread)
    assert spread > 0


def test_the_size_of_a_reproducible_map_follows_from_the_correlation(rng):
    first, second = rng.normal(size=(2, 500))
    reproducible = reproducible_map(first, first + second)
    r = np.corrcoef(first, first + second)[0, 1]
    assert np.std(reproducible) == pytest.approx(np.sqrt((1 + r) / (1 - r)))
