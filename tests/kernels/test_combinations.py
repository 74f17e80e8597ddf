"""Kernels from kernels."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

from preimage import KernelPCA
from preimage.kernels import (
    AdditiveChi2,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Product,
    ProfileKernel,
    ProfileProduct,
    ProfileSum,
    RationalQuadratic,
    Sum,
)
from preimage.testing import check_kernel


def test_sum_is_the_gram_of_concatenated_features(rng):
    X = rng.normal(size=(6, 3))
    features = np.hstack([naive.monomials(X, 2), naive.monomials(X, 3, 1.0)])
    assert_allclose((Polynomial(2, coef0=0.0) + Polynomial(3))(X), features @ features.T)


def test_product_is_the_gram_of_products_of_features(rng):
    X = rng.normal(size=(6, 3))
    left, right = naive.monomials(X, 2), naive.monomials(X, 1, 1.0)
    features = (left[:, :, None] * right[:, None, :]).reshape(6, -1)
    assert_allclose((Polynomial(2, coef0=0.0) * Polynomial(1))(X), features @ features.T)


def test_profiles_of_one_quantity_stay_profiles():
    for kernel in (
        Gaussian() + RationalQuadratic(),
        Gaussian() * RationalQuadratic(),
        3 * Gaussian(),
        Gaussian() ** 2,
        2 * (Gaussian() + 0.5 * RationalQuadratic()) ** 2,
    ):
        assert isinstance(kernel, ProfileKernel) and kernel.is_radial
    assert isinstance(Gaussian() + Gaussian(), ProfileSum)
    assert isinstance(Linear() * Polynomial(), ProfileProduct)


def test_profiles_of_different_quantities_do_not():
    assert type(Gaussian() + Linear()) is Sum
    assert type(Gaussian() * Laplacian()) is Product
    assert type(Cosine() + Gaussian()) is Sum


def test_long_sums_are_written_and_bounded_in_time_proportional_to_their_length():
    """Sixty levels of nesting: doubling the work per level would not end."""
    gaussians, counts = (sum(kind() for _ in range(60)) for kind in (Gaussian, AdditiveChi2))
    assert (
        repr(Gaussian(0.5) + 2 * Linear())
        == "Sum(left=Gaussian(gamma=0.5), right=ScaledProfile(factor=2.0, kernel=Linear()))"
    )
    assert "..." in repr(gaussians) and len(repr(gaussians)) < 800
    assert "ProfileSum" in repr(KernelPCA(kernel=gaussians))
    assert counts.lowest_input == 0 and counts.is_bound_to_columns


def test_power_of_a_gaussian_is_a_gaussian(rng):
    X = rng.normal(size=(6, 3))
    assert_allclose((Gaussian(0.3) ** 4)(X), Gaussian(1.2)(X))


def test_nested_parameters_can_be_set():
    kernel = clone(Gaussian(1.0) + 2.0 * Polynomial(2)).set_params(left__gamma=0.5, right__kernel__degree=3)
    assert kernel.left.gamma == 0.5
    assert kernel.right.kernel.degree == 3


@pytest.mark.parametrize("exponent", [0, -1, 1.5, "2"])
def test_only_positive_integer_powers(exponent):
    with pytest.raises(ValueError, match="integer power"):
        Gaussian() ** exponent


def test_only_kernels_are_added():
    with pytest.raises(TypeError, match="combines a kernel with another kernel"):
        Gaussian() + 3


LEAVES = st.sampled_from([Linear(), Polynomial(2), Gaussian(0.3), RationalQuadratic(0.5), Laplacian(0.2), Cosine()])
KERNELS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, f: f * a, inner, st.floats(0.1, 2.0)),
    ),
    max_leaves=4,
)


@given(KERNELS)
def test_any_combination_keeps_the_contract(kernel):
    check_kernel(kernel)


def test_sum_of_a_list_of_kernels(rng):
    X = rng.normal(size=(6, 3))
    assert_allclose(sum([Gaussian(0.3), Linear()])(X), (Gaussian(0.3) + Linear())(X))


def test_unresolved_parts_are_noticed(rng):
    with pytest.raises(ValueError, match="resolve"):
        (Gaussian("median") + Linear())(rng.normal(size=(6, 3)))


def test_same_kernels_are_the_same():
    assert (Gaussian(1.0) + Linear()).is_same(Gaussian(1.0) + Linear())
    assert not (Gaussian(1.0) + Linear()).is_same(Gaussian(2.0) + Linear())
    assert not Gaussian(1.0).is_same(RationalQuadratic(1.0))


def test_precomputed_kernels_are_combined_as_matrices():
    for combine in (lambda: 2 * Precomputed(), lambda: Precomputed() + Linear(), lambda: Precomputed() ** 2):
        with pytest.raises(TypeError, match="combined as matrices"):
            combine()
