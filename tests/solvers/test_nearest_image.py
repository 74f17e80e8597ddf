"""The distance to targets: models of kernels, their subclasses, and kernels warped along a graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import (
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    ProfileKernel,
    RationalQuadratic,
    Sigmoid,
    SquaredDistance,
    Warped,
)
from preimage.solvers import DistanceConstraint, FixedPoint, Gradient, MultiStart, Reason, WeightedMean, objective_at
from preimage.solvers._distance import TargetObjective, distance_model


class _Rational(ProfileKernel):
    """A kernel of a user: a profile and its derivative."""

    pairwise, is_positive_semidefinite = SquaredDistance(), True

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def profile(self, s):
        return 1 / (1 + self.gamma * s)

    def profile_derivative(self, s):
        return -self.gamma * self.profile(s) ** 2


def test_a_profile_of_a_user_has_the_pre_images_of_ours(rng):
    X, W = rng.normal(size=(12, 3)), rng.random(size=(12, 4)) / 12
    ours, theirs = (Expansion(kernel, X, W) for kernel in (_Rational(0.7), RationalQuadratic(0.7)))
    for solver in (FixedPoint(tol=1e-10), Gradient(tol=1e-10), WeightedMean(), DistanceConstraint(5)):
        found = solver.solve(ours)
        assert_allclose(found.points, solver.solve(theirs).points, atol=1e-6)
        if isinstance(solver, (FixedPoint, Gradient)):  # the others invert the profile, by bisection here
            assert np.abs(ours.distance_gradient(found.points)).max() < 1e-6


INNER = [
    Gaussian(0.5),
    RationalQuadratic(0.5),
    InverseMultiquadric(0.5),
    Matern(0.5, 2.5),
    Gaussian(0.5) + RationalQuadratic(0.1),
    Polynomial(2),
    Exponential(0.2),
    Linear(),
]


def random_target(rng, inner, *, own=True, strength=1.0, q=6):
    X = rng.normal(size=(20, 3))
    kernel = Warped(inner, X if own else rng.normal(size=(11, 3)), strength=strength)
    return Expansion(kernel, X, rng.normal(size=(20, q)) / 5)


def evaluated(target, Z):
    model = distance_model(target.kernel, target.points)
    return TargetObjective.of(model, target.coefficients.T, Z, 0.0).at(Z)


@pytest.mark.parametrize("own", [True, False], ids=["the graph", "other points"])
@pytest.mark.parametrize("inner", [*INNER, Laplacian(0.3), Warped(Gaussian(0.5), np.eye(3))], ids=repr)
def test_distances_and_gradients_are_those_of_the_kernel(inner, own, rng):
    target = random_target(rng, inner, own=own)
    Z = rng.normal(size=(6, 3))
    here = evaluated(target, Z)
    np.testing.assert_allclose(here.value + target.squared_norms(), objective_at(target, Z), atol=1e-10)
    np.testing.assert_allclose(here.gradient, target.distance_gradient(Z), atol=1e-10)
    step, differences = 1e-5, np.empty_like(Z)
    for f in range(3):
        shift = step * np.eye(3)[f]
        differences[:, f] = (objective_at(target, Z + shift) - objective_at(target, Z - shift)) / (2 * step)
    np.testing.assert_allclose(here.gradient, differences, atol=1e-6 * (1 + np.abs(differences).max()))


def naive_map(target, Z):
    """(10) of the specification, with M from its definition."""
    X, gamma = target.points, target.kernel.kernel.gamma
    K = Gaussian(gamma)(X)
    L = target.kernel.strength * (np.diag(K.sum(axis=1)) - K)
    M = np.linalg.solve(np.eye(len(X)) + L @ K, L)
    k = Gaussian(gamma)(Z, X)
    a = target.coefficients.T - target.coefficients.T @ K @ M
    weights = k * (k @ M + a)
    rho = 1 - np.einsum("ij,jk,ik->i", k, M, k) - 2 * np.sum(k * a, axis=1)
    return weights @ X / weights.sum(axis=1, keepdims=True), rho


def test_the_full_step_is_the_fixed_point_of_the_paper(rng):
    target = random_target(rng, Gaussian(0.5))
    Z = rng.normal(size=(6, 3))
    here = evaluated(target, Z)
    new, rho = naive_map(target, Z)
    np.testing.assert_allclose(Z - here.gradient / here.curvature[:, None], new, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(here.value, rho, atol=1e-11)


def test_fixed_points_are_where_the_gradient_vanishes(rng):
    target = random_target(rng, Gaussian(0.5))
    result = FixedPoint(tol=1e-10, max_iter=5000).solve(target)
    inside = np.linalg.norm(result.points, axis=1) < 10  # an iterate may also leave the data for good
    assert inside.sum() >= 3
    Z = np.where(inside[:, None], result.points, 0.0)
    np.testing.assert_allclose(target.distance_gradient(Z)[inside], 0, atol=1e-7)
    np.testing.assert_allclose(naive_map(target, Z)[0][inside], Z[inside], atol=1e-5)


@given(
    seed=st.integers(0, 10**6),
    strength=st.floats(0, 100),
    gamma=st.floats(0.05, 20),
    penalty=st.sampled_from([0.0, 0.1]),
    steps=st.integers(1, 12),
)
def test_no_step_raises_the_objective(seed, strength, gamma, penalty, steps):
    rng = np.random.default_rng(seed)
    target = random_target(rng, Gaussian(gamma), own=bool(seed % 2), strength=strength)
    start = rng.normal(size=(6, 3))
    for solver in (FixedPoint(penalty=penalty, max_iter=steps), Gradient(penalty=penalty, max_iter=steps)):
        result = solver.solve(target, start)
        pull = lambda Z: penalty * np.sum((Z - start) ** 2, axis=1)
        before, after = objective_at(target, start), objective_at(target, result.points) + pull(result.points)
        assert np.all(after <= before + 1e-10)
        np.testing.assert_allclose(result.objective, after, atol=1e-9)


@pytest.mark.parametrize("inner", INNER, ids=repr)
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_both_solvers_find_stationary_points(inner, penalty, rng):
    target = random_target(rng, inner, own=False)
    start = rng.normal(size=(6, 3))
    for solver in (FixedPoint(penalty, tol=1e-9, max_iter=20_000), Gradient(penalty, tol=1e-9, max_iter=2000)):
        result = solver.solve(target, start)
        slope = target.distance_gradient(result.points) + 2 * penalty * (result.points - start)
        assert result.converged.all()
        np.testing.assert_allclose(slope, 0, atol=1e-4)


def test_without_strength_it_is_the_fixed_point_of_the_kernel(rng):
    target = random_target(rng, Gaussian(0.5), strength=0.0)
    plain = Expansion(Gaussian(0.5), target.points, target.coefficients)
    start = rng.normal(size=(6, 3))
    warped, other = FixedPoint(tol=1e-9).solve(target, start), FixedPoint(tol=1e-9).solve(plain, start)
    np.testing.assert_allclose(warped.points, other.points, atol=1e-7)
    np.testing.assert_array_equal(warped.n_iter, other.n_iter)


def test_an_image_of_a_point_comes_back(rng):
    X = rng.normal(size=(30, 2))
    target = Expansion(Warped(Gaussian(1.0), X), X, np.eye(30))
    for solver in (FixedPoint(tol=1e-9), Gradient(tol=1e-9), MultiStart(FixedPoint(tol=1e-9))):
        result = solver.solve(target, X + 0.02 * rng.normal(size=X.shape))
        assert result.converged.all()
        np.testing.assert_allclose(result.points, X, atol=1e-6)
        np.testing.assert_allclose(result.objective, 0, atol=1e-9)


def test_starts_far_away_start_again_at_the_data(rng):
    target = random_target(rng, Gaussian(2.0))
    result = FixedPoint().solve(target, np.full((6, 3), 1e3))
    assert np.linalg.norm(result.points, axis=1).max() < 100


def test_single_precision_converges(rng):
    X = rng.normal(size=(60, 2))
    double = KernelPCA(10, kernel=Warped(Gaussian(1.0))).fit(X)
    single = KernelPCA(10, kernel=Warped(Gaussian(1.0))).fit(X.astype(np.float32))
    noisy = X[:20] + 0.1
    result = single.find_preimages(single.transform(noisy.astype("f")), start=noisy.astype("f"))
    assert result.points.dtype == np.float32 and result.converged.mean() > 0.9
    expected = double.find_preimages(double.transform(noisy), start=noisy).points
    close = np.linalg.norm(result.points - expected, axis=1) < 0.02
    assert close.mean() > 0.9


def test_array_libraries_agree(xp, rng):
    target = random_target(rng, Gaussian(0.5))
    start = rng.normal(size=(6, 3))
    kernel = Warped(Gaussian(0.5)).resolve(xp.asarray(target.points))
    there = Expansion(kernel, kernel.points, xp.asarray(target.coefficients))
    for solver in (FixedPoint(penalty=0.2, tol=1e-9), Gradient(penalty=0.2, tol=1e-9)):
        expected = solver.solve(target, start).points
        np.testing.assert_allclose(to_numpy(solver.solve(there, xp.asarray(start)).points), expected, atol=1e-5)


def test_what_has_no_fixed_point_says_so(rng):
    target = random_target(rng, Laplacian(0.3))
    with pytest.raises(UnsupportedKernelError, match="'gradient' works"):
        FixedPoint().solve(target)
    assert np.isfinite(Gradient().solve(target).points).all()
    with pytest.raises(UnsupportedKernelError):
        DistanceConstraint().solve(random_target(rng, Gaussian(0.3)))


def random_target_nearest_image(rng, kernel, n=20, d=3, q=6, mixed=True):
    coefficients = rng.normal(size=(n, q)) if mixed else rng.random((n, q))
    return Expansion(kernel, rng.normal(size=(n, d)), coefficients)


def test_batches_do_not_matter(rng, monkeypatch):
    target, start = random_target_nearest_image(rng, Gaussian(0.5), q=40), rng.normal(size=(40, 3))
    together = FixedPoint().solve(target, start)
    monkeypatch.setattr("preimage.descent._blocks.BLOCK_BYTES", 1)
    blocks = FixedPoint().solve(target, start)
    alone = [FixedPoint().solve(target[j], start[j : j + 1]).points[0] for j in range(40)]
    # Rounding may let a problem stop one step earlier, within the tolerance.
    assert_allclose(blocks.points, together.points, atol=1e-6)
    assert_allclose(alone, together.points, atol=1e-6)
    order = rng.permutation(40)
    assert_allclose(FixedPoint().solve(target.take(order), start[order]).points, together.points[order], atol=1e-6)


def test_far_away_starts_begin_again_near_the_data(rng):
    target = random_target_nearest_image(rng, Gaussian(0.5), mixed=False)
    result = FixedPoint().solve(target, np.full((6, 3), 1e4))
    assert result.converged.all()
    assert np.abs(result.points).max() < 5


@pytest.mark.net
@pytest.mark.parametrize("solver", [FixedPoint(), FixedPoint(penalty=0.1), Gradient()], ids=repr)
def test_ten_thousand_problems_never_give_nan(solver):
    """Fifty widths over six decades, two hundred problems each: mixed signs, duplicates, far-away queries."""
    rng = np.random.default_rng(1)
    for log_gamma in np.linspace(-4, 2, 50):
        points = rng.normal(size=(25, 4))
        points[20:] = points[:5]
        target = Expansion(Gaussian(10.0**log_gamma), points, rng.normal(size=(25, 200)) * 10 ** rng.normal(size=200))
        start = rng.normal(size=(200, 4)) * 10 ** rng.uniform(-2, 4, size=(200, 1))
        result = solver.solve(target, start)
        assert np.isfinite(result.points).all() and np.isfinite(result.objective).all()
        slack = 1e-12 * (1 + np.abs(target.coefficients).sum(axis=0)) ** 2
        assert (result.objective <= objective_at(target, start) + slack).all()


@pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("solver", [FixedPoint(), Gradient()], ids=repr)
def test_problems_without_minimum_stay_in_the_range_of_the_data(solver):
    """ρ of an indefinite kernel may fall for ever; far points are no pre-images."""
    X = np.random.default_rng(0).normal(size=(40, 16))
    subspace = KernelPCA(5, kernel=Sigmoid(0.05, 0.0)).fit(X).subspace_
    result = solver.inverse(subspace, subspace.coordinates(X), X)
    restricted = result.reason == Reason.RESTRICTED
    assert restricted.any() and not result.converged[restricted].any()
    inside = (result.points >= X.min(axis=0)) & (result.points <= X.max(axis=0))
    assert inside[restricted].all()
    assert np.linalg.norm(result.points, axis=1).max() <= 2 * np.linalg.norm(X, axis=1).max()
