"""Targets: the same vectors, whether their coefficients are given or formed block by block."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Gaussian, Linear, ShiftedInputs, Sigmoid
from preimage.solvers import FixedPoint, Gradient, objective_at
from preimage.solvers._nearest_image import NearestImage, nearest_in_subspace


def affine_subspace(rng, xp=np, kernel=None, other_points=False):
    kernel = Gaussian(0.3) if kernel is None else kernel
    X = xp.asarray(rng.normal(size=(30, 3)))
    frame = Subspace.span(kernel, X[:8, :]).frame
    points = xp.asarray(rng.normal(size=(5, 3))) if other_points else frame.points
    weights = xp.asarray(rng.random(size=(points.shape[0], 1)) / 5)
    return Subspace(frame, Expansion(kernel, points, weights))


@pytest.mark.parametrize("other_points", [False, True], ids=["shared points", "an origin on other points"])
def test_embedded_targets_are_those_of_the_subspace(xp, rng, other_points):
    subspace = affine_subspace(rng, xp, other_points=other_points)
    Y = xp.asarray(rng.normal(size=(11, len(subspace))))
    formed, given = NearestImage.of_coordinates(subspace, Y), NearestImage.of_vectors(subspace.embed(Y))
    for rows in (slice(0, 11), slice(3, 5)):
        assert_allclose(to_numpy(formed.coefficients(rows)), to_numpy(given.coefficients(rows)), atol=1e-13)
    assert_allclose(to_numpy(formed.squared_norms), to_numpy(given.squared_norms), atol=1e-12)
    assert_allclose(to_numpy(formed.nearest()), to_numpy(nearest_in_subspace(subspace, Y)), atol=0)
    some = np.array([4, 1])
    assert_allclose(
        to_numpy(formed.take(some).coefficients(slice(0, 2))),
        to_numpy(given.take(some).coefficients(slice(0, 2))),
        atol=1e-13,
    )


def test_targets_of_an_indefinite_kernel_have_signs(rng):
    X = rng.normal(size=(25, 3))
    model = KernelPCA(6, kernel=Sigmoid(0.5, -1.0)).fit(X)
    Y = model.transform(X[:4])
    formed, given = NearestImage.of_coordinates(model.subspace_, Y), NearestImage.of_vectors(model.subspace_.embed(Y))
    assert_allclose(formed.coefficients(slice(0, 4)), given.coefficients(slice(0, 4)), atol=1e-13)


def test_moved_targets_are_the_same_vectors(rng):
    X, c = rng.normal(size=(12, 3)) + 20, np.full(3, 20.0)
    subspace = affine_subspace(rng, kernel=ShiftedInputs(Linear(), c))
    Y = rng.normal(size=(4, len(subspace)))
    targets = NearestImage.of_coordinates(subspace, Y)
    moved = targets.moved(Linear(), c)
    values = targets.coefficients(slice(0, 4)) @ targets.kernel(targets.points, X)
    assert_allclose(moved.coefficients(slice(0, 4)) @ Linear()(moved.points, X - c), values, atol=1e-9)
    assert_allclose(moved.nearest() + c, targets.nearest())


@pytest.mark.parametrize("solver", [FixedPoint(), FixedPoint(penalty=0.1), Gradient()], ids=repr)
def test_inverse_is_solve_of_embedded_vectors(rng, solver):
    X = rng.normal(size=(60, 4))
    model = KernelPCA(5, gamma=0.2).fit(X)
    Y, start = model.transform(X[:20]), X[:20]
    found = solver.inverse(model.subspace_, Y, start)
    assert_allclose(found.points, solver.solve(model.subspace_.embed(Y), start).points, atol=1e-9)
    without = solver.inverse(model.subspace_, Y)
    assert_allclose(without.points, solver.solve(model.subspace_.embed(Y)).points, atol=1e-9)


@pytest.mark.parametrize("solver", [FixedPoint(), Gradient()], ids=repr)
def test_pre_images_do_not_depend_on_the_number_of_threads(rng, solver, monkeypatch):
    X = rng.normal(size=(400, 6))
    noisy = np.tile(X, (3, 1)) + 0.3 * rng.normal(size=(1200, 6))
    model = KernelPCA(8, gamma=0.1, preimage=solver).fit(X)
    results = []
    for count in (1, 2, 8):
        monkeypatch.setattr("preimage.descent._blocks.available_threads", lambda count=count: count)
        monkeypatch.setattr("preimage._engine.threads.available_threads", lambda count=count: count)
        results.append(model.denoise(noisy))
    for other in results[1:]:
        # Matrix products of blocks of other sizes round differently, and so does the step at which a problem ends.
        assert_allclose(other, results[0], atol=1e-6 * np.abs(results[0]).max())


def test_first_steps_in_single_precision_lead_to_the_same_points(rng, monkeypatch):
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 20))
    noisy = X + 0.5 * rng.normal(size=X.shape)
    model = KernelPCA(12, gamma="median", preimage=FixedPoint()).fit(X)
    Y = model.transform(noisy)
    found = {}
    for work in (0, np.inf):
        monkeypatch.setattr("preimage.solvers._fixed_point.FEWEST_NUMBERS", work)
        found[work] = model.find_preimages(Y, noisy)
    assert found[0].converged.all()
    size = np.sqrt(X.var(axis=0).sum())
    assert_allclose(found[0].points, found[np.inf].points, atol=1e-5 * size)
    assert_allclose(found[0].objective, found[np.inf].objective, atol=1e-9)


def test_single_precision_never_raises_the_objective(rng, monkeypatch):
    monkeypatch.setattr("preimage.solvers._fixed_point.FEWEST_NUMBERS", 0)
    X = rng.normal(size=(50, 3))
    target = Expansion(Gaussian(0.4), X, rng.normal(size=(50, 40)) / 5)
    # At the minimum already, so that only rounding errors of single precision could move them.
    start = FixedPoint(tol=1e-12, max_iter=5000).solve(target).points
    assert (objective_at(target, FixedPoint().solve(target, start).points) <= objective_at(target, start) + 1e-14).all()


def test_kernel_values_below_single_precision_are_seen_in_double(rng, monkeypatch):
    monkeypatch.setattr("preimage.solvers._fixed_point.FEWEST_NUMBERS", 0)
    target = Expansion(Gaussian(1.0), np.zeros((1, 2)), np.ones((1, 1)))
    far = np.array([[11.0, 0.0]])  # exp(-121) is zero in single precision
    found = FixedPoint().solve(target, far)
    assert_allclose(found.points, np.zeros((1, 2)), atol=1e-5)
    assert found.converged.all()
