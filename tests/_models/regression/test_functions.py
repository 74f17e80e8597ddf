"""Functions of numbers for arrays of any library: what SciPy has for NumPy, also where numbers are large."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from preimage._engine.arrays import to_numpy
from preimage._models.regression._functions import log_sum_exp, quotient, sigmoid, soft_max, soft_plus, times_log

F = np.array([[-800.0, -1.0, 0.0], [1e-9, 3.0, 800.0], [700.0, -700.0, 5.0]])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (sigmoid, special.expit),
        (soft_plus, lambda F: np.logaddexp(0, F)),
        (log_sum_exp, lambda F: special.logsumexp(F, axis=1, keepdims=True)),
        (soft_max, lambda F: special.softmax(F, axis=1)),
    ],
)
def test_functions_are_those_of_scipy(xp, function, expected):
    assert_allclose(to_numpy(function(xp.asarray(F))), expected(F), rtol=1e-13, atol=1e-300)


def test_probabilities_of_zero_cost_nothing(xp):
    P = np.array([[0.0, 1.0, 0.25]])
    assert_allclose(to_numpy(times_log(xp.asarray(P))), special.xlogy(P, P))


def test_quotients_with_nothing_are_zero(xp):
    assert_allclose(to_numpy(quotient(xp.asarray([3.0, 0.0, 1.0]), xp.asarray([2.0, 0.0, 0.0]))), [1.5, 0, 0])
