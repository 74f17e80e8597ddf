"""The rows that a selection looks at: all of them, or a sample and further rows that judge it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import as_points, concat_rows, in_memory, is_lazy, is_sparse, take_rows, to_numpy
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import GrowingSpan, require_finite
from preimage.kernels import Kernel


def sampling_deviation(n_rows: int, n_sampled: int, spread: float, confidence: float = 0.95) -> float:
    r"""How much the mean of n numbers may exceed the mean of a random sample of them, without replacement.

    .. math:: \varepsilon = b \sqrt{\Bigl(1 - \frac{n' - 1}{n}\Bigr) \frac{\ln(1/\delta)}{2 n'}}

    for n′ sampled of n numbers within a range b, exceeded with probability at most δ = 1 − confidence (G12). This is
    Serfling's inequality; Hoeffding's form (G11) of the paper on sparse greedy approximation holds for independent
    draws, not for a sample of fixed numbers.
    """
    if n_sampled == n_rows:
        return 0.0  # the mean of all rows is exact; the inequality would give a positive number
    remaining = 1 - (n_sampled - 1) / n_rows
    return spread * math.sqrt(remaining * math.log(1 / (1 - confidence)) / (2 * n_sampled))


# Unseen rows on which a selection from a sample is judged: residuals vary about as much as their mean, so the mean of
# 2,000 has a standard error of some two per cent. Ten times more would cost more than the selection.
JUDGES = 2000
# Rows per block when only the diagonal of the kernel is summed: so little work per row that small blocks would be
# mostly overhead.
DIAGONAL_ROWS = 2**16


@dataclass(frozen=True)
class View:
    """Rows of data, candidates first, and what each stands for in sums over all data.

    Attributes
    ----------
    rows : array of shape (s + c, d)
        The s candidates, then c rows that only judge the residual of rows that are not here.
    numbers : integer array of shape (s + c,)
        Row numbers in the data.
    n_candidates : int
    weights : array of shape (s + c,)
        One for candidates; judges divide the number of rows that are no candidates evenly.
    trace, largest : float
        Sum and largest of k(x, x) over all data.
    judged : bool
        Whether the residual trace is wanted.
    """

    rows: Array
    numbers: np.ndarray
    n_candidates: int
    weights: np.ndarray
    trace: float
    largest: float
    judged: bool = True

    @classmethod
    def of(cls, kernel: Kernel, X: Array, size: int | None, rng: np.random.Generator, judged: bool = True) -> View:
        """All rows of X when there are at most `size` (or it is None), else a sample of them.

        Without judges, candidates represent all rows, and the estimate of what is left is too small.
        """
        n = X.shape[0]
        trace, largest = _diagonal_sums(kernel, X)
        if size is None or n <= size:
            rows = in_memory(X)
            return cls(_points(rows, kernel), np.arange(n), n, np.ones(n), trace, largest, judged)
        n_judges = min(JUDGES, n - size) if judged else 0
        numbers = rng.choice(n, size + n_judges, replace=False)  # not a permutation: n may be larger than memory
        weights = np.full(size, n / size)
        if judged:
            weights = np.concatenate([np.ones(size), np.full(n_judges, (n - size) / n_judges)])
        return cls(_points(take_rows(X, numbers), kernel), numbers, size, weights, trace, largest, judged)

    @property
    def n_rows(self) -> int:
        """Number of rows of the data that the rows here represent."""
        return round(float(self.weights.sum()))

    @property
    def is_complete(self) -> bool:
        """Whether all rows of the data are here."""
        return bool(np.all(self.weights == 1))

    def with_candidates(self, points: Array) -> View:
        """New candidates, which are no rows of the data, with the same rows as judges, or alone if not judged."""
        m = points.shape[0]
        if not self.judged:
            return replace(self, rows=points, numbers=np.full(m, -1), n_candidates=m, weights=np.zeros(m))
        rows = concat_rows(points, self.rows)
        numbers, weights = np.append(np.full(m, -1), self.numbers), np.append(np.zeros(m), self.weights)
        return replace(self, rows=rows, numbers=numbers, n_candidates=m, weights=weights)

    def span(self, kernel: Kernel, capacity: int, start: GrowingSpan | None = None) -> GrowingSpan:
        """A span that grows by candidates of this view."""
        return GrowingSpan(
            kernel,
            self.rows,
            start=start,
            weights=self.weights,
            n_candidates=self.n_candidates,
            capacity=capacity,
        )

    def uncertainty(self, residuals: np.ndarray) -> tuple[float, float]:
        """Standard error of the sum of all residuals, and how far it may lie above the estimate at 95 %."""
        heavy = self.weights > 1
        if not heavy.any():
            return 0.0, 0.0
        judged, represented = residuals[heavy], self.weights[heavy].sum()
        unseen = 1 - judged.size / represented  # a sample of all rows has no error
        error = represented * float(np.std(judged)) * np.sqrt(unseen / judged.size)
        deviation = sampling_deviation(round(represented), judged.size, self.largest)
        return float(error), float(represented * deviation)


def stored_points(kernel: Kernel, X: Rows) -> Array:
    """Rows of X as the kernel keeps them: floating, or row numbers for precomputed values."""
    if is_sparse(X):
        return kernel.inputs(as_points(X.tocsr()))
    X = X if is_lazy(X) or (kernel.points_are_row_numbers and hasattr(X, "dtype")) else as_points(X)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(
            f"Landmarks are chosen among the rows of a 2D array with at least one row; got shape {tuple(X.shape)}. "
            "Reshape a single feature with `X.reshape(-1, 1)`."
        )
    return kernel.inputs(X)


def _points(rows: Array, kernel: Kernel) -> Array:
    """Floating rows, checked; the row numbers of a precomputed kernel stay what they are."""
    if kernel.points_are_row_numbers:
        return rows
    rows = as_points(rows)
    if isinstance(rows, np.ndarray) and not np.all(np.isfinite(rows)):
        raise ValueError(
            "Rows among which landmarks are chosen, those of X or transformed copies of them, have entries that are "
            "NaN or infinite. Impute or drop such rows, or scale the data."
        )
    return rows


def _diagonal_sums(kernel: Kernel, X: Array) -> tuple[float, float]:
    """Sum and largest of k(x, x); radial kernels know them without a pass over the data."""
    if kernel.is_radial:
        value = float(to_numpy(kernel.diagonal(np.zeros((1, 1))))[0])
        sums = _DiagonalSums(X.shape[0] * value, value, value)
    else:
        sums = sum_rows(lambda rows: _DiagonalSums.of(kernel, _points(rows, kernel)), X, rows=DIAGONAL_ROWS)
    require_finite(np.asarray([sums.total]), kernel)
    if sums.smallest < 0:
        raise UnsupportedKernelError(
            f"Landmarks need a positive semidefinite kernel; {kernel!r} has k(x, x) = {sums.smallest:.3g} < 0. "
            "Use a positive semidefinite kernel, or exact kernel PCA, which takes indefinite ones."
        )
    return sums.total, sums.largest


@dataclass(frozen=True)
class _DiagonalSums:
    """Sum, largest and smallest of some values of k(x, x)."""

    total: float
    largest: float
    smallest: float

    @classmethod
    def of(cls, kernel: Kernel, rows: Array) -> _DiagonalSums:
        diagonal = kernel.diagonal(rows)
        require_finite(diagonal, kernel)
        diagonal = to_numpy(diagonal).astype(np.float64)
        return cls(float(diagonal.sum()), float(diagonal.max()), float(diagonal.min()))

    def __add__(self, other: _DiagonalSums) -> _DiagonalSums:
        return _DiagonalSums(
            self.total + other.total, max(self.largest, other.largest), min(self.smallest, other.smallest)
        )
