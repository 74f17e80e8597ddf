"""The distance to targets at many points at once: value, gradient, and the curvature that fixed points imply."""

from dataclasses import dataclass
from typing import Any

from preimage._arrays import array_namespace, epsilon, is_sparse, take_rows, to_dense
from preimage.kernels import Gaussian, InnerProduct, ProfileKernel, SquaredDistance


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

    def vanishes(self):
        """Where the kernel values are too small to have correct digits, so that nothing points anywhere."""
        xp = array_namespace(self.value)
        if self.safe_curvature is None:
            return xp.zeros_like(self.value, dtype=xp.bool)
        return self.safe_curvature <= (1e-30 if epsilon(self.value.dtype) > 1e-10 else 1e-280)

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
    """Prepare the points; returns a function of coefficients W (q, n), which returns a function Z → LocalDistance."""
    if isinstance(kernel, Gaussian):
        return _gaussian_model(kernel, points)
    if has_fixed_point(kernel):
        return (_radial_model if kernel.is_radial else _dot_product_model)(kernel, points)
    kernel.require_gradient("A pre-image")
    return _general_model(kernel, points)


def has_fixed_point(kernel):
    """Whether the papers' fixed points exist for a kernel: profiles of the squared distance or the inner product."""
    return isinstance(kernel, ProfileKernel) and kernel.pairwise in (SquaredDistance(), InnerProduct())


def _gaussian_model(kernel, points):
    """The radial model for f′ = −γf, with half the passes over the block: this is where denoising spends its time."""
    squared_distances = kernel.pairwise.against(points)
    gamma = kernel.gamma

    def with_coefficients(W):
        xp = array_namespace(W)
        moduli = xp.abs(W)

        def local(Z):
            values = kernel.profile(squared_distances(Z))
            psi, size = xp.vecdot(W, values), xp.vecdot(moduli, values)
            values *= W
            gradient = (4 * gamma) * (psi[:, None] * Z - values @ points)
            return LocalDistance(
                1 - 2 * psi, gradient, 4 * gamma * psi, 4 * gamma * size, _noise(xp.ones_like(psi), size)
            )

        return local

    return with_coefficients


def _radial_model(kernel, points):
    squared_distances = kernel.pairwise.against(points)

    def with_coefficients(W):
        xp = array_namespace(W)
        moduli = xp.abs(W)

        def local(Z):
            values, slopes = kernel.profile_with_derivative(squared_distances(Z))
            pulls = W * slopes  # (q, n); a point with a negative pull attracts
            total = xp.sum(pulls, axis=1)
            diagonal = kernel.diagonal(Z)
            return LocalDistance(
                diagonal - 2 * xp.vecdot(W, values),
                -4 * (total[:, None] * Z - pulls @ points),  # of −2ψ, by (K0d)
                -4 * total,
                4 * xp.sum(xp.abs(pulls), axis=1),
                _noise(diagonal, xp.vecdot(moduli, xp.abs(values))),
            )

        return local

    return with_coefficients


def _dot_product_model(kernel, points):
    def with_coefficients(W):
        xp = array_namespace(W)
        moduli = xp.abs(W)

        def local(Z):
            products = to_dense((points @ Z.T).T) if is_sparse(points) else Z @ points.T
            values, slopes = kernel.profile_with_derivative(products)
            own, own_slope = kernel.profile_with_derivative(xp.sum(Z * Z, axis=1))
            return LocalDistance(
                own - 2 * xp.vecdot(W, values),
                2 * (own_slope[:, None] * Z - (W * slopes) @ points),
                2 * own_slope,
                2 * xp.abs(own_slope),
                _noise(own, xp.vecdot(moduli, xp.abs(values))),
            )

        return local

    return with_coefficients


def _general_model(kernel, points):
    def with_coefficients(W):
        xp = array_namespace(W)
        moduli = xp.abs(W)

        def local(Z):
            values = kernel(Z, points)
            diagonal = kernel.diagonal(Z)
            gradient = kernel.diagonal_gradient(Z) - 2 * kernel.gradient(Z, points, W)
            noise = _noise(diagonal, xp.vecdot(moduli, xp.abs(values)))
            return LocalDistance(diagonal - 2 * xp.vecdot(W, values), gradient, None, None, noise)

        return local

    return with_coefficients


def _noise(diagonal, size):
    """Rounding errors of k(z, z) − 2ψ(z) when the terms of ψ have the given sum of moduli."""
    return 4 * epsilon(size.dtype) * (array_namespace(size).abs(diagonal) + 2 * size)
