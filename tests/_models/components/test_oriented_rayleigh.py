"""Ratios of signal to noise."""

import numpy as np
import pytest
from scipy.linalg import eigh

from preimage._engine.arrays import to_numpy
from preimage._models.components import rayleigh


def problem(rng, m=7, r=3):
    A, B = rng.normal(size=(m, r)), rng.normal(size=(m, 2 * m))
    return A, B @ B.T


def test_solves_the_generalised_eigenproblem(rng, xp):
    A, Q = problem(rng)
    ratios, directions = rayleigh(xp.asarray(A), xp.asarray(Q))
    ratios, directions = to_numpy(ratios), to_numpy(directions)
    expected = eigh(A @ A.T, Q, eigvals_only=True)[::-1][:3]
    np.testing.assert_allclose(ratios, expected, rtol=1e-10)
    np.testing.assert_allclose(A @ A.T @ directions, Q @ directions * ratios, atol=1e-9)


def test_directions_have_unit_noise_and_do_not_share_any(rng):
    A, Q = problem(rng)
    _, directions = rayleigh(A, Q)
    np.testing.assert_allclose(directions.T @ Q @ directions, np.eye(3), atol=1e-12)


def test_no_direction_has_a_larger_ratio(rng):
    A, Q = problem(rng)
    ratios, _ = rayleigh(A, Q, 1)
    a = rng.normal(size=(7, 1000))
    assert np.max(np.sum((A.T @ a) ** 2, axis=0) / np.sum(a * (Q @ a), axis=0)) <= ratios[0]


def test_a_change_of_coordinates_changes_nothing(rng):
    A, Q = problem(rng)
    C = rng.normal(size=(7, 7))
    ratios, directions = rayleigh(A, Q, 2)
    other_ratios, other = rayleigh(C.T @ A, C.T @ Q @ C, 2)
    np.testing.assert_allclose(other_ratios, ratios, rtol=1e-9)
    np.testing.assert_allclose(np.abs(C @ other), np.abs(directions), rtol=1e-6, atol=1e-9)


def test_equal_noise_everywhere_is_principal_component_analysis(rng):
    A, _ = problem(rng)
    ratios, directions = rayleigh(A, np.eye(7))
    U, singular, _ = np.linalg.svd(A, full_matrices=False)
    np.testing.assert_allclose(ratios, singular**2)
    np.testing.assert_allclose(np.abs(directions), np.abs(U), atol=1e-12)


def test_noise_that_vanishes_somewhere_is_refused(rng):
    A, _ = problem(rng)
    with pytest.raises(np.linalg.LinAlgError, match="Add a ridge"):
        rayleigh(A, np.diag([1.0, 1, 1, 1, 1, 1, 0]))
