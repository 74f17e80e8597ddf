"""A frame whose leading vectors span the leading points."""

import numpy as np
from numpy.testing import assert_allclose

from preimage._arrays import to_numpy
from preimage.kernels import Gaussian, Linear
from preimage.regression import nested_frame


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
