"""Kernels of the chi-squared distance, for histograms and other non-negative inputs."""

from preimage._typing import Array
from preimage.kernels._pairwise import ChiSquaredDistance
from preimage.kernels._profile import ProfileKernel
from preimage.kernels._radial import ExponentialDecay


class Chi2(ExponentialDecay):
    r"""The exponential chi-squared kernel :math:`k(x, y) = \exp(-\gamma \sum_f (x_f - y_f)^2/(x_f + y_f))`.

    Compares histograms: a difference counts more where both values are small. Inputs must not be negative. Equal to
    scikit-learn's "chi2".

    Parameters
    ----------
    gamma : float or rule, default=1.0
        γ > 0, or a rule that finds it from data: see `resolve_gamma`. Percentiles are those of chi-squared distances.

    Examples
    --------
    >>> from preimage.kernels import Chi2
    >>> Chi2(0.5)([[1.0, 0.0]], [[0.0, 1.0]])
    array([[0.36787944]])
    """

    pairwise = ChiSquaredDistance()
    metric = "chi2"
    lowest_input = 0.0


class AdditiveChi2(ProfileKernel):
    r"""Minus the chi-squared distance, :math:`k(x, y) = -\sum_f (x_f - y_f)^2/(x_f + y_f)`, of non-negative inputs.

    Equal to scikit-learn's "additive_chi2". Conditionally positive definite: the *centred* Gram matrix is positive
    semidefinite, which is what kernel PCA needs; the uncentred one has a zero diagonal, hence negative eigenvalues, so
    that estimators which do not centre (`EmpiricalKernelMap(whiten=True)`, landmarks) warn or refuse.

    Examples
    --------
    >>> from preimage.kernels import AdditiveChi2
    >>> AdditiveChi2()([[1.0, 0.0]], [[0.0, 1.0]])
    array([[-2.]])
    """

    pairwise = ChiSquaredDistance()
    metric = "chi2"
    lowest_input = 0.0

    def profile(self, s: Array) -> Array:
        return -s

    def profile_derivative(self, s: Array) -> Array:
        return 0 * s - 1

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return [-s, 0 * s - 1, *(0 * s for _ in range(order - 1))][: order + 1]

    def inverse_profile(self, v: Array) -> Array:
        return -v
