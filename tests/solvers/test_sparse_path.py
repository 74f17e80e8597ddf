"""Sparse pre-images."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage.exceptions import ConvergenceWarning
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Multiquadric
from preimage.solvers import FixedPoint, Reason, SparsePath, objective_at


@pytest.fixture
def target(rng):
    """Points with five active coordinates of thirty."""
    X = np.zeros((80, 30))
    X[:, :5] = rng.normal(loc=1.0, size=(80, 5))
    X[:, 5:] = 0.05 * rng.normal(size=(80, 25))
    return Expansion(Gaussian(0.05), X, (rng.random((80, 4)) + 0.1) / 40)


def test_path_starts_at_the_background_and_grows(target):
    path = SparsePath(n_penalties=20).path(target)
    assert (path.n_nonzero[0] == 0).all()
    assert (np.diff(path.n_nonzero, axis=0) >= 0).mean() > 0.95
    assert (np.diff(path.penalties, axis=0) < 0).all()


def test_optimality_conditions_hold(target):
    path = SparsePath(n_penalties=6, tol=1e-10, max_iter=20000).path(target)
    for penalties, Z in zip(path.penalties, path.points, strict=True):
        gradient = target.distance_gradient(Z)
        active = Z != 0
        scale = penalties[:, None] * np.ones_like(Z)
        assert_allclose(gradient[active], -(scale * np.sign(Z))[active], atol=1e-5)
        assert (np.abs(gradient)[~active] <= scale[~active] * (1 + 1e-6)).all()


def test_zero_penalty_is_the_dense_solution(target):
    dense = FixedPoint(tol=1e-10, max_iter=5000).solve(target, np.zeros((4, 30)))
    sparse = SparsePath(penalty=0.0, tol=1e-9, max_iter=20000).solve(target)
    assert_allclose(sparse.points, dense.points, atol=1e-4)


@pytest.mark.parametrize("method", ["proximal", "path_seeking"])
def test_a_number_of_coordinates_is_that_number(method, target):
    for count in (0, 1, 3, 5, 12, 30):
        result = SparsePath(n_nonzero=count, method=method).solve(target)
        assert (np.count_nonzero(result.points, axis=1) == count).all()
        assert result.converged.all()


def test_numbers_that_the_path_jumps_over_are_walked_to(rng):
    # Equal columns leave the background together, and from far outside narrow kernels draw all columns at once.
    halves = rng.normal(size=(40, 4))
    twins = Expansion(Gaussian(0.1), np.hstack([halves, halves]), (rng.random((40, 5)) < 0.2) / 8.0)
    X = 3 + 0.3 * rng.normal(size=(40, 8))
    far = Expansion(Gaussian(0.2), X, np.full((40, 2), 1 / 40))
    for target in (twins, far):
        path = SparsePath().path(target)
        for count in (1, 3):
            assert not (path.n_nonzero == count).all(axis=1).any()
            result = SparsePath(n_nonzero=count).solve(target)
            assert (np.count_nonzero(result.points, axis=1) == count).all()
            assert (objective_at(target, result.points) < objective_at(target, 0 * result.points)).all()


def test_bisected_solutions_are_stationary_and_hardly_shrunk(target):
    count = 3
    result = SparsePath(n_nonzero=count, tol=1e-10, max_iter=20000).solve(target)
    penalties = (result.objective - objective_at(target, result.points)) / np.abs(result.points).sum(axis=1)
    gradient, active = target.distance_gradient(result.points), result.points != 0
    scale = penalties[:, None] * np.ones_like(gradient)
    assert_allclose(gradient[active], -(scale * np.sign(result.points))[active], atol=1e-5)
    assert (np.abs(gradient)[~active] <= scale[~active] * (1 + 1e-6)).all()
    for j in range(len(target)):
        after = SparsePath(penalty=penalties[j] / 1.02, n_penalties=60).solve(target[j]).points
        assert np.count_nonzero(after) > count


def test_a_path_ends_before_its_number_where_the_nearest_image_has_fewer_or_the_penalty_is_reached(rng):
    X = np.zeros((20, 6))
    X[:, :2] = rng.normal(loc=1.0, size=(20, 2))
    target = Expansion(Gaussian(0.1), X, np.full((20, 1), 0.05))
    assert np.count_nonzero(SparsePath(n_nonzero=5).solve(target).points) == 2
    largest = float(SparsePath().path(target).penalties[0, 0])
    for method in ("proximal", "path_seeking"):
        solver = SparsePath(n_nonzero=2, penalty=0.99 * largest, method=method, step=1e-4)
        result = solver.solve(target)
        assert np.count_nonzero(result.points) == 1 and result.converged.all()


def test_a_path_stops_when_it_has_too_many_coordinates(target, monkeypatch):
    from preimage.solvers._distance import TargetObjective

    def n_evaluations(**choice):
        calls, evaluate = [], TargetObjective.at
        with monkeypatch.context() as patch:
            patch.setattr(TargetObjective, "at", lambda self, Z: calls.append(len(Z)) or evaluate(self, Z))
            SparsePath(**choice).solve(target)
        return sum(calls)

    assert n_evaluations(n_nonzero=1) < n_evaluations() / 2
    walks = [n_evaluations(method="path_seeking", n_nonzero=count) for count in (1, 3, 30)]
    assert walks[0] < walks[1] < walks[2]


def test_results_that_are_the_background_are_said(target):
    with pytest.warns(ConvergenceWarning, match=r"background for 4 of 4 targets: penalty=10 .*Lower the penalty"):
        SparsePath(penalty=10.0).solve(target)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert (SparsePath(n_nonzero=0).solve(target).points == 0).all()
        SparsePath(n_nonzero=1).solve(target)
    flat = Expansion(Gaussian(1.0), np.array([[4.7, 0.0]]), np.ones((1, 1)))
    with pytest.warns(ConvergenceWarning, match=r"background for 1 of 1 targets: no step .*wider kernel"):
        SparsePath(method="path_seeking", n_nonzero=1).solve(flat)


def test_a_number_does_not_depend_on_the_others_of_a_batch(target):
    together = SparsePath(n_nonzero=4).solve(target).points
    for j in range(len(target)):
        assert_allclose(SparsePath(n_nonzero=4).solve(target[j]).points[0], together[j], atol=1e-9)


def test_background_is_a_shift(target):
    shifted = Expansion(target.kernel, target.points + 2.0, target.coefficients)
    plain = SparsePath(penalty=0.01).solve(target).points
    assert_allclose(SparsePath(penalty=0.01, background=2.0).solve(shifted).points, plain + 2.0, atol=1e-6)


def test_path_seeking_tends_to_the_lasso(target):
    """Smaller steps, closer to the proximal solution of the same penalty."""
    distances = []
    for step in (5e-2, 1e-2, 2e-3):
        path = SparsePath(method="path_seeking", step=step).path(target)
        penalty = float(path.penalties[len(path.penalties) // 2, 0])
        exact = SparsePath(penalty=penalty, tol=1e-9, max_iter=20000).solve(target).points[0]
        sought = path.points[len(path.penalties) // 2, 0]
        distances.append(np.linalg.norm(sought - exact) / np.linalg.norm(exact))
    assert distances[2] < distances[0]
    assert distances[2] < 0.05


def test_path_seeking_has_exact_zeros_and_ends(target):
    path = SparsePath(method="path_seeking", step=0.05).path(target)
    assert len(path.points) < 5000
    assert (path.points[0] == 0).all()
    counts = path.points / (0.05 * np.abs(target.points).max())
    assert_allclose(counts, counts.round(), atol=1e-9)


def test_objective_includes_the_penalty(target):
    result = SparsePath(penalty=0.01).solve(target)
    expected = objective_at(target, result.points) + 0.01 * np.abs(result.points).sum(axis=1)
    assert_allclose(result.objective, expected)


def test_a_background_out_of_reach_is_reported(rng):
    target = Expansion(Gaussian(1.0), rng.normal(size=(5, 3)) + 100, np.ones((5, 1)))
    with pytest.raises(ValueError, match="cannot leave the background"):
        SparsePath().solve(target)


def test_array_libraries_agree(target, xp):
    there = Expansion(target.kernel, xp.asarray(target.points), xp.asarray(target.coefficients))
    assert_allclose(
        to_numpy(SparsePath(penalty=0.01).solve(there).points), SparsePath(penalty=0.01).solve(target).points, atol=1e-6
    )
    for method in ("proximal", "path_seeking"):
        solver = SparsePath(n_nonzero=3, method=method)
        assert_allclose(to_numpy(solver.solve(there).points), solver.solve(target).points, atol=1e-6)


def test_vectors_with_coefficients_of_both_signs_take_few_steps(rng):
    kernel, X = Gaussian(0.02), rng.normal(size=(26, 5))
    values, vectors = np.linalg.eigh(kernel(X))
    axes = Expansion(kernel, X, vectors / np.sqrt(values))
    assert SparsePath(penalty=1e-3, max_iter=50).solve(axes).converged.all()


def test_runaways_of_kernels_without_a_bound_do_not_warn(rng):
    kernel, X = Multiquadric(1.0), rng.normal(size=(26, 5))
    values, vectors = np.linalg.eigh(kernel(X))
    axes = Expansion(kernel, X, vectors / np.sqrt(np.abs(values)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = SparsePath(penalty=1e-3).solve(axes).points
    assert np.isfinite(found).all()


def test_unfinished_solutions_say_so(target):
    result = SparsePath(penalty=1e-4, n_penalties=2, max_iter=1).solve(target)
    assert not result.converged.any()
    assert set(result.reason) == {Reason.ITERATION_LIMIT}


@pytest.mark.parametrize("choice", [{"n_nonzero": 2}, {"penalty": 0.05}, {}], ids=str)
def test_walks_end_where_the_whole_path_says_and_keep_no_step(choice, rng):
    target = Expansion(Gaussian(0.2), rng.normal(size=(6, 8)), rng.normal(size=(6, 3)))
    solver = SparsePath(method="path_seeking", step=0.02, max_iter=5, **choice)
    path, found = solver.path(target), solver.solve(target)
    within = np.ones(path.n_nonzero.shape, bool)
    if "n_nonzero" in choice:
        within = path.n_nonzero <= 2
    if "penalty" in choice:
        within = path.penalties >= 0.05
        within[0] = True
    last = len(within) - 1 - np.argmax(within[::-1], axis=0)
    assert_allclose(found.points, path.points[last, np.arange(3)])
    assert (found.n_iter == last + 1).all()
    assert (found.converged == path.settled[-1]).all()


def test_walks_over_images_take_little_memory(rng):
    X = np.where(rng.random((6, 900)) < 0.2, rng.random((6, 900)), 0.0)
    target = Expansion(Gaussian(0.01), X, np.eye(6))
    tracemalloc.start()
    SparsePath(method="path_seeking", n_nonzero=5, step=0.05, max_iter=4).solve(target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * X.nbytes  # 400 steps of all images would take 400 times as much
