"""What minimisations over rows return, the systems that they solve, and how far an objective is from its minimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from preimage._engine.arrays import (
    array_namespace,
    concat_columns,
    device_kwargs,
    from_numpy,
    take_columns,
    take_rows,
    to_numpy,
)
from preimage._engine.linalg import cholesky as cholesky_or_none
from preimage._engine.linalg import solve_factored
from preimage._engine.typing import Array
from preimage._models.regression._feature_rows import FeatureRows
from preimage._models.regression._losses import Loss, SmoothLoss

# The first shift of a matrix that rounding has made indefinite, relative to its trace, and what the next is larger by.
FIRST_SHIFT, NEXT_SHIFT = 1e-15, 100.0
# Fraction of what errors of one cost, the size of targets, below which an objective is nearly nothing: functions then
# fit everything, and two small numbers differ by the rounding errors of large ones.
SMALL = 1e-8


@dataclass(frozen=True)
class Problem:
    r"""Minimise :math:`\sum_i w_i \ell(y_i, \tilde g_i^\top v) + \alpha \|u\|^2` over v = (u, b)  (G21).

    Where the loss has a price of the constant, that price times b and the sum of all weights is added.

    Numbers of rows, and coefficients, are in NumPy, or all on the device that keeps the rows. Numbers of functions,
    such as objectives, are in NumPy.

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
    Y: Array
    weights: Array
    alpha: float

    @classmethod
    def near(cls, rows: FeatureRows, loss: Loss, Y: np.ndarray, weights: np.ndarray, alpha: float) -> Problem:
        """The problem on the device that keeps the rows, where the loss is smooth."""
        if isinstance(loss, SmoothLoss):
            Y, weights = rows.near(Y), rows.near(weights)
        return cls(rows, loss, Y, weights, alpha)

    def objective(self, V: Array, F: Array) -> np.ndarray:
        """Of functions with coefficients V and values F; shape (k,), or (1,) where the loss is joint."""
        penalties = array_namespace(V).sum(self.alpha * self.penalized * V**2 + self.prices * V, axis=0)
        return to_numpy(self.weights @ self.loss.value(F, self.Y)) + self.summed(to_numpy(penalties))

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(array_namespace(self.weights).sum(self.weights))

    @cached_property
    def penalized(self) -> Array:
        """One for each coordinate, zero for the intercept; shape (p, 1)."""
        return from_numpy(self.rows.penalized, self.Y)

    @cached_property
    def prices(self) -> Array:
        """What units of the coefficients cost by themselves; shape (p, 1)."""
        return (1 - self.penalized) * (self.loss.price_of_constant * self.total)

    def bound(self, A: Array) -> np.ndarray:
        r"""A lower bound of the minimum from multipliers of the rows.

        .. math:: -\sum_i w_i \ell^*(y_i, -a_i) - \frac{1}{4\alpha} \Bigl\|\sum_i w_i a_i g_i\Bigr\|^2

        Without rounding errors it is the minimum where A are the multipliers of the minimum.
        """
        if self.rows.intercept:
            A = self.loss.balanced(A, self.weights, self.Y)
        along = self.penalized * self.rows.sums(self.weights[:, None] * A) ** 2
        squared = self.summed(to_numpy(array_namespace(along).sum(along, axis=0)))
        return -to_numpy(self.weights @ self.loss.conjugate(A, self.Y)) - squared / (4 * self.alpha)

    @cached_property
    def nearly_nothing(self) -> np.ndarray:
        """Objectives below these are as good as zero, and have no relative accuracy; shape (k,), or (1,) if joint."""
        cost = to_numpy(self.weights @ self.loss.value(self.Y - 1, self.Y))
        return np.maximum(SMALL * cost, np.finfo(float).eps * self.total)

    def along_frame(self, start: np.ndarray) -> Array:
        """Coefficients in the units of the rows, of functions on some of the first vectors of the frame."""
        m, given = len(self.rows.frame), start.shape[0] - self.rows.intercept
        V = np.zeros((self.rows.n_columns, start.shape[1]))
        V[:given], V[m:] = start[:given] * self.rows.unit, start[given:]
        return from_numpy(V, self.Y)

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Numbers of functions, added where the loss is joint."""
        return np.sum(values, keepdims=True) if self.loss.is_joint else values

    def of_columns(self, columns: np.ndarray) -> Problem:
        """The problem of some of the functions alone."""
        return replace(self, Y=take_columns(self.Y, columns))

    def of_rows(self, numbers: np.ndarray, size: int) -> Problem:
        """The problem of some of the rows, which stand for all, and of the first functions of the frame."""
        part = replace(self, Y=take_rows(self.Y, numbers), weights=take_rows(self.weights, numbers))
        weights = part.weights * (self.total / part.total) if part.total > 0 else part.weights
        return replace(part, rows=self.rows.chosen(numbers, size), weights=weights)


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

    V: Array
    F: Array
    A: Array
    stiffness: Array
    n_iter: int

    @classmethod
    def of_columns(cls, parts: Sequence[Solution]) -> Solution:
        """Functions that were fitted in several groups."""
        join = lambda name: concat_columns(*[getattr(each, name) for each in parts])
        return cls(join("V"), join("F"), join("A"), join("stiffness"), max(each.n_iter for each in parts))


def relative_gap(problem: Problem, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """The objectives, and how far below them the minima may be, relative to them; shapes (k,), or (1,) if joint."""
    objective = problem.objective(solution.V, solution.F)
    gap = np.maximum(objective - problem.bound(solution.A), 0.0)
    return objective, gap / np.maximum(np.abs(objective), problem.nearly_nothing)


def factor(S: Array, ridge: Array | None = None) -> Array:
    """The Cholesky factor L of a positive semidefinite matrix and a diagonal one, shifted where rounding demands it.

    What is above the diagonal of L is of no meaning.
    """
    xp = array_namespace(S)
    ridge = xp.zeros_like(S[:, 0]) if ridge is None else ridge[:, 0]
    trace = float(xp.linalg.trace(S) + xp.sum(ridge))
    shift, step = 0.0, FIRST_SHIFT * max(trace, np.finfo(float).tiny)
    while True:
        if (L := _cholesky(S, ridge + shift)) is not None:
            return L
        if not np.isfinite(step):
            raise LinAlgError("A matrix of a step has no finite factor.")
        shift, step = step, NEXT_SHIFT * step


def _cholesky(S: Array, ridge: Array) -> Array | None:
    """The factor of S and a diagonal, or None where rounding has made the sum indefinite."""
    if not isinstance(S, np.ndarray):
        xp = array_namespace(S)
        return cholesky_or_none(S + ridge * xp.eye(S.shape[0], dtype=S.dtype, **device_kwargs(S)))
    A = S.copy()
    A.ravel()[:: len(A) + 1] += ridge
    try:  # of the transpose, which LAPACK needs no copy of
        return np.asarray(cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)[0])
    except LinAlgError:
        return None


def solved(L: Array, R: Array) -> Array:
    """(LLᵀ)⁻¹R for R of shape (p,) or (p, k)."""
    if not isinstance(L, np.ndarray):
        return solve_factored(L, R)
    return np.asarray(cho_solve((L, True), R, check_finite=False))
