"""Laws special to kernels of the inner product."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.kernels import Exponential, Linear, Polynomial, Sigmoid


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("constant", [0.0, 0.7])
@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_polynomial_is_the_inner_product_of_monomials(degree, constant, dimension, rng):
    X, Y = rng.normal(size=(6, dimension)), rng.normal(size=(5, dimension))
    expected = naive.monomials(X, degree, constant) @ naive.monomials(Y, degree, constant).T
    assert_allclose(Polynomial(degree, coef0=constant)(X, Y), expected, rtol=1e-12, atol=1e-12)


def test_homogeneous_polynomial_scales_with_its_degree(rng):
    X, Y = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    kernel = Polynomial(3, coef0=0.0)
    assert_allclose(kernel(2.5 * X, Y), 2.5**3 * kernel(X, Y))


def test_exponential_is_the_limit_of_polynomials(rng):
    X = 0.3 * rng.normal(size=(5, 3))
    assert_allclose(Polynomial(2**20, gamma=2.0**-20, coef0=1.0)(X), Exponential()(X), rtol=1e-4)


@pytest.mark.parametrize(
    "kernel", [Linear(), Exponential(0.4), Sigmoid(0.4, 0.1), Polynomial(3), Polynomial(5, coef0=0.0)]
)
def test_inverse_profile_undoes_the_profile(kernel):
    s = np.linspace(-2, 2, 41)
    assert_allclose(kernel.inverse_profile(kernel.profile(s)), s, atol=1e-9)


def test_even_polynomials_have_no_inverse_profile():
    with pytest.raises(TypeError, match="odd degree"):
        Polynomial(2).inverse_profile(np.ones(1))
