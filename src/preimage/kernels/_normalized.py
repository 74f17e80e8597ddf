"""Kernels scaled to unit length in feature space."""

from preimage._arrays import array_namespace
from preimage._typing import Array, Block
from preimage.kernels._dot_product import Linear
from preimage.kernels._kernel import Kernel, OfOneKernel


class Normalized(OfOneKernel):
    """k̂(x, y) = k(x, y) / √(k(x, x) k(y, y)): only the direction of φ(x) counts.

    Inputs with k(x, x) = 0 have no direction and get the value zero, as scikit-learn's cosine kernel does.

    Parameters
    ----------
    kernel : Kernel
        The kernel to normalise; `Linear()` gives the cosine kernel.

    Examples
    --------
    >>> from preimage.kernels import Linear, Normalized
    >>> Normalized(Linear())([[2.0, 0.0]], [[3.0, 3.0]])
    array([[0.70710678]])
    """

    _parameter_constraints = {"kernel": [Kernel]}

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def blocks(self, X: Array, Y: Array) -> Block:
        block = self.kernel.blocks(X, Y)
        left, right = self._inverse_lengths(X), self._inverse_lengths(Y)
        return lambda rows, columns: block(rows, columns) * left[rows, None] * right[None, columns]

    def diagonal(self, X: Array) -> Array:
        return self.kernel.diagonal(X) * self._inverse_lengths(X) ** 2

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        xp = array_namespace(weights)
        left, right = self._inverse_lengths(Z), self._inverse_lengths(X)
        scaled = weights * left[:, None] * right[None, :]
        # The derivative of 1/√k(z, z) is −½ ∇k(z, z)/k(z, z)^(3/2): it takes away what only lengthens φ(z).
        along = xp.sum(scaled * self.kernel(Z, X), axis=1) * left**2 / 2
        return self.kernel.gradient(Z, X, scaled) - along[:, None] * self.kernel.diagonal_gradient(Z)

    def diagonal_gradient(self, Z: Array) -> Array:
        return 0 * self.kernel.diagonal_gradient(Z)

    def _inverse_lengths(self, X: Array) -> Array:
        squared = self.kernel.diagonal(X)
        xp = array_namespace(squared)
        safe = xp.where(squared > 0, squared, xp.ones_like(squared))
        return xp.where(squared > 0, 1 / xp.sqrt(safe), xp.zeros_like(squared))


def Cosine() -> Normalized:
    """The cosine kernel x·y / (‖x‖‖y‖), i.e. ``Normalized(Linear())``."""
    return Normalized(Linear())
