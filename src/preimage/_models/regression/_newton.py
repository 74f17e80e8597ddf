"""Newton's method for smooth losses on landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from preimage._engine.progress import stage
from preimage._models.regression._losses import SmoothLoss
from preimage._models.regression._solution import Problem, Solution, factor, solved

# A whole step is taken where it leaves this fraction of the derivative along it; other lengths are found to the second.
ENOUGH, EXACT = 0.1, 1e-3
# Doublings and bisections until a length is found: a step is rarely too short, and a bracket shrinks four times in two.
MOST_DOUBLINGS, MOST_BISECTIONS = 20, 40
# How much the curvature of a majorising parabola is mixed into that of the loss: at first and after a step that had to
# be shortened, and by which factor less after one that had not. Parabolas never need shortening, and losses that are
# linear where all rows are have no other curvature; less than the least is none.
FIRST_SHARE, LESS_SHARE, LEAST_SHARE = 1.0, 0.1, 1e-3
# A step that is shortened more than this comes from a curvature that says nothing of the loss.
SHORT = 1e-3
# Iterations in a row that may end with the same objective, up to so many rounding errors of it.
MOST_IN_VAIN, ROUNDING = 3, 10
# Conjugate gradients stop where the residual of a step has shrunk by this factor, or after so many products.
STEP_RESIDUAL, MOST_PRODUCTS = 1e-4, 200


def minimize_smooth(problem: Problem, start: np.ndarray | None, *, tol: float, max_iter: int) -> Solution:
    r"""Minimise (G21) by Newton's steps with a decreasing objective.

    One iteration is a pass for the gradient and the matrices :math:`\sum_i d_i \tilde g_i \tilde g_i^\top` of all
    functions, and a pass for the values along the step, on which its length is found. Functions of a joint loss share
    a step by conjugate gradients, preconditioned by the matrices of each function alone.

    The square of the gradient over 4α is the gap to the minimum where the intercept is best. When it is small, one more
    step is taken, which costs little and leaves about the square of the gap.

    Parameters
    ----------
    problem : Problem
        With a `SmoothLoss`.
    start : array of shape (p, k) or None
        Coefficients to start from.
    tol : float
        Largest gap, relative to the objective.
    max_iter : int
    """
    loss, rows, weights = problem.loss, problem.rows, problem.weights[:, None]
    assert isinstance(loss, SmoothLoss)
    V = (_constants(problem) if start is None else start).copy()
    F, n_iter = rows.values(V), 0
    k = problem.Y.shape[1]
    shares = np.where(np.any(loss.curvature(F, problem.Y) <= 0, axis=0), FIRST_SHARE, 0.0)
    lost, going = np.zeros(1 if loss.is_joint else k, dtype=int), np.arange(k)
    with stage("Minimising losses", None) as advance:
        while going.size:
            now = _Point.at(problem if going.size == k else problem.of_columns(going), V[:, going], F[:, going])
            is_last = (
                (now.gap() <= tol * np.maximum(now.objective, now.problem.nearly_nothing))
                | (lost >= MOST_IN_VAIN)
                | (n_iter >= max_iter)
            )
            step = now.step(shares[going])
            along = rows.values(step)
            lengths = now.lengths(step, along)
            V[:, going], F[:, going] = now.V + lengths * step, now.F + lengths * along
            fell = now.objective - now.problem.objective(V[:, going], F[:, going])
            lost = np.where(fell > ROUNDING * np.finfo(float).eps * now.objective, 0, lost + 1)
            less = np.where(shares[going] < LEAST_SHARE, 0.0, LESS_SHARE * shares[going])
            shares[going] = np.where(lengths < SHORT, FIRST_SHARE, less)
            n_iter += 1
            advance()
            is_left = ~(is_last | (lengths == 0))
            lost, going = lost[is_left], going[np.broadcast_to(is_left, going.shape)]
    F = rows.values(V)  # without the rounding errors of many steps
    return Solution(V, F, loss.multipliers(F, problem.Y), weights * loss.curvature(F, problem.Y), n_iter)


@dataclass(frozen=True)
class _Point:
    """Functions on the way to the minimum, and what one pass over the rows says of them.

    Attributes
    ----------
    problem : Problem
    V, F : arrays of shape (p, k) and (n, k)
        Coefficients, and values at the rows.
    objective : array of shape (k,), or (1,) where the loss is joint
    gradient : array of shape (p, k)
    """

    problem: Problem
    V: np.ndarray
    F: np.ndarray
    objective: np.ndarray
    gradient: np.ndarray

    @classmethod
    def at(cls, problem: Problem, V: np.ndarray, F: np.ndarray) -> _Point:
        multipliers = problem.weights[:, None] * _smooth(problem).multipliers(F, problem.Y)
        gradient = 2 * problem.alpha * problem.rows.penalized * V - problem.rows.sums(multipliers)
        return cls(problem, V, F, problem.objective(V, F), gradient)

    def gap(self) -> np.ndarray:
        """How far the minima are below the objectives, but for intercepts that are not the best."""
        penalized = self.problem.rows.penalized
        found = np.sum(penalized * self.gradient**2, axis=0) / (4 * self.problem.alpha)
        return self.problem.summed(found + np.sum((1 - penalized) * np.abs(self.V * self.gradient), axis=0))

    def step(self, shares: np.ndarray) -> np.ndarray:
        """Newton's step, of each function alone or of all together, with some of the curvature of the majorant."""
        problem, loss = self.problem, _smooth(self.problem)
        rows, weights, ridge = problem.rows, problem.weights[:, None], 2 * problem.alpha * problem.rows.penalized
        curvature = loss.curvature(self.F, problem.Y)
        if shares.any():
            curvature = curvature + shares * (loss.majorant(self.F, problem.Y) - curvature)
        factors = [factor(S + np.diag(ridge[:, 0])) for S in rows.squares(weights * curvature)]
        alone = lambda R: np.stack([solved(L, R[:, c]) for c, L in enumerate(factors)], axis=1)
        if not loss.is_joint:
            return -alone(self.gradient)

        def product(W: np.ndarray) -> np.ndarray:
            return ridge * W + rows.sums(weights * loss.curved(self.F, problem.Y, rows.values(W)))

        return conjugate_gradients(product, -self.gradient, lambda R: _without_mean(alone(_without_mean(R))))

    def lengths(self, step: np.ndarray, along: np.ndarray) -> np.ndarray:
        """How far along the step objectives are smallest, for each function or for all; zero where they do not fall.

        The whole step is taken where the derivative has shrunk enough; otherwise its zero is bracketed and bisected,
        with secants. A loss that consists of parabolas ends in as many steps as the active rows change only if lengths
        are right.
        """
        problem, loss = self.problem, _smooth(self.problem)
        linear, square = (2 * problem.alpha * np.sum(problem.rows.penalized * step * W, axis=0) for W in (self.V, step))

        def derivative(t: np.ndarray) -> np.ndarray:
            found = problem.weights @ (loss.multipliers(self.F + t * along, problem.Y) * along)
            return problem.summed(linear + t * square - found)

        first = derivative(np.zeros_like(self.objective))
        whole = np.ones_like(first)
        at_whole = derivative(whole)
        is_whole = np.abs(at_whole) <= ENOUGH * np.abs(first)
        found = whole if is_whole.all() else np.where(is_whole, whole, zero_of(derivative, first, whole, at_whole))
        return np.where(first < 0, found, 0.0)


def _smooth(problem: Problem) -> SmoothLoss:
    assert isinstance(problem.loss, SmoothLoss)
    return problem.loss


def zero_of(
    function: Callable[[np.ndarray], np.ndarray], at_zero: np.ndarray, start: np.ndarray, at_start: np.ndarray
) -> np.ndarray:
    """Where increasing functions that are negative at zero vanish, to a thousandth of their values there."""
    low, at_low, high, at_high = np.zeros_like(start), at_zero, start, at_start
    for _ in range(MOST_DOUBLINGS):
        is_beyond = at_high < 0
        if not is_beyond.any():
            break
        low, at_low = np.where(is_beyond, high, low), np.where(is_beyond, at_high, at_low)
        high = np.where(is_beyond, 2 * high, high)
        at_high = function(high)
    t = high
    for turn in range(MOST_BISECTIONS):
        rise = at_high - at_low
        fraction = np.divide(-at_low, rise, out=np.full_like(low, 0.5), where=rise > 0) if turn % 2 == 0 else 0.5
        t = low + fraction * (high - low)
        found = function(t)
        if np.all(np.abs(found) <= EXACT * np.abs(at_zero)):
            break
        is_low = found < 0
        low, at_low = np.where(is_low, t, low), np.where(is_low, found, at_low)
        high, at_high = np.where(is_low, high, t), np.where(is_low, at_high, found)
    return t


def _constants(problem: Problem) -> np.ndarray:
    """Functions that are zero, and for targets of a regression their medians."""
    V = np.zeros((problem.rows.n_columns, problem.Y.shape[1]))
    if problem.rows.intercept and problem.loss.degree > 1:
        V[-1] = np.median(problem.Y[problem.weights > 0], axis=0)
    return V


def _without_mean(R: np.ndarray) -> np.ndarray:
    """Less the mean of the functions, which a softmax does not see and the penalty makes zero."""
    return R - np.mean(R, axis=1, keepdims=True)


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray], R: np.ndarray, precondition: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """An approximate solution X of product(X) = R, along which a quadratic function with gradient −R decreases."""
    X, images = np.zeros_like(R), precondition(R)
    direction, size = images, float(np.vdot(R, images))
    first = size
    for _ in range(MOST_PRODUCTS):
        if not size > STEP_RESIDUAL**2 * first:
            break
        image = product(direction)
        length = size / float(np.vdot(direction, image))
        X, R = X + length * direction, R - length * image
        images, before = precondition(R), size
        size = float(np.vdot(R, images))
        direction = images + (size / before) * direction
    return X
