"""Kernels judged by the rows that machines on their landmarks leave out: one width, or a width per column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from preimage._engine.arrays import to_numpy
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._models.regression._landmark_ridge import LeastSquares, nested_frame
from preimage.feature_space import require_finite
from preimage.kernels import Kernel

# Factor between kernels that are compared: errors hardly differ for factors below two.
STEP = 2.0
# Steps in one direction at most, a factor of a thousand: beyond, kernels of more rows are not of the same family.
MOST_STEPS = 10


@dataclass(frozen=True)
class Judge:
    """Leave-one-out errors of least squares on landmarks.

    Attributes
    ----------
    select : callable
        From a kernel to landmarks, an array (m, d).
    X : array of shape (n, d)
    Y : array of shape (n, k)
    weights : array of shape (n,)
        Of rows, positive.
    judging : list of integer arrays
        For each kernel of a list, the rows whose errors count. Others, which decided its widths, have a part in the
        machine alone.
    alpha : float, "loo" or array of floats
        Penalty, or candidates of which that with the smallest error counts.
    intercept : bool
    """

    select: Callable[[Kernel], Array]
    X: Array
    Y: np.ndarray
    weights: np.ndarray
    judging: list[np.ndarray]
    alpha: float | str | np.ndarray
    intercept: bool

    def errors(self, kernels: list[Kernel]) -> np.ndarray:
        """Squared left-out errors of the rows that judge, those of the first kernel first."""
        return np.concatenate([self._of(*each) for each in zip(kernels, self.judging, strict=True)])

    def mean(self, errors: np.ndarray) -> float:
        return float(self._shares @ errors)

    def is_surely_better(self, errors: np.ndarray, others: np.ndarray) -> bool:
        """Whether errors are smaller than others of the same rows, by more than the standard error of that."""
        if not (np.isfinite(errors).all() and np.isfinite(others).all()):
            return bool(np.isfinite(errors).all())
        gains = (others - errors) / max(float(np.max(others)), np.finfo(float).tiny)
        gain = self.mean(gains)
        return gain > float(np.sqrt(np.sum((self._shares * (gains - gain)) ** 2)))

    @property
    def _shares(self) -> np.ndarray:
        weights = self.weights[np.concatenate(self.judging)]
        return weights / np.sum(weights)

    def _of(self, kernel: Kernel, judging: np.ndarray) -> np.ndarray:
        points = self.select(kernel)
        if not points.shape[0]:  # the kernel is too narrow for the precision of the rows
            return np.full(judging.size, np.inf)
        frame = nested_frame(kernel, points)
        F = to_numpy(frame(self.X)).astype(np.float64)
        problem = LeastSquares.of(F, self.Y, self.weights, intercept=self.intercept)
        require_finite(problem.triangle, kernel)
        candidates = problem.left_out_squares(F, self.Y, self.weights, problem.penalties(self.alpha))
        return min((each[judging] for each in candidates), key=lambda each: float(self.weights[judging] @ each))


#: From the factor of all weights to a kernel for each part of the rows that judge.
Family: TypeAlias = Callable[[float], list[Kernel]]


def choose_widths(judge: Judge, simple: Sequence[Family], per_column: Family) -> tuple[int, float]:
    """The number of a family, and the factor of its weights: one width, unless widths per column are surely better.

    Of the simple families, which have one width, that with the smallest left-out errors is taken. The last number is
    that of widths per column, whose errors must be smaller beyond the standard error. Factors were found on few rows,
    and more admit narrower kernels: they are doubled, or else halved, as long as errors fall.
    """
    with stage("Comparing kernels"):
        found = [_best_factor(judge, family) for family in (*simple, per_column)]
    errors = [each[1] for each in found]
    best = min(range(len(simple)), key=lambda number: judge.mean(errors[number]))
    number = len(simple) if judge.is_surely_better(errors[-1], errors[best]) else best
    return number, found[number][0]


def _best_factor(judge: Judge, family: Family) -> tuple[float, np.ndarray]:
    best, errors = 1.0, judge.errors(family(1.0))
    for direction in (STEP, 1 / STEP):
        for _ in range(MOST_STEPS):
            found = judge.errors(family(best * direction))
            if judge.mean(found) >= judge.mean(errors):
                break
            best, errors = best * direction, found
        if best != 1:
            break
    return best, errors
