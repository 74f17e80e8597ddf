"""Higher derivatives of profiles are those of the profile."""

import numpy as np
import pytest

from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import (
    Constant,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polynomial,
    ProfileKernel,
    RationalQuadratic,
    Sigmoid,
    SquaredDistance,
)

PROFILES = [
    Linear(),
    Polynomial(1, gamma=0.7),
    Polynomial(2, coef0=0.0),
    Polynomial(5, gamma=0.5, coef0=0.3),
    Exponential(0.4),
    Sigmoid(0.6, -0.3),
    Gaussian(0.8),
    Laplacian(0.8),
    RationalQuadratic(0.8),
    InverseMultiquadric(0.8),
    Multiquadric(0.8),
    Matern(0.8, nu=0.5),
    Matern(0.8, nu=1.5),
    Matern(0.8, nu=2.5),
    Constant(1.5),
    Gaussian(0.3) + RationalQuadratic(0.5) + Constant(0.2),
    Polynomial(2) * Exponential(0.3),
    2.5 * Matern(0.4, nu=2.5),
    Sigmoid(0.5, 0.2) ** 3,
    (Linear() + Exponential(0.2)) ** 2 * Polynomial(3),
]


@pytest.mark.parametrize("kernel", PROFILES, ids=lambda kernel: str(kernel)[:60])
def test_each_derivative_is_the_slope_of_the_one_before(kernel):
    s, step = np.linspace(0.2, 2.0, 9), 1e-5
    exact = kernel.profile_derivatives(s, 5)
    before, after = kernel.profile_derivatives(s - step, 5), kernel.profile_derivatives(s + step, 5)
    assert len(exact) == 6
    np.testing.assert_allclose(exact[0], kernel.profile(s), rtol=1e-14)
    np.testing.assert_allclose(exact[1], kernel.profile_derivative(s), rtol=1e-13)
    for m in range(5):
        slope = (after[m] - before[m]) / (2 * step)
        np.testing.assert_allclose(exact[m + 1], slope, rtol=1e-6, atol=1e-8 * (1 + np.abs(exact[m]).max()))


def test_series_of_the_hyperbolic_tangent():
    derivatives = Sigmoid(1.0, 0.0).profile_derivatives(np.zeros(1), 7)
    np.testing.assert_allclose(np.ravel(derivatives), [0, 1, 0, -2, 0, 16, 0, -272], atol=1e-12)


@pytest.mark.parametrize(("nu", "finite"), [(0.5, 0), (1.5, 1), (2.5, 2)])
def test_rough_profiles_have_as_many_derivatives_at_zero_as_they_should(nu, finite):
    derivatives = np.ravel(Matern(0.7, nu=nu).profile_derivatives(np.zeros(1), 4))
    np.testing.assert_array_equal(np.isfinite(derivatives), np.arange(5) <= finite)
    assert not np.isnan(derivatives).any()
    # (−1)^m f^(m) ≥ 0: the signs of a completely monotone function, also of the infinite ones.
    assert (np.sign(derivatives) == [1, -1, 1, -1, 1]).all()


def test_other_libraries_give_the_same(xp):
    s = xp.asarray([0.0, 0.5, 2.0])
    for kernel in PROFILES:
        for ours, theirs in zip(
            kernel.profile_derivatives(np.array([0.0, 0.5, 2.0]), 4), kernel.profile_derivatives(s, 4)
        ):
            np.testing.assert_allclose(np.asarray(theirs), ours, rtol=1e-12)


def test_a_profile_without_more_says_what_to_implement():
    class Hat(ProfileKernel):
        pairwise = SquaredDistance()

        def profile(self, s):
            return 1 - s

        def profile_derivative(self, s):
            return -np.ones_like(s)

    assert len(Hat().profile_derivatives(np.ones(2), 1)) == 2
    assert len(Hat().profile_derivatives(np.ones(2), 0)) == 1
    with pytest.raises(UnsupportedKernelError, match=r"Implement `profile_derivatives"):
        (Hat() + Gaussian()).profile_derivatives(np.ones(2), 2)
