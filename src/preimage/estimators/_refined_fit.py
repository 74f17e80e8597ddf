"""Landmarks that are replaced, in a few rounds, by rows that matter more to the loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import as_points, concat_rows, in_memory, take_rows, to_numpy
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows, sum_rows
from preimage._engine.typing import Array, Rows
from preimage._models.regression import RowDerivatives, importance, rows_to_add
from preimage.estimators._landmark_machine import LabelledRows
from preimage.feature_space import Expansion
from preimage.landmarks import Landmarks

# One of so many landmarks is replaced in a round: parabolas of the loss say what that changes, and hold nearby.
REPLACED = 4
# One of so many rows judges rounds, and of how many rows these are a part at most: 4,000 rows tell losses apart that
# differ by a few per cent, and rounds on 16,000 others take less than the fit to all where there are more.
LEFT_OUT, MOST_JUDGED = 5, 20_000
# Fewer rows say nothing about rounds.
LEAST_JUDGED = 20
REFINED = "refined by the loss"


LossOfValues = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Fitted:
    """Functions on points, and what rows say of them."""

    expansion: Expansion
    intercept: Array
    derivatives: RowDerivatives

    def loss(self, rows: LabelledRows, targets: np.ndarray, value: LossOfValues) -> float:
        """Mean loss of other rows."""
        F = values_of_rows(self.expansion, self.intercept, rows.inputs)
        return float(np.average(np.mean(value(F, targets), axis=1), weights=rows.weights))


# Of rows, landmarks, targets and a penalty; without it, in proportion to the weights of the rows.
Refit = Callable[[LabelledRows, Landmarks, np.ndarray, float], Fitted]
Fit = Callable[[LabelledRows, Landmarks, np.ndarray], Fitted]


def refined(
    rows: LabelledRows,
    targets: np.ndarray,
    landmarks: Landmarks,
    refit: Refit,
    value: LossOfValues,
    alpha: float,
    rounds: int,
    rng: np.random.Generator,
) -> tuple[Landmarks, np.ndarray]:
    """The landmarks after as many rounds as rows left out of them ask for, and the losses of these rows by rounds.

    Parameters
    ----------
    refit : callable
        Fits functions on landmarks to rows and targets with a penalty.
    value : callable
        The loss ℓ(f, y) of values and targets, both (n, k).
    alpha : float
        The penalty for all rows; for some of them it is smaller in proportion to their weights.
    rounds : int
        The most rounds.
    """
    fit: Fit = lambda some, chosen, Y: refit(some, chosen, Y, alpha * _total(some) / _total(rows))
    n = targets.shape[0]
    chosen = rng.permutation(n) if n <= MOST_JUDGED else rng.choice(n, MOST_JUDGED, replace=False)
    judged, others = np.split(chosen, [chosen.size // LEFT_OUT])
    if judged.size < LEAST_JUDGED or rounds == 0:
        return landmarks, np.zeros(0)
    training, test = _part(rows, np.sort(others)), _part(rows, np.sort(judged))
    losses, now = [], landmarks
    with stage("Refining landmarks", 2 * rounds) as advance:
        fitted = fit(training, now, targets[np.sort(others)])
        losses.append(fitted.loss(test, targets[np.sort(judged)], value))
        for _ in range(rounds):
            now, fitted = _round(training, targets[np.sort(others)], now, fitted, fit, rng)
            losses.append(fitted.loss(test, targets[np.sort(judged)], value))
            advance()
        best, now = int(np.argmin(losses)), landmarks
        if best:
            fitted = fit(rows, now, targets)
        for _ in range(best):
            now, fitted = _round(rows, targets, now, fitted, fit, rng)
            advance()
    return now, np.array(losses)


def _round(
    rows: LabelledRows, targets: np.ndarray, landmarks: Landmarks, fitted: Fitted, fit: Fit, rng: np.random.Generator
) -> tuple[Landmarks, Fitted]:
    """More landmarks, as the loss asks for them, and then as many fewer."""
    kernel, m = rows.kernel, len(landmarks)
    new = rows_to_add(kernel, landmarks.points, rows.inputs, fitted.derivatives, max(1, m // REPLACED), rng)
    if not new.size:
        return landmarks, fitted
    points = concat_rows(landmarks.points, _rows_at(rows, new))
    indices = None if landmarks.indices is None else np.append(landmarks.indices, new)
    more = replace(landmarks, points=points, indices=indices, factor=None, residuals_path=None, reason=REFINED)
    wide = fit(rows, more, targets)
    coefficients = to_numpy(wide.expansion.coefficients).astype(np.float64)
    worth = importance(kernel, points, rows.inputs, wide.derivatives, coefficients)
    kept = np.sort(np.argsort(worth)[len(worth) - m :])
    indices = None if indices is None else indices[kept]
    fewer = replace(more, points=take_rows(points, kept), indices=indices)
    return fewer, fit(rows, fewer, targets)


def _total(rows: LabelledRows) -> float:
    return float(rows.y.shape[0] if rows.weights is None else rows.weights.sum())


def measured(landmarks: Landmarks, rows: LabelledRows, frame: Expansion) -> Landmarks:
    """With what they leave of the kernel measured on all rows."""
    inside = sum_rows(
        lambda X: float(np.sum(_double(frame(_points(X, frame))) ** 2)), rows.inputs, device_of=frame.points
    )
    return landmarks.measured(landmarks.trace, inside)


def values_of_rows(expansion: Expansion, intercept: Array, X: Rows) -> np.ndarray:
    """Values (n, k) of functions at the rows of X, in NumPy."""
    found = map_rows(lambda rows: expansion(_points(rows, expansion)) + intercept, X, device_of=expansion.points)
    return _double(in_memory(found))


def _points(rows: Array, functions: Expansion) -> Array:
    return rows if functions.kernel.points_are_row_numbers else as_points(rows)


def _double(values: Array) -> np.ndarray:
    return to_numpy(values).astype(np.float64)


def _part(rows: LabelledRows, numbers: np.ndarray) -> LabelledRows:
    weights = None if rows.weights is None else rows.weights[numbers]
    return LabelledRows(rows.kernel, _rows_at(rows, numbers), rows.y[numbers], weights, rows.numbers[numbers])


def _rows_at(rows: LabelledRows, numbers: np.ndarray) -> Array:
    """Rows in memory, as the kernel takes points."""
    found = take_rows(rows.inputs, numbers)
    return found if rows.kernel.points_are_row_numbers else as_points(found)
