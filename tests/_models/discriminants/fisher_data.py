"""Data and problems that tests of discriminants share."""

import numpy as np
from numpy.testing import assert_allclose

from preimage._models.discriminants import ScatterFisher
from preimage._models.discriminants._scatter_fisher import PointCoordinates
from preimage.feature_space import ClassMoments


def data(rng, n=50, d=3, n_classes=2):
    codes = np.arange(n) % n_classes
    return rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(n_classes, d))[codes], codes


def same_up_to_scale(A, B, tol=1e-7):
    A, B = A / np.linalg.norm(A, axis=0), B / np.linalg.norm(B, axis=0)
    assert_allclose(np.abs(np.sum(A * B, axis=0)), 1, atol=tol)


def scatter_problem(K, codes, n_classes=2, regularizer="norm", weights=None, gram=None, **options):
    coordinates = PointCoordinates(K if gram is None else gram, regularizer)
    return ScatterFisher(ClassMoments.of(coordinates.of(K), codes, n_classes, weights), coordinates, **options)
