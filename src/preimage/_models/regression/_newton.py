"""Newton's method for smooth losses on landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, take_columns, to_numpy, with_rows
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._models.regression._feature_rows import FeatureRows
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
# Conjugate gradients stop where the residual of a step has shrunk by this factor, or after so many products. A
# hundredth leaves a ten-thousandth of the gap; smaller residuals take more products than they save steps.
STEP_RESIDUAL, MOST_PRODUCTS = 1e-2, 200
# Rows of a pilot, whose minimum is where the iterations on all rows begin: a fraction of all, but so many for every
# coordinate, and so many at all. With fewer, functions of the pilot fit its rows and not the others; problems of less
# than four times as many rows save nothing. It has a part of the coordinates, so that its matrices cost nothing; with
# all of them it took as long as what follows it.
PILOT_FRACTION, PILOT_ROWS, LEAST_PILOT, WORTH_PILOT = 8, 4, 1000, 4
PILOT_PART, LEAST_PART = 4, 50
# A pilot ends when its objective falls by less than this fraction of it: its minimum is another one anyway.
PILOT_FALL = 1e-2
# Rows for every coordinate of which a matrix that only preconditions consists. The product of the inverse and the true
# matrix then has eigenvalues between about a half and two, which conjugate gradients halve the residual with.
SAMPLED_ROWS = 8
# Matrices are updated by the rows whose curvature has changed where these are fewer than those that have one, by this
# factor: in single precision, what many rows leave when they are subtracted is rounding.
WORTH_UPDATING = 0.9


def minimize_smooth(
    problem: Problem, start: Array | None, *, tol: float, max_iter: int, least_fall: float = 0.0
) -> Solution:
    r"""Minimise (G21) by Newton's steps with a decreasing objective.

    One iteration is a pass for the gradient and the matrices :math:`\sum_i d_i \tilde g_i \tilde g_i^\top` of all
    functions, and a pass for the values along the step, on which its length is found. Functions of a joint loss share
    a step by conjugate gradients, preconditioned by the matrices of each function alone; so do functions of many rows
    that all have a curvature, preconditioned by the matrices of some of these rows. Without a start, iterations begin
    at the minimum of a sample of the rows where there are many.

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
    least_fall : float
        Iterations also end when an objective falls by less than this fraction of it.
    """
    loss, rows, weights = problem.loss, problem.rows, problem.weights[:, None]
    assert isinstance(loss, SmoothLoss)
    k = problem.Y.shape[1]
    if start is None:
        start = _start_of_sample(problem, max_iter)
    V = _constants(problem) if start is None else start
    F, n_iter = rows.values(V), 0
    is_flat = _columns(loss.curvature(F, problem.Y) <= 0, "any") & (start is None)
    shares = np.where(is_flat, FIRST_SHARE, 0.0)
    lost, going = np.zeros(1 if loss.is_joint else k, dtype=int), np.arange(k)
    matrices = _Matrices(rows)
    with stage("Minimising losses", None) as advance:
        while going.size:
            part, theirs = (problem, lambda A: A) if going.size == k else (problem.of_columns(going), _taker(going))
            now = _Point.at(part, theirs(V), theirs(F))
            is_last = (
                (now.gap() <= tol * np.maximum(now.objective, now.problem.nearly_nothing))
                | (lost >= MOST_IN_VAIN)
                | (n_iter >= max_iter)
            )
            step = now.step(shares[going], matrices)
            along = rows.values(step)
            lengths = now.lengths(step, along)
            moved = [begin + from_numpy(lengths, V) * way for begin, way in ((now.V, step), (now.F, along))]
            V, F = (new if going.size == k else _replaced(A, going, new) for A, new in zip((V, F), moved, strict=True))
            fell = now.objective - now.problem.objective(*moved)
            lost = np.where(fell > ROUNDING * np.finfo(float).eps * now.objective, 0, lost + 1)
            less = np.where(shares[going] < LEAST_SHARE, 0.0, LESS_SHARE * shares[going])
            shares[going] = np.where(lengths < SHORT, FIRST_SHARE, less)
            n_iter += 1
            advance()
            is_left = ~(is_last | (lengths == 0) | (fell < least_fall * now.objective))
            is_going = np.broadcast_to(is_left, going.shape)
            matrices.keep(is_going)
            lost, going = lost[is_left], going[is_going]
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
    V: Array
    F: Array
    objective: np.ndarray
    gradient: Array

    @classmethod
    def at(cls, problem: Problem, V: Array, F: Array) -> _Point:
        multipliers = problem.weights[:, None] * _smooth(problem).multipliers(F, problem.Y)
        gradient = 2 * problem.alpha * problem.penalized * V - problem.rows.sums(multipliers)
        return cls(problem, V, F, problem.objective(V, F), gradient)

    def gap(self) -> np.ndarray:
        """How far the minima are below the objectives, but for intercepts that are not the best."""
        penalized, xp = self.problem.penalized, array_namespace(self.V)
        found = _columns(penalized * self.gradient**2) / (4 * self.problem.alpha)
        return self.problem.summed(found + _columns((1 - penalized) * xp.abs(self.V * self.gradient)))

    def step(self, shares: np.ndarray, matrices: _Matrices) -> Array:
        """Newton's step, of each function alone or of all together, with some of the curvature of the majorant."""
        problem, loss = self.problem, _smooth(self.problem)
        rows, weights, ridge = problem.rows, problem.weights[:, None], 2 * problem.alpha * problem.penalized
        curvature = loss.curvature(self.F, problem.Y)
        is_mixed = bool(shares.any())
        if is_mixed:
            curvature = curvature + from_numpy(shares, self.F) * (loss.majorant(self.F, problem.Y) - curvature)
        D = weights * curvature
        squares, is_exact = matrices.of(D)
        xp = array_namespace(self.V)
        if is_exact and not loss.is_joint:
            return -xp.stack([solved(factor(S, ridge), self.gradient[:, c]) for c, S in enumerate(squares)], axis=1)
        factors = [factor(S, ridge) for S in squares]
        alone = lambda R: xp.stack([solved(L, R[:, c]) for c, L in enumerate(factors)], axis=1)
        if not loss.is_joint:
            product = lambda W: ridge * W + rows.sums(D * rows.values(W))
            return conjugate_gradients(product, -self.gradient, alone)

        def joint_product(W: Array) -> Array:
            return ridge * W + rows.sums(weights * loss.curved(self.F, problem.Y, rows.values(W)))

        return conjugate_gradients(
            joint_product, -self.gradient, lambda R: _without_mean(alone(_without_mean(R))), True
        )

    def lengths(self, step: Array, along: Array) -> np.ndarray:
        """How far along the step objectives are smallest, for each function or for all; zero where they do not fall.

        The whole step is taken where the derivative has shrunk enough; otherwise its zero is bracketed and bisected,
        with secants. A loss that consists of parabolas ends in as many steps as the active rows change only if lengths
        are right.
        """
        problem, loss = self.problem, _smooth(self.problem)
        linear, square = (2 * problem.alpha * _columns(problem.penalized * step * W) for W in (self.V, step))

        def derivative(t: np.ndarray) -> np.ndarray:
            moved = self.F + from_numpy(t, along) * along
            found = to_numpy(problem.weights @ (loss.multipliers(moved, problem.Y) * along))
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


def _constants(problem: Problem) -> Array:
    """Functions that are zero, and for targets of a regression their medians."""
    V = np.zeros((problem.rows.n_columns, problem.Y.shape[1]))
    if problem.rows.intercept and problem.loss.degree > 1:
        V[-1] = np.median(to_numpy(problem.Y)[to_numpy(problem.weights) > 0], axis=0)
    return from_numpy(V, problem.Y)


def _without_mean(R: Array) -> Array:
    """Less the mean of the functions, which a softmax does not see and the penalty makes zero."""
    return R - array_namespace(R).mean(R, axis=1, keepdims=True)


def _columns(A: Array, of: str = "sum") -> np.ndarray:
    """One number for each column, in NumPy: its sum, or whether any entry is true."""
    return to_numpy(getattr(array_namespace(A), of)(A, axis=0))


def _taker(columns: np.ndarray) -> Callable[[Array], Array]:
    return lambda A: take_columns(A, columns)


def _replaced(A: Array, columns: np.ndarray, new: Array) -> Array:
    """A with other numbers in some of the columns."""
    return with_rows(A.T, columns, new.T).T


def conjugate_gradients(
    product: Callable[[Array], Array],
    R: Array,
    precondition: Callable[[Array], Array],
    is_joint: bool = False,
) -> Array:
    """Approximate solutions X of product(X) = R, along which quadratic functions with gradient −R decrease.

    Each column has its own system, or all have one.
    """
    inner = lambda A, B: to_numpy(array_namespace(A).sum(A * B, axis=None if is_joint else 0, keepdims=True))
    X, images = array_namespace(R).zeros_like(R), precondition(R)
    direction, size = images, inner(R, images)
    first = size
    for _ in range(MOST_PRODUCTS):
        is_going = size > STEP_RESIDUAL**2 * first
        if not is_going.any():
            break
        image = product(direction)
        length = np.divide(size, inner(direction, image), out=np.zeros_like(size), where=is_going)
        length = from_numpy(length, R)
        X, R = X + length * direction, R - length * image
        images, before = precondition(R), size
        size = np.where(is_going, inner(R, images), size)
        share = np.divide(size, before, out=np.zeros_like(size), where=is_going)
        direction = images + from_numpy(share, R) * direction
    return X


class _Matrices:
    r"""The matrices :math:`\sum_i d_i \tilde g_i \tilde g_i^\top` of functions, kept from one iteration to the next.

    Near the minimum of a loss that consists of parabolas few rows change, and only these are added and subtracted. Many
    rows that all count are represented by a sample, where another pass over them costs little.
    """

    def __init__(self, rows: FeatureRows) -> None:
        self.rows = rows
        self.D: Array | None = None
        self.S: list[Array] = []

    def of(self, D: Array) -> tuple[list[Array], bool]:
        """The k matrices (p, p) for D (n, k), and whether they are exact."""
        counts = _counts(D)
        most = SAMPLED_ROWS * self.rows.n_columns
        if self.rows.is_kept and counts.max() > 2 * most:
            self.D = None
            return _each(self.rows.squares(from_numpy(_sampled(to_numpy(D), most), D))), False
        change = None if self.D is None else D - self.D
        if change is not None and _counts(change).sum() <= WORTH_UPDATING * counts.sum():
            self.rows.add_squares(self.S, change)
        else:
            self.S = _each(self.rows.squares(D))
        self.D = D
        return self.S, True

    def keep(self, chosen: np.ndarray) -> None:
        """Those of some of the functions."""
        if self.D is not None and not chosen.all():
            numbers = np.flatnonzero(chosen)
            self.D, self.S = take_columns(self.D, numbers), [self.S[c] for c in numbers]


def _counts(D: Array) -> np.ndarray:
    """How many entries of each column are not zero."""
    return _columns(array_namespace(D).astype(D != 0, D.dtype))


def _each(matrices: Array) -> list[Array]:
    return [matrices[c, ...] for c in range(matrices.shape[0])]


def _sampled(D: np.ndarray, size: int) -> np.ndarray:
    """D with about so many rows in every column, which stand for all that are not zero.

    Half of them are drawn with equal probability, and half in proportion to D, since few heavy rows may matter most.
    """
    out, rng = np.zeros_like(D), np.random.default_rng(0)
    for c in range(D.shape[1]):
        there = np.flatnonzero(D[:, c])
        if there.size == 0:
            continue
        d = D[there, c]
        p = 0.5 / there.size + 0.5 * d / d.sum()
        times = np.bincount(rng.choice(there.size, size, p=p), minlength=there.size)
        out[there, c] = times * d / (size * p)
    return out


def _start_of_sample(problem: Problem, max_iter: int) -> Array | None:
    """The minimum along a part of the frame for a sample of the rows, or None where that would be too little."""
    n, m = problem.Y.shape[0], len(problem.rows.frame)
    part = max(min(m, LEAST_PART), m // PILOT_PART)
    size = max(PILOT_ROWS * (part + problem.rows.intercept), n // PILOT_FRACTION, LEAST_PILOT)
    if not problem.rows.is_kept:
        size = min(size, problem.rows.capacity // 2)
    if n < WORTH_PILOT * size or size < PILOT_ROWS * (part + problem.rows.intercept):
        return None
    numbers = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    pilot = problem.of_rows(numbers, part)
    V = to_numpy(minimize_smooth(pilot, None, tol=PILOT_FALL, max_iter=max_iter, least_fall=PILOT_FALL).V)
    start = np.zeros((problem.rows.n_columns, V.shape[1]))
    start[:part], start[m:] = V[:part], V[part:]
    return from_numpy(start, problem.Y)
