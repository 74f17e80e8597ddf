"""An interior-point method for losses with kinks on landmarks: support vector machines and quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._engine.progress import stage
from preimage._models.regression._l1_program import best_intercept
from preimage._models.regression._losses import IntervalLoss
from preimage._models.regression._solution import Problem, Solution, factor, solved

# Fraction of the way to the boundary of the positive numbers that a step may go, at least.
TO_THE_BOUNDARY = 0.995
# Rows whose weights in the matrix of a step are together this fraction of the penalty, and of the sum of all weights
# for the intercept, change the step by less than it is off anyway: most rows, near the end.
NEGLIGIBLE = 1e-6
# Iterations after which rounding errors decide if the gap has not become smaller, by this factor.
MOST_IN_VAIN, MUCH_BETTER = 5, 0.9
# Largest stiffness that is reported, relative to the penalty: a row on a kink does not give way, and larger numbers
# would lose the digits of what it gives way to.
STIFFEST = 1e6
# Room of a start near the solution, relative to distances from the ends: half of that or twice costs an iteration; ten
# times as much made gaps wander, until nothing seemed to be gained.
NEAR = 0.1
# Multipliers closer to an end of their range than this fraction of it are at the end; quotients then stay numbers.
AT_THE_END = 1e-30

SIGNS = np.array([1.0, -1.0])[:, None, None]


@dataclass
class _Iterate:
    """Numbers of an iterate, or of a step: for both ends of the intervals, shape (2, n, k), and of the functions.

    Attributes
    ----------
    beta : multipliers of the ends of the intervals, between zero and the costs
    inside, outside : how far values are inside of each end, and outside, which differ in sign only at the solution
    V : coefficients of the functions, shape (p, k)
    F : their values at the rows, shape (n, k)
    """

    beta: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    V: np.ndarray
    F: np.ndarray

    def moved(self, step: _Iterate, length: np.ndarray) -> _Iterate:
        return _Iterate(*(mine + length * other for mine, other in zip(self.parts, step.parts, strict=True)))

    def of_columns(self, chosen: np.ndarray) -> _Iterate:
        return _Iterate(*(part[..., chosen] for part in self.parts))

    def with_columns(self, columns: np.ndarray, others: _Iterate) -> _Iterate:
        """With other numbers for some of the functions."""
        parts = [part.copy() for part in self.parts]
        for part, other in zip(parts, others.parts, strict=True):
            part[..., columns] = other
        return _Iterate(*parts)

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return self.beta, self.inside, self.outside, self.V, self.F

    @property
    def multipliers(self) -> np.ndarray:
        """Of the rows: those of the lower ends less those of the upper ones, shape (n, k)."""
        return self.beta[0] - self.beta[1]


def minimize_intervals(problem: Problem, *, tol: float, max_iter: int) -> Solution:
    r"""Minimise (G21) for a loss with kinks, by a primal–dual interior-point method.

    With multipliers :math:`0 \le \beta \le c = w/2\alpha` of the ends of the intervals the dual problem is quadratic
    in them, with the matrix :math:`\tilde K = G G^\top`. Newton's equations have :math:`\tilde K + D` with D diagonal
    and different in each iteration; by (G17) they are systems of the size of the landmarks,
    :math:`(I + G^\top D^{-1} G)\,\Delta u = r`, and of one more where there is an intercept. One iteration is one such
    matrix, and two systems with it: a predictor, and Mehrotra's corrector.

    Parameters
    ----------
    problem : Problem
        With an `IntervalLoss`.
    tol : float
        Largest gap to the minimum, relative to the objective.
    max_iter : int
    """
    whole = work = _IntervalProgram(problem)
    best = now = work.start()
    k, n_iter = problem.Y.shape[1], 0
    least, lost, going = np.full(k, np.inf), np.zeros(k, dtype=int), np.arange(k)
    with stage("Minimising losses", None) as advance:
        while n_iter < max_iter:
            gap, objective = work.gap(now)
            is_better, is_much_better = gap < least[going], gap < MUCH_BETTER * least[going]
            best = best.with_columns(going[is_better], now.of_columns(is_better))
            least[going], lost[going] = np.minimum(gap, least[going]), np.where(is_much_better, 0, lost[going] + 1)
            is_left = (gap > tol * objective) & (lost[going] < MOST_IN_VAIN)
            if not is_left.any():
                break
            work, now, going = work.of_columns(is_left), now.of_columns(is_left), going[is_left]
            now = work.next(now)
            n_iter += 1
            advance()
    return whole.solution(best, n_iter)


class _IntervalProgram:
    """The problem in units of ½‖u‖² + Σ c·loss, for all functions at once."""

    def __init__(self, problem: Problem) -> None:
        loss = problem.loss
        assert isinstance(loss, IntervalLoss)
        self.problem, self.rows = problem, problem.rows
        costs = np.stack([np.full(problem.Y.shape, each) for each in loss.steepness()])
        costs = costs * (problem.weights / (2 * problem.alpha))[:, None]
        ends = np.stack(loss.interval(problem.Y))
        self.is_there = np.isfinite(ends) & (costs > 0)
        self.ends, self.costs = np.where(self.is_there, ends, 0.0), np.where(self.is_there, costs, 0.0)
        self.prices = problem.prices / (2 * problem.alpha)
        self.counts = np.maximum(self.is_there.sum(axis=(0, 1)), 1)

    def of_columns(self, chosen: np.ndarray) -> _IntervalProgram:
        """The program of some of the functions alone."""
        return self if chosen.all() else _IntervalProgram(self.problem.of_columns(np.flatnonzero(chosen)))

    def start(self) -> _Iterate:
        """In the middle of the box, with the best constants that need no search."""
        p, k = self.rows.n_columns, self.ends.shape[2]
        beta = self.costs / 2
        V, F = np.zeros((p, k)), np.zeros(self.ends.shape[1:])
        if self.rows.intercept:
            V[-1] = np.sum(beta * self.ends, axis=(0, 1)) / np.maximum(beta.sum(axis=(0, 1)), np.finfo(float).tiny)
            F = F + V[-1]
        if self.prices.any():  # multipliers whose sum is right, and the function of these, which says what is large
            beta = self.costs * self.problem.loss.price_of_constant
            V = self.rows.penalized * self.rows.sums(beta[0])
            V, F = self._with_best_constants(V, self.rows.values(V))
            distance = SIGNS * (F - self.ends)
            room = NEAR * np.mean(np.abs(np.where(self.is_there, distance, 0.0)), axis=(0, 1))
        else:
            distance = SIGNS * (F - self.ends)
            # At least the size of targets: multipliers in the middle of the box say nothing of where the ends are.
            room = np.maximum(1.0, np.max(np.abs(np.where(self.is_there, distance, 0.0)), axis=(0, 1)))
        room = np.maximum(room, np.finfo(float).tiny)
        return _Iterate(beta, np.maximum(distance, 0.0) + room, np.maximum(-distance, 0.0) + room, V, F)

    def gap(self, now: _Iterate) -> tuple[np.ndarray, np.ndarray]:
        """Differences of objectives and the bounds of multipliers, but for their sums, and objectives to compare to."""
        shortfall = np.maximum(SIGNS * (self.ends - now.F), 0.0)
        objective = np.sum(self.costs * shortfall, axis=(0, 1)) + self._half_square(now.V)
        objective = objective + np.sum(self.prices * now.V, axis=0)
        along = self.rows.sums(now.multipliers)
        bound = np.sum(SIGNS * now.beta * self.ends, axis=(0, 1)) - self._half_square(along)
        unbalanced = np.sum((1 - self.rows.penalized) * np.abs(now.V * (along - self.prices)), axis=0)
        floor = self.problem.nearly_nothing / (2 * self.problem.alpha)
        return objective - bound + unbalanced, np.maximum(np.abs(objective), floor)

    def next(self, now: _Iterate) -> _Iterate:
        """One step of all functions."""
        stiffness = self._inverse_diagonal(now)
        weights = stiffness.sum(axis=0)
        ridge = self.rows.penalized
        floor = NEGLIGIBLE * np.minimum(1.0, weights.sum(axis=0)) / max(len(weights), 1)
        factors = [factor(S, ridge) for S in self.rows.squares(weights, negligible=floor)]
        first = self._step(now, stiffness, factors, -now.beta * now.inside, -self._slack(now) * now.outside)
        length = self._length(now, first, 1.0)
        mean = self._complementarity(now, first, 0.0 * length)
        centre = np.divide(self._complementarity(now, first, length), mean, out=np.ones_like(mean), where=mean > 0) ** 3
        target = np.where(self.is_there, centre * mean, 0.0)
        step = self._step(
            now,
            stiffness,
            factors,
            target - now.beta * now.inside - first.beta * first.inside,
            target - self._slack(now) * now.outside + first.beta * first.outside,
        )
        return now.moved(step, self._length(now, step, TO_THE_BOUNDARY))

    def _step(
        self, now: _Iterate, stiffness: np.ndarray, factors: list[np.ndarray], inside: np.ndarray, outside: np.ndarray
    ) -> _Iterate:
        """Newton's step that changes the products of multipliers and distances by `inside` and `outside`."""
        beta, slack = self._positive(now)
        error = now.inside - now.outside - SIGNS * (now.F - self.ends)
        residual = stiffness * (error + inside / beta - outside / slack)
        forces = np.sum(SIGNS * residual, axis=0)
        right = self.rows.sums(forces + now.multipliers) - self.rows.penalized * now.V - self.prices
        dV = np.stack([solved(L, right[:, c]) for c, L in enumerate(factors)], axis=1)
        dF = self.rows.values(dV)
        d_beta = residual - stiffness * SIGNS * dF
        return _Iterate(d_beta, (inside - now.inside * d_beta) / beta, (outside + now.outside * d_beta) / slack, dV, dF)

    def solution(self, now: _Iterate, n_iter: int) -> Solution:
        """In the units of the problem, with the best constants for the functions."""
        problem = self.problem
        V, F = self._with_best_constants(now.V, self.rows.values(now.V))
        weights = np.where(problem.weights > 0, problem.weights, 1.0)[:, None]
        stiffness = np.minimum(self._inverse_diagonal(now).sum(axis=0), STIFFEST)
        A = np.where(problem.weights[:, None] > 0, now.multipliers * 2 * problem.alpha / weights, 0.0)
        return Solution(V, F, A, stiffness * 2 * problem.alpha, n_iter)

    def _with_best_constants(self, V: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self.rows.intercept:
            return V, F
        shift = np.array([self._best_shift(F[:, c], c) for c in range(F.shape[1])])
        return V + (1 - self.rows.penalized) * shift, F + shift

    def _best_shift(self, f: np.ndarray, c: int) -> float:
        loss = self.problem.loss.of_constant()  # type: ignore[attr-defined]
        weighted = self.problem.weights > 0
        lower, upper = (end[weighted] for end in loss.interval(self.problem.Y[:, c]))
        below, above = (each * self.problem.weights[weighted] for each in loss.steepness())
        return best_intercept(f[weighted], lower, upper, below, above)

    def _slack(self, now: _Iterate) -> np.ndarray:
        return np.where(self.is_there, self.costs - now.beta, 1.0)

    def _positive(self, now: _Iterate) -> tuple[np.ndarray, np.ndarray]:
        """Multipliers, and what they are below the costs; ones where there is no end."""
        least = AT_THE_END * self.costs
        return np.where(self.is_there, np.maximum(now.beta, least), 1.0), np.maximum(self._slack(now), least)

    def _inverse_diagonal(self, now: _Iterate) -> np.ndarray:
        """D⁻¹: how multipliers change with values."""
        beta, slack = self._positive(now)
        return np.where(self.is_there, 1 / (now.inside / beta + now.outside / slack), 0.0)

    def _complementarity(self, now: _Iterate, step: _Iterate, length: np.ndarray) -> np.ndarray:
        """Mean product of multipliers and distances after a step."""
        then = now.moved(step, length)
        products = then.beta * then.inside + (self.costs - then.beta) * then.outside
        return np.sum(np.where(self.is_there, products, 0.0), axis=(0, 1)) / (2 * self.counts)

    def _length(self, now: _Iterate, step: _Iterate, fraction: float) -> np.ndarray:
        """How far each function may go until a positive number would vanish, at most one."""
        pairs = [(now.beta, step.beta), (self._slack(now), -step.beta)]
        pairs += [(now.inside, step.inside), (now.outside, step.outside)]
        fastest = np.zeros(self.ends.shape[2])
        with np.errstate(over="ignore"):  # of numbers that nearly vanish: the step is as short as can be
            for value, change in pairs:
                rates = np.divide(-change, value, out=np.zeros_like(value), where=self.is_there & (value > 0))
                fastest = np.maximum(fastest, rates.max(axis=(0, 1), initial=0.0))
        return np.minimum(1.0, fraction / np.maximum(fastest, np.finfo(float).tiny))

    def _half_square(self, V: np.ndarray) -> np.ndarray:
        return 0.5 * np.sum(self.rows.penalized * V**2, axis=0)
