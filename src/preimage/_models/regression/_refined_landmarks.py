"""Which rows would lower an objective most as further landmarks, and which landmarks it would miss least."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular

from preimage._engine.arrays import as_points, take_rows, to_numpy
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage._models.regression._landmark_ridge import nested_frame
from preimage._models.regression._solution import factor
from preimage.feature_space import Expansion, Gram
from preimage.kernels import Kernel

# Candidates for each landmark that is to join, and at least: kernel values with them cost as much as those with the
# landmarks, of which a quarter joins.
CANDIDATES, LEAST_CANDIDATES = 4, 200
# Candidates of which landmarks leave less than this fraction of k(x, x) are no other functions than those there are.
LEAST_LEFT = 1e-6
# Rows per block: blocks of kernel values with all candidates then have some millions of entries.
BLOCK_ROWS = 4096


@dataclass(frozen=True)
class RowDerivatives:
    """The objective near functions, as the rows see it.

    Attributes
    ----------
    multipliers : array of shape (n, k)
        Minus the derivative of the weighted loss of each row by its value.
    stiffness : array of shape (n,)
        The second derivative, on average over functions.
    alpha : float
    """

    multipliers: np.ndarray
    stiffness: np.ndarray
    alpha: float


def rows_to_add(
    kernel: Kernel, points: Array, X: Rows, derivatives: RowDerivatives, count: int, rng: np.random.Generator
) -> np.ndarray:
    r"""Numbers of rows whose functions would lower the objective most, together, next to those of the points.

    Of candidates c, drawn in proportion to the multipliers of their rows, the parts :math:`\tilde k(x, c)` that the
    points leave have the gradient :math:`g_c = \sum_i a_i \tilde k(x_i, c)` and the curvature
    :math:`B = \sum_i d_i \tilde k(x_i, \cdot) \tilde k(x_i, \cdot)^\top + 2\alpha \tilde K`. Rows are taken one after
    another, each the one that lowers the parabola :math:`-g^\top\theta + \theta^\top B \theta/2` most with those
    before: a pivoted Cholesky factorisation of B whose pivot has the largest :math:`g_c^2 / B_{cc}`.
    """
    size_of = np.sum(np.abs(derivatives.multipliers), axis=1)
    size = min(max(CANDIDATES * count, LEAST_CANDIDATES), int(np.count_nonzero(size_of)))
    if size == 0:
        return np.zeros(0, dtype=np.int64)
    numbers = np.sort(rng.choice(size_of.size, size, replace=False, p=size_of / size_of.sum()))
    frame = nested_frame(kernel, points)
    candidates = as_points(take_rows(X, numbers)) if not kernel.points_are_row_numbers else take_rows(X, numbers)
    along = frame(candidates)
    of_block = partial(_gradient_and_curvature, kernel=kernel, candidates=candidates, frame=frame, along=along)
    found = sum_rows(
        of_block, X, derivatives.multipliers, derivatives.stiffness, rows=BLOCK_ROWS, device_of=frame.coefficients
    )
    gradient, curvature = found[:, :-size], found[:, -size:]
    left = _double(Gram(kernel, candidates).dense()) - _double(along @ along.T)
    diagonal = _double(kernel.diagonal(candidates))
    is_open = np.diagonal(left) > LEAST_LEFT * diagonal
    return numbers[_largest_falls(curvature + 2 * derivatives.alpha * left, gradient, is_open, count)]


def importance(
    kernel: Kernel, points: Array, X: Rows, derivatives: RowDerivatives, coefficients: np.ndarray
) -> np.ndarray:
    r"""How much the objective would rise without each point, to second order, the others being adjusted; shape (m,).

    It is :math:`\sum_k \beta_{jk}^2 / [H^{-1}]_{jj}` up to a half, with H the second derivative by coefficients.
    """
    frame = nested_frame(kernel, points)

    def of_block(rows: Array, d: np.ndarray) -> np.ndarray:
        G = _double(frame(as_points(rows) if not kernel.points_are_row_numbers else rows))
        return (G * d[:, None]).T @ G

    S = sum_rows(of_block, X, derivatives.stiffness, rows=BLOCK_ROWS, device_of=frame.coefficients)
    L = factor(S + 2 * derivatives.alpha * np.eye(len(S)))
    inverse = solve_triangular(L, _double(frame.coefficients).T, lower=True, check_finite=False)
    return np.sum(coefficients**2, axis=1) / np.maximum(np.sum(inverse**2, axis=0), np.finfo(float).tiny)


def _gradient_and_curvature(
    rows: Array,
    multipliers: np.ndarray,
    d: np.ndarray,
    *,
    kernel: Kernel,
    candidates: Array,
    frame: Expansion,
    along: Array,
) -> np.ndarray:
    rows = rows if kernel.points_are_row_numbers else as_points(rows)
    R = _double(Gram(kernel, rows, candidates).dense() - frame(rows) @ along.T)
    return np.concatenate([R.T @ multipliers, (R * d[:, None]).T @ R], axis=1)


def _largest_falls(B: np.ndarray, g: np.ndarray, is_open: np.ndarray, count: int) -> np.ndarray:
    """Positions of at most so many candidates, each lowering the parabola most after those before."""
    diagonal, g, is_open = np.diagonal(B).copy(), g.copy(), is_open.copy()
    least = LEAST_LEFT * np.maximum(diagonal, 0.0)
    columns, chosen = np.zeros((count, len(B))), []
    for t in range(count):
        is_open &= diagonal > least
        if not is_open.any():
            break
        falls = np.where(is_open, np.sum(g * g, axis=1) / np.where(is_open, diagonal, 1.0), -1.0)
        j = int(np.argmax(falls))
        columns[t] = (B[j] - columns[:t, j] @ columns[:t]) / np.sqrt(diagonal[j])
        g -= np.outer(columns[t], g[j] / np.sqrt(diagonal[j]))
        diagonal -= columns[t] ** 2
        is_open[j] = False
        chosen.append(j)
    return np.array(chosen, dtype=np.int64)


def _double(values: Array) -> np.ndarray:
    return to_numpy(values).astype(np.float64)
