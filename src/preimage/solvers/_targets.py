"""The vectors that pre-images are sought for, with coefficients that are formed for a block of them at a time."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, concat_rows, take_rows, to_dense, transposed
from preimage._engine.typing import Array
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel
from preimage.solvers._starts import nearest_in_subspace, nearest_points


class Targets(ABC):
    """q vectors Σᵢ wⱼᵢ φ(xᵢ) on shared points.

    Attributes
    ----------
    kernel : Kernel
    points : array of shape (n, d)
    """

    kernel: Kernel
    points: Array

    @property
    def inputs(self) -> Array:
        """The points as rows of data, shape (n, d)."""
        return self.kernel.inputs_of_points(self.points)

    @abstractmethod
    def coefficients(self, rows: slice) -> Array:
        """The coefficients w of some of the vectors, one contiguous row each: every step of a descent reads them."""

    @abstractmethod
    def squared_norms(self) -> Array:
        """‖ψⱼ‖², shape (q,)."""

    @abstractmethod
    def take(self, numbers: np.ndarray) -> "Targets":
        """The vectors with the given NumPy indices."""

    @abstractmethod
    def nearest(self) -> Array:
        """The points with the nearest images, shape (q, d)."""

    @abstractmethod
    def moved(self, kernel: Kernel, origin: Array) -> "Targets":
        """The same vectors under `kernel` of inputs x − origin."""


class GivenTargets(Targets):
    """The vectors of an expansion."""

    def __init__(self, vectors: Expansion) -> None:
        self.vectors = vectors
        self.kernel, self.points = vectors.kernel, vectors.points

    def coefficients(self, rows: slice) -> Array:
        return transposed(self.vectors.coefficients[:, rows])

    def squared_norms(self) -> Array:
        return self.vectors.squared_norms()

    def take(self, numbers: np.ndarray) -> "GivenTargets":
        return GivenTargets(self.vectors.take(numbers))

    def nearest(self) -> Array:
        return nearest_points(self.vectors)

    def moved(self, kernel: Kernel, origin: Array) -> "GivenTargets":
        return GivenTargets(moved_vectors(self.vectors, kernel, origin))


@dataclass(frozen=True)
class EmbeddedTargets(Targets):
    """The points of a subspace with coordinates Y.

    Their coefficients are formed when they are read: there are as many per target as there are training points.
    """

    subspace: Subspace
    Y: Array
    kernel: Kernel
    points: Array
    basis: Array
    constant: Array | None
    shift: Array | None = None

    @classmethod
    def of(cls, subspace: Subspace, Y: Array) -> "EmbeddedTargets":
        frame, origin = subspace.frame, subspace.origin
        if origin is None or origin.points is frame.points:
            constant = None if origin is None else origin.coefficients[:, 0]
            return cls(subspace, Y, frame.kernel, frame.points, frame.coefficients, constant)
        xp = array_namespace(frame.coefficients)
        points = concat_rows(frame.points, origin.points)
        basis = concat_rows(frame.coefficients, xp.zeros_like(frame.coefficients[:1, :] * origin.coefficients))
        constant = xp.concat([xp.zeros_like(frame.coefficients[:, 0]), origin.coefficients[:, 0]])
        return cls(subspace, Y, frame.kernel, points, basis, constant)

    def coefficients(self, rows: slice) -> Array:
        Y = self.Y[rows, :]
        weights = Y if self.subspace.signature is None else Y * self.subspace.signature
        inside = weights @ self.basis.T
        if self.constant is None:
            return inside
        if isinstance(inside, np.ndarray):
            return np.add(inside, self.constant, out=inside)
        return inside + self.constant

    def squared_norms(self) -> Array:
        return self.subspace.embedded_norms(self.Y)

    def take(self, numbers: np.ndarray) -> "EmbeddedTargets":
        return replace(self, Y=take_rows(self.Y, numbers))

    def nearest(self) -> Array:
        found = nearest_in_subspace(self.subspace, self.Y)
        return found if self.shift is None else found - self.shift

    def moved(self, kernel: Kernel, origin: Array) -> "EmbeddedTargets":
        return replace(self, kernel=kernel, points=to_dense(self.points) - origin, shift=origin)


def moved_vectors(vectors: Expansion, kernel: Kernel, origin: Array) -> Expansion:
    """The same vectors under `kernel` of inputs x − origin; norms do not change with the move."""
    points = to_dense(vectors.points) - origin
    return Expansion(kernel, points, vectors.coefficients, squared_norms=vectors.squared_norms())
