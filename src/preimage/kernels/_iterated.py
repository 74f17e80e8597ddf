"""Kernels iterated over a reference sample: positive semidefinite whatever they are made of."""

from preimage._arrays import array_namespace, to_device_of
from preimage._typing import Array, Block, Rows
from preimage.kernels._kernel import KeptRows, Kernel


class Iterated(Kernel):
    """k⁽²⁾(x, y) = (1/m) Σ_j k(x, z_j) k(z_j, y): inner products of empirical kernel maps.

    Turns any symmetric similarity, also an indefinite one such as `Sigmoid`, into an admissible kernel.

    Parameters
    ----------
    kernel : Kernel
    reference : array of shape (m, d) or None, default=None
        The points z; None takes the data on which the kernel is resolved: the training set, at most 10,000 random
        rows of it where landmarks are used, and the first batch of a stream.
    """

    is_positive_semidefinite = True
    data_parameters = {"reference": KeptRows()}
    _parameter_constraints = {"kernel": [Kernel], "reference": ["array-like", "sparse matrix", None]}

    def __init__(self, kernel: Kernel, reference: Rows = None) -> None:
        self.kernel = kernel
        self.reference = reference

    @property
    def has_gradient(self) -> bool:
        return self.kernel.has_gradient

    def blocks(self, X: Array, Y: Array) -> Block:
        left = self._map(X)
        right = left if Y is X else self._map(Y)
        return lambda rows, columns: left[rows, :] @ right[columns, :].T / left.shape[1]

    def diagonal(self, X: Array) -> Array:
        values = self._map(X)
        return array_namespace(values).sum(values * values, axis=1) / values.shape[1]

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        values = self._map(X)
        return self.kernel.gradient(Z, self._reference(Z), weights @ values / values.shape[1])

    def diagonal_gradient(self, Z: Array) -> Array:
        values = self._map(Z)
        return 2 * self.kernel.gradient(Z, self._reference(Z), values / values.shape[1])

    def _map(self, X: Array) -> Array:
        return self.kernel(X, self._reference(X))

    def _reference(self, like: Array) -> Array:
        if self.reference is None:
            raise ValueError("Iterated needs a reference sample: give `reference`, or call `resolve(X)` first.")
        return to_device_of(self.reference, like)
