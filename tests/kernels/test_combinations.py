"""Kernels from kernels."""

import naive
import numpy as np
import pytest
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import (
    AdditiveChi2,
    Constant,
    Cosine,
    Gaussian,
    InnerProduct,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polynomial,
    Precomputed,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    is_profile,
)
from preimage.persistence._registry import class_named
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
        assert is_profile(kernel) and kernel.is_radial
    for kernel in (Linear() * Polynomial(), Constant(2.0) + 3 * Linear(), Linear() ** 2):
        assert is_profile(kernel) and kernel.pairwise == InnerProduct()


def test_profiles_of_different_quantities_do_not():
    for kernel in (Gaussian() + Linear(), Gaussian() * Laplacian(), Cosine() + Gaussian(), 2 * Cosine(), Cosine() ** 2):
        assert not is_profile(kernel) and not kernel.is_radial


def test_files_of_earlier_versions_name_classes_of_profiles():
    for old, new in (("ProfileSum", Sum), ("ProfileProduct", Product), ("ScaledProfile", Scaled)):
        assert class_named(f"kernels.{old}") is new


def test_long_sums_are_written_and_bounded_in_time_proportional_to_their_length():
    """Sixty levels of nesting: doubling the work per level would not end."""
    gaussians, counts = (sum(kind() for _ in range(60)) for kind in (Gaussian, AdditiveChi2))
    assert (
        repr(Gaussian(0.5) + 2 * Linear()) == "Sum(left=Gaussian(gamma=0.5), right=Scaled(factor=2.0, kernel=Linear()))"
    )
    assert "..." in repr(gaussians) and len(repr(gaussians)) < 800
    assert "Sum" in repr(KernelPCA(kernel=gaussians))
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


def test_only_kernels_and_numbers_are_added():
    with pytest.raises(TypeError, match="combines a kernel with another kernel or a number"):
        Gaussian() + "3"
    for combine in (lambda: Gaussian() + np.dot, lambda: np.dot * Gaussian()):
        with pytest.raises(TypeError, match=r"A function becomes a kernel by CallableKernel\(dot\)"):
            combine()


@pytest.mark.parametrize("number", [3, 0.5, np.float64(2.0), np.int64(4), -1.5])
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Linear(), Polynomial(2), Laplacian(0.2), Cosine()], ids=repr)
def test_numbers_are_added_from_both_sides_and_divide(kernel, number, rng):
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    assert_allclose((kernel + number)(X, Y), kernel(X, Y) + float(number))
    assert_allclose((number + kernel)(X, Y), kernel(X, Y) + float(number))
    assert_allclose((kernel / number)(X, Y), kernel(X, Y) / float(number))
    assert is_profile(kernel + number) == is_profile(kernel)
    if is_profile(kernel):
        assert (kernel + number).pairwise == (Constant(1.0) * kernel).pairwise == kernel.pairwise


def test_zero_adds_nothing():
    kernel = Gaussian(0.3)
    assert kernel + 0 is kernel and 0.0 + kernel is kernel


@pytest.mark.parametrize("divisor", [0, 0.0, -0.0, 1e-320])
def test_division_by_zero_is_refused(divisor):
    with pytest.raises(ValueError, match="whose inverse is finite"):
        Gaussian() / divisor


@pytest.mark.parametrize("divisor", [Linear(), "2", None])
def test_only_numbers_divide(divisor):
    with pytest.raises(TypeError, match="divides a kernel by a number"):
        Gaussian() / divisor


@pytest.mark.parametrize("kernel", [Linear() + 1.0, Polynomial(1) + 2.0, 3 * (Linear() + 1.0)], ids=repr)
def test_linear_kernels_with_constants_are_linear_far_from_the_origin(kernel, rng):
    """Rounding of inner products of rows at 1e8 would hide the data; a constant must not keep them from being moved."""
    X = rng.normal(size=(40, 3))
    near, far = KernelPCA(2, kernel=kernel).fit(X), KernelPCA(2, kernel=kernel).fit(X + 1e8)
    assert_allclose(far.eigenvalues_, near.eigenvalues_, rtol=1e-6)


@for_each(
    "kernel",
    [
        Gaussian(0.3) + 1.0,
        Gaussian(0.3) / 4,
        Gaussian(0.3) * RationalQuadratic(0.2),
        Gaussian(0.3) + RationalQuadratic(0.2),
        Gaussian(0.1) ** 4,
        (Gaussian(0.1) + Matern(0.2)) ** 2,
        Matern(0.4, 2.5),
        Multiquadric(0.3) + 5,
        Constant(2.0) * RationalQuadratic(0.3),
    ],
    ids=repr,
)
@for_each("dtype", ["float64", "float32"])
def test_inverse_profiles_of_combinations_undo_them(kernel, dtype, xp):
    s = np.concatenate([[0.0], np.geomspace(1e-2, 20.0, 30)]).astype(dtype)
    values = kernel.profile(xp.asarray(s))
    # An error ε of a value is one of ε/f′ of its argument.
    errors = np.abs(to_numpy(kernel.inverse_profile(values)).astype(float) - s)
    slopes = np.abs(np.asarray(kernel.profile_derivative(s.astype(float))))
    assert (errors <= 8 * np.finfo(dtype).eps * (np.abs(to_numpy(values)) / slopes + s)).all()


def test_inverse_profiles_say_where_there_is_none():
    for kernel in (Linear() ** 2, Polynomial(2) + Linear(), Constant(1.0), Multiquadric() ** 2):
        assert not kernel.has_inverse_profile
        with pytest.raises(UnsupportedKernelError):
            kernel.inverse_profile(np.ones(2))
    assert not (0 * Gaussian()).has_inverse_profile
    below = (Gaussian(0.3) * RationalQuadratic(0.2)).inverse_profile(np.array([-0.5, 2.0]))
    assert np.isnan(below[0]) and below[1] == 0


LEAVES = st.sampled_from([Linear(), Polynomial(2), Gaussian(0.3), RationalQuadratic(0.5), Laplacian(0.2), Cosine()])
KERNELS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, f: f * a, inner, st.floats(0.1, 2.0)),
        st.builds(lambda a, c: a + c, inner, st.floats(0.1, 2.0)),
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


def test_constants_are_positive_semidefinite_from_zero_on():
    assert [Constant(value).is_positive_semidefinite for value in (-1.0, 0.0, 1.0)] == [False, True, True]
