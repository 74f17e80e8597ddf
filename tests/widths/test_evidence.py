"""The evidence is that of a Gaussian process, and its derivatives are its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from preimage.kernels import Gaussian, InverseMultiquadric, Matern, RationalQuadratic, ScaledInputs, Student
from preimage.widths._evidence import Evidence

KERNELS = [
    Gaussian(1.0),
    Matern(1.0, nu=0.5),
    Matern(1.0, nu=1.5),
    Matern(1.0, nu=2.5),
    RationalQuadratic(1.0),
    InverseMultiquadric(1.0),
    Student(1.0, 3.0),
]


def evidence(rng, kernel=KERNELS[0], n=25, d=4, k=2):
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, k))
    return Evidence(kernel, X, Y, rng.uniform(0.5, 2, size=n)), rng.uniform(0.1, 1, size=d), 0.3


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_differences_of_evidence_are_those_of_the_density_of_targets(kernel, rng):
    """At the best variance of the signal, for two settings of weights and ridge."""
    found, weights, ridge = evidence(rng, kernel)
    n, k = found.Y.shape

    def by_density(weights, ridge):
        A = ScaledInputs(kernel, weights)(found.X) + ridge * np.diag(found.noise)
        variance = np.trace(found.Y.T @ np.linalg.solve(A, found.Y)) / (n * k)
        density = multivariate_normal(np.zeros(n), variance * A)
        return -2 * sum(density.logpdf(column) for column in found.Y.T) / (n * k)

    change = found.at(weights, ridge) - found.at(2 * weights, 2.0)
    assert_allclose(change, by_density(weights, ridge) - by_density(2 * weights, 2.0), rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_derivatives_are_those_of_differences(kernel, rng):
    found, weights, ridge = evidence(rng, kernel)
    value, by_weights, by_ridge = found.with_gradient(weights, ridge)
    assert_allclose(value, found.at(weights, ridge), rtol=1e-12)
    step = 1e-6
    for column, move in enumerate(step * np.eye(weights.size)):
        change = found.at(weights + move, ridge) - found.at(weights - move, ridge)
        assert_allclose(by_weights[column], change / (2 * step), rtol=1e-5, atol=1e-8)
    change = found.at(weights, ridge + step) - found.at(weights, ridge - step)
    assert_allclose(by_ridge, change / (2 * step), rtol=1e-5, atol=1e-8)


def test_rows_given_twice_have_finite_derivatives(rng):
    found, weights, ridge = evidence(rng, Matern(1.0, nu=0.5))
    twice = Evidence(found.kernel, np.tile(found.X, (2, 1)), np.tile(found.Y, (2, 1)), np.tile(found.noise, 2))
    assert np.isfinite(twice.with_gradient(weights, ridge)[1]).all()


def test_squared_gradients_are_those_of_kernel_ridge_regression(rng):
    found, weights, ridge = evidence(rng)
    K = ScaledInputs(Gaussian(1.0), weights)
    coefficients = np.linalg.solve(K(found.X) + ridge * np.diag(found.noise), found.Y)
    expected, step = np.zeros(4), 1e-6
    for column, move in enumerate(step * np.eye(4)):
        change = (K(found.X + move, found.X) - K(found.X - move, found.X)) @ coefficients / (2 * step)
        expected[column] = np.mean(np.sum(change**2, axis=1))
    assert_allclose(found.squared_gradients(weights, ridge), expected, rtol=1e-6)
