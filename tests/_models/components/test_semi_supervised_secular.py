"""Laws of the secular solve: the global minimum of a quadratic function on an ellipsoid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eig, eigh
from scipy.optimize import minimize

from preimage._engine.arrays import to_numpy
from preimage._models.components import secular_minimum


def problem(seed, r=6, rank=None, labelled=3):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(12, r)) * np.logspace(0, -2, r)
    if rank is not None:
        F = F @ np.diag(np.arange(r) < rank)
    A = rng.normal(size=(labelled, r))
    return np.eye(r) + 2 * A.T @ A, F.T @ F, 2 * A.T @ rng.choice([-1.0, 1.0], size=labelled)


def objective(C, b, h):
    return h @ C @ h - 2 * b @ h


@given(seed=st.integers(0, 10**6), size=st.floats(1e-6, 1e6), rank=st.sampled_from([None, 1, 4]))
def test_conditions_of_the_minimum_hold(seed, size, rank):
    C, P, b = problem(seed, rank=rank)
    found = secular_minimum(C, P, b, size)
    h, multiplier = found.point, found.multiplier
    rounding = 1e-14 * np.linalg.norm(P) * (h @ h)  # directions outside the constraint can be long
    np.testing.assert_allclose(h @ P @ h, size, rtol=1e-9, atol=rounding)
    scale = np.linalg.norm(b) + np.linalg.norm(C @ h)
    np.testing.assert_allclose((C - multiplier * P) @ h, b, atol=1e-9 * scale)
    np.testing.assert_allclose(found.limit, 1 / eigh(P, C, eigvals_only=True)[-1], rtol=1e-8)
    assert multiplier <= found.limit * (1 + 1e-12)
    assert np.linalg.eigvalsh(C - multiplier * P)[0] > -1e-8 * np.abs(C).max()  # which makes it global


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [0.1, 9.0])
def test_no_local_search_finds_a_lower_value(seed, size):
    C, P, b = problem(seed)
    best = objective(C, b, secular_minimum(C, P, b, size).point)
    rng = np.random.default_rng(seed)

    def on_the_ellipsoid(h):
        return h * np.sqrt(size / (h @ P @ h))

    ends = [
        minimize(lambda h: objective(C, b, on_the_ellipsoid(h)), rng.normal(size=6), method="BFGS").fun
        for _ in range(20)
    ]
    assert min(ends) >= best - 1e-7 * abs(best)
    np.testing.assert_allclose(min(ends), best, rtol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_multiplier_is_the_smallest_real_eigenvalue_of_the_papers_pencil(seed):
    C, P, b = problem(seed)
    size = 9.0
    zeros = np.zeros_like(P)
    left = np.block([[C, -P], [-np.outer(b, b) / size, C]])
    values = eig(left, np.block([[P, zeros], [zeros, P]]), right=False)
    real = values[np.abs(values.imag) < 1e-7 * np.abs(values)].real
    np.testing.assert_allclose(secular_minimum(C, P, b, size).multiplier, real.min(), rtol=1e-6)


@given(seed=st.integers(0, 10**6))
def test_the_secular_function_increases(seed):
    """A larger constraint has a larger multiplier: φ increases on (−∞, δ₁)."""
    C, P, b = problem(seed)
    multipliers = [secular_minimum(C, P, b, size).multiplier for size in np.logspace(-4, 4, 9)]
    assert np.all(np.diff(multipliers) > 0)


def test_the_hard_case_by_construction():
    C, P, b = np.diag([1.0, 2.0, 1.0]), np.diag([1.0, 1.0, 4.0]), np.array([0.3, 0.2, 0.0])
    # δ₁ = 1/4; the others take 0.3/(1 − 1/4) and 0.2/(2 − 1/4).
    others = np.array([0.3 / 0.75, 0.2 / 1.75])
    found = secular_minimum(C, P, b, 9.0)
    assert found.is_hard and found.multiplier == found.limit == 0.25
    np.testing.assert_allclose(found.point[:2], others, rtol=1e-12)
    np.testing.assert_allclose(found.point[2], np.sqrt((9 - others @ others) / 4), rtol=1e-12)
    # A small constraint is filled by the others: no hard case, although b is zero along the lead.
    small = secular_minimum(C, P, b, 0.1)
    assert not small.is_hard and small.multiplier < 0.25 and small.point[2] == 0
    np.testing.assert_allclose(small.point @ P @ small.point, 0.1, rtol=1e-12)


def test_no_pull_at_all_is_the_leading_eigenvector():
    C, P, b = problem(0)
    found = secular_minimum(C, P, 0 * b, 4.0)
    values, vectors = eigh(P, C)
    assert found.is_hard
    expected = vectors[:, -1] * np.sqrt(4.0 / values[-1])
    np.testing.assert_allclose(np.abs(found.point), np.abs(expected), rtol=1e-8)
    assert found.point[np.argmax(np.abs(found.point))] > 0


@pytest.mark.parametrize("pull", [1e-8, 1e-12, 1e-14, -1e-12])
def test_nearly_hard_cases_tend_to_the_hard_one(pull):
    C, P = np.diag([1.0, 2.0, 1.0]), np.diag([1.0, 1.0, 4.0])
    hard = secular_minimum(C, P, np.array([0.3, 0.2, 0.0]), 9.0).point
    found = secular_minimum(C, P, np.array([0.3, 0.2, pull]), 9.0)
    assert not found.is_hard
    np.testing.assert_allclose(found.point, hard * [1, 1, np.sign(pull)], atol=1e-6)


def test_equal_leading_eigenvalues_are_one_direction():
    C, P, b = np.eye(3), np.diag([1.0, 4.0, 4.0]), np.array([0.1, 0.3, -0.4])
    found = secular_minimum(C, P, b, 16.0)
    np.testing.assert_allclose(found.point[1:] / np.linalg.norm(found.point[1:]), [0.6, -0.8], atol=1e-12)
    np.testing.assert_allclose(found.point @ P @ found.point, 16.0, rtol=1e-12)


def test_one_dimension_and_no_constraint():
    assert secular_minimum(np.eye(1), 4 * np.eye(1), np.array([-1.0]), 4.0).point[0] == pytest.approx(-1.0)
    with pytest.raises(ValueError, match="P = 0"):
        secular_minimum(np.eye(2), np.zeros((2, 2)), np.ones(2), 1.0)


def test_array_libraries_agree(xp):
    C, P, b = problem(1)
    expected = secular_minimum(C, P, b, 2.0)
    found = secular_minimum(xp.asarray(C), xp.asarray(P), xp.asarray(b), 2.0)
    np.testing.assert_allclose(to_numpy(found.point), expected.point, atol=1e-10)


@pytest.mark.parametrize("pull", [1e-160, 1e-120, 1e-20])
@pytest.mark.parametrize("place", [2, 3])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_the_faintest_pull_fills_the_constraint(pull, place, size):
    # Two leading directions that are equal up to rounding errors; squares of such pulls underflow.
    P, b = np.diag([0.3, 0.5, 1 - 1e-16, 1.0]), np.zeros(4)
    b[place] = pull
    found = secular_minimum(np.eye(4), P, b, size)
    np.testing.assert_allclose(found.point @ P @ found.point, size, rtol=1e-12)
    np.testing.assert_allclose(found.multiplier, 1.0, rtol=1e-12)


def test_variance_that_is_a_rounding_error_constrains_nothing():
    # With P = diag(1, 0): h = (s, b₂). The second direction has no variance, whatever rounding errors say.
    for rounding in (0.0, 1e-17):
        found = secular_minimum(np.eye(2), np.diag([1.0, rounding]), np.array([1.0, 1e4]), 1e-14)
        np.testing.assert_allclose(found.point, [1e-7, 1e4], rtol=1e-9)
