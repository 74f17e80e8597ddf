"""How far entries of rows without gross errors are from what the others say: measured on rows left out of the model."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np

from preimage._arrays import array_namespace, concat_rows, from_numpy, take_rows, to_dense, to_numpy
from preimage._typing import Array
from preimage.completion._energy import SubspaceEnergy
from preimage.completion._gross_errors import Measure, MeasuredErrors, beyond, row_sizes
from preimage.completion._losses import Loss, as_loss
from preimage.completion._model import SubspaceFit
from preimage.completion._neighborhoods import Neighborhoods
from preimage.completion._robust import repair
from preimage.completion._robust_start import RobustStart
from preimage.components import Wanted

# Rows that are left out, by folds, and points that models of the others are fitted to at most. The largest residual of
# few rows says little about that of the next one; the time to measure grows with their number.
LEFT_OUT, FOLDS, MOST_POINTS = 120, 5, 1000
# With fewer rows nothing can be said about the largest residual of the next one: no entry is distrusted.
FEWEST_ROWS = 20
# Candidates for the scale of the loss, in units of left-out residuals from means of nearest points, by factors of two.
# With a half, a tenth of the entries of clean digits is distrusted; with four, hardly any entry of a wrong one.
FACTORS = tuple(0.25 * 2.0**power for power in range(6))
# Candidates for the residual, in units of left-out ones, from which on an entry of a row with gross errors is one.
THRESHOLDS = (2.0, 3.0, 4.5, 7.0, 10.0)
# Candidates for the residual that an entry counts with at most when a row is judged.
CEILINGS = (4.0, 16.0, np.inf)
# Units of columns are at least this fraction of the root mean square over all columns: some columns are constant.
LEAST_UNIT = 1.0
# Rows of fewer residuals than those left out are expected to reach further: by the same factor in logarithms as from
# this quantile of the left-out rows to the largest one, times the power. With the power 0.2 noisy rows of a table had
# errors larger by two fifths than without a loss.
BULK_OF_ROWS, REACH = 0.9, 0.5
# Fraction of entries that are made wrong in left-out rows, to choose among candidates.
WRONG_FRACTION = 0.15
# Deviation of noise that is added to left-out rows, in units of that of the columns: not a gross error either.
NOISE = 0.3
# A candidate with a larger scale must be better by this fraction of the errors to be chosen.
WORTH = 0.005
# Quantile, among rows that were made wrong, of the median residual: rows beyond it are noisy in all entries.
NOISY_ROWS = 0.95
SEED = 0


def measured_errors(energy: SubspaceEnergy, loss: str | Loss, connectivity: Any = None) -> MeasuredErrors:
    """`MeasuredErrors` of the points of a subspace: rows of the training set, or landmarks.

    Parameters
    ----------
    energy : SubspaceEnergy
    loss : {"huber", "l1", "cauchy", "tukey"} or Loss
    connectivity : array or sparse matrix of shape (d, d), optional
        See `Neighborhoods`.

    Returns
    -------
    MeasuredErrors
    """
    left_out = LeftOutRows.of(energy, as_loss(loss), connectivity)
    return left_out.best() if left_out.clean.shape[0] > 1 else left_out.nothing()


@dataclass(frozen=True)
class LeftOutRows:
    """Rows of the training set with models of the others: as they are, with noise, and with entries made wrong.

    Attributes
    ----------
    loss : Loss
    connectivity : array, sparse matrix or None
    energies : list of SubspaceEnergy
        One per fold.
    parts : list of integer arrays
        Which of the rows belong to each fold.
    clean, noisy, wrong : arrays of shape (m, d)
    scale : NumPy array of shape (d,)
        Root mean squares of differences from means of the nearest points.
    """

    loss: Loss
    connectivity: Any
    energies: list[SubspaceEnergy]
    parts: list[np.ndarray]
    clean: Array
    noisy: Array
    wrong: Array
    scale: np.ndarray

    @classmethod
    def of(cls, energy: SubspaceEnergy, loss: Loss, connectivity: Any) -> "LeftOutRows":
        points, rng = to_dense(energy.points), np.random.default_rng(SEED)
        n = points.shape[0]
        order = rng.permutation(n)[: min(LEFT_OUT, n)] if n >= FEWEST_ROWS else np.arange(0)
        n_folds = min(FOLDS, -(-FOLDS * order.size // n))
        folds = np.array_split(order, n_folds) if n_folds else []
        fit = SubspaceFit(energy.kernel, _wanted(energy, n), 0.0)
        energies, differences = [], [np.zeros((0, points.shape[1]))]
        neighborhoods = Neighborhoods.of(connectivity, points)
        for fold in folds:
            others = np.setdiff1d(np.arange(n), fold)
            others = others[np.unique(np.linspace(0, others.size - 1, MOST_POINTS).astype(int))]
            rest, rows = take_rows(points, others), take_rows(points, fold)
            energies.append(fit(rest).energy)
            means = RobustStart.of(rest, neighborhoods).nearest_means(rows, array_namespace(rows).ones_like(rows))
            differences.append(to_numpy(rows - means))
        clean = take_rows(points, order)
        start = RobustStart.of(points, neighborhoods)
        scale = np.maximum(_units(np.concatenate(differences)), start.least)
        ends = np.cumsum([0, *(fold.size for fold in folds)])
        parts = [np.arange(first, last) for first, last in pairwise(ends)]
        noisy, wrong = _with_noise(clean, points, rng), _with_errors(clean, points, rng)
        return cls(loss, connectivity, energies, parts, clean, noisy, wrong, scale)

    def nothing(self) -> MeasuredErrors:
        """What is known of too few rows: no row has gross errors."""
        measure = Measure(self.scale, np.ones_like(self.scale))
        return MeasuredErrors(self.loss, self.connectivity, measure, measure, np.inf, np.inf, np.inf, np.inf)

    def best(self) -> MeasuredErrors:
        """The candidate that repairs the rows with errors best, of those that leave all left-out rows as they are."""
        best, least = self.nothing(), np.inf
        clean, wrong = to_numpy(self.clean), to_numpy(self.wrong)
        before = np.maximum(_of_both_kinds((wrong - clean) ** 2), np.finfo(float).tiny)
        for number, ceiling in product(range(1, len(FACTORS)), CEILINGS):
            candidate = self._judging_rows(number, ceiling)
            has_errors = row_sizes(self._residuals[number] / candidate.rows.unit, ceiling) > candidate.limit
            for other, threshold in product((number - 1, number), THRESHOLDS):
                entries = self._measure(other)
                is_wrong = beyond(threshold, self._residuals[other] / entries.unit, self._neighborhoods, self.clean)
                rows = np.where(has_errors[:, None] & is_wrong, self._repaired[other], wrong)
                left = float(np.mean(_of_both_kinds((rows - clean) ** 2) / before))
                if left < least - WORTH:
                    best, least = replace(candidate, entries=entries, threshold=threshold), left
        return best

    def _judging_rows(self, number: int, ceiling: float) -> MeasuredErrors:
        """The candidate with a scale, and with the limit that rows have under half of it."""
        residuals = self._clean_residuals[number - 1]
        unit = _units(residuals)
        # The unit without a row's own residuals: with them, no residual exceeds the square root of the number of rows.
        others = (np.sum(residuals**2, axis=0) - residuals**2) / (len(residuals) - 1)
        sizes = row_sizes(residuals / _at_least(np.sqrt(np.maximum(others, 0.0))), ceiling)
        medians = np.median(self._residuals[number] / unit, axis=1)
        typical = max(float(np.quantile(medians, NOISY_ROWS)), np.finfo(float).tiny)
        with_noise = self._noisy_residuals[number - 1] / unit
        factors = np.maximum(1.0, np.median(with_noise, axis=1, keepdims=True) / typical)
        sizes = np.concatenate([sizes, row_sizes(with_noise / factors, ceiling)])
        largest, bulk = float(sizes.max()), float(np.quantile(sizes, BULK_OF_ROWS))
        limit = largest * (largest / max(bulk, np.finfo(float).tiny)) ** REACH
        measure = Measure(FACTORS[number] * self.scale, unit)
        return MeasuredErrors(self.loss, self.connectivity, measure, measure, ceiling, limit, np.inf, typical)

    def _measure(self, number: int) -> Measure:
        known = min(number, len(self._clean_residuals) - 1)
        return Measure(FACTORS[number] * self.scale, _units(self._clean_residuals[known]))

    @cached_property
    def _neighborhoods(self) -> Neighborhoods:
        return Neighborhoods.of(self.connectivity, self.clean)

    @cached_property
    def _clean_residuals(self) -> list[np.ndarray]:
        clean = to_numpy(self.clean)
        return [np.abs(clean - self._repair(self.clean, factor)) for factor in FACTORS[:-1]]

    @cached_property
    def _noisy_residuals(self) -> list[np.ndarray]:
        noisy = to_numpy(self.noisy)
        return [np.abs(noisy - self._repair(self.noisy, factor)) for factor in FACTORS[:-1]]

    @cached_property
    def _repaired(self) -> list[np.ndarray]:
        return [self._repair(self.wrong, factor) for factor in FACTORS]

    @cached_property
    def _residuals(self) -> list[np.ndarray]:
        wrong = to_numpy(self.wrong)
        return [np.abs(wrong - values) for values in self._repaired]

    def _repair(self, X: Array, factor: float) -> np.ndarray:
        """Rows near the models of the other folds, in NumPy."""
        options = {"loss": self.loss, "connectivity": self.connectivity, "scale": from_numpy(factor * self.scale, X)}
        found = []
        for energy, part in zip(self.energies, self.parts, strict=True):
            rows = take_rows(X, part)
            known = array_namespace(rows).ones_like(rows) > 0
            found.append(repair(energy, rows, known, **options).preimages.points)
        return to_numpy(concat_rows(*found))


def _wanted(energy: SubspaceEnergy, n: int) -> Wanted:
    """As many components as the subspace has, but fewer than the smallest number of rows that are left to fit to."""
    most = max(1, min(len(energy.subspace), MOST_POINTS - 1, n - -(-n // FOLDS) - 1))
    return Wanted(number=most, about_mean=energy.subspace.origin is not None)


def _with_noise(clean: Array, points: Array, rng: np.random.Generator) -> Array:
    """Rows with Gaussian noise, the same in all columns."""
    deviation = NOISE * float(np.sqrt(np.mean(np.var(to_numpy(points), axis=0))))
    return clean + from_numpy(deviation * rng.standard_normal(clean.shape), clean)


def _with_errors(clean: Array, points: Array, rng: np.random.Generator) -> Array:
    """Rows of which some entries are at the ends of the range of their column; in every second row, outside of it."""
    values, everything = to_numpy(clean), to_numpy(points)
    low, high = everything.min(axis=0), everything.max(axis=0)
    is_wrong = rng.random(values.shape) < WRONG_FRACTION
    outside = (np.arange(len(values)) % 2)[:, None] * (high - low)
    ends = np.where(rng.random(values.shape) < 0.5, low - outside, high + outside)
    return from_numpy(np.where(is_wrong, ends, values), clean)


def _of_both_kinds(squares: np.ndarray) -> np.ndarray:
    """Sums over rows with errors inside and outside of the range, shape (2,)."""
    return np.array([np.sum(squares[::2]), np.sum(squares[1::2])])


def _units(residuals: np.ndarray) -> np.ndarray:
    """Root mean squares of columns, shape (d,), none of them much smaller than the others."""
    return (
        _at_least(np.sqrt(np.mean(np.atleast_2d(residuals) ** 2, axis=0))) if len(residuals) else residuals.sum(axis=0)
    )


def _at_least(sizes: np.ndarray) -> np.ndarray:
    floor = LEAST_UNIT**2 * np.mean(sizes**2, axis=-1, keepdims=True)
    return np.sqrt(sizes**2 + floor + np.finfo(float).tiny)
