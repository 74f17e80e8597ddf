"""Losses that gross errors cannot dominate, as functions of squared residuals, and weights of reweighted squares."""

from abc import ABC, abstractmethod

from preimage._engine.arrays import array_namespace
from preimage._engine.registry import Part, Registry
from preimage._engine.typing import Array

# Residuals, in units of the scale, from which on entries count as outliers: one in 400 of a normal distribution.
OUTLIER = 3.0
# |u| is rounded below this, in units of the scale, so that it has a derivative at zero: ten times less makes steps
# shorter, ten times more makes a Huber loss of it.
ROUNDED = 0.1


class Loss(ABC):
    """ρ(u) of a residual u in units of its scale: even, growing with |u|, and concave as a function of u².

    Of a function that is concave in u² the tangent is a weighted square above it, so that squares with the weight
    ρ'(u)/2u at the last point majorise the loss.
    """

    @abstractmethod
    def values(self, squares: Array) -> Array:
        """ρ at residuals with the given squares u²."""

    @abstractmethod
    def weights(self, squares: Array) -> Array:
        """dρ/d(u²): how much the square of an entry counts."""

    def trust(self, squares: Array) -> Array:
        """How far entries are believed: weights relative to the largest, in [0, 1]."""
        return self.weights(squares)


class Huber(Loss):
    """u² up to one, 2|u| − 1 beyond: convex, and linear in gross errors."""

    def values(self, squares: Array) -> Array:
        xp = array_namespace(squares)
        return xp.where(squares <= 1, squares, 2 * xp.sqrt(squares) - 1)

    def weights(self, squares: Array) -> Array:
        xp = array_namespace(squares)
        return 1 / xp.sqrt(xp.where(squares > 1, squares, xp.ones_like(squares)))


class Absolute(Loss):
    """2|u|, rounded at zero: 2√(u² + δ²) − 2δ."""

    def values(self, squares: Array) -> Array:
        return 2 * (array_namespace(squares).sqrt(squares + ROUNDED**2) - ROUNDED)

    def weights(self, squares: Array) -> Array:
        return 1 / array_namespace(squares).sqrt(squares + ROUNDED**2)

    def trust(self, squares: Array) -> Array:
        return Huber().weights(squares)  # relative to an entry at the scale: the largest weight is that of the rounding


class Cauchy(Loss):
    """log(1 + u²): the influence of an entry falls again beyond the scale."""

    def values(self, squares: Array) -> Array:
        return array_namespace(squares).log1p(squares)

    def weights(self, squares: Array) -> Array:
        return 1 / (1 + squares)


class Tukey(Loss):
    """3 − 3(1 − u²/9)³ up to |u| = 3 and constant beyond: gross errors count as missing."""

    def values(self, squares: Array) -> Array:
        return 3 - 3 * self._inside(squares) ** 3

    def weights(self, squares: Array) -> Array:
        return self._inside(squares) ** 2

    def _inside(self, squares: Array) -> Array:
        return array_namespace(squares).clip(1 - squares / OUTLIER**2, min=0.0)


LOSSES: Registry[Loss] = Registry(
    "loss",
    Part("huber", Huber, "squares near zero, linear in gross errors", on_command_line=True),
    Part("l1", Absolute, "linear", on_command_line=True),
    Part("cauchy", Cauchy, "logarithmic, nearly ignores gross errors", on_command_line=True),
    Part("tukey", Tukey, "constant beyond three scales, ignores gross errors", on_command_line=True),
    also="None for plain denoising",
)


def as_loss(loss: str | Loss) -> Loss:
    """The loss that a name means."""
    return loss if isinstance(loss, Loss) else LOSSES.made(loss)
