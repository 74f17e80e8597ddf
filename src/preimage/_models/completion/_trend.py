"""What a normal distribution of the rows says about missing entries: the linear trend of a table."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, from_numpy, take_rows, to_numpy
from preimage._engine.rows import cut, for_blocks
from preimage._engine.typing import Array

# Rounds of the fit to incomplete rows. Errors of filled entries change by a hundredth after three; five times as many
# change them by a thousandth.
TREND_ROUNDS = 3
# Ridge of these rounds, as a fraction of the mean variance of a column: between the two of `RIDGES`.
ROUND_RIDGE = 1e-2
# Rows whose systems of equations are solved together, in one piece of work: a millisecond or more of solving, and a
# thousand rows are eight pieces. With ten times more, threads have nothing to do on tables of usual size; with ten
# times fewer, they wait for the interpreter between calls. The same for mean covariances, whose inverses are slower.
SOLVED_ROWS, INVERTED_ROWS = 128, 32
# Operations, m³ of a row of m missing entries, up to which so many rows and more are in one piece: what calls take is
# longer for tables of few columns.
SOLVED_WORK, INVERTED_WORK = 2e6, 5e5
# Rows from which the mean covariance of missing entries is found, evenly spaced: it is a mean over rows, and inverses
# for all of a thousand rows take longer than everything else. Fewer of long rows, down to the second number: those of m
# missing entries take m³ operations, of which there are at most the third number.
COVARIANCE_ROWS, FEWEST_COVARIANCE_ROWS, COVARIANCE_WORK = 250, 50, 2e8


@dataclass(frozen=True)
class Trend:
    """Mean and covariance of rows.

    Attributes
    ----------
    mean : array of shape (d,)
    covariance : array of shape (d, d)
    """

    mean: Array
    covariance: Array

    @classmethod
    def of(cls, rows: Array, extra: Array | None = None) -> "Trend":
        """Of complete rows; `extra` is added to the covariance."""
        xp = array_namespace(rows)
        mean = xp.mean(rows, axis=0)
        centered = rows - mean
        covariance = centered.T @ centered / rows.shape[0]
        return cls(mean, covariance if extra is None else covariance + extra)

    def precision(self, ridge: float) -> "Precision":
        """The inverse of the covariance, to whose diagonal a fraction of the mean variance of a column is added."""
        xp, d = array_namespace(self.covariance), self.mean.shape[0]
        variance = float(xp.sum(xp.linalg.diagonal(self.covariance))) / d
        unit = xp.eye(d, dtype=self.mean.dtype, **device_kwargs(self.mean))
        shrunk = self.covariance + ridge * (variance if variance > 0 else 1.0) * unit
        return Precision(self.mean, xp.linalg.inv(shrunk))


@dataclass(frozen=True)
class Precision:
    """The mean μ of a trend and the inverse Q of its covariance, by which missing entries are found."""

    mean: Array
    matrix: Array

    def solved(self, gaps: "Gaps", vectors: list[Array]) -> list[Array]:
        """:math:`Q_{mm}^{-1} [Qv]_m` over the missing entries m of each row of v, zero elsewhere; shapes (q, d)."""
        xp = array_namespace(self.matrix)
        sides = xp.stack([gaps.take(each @ self.matrix) for each in vectors], axis=2)
        found = xp.linalg.solve(gaps.blocks_of(self.matrix), sides)
        return [gaps.put(found[:, :, number]) for number in range(len(vectors))]


@dataclass(frozen=True)
class Gaps:
    """Where entries of rows are missing, with the missing ones first.

    Attributes
    ----------
    places : integer array of shape (q, m), in NumPy
        Columns of the missing entries of each row, and of others up to the number of the row that misses most.
    is_missing : boolean array of shape (q, m), in NumPy
    observed : array of shape (q, d)
        One where an entry is known, zero where it is missing.
    """

    places: np.ndarray
    is_missing: np.ndarray
    observed: Array

    @classmethod
    def of(cls, observed: Array, like: Array) -> "Gaps":
        """Of a boolean array, for numbers like `like`."""
        host = to_numpy(observed)
        most = int((~host).sum(axis=1).max(initial=0))
        places = np.argsort(host, axis=1, kind="stable")[:, :most]
        xp = array_namespace(like)
        return cls(places, ~np.take_along_axis(host, places, axis=1), xp.astype(observed, like.dtype))

    def take(self, values: Array) -> Array:
        """Values of shape (q, d) at the missing entries, zero elsewhere; shape (q, m)."""
        return _flat(values, self._numbers, self.places.shape) * self._open(values)

    def put(self, found: Array) -> Array:
        """The opposite of `take`: zero where entries are known, shape (q, d)."""
        xp = array_namespace(found)
        zero = xp.zeros((1,), dtype=found.dtype, **device_kwargs(found))
        return _flat(xp.concat([xp.reshape(found, (-1,)), zero]), *self._back) * (1 - self.observed)

    def blocks_of(self, matrix: Array) -> Array:
        """The parts of a (d, d) matrix between missing entries, ones on the diagonal elsewhere; shape (q, m, m)."""
        xp, d, (q, m) = array_namespace(matrix), matrix.shape[0], self.places.shape
        wider = xp.zeros((d + 1, d + 1), dtype=matrix.dtype, **device_kwargs(matrix))
        wider[:d, :d] = matrix
        parts, others = _flat(wider, self.pairs, (q, m, m)), 1 - self._open(matrix)
        if isinstance(parts, np.ndarray):
            np.einsum("qii->qi", parts)[...] += others
            return parts
        return parts + xp.eye(m, dtype=matrix.dtype, **device_kwargs(matrix)) * others[:, None, :]

    @cached_property
    def pairs(self) -> np.ndarray:
        """Numbers of all pairs of missing entries of each row in a matrix of shape (d + 1, d + 1), whose last row and
        column stand for entries that are known."""
        d = self.observed.shape[1]
        places = np.where(self.is_missing, self.places, d)
        return (places[:, :, None] * (d + 1) + places[:, None, :]).ravel()

    @cached_property
    def _numbers(self) -> np.ndarray:
        """Numbers of the places in an array of shape (q, d)."""
        q, d = self.observed.shape
        return (np.arange(q)[:, None] * d + self.places).ravel()

    @cached_property
    def _back(self) -> tuple[np.ndarray, tuple[int, int]]:
        """For each entry of all rows the number of its place, and the shape of the rows."""
        q, d = self.observed.shape
        back = np.full(q * d, self.places.size)
        back[self._numbers] = np.arange(self.places.size)
        return back, (q, d)

    def _open(self, like: Array) -> Array:
        return from_numpy(self.is_missing, like, dtype=like.dtype)


def fit_trend(values: Array, observed: Array, start: Array, n_rounds: int = TREND_ROUNDS) -> Trend:
    r"""The most likely mean and covariance of rows with missing entries, by some rounds of the EM algorithm.

    With the precision Q a round fills :math:`z_m = \mu_m - Q_{mm}^{-1} [Q(x - \mu)]_m`, where missing entries of
    :math:`x - \mu` are zero, and adds the mean of the covariances :math:`Q_{mm}^{-1}` of missing entries to that of the
    filled rows: without it, filled entries make columns look more certain than they are.

    Parameters
    ----------
    values : array of shape (n, d)
        Missing entries are not read.
    observed : boolean array of shape (n, d)
    start : array of shape (n, d)
        Filled rows.
    n_rounds : int, default=3

    Returns
    -------
    Trend
    """
    xp = array_namespace(values)
    incomplete = np.flatnonzero(~to_numpy(xp.all(observed, axis=1)))
    if not incomplete.size:
        return Trend.of(start)
    n = values.shape[0]
    open_rows, known = take_rows(values, incomplete), take_rows(observed, incomplete)
    complete = take_rows(start, np.setdiff1d(np.arange(n), incomplete))
    filled = take_rows(start, incomplete)
    judged = _judged_rows(~to_numpy(known))
    # What few rows say of all: per column, by the numbers of entries that are missing.
    missing = (~to_numpy(known)).astype(float)
    counts = missing.sum(axis=0) / n / np.maximum(missing[judged].mean(axis=0), 1 / n)
    shares = from_numpy(np.sqrt(np.outer(counts, counts)), values, dtype=values.dtype)
    trend = Trend.of(start)
    # What is missing stays the same in all rounds.
    solved = _gaps_of(known, values, SOLVED_ROWS, SOLVED_WORK)
    inverted = [gaps for _, gaps in _gaps_of(take_rows(known, judged), values, INVERTED_ROWS, INVERTED_WORK)]
    for _ in range(n_rounds):
        precision = trend.precision(ROUND_RIDGE)
        filled = xp.where(known, open_rows, conditional_means(precision, filled, known, solved))
        extra = _mean_covariance(precision.matrix, inverted) * shares
        trend = Trend.of(xp.concat([complete, filled]), extra)
    return trend


def _judged_rows(missing: np.ndarray) -> np.ndarray:
    """Numbers of the rows from which the mean covariance is found."""
    work = max(1, int(missing.sum(axis=1).max())) ** 3
    count = int(np.clip(COVARIANCE_WORK / work, FEWEST_COVARIANCE_ROWS, COVARIANCE_ROWS))
    return np.unique(np.linspace(0, missing.shape[0] - 1, count).astype(int))


def _gaps_of(observed: Array, like: Array, fewest: int, work: float) -> list[tuple[slice, Gaps]]:
    """Gaps of rows that are worked on together, so many rows at least, and the numbers of these rows."""
    most = int((~to_numpy(observed)).sum(axis=1).max(initial=1))
    return [
        (block, Gaps.of(observed[block, :], like))
        for block in cut(observed.shape[0], max(fewest, int(work / max(1, most) ** 3)))
    ]


def conditional_means(
    precision: Precision, rows: Array, observed: Array, gaps: list[tuple[slice, Gaps]] | None = None
) -> Array:
    """Means of all entries given those that are observed; of known entries, that of the column. Shape (q, d)."""
    xp = array_namespace(rows)
    gaps = _gaps_of(observed, rows, SOLVED_ROWS, SOLVED_WORK) if gaps is None else gaps
    centered = xp.where(observed, rows - precision.mean, xp.zeros_like(rows))
    means = lambda each: precision.mean - precision.solved(each[1], [centered[each[0], :]])[0]
    return xp.concat(for_blocks(means, gaps, rows), axis=0)


def _mean_covariance(precision: Array, gaps: list[Gaps]) -> Array:
    """The mean over rows of the covariance of the missing entries, zero for known ones, shape (d, d)."""
    xp, d = array_namespace(precision), precision.shape[0]

    def sum_of(some: Gaps) -> np.ndarray:
        found = to_numpy(xp.linalg.inv(some.blocks_of(precision))).ravel()
        return np.bincount(some.pairs, weights=found.astype(float, copy=False), minlength=(d + 1) ** 2)

    total = sum(for_blocks(sum_of, gaps, precision)) / sum(some.observed.shape[0] for some in gaps)
    return from_numpy(total.reshape(d + 1, d + 1)[:d, :d], precision, dtype=precision.dtype)


def _flat(values: Array, numbers: np.ndarray, shape: tuple[int, ...]) -> Array:
    """Entries with the given numbers, counted through all rows, in a new shape."""
    xp = array_namespace(values)
    flat = xp.reshape(values, (-1,))
    return xp.reshape(take_rows(flat, numbers), shape)
