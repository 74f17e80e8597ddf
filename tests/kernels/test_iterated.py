"""Kernels iterated over a reference sample."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.kernels import Gaussian, Iterated, Sigmoid


def test_iterated_gaussian_is_a_wider_gaussian():
    """(K11): the integral of two Gaussians over the line is a Gaussian of half the γ."""
    gamma, X = 0.8, np.array([[0.3], [-0.9], [2.0]])
    grid, step = np.linspace(-12, 12, 4001, retstep=True)
    iterated = Iterated(Gaussian(gamma), grid[:, None])  # a mean over the grid
    integral = iterated(X) * grid.size * step
    assert_allclose(integral, np.sqrt(np.pi / (2 * gamma)) * Gaussian(gamma / 2)(X), rtol=1e-10)


def test_iterated_sigmoid_is_positive_semidefinite(rng):
    X = 3 * rng.normal(size=(40, 3))
    assert np.linalg.eigvalsh(Sigmoid(1.0, -1.0)(X))[0] < -1e-3
    assert np.linalg.eigvalsh(Iterated(Sigmoid(1.0, -1.0), X)(X))[0] > -1e-10


def test_iterated_kernel_squares_the_spectrum(rng):
    X = rng.normal(size=(20, 3))
    values = np.linalg.eigvalsh(Gaussian(0.3)(X))
    assert_allclose(np.linalg.eigvalsh(Iterated(Gaussian(0.3)).resolve(X)(X)), values**2 / 20, atol=1e-12)


def test_iterated_kernel_asks_for_its_reference():
    with pytest.raises(ValueError, match="reference"):
        Iterated(Gaussian())(np.ones((2, 2)))
