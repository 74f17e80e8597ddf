"""The distance to a target at one point a problem, with what steps need to know of it."""

from dataclasses import dataclass
from typing import Any

from preimage._arrays import array_namespace, epsilon, take_rows


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


def rounding(diagonal, size):
    """Rounding errors of k(z, z) − 2ψ(z) when the terms of ψ have the given sum of moduli."""
    return 4 * epsilon(size.dtype) * (array_namespace(size).abs(diagonal) + 2 * size)
