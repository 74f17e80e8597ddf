"""Kernel ridge regression of several outputs."""

import numpy as np
from numpy.testing import assert_allclose

from preimage.kernels import Gaussian
from preimage.solvers._ridge_map import leave_one_out_errors, ridge_weights


def test_leave_one_out_is_exact_down_to_small_ridges(rng):
    Y, X = rng.normal(size=(15, 2)), rng.normal(size=(15, 3))
    L, ridges = Gaussian(0.5)(Y), np.array([1e-6, 1e-2, 1.0])
    expected = []
    for ridge in ridges:
        rest = [np.delete(np.arange(15), i) for i in range(15)]
        predicted = [L[i, r] @ np.linalg.solve(L[np.ix_(r, r)] + ridge * np.eye(14), X[r]) for i, r in enumerate(rest)]
        expected.append(np.mean((np.array(predicted) - X) ** 2))
    assert_allclose(leave_one_out_errors(L, X, ridges, rounding=1.0), expected, rtol=1e-6)


def test_ridges_that_rounding_would_spoil_do_not_compete(rng):
    Y = rng.normal(size=(60, 2))
    errors = leave_one_out_errors(Gaussian(1e-4)(Y), rng.normal(size=(60, 3)), np.array([1e-15, 1.0]))
    assert np.isinf(errors[0]) and np.isfinite(errors[1])


def test_weights_without_a_ridge_are_those_of_the_pseudo_inverse(rng):
    Y = np.repeat(rng.normal(size=(5, 2)), 2, axis=0)
    X = rng.normal(size=(10, 3))
    assert_allclose(ridge_weights(Gaussian(0.5), Y, X, 0.0), np.linalg.pinv(Gaussian(0.5)(Y)) @ X, atol=1e-8)
