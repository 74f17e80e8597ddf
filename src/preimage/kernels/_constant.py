"""The kernel that does not look at its arguments."""

from numbers import Real

from preimage._arrays import array_namespace
from preimage._validation import Interval
from preimage.kernels._pairwise import SquaredDistance
from preimage.kernels._profile import ProfileKernel


class Constant(ProfileKernel):
    """k(x, y) = c: one feature √c, the same for all inputs; added to another kernel it is a bias.

    A constant is a profile of any quantity; here of the squared distance, so that radial kernels plus a constant stay
    radial.

    Parameters
    ----------
    value : float, default=1.0
        The constant c. Negative values are not positive semidefinite.
    """

    pairwise = SquaredDistance()
    _parameter_constraints = {"value": [Interval(Real, None, None, closed="neither")]}

    def __init__(self, value=1.0):
        self.value = value

    @property
    def is_positive_semidefinite(self):
        return self.value >= 0

    def profile(self, s):
        return array_namespace(s).full_like(s, self.value)

    def profile_derivative(self, s):
        return array_namespace(s).zeros_like(s)

    def profile_derivatives(self, s, order):
        return [self.profile(s)] + order * [self.profile_derivative(s)]
