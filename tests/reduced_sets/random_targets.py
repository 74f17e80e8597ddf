"""Targets and finite differences for tests of reducers."""

import numpy as np
import pytest

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Matern, Polynomial, RationalQuadratic

SMOOTH = [
    Gaussian(0.3),
    Matern(0.5, nu=2.5),
    RationalQuadratic(0.4),
    Polynomial(3, gamma=0.5, coef0=1.0),
    Gaussian(0.5) + 0.1 * Polynomial(3, gamma=0.2),
    Gaussian(0.5) * RationalQuadratic(0.2),
]
smooth_kernels = pytest.mark.parametrize("kernel", SMOOTH, ids=repr)


def random_target(rng, kernel=None, m=25, d=3, k=2):
    return Expansion(kernel or Gaussian(0.3), rng.normal(size=(m, d)), rng.normal(size=(m, k)))


def finite_differences(function, Z, step=1e-5):
    """Gradient of a function of an array by central differences."""
    gradient = np.zeros_like(Z)
    for index in np.ndindex(*Z.shape):
        move = np.zeros_like(Z)
        move[index] = step
        gradient[index] = (function(Z + move) - function(Z - move)) / (2 * step)
    return gradient
