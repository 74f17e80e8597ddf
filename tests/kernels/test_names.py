"""Names, functions and parameters of scikit-learn."""

import re

import numpy as np
import pytest
from all_estimators import public_estimators
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from preimage import KernelPCA
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import KERNELS, CallableKernel, Gaussian, Laplacian, Matern, Polynomial, as_kernel


@pytest.mark.parametrize("name", sorted(PAIRWISE_KERNEL_FUNCTIONS))
@pytest.mark.parametrize("gamma", [None, 0.3])
def test_named_kernels_are_scikit_learns(name, gamma, rng):
    X, Y = rng.normal(size=(6, 4)), rng.normal(size=(5, 4))
    if "chi2" in name:
        X, Y = np.abs(X), np.abs(Y)
    if name == "chi2" and gamma is None:
        gamma = 1 / X.shape[1]  # which scikit-learn's KernelPCA passes; the function itself fails on None
    kernel = as_kernel(name, gamma=gamma, degree=2, coef0=0.5).resolve(X)
    expected = pairwise_kernels(X, Y, metric=name, filter_params=True, gamma=gamma, degree=2, coef0=0.5)
    assert_allclose(kernel(X, Y), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in KERNELS.names if name != "precomputed"])
def test_every_name_gives_a_kernel(name, rng):
    X = rng.random(size=(6, 4))
    assert np.isfinite(as_kernel(name).resolve(X)(X)).all()


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown kernel 'rfb'.*rbf"):
        as_kernel("rfb")


def test_named_kernels_take_their_own_parameters():
    assert as_kernel("matern", kernel_params={"nu": 0.5}).is_same(Matern(None, nu=0.5))
    assert as_kernel("poly", degree=5, kernel_params={"degree": 2, "gamma": 0.1}).is_same(Polynomial(2, 0.1))
    assert as_kernel("laplacian", degree=5, kernel_params={}).is_same(Laplacian(None))  # lenient as scikit-learn is
    with pytest.raises(ValueError, match="'matern' has no parameter 'mu'; its parameters are gamma, nu"):
        KernelPCA(kernel="matern", kernel_params={"mu": 0.5}).fit(np.eye(5))
    with pytest.raises(ValueError, match="'linear' has no parameter 'gamma'; it has none"):
        as_kernel("linear", kernel_params={"gamma": 0.5})


def test_parameters_are_set_on_a_kernel_that_is_one():
    for parameters in ({"gamma": 0.5}, {"kernel_params": {"gamma": 0.5}}):
        with pytest.raises(ValueError, match=r"gamma=0.5 has no effect.*kernel__gamma"):
            as_kernel(Gaussian(0.3), **parameters)
    assert as_kernel(Gaussian(0.3), kernel_params={}).is_same(Gaussian(0.3))


def test_docstrings_name_kernels_that_exist():
    named = []
    for each in (as_kernel, *public_estimators()):
        text = each.__doc__ or ""
        lists = re.findall(r"A name (?:of scikit-learn )?\(([^)]*)\)", text)
        named += re.findall(r'"(\w+)"', " ".join(lists)) + re.findall(r'\bkernel="(\w+)"', text)
    assert set(named) <= set(KERNELS.names)
    assert {"rbf", "laplacian", "precomputed", "chi2"} <= set(named), "the lists were found"


def test_other_things_are_no_kernels():
    with pytest.raises(TypeError, match="a name, a function or a Kernel"):
        as_kernel(3)


def test_functions_of_rows_and_of_matrices_agree(rng):
    X, Y = rng.normal(size=(6, 4)), rng.normal(size=(5, 4))
    by_rows = as_kernel(lambda x, y: np.exp(-0.3 * np.sum((x - y) ** 2)))
    by_matrices = as_kernel(lambda X, Y: Gaussian(0.3)(X, Y))
    assert_allclose(by_rows(X, Y), Gaussian(0.3)(X, Y))
    assert_allclose(by_matrices(X, Y), Gaussian(0.3)(X, Y))
    for kernel in (by_rows, by_matrices):
        assert_allclose(kernel.diagonal(X), np.ones(6))
    assert_allclose(by_rows(X[:1], Y[:1]), Gaussian(0.3)(X[:1], Y[:1]))


def test_functions_take_parameters(rng):
    X = rng.normal(size=(6, 4))
    kernel = as_kernel(lambda x, y, power: np.dot(x, y) ** power, kernel_params={"power": 3})
    assert_allclose(kernel(X), (X @ X.T) ** 3)


def test_functions_without_gradient_say_so(rng):
    with pytest.raises(UnsupportedKernelError, match="gradient"):
        CallableKernel(np.dot).gradient(np.ones((1, 2)), np.ones((1, 2)), np.ones((1, 1)))


def test_values_need_rows_of_equal_length_and_a_number_for_gamma():
    with pytest.raises(ValueError, match=r"shapes \(3, 2\) and \(3, 1\)"):
        Gaussian()(np.ones((3, 2)), np.ones((3, 1)))
    with pytest.raises(ValueError, match="2D"):
        Gaussian()([1.0, 2.0])
    with pytest.raises(ValueError, match=r"call `resolve\(X\)` first"):
        Gaussian("median")(np.ones((3, 2)))
