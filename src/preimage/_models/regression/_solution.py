"""What minimisations over rows return, the systems that they solve, and how far an objective is from its minimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from preimage._models.regression._feature_rows import FeatureRows
from preimage._models.regression._losses import Loss

# The first shift of a matrix that rounding has made indefinite, relative to its trace, and what the next is larger by.
FIRST_SHIFT, NEXT_SHIFT = 1e-15, 100.0
# Fraction of what errors of one cost, the size of targets, below which an objective is nearly nothing: functions then
# fit everything, and two small numbers differ by the rounding errors of large ones.
SMALL = 1e-8


@dataclass(frozen=True)
class Problem:
    r"""Minimise :math:`\sum_i w_i \ell(y_i, \tilde g_i^\top v) + \alpha \|u\|^2` over v = (u, b)  (G21).

    Where the loss has a price of the constant, that price times b and the sum of all weights is added.

    Attributes
    ----------
    rows : FeatureRows
    loss : Loss
    Y : array of shape (n, k)
        Targets of k functions, at most one in modulus.
    weights : array of shape (n,)
    alpha : float
        In units of `rows`.
    """

    rows: FeatureRows
    loss: Loss
    Y: np.ndarray
    weights: np.ndarray
    alpha: float

    def objective(self, V: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Of functions with coefficients V and values F; shape (k,), or (1,) where the loss is joint."""
        penalties = self.alpha * self.rows.penalized * V**2 + self.prices * V
        return self.weights @ self.loss.value(F, self.Y) + self.summed(np.sum(penalties, axis=0))

    @property
    def prices(self) -> np.ndarray:
        """What units of the coefficients cost by themselves; shape (p, 1)."""
        return (1 - self.rows.penalized) * (self.loss.price_of_constant * self.weights.sum())

    def bound(self, A: np.ndarray) -> np.ndarray:
        r"""A lower bound of the minimum from multipliers of the rows.

        .. math:: -\sum_i w_i \ell^*(y_i, -a_i) - \frac{1}{4\alpha} \Bigl\|\sum_i w_i a_i g_i\Bigr\|^2

        Without rounding errors it is the minimum where A are the multipliers of the minimum.
        """
        if self.rows.intercept:
            A = self.loss.balanced(A, self.weights, self.Y)
        along = np.sum(self.rows.penalized * self.rows.sums(self.weights[:, None] * A) ** 2, axis=0)
        return -self.weights @ self.loss.conjugate(A, self.Y) - self.summed(along) / (4 * self.alpha)

    @cached_property
    def nearly_nothing(self) -> np.ndarray:
        """Objectives below these are as good as zero, and have no relative accuracy; shape (k,), or (1,) if joint."""
        cost = self.weights @ self.loss.value(self.Y - 1, self.Y)
        return np.maximum(SMALL * cost, np.finfo(float).eps * self.weights.sum())

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Numbers of functions, added where the loss is joint."""
        return np.sum(values, keepdims=True) if self.loss.is_joint else values

    def of_columns(self, columns: np.ndarray) -> Problem:
        """The problem of some of the functions alone."""
        return Problem(self.rows, self.loss, self.Y[:, columns], self.weights, self.alpha)


@dataclass(frozen=True)
class Solution:
    """Functions near a minimum.

    Attributes
    ----------
    V : array of shape (p, k)
        Coefficients along the frame, and the intercept last where there is one.
    F : array of shape (n, k)
        Values at the rows.
    A : array of shape (n, k)
        Multipliers of the rows, each counted once.
    stiffness : array of shape (n, k)
        Curvature of the weighted losses: for losses with kinks, how much multipliers change with values.
    n_iter : int
    """

    V: np.ndarray
    F: np.ndarray
    A: np.ndarray
    stiffness: np.ndarray
    n_iter: int

    @classmethod
    def of_columns(cls, parts: Sequence[Solution]) -> Solution:
        """Functions that were fitted in several groups."""
        join = lambda name: np.concatenate([getattr(each, name) for each in parts], axis=1)
        return cls(join("V"), join("F"), join("A"), join("stiffness"), max(each.n_iter for each in parts))


def relative_gap(problem: Problem, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """The objectives, and how far below them the minima may be, relative to them; shapes (k,), or (1,) if joint."""
    objective = problem.objective(solution.V, solution.F)
    gap = np.maximum(objective - problem.bound(solution.A), 0.0)
    return objective, gap / np.maximum(np.abs(objective), problem.nearly_nothing)


def factor(S: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor of a positive semidefinite matrix, shifted where rounding has made it indefinite."""
    shift, step = 0.0, FIRST_SHIFT * max(float(np.trace(S)), np.finfo(float).tiny)
    while True:
        try:
            return np.asarray(cholesky(S + shift * np.eye(len(S)), lower=True, check_finite=False))
        except LinAlgError:
            if not np.isfinite(step):
                raise
            shift, step = step, NEXT_SHIFT * step


def solved(L: np.ndarray, R: np.ndarray) -> np.ndarray:
    """(LLᵀ)⁻¹R."""
    return np.asarray(cho_solve((L, True), R, check_finite=False))


def inverse_factor(L: np.ndarray) -> np.ndarray:
    """L⁻¹."""
    return np.asarray(solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False))
