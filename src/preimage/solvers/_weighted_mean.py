"""Pre-images in one step: the fixed point with kernel values read off the target (Dambreville, Rathi et al.)."""

from preimage._arrays import array_namespace
from preimage._typing import Array
from preimage._validation import StrOptions, check_parameters
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian
from preimage.solvers._neighborhood import FORMS, in_range, published_values, require_profile, values_at_points
from preimage.solvers._preimage import PreimageResult, TargetSolver, about_origin, direct_result, objective_at

# Weights of both signs whose sum is a smaller fraction of the sum of their moduli have lost most of their digits by
# cancellation; the coefficients themselves are the weights then.
CANCELLATION = 1e-6


class WeightedMean(TargetSolver):
    r"""Pre-images as one weighted mean of the training points.

    If :math:`\Psi = \varphi(z)`, then :math:`k(z, x_i) = \Psi(x_i)`; put into the fixed point of a Gaussian [1]_,

    .. math:: z = \sum_i \alpha_i \Psi(x_i) x_i \Big/ \sum_i \alpha_i \Psi(x_i),

    whose denominator is :math:`\|\Psi\|^2`. The published form replaces :math:`\Psi(x_i)` by
    :math:`1 - \tilde d_i^2/2`; for targets much shorter than one it collapses to :math:`\sum_i \alpha_i x_i`. For other
    radial kernels the weights contain the derivative of the profile at the distance that the value implies. The formula
    is fast, and a good start for other solvers.

    Parameters
    ----------
    form : {"inner_products", "published"}, default="inner_products"

    References
    ----------
    .. [1] Y. Rathi, S. Dambreville, A. Tannenbaum, "Statistical shape analysis using kernel PCA", SPIE 6064, 2006.
    """

    _parameter_constraints = {"form": [StrOptions(set(FORMS))]}

    def __init__(self, form: str = "inner_products") -> None:
        self.form = form

    @about_origin
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        check_parameters(self)
        kernel = target.kernel
        require_profile(kernel, "WeightedMean", radial=True)
        values = values_at_points(target)
        if self.form == "published":
            values = published_values(values, target)
        # For a Gaussian the derivative is −γ times the value, so no inverse of the profile is needed.
        derivatives = (
            -values
            if type(kernel) is Gaussian
            else kernel.profile_derivative(kernel.inverse_profile(in_range(values, kernel)))
        )
        weights = target.coefficients.T * derivatives
        xp = array_namespace(weights)
        total = xp.sum(weights, axis=1)
        sound = xp.abs(total) > CANCELLATION * xp.sum(xp.abs(weights), axis=1)
        plain = target.coefficients.T
        weights = xp.where(sound[:, None], weights, plain)
        total = xp.where(sound, total, xp.sum(plain, axis=1))
        safe = xp.where(total == 0, xp.ones_like(total), total)
        Z = weights @ target.points / safe[:, None]
        return direct_result(Z, objective_at(target, Z))
