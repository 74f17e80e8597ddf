"""Losses as functions of squared residuals: derivatives, majorising squares, trust."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage._models.completion._losses import LOSSES, OUTLIER, as_loss

NAMES = LOSSES.names
SQUARES = np.array([0.0, 1e-4, 0.01, 0.3, 0.9, 1.2, 4.0, 8.9, 9.5, 100.0, 1e6])


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_derivatives_by_the_square(name, xp):
    loss = as_loss(name)
    step = 1e-6 * (1 + SQUARES)
    up, down = (to_numpy(loss.values(xp.asarray(SQUARES + sign * step))) for sign in (2, 0))
    found = to_numpy(loss.weights(xp.asarray(SQUARES + step)))
    assert_allclose(found, (up - down) / (2 * step), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_of_nothing_is_zero_and_trust_is_between_zero_and_one(name):
    loss = as_loss(name)
    assert abs(float(loss.values(np.zeros(1))[0])) < 1e-15
    trust = loss.trust(SQUARES)
    assert trust[0] == 1 and np.all((trust >= 0) & (trust <= 1)) and np.all(np.diff(trust) <= 0)


@pytest.mark.parametrize("name", NAMES)
@given(here=st.floats(0, 1e4), there=st.floats(0, 1e4))
def test_a_weighted_square_at_one_residual_is_nowhere_below_the_loss(name, here, there):
    loss, a, b = as_loss(name), np.array([here]), np.array([there])
    majorant = loss.values(a) + loss.weights(a) * (b - a)
    assert float(majorant[0]) >= float(loss.values(b)[0]) - 1e-9 * (1 + abs(float(majorant[0])))


@pytest.mark.parametrize("name", ["huber", "cauchy", "tukey"])
def test_small_residuals_count_as_squares(name):
    small = np.array([1e-8])
    assert_allclose(as_loss(name).values(small), small, rtol=1e-6)


def test_tukey_does_not_care_how_wrong_an_outlier_is():
    loss = as_loss("tukey")
    assert_allclose(loss.values(np.array([OUTLIER**2, 1e2, 1e8])), 3.0)
    assert_allclose(loss.weights(np.array([OUTLIER**2, 1e2, 1e8])), 0.0)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'huber', 'l1', 'cauchy', 'tukey'"):
        as_loss("hubber")
