"""Pre-images in one step: the fixed point with kernel values read off the target (Dambreville, Rathi et al.)."""

from preimage._arrays import array_namespace
from preimage._validation import StrOptions, check_parameters
from preimage.kernels import Gaussian
from preimage.solvers._neighborhood import FORMS, in_range, published_values, require_profile, values_at_points
from preimage.solvers._preimage import TargetSolver, about_origin, direct_result, objective_at


class WeightedMean(TargetSolver):
    r"""Pre-images as one weighted mean of the training points.

    If :math:`\Psi = \varphi(z)`, then :math:`k(z, x_i) = \Psi(x_i)`; put into the fixed point of a Gaussian [1]_,

    .. math:: z = \sum_i \alpha_i \Psi(x_i) x_i \Big/ \sum_i \alpha_i \Psi(x_i),

    whose denominator is :math:`\|\Psi\|^2`. The published form replaces :math:`\Psi(x_i)` by
    :math:`1 - \tilde d_i^2/2`; for targets much shorter than one it collapses to :math:`\sum_i \alpha_i x_i`. Other
    radial kernels weigh with the slope of the profile at the distance that the value implies. A good start, and fast.

    Parameters
    ----------
    form : {"inner_products", "published"}, default="inner_products"

    References
    ----------
    .. [1] Y. Rathi, S. Dambreville, A. Tannenbaum, "Statistical shape analysis using kernel PCA", SPIE 6064, 2006.
    """

    _parameter_constraints = {"form": [StrOptions(set(FORMS))]}

    def __init__(self, form="inner_products"):
        self.form = form

    @about_origin
    def solve(self, target, start=None, anchor=None):
        check_parameters(self)
        kernel = target.kernel
        require_profile(kernel, "WeightedMean", radial=True)
        values = values_at_points(target)
        if self.form == "published":
            values = published_values(values, target)
        # For a Gaussian the slope is −γ times the value, without any inverse that would need it in range.
        slopes = (
            -values
            if type(kernel) is Gaussian
            else kernel.profile_derivative(kernel.inverse_profile(in_range(values, kernel)))
        )
        weights = target.coefficients.T * slopes
        xp = array_namespace(weights)
        total = xp.sum(weights, axis=1)
        sound = xp.abs(total) > 1e-6 * xp.sum(xp.abs(weights), axis=1)
        plain = target.coefficients.T
        weights = xp.where(sound[:, None], weights, plain)
        total = xp.where(sound, total, xp.sum(plain, axis=1))
        safe = xp.where(total == 0, xp.ones_like(total), total)
        Z = weights @ target.points / safe[:, None]
        return direct_result(Z, objective_at(target, Z))
