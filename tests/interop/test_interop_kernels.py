"""Kernels of Gaussian processes: the same values, and gradients where there is a counterpart."""

import numpy as np
import pytest
from cases import inputs
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st
from labels import label
from numpy.testing import assert_allclose
from sklearn.gaussian_process import kernels as gp

from preimage.interop._kernels import kernel_of_gaussian_process
from preimage.kernels import (
    CallableKernel,
    Constant,
    Gaussian,
    InverseMultiquadric,
    Matern,
    ProfileKernel,
    RationalQuadratic,
    ScaledInputs,
)
from preimage.testing import check_kernel

WITH_COUNTERPART = [
    gp.RBF(0.7),
    gp.RBF([0.7]),
    gp.RBF([0.5, 1.0, 2.0, 4.0]),
    gp.Matern(1.2, nu=0.5),
    gp.Matern(1.2, nu=1.5),
    gp.Matern([0.5, 1.0, 2.0, 4.0], nu=2.5),
    gp.Matern(1.2, nu=np.inf),
    gp.RationalQuadratic(1.3, alpha=1.0),
    gp.RationalQuadratic(1.3, alpha=0.5),
    gp.RationalQuadratic(1.3, alpha=2.5),
    gp.RationalQuadratic(1.3, alpha=3.0),
    gp.DotProduct(0.0),
    gp.DotProduct(1.5),
    gp.ConstantKernel(2.5),
    gp.WhiteKernel(0.3),
    gp.ConstantKernel(2.0) * gp.RBF(1.0) + gp.WhiteKernel(0.3),
    gp.RBF(1.0) * gp.ConstantKernel(2.0) + gp.ConstantKernel(0.4),
    gp.ConstantKernel(0.4) + gp.ConstantKernel(2.0) * gp.ConstantKernel(3.0),
    gp.WhiteKernel(0.3) * gp.RBF(1.0) + gp.DotProduct(1.0),
    gp.RBF(1.0) * gp.DotProduct(1.0),
    gp.DotProduct(1.0) ** 2,
    gp.ConstantKernel(2.0) ** 1.5 + gp.DotProduct(1.0) ** 1,
    (gp.RBF(1.0) + gp.Matern(2.0, nu=1.5)) ** 3,
    gp.PairwiseKernel(metric="laplacian", gamma=0.4),
    gp.PairwiseKernel(metric="polynomial", gamma=0.4, pairwise_kernels_kwargs={"degree": 2}),
    gp.PairwiseKernel(metric="rbf", gamma=0.4),
    gp.PairwiseKernel(metric="cosine"),
]

WITHOUT_COUNTERPART = [
    gp.Matern(1.2, nu=2.0),
    gp.RationalQuadratic(1.3, alpha=0.8),
    gp.ExpSineSquared(1.1, 2.0),
    gp.RBF(1.0) + gp.ExpSineSquared(1.1, 2.0),
    3.0 * gp.ExpSineSquared(1.1, 2.0) + gp.WhiteKernel(0.1),
    gp.RBF(1.0) ** 1.5,
    gp.PairwiseKernel(metric="poly", gamma=0.01, pairwise_kernels_kwargs={"degree": 1.5, "coef0": 2.0}),
    gp.PairwiseKernel(metric=lambda x, y, gamma: gamma * (x @ y), gamma=0.4),
]


@for_each("kernel", WITH_COUNTERPART + WITHOUT_COUNTERPART, ids=label)
def test_values_between_new_and_training_points(kernel):
    X, Z = inputs(0)
    assert_allclose(kernel_of_gaussian_process(kernel)(Z, X), kernel(Z, X), rtol=1e-11, atol=1e-13)


@for_each("kernel", WITH_COUNTERPART, ids=str)
def test_counterparts_have_gradients(kernel):
    assert kernel_of_gaussian_process(kernel).has_gradient


@pytest.mark.parametrize("kernel", WITHOUT_COUNTERPART, ids=label)
def test_the_rest_has_none(kernel):
    assert not kernel_of_gaussian_process(kernel).has_gradient


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (gp.RBF(2.0), Gaussian(0.125)),
        (gp.RBF([1.0, 2.0]), ScaledInputs(Gaussian(0.5), np.array([1.0, 0.25]))),
        (gp.Matern(2.0, nu=1.5), Matern(0.125, 1.5)),
        (gp.RationalQuadratic(2.0, alpha=1.0), RationalQuadratic(0.125)),
        (gp.RationalQuadratic(2.0, alpha=0.5), InverseMultiquadric(0.25)),
        (gp.RBF(2.0) + gp.WhiteKernel(), Gaussian(0.125)),
        (3.0 * gp.RBF(2.0), 3.0 * Gaussian(0.125)),
        (gp.WhiteKernel(), Constant(0.0)),
    ],
    ids=str,
)
def test_translations_are_the_plain_ones(kernel, expected):
    assert kernel_of_gaussian_process(kernel).is_same(expected)


def test_radial_kernels_with_a_bias_stay_radial():
    kernel = kernel_of_gaussian_process(2.0 * gp.RBF(2.0) + gp.ConstantKernel(0.5))
    assert isinstance(kernel, ProfileKernel) and kernel.is_radial


def test_subclasses_are_called_because_they_may_differ():
    class Doubled(gp.RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            return 2 * super().__call__(X, Y)

    X, Z = inputs(0)
    kernel = kernel_of_gaussian_process(Doubled(1.0))
    assert isinstance(kernel, CallableKernel)
    assert_allclose(kernel(Z, X), 2 * gp.RBF(1.0)(Z, X))


@pytest.mark.parametrize("value", [0.0, 1.5])
def test_the_constant_kernel_keeps_the_contract(value):
    check_kernel(Constant(value))


POSITIVE = st.floats(0.3, 3.0)
LEAVES = st.one_of(
    POSITIVE.map(gp.RBF),
    st.builds(gp.Matern, POSITIVE, nu=st.sampled_from([0.5, 1.5, 2.0, 2.5, np.inf])),
    st.builds(gp.RationalQuadratic, POSITIVE, st.sampled_from([0.5, 0.7, 1.0, 2.0])),
    POSITIVE.map(gp.DotProduct),
    POSITIVE.map(gp.ConstantKernel),
    POSITIVE.map(gp.WhiteKernel),
)
TREES = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.builds(gp.Sum, parts, parts),
        st.builds(gp.Product, parts, parts),
        st.builds(gp.Exponentiation, parts, st.sampled_from([1, 2])),
    ),
    max_leaves=4,
)


@given(TREES)
def test_any_combination_has_the_same_values(kernel):
    X, Z = inputs(1, n=20, d=2)
    ours, theirs = kernel_of_gaussian_process(kernel)(Z, X), kernel(Z, X)
    assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(theirs).max()))
