"""Linear-programming machines on landmarks: few kernel functions whose coefficients have a small l1 norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import concat_rows, from_numpy, in_double, in_memory, take_rows, to_numpy
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array, Rows
from preimage._models.regression._l1_program import GOOD_GAP, L1Solution, solve_l1_program
from preimage.feature_space import Expansion, Gram, GrowingSpan, require_finite
from preimage.kernels import Kernel

# Rows that join the basis at once, at least and as a fraction of it: programs are solved anew with each batch, and a
# few large batches need fewer solutions, while many small ones end with fewer points that are not used.
FEWEST_JOINING, JOINING_FRACTION = 10, 0.5
# A row is worth a coefficient where |Σγk| exceeds one; by less than this it is rounding.
WORTH = 1e-7


@dataclass(frozen=True)
class L1Machine:
    """Functions of small l1 norm on some of the points that they were offered.

    Attributes
    ----------
    expansion : Expansion of k functions
        Without their intercepts, on the points that some of them use.
    intercept : array of shape (k,)
    used : integer array of shape (s,)
        Positions of these points among those offered: landmarks first, then rows that joined.
    joined : integer array
        Numbers of the rows that joined the landmarks.
    objective : array of shape (k,), in NumPy
    gap : array of shape (k,) or None
        How far, at most, the minimum on all rows is below the objective, relative to it; None where it was not asked
        for.
    converged : bool
        Whether the programs are, and the gap is what it may be, up to what rounding errors leave of programs.
    """

    expansion: Expansion
    intercept: Array
    used: np.ndarray
    joined: np.ndarray
    objective: np.ndarray
    gap: np.ndarray | None
    converged: bool

    @classmethod
    def fit(
        cls,
        kernel: Kernel,
        points: Array,
        X: Rows,
        lower: np.ndarray,
        upper: np.ndarray,
        costs: np.ndarray,
        *,
        intercept: bool,
        max_gap: float | None = None,
    ) -> L1Machine:
        r"""Minimise :math:`\|\alpha\|_1` plus the cost of values outside of [lower, upper], for each function alone.

        Parameters
        ----------
        kernel : Kernel
        points : array of shape (m, d)
            Landmarks.
        X : array, sparse matrix, memory map or Dask array of shape (n, d)
        lower, upper : arrays of shape (n, k)
            Bounds of the values of k functions; infinite where there is none.
        costs : array of shape (n,)
        intercept : bool
            Whether functions have constants, which cost nothing.
        max_gap : float, optional
            While the gap to the minimum on all rows is larger, rows with the largest
            :math:`|\sum_i \gamma_i k(x, x_i)|` join the points.
        """
        K, joined = _values(kernel, points, X), np.zeros(0, dtype=np.intp)
        with stage("Solving linear programs", None) as advance:
            while True:
                columns = [
                    solve_l1_program(K, lower[:, c], upper[:, c], costs, intercept=intercept)
                    for c in range(lower.shape[1])
                ]
                advance()
                gap, more = None, joined[:0]
                if max_gap is not None:
                    gap, strengths = _judged(kernel, X, columns, max_gap)
                    strengths[joined] = 0.0  # rounding errors alone could ask for them again, and again
                    more = _joining(kernel, X, strengths, K.shape[1])
                if not more.size:
                    break
                new = in_memory(take_rows(X, more))
                points, joined = concat_rows(points, new), np.append(joined, more)
                K = np.concatenate([K, _values(kernel, new, X)], axis=1)
        reached = gap is None or max_gap is None or bool(np.all(gap <= max(max_gap, GOOD_GAP)))
        coefficients = np.stack([each.coefficients for each in columns], axis=1)
        used = np.flatnonzero(coefficients.any(axis=1))
        used = used if used.size else np.zeros(1, dtype=np.intp)  # functions that are constant still live on a point
        points = take_rows(points, used)
        on_points = from_numpy(coefficients[used], Gram(kernel, take_rows(points, np.arange(1)), points).dense())
        return cls(
            Expansion(kernel, points, on_points),
            from_numpy(np.array([each.intercept for each in columns]), on_points),
            used,
            joined,
            np.array([each.objective for each in columns]),
            gap,
            all(each.converged for each in columns) and reached,
        )


def _values(kernel: Kernel, points: Array, X: Rows) -> np.ndarray:
    """Kernel values of rows and points, in double precision and in NumPy, shape (n, m)."""
    values = kernel.prepare(_doubled(kernel, points))
    K = to_numpy(in_memory(map_rows(lambda rows: values(_doubled(kernel, rows)), X))).astype(np.float64)
    require_finite(K, kernel)
    return K


def _doubled(kernel: Kernel, rows: Array) -> Array:
    return rows if kernel.points_are_row_numbers else in_double(rows)


def _judged(kernel: Kernel, X: Rows, columns: list[L1Solution], max_gap: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Gaps to the minima on all rows, and how much every row is worth to functions whose gaps are too large.

    Multipliers γ with :math:`|\sum_i \gamma_i k(x, x_i)| \le 1` for all rows x, not for landmarks alone, bound the
    minimum on all rows; others are divided by the largest of these sums.
    """
    multipliers = np.stack([each.multipliers for each in columns], axis=1)
    active = np.flatnonzero(multipliers.any(axis=1))
    sums = np.zeros((X.shape[0], len(columns)))
    if active.size:
        values = kernel.prepare(_doubled(kernel, in_memory(take_rows(X, active))))

        def weighted(rows: Array) -> Array:
            K = values(_doubled(kernel, rows))
            return K @ from_numpy(multipliers[active], K)

        sums = np.abs(to_numpy(in_memory(map_rows(weighted, X))))
    objectives = np.array([each.objective for each in columns])
    bounds = np.array([each.bound for each in columns]) / np.maximum(1.0, sums.max(axis=0))
    gaps = np.maximum(objectives - bounds, 0.0) / np.maximum(objectives, np.finfo(float).tiny)
    return gaps, np.where(gaps > max_gap, sums, 0.0).max(axis=1)


def _joining(kernel: Kernel, X: Rows, strengths: np.ndarray, n_points: int) -> np.ndarray:
    """Numbers of the rows that should join so many points: those that are worth most, and independent."""
    worthy = np.flatnonzero(strengths > 1 + WORTH)
    count = max(FEWEST_JOINING, int(JOINING_FRACTION * n_points))
    # Twice as many are looked at, since neighbours of the best row are nearly as good but depend on it.
    best = worthy[np.argsort(-strengths[worthy], kind="stable")[: 2 * count]]
    if best.size:
        span = GrowingSpan(kernel, in_memory(take_rows(X, best)), capacity=best.size)
        span.add_in_order()
        best = best[span.pivots[:count]]
    return best
