"""Functions along a frame that learn from one batch of rows after another: least squares, and logistic losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from preimage._engine.memory import memory_budget
from preimage._models.regression._functions import soft_max
from preimage._models.regression._landmark_ridge import LeastSquares, Ridge
from preimage._models.regression._losses import LogisticLoss, SmoothLoss, SoftmaxLoss
from preimage._models.regression._newton import zero_of
from preimage._models.regression._solution import factor, solved

# Precision of the constant before there are rows, relative to that of coefficients, and at most this: it keeps the
# constant of a class finite of which no row has come, and moves others by as little as rounding in single precision.
OF_CONSTANT = 1e-6
# Penalties count as at least this, as in fits to all rows: classes that are separated have no minimum without one.
SMALLEST = 1e-14
# Newton's steps on a batch end when they would lower the objective by less than this fraction of it; rounding errors
# are a hundred times smaller. There are a handful of steps, and more of them only where a class is separated.
SMALL_FALL, MOST_STEPS = 1e-13, 100
# Matrices of the size of the precision that a batch needs: the old and the new one, the factor, and a copy.
MATRICES = 4


class StreamFit(ABC):
    """All that functions of m coordinates keep of the rows so far, in NumPy and in double precision.

    Attributes
    ----------
    n_iter : int
        Iterations of the last batch.
    """

    n_iter: int = 1

    @abstractmethod
    def after(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray | None) -> StreamFit:
        """With further rows of coordinates F (n, m), targets Y (n, k) and weights."""

    @abstractmethod
    def extended(self, count: int) -> StreamFit:
        """With so many more coordinates, which are zero for all rows so far."""

    @property
    @abstractmethod
    def coefficients(self) -> np.ndarray:
        """Of the functions along the frame, shape (m, k)."""

    @property
    @abstractmethod
    def intercept(self) -> np.ndarray:
        """Their constants, shape (k,)."""


@dataclass(frozen=True)
class SquaredStream(StreamFit):
    """Least squares: the factor of all rows so far, which does not depend on how they were cut into batches."""

    squares: LeastSquares
    alpha: float

    @classmethod
    def begin(cls, n_coordinates: int, n_targets: int, alpha: float, intercept: bool) -> SquaredStream:
        nothing = np.zeros((0, n_coordinates)), np.zeros((0, n_targets))
        return cls(LeastSquares.of(*nothing, intercept=intercept), alpha)

    def after(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray | None) -> SquaredStream:
        batch = LeastSquares.of(F, Y, weights, intercept=self.squares.intercept)
        return replace(self, squares=self.squares + batch)

    def extended(self, count: int) -> SquaredStream:
        return replace(self, squares=self.squares.extended(count))

    @cached_property
    def ridge(self) -> Ridge:
        """The solutions for all numbers of coordinates."""
        return self.squares.ridge(self.alpha)

    @property
    def coefficients(self) -> np.ndarray:
        return self.ridge.coefficients

    @property
    def intercept(self) -> np.ndarray:
        return self.ridge.intercept


@dataclass(frozen=True)
class LogisticStream(StreamFit):
    r"""A normal distribution of the functions given the rows so far, updated by Laplace's method  (G23).

    With the mean :math:`v_0` and the precision :math:`\Lambda_0` of the rows so far, a batch has the functions that
    minimise

    .. math:: \sum_i w_i\, \ell(y_i, \tilde g_i^\top v) + \tfrac12 (v - v_0)^\top \Lambda_0 (v - v_0),

    and the precision becomes the second derivative there. Before any row it is the penalty :math:`2\alpha`. Of earlier
    rows only this parabola is left: for one batch it is the fit to all rows, and for several it is close to that where
    batches tell about the same, since the parabola touches their losses where their functions were.

    Attributes
    ----------
    mean : array of shape (m + 1, k)
        With the constants last, or of shape (m, k) without them.
    precision : array of shape (k(m + 1), k(m + 1))
        Function after function.
    alpha : float
    has_intercept : bool
    """

    mean: np.ndarray
    precision: np.ndarray
    alpha: float
    has_intercept: bool
    n_iter: int = 0

    @classmethod
    def begin(cls, n_coordinates: int, n_functions: int, alpha: float, intercept: bool) -> LogisticStream:
        alpha = max(alpha, SMALLEST)
        of_constant = OF_CONSTANT * min(2 * alpha, 1.0)
        ridge = np.append(np.full(n_coordinates, 2 * alpha), np.full(int(intercept), of_constant))
        size = ridge.size * n_functions
        budget = memory_budget(None, np.empty(0))
        if MATRICES * 8 * size**2 > budget:
            raise MemoryError(
                f"A stream of {n_functions} logistic functions on {n_coordinates} landmarks keeps matrices of {size} "
                f"rows, {MATRICES * 8 * size**2 / 1e9:.2g} GB with those of a step; {budget / 1e9:.2g} GB are free to "
                "use. Ask for fewer landmarks, or use loss='squared', whose matrix has the size of the landmarks."
            )
        return cls(np.zeros((ridge.size, n_functions)), np.diag(np.tile(ridge, n_functions)), alpha, intercept)

    def extended(self, count: int) -> LogisticStream:
        p, k = self.mean.shape
        m, size = p - self.has_intercept, p + count
        kept = np.append(np.arange(m), np.arange(m + count, size))  # the constant stays last
        mean = np.zeros((size, k))
        mean[kept] = self.mean
        places = (kept + size * np.arange(k)[:, None]).ravel()
        precision = np.diag(np.full(size * k, 2 * self.alpha))
        precision[np.ix_(places, places)] = self.precision
        return replace(self, mean=mean, precision=precision)

    def after(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray | None) -> LogisticStream:
        G = np.concatenate([F, np.ones((F.shape[0], 1))], axis=1) if self.has_intercept else F
        weights = np.ones(F.shape[0]) if weights is None else weights
        k, start = self.mean.shape[1], self.mean
        loss: SmoothLoss = SoftmaxLoss() if k > 1 else LogisticLoss()
        V, precision, n_iter = start, self.precision, 0
        while n_iter < MOST_STEPS:
            n_iter += 1
            values, away = G @ V, (V - start).T.ravel()
            pull = self.precision @ away
            gradient = pull - (G.T @ (weights[:, None] * loss.multipliers(values, Y))).T.ravel()
            precision = self.precision + _second_derivatives(G, values, weights)
            step = -solved(factor(precision), gradient)
            objective = float(np.sum(weights @ loss.value(values, Y))) + 0.5 * float(away @ pull)
            fall = -float(gradient @ step)
            if fall <= SMALL_FALL * max(objective, np.finfo(float).tiny):
                break
            V = V + self._length(loss, G, Y, weights, values, pull, step) * step.reshape(k, -1).T
        return replace(self, mean=V, precision=precision, n_iter=n_iter)

    def _length(
        self,
        loss: SmoothLoss,
        G: np.ndarray,
        Y: np.ndarray,
        weights: np.ndarray,
        values: np.ndarray,
        pull: np.ndarray,
        step: np.ndarray,
    ) -> float:
        """How far along a step the objective falls: the whole step where that is nearly its zero, as in `_newton`."""
        along = G @ step.reshape(self.mean.shape[1], -1).T
        linear, square = float(pull @ step), float(step @ self.precision @ step)

        def derivative(t: np.ndarray) -> np.ndarray:
            found = weights @ (loss.multipliers(values + t * along, Y) * along)
            return linear + t * square - np.sum(found, keepdims=True)

        first, whole = derivative(np.zeros(1)), derivative(np.ones(1))
        if abs(whole[0]) <= 0.1 * abs(first[0]):
            return 1.0
        return float(zero_of(derivative, first, np.ones(1), whole)[0])

    @property
    def coefficients(self) -> np.ndarray:
        return self.mean[: self.mean.shape[0] - self.has_intercept]

    @property
    def intercept(self) -> np.ndarray:
        return self.mean[-1] if self.has_intercept else np.zeros(self.mean.shape[1])


def _second_derivatives(G: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of the summed losses by all coefficients, function after function."""
    (_, p), k = G.shape, values.shape[1]
    if k == 1:
        return (G * (weights[:, None] * LogisticLoss().curvature(values, values))).T @ G
    P, out = soft_max(values), np.empty((k * p, k * p))
    for c in range(k):
        for other in range(c + 1):
            d = weights * P[:, c] * ((c == other) - P[:, other])
            block = (G * d[:, None]).T @ G
            out[c * p : (c + 1) * p, other * p : (other + 1) * p] = block
            out[other * p : (other + 1) * p, c * p : (c + 1) * p] = block.T
    return out


STREAMS: dict[str, type[SquaredStream] | type[LogisticStream]] = {"squared": SquaredStream, "logistic": LogisticStream}
