"""The distance between images and targets (P1), with its gradient and curvature, for every kind of kernel."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon, is_sparse, take_rows
from preimage._engine.rows import ThreadBuffer
from preimage._engine.typing import Array
from preimage.descent import Evaluation, Objective, tile_rows, tiles
from preimage.kernels import Gaussian, Kernel, Warped
from preimage.kernels._profile import is_euclidean_profile


def distance_model(kernel: Kernel, points: Array, *, values_alone: bool = False) -> "TargetModel":
    """The distance ρ(z) − ‖Ψ‖² = k(z, z) − 2ψ(z) of (P1), prepared for targets on the given points.

    With `values_alone` kernels need no gradient, and evaluations have none.
    """
    if values_alone:
        return _ValueDistance(kernel, points)
    if type(kernel) is Gaussian:  # a subclass may have another profile
        return _GaussianDistance(kernel, points)
    kernel.require_gradient("A pre-image")
    return _Distance(kernel, points)


class TargetModel(ABC):
    """An objective of z for targets Σ αᵢ φ(xᵢ) on fixed points: what does not depend on coefficients, prepared once."""

    @abstractmethod
    def __init__(self, kernel: Kernel, points: Array) -> None: ...

    def lift(self, W: Array) -> Array:
        """Coefficients (q, n) of targets, as `evaluate` takes them."""
        return W

    @abstractmethod
    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        """The objectives of the targets with coefficients W at the rows of Z."""


@dataclass(frozen=True)
class TargetObjective(Objective):
    """A model with one target per row, and λ‖z − anchor‖² added."""

    model: TargetModel
    coefficients: Array
    anchor: Array
    penalty: float

    @classmethod
    def of(cls, model: TargetModel, W: Array, anchor: Array, penalty: float) -> "TargetObjective":
        return cls(model, model.lift(W), anchor, penalty)

    def at(self, Z: Array) -> Evaluation:
        W = self.coefficients
        parts = [self.model.evaluate(W[tile, :], Z[tile, :]) for tile in tiles(W.shape[0], W.shape[1], W)]
        return Evaluation.join(parts).penalized(Z, self.anchor, self.penalty)

    def take(self, rows: np.ndarray) -> "TargetObjective":
        some = lambda array: take_rows(array, rows)
        return replace(self, coefficients=some(self.coefficients), anchor=some(self.anchor))


class _GaussianDistance(TargetModel):
    """The radial model for f′ = −γf, with half the passes over the block: denoising spends its time here."""

    def __init__(self, kernel: Gaussian, points: Array) -> None:
        self.kernel, self.points = kernel, points
        most = tile_rows(points.shape[0], points)
        self.on_host = most is not None and not is_sparse(points)
        self.values = kernel.prepare(points)
        if most is not None and self.on_host:
            # The same memory in every step: new memory would cost as much as the values.
            self.tile = ThreadBuffer(most, points.shape[0], points.dtype)

    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        xp, gamma = array_namespace(W), self.kernel.gamma
        # With f′ = −γf value, gradient and curvature need only W ∘ K and its row sums.
        weights = self._kernel_values(Z)
        weights *= W
        psi, contracted = xp.sum(weights, axis=1), weights @ self.points
        size = xp.sum(_moduli_of(weights), axis=1)
        return Evaluation(
            1 - 2 * psi,
            (4 * gamma) * (psi[:, None] * Z - contracted),
            _rounding(xp.ones_like(psi), size),
            4 * gamma * psi,
            4 * gamma * size,
        )

    def _kernel_values(self, Z: Array) -> Array:
        """K, which may be changed, and is valid until the same thread asks again."""
        if not self.on_host:
            return self.values(Z)
        out = self.tile.part(Z.shape[0], self.points.shape[0])
        out = out if out.shape[0] == Z.shape[0] else np.empty((Z.shape[0], self.points.shape[0]), out.dtype)
        return self.values(Z, out)


def _moduli_of(fresh: Array) -> Array:
    """|w|, in place for a NumPy array, which no one else may hold."""
    return np.abs(fresh, out=fresh) if isinstance(fresh, np.ndarray) else array_namespace(fresh).abs(fresh)


class _Distance(TargetModel):
    """Any kernel with a gradient; with a profile, also the curvature of the fixed points (P2).

    Under a warped kernel the coefficients a of a target on the points of the graph become w = a + Mk(z)  (W3). ρ(z) =
    k(z, z) − kᵀMk − 2kᵀa has the gradient of k(z, z) − 2kᵀw for w held fixed, hence also the fixed point of the kernel
    itself with the weights w. They have both signs whatever the target.
    """

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self.form = kernel.unwarped(points) if isinstance(kernel, Warped) else None
        self.kernel = kernel.kernel if isinstance(kernel, Warped) else kernel
        self.points = points if self.form is None else self.form.points
        self.has_profile = is_euclidean_profile(self.kernel)
        self.prepared = (self.kernel.pairwise if self.has_profile else self.kernel).prepare(self.points)

    def lift(self, W: Array) -> Array:
        return W if self.form is None else self.form.lift(W)

    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        xp, kernel = array_namespace(W), self.kernel
        if self.has_profile:
            values, derivatives = kernel.profile_with_derivative(self.prepared(Z))
        else:
            values, contracted = self.prepared.with_gradient(Z)
        diagonal = kernel.diagonal(Z)
        value, size = diagonal - 2 * xp.vecdot(W, values), xp.vecdot(xp.abs(W), xp.abs(values))
        if self.form is not None:
            correction = self.form.correction(values)
            value = value - xp.vecdot(values, correction)
            size, W = size + self.form.correction_rounding(values) / 2, W + correction
        curvatures: tuple = ()
        if self.has_profile:
            terms = W * derivatives  # (q, n); a point with a negative term attracts
            inside = kernel.pairwise.gradient(Z, self.points, terms)
            curvatures = self._curvatures(terms, Z)
        else:
            inside = contracted(W)
        gradient = kernel.diagonal_gradient(Z) - 2 * inside
        return Evaluation(value, gradient, _rounding(diagonal, size), *curvatures)

    def _curvatures(self, terms: Array, Z: Array) -> tuple[Array, Array]:
        xp = array_namespace(terms)
        if self.kernel.is_radial:
            return -4 * xp.sum(terms, axis=1), 4 * xp.sum(xp.abs(terms), axis=1)
        diagonal = 2 * self.kernel.profile_derivative(self.kernel.pairwise.diagonal(Z))
        return diagonal, xp.abs(diagonal)


class _ValueDistance(TargetModel):
    """Any kernel; no gradient."""

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self.kernel, self.points = kernel, points

    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        xp = array_namespace(W)
        terms = W * self.kernel(Z, self.points)
        diagonal, size = self.kernel.diagonal(Z), xp.sum(xp.abs(terms), axis=1)
        noise = _rounding(diagonal, size)
        return Evaluation(diagonal - 2 * xp.sum(terms, axis=1), None, noise, None, size)


def _rounding(diagonal: Array, size: Array) -> Array:
    """Rounding errors of k(z, z) − 2ψ(z) when the terms of ψ have the given sum of moduli."""
    return 4 * epsilon(size.dtype) * (array_namespace(size).abs(diagonal) + 2 * size)
