"""Values of targets at their points, as closed formulas need them."""

from preimage._arrays import array_namespace, epsilon
from preimage._typing import Array
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion, Gram
from preimage.kernels import InnerProduct, Kernel, ProfileKernel, SquaredDistance

# Values below this many squared rounding errors of the largest are clipped to it: the inverse profile of a decaying
# kernel at zero is infinite. Such values mean "very far" (72 times 1/γ for a Gaussian) and place nothing.
FARTHEST = 1e3
FORMS = ("inner_products", "published")


def values_at_points(target: Expansion) -> Array:
    """⟨φ(xᵢ), Ψⱼ⟩ for all points and vectors of `target`, shape (q, n)."""
    return (Gram(target.kernel, target.points) @ target.coefficients).T


def published_values(values: Array, target: Expansion) -> Array:
    """1 − d̃²/2 with the feature-space distance d̃: what the papers take for k(z, xᵢ) of a unit kernel."""
    return values + (1 - target.squared_norms()[:, None]) / 2


def require_profile(kernel: Kernel, who: str, *, radial: bool = False) -> None:
    """Raise unless the kernel is a profile of the squared distance (or, unless `radial`, of the inner product)."""
    allowed = (SquaredDistance(),) if radial else (SquaredDistance(), InnerProduct())
    if not (isinstance(kernel, ProfileKernel) and kernel.pairwise in allowed):
        kinds = "the squared distance" if radial else "the squared distance or the inner product"
        raise UnsupportedKernelError(
            f"{who} needs a kernel of {kinds}; got {kernel!r}. preimage='gradient' works with any kernel that has a "
            "gradient, 'learned' with any kernel, and 'auto' finds a way for each."
        )


def in_range(values: Array, kernel: ProfileKernel) -> Array:
    """Values clipped to those that the profile of a radial kernel takes, so that it can be inverted."""
    xp = array_namespace(values)
    top = kernel.profile(xp.zeros_like(values[:1, :1]))
    if float(top[0, 0]) < 0:  # −√(1 + γs) and the like: unbounded below
        return xp.where(values > top, top, values)
    smallest = FARTHEST * epsilon(values.dtype) ** 2 * top
    return xp.where(values > top, top, xp.where(values < smallest, smallest, values))
