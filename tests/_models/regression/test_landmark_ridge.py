"""A frame whose leading vectors span the leading points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge as SklearnRidge

from preimage._engine.arrays import to_numpy
from preimage._models.regression import nested_frame
from preimage._models.regression._landmark_ridge import LeastSquares
from preimage.feature_space import GrowingSpan
from preimage.kernels import Gaussian, Linear


def test_frame_is_orthonormal_and_nested(rng, xp):
    points = xp.asarray(rng.normal(size=(12, 3)))
    frame = nested_frame(Gaussian(0.5), points)
    assert_allclose(to_numpy(frame.inner(frame)), np.eye(12), atol=1e-10)
    assert_allclose(np.tril(to_numpy(frame.coefficients), -1), 0)
    shorter = nested_frame(Gaussian(0.5), points[:5, :])
    assert_allclose(to_numpy(frame.coefficients)[:5, :5], to_numpy(shorter.coefficients), atol=1e-12)


def test_dependent_points_do_no_harm(rng):
    points = rng.normal(size=(6, 2))
    frame = nested_frame(Linear(), points)
    X = rng.normal(size=(20, 2))
    assert np.all(np.isfinite(frame.coefficients))
    assert_allclose(frame(X) @ frame(X).T, X @ X.T, atol=1e-6)


@pytest.fixture
def data(rng):
    F = rng.normal(size=(60, 5)) + 3
    return F, F @ rng.normal(size=(5, 2)) + rng.normal(size=(60, 2)), rng.uniform(0.2, 3, size=60)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("cuts", [[], [1, 7, 8, 50], [30]])
def test_merged_blocks_are_ridge_regression(data, intercept, cuts, xp):
    F, Y, w = data
    blocks = [[xp.asarray(part) for part in parts] for parts in zip(*(np.split(array, cuts) for array in data))]
    problem = LeastSquares.of(*blocks[0], intercept=intercept)
    for block in blocks[1:]:
        problem = problem + LeastSquares.of(*block, intercept=intercept)
    ridge = problem.ridge(0.7)
    expected = SklearnRidge(0.7, fit_intercept=intercept).fit(F, Y, w)
    assert_allclose(ridge.coefficients, expected.coef_.T, atol=1e-10)
    assert_allclose(ridge.intercept, np.broadcast_to(expected.intercept_, 2), atol=1e-10)
    assert_allclose(problem.count, w.sum())
    assert to_numpy(problem.triangle).shape == (7 + intercept, 7 + intercept)


@pytest.mark.parametrize("intercept", [True, False])
def test_every_prefix_is_a_ridge_regression(data, intercept):
    F, Y, w = data
    ridge = LeastSquares.of(F, Y, w, intercept=intercept).ridge(0.7)
    for p in range(1, 6):
        expected = SklearnRidge(0.7, fit_intercept=intercept).fit(F[:, :p], Y, w)
        assert_allclose(ridge.directions[:p, :p] @ ridge.steps[:p], expected.coef_.T, atol=1e-10)
        error = np.sum(w[:, None] * (Y - expected.predict(F[:, :p])) ** 2) / (2 * w.sum())
        assert_allclose(ridge.errors()[p - 1], error, rtol=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_leave_one_out_is_what_it_says(data, intercept, weighted):
    F, Y, w = data
    w = w if weighted else np.ones(60)
    problem = LeastSquares.of(F, Y, w, intercept=intercept)
    alphas = np.array([0.01, 1.0, 30.0])
    weights = w if weighted else None
    in_blocks = problem.leave_one_out(F[:20], Y[:20], None if weights is None else w[:20], alphas)
    in_blocks = in_blocks + problem.leave_one_out(F[20:], Y[20:], None if weights is None else w[20:], alphas)
    assert_allclose(in_blocks, problem.leave_one_out(F, Y, weights, alphas))
    for alpha, error in zip(alphas, in_blocks):
        total = 0.0
        for i in range(60):
            rest = np.delete(np.arange(60), i)
            model = SklearnRidge(alpha, fit_intercept=intercept).fit(F[rest], Y[rest], w[rest])
            total += w[i] * np.sum((Y[i] - model.predict(F[i : i + 1])[0]) ** 2)
        assert_allclose(error, total, rtol=1e-9)


def test_no_penalty_and_dependent_features_stay_finite(data):
    F, Y, _ = data
    doubled = np.hstack([F, F])
    ridge = LeastSquares.of(doubled, Y).ridge(0.0)
    expected = SklearnRidge(1e-10).fit(F, Y).predict(F)
    assert np.all(np.isfinite(ridge.coefficients))
    assert_allclose(doubled @ ridge.coefficients + ridge.intercept, expected, atol=1e-4)


def test_fewer_rows_than_features(data):
    F, Y, _ = data
    ridge = LeastSquares.of(F[:3], Y[:3]).ridge(0.5)
    expected = SklearnRidge(0.5).fit(F[:3], Y[:3])
    assert_allclose(ridge.coefficients, expected.coef_.T, atol=1e-10)


def test_single_precision_does_not_square_the_condition(rng):
    F = rng.normal(size=(300, 4)) @ np.diag([1, 1e-1, 1e-2, 1e-3])
    Y = F @ np.array([[1.0], [10.0], [100.0], [1000.0]])
    low = LeastSquares.of(F.astype(np.float32), Y.astype(np.float32), intercept=False).ridge(0.0)
    assert_allclose(F @ low.coefficients, Y, atol=1e-4)


def test_frames_on_a_device_are_those_of_the_host(rng):
    """In one factorisation where no landmark depends on others, and by the same rules where one does."""
    torch = pytest.importorskip("torch")
    points = rng.normal(size=(40, 3))
    assert GrowingSpan.nested_coefficients(torch.asarray(Gaussian(5.0)(points))) is not None
    assert GrowingSpan.nested_coefficients(torch.asarray(Linear()(points))) is None
    found = nested_frame(Gaussian(5.0), torch.asarray(points))
    assert_allclose(to_numpy(found.coefficients), nested_frame(Gaussian(5.0), points).coefficients, atol=1e-10)
    for rows, kernel in ((points, Linear()), (np.vstack([points, points[:3]]), Gaussian(5.0))):
        G = to_numpy(nested_frame(kernel, torch.asarray(rows))(torch.asarray(points)))
        assert_allclose(G @ G.T, kernel(points), atol=1e-5)
