"""Newton's method for smooth losses on landmarks."""

from __future__ import annotations

from collections.abc import Callable

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
    r"""Minimise (G22) by Newton's steps with a decreasing objective.

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
    V = _constants(problem) if start is None else start
    F = rows.values(V)
    shares = np.where(np.any(loss.curvature(F, problem.Y) <= 0, axis=0), FIRST_SHARE, 0.0)
    objective, n_iter, lost = problem.objective(V, F), 0, 0
    with stage("Minimising losses", None) as advance:
        while True:
            multipliers = weights * loss.multipliers(F, problem.Y)
            gradient = 2 * problem.alpha * rows.penalized * V - rows.sums(multipliers)
            is_done = (
                np.all(_gap(problem, V, gradient) <= tol * objective) or n_iter >= max_iter or lost >= MOST_IN_VAIN
            )
            curvature = loss.curvature(F, problem.Y)
            curvature = weights * (curvature + shares * (loss.majorant(F, problem.Y) - curvature))
            step = _step(problem, F, gradient, curvature)
            along = rows.values(step)
            lengths = _lengths(problem, V, F, step, along)
            V, F = V + lengths * step, F + lengths * along
            before, objective = objective, problem.objective(V, F)
            lost = 0 if np.any(before - objective > ROUNDING * np.finfo(float).eps * before) else lost + 1
            shares = np.where(lengths < SHORT, FIRST_SHARE, LESS_SHARE * shares)
            shares = np.where(shares < LEAST_SHARE, 0.0, shares)
            n_iter += 1
            advance()
            if is_done or not np.any(lengths):
                break
    F = rows.values(V)  # without the rounding errors of many steps
    return Solution(V, F, loss.multipliers(F, problem.Y), weights * loss.curvature(F, problem.Y), n_iter)


def _constants(problem: Problem) -> np.ndarray:
    """Functions that are zero, and for targets of a regression their medians."""
    V = np.zeros((problem.rows.n_columns, problem.Y.shape[1]))
    if problem.rows.intercept and problem.loss.degree > 1:
        V[-1] = np.median(problem.Y[problem.weights > 0], axis=0)
    return V


def _gap(problem: Problem, V: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """How far the minima are below the objectives, but for intercepts that are not the best."""
    penalized = problem.rows.penalized
    found = np.sum(penalized * gradient**2, axis=0) / (4 * problem.alpha)
    return problem.summed(found + np.sum((1 - penalized) * np.abs(V * gradient), axis=0))


def _step(problem: Problem, F: np.ndarray, gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Newton's step, of each function alone or of all together."""
    rows, ridge = problem.rows, 2 * problem.alpha * problem.rows.penalized
    factors = [factor(S + np.diag(ridge[:, 0])) for S in rows.squares(curvature)]
    alone = lambda R: np.stack([solved(L, R[:, c]) for c, L in enumerate(factors)], axis=1)
    if not problem.loss.is_joint:
        return -alone(gradient)
    loss, weights = problem.loss, problem.weights[:, None]
    assert isinstance(loss, SmoothLoss)

    def product(W: np.ndarray) -> np.ndarray:
        return ridge * W + rows.sums(weights * loss.curved(F, problem.Y, rows.values(W)))

    return conjugate_gradients(product, -gradient, lambda R: _without_mean(alone(_without_mean(R))))


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


def _lengths(problem: Problem, V: np.ndarray, F: np.ndarray, step: np.ndarray, along: np.ndarray) -> np.ndarray:
    """How far along the step the objective is smallest, for each function or for all; zero where it does not decrease.

    The whole step is taken where the derivative has shrunk enough; otherwise its zero is bracketed and bisected, with
    secants. Losses that are parabolas with joints end in as many steps as there are changes of the active rows only if
    lengths are right.
    """
    loss, penalized = problem.loss, problem.rows.penalized
    assert isinstance(loss, SmoothLoss)
    linear, square = (2 * problem.alpha * np.sum(penalized * step * W, axis=0) for W in (V, step))
    linear, square = problem.summed(linear), problem.summed(square)

    def slope(t: np.ndarray) -> np.ndarray:
        found = problem.weights @ (loss.multipliers(F + t * along, problem.Y) * along)
        return linear + t * square - problem.summed(found)

    first = slope(np.zeros_like(linear))
    low, high = np.zeros_like(first), np.ones_like(first)
    at_low, at_high = first, slope(high)
    is_whole = np.abs(at_high) <= ENOUGH * np.abs(first)
    for _ in range(MOST_DOUBLINGS):
        is_beyond = ~is_whole & (at_high < 0)
        if not is_beyond.any():
            break
        low, at_low, high = (
            np.where(is_beyond, high, low),
            np.where(is_beyond, at_high, at_low),
            np.where(is_beyond, 2 * high, high),
        )
        at_high = slope(high)
    t = high
    for turn in range(MOST_BISECTIONS):
        secant = low + (high - low) * np.divide(
            -at_low, at_high - at_low, out=np.full_like(low, 0.5), where=at_high > at_low
        )
        t = np.where(is_whole, 1.0, (low + high) / 2 if turn % 2 else secant)
        found = slope(t)
        if np.all(is_whole | (np.abs(found) <= EXACT * np.abs(first))):
            break
        low, at_low = np.where(found < 0, t, low), np.where(found < 0, found, at_low)
        high, at_high = np.where(found < 0, high, t), np.where(found < 0, at_high, found)
    return np.where(first < 0, t, 0.0)
