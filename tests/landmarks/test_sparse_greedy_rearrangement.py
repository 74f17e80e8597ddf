"""Rearranged landmarks, the rule of residual columns, and the matrix T against its definitions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from preimage import SparseGreedyRegressor
from preimage._engine.arrays import to_numpy
from preimage.kernels import Gaussian, Linear, Polynomial, Precomputed
from preimage.landmarks import SparseGreedy, Uniform, landmark_coefficients


def residual(K, chosen):
    C = K[:, chosen]
    return K - C @ np.linalg.solve(K[np.ix_(chosen, chosen)], C.T) if len(chosen) else K


def problem(n=60, gamma=0.4):
    X = np.random.default_rng(5).normal(size=(n, 3))
    return X, Gaussian(gamma)(X)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n_candidates=st.sampled_from([1, 3, 59]))
def test_each_landmark_is_the_best_of_those_that_follow(seed, n_candidates):
    X, K = problem()
    greedy = SparseGreedy(8, n_candidates=n_candidates, block_size=1, random_state=seed)
    before = greedy.select(Gaussian(0.4), X)
    after = greedy.set_params(rearrange=True).select(Gaussian(0.4), X)
    assert sorted(before.indices) == sorted(after.indices)
    assert_allclose(before.residual_trace, after.residual_trace)
    order = list(after.indices)
    for step in range(8):
        traces = [np.trace(residual(K, [*order[:step], i])) for i in order[step:]]
        assert traces[0] <= min(traces) * (1 + 1e-9)
        assert_allclose(after.residuals_path[step], traces[0])


def test_random_landmarks_leave_less_when_rearranged():
    X, _ = problem(400, 1.0)
    plain = [SparseGreedy(40, n_candidates=1, random_state=seed).select(Gaussian(1.0), X) for seed in range(5)]
    better = [
        SparseGreedy(40, n_candidates=1, random_state=seed, rearrange=True).select(Gaussian(1.0), X)
        for seed in range(5)
    ]
    ratio = np.mean([each.residuals_path for each in better], 0) / np.mean([each.residuals_path for each in plain], 0)
    assert (ratio < 1 + 1e-12).all() and ratio[:20].mean() < 0.95


def test_a_tolerance_drops_what_is_no_longer_needed():
    X, _ = problem(400, 0.5)
    plain = SparseGreedy(None, tol=0.05, n_candidates=1).select(Gaussian(0.5), X)
    better = SparseGreedy(None, tol=0.05, n_candidates=1, rearrange=True).select(Gaussian(0.5), X)
    assert len(better) < len(plain)
    assert better.residual_fraction <= 0.05 < better.residuals_path[-2] / better.trace


def test_the_order_does_not_change_a_model_on_all_landmarks():
    X, _ = problem(300, 0.5)
    plain, ordered = (
        SparseGreedyRegressor(SparseGreedy(30, n_candidates=1, rearrange=rearrange), gamma=0.5).fit(X, X[:, 0])
        for rearrange in (False, True)
    )
    assert list(plain.landmarks_.indices) != list(ordered.landmarks_.indices)
    assert_allclose(plain.predict(X), ordered.predict(X), atol=1e-8)


def test_the_rule_of_columns_takes_the_longest_residual_column():
    X, K = problem()
    for block_size in (1, 3):
        selector = SparseGreedy(9, n_candidates=1000, rule="column", block_size=block_size)
        chosen = list(selector.select(Gaussian(0.4), X).indices)
        for step in range(9):
            lengths = np.linalg.norm(residual(K, chosen[:step]), axis=0)
            assert chosen[step] == np.argmax(lengths)


def test_t_is_what_the_rank_one_updates_of_the_paper_give():
    X, K = problem()
    chosen = SparseGreedy(12).select(Gaussian(0.4), X).indices
    T, C = np.zeros((0, 60)), np.zeros((60, 0))
    for i in chosen:  # algorithm 2
        column = K[:, i] - C @ T[:, i]
        step = np.append(-T[:, i], 1.0) / column[i]
        T = np.vstack([T, np.zeros(60)]) + np.outer(step, column)
        C = np.column_stack([C, K[:, i]])
    found = landmark_coefficients(Gaussian(0.4), X[chosen], X)
    assert_allclose(found, T, atol=1e-9)
    assert_allclose(found[:, chosen], np.eye(12), atol=1e-9)
    R = K - C @ found
    assert_allclose(R, R.T, atol=1e-10)
    assert np.linalg.eigvalsh(R).min() > -1e-10


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 12), gamma=st.floats(0.05, 3))
def test_column_space_is_nearer_in_the_frobenius_norm_and_orthogonal(seed, m, gamma):
    X = np.random.default_rng(seed).normal(size=(25, 2))
    kernel = Gaussian(gamma)
    K, points = kernel(X), Uniform(m, random_state=seed).select(kernel, X).points
    C = kernel(X, points)
    left = {space: K - C @ landmark_coefficients(kernel, points, X, space) for space in ("function", "column")}
    assert np.linalg.norm(left["column"]) <= np.linalg.norm(left["function"]) * (1 + 1e-7) + 1e-9
    assert_allclose(C.T @ left["column"], 0, atol=1e-8 * len(K))
    assert np.trace(left["function"]) >= -1e-9


@pytest.mark.parametrize("n_candidates", [2, 7, 25])
def test_of_the_same_candidates_column_space_takes_the_one_with_the_largest_gain_over_all_rows(n_candidates):
    X, K = problem(120)
    for seed in range(15):
        chosen = {
            space: SparseGreedy(1, n_candidates=n_candidates, block_size=1, space=space, random_state=seed)
            .select(Gaussian(0.4), X)
            .points
            for space in ("function", "column")
        }
        left = {
            space: np.linalg.norm(
                K - Gaussian(0.4)(X, points) @ landmark_coefficients(Gaussian(0.4), points, X, "column")
            )
            for space, points in chosen.items()
        }
        assert left["column"] <= left["function"] * (1 + 1e-9)


def test_t_expresses_rows_that_landmarks_were_not_chosen_among():
    X, _ = problem()
    Z = np.random.default_rng(0).normal(size=(7, 3))
    points = SparseGreedy(20).select(Gaussian(0.4), X).points
    T = landmark_coefficients(Gaussian(0.4), points, Z)
    W, C = Gaussian(0.4)(points), Gaussian(0.4)(Z, points)
    assert_allclose(T, np.linalg.solve(W, C.T), atol=1e-8)


def test_dependent_landmarks_get_no_coefficients():
    X = np.random.default_rng(0).normal(size=(9, 2))
    T = landmark_coefficients(Linear(), X[[0, 0, 1, 2]], X)
    assert_allclose(T[[1, 3]], 0)
    assert_allclose(X[[0, 0, 1, 2]].T @ T, X.T, atol=1e-10)
    for space in ("function", "column"):
        assert np.isfinite(landmark_coefficients(Linear(), np.zeros((2, 2)), X, space)).all()


@pytest.mark.parametrize("space", ["function", "column"])
def test_precomputed_values_and_array_libraries_give_the_same(space, xp):
    X, K = problem()
    chosen = SparseGreedy(6).select(Polynomial(2), X).indices
    expected = landmark_coefficients(Polynomial(2), X[chosen], X, space)
    K = Polynomial(2)(X)
    given = landmark_coefficients(Precomputed(K), Precomputed(K).inputs(K)[chosen], K, space)
    assert_allclose(given, expected, atol=1e-7)
    foreign = landmark_coefficients(Polynomial(2), xp.asarray(X[chosen]), xp.asarray(X), space)
    assert_allclose(to_numpy(foreign), expected, atol=1e-5)


def test_bad_calls_say_what_is_wrong():
    X, _ = problem()
    with pytest.raises(ValueError, match=r"function, column; got 'row'"):
        landmark_coefficients(Gaussian(1.0), X[:2], X, "row")
    with pytest.raises(ValueError, match=r"shape \(m, 3\).*got shape \(2, 2\)"):
        landmark_coefficients(Gaussian(1.0), X[:2, :2], X)
    assert_array_equal(landmark_coefficients(Gaussian(1.0), X[:1], X[:1]), [[1.0]])


def test_lists_and_frames_are_rows():
    X, _ = problem()
    expected = landmark_coefficients(Gaussian(1.0), X[:3], X)
    for kind in (np.ndarray.tolist, pd.DataFrame):
        assert_allclose(landmark_coefficients(Gaussian(1.0), kind(X[:3]), kind(X)), expected, atol=1e-14)
