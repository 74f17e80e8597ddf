"""The distance to targets at many points at once: value, gradient, and the curvature that fixed points imply."""

from dataclasses import dataclass
from typing import Any

from preimage._arrays import array_namespace, epsilon, is_sparse, take_rows, to_dense
from preimage.kernels import InnerProduct, ProfileKernel, SquaredDistance


@dataclass(frozen=True)
class LocalDistance:
    """k(z, z) − 2ψ(z) at one point a problem, with derivatives.

    Attributes
    ----------
    value, gradient : arrays of shape (q,), (q, d)
    curvature : array of shape (q,) or None
        The D for which z − gradient/D is the fixed point of the papers; None for kernels without one.
    safe_curvature : array of shape (q,) or None
        The same with moduli of all terms: positive wherever the kernel is felt at all.
    noise : array of shape (q,)
        Rounding errors of the value.
    """

    value: Any
    gradient: Any
    curvature: Any
    safe_curvature: Any
    noise: Any

    def penalized(self, Z, anchor, penalty):
        """The same with λ‖z − anchor‖² added."""
        if penalty == 0:
            return self
        xp = array_namespace(Z)
        shift = Z - anchor
        raised = lambda curvature: None if curvature is None else curvature + 2 * penalty
        return LocalDistance(
            self.value + penalty * xp.sum(shift * shift, axis=1),
            self.gradient + 2 * penalty * shift,
            raised(self.curvature),
            raised(self.safe_curvature),
            self.noise + epsilon(Z.dtype) * penalty * xp.sum(shift * shift, axis=1),
        )

    def where(self, mask, other):
        """Row by row, this where `mask` holds and `other` elsewhere."""
        xp = array_namespace(mask)

        def pick(mine, theirs):
            if mine is None:
                return None
            return xp.where(mask if mine.ndim == 1 else mask[:, None], mine, theirs)

        return LocalDistance(*(pick(*pair) for pair in zip(self._fields(), other._fields(), strict=True)))

    def take(self, rows):
        return LocalDistance(*(None if array is None else take_rows(array, rows) for array in self._fields()))

    def _fields(self):
        return self.value, self.gradient, self.curvature, self.safe_curvature, self.noise


def distance_model(kernel, points):
    """A function (Z, W) → LocalDistance for targets with coefficients W (q, n) on `points`."""
    if has_fixed_point(kernel):
        return (_radial_model if kernel.is_radial else _dot_product_model)(kernel, points)
    kernel.require_gradient("A pre-image")
    return _general_model(kernel, points)


def has_fixed_point(kernel):
    """Whether the papers' fixed points exist for a kernel: profiles of the squared distance or the inner product."""
    return isinstance(kernel, ProfileKernel) and kernel.pairwise in (SquaredDistance(), InnerProduct())


def _radial_model(kernel, points):
    squared_distances = kernel.pairwise.against(points)

    def local(Z, W):
        xp = array_namespace(W)
        values, slopes = kernel.profile_with_derivative(squared_distances(Z))
        terms, pulls = W * values, W * slopes  # (q, n); a point with a negative pull attracts
        total = xp.sum(pulls, axis=1)
        diagonal = kernel.diagonal(Z)
        return LocalDistance(
            diagonal - 2 * xp.sum(terms, axis=1),
            -4 * (total[:, None] * Z - pulls @ points),  # of −2ψ, by (K0d)
            -4 * total,
            4 * xp.sum(xp.abs(pulls), axis=1),
            _noise(diagonal, terms),
        )

    return local


def _dot_product_model(kernel, points):
    def local(Z, W):
        xp = array_namespace(W)
        products = to_dense((points @ Z.T).T) if is_sparse(points) else Z @ points.T
        values, slopes = kernel.profile_with_derivative(products)
        own, own_slope = kernel.profile_with_derivative(xp.sum(Z * Z, axis=1))
        terms = W * values
        return LocalDistance(
            own - 2 * xp.sum(terms, axis=1),
            2 * (own_slope[:, None] * Z - (W * slopes) @ points),
            2 * own_slope,
            2 * xp.abs(own_slope),
            _noise(own, terms),
        )

    return local


def _general_model(kernel, points):
    def local(Z, W):
        xp = array_namespace(W)
        terms = W * kernel(Z, points)
        diagonal = kernel.diagonal(Z)
        gradient = kernel.diagonal_gradient(Z) - 2 * kernel.gradient(Z, points, W)
        return LocalDistance(diagonal - 2 * xp.sum(terms, axis=1), gradient, None, None, _noise(diagonal, terms))

    return local


def _noise(diagonal, terms):
    xp = array_namespace(terms)
    return 4 * epsilon(terms.dtype) * (xp.abs(diagonal) + 2 * xp.sum(xp.abs(terms), axis=1))
