"""Every kernel keeps the contract of its family."""

import numpy as np
import pytest

from preimage.kernels import (
    KERNELS,
    CallableKernel,
    Cosine,
    Gaussian,
    Iterated,
    Laplacian,
    Linear,
    MappedInputs,
    Matern,
    Normalized,
    Patches,
    Polynomial,
    RationalQuadratic,
    ScaledInputs,
    Sigmoid,
    Student,
)
from preimage.testing import check_kernel

REFERENCE = np.random.default_rng(7).normal(size=(6, 4))
INPUTS = np.random.default_rng(9).uniform(0.5, 2.0, size=(12, 4))
MATRIX = np.random.default_rng(8).normal(size=(3, 4))

NAMED = [part.exemplar() for part in KERNELS if part.name != "precomputed"]
OTHERS = [
    Polynomial(2, coef0=0.0),
    Polynomial(3, gamma=0.5, coef0=1.0),
    Polynomial(1, gamma=0.5, coef0=2.0),
    Polynomial(2, coef0=-1.0),
    Gaussian("median"),
    Matern(0.5, nu=0.5),
    Matern(0.5, nu=1.5),
    Student(0.5, nu=0.3),
    Student("median", nu=1e9),
    Normalized(Polynomial(2, coef0=0.5)),
    Gaussian(0.3) + RationalQuadratic(0.2),
    Gaussian(0.3) * RationalQuadratic(0.2),
    Linear() + Gaussian(0.3),
    Linear() * Gaussian(0.3),
    2.5 * Gaussian(0.3),
    -1.0 * Gaussian(0.3),
    2.0 * Cosine(),
    Gaussian(0.3) ** 3,
    Cosine() ** 2,
    Cosine() ** 1,
    (Linear() + Gaussian(0.3)) ** 2,
    ScaledInputs(Gaussian(0.5), [1.0, 0.0, 2.0, 0.5]),
    ScaledInputs(Polynomial(2), [1.0, 0.0, 2.0, 0.5]),
    MappedInputs(Gaussian(0.3), MATRIX),
    Iterated(Sigmoid(0.3, -0.5), REFERENCE),
    Iterated(Gaussian(0.3)),
]


@pytest.mark.parametrize("kernel", [*NAMED, *OTHERS], ids=lambda kernel: str(kernel)[:60])
def test_kernel_keeps_the_contract(kernel):
    check_kernel(kernel, None if kernel.lowest_input is None else INPUTS)


@pytest.mark.parametrize(
    "kernel",
    [
        Patches((4, 3), patch=2),
        Patches((4, 3), patch=2, degree=3, outer_degree=2),
        Patches((4, 3), patch=2, step=1, degree=1),
        Patches((4, 3), patch=3, window_width=0.8, smoothing=0.7),
    ],
    ids=repr,
)
def test_patch_kernels_keep_the_contract(kernel, rng):
    check_kernel(kernel, rng.normal(size=(9, 12)))


def test_function_with_gradient_keeps_the_contract():
    def gradient(Z, X, weights):
        return weights @ X

    check_kernel(CallableKernel(lambda X, Y: X @ Y.T, gradient_function=gradient), sparse_inputs=False)


@pytest.mark.parametrize("takes", ["rows", "matrices"])
def test_function_with_the_gradient_of_two_rows_keeps_the_contract(takes):
    def gradient(z, x):
        return -0.6 * (z - x) * np.exp(-0.3 * np.sum((z - x) ** 2))

    functions = {
        "rows": lambda x, y: np.exp(-0.3 * np.sum((x - y) ** 2)),
        "matrices": lambda X, Y: Gaussian(0.3)(X, Y),
    }
    check_kernel(CallableKernel(functions[takes], gradient_function=gradient))


def test_contract_of_a_plain_function():
    check_kernel(lambda x, y: np.minimum(x, y).sum())
    with pytest.raises(ValueError, match="symmetric"):
        check_kernel(lambda x, y: float(x[0] - y[0]))


def test_contract_says_how_to_check_a_kernel_of_arrays_alone():
    products = CallableKernel(lambda X, Y: np.prod(1 + X[:, None, :] * Y[None, :, :], axis=2))
    with pytest.raises(AssertionError, match="sparse_inputs=False"):
        check_kernel(products)
    check_kernel(products, sparse_inputs=False)


def test_contract_catches_a_wrong_gradient():
    class Wrong(Gaussian):
        def profile_derivative(self, s):
            return -self.profile(s)

    with pytest.raises(AssertionError, match="gradient"):
        check_kernel(Wrong(0.3))


def test_contract_catches_a_false_promise():
    class Wrong(Sigmoid):
        is_positive_semidefinite = True

    with pytest.raises(AssertionError, match=r"Cauchy|positive|≥ 0"):
        check_kernel(Wrong(0.3, -1.0))


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.3), Linear() * Gaussian(0.3), Laplacian(0.3), Matern(0.5), Cosine()], ids=repr
)
def test_array_libraries_agree(kernel, xp, rng):
    X, Z, W = rng.normal(size=(8, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 8))
    there = [xp.asarray(array) for array in (X, Z, W)]
    for here, value in (
        (kernel(Z, X), kernel(there[1], there[0])),
        (kernel.diagonal(X), kernel.diagonal(there[0])),
        (kernel.gradient(Z, X, W), kernel.gradient(there[1], there[0], there[2])),
        (kernel.diagonal_gradient(Z), kernel.diagonal_gradient(there[1])),
    ):
        np.testing.assert_allclose(np.asarray(value), here, atol=1e-12)
