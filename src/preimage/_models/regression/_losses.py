"""Losses of machines on landmarks: values, derivatives and conjugates, row by row, in double precision.

Smooth losses take arrays of any library, those with kinks NumPy's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from preimage._engine.arrays import array_namespace
from preimage._engine.registry import Part, Registry
from preimage._engine.typing import Array
from preimage._models.regression._functions import (
    log_sum_exp,
    quotient,
    sigmoid,
    soft_max,
    soft_plus,
    times_log,
)


class Loss(ABC):
    r"""A convex function of a value f and a target y; targets of classes are −1 and +1.

    The derivative with the other sign, :math:`a = -\ell'(y, f)`, is the multiplier of a row in the dual problem:
    positive where a larger value would cost less. All arrays are of shape (n, k), one column per function.
    """

    #: Whether the k functions have one loss together; otherwise they are k problems.
    is_joint = False
    #: What the loss is multiplied by where targets, values and lengths in it are doubled: 2 to this power.
    degree = 1
    #: What a unit of the constant costs by itself, for every unit of the weight of the rows.
    price_of_constant = 0.0

    @abstractmethod
    def value(self, F: Array, Y: Array) -> Array:
        """ℓ(y, f); of shape (n, 1) where it is joint."""

    @abstractmethod
    def conjugate(self, A: Array, Y: Array) -> Array:
        r""":math:`\sup_f (-a f - \ell(y, f))` where that is finite; of shape (n, 1) where the loss is joint."""

    def balanced(self, A: Array, weights: Array, Y: Array) -> Array:
        """Multipliers near those given whose weighted sums are zero, as constants that cost nothing want them.

        Every loss allows smaller multipliers of the same sign: those of the sign with the larger sum are made smaller.
        """
        xp = array_namespace(A)
        up, down = weights @ xp.clip(A, min=0.0), weights @ xp.clip(-A, min=0.0)
        least = xp.where(up < down, up, down)
        return xp.where(A > 0, A * quotient(least, up), A * quotient(least, down))

    def in_unit(self, unit: float) -> Self:
        """The loss for targets divided by `unit`."""
        return self


class SmoothLoss(Loss):
    """A loss with a derivative everywhere, and a second derivative almost everywhere."""

    @abstractmethod
    def multipliers(self, F: Array, Y: Array) -> Array:
        """−ℓ′(y, f)."""

    @abstractmethod
    def curvature(self, F: Array, Y: Array) -> Array:
        """ℓ″(y, f); of a joint loss, its second derivative along each function alone."""

    def majorant(self, F: Array, Y: Array) -> Array:
        """Curvature of a parabola that touches the loss at f and is nowhere below it."""
        return self.curvature(F, Y)

    def curved(self, F: Array, Y: Array, V: Array) -> Array:
        """The second derivative times directions V, function by function or jointly."""
        return self.curvature(F, Y) * V


class IntervalLoss(Loss):
    """A loss of zero inside an interval, which grows in proportion to the distance from it."""

    @abstractmethod
    def interval(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Its ends; infinite where there is none."""

    def steepness(self) -> tuple[float, float]:
        """What a unit below the interval costs, and a unit above it."""
        return 1.0, 1.0

    def of_constant(self) -> IntervalLoss:
        """The loss of errors that the constant is best for; another one where the constant has a price."""
        return self

    def value(self, F: np.ndarray, Y: np.ndarray) -> np.ndarray:
        (lower, upper), (below, above) = self.interval(Y), self.steepness()
        return below * np.maximum(lower - F, 0.0) + above * np.maximum(F - upper, 0.0)

    def conjugate(self, A: np.ndarray, Y: np.ndarray) -> np.ndarray:
        lower, upper = self.interval(Y)
        return np.where(A > 0, -A * np.where(A > 0, lower, 0.0), -A * np.where(A < 0, upper, 0.0))


@dataclass(frozen=True)
class LogisticLoss(SmoothLoss):
    """log(1 + exp(−yf)): minus the logarithm of the probability of the class."""

    def value(self, F: Array, Y: Array) -> Array:
        return soft_plus(-Y * F)

    def multipliers(self, F: Array, Y: Array) -> Array:
        return Y * sigmoid(-Y * F)

    def curvature(self, F: Array, Y: Array) -> Array:
        return sigmoid(F) * sigmoid(-F)

    def majorant(self, F: Array, Y: Array) -> Array:
        xp = array_namespace(F)
        size = xp.clip(xp.abs(F), min=1e-4)  # below, the ratio is 1/4 in double precision
        return xp.tanh(size / 2) / (2 * size)

    def conjugate(self, A: Array, Y: Array) -> Array:
        p = array_namespace(A).clip(Y * A, min=0.0, max=1.0)
        return times_log(p) + times_log(1 - p)


@dataclass(frozen=True)
class SoftmaxLoss(SmoothLoss):
    r"""Minus the logarithm of :math:`e^{f_c} / \sum_j e^{f_j}` for the class c, whose target is +1."""

    is_joint = True

    def value(self, F: Array, Y: Array) -> Array:
        xp = array_namespace(F)
        return log_sum_exp(F) - xp.sum(xp.where(Y > 0, F, xp.zeros_like(F)), axis=1, keepdims=True)

    def multipliers(self, F: Array, Y: Array) -> Array:
        return array_namespace(F).astype(Y > 0, F.dtype) - soft_max(F)

    def curvature(self, F: Array, Y: Array) -> Array:
        P = soft_max(F)
        return P * (1 - P)

    def curved(self, F: Array, Y: Array, V: Array) -> Array:
        P = soft_max(F)
        return P * (V - array_namespace(P).sum(P * V, axis=1, keepdims=True))

    def conjugate(self, A: Array, Y: Array) -> Array:
        xp = array_namespace(A)
        return xp.sum(times_log(xp.clip(xp.astype(Y > 0, A.dtype) - A, min=0.0, max=1.0)), axis=1, keepdims=True)

    def balanced(self, A: Array, weights: Array, Y: Array) -> Array:
        """Probabilities are mixed with as little as possible of others, the same for all rows, that balance them."""
        xp = array_namespace(A)
        members, total = xp.astype(Y > 0, A.dtype), xp.sum(weights)
        frequencies, excess = weights @ members / total, weights @ A / total
        # The others are frequencies + excess (1 − t)/t, which must not be negative.
        size = xp.abs(excess)
        t = float(xp.max(quotient(size, size + frequencies)))
        return members - ((1 - t) * (members - A) + t * frequencies + (1 - t) * excess)


@dataclass(frozen=True)
class SquaredHingeLoss(SmoothLoss):
    """max(0, 1 − yf)²."""

    def value(self, F: Array, Y: Array) -> Array:
        return array_namespace(F).clip(1 - Y * F, min=0.0) ** 2

    def multipliers(self, F: Array, Y: Array) -> Array:
        return 2 * Y * array_namespace(F).clip(1 - Y * F, min=0.0)

    def curvature(self, F: Array, Y: Array) -> Array:
        return 2.0 * array_namespace(F).astype(Y * F < 1, F.dtype)

    def majorant(self, F: Array, Y: Array) -> Array:
        return 2.0 * array_namespace(F).ones_like(F)

    def conjugate(self, A: Array, Y: Array) -> Array:
        return A**2 / 4 - Y * A


@dataclass(frozen=True)
class HuberLoss(SmoothLoss):
    """(y − f)² up to errors of ε, and 2ε|y − f| − ε² beyond: the derivative grows no further."""

    epsilon: float = 0.1
    degree = 2

    def value(self, F: Array, Y: Array) -> Array:
        error = Y - F
        inner = array_namespace(F).clip(error, min=-self.epsilon, max=self.epsilon)
        return inner * (2 * error - inner)

    def multipliers(self, F: Array, Y: Array) -> Array:
        return 2 * array_namespace(F).clip(Y - F, min=-self.epsilon, max=self.epsilon)

    def curvature(self, F: Array, Y: Array) -> Array:
        xp = array_namespace(F)
        return 2.0 * xp.astype(xp.abs(Y - F) <= self.epsilon, F.dtype)

    def majorant(self, F: Array, Y: Array) -> Array:
        xp = array_namespace(F)
        return 2 * self.epsilon / xp.clip(xp.abs(Y - F), min=self.epsilon)

    def conjugate(self, A: Array, Y: Array) -> Array:
        return A**2 / 4 - Y * A

    def in_unit(self, unit: float) -> Self:
        return replace(self, epsilon=self.epsilon / unit)


@dataclass(frozen=True)
class HingeLoss(IntervalLoss):
    """max(0, 1 − yf): support vector machines."""

    def interval(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(Y > 0, 1.0, -np.inf), np.where(Y > 0, np.inf, -1.0)


@dataclass(frozen=True)
class EpsilonInsensitiveLoss(IntervalLoss):
    """max(0, |y − f| − ε): support vector regression."""

    epsilon: float = 0.1

    def interval(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return Y - self.epsilon, Y + self.epsilon

    def in_unit(self, unit: float) -> Self:
        return replace(self, epsilon=self.epsilon / unit)


@dataclass(frozen=True)
class QuantileLoss(IntervalLoss):
    """q(y − f) for values that are too small, (1 − q)(f − y) for others: a fraction q of the targets is below f."""

    quantile: float = 0.5

    def interval(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return Y, Y

    def steepness(self) -> tuple[float, float]:
        return self.quantile, 1 - self.quantile


@dataclass(frozen=True)
class OneClassLoss(IntervalLoss):
    r"""max(0, −f), and νb for the constant b: one-class support vector machines.

    The machine is :math:`f = g + b` with the threshold −b, and the price makes b as small as a fraction ν of negative
    values allows. For b alone the price of the constant is that of all values, νf.
    """

    nu: float = 0.5

    @property
    def price_of_constant(self) -> float:
        return self.nu

    def interval(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros_like(Y), np.full(Y.shape, np.inf)

    def of_constant(self) -> IntervalLoss:
        return QuantileLoss(1 - self.nu)

    def balanced(self, A: np.ndarray, weights: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Their mean is ν: all are made smaller, or what they lack of one is."""
        inside = np.clip(A, 0.0, 1.0)
        mean = weights @ inside / weights.sum()
        less = np.divide(self.nu, mean, out=np.ones_like(mean), where=mean > self.nu)
        missing = np.divide(1 - self.nu, 1 - mean, out=np.ones_like(mean), where=mean < self.nu)
        return 1 - missing * (1 - inside * less)


CLASSIFICATION_LOSSES: Registry[Loss] = Registry(
    "loss",
    Part("logistic", LogisticLoss, "minus the logarithm of the probability of the class"),
    Part("hinge", HingeLoss, "in proportion to what a value lacks of the margin, as support vector machines"),
    Part("squared_hinge", SquaredHingeLoss, "the square of what a value lacks of the margin"),
)

REGRESSION_LOSSES: Registry[Loss] = Registry(
    "loss",
    Part("huber", HuberLoss, "squares of small errors, and large errors in proportion to their size"),
    Part("epsilon_insensitive", EpsilonInsensitiveLoss, "errors beyond ε in proportion to their size"),
    Part("quantile", QuantileLoss, "errors upwards and downwards at different prices"),
)
