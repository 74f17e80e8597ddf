"""Kernels to test geometry on, and oracles that know nothing of closed forms or jets."""

import numpy as np
from naive import monomials

from preimage.kernels import (
    Constant,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Linear,
    MappedInputs,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    ScaledInputs,
    Sigmoid,
)

POINTS = np.random.default_rng(3).normal(size=(4, 3))
MATRIX = np.random.default_rng(8).normal(size=(3, 3))
TALL = np.random.default_rng(9).normal(size=(5, 3))

DOT_PRODUCTS = [
    Linear(),
    Polynomial(1, gamma=0.5, coef0=2.0),
    Polynomial(2, coef0=0.0),
    Polynomial(3, gamma=0.5, coef0=1.0),
    Polynomial(4, gamma=0.3, coef0=0.2),
    Exponential(0.3),
    Sigmoid(0.03, 0.3),
    Polynomial(2) + 0.5 * Exponential(0.3),
    Polynomial(2, gamma=0.4) * Exponential(0.2),
    (Linear() + Exponential(0.2)) ** 2,
]
RADIAL = [Gaussian(0.3), RationalQuadratic(0.5), InverseMultiquadric(0.5), Matern(0.4, nu=2.5), Matern(0.4, nu=1.5)]
MIXED = [
    Linear() + Gaussian(0.3),
    Polynomial(2, gamma=0.5) + Gaussian(0.3),
    Polynomial(2, gamma=0.5) * Gaussian(0.3),
    2.0 * (Exponential(0.2) + RationalQuadratic(0.3)),
    (Linear() + Gaussian(0.3)) ** 3,
    Normalized(Polynomial(2, gamma=0.5)),
    Normalized(Polynomial(2) + Gaussian(0.4)) * Exponential(0.1),
    Linear() + Matern(0.3, nu=1.5) * Polynomial(2, gamma=0.4),
    Linear() * Constant(0.7) + Exponential(0.3),
]
ISOTROPIC = DOT_PRODUCTS + RADIAL + MIXED
DIRECTED = [
    ScaledInputs(Polynomial(3, gamma=0.3), [1.0, 0.5, 2.0]),
    MappedInputs(Polynomial(2), MATRIX),
    MappedInputs(Gaussian(0.1), MATRIX),
    MappedInputs(Polynomial(2, gamma=0.3) + Gaussian(0.2), TALL),
    ScaledInputs(Exponential(0.2), [1.0, 0.5, 0.3]) + Polynomial(2, gamma=0.5),
    Normalized(MappedInputs(Exponential(0.1), MATRIX) + Polynomial(2)),
]


def is_smooth(kernel):
    """Whether k has all derivatives: no Matérn kernel has."""
    return "Matern" not in repr(kernel)


SMOOTH = [kernel for kernel in ISOTROPIC + DIRECTED if is_smooth(kernel)]


def name(kernel):
    return repr(kernel).replace("\n", " ")[:70]


def jacobian(function, x, step=1e-3):
    """∂f/∂x_a in the last axis, by differences of sixth order."""
    columns = []
    for axis in step * np.eye(len(x)):
        near, far, farther = (function(x + m * axis) - function(x - m * axis) for m in (1, 2, 3))
        columns.append((45 * near - 9 * far + farther) / (60 * step))
    return np.stack(columns, axis=-1)


def embedding_derivatives(x, degree, constant):
    """First and second derivatives of the explicit features of (x·y + c)^p, by complex steps and differences."""
    slopes = lambda point: np.stack(
        [monomials((point + 1e-30j * axis)[None], degree, constant)[0].imag / 1e-30 for axis in np.eye(len(x))], axis=-1
    )
    return slopes(x), jacobian(slopes, x)
