"""Pre-images against their objective and its gradient in extended precision, where they are badly conditioned too."""

import warnings

import numpy as np
import precise
import pytest
from for_each import for_each
from precise import LONG, needs_long_double

from preimage import KernelPCA
from preimage.kernels import squared_distance_percentile
from preimage.solvers import FixedPoint, Gradient

pytestmark = needs_long_double

KINDS = ["normal", "repeated", "zero rows", "tiny", "huge", "far away"]
# Multiples of 1/median squared distance: from nearly linear to nearly one bump per point.
WIDTHS = [1e-4, 1e-2, 1.0, 1e2, 1e4]
SOLVERS = {"fixed point": FixedPoint, "gradient": Gradient}


def rows(kind, n=40, d=3):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d))
    if kind == "repeated":
        X = X[rng.integers(0, n // 3, n)]
    if kind == "zero rows":
        X[::5] = 0.0
    if kind == "far away":
        X = X + 100.0
    X = X * {"tiny": 1e-8, "huge": 1e8}.get(kind, 1.0)
    spread = np.sqrt(np.sum(X.var(axis=0)))
    return X, X[:8] + 0.2 * spread * rng.normal(size=(8, d)) / np.sqrt(d)


def fitted(X, queries, gamma, solver):
    """A model, what it says about pre-images of the queries, and the weights of their targets in double."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rank: components that the data do not determine are left out
        model = KernelPCA(6, gamma=gamma, preimage=solver).fit(X)
        Y = model.transform(queries)
        result = model.find_preimages(Y, start=queries)
    target = model.subspace_.embed(Y)
    return model, result, np.asarray(target.points, LONG), np.asarray(target.coefficients, LONG)


def objective(Z, start, points, weights, gamma, penalty):
    """ρ(z) + λ‖z − x₀‖² of each row, and the size of the terms that cancel in it."""
    gram = precise.gaussian(points, points, gamma)
    cross = precise.gaussian(Z, points, gamma)
    apart = np.sum((np.asarray(Z, LONG) - np.asarray(start, LONG)) ** 2, axis=1)
    value = 1 - 2 * np.sum(cross * weights.T, axis=1) + np.sum(weights * (gram @ weights), axis=0)
    size = 1 + np.sum(np.abs(weights), axis=0) + np.sum(np.abs(weights) * (gram @ np.abs(weights)), axis=0)
    return value + LONG(penalty) * apart, size


def relative_gradient(Z, start, points, weights, gamma, penalty):
    """Length of the step that the gradient asks for, if all weights had one sign: zero at stationary points."""
    cross = precise.gaussian(Z, points, gamma) * weights.T  # (q, n)
    pull = LONG(penalty) / (2 * LONG(gamma))
    Z, start = np.asarray(Z, LONG), np.asarray(start, LONG)
    step = cross @ points - np.sum(cross, axis=1)[:, None] * Z + pull * (start - Z)
    size = np.sum(np.abs(cross), axis=1) + pull
    return np.sqrt(np.sum(step**2, axis=1)) / np.maximum(size, np.finfo(LONG).tiny)


@for_each("relative_penalty", [0.0, 0.1])
@for_each("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_objectives_are_true_and_points_are_stationary(kind, solver, relative_penalty, dtype):
    X, queries = (array.astype(dtype) for array in rows(kind))
    spread = float(np.sqrt(np.sum(X.astype(float).var(axis=0))))
    eps = float(np.finfo(dtype).eps)
    converged = 0
    for width in WIDTHS:
        gamma = width / squared_distance_percentile(X.astype(float), 50)
        penalty = relative_penalty * gamma
        _, result, points, weights = fitted(X, queries, gamma, SOLVERS[solver](penalty, tol=1e-8, max_iter=2000))
        Z = np.asarray(result.points)
        assert np.isfinite(Z).all()
        value, size = objective(Z, queries, points, weights, gamma, penalty)
        # Kernel values have a few rounding errors each, and those of squared distances grow with γ‖x‖².
        largest = gamma * float(np.max(np.sum(X.astype(float) ** 2, axis=1)))
        rounding = 50 * eps * size.astype(float) * (1 + min(largest, 1 / eps))
        assert (np.abs(np.asarray(result.objective) - value) <= rounding).all(), (width, "objective")
        before, _ = objective(queries, queries, points, weights, gamma, penalty)
        assert (value <= before + rounding).all(), (width, "descent")
        step = relative_gradient(Z, queries, points, weights, gamma, penalty)
        # A solver that compares objectives cannot see steps that change them by less than rounding; the second
        # derivative of ρ over squared spreads is about the width, and at most one.
        allowed = spread * (1e-6 + np.sqrt(rounding / min(width, 1.0)))
        assert (step[result.converged] <= allowed[result.converged]).all(), (width, "stationary")
        converged += int(np.sum(result.converged))
    assert converged >= 0.7 * len(WIDTHS) * len(queries)


def precise_preimages(oracle, queries, k, gamma, steps=1500):
    """The fixed point for the exact projections, in extended precision, from the queries."""
    values, vectors = oracle.values[:k], oracle.vectors[:, :k]
    n = len(oracle.X)
    axes = vectors / np.sqrt(values)
    axes = axes - np.mean(axes, axis=0)
    weights = 1 / LONG(n) + axes @ oracle.coordinates(queries, k).T  # (n, q)
    Z = np.asarray(queries, LONG)
    for _ in range(steps):
        cross = precise.gaussian(Z, oracle.X, gamma) * weights.T
        Z = cross @ oracle.X / np.sum(cross, axis=1)[:, None]
    return Z, weights


@pytest.mark.parametrize("kind", KINDS)
def test_denoised_points_solve_the_exact_problem(kind):
    """From data to denoised points: as near in feature space to the exact projections as exact arithmetic gets."""
    X, queries = rows(kind)
    for width in (0.1, 0.5, 2.0):
        gamma = width / squared_distance_percentile(X, 50)
        oracle = precise.KernelPCA(lambda A, B, gamma=gamma: precise.gaussian(A, B, gamma), X)
        Z, weights = precise_preimages(oracle, queries, 4, gamma)
        ours = KernelPCA(4, gamma=gamma, preimage=FixedPoint(tol=1e-10, max_iter=5000)).fit(X).denoise(queries)
        best, _ = objective(Z, queries, oracle.X, weights, gamma, 0)
        found, _ = objective(ours, queries, oracle.X, weights, gamma, 0)
        assert (found <= best + 1e-8).all(), (kind, width, (found - best).max())


@pytest.mark.parametrize("kernel", ["poly", "laplacian", "cosine"])
def test_the_default_way_back_is_no_worse_than_its_start_for_other_kernels(kernel):
    X, queries = rows("zero rows")
    X, queries = X + 0.5, queries + 0.5
    kernels = {
        "poly": lambda A, B: precise.polynomial(A, B, degree=3, gamma=0.3, coef0=1.0),
        "laplacian": lambda A, B: precise.laplacian(A, B, 0.3),
        "cosine": lambda A, B: precise.linear(_unit(A), _unit(B)),
    }
    gamma = None if kernel == "cosine" else 0.3
    oracle = precise.KernelPCA(kernels[kernel], X)
    count = 2 if kernel == "cosine" else 4
    model = KernelPCA(count, kernel=kernel, gamma=gamma).fit(X)
    ours = model.denoise(queries)
    distance = lambda Z: _distances(oracle, Z, queries, model.n_components_)
    assert (distance(ours) <= distance(queries) + 1e-9 * distance(queries).max()).all()


def _unit(A):
    A = np.asarray(A, LONG)
    return A / np.sqrt(np.sum(A**2, axis=1))[:, None]


def _distances(oracle, Z, queries, k):
    """‖φ(z) − Pφ(x)‖² of each row."""
    here, target = oracle.coordinates(Z, k), oracle.coordinates(queries, k)
    return oracle.residual(Z, k) + np.sum((here - target) ** 2, axis=1)
