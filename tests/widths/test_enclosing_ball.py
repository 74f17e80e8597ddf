"""The smallest ball: equal to the quadratic programme, with all points inside, for any inner products."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Linear, Multiquadric, Polynomial, Sigmoid
from preimage.widths import enclosing_ball
from preimage.widths._enclosing import center_distances, gram_ball

SHAPES = [(2, 1), (5, 2), (15, 3), (10, 20), (60, 2), (100, 50), (80, 200)]


def gram_of(n, d, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, d))
    return points @ points.T


def dual_value(G, p):
    return p @ np.diag(G) - p @ G @ p


def by_programming(G):
    """The dual by sequential least squares: slow, and right."""
    n, scale = len(G), np.diag(G).max()
    H = G / scale
    result = minimize(
        lambda p: -dual_value(H, p),
        np.full(n, 1 / n),
        jac=lambda p: 2 * H @ p - np.diag(H),
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones_like(p)},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 2000},
    )
    return -scale * result.fun


def by_enumeration(G):
    """The largest of all circumscribed balls of few points that contain the rest: exact for points of the plane."""
    from itertools import combinations

    best = None
    for size in (2, 3):
        for support in combinations(range(len(G)), size):
            support = list(support)
            matrix = np.ones((size + 1, size + 1))
            matrix[:size, :size], matrix[-1, -1] = 2 * G[np.ix_(support, support)], 0
            weights = np.linalg.lstsq(matrix, np.append(np.diag(G)[support], 1), rcond=None)[0][:size]
            p = np.zeros(len(G))
            p[support] = weights
            distances = center_distances(G, p)
            if weights.min() >= -1e-12 and distances.max() <= distances[support].max() * (1 + 1e-9):
                best = distances.max() if best is None else min(best, distances.max())
    return best


@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 2), (15, 3), (10, 20), (30, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_the_radius_is_that_of_the_quadratic_programme(n, d, seed):
    G = gram_of(n, d, seed)
    ball = gram_ball(G)
    assert ball.converged
    # The programme stops where rounding errors of its value hide the rest: a square root of what is left of digits.
    np.testing.assert_allclose(ball.squared_radius, by_programming(G), rtol=2e-7)
    assert ball.lower_bound >= by_programming(G) * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_in_the_plane_two_or_three_points_hold_the_ball(seed):
    G = gram_of(9, 2, seed)
    np.testing.assert_allclose(gram_ball(G).squared_radius, by_enumeration(G), rtol=1e-10)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_radius_is_that_of_piqp(n, d):
    piqp = pytest.importorskip("piqp", reason="piqp is not installed")
    G = gram_of(n, d)
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-13)
    solver.setup(2 * G, -np.diag(G), np.ones((1, n)), np.ones(1), x_l=np.zeros(n), x_u=np.full(n, np.inf))
    solver.solve()
    p = np.maximum(solver.result.x, 0)
    np.testing.assert_allclose(gram_ball(G).squared_radius, dual_value(G, p / p.sum()), rtol=1e-10)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_all_points_are_inside_and_those_with_weight_on_the_sphere(n, d):
    G = gram_of(n, d)
    ball = gram_ball(G)
    distances = center_distances(G, ball.weights)
    assert np.isclose(ball.weights.sum(), 1) and ball.weights.min() >= 0
    assert distances.max() <= ball.squared_radius * (1 + 1e-12)
    np.testing.assert_allclose(distances[ball.weights > 0], ball.squared_radius, rtol=1e-9)
    assert 0 <= ball.gap <= 1e-12 * ball.squared_radius or abs(ball.gap) < 1e-14 * ball.squared_radius


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_jungs_inequality(n, d):
    G = gram_of(n, d)
    squared = np.diag(G)[:, None] + np.diag(G)[None, :] - 2 * G
    R, diameter = gram_ball(G).radius, np.sqrt(squared.max())
    assert diameter / 2 <= R * (1 + 1e-12)
    assert diameter * np.sqrt((n - 1) / (2 * n)) * (1 + 1e-12) >= R


@pytest.mark.parametrize("n", [2, 3, 10, 300])
def test_orthogonal_points_have_the_radius_of_a_simplex(n):
    ball = gram_ball(np.eye(n) / 7)
    np.testing.assert_allclose(ball.squared_radius, (1 - 1 / n) / 7, rtol=1e-12)
    np.testing.assert_allclose(ball.weights, 1 / n, rtol=1e-9)


@given(st.integers(0, 10_000), st.floats(-50, 50), st.floats(-3, 3))
def test_a_shift_changes_nothing_and_a_scale_scales(seed, shift, log_scale):
    points = np.random.default_rng(seed).normal(size=(12, 3))
    moved = 10**log_scale * (points + shift)
    original, other = gram_ball(points @ points.T), gram_ball(moved @ moved.T)
    np.testing.assert_allclose(other.radius, 10**log_scale * original.radius, rtol=1e-8)
    H = np.eye(12) - 1 / 12
    G = points @ points.T
    np.testing.assert_allclose(gram_ball(H @ G @ H).squared_radius, original.squared_radius, rtol=1e-11)


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 5))
def test_the_order_of_points_and_copies_of_them_do_not_matter(seed, n, d):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    again = points[rng.permutation(np.concatenate([np.arange(n), rng.integers(n, size=n)]))]
    np.testing.assert_allclose(
        gram_ball(again @ again.T).squared_radius, gram_ball(points @ points.T).squared_radius, rtol=1e-10
    )


@pytest.mark.parametrize("n", [3, 4, 7, 60])
def test_corners_of_a_polygon_and_points_of_a_lattice(n):
    """Many points on one sphere, in all ways dependent: any of many weights will do, and the radius is known."""
    angle = 2 * np.pi * np.arange(n) / n
    corners = 5 + np.column_stack([np.cos(angle), np.sin(angle)])
    inside = 5 + 0.9 * np.random.default_rng(0).uniform(-0.5, 0.5, size=(20, 2))
    points = np.concatenate([corners, inside])
    ball = gram_ball(points @ points.T)
    np.testing.assert_allclose(ball.radius, 1, rtol=1e-10)
    np.testing.assert_allclose(ball.weights @ points, [5, 5], atol=1e-6)
    lattice = np.stack(np.meshgrid(np.arange(n), np.arange(n)), axis=-1).reshape(-1, 2).astype(float)[: 20 * n]
    width, height = lattice.max(axis=0)
    np.testing.assert_allclose(gram_ball(lattice @ lattice.T).radius, np.hypot(width, height) / 2, rtol=1e-10)


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 4))
def test_dependent_points_with_many_ties_have_a_certificate(seed, n, d):
    points = np.round(2 * np.random.default_rng(seed).normal(size=(n, d)))
    ball = gram_ball(points @ points.T)
    assert ball.gap <= 1e-10 * ball.squared_radius and ball.n_steps < 2000


def test_points_on_a_line_and_equal_points():
    line = np.array([0.0, 1.0, 2.0, 7.0])
    np.testing.assert_allclose(gram_ball(np.outer(line, line)).radius, 3.5)
    for G in (np.ones((4, 4)), np.zeros((3, 3)), np.ones((1, 1))):
        ball = gram_ball(G)
        assert ball.radius == 0 and ball.converged and np.isclose(ball.weights.sum(), 1)


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e12, 1e150])
def test_tiny_and_huge_inner_products(scale):
    G = gram_of(20, 4)
    np.testing.assert_allclose(gram_ball(scale * G).squared_radius / scale, gram_ball(G).squared_radius)


def test_wrong_inner_products_are_refused():
    with pytest.raises(ValueError, match=r"square Gram matrix.*\(2, 3\)"):
        gram_ball(np.ones((2, 3)))
    with pytest.raises(ValueError, match="NaN or infinite"):
        gram_ball(np.array([[1.0, np.nan], [np.nan, 1.0]]))


def test_balls_of_kernels_are_those_of_their_gram_matrices(xp):
    X = np.random.default_rng(0).normal(size=(40, 3))
    for kernel in (Gaussian(0.3), Polynomial(2), Multiquadric(0.5)):
        ball = enclosing_ball(kernel, xp.asarray(X))
        np.testing.assert_allclose(ball.squared_radius, gram_ball(kernel(X)).squared_radius, rtol=1e-10)
        assert ball.converged and isinstance(ball.weights, np.ndarray)
    np.testing.assert_allclose(enclosing_ball(Linear(), X).radius, enclosing_ball(Linear(), X + 7.0).radius, rtol=1e-9)


def test_kernels_without_distances_have_no_ball():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(UnsupportedKernelError, match="enclosing_ball needs a positive semidefinite kernel"):
        enclosing_ball(Sigmoid(1.0, -1.0), X)
    with pytest.raises(ValueError, match="finds gamma from data"):
        enclosing_ball(Gaussian("median"), X)
