"""Directions of extreme moments among white coordinates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import kurtosis, moment, skew

from preimage._models.components import MomentIndex, projection_pursuit
from preimage._models.components._projection_pursuit import GreatCircles, _rounds, mixed_moments


def white(X, weights=None):
    """Coordinates of variance one without correlations."""
    X = X - np.average(X, axis=0, weights=weights)
    values, vectors = np.linalg.eigh(np.cov(X.T, aweights=weights, bias=True).reshape(X.shape[1], -1))
    return X @ vectors / np.sqrt(values)


def sources(n, rng):
    """Independent variables of positive, negative and no excess kurtosis."""
    columns = [rng.laplace(size=n), rng.uniform(size=n), rng.exponential(size=n), rng.normal(size=n)]
    return np.stack(columns, axis=1)


@given(order=st.integers(3, 8), angle=st.floats(-np.pi, np.pi), seed=st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_mixed_moments_give_the_moment_at_every_angle(order, angle, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.laplace(size=(2, 60, 1))
    omega = rng.uniform(size=60)
    omega /= omega.sum()
    index = MomentIndex(order, "largest")
    mixed = mixed_moments(a, b, omega, order)
    circles = GreatCircles(index, mixed, np.array([True]))
    turned = np.array([angle])
    direct = lambda theta: float(omega @ (np.cos(theta) * a + np.sin(theta) * b)[:, 0] ** order)
    scale = np.abs(mixed).max() * 2**order
    both = direct(angle) + direct(angle + np.pi / 2) - 2 * index.gaussian
    assert_allclose(circles.objective(turned), both, atol=1e-12 * scale)
    value, first, second = (part[0] for part in circles._derivatives(turned))
    h = 1e-4
    assert_allclose(value, direct(angle), atol=1e-12 * scale)
    assert_allclose(first, (direct(angle + h) - direct(angle - h)) / (2 * h), atol=1e-5 * scale)
    assert_allclose(second, (direct(angle + h) - 2 * value + direct(angle - h)) / h**2, atol=1e-5 * scale)


@pytest.mark.parametrize("order", [3, 4, 5, 6])
@pytest.mark.parametrize("extreme", ["both", "largest", "smallest"])
def test_in_the_plane_no_angle_is_better(order, extreme, rng):
    Z = white(sources(300, rng)[:, [0, 1]] @ rng.normal(size=(2, 2)))
    index = MomentIndex(order, extreme)
    found = projection_pursuit(Z, 1, index, rng=rng, joint=False)
    angles = np.linspace(0, 2 * np.pi, 2001)
    values = index.objective(np.mean((Z @ np.stack([np.cos(angles), np.sin(angles)])) ** order, axis=0))
    best = index.objective(np.mean((Z @ found.directions) ** order, axis=0))[0]
    assert values.max() <= best * (1 + 1e-9) + 1e-9
    assert best <= values.max() + 1e-3 * (1 + abs(values.max()))
    assert found.converged


def test_moments_are_those_of_scipy(rng):
    Z = white(sources(500, rng) @ rng.normal(size=(4, 4)))
    by_kurtosis = projection_pursuit(Z, 4, MomentIndex(4), rng=rng)
    assert_allclose(by_kurtosis.moments, kurtosis(Z @ by_kurtosis.directions), atol=1e-8)
    assert np.all(np.diff(np.abs(by_kurtosis.moments)) <= 0)
    assert np.all(skew(Z @ by_kurtosis.directions) >= 0)  # the longer tail is on the positive side
    by_skewness = projection_pursuit(Z, 2, MomentIndex(3), rng=rng)
    assert_allclose(by_skewness.moments, skew(Z @ by_skewness.directions), atol=1e-8)
    assert np.all(by_skewness.moments > 0)
    of_six = projection_pursuit(Z, 2, MomentIndex(6, "largest"), rng=rng)
    assert_allclose(of_six.moments, moment(Z @ of_six.directions, 6) - 15, rtol=1e-8)


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("n_directions", [1, 3, 5])
def test_directions_are_orthonormal_and_objectives_never_fall(joint, n_directions, rng):
    Z = white(rng.standard_t(4, size=(200, 5)) @ rng.normal(size=(5, 5)))
    found = projection_pursuit(Z, n_directions, MomentIndex(4), rng=rng, joint=joint)
    assert_allclose(found.directions.T @ found.directions, np.eye(n_directions), atol=1e-12)
    assert np.all(np.diff(found.objectives) >= -1e-9 * np.abs(found.objectives[0]))
    assert_allclose(found.objectives[-1], np.abs(found.moments).sum(), rtol=1e-9)
    if not joint:
        assert len(found.objectives) == 1


def test_the_joint_search_raises_the_sum_and_deflation_the_first(rng):
    Z = white(rng.standard_t(5, size=(300, 6)))
    one_by_one = projection_pursuit(Z, 6, MomentIndex(4), rng=np.random.default_rng(0), joint=False)
    together = projection_pursuit(Z, 6, MomentIndex(4), rng=np.random.default_rng(0))
    assert np.abs(together.moments).sum() > np.abs(one_by_one.moments).sum() * (1 + 1e-6)
    assert abs(one_by_one.moments[0]) >= abs(together.moments[0]) * (1 - 1e-9)


def test_extremes_of_either_side(rng):
    Z = white(sources(2000, rng)[:, [0, 1, 3]] @ rng.normal(size=(3, 3)))
    largest = projection_pursuit(Z, 1, MomentIndex(4, "largest"), rng=rng).moments[0]
    smallest = projection_pursuit(Z, 1, MomentIndex(4, "smallest"), rng=rng).moments[0]
    both = projection_pursuit(Z, 3, MomentIndex(4), rng=rng).moments
    assert largest > 1.5 and smallest < -0.9
    assert both.max() <= largest * (1 + 1e-9) and both.min() >= smallest * (1 + 1e-9)


def test_weights_are_repetitions(rng):
    X = sources(80, rng)[:, :3]
    counts = rng.integers(1, 4, size=80)
    Z = white(X, counts)
    one = projection_pursuit(Z, 2, MomentIndex(4), rng=np.random.default_rng(0), weights=counts, tol=1e-14)
    other = projection_pursuit(np.repeat(Z, counts, axis=0), 2, MomentIndex(4), rng=np.random.default_rng(0), tol=1e-14)
    assert_allclose(one.moments, other.moments, rtol=1e-8)
    assert_allclose(np.abs(np.sum(one.directions * other.directions, axis=0)), 1, atol=1e-8)


@pytest.mark.parametrize("joint", [False, True])
def test_independent_variables_are_found_in_mixtures(joint, rng):
    S = sources(4000, rng)
    Z = white(S @ rng.normal(size=(4, 4)))
    found = projection_pursuit(Z, 3, MomentIndex(4), rng=rng, joint=joint)
    correlations = np.abs(np.corrcoef((Z @ found.directions).T, S.T)[:3, 3:])
    assert_allclose(correlations.max(axis=1), 1, atol=0.02)
    assert set(np.argmax(correlations, axis=1)) == {0, 1, 2}  # not the Gaussian one


@pytest.mark.parametrize(("q", "count"), [(2, 1), (2, 2), (5, 2), (6, 6), (7, 7), (9, 1)])
def test_rounds_have_every_pair_once_and_no_direction_twice(q, count):
    rounds = _rounds(q, count)
    for first, second in rounds:
        together = np.concatenate([first, second])
        assert len(set(together.tolist())) == together.size
    pairs = [pair for first, second in rounds for pair in zip(first.tolist(), second.tolist(), strict=True)]
    assert sorted(pairs) == [(i, j) for i in range(count) for j in range(i + 1, q)]


def test_one_coordinate_and_one_step(rng):
    found = projection_pursuit(white(rng.laplace(size=(50, 1))), 1, MomentIndex(4), rng=rng)
    assert_allclose(np.abs(found.directions), 1)
    assert found.converged
    Z = white(rng.standard_t(3, size=(200, 8)))
    assert not projection_pursuit(Z, 8, MomentIndex(4), rng=rng, max_iter=1).converged
