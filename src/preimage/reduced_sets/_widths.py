"""Targets whose reductions may have Gaussians of several widths."""

from preimage._arrays import array_namespace, concat_columns, device_kwargs, is_sparse
from preimage._typing import Array
from preimage._validation import StrOptions
from preimage.feature_space import Expansion
from preimage.kernels import Kernel, free_widths

#: The constraint of a parameter `widths`.
WIDTHS = [StrOptions({"fixed", "free"})]


def with_free_widths(target: Expansion, who: str) -> Expansion:
    """The same vectors on points that may have widths of their own; `who` needs them."""
    if target.kernel.own_columns:
        return target
    kernel = free_widths(target.kernel, target.points.shape[1], who)
    return Expansion(kernel, with_own_columns(kernel, target.points), target.coefficients)


def with_own_columns(kernel: Kernel, points: Array) -> Array:
    """Inputs as points of a kernel of several widths: with that of the feature space."""
    n, own = points.shape[0], kernel.own_columns
    if is_sparse(points):
        return concat_columns(points, points[:, :own] * 0)
    xp = array_namespace(points)
    return concat_columns(points, xp.zeros((n, own), dtype=points.dtype, **device_kwargs(points)))


def comparable(vectors: Expansion, other: Expansion) -> Expansion:
    """`vectors` with the kernel of `other`, which may have free widths where the vectors have one for all."""
    free = other.kernel.own_columns and not vectors.kernel.own_columns
    return with_free_widths(vectors, "This comparison") if free else vectors
