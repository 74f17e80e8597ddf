"""Functions on landmarks that minimise any convex loss, and the choice of their penalty by left-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, from_numpy, take_columns, to_numpy
from preimage._engine.linalg import eigvalsh, inverse_of_triangle
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array, Rows
from preimage._models.regression._feature_rows import FeatureRows
from preimage._models.regression._functions import soft_max
from preimage._models.regression._interior_point import minimize_intervals
from preimage._models.regression._landmark_ridge import nested_frame
from preimage._models.regression._losses import IntervalLoss, Loss
from preimage._models.regression._newton import minimize_smooth
from preimage._models.regression._solution import Problem, Solution, factor, relative_gap
from preimage.feature_space import Expansion
from preimage.kernels import Kernel

# Penalties that "loo" tries, relative to the largest squared singular value of the features, from the largest on: two
# per decade, which left-out losses hardly tell apart. It ends when so many in a row were worse than the best.
LOO_GRID = np.geomspace(1e-8, 1, 17)
MOST_WORSE = 3
# Gap at which interior-point iterations end for left-out losses. The linear model of a row that leaves knows of no
# kinks: near the minimum it lets rows on a kink move beyond it, and overstates losses up to thirtyfold where
# penalties are small. Multipliers that are still away from their limits smooth the kinks by about what a row moves;
# losses were then within a tenth of those of refits for most penalties, and it takes half of the iterations.
SMOOTHING_GAP = 0.03
# Penalties count as at least and at most these, relative to the sum of all weights, in units of rows of length one.
# Smaller ones, zero included, are rounding errors of the objective; larger ones leave nothing but the constant.
SMALLEST, LARGEST = 1e-14, 1e30
# Iterations go on to this fraction of the tolerance where that is possible: each further one gains digits, and values
# differ from those of the minimum by the root of the gap.
BEYOND = 1e-4
# Gaps in units of the rounding errors of a precision: the smallest that is looked for, as objectives are sums of
# rounded losses, and the smallest whose absence is no failure, as sums over rows of coordinates are rounded as well.
ROUNDINGS, ACCEPTED = 10, 100
# Rows whose small systems of all classes are solved together; ten times more only take more memory.
JOINT_ROWS = 2048


@dataclass(frozen=True)
class ConvexMachine:
    """Functions fitted on landmarks.

    Attributes
    ----------
    expansion : Expansion of k functions
        Without their intercepts.
    intercept : array of shape (k,)
    alpha : float
        The penalty.
    alphas, loo_errors : arrays or None
        The candidates and their mean left-out losses, when the penalty was chosen.
    objective, gap : arrays of shape (k,), or (1,) where the loss is joint
        Values of the objective, and how far below them minima may be at most, relative to them. In NumPy.
    n_iter : int
    converged : bool
        Whether gaps are as small as they may be, or as the precision allows.
    along : array of shape (p, k)
        Coefficients in the nested frame of the points, and the intercepts last where there are some; in NumPy.
    multipliers, stiffness : arrays of shape (n, k)
        Minus the derivative of the weighted losses by the values of the rows, and the second derivative; in NumPy.
    left_out : array of shape (n,) or None
        Left-out losses of the rows, when the penalty was chosen, for the one that was.
    """

    expansion: Expansion
    intercept: Array
    alpha: float
    alphas: np.ndarray | None
    loo_errors: np.ndarray | None
    objective: np.ndarray
    gap: np.ndarray
    n_iter: int
    converged: bool
    along: np.ndarray
    multipliers: np.ndarray
    stiffness: np.ndarray
    left_out: np.ndarray | None

    @classmethod
    def fit(
        cls,
        kernel: Kernel,
        points: Array,
        X: Rows,
        Y: np.ndarray,
        weights: np.ndarray | None,
        loss: Loss,
        *,
        alpha: float | str | np.ndarray,
        intercept: bool,
        tol: float,
        max_iter: int,
        max_memory: float | str | None = None,
        unit: float = 1.0,
        start: np.ndarray | None = None,
    ) -> ConvexMachine:
        r"""Minimise :math:`\sum_i w_i \ell(y_i, f(x_i)) + \alpha \|f - b\|^2` over functions on the images of points.

        Parameters
        ----------
        kernel : Kernel
        points : array of shape (m, d)
        X : array, sparse matrix, memory map or Dask array of shape (n, d)
        Y : array of shape (n, k)
        weights : array of shape (n,) or None
        loss : Loss
        alpha : float, "loo" or array of floats
            A penalty, or candidates of which the one with the smallest left-out loss is taken.
        intercept : bool
            Whether a constant b is fitted, which is not penalised.
        tol : float
            Largest gap to the minimum, relative to the objective, that callers accept.
        max_iter : int
        max_memory : float, str or None
            For the coordinates of the rows.
        unit : float
            Size of the targets: all is computed in this unit.
        start : array of shape (q, k), optional
            `along` of a fit on some of the first of the points, from which iterations begin where they can.
        """
        frame = nested_frame(kernel, points)
        rows = FeatureRows.of(frame, X, intercept=intercept, max_memory=max_memory)
        weights = np.ones(Y.shape[0]) if weights is None else weights
        # Penalties in units of the rows and of the targets.
        scale = unit ** (2 - loss.degree) / rows.unit**2
        problem = Problem.near(rows, loss.in_unit(unit), Y / unit, weights, float("nan"))
        rounding = epsilon(frame.coefficients.dtype)
        search = _Search(problem, max(BEYOND * tol, ROUNDINGS * rounding), max_iter)
        alphas = errors = left_out = None
        begin = None if start is None else problem.along_frame(start / unit)
        if not isinstance(alpha, float):
            candidates = np.sort(scale * alpha) if isinstance(alpha, np.ndarray) else search.candidates()
            tried = search.left_out_losses(candidates[::-1], isinstance(alpha, np.ndarray), begin)
            errors = np.array([each.mean for each in tried])[::-1] * unit**loss.degree
            alphas, best = candidates[-errors.size :] / scale, int(np.argmin(errors))
            alpha, chosen = float(alphas[best]), tried[::-1][best]
            left_out, begin = chosen.rows * unit**loss.degree, chosen.V
        problem, solution = search.fitted(scale * alpha, begin)
        objective, gap = relative_gap(problem, solution)
        m = len(frame)
        V = to_numpy(solution.V)
        coefficients = to_numpy(frame.coefficients).astype(np.float64) @ (V[:m] * (unit / rows.unit))
        constants = V[m] * unit if intercept else np.zeros(Y.shape[1])
        in_units = np.where(rows.penalized > 0, unit / rows.unit, unit)
        return cls(
            Expansion(kernel, points, from_numpy(coefficients, frame.coefficients)),
            from_numpy(constants, frame.coefficients),
            alpha,
            alphas,
            errors,
            objective * unit**loss.degree,
            gap,
            solution.n_iter,
            bool(np.all(gap <= max(tol, ACCEPTED * rounding))),
            V * in_units,
            weights[:, None] * to_numpy(solution.A) * unit ** (loss.degree - 1),
            to_numpy(solution.stiffness) * unit ** (loss.degree - 2.0),
            left_out,
        )


@dataclass(frozen=True)
class _LeftOut:
    """Functions of a penalty, the losses of rows that are left out, and their mean."""

    V: Array
    rows: np.ndarray
    mean: float


class _Search:
    """Fits of one problem with several penalties, from the largest on: each starts where the one before has ended."""

    def __init__(self, problem: Problem, tol: float, max_iter: int) -> None:
        self.problem, self.tol, self.max_iter = problem, tol, max_iter

    def fitted(self, alpha: float, start: Array | None = None, tol: float = 0.0) -> tuple[Problem, Solution]:
        """The problem with this penalty, and its solution, in groups of functions that memory allows."""
        total = self.problem.total
        whole = replace(self.problem, alpha=min(max(alpha, SMALLEST * total), LARGEST * total))
        k, size = whole.Y.shape[1], whole.rows.columns_at_once
        if whole.loss.is_joint or k <= size:
            return whole, self._minimize(whole, start, tol)
        groups = [np.arange(first, min(first + size, k)) for first in range(0, k, size)]
        starts = [None if start is None else take_columns(start, columns) for columns in groups]
        parts = [self._minimize(whole.of_columns(each), begin, tol) for each, begin in zip(groups, starts, strict=True)]
        return whole, Solution.of_columns(parts)

    def _minimize(self, problem: Problem, start: Array | None, tol: float) -> Solution:
        tol = max(tol, self.tol)
        if isinstance(problem.loss, IntervalLoss):
            return minimize_intervals(problem, tol=tol, max_iter=self.max_iter)
        return minimize_smooth(problem, start, tol=tol, max_iter=self.max_iter)

    def candidates(self) -> np.ndarray:
        """Penalties relative to the largest squared singular value of the features, less their mean; ascending."""
        rows, weights = self.problem.rows, self.problem.weights
        S = to_numpy(rows.squares(weights[:, None]))[0]
        if rows.intercept:
            S = S - np.outer(S[-1], S[-1]) / S[-1, -1]
        largest = float(eigvalsh(S)[-1])
        return LOO_GRID * max(largest, np.finfo(float).eps * self.problem.total)

    def left_out_losses(self, alphas: np.ndarray, to_the_end: bool, start: Array | None = None) -> list[_LeftOut]:
        """Left-out losses of penalties, one after another, until no better one is to be expected."""
        found: list[_LeftOut] = []
        tol = SMOOTHING_GAP if isinstance(self.problem.loss, IntervalLoss) else 0.0
        with stage("Choosing alpha", None) as advance:
            for alpha in alphas:
                problem, solution = self.fitted(float(alpha), start, tol)
                start, losses = solution.V, left_out_losses(problem, solution)
                mean = float(to_numpy(problem.weights) @ losses) / problem.total
                found.append(_LeftOut(start, losses, mean))
                advance()
                best = min(range(len(found)), key=lambda number: found[number].mean)
                if not to_the_end and len(found) - 1 - best >= MOST_WORSE:
                    break
        return found


def left_out_losses(problem: Problem, solution: Solution) -> np.ndarray:
    """Losses of rows whose values are predicted by all others, approximately; shape (n,)."""
    F = left_out_values(problem, solution)
    return to_numpy(array_namespace(F).mean(problem.loss.value(F, problem.Y), axis=1))


def left_out_values(problem: Problem, solution: Solution) -> Array:
    r"""Values of rows by functions without them, to first order, from one factorisation; shape (n, k)  (G22).

    With the curvatures :math:`d_i = w_i \ell''_i` and
    :math:`h_i = \tilde g_i^\top (\sum_j d_j \tilde g_j \tilde g_j^\top + 2\alpha J)^{-1} \tilde g_i` a row with
    the multiplier :math:`a_i` has the value :math:`f_i - w_i a_i h_i / (1 - d_i h_i)` without itself. It is exact for
    squared errors. Rows on a kink have an infinite curvature, and the formula is the span of support vectors.

    Of a joint loss, matrices of each function alone stand for the joint one, less the part that shifts all functions.
    """
    rows, xp = problem.rows, array_namespace(solution.F)
    ridge = from_numpy(np.diag(2 * problem.alpha * problem.rows.penalized[:, 0]), solution.F)
    multipliers, squares = problem.weights[:, None] * solution.A, rows.squares(solution.stiffness)
    roots = [inverse_of_triangle(factor(squares[c, ...] + ridge)) for c in range(squares.shape[0])]
    h = rows.forms(xp.stack(roots))
    if problem.loss.is_joint:
        return map_rows(_jointly_left_out, solution.F, multipliers, h, problem.weights, rows=JOINT_ROWS)
    return solution.F - multipliers * h / xp.clip(1 - solution.stiffness * h, min=float(np.finfo(float).eps))


def _jointly_left_out(F: Array, multipliers: Array, h: Array, weights: Array) -> Array:
    """The same for a softmax, whose curvature is a matrix for each row."""
    xp, k = array_namespace(F), F.shape[1]
    P, h, identity = soft_max(F), h * (k - 1) / k, xp.eye(k, dtype=F.dtype, **device_kwargs(F))
    curvature = weights[:, None, None] * (P[:, :, None] * identity - P[:, :, None] * P[:, None, :])
    system = identity - h[:, :, None] * curvature
    return F - xp.linalg.solve(system, (h * multipliers)[:, :, None])[:, :, 0]
