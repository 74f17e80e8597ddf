"""Gross errors of rows: which entries they are, and what stands in their place; measured on rows that are left out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, take_rows, to_dense, to_numpy
from preimage._engine.typing import Array
from preimage._models.completion._energy import SubspaceEnergy
from preimage._models.completion._incomplete_fit import SubspaceFit
from preimage._models.completion._losses import Loss
from preimage._models.completion._repair import Neighborhoods, RobustResult, RobustStart, repair
from preimage._models.components import Wanted
from preimage.descent import Batched, Reason
from preimage.solvers import Auto

# Rows of which more entries than this disagree with what the others say are unusual, not wrong.
MOST_WRONG = 0.5
# Energies are at least this fraction of k(x, x), far below those of rows with noise: their ratios are then finite.
LEAST_ENERGY = 1e-9
# Rows that are left out, by folds, and points that models of the others are fitted to at most. With half as many rows
# the limits of some tables are three times as uncertain; the time grows with their number.
LEFT_OUT, FOLDS, MOST_POINTS = 240, 5, 1000
# Of the left-out rows, every so many-th is taken with noise, and with errors.
EVERY_NOISY, EVERY_WRONG = 3, 2
# With fewer rows nothing can be said about the next one: no entry is distrusted.
FEWEST_ROWS = 20
# Candidates for the scale of the loss, in units of left-out residuals from means of nearest points: small ones find
# blocks of errors, large ones do least harm. With fewer candidates errors are larger by a tenth.
FACTORS = (0.5, 1.0, 2.0)
# Candidates for the residual, in units of left-out ones, from which on an entry of a row with gross errors is one.
THRESHOLDS = (3.0, 4.5, 7.0)
# Units of columns are at least this fraction of the root mean square over all columns: some columns are constant.
LEAST_UNIT = 1.0
# Kinds of rows, numbered: with nothing added, with noise, and with errors of three kinds.
CLEAN, NOISY, INSIDE, OUTSIDE, GROUPED = range(5)
SOUND, WRONG = (CLEAN, NOISY), (INSIDE, OUTSIDE, GROUPED)
# Fractions of entries that are made wrong, scattered and in groups of columns.
SCATTERED, IN_GROUPS = 0.15, 0.25
# Deviation of noise that is added to left-out rows, in units of that of the columns: not a gross error either.
NOISE = 0.3
# The rise of the mean squared error of rows without gross errors that is expected beyond the limit, and allowed on the
# left-out rows. With a fifth of it a third fewer errors of tables and images are removed.
LARGEST_RISE = 0.05
# This fraction of the rows, those with the largest evidence, is taken to be distributed exponentially. The mean of few
# rows says little about the next ones: of this number it counts twice, of half of it five times. Without that, errors
# of clean rows of tables with a hundred rows rose by up to three fifths.
TAIL, SURE = 0.1, 25.0
# Where no clean row would be changed, the harm is that of this fraction of entries replaced just beyond the threshold.
FRACTION_HARMED = 0.1
# A candidate must be better by this fraction of the errors than those before it.
WORTH = 0.002
SEED = 0


@dataclass(frozen=True)
class RepairedRows(Batched):
    """Rows whose gross errors and missing entries are replaced.

    Attributes
    ----------
    rows : array of shape (q, d)
        Entries that are trusted are those that were given.
    outliers : boolean array of shape (q, d)
        The entries that were replaced.
    converged : boolean array of shape (q,), in NumPy
        Whether the descents of rows with replaced entries met their stopping rule.
    reason : array of q members of `Reason`, in NumPy
    """

    rows: Array
    outliers: Array
    converged: np.ndarray
    reason: np.ndarray


@dataclass(frozen=True)
class GrossErrors:
    r"""Which rows have gross errors, and which of their entries these are.

    Rows are repaired with a loss. With a given scale, entries are gross errors that the loss trusts less than a
    residual of three scales. With numbers that were measured (see `measured_errors`), a row has gross errors if its
    repair explains it far better than repairs explain rows without such errors: residuals
    :math:`r_j = |x_j - z_j| / \tau_j` are in units of those that clean rows have, and replacing entries beyond
    `threshold` changes the energy E, the squared distance to the subspace, to E'. The evidence for gross errors is

    .. math:: \tfrac12 \log \tfrac1d \sum_j r_j^2 + \log (E / E').

    Rows that are merely unlike the others have large residuals, but remain as far from the subspace when some of
    their entries are replaced. A row whose evidence is at most `limit` stays as it is.

    Attributes
    ----------
    loss : Loss
    connectivity : array, sparse matrix or None
        With it, squared residuals are means over neighbourhoods.
    scale : float, or NumPy array of shape (d,)
        Of the loss.
    unit : NumPy array of shape (d,), or None for a given scale
        Of residuals (τ).
    threshold, limit : float
    """

    loss: Loss
    connectivity: Any
    scale: float | np.ndarray
    unit: np.ndarray | None = None
    threshold: float = np.inf
    limit: float = np.inf

    def repaired(self, energy: SubspaceEnergy, X: Array, known: Array) -> RepairedRows:
        """Rows X, numbers also where entries are unknown, with gross errors and unknown entries replaced."""
        xp, found = array_namespace(X), self.repairs(energy, X, known)
        outliers, result = found.outliers, found.preimages
        if self.unit is not None:
            suspects = self.suspects(energy, X, known, result.points)
            is_wrong = suspects.is_possible & (suspects.evidence > self.limit)
            outliers = ~known | (suspects.outliers & from_numpy(is_wrong[:, None], X, dtype=xp.bool))
        is_touched = to_numpy(xp.any(outliers, axis=1))
        converged = np.where(is_touched, result.converged, True)
        reason = np.where(is_touched, result.reason, Reason.array(len(converged), Reason.CONVERGED))
        return RepairedRows(xp.where(outliers, result.points, X), outliers, converged, reason)

    def repairs(self, energy: SubspaceEnergy, X: Array, known: Array) -> RobustResult:
        """What the loss makes of rows, whether they have gross errors or not."""
        scale = from_numpy(self.scale, X) if isinstance(self.scale, np.ndarray) else self.scale
        neighborhoods = Neighborhoods.of(self.connectivity, X)
        return repair(energy, X, known, loss=self.loss, scale=scale, neighborhoods=neighborhoods)

    def suspects(self, energy: SubspaceEnergy, X: Array, known: Array, repaired: Array) -> "Suspects":
        """Which entries of rows disagree with their repaired versions, and how much that explains."""
        xp = array_namespace(X)
        residuals = xp.where(known, X - repaired, xp.zeros_like(X)) / from_numpy(self.unit, X)
        squares = Neighborhoods.of(self.connectivity, X).averages(residuals**2)
        outliers = known & (squares > self.threshold**2)
        n_known = np.maximum(to_numpy(xp.sum(xp.astype(known, X.dtype), axis=1)), 1.0)
        count = to_numpy(xp.sum(xp.astype(outliers, X.dtype), axis=1))
        before = xp.where(known, X, repaired)
        gains = _log_energies(energy, before) - _log_energies(energy, xp.where(outliers, repaired, before))
        sizes = np.maximum(to_numpy(xp.sum(residuals**2, axis=1)) / n_known, LEAST_ENERGY)
        return Suspects(outliers, (count > 0) & (count <= MOST_WRONG * n_known), 0.5 * np.log(sizes) + gains)


@dataclass(frozen=True)
class Suspects:
    """Entries of rows that may be gross errors.

    Attributes
    ----------
    outliers : boolean array of shape (q, d)
    is_possible : boolean array of shape (q,), in NumPy
        Whether there are any, and not too many.
    evidence : array of shape (q,), in NumPy
    """

    outliers: Array
    is_possible: np.ndarray
    evidence: np.ndarray


def _log_energies(energy: SubspaceEnergy, Z: Array) -> np.ndarray:
    """Logarithms of energies, none of them smaller than rounding errors are."""
    here = energy.at(Z)
    least = np.maximum(LEAST_ENERGY * to_numpy(energy.kernel.diagonal(Z)), to_numpy(here.noise))
    return np.log(np.maximum(to_numpy(here.value), np.maximum(least, np.finfo(float).tiny)))


def measured_errors(energy: SubspaceEnergy, loss: Loss, connectivity: Any = None) -> GrossErrors:
    r"""`GrossErrors` of the points of a subspace: rows of the training set, or landmarks.

    Some of them are left out and repaired by models of the others: as they are, with noise, and with errors at and
    outside the ends of the range of their column, scattered and in groups of correlated columns. For each candidate of
    scale and threshold the limit is the evidence at which sound rows, whose evidence exceeds its quantile q with
    probability p and by β on average, are expected to become worse by a fraction B:
    :math:`q + \beta \log(p H / B)`, H the largest rise of the error that a repair causes; of few rows β counts more.
    The candidate whose denoised rows have the smallest errors is chosen, or none if all rows are best left alone.

    Parameters
    ----------
    energy : SubspaceEnergy
    loss : Loss
    connectivity : array or sparse matrix of shape (d, d), optional
        See `Neighborhoods`.

    Returns
    -------
    GrossErrors
    """
    points = to_dense(energy.points)
    neighborhoods = Neighborhoods.of(connectivity, points)
    start, d = RobustStart.of(points, neighborhoods), points.shape[1]
    if points.shape[0] < FEWEST_ROWS:
        return GrossErrors(loss, connectivity, np.full(d, start.least), np.ones(d))
    folds = _left_out(energy, points, Neighborhoods.of(connectivity, to_numpy(points)))
    differences = np.concatenate([fold.differences(neighborhoods) for fold in folds])
    scale = np.maximum(_units(differences), start.least)
    return _best(folds, GrossErrors(loss, connectivity, scale, scale), start.least)


@dataclass(frozen=True)
class LeftOut:
    """Rows of the training set, some of them spoiled, with a model of others.

    Attributes
    ----------
    energy : SubspaceEnergy
        Of the model.
    truth, rows : arrays of shape (m, d)
    kinds : integer array of shape (m,), in NumPy
    """

    energy: SubspaceEnergy
    truth: Array
    rows: Array
    kinds: np.ndarray

    def differences(self, neighborhoods: Neighborhoods) -> np.ndarray:
        """Differences of the clean rows from means of the nearest points of the model."""
        rows = take_rows(self.rows, np.flatnonzero(self.kinds == CLEAN))
        start = RobustStart.of(to_dense(self.energy.points), neighborhoods)
        return to_numpy(rows - start.nearest_means(rows))

    def repaired(self, errors: GrossErrors) -> Array:
        """What the loss makes of the rows, whether they have errors or not."""
        return errors.repairs(self.energy, self.rows, self._known).preimages.points

    def denoised_errors(self, rows: Array) -> np.ndarray:
        """Mean squared errors of rows after projection on the model, shape (m,)."""
        space = self.energy.subspace
        found = Auto().for_vectors(self.energy.kernel).inverse(space, space.coordinates(rows), rows).points
        return np.mean(to_numpy(found - self.truth) ** 2, axis=1)

    def outcome(self, errors: GrossErrors, repaired: Array, plain: np.ndarray) -> np.ndarray:
        """Evidence of rows, their errors if repaired, and their errors if not, shape (3, m)."""
        xp = array_namespace(repaired)
        found = errors.suspects(self.energy, self.rows, self._known, repaired)
        changed, results = np.flatnonzero(found.is_possible), plain.copy()
        if changed.size:
            part = replace(self, truth=take_rows(self.truth, changed))
            rows = xp.where(found.outliers, repaired, self.rows)
            results[changed] = part.denoised_errors(take_rows(rows, changed))
        return np.stack([found.evidence, results, plain])

    @property
    def _known(self) -> Array:
        return array_namespace(self.rows).ones_like(self.rows) > 0


def _best(folds: list[LeftOut], nothing: GrossErrors, least_unit: float) -> GrossErrors:
    """The candidate that repairs rows with errors best, of those that hardly change the others."""
    kinds = np.concatenate([fold.kinds for fold in folds])
    plain = [fold.denoised_errors(fold.rows) for fold in folds]
    mean_plain = {kind: _positive(np.mean(np.concatenate(plain)[kinds == kind])) for kind in (*SOUND, *WRONG)}
    best, least = nothing, 1.0
    for factor in FACTORS:
        candidate = replace(nothing, scale=factor * nothing.scale)
        repaired = [fold.repaired(candidate) for fold in folds]
        residuals = np.concatenate([to_numpy(fold.rows - Z) for fold, Z in zip(folds, repaired, strict=True)])
        unit = np.maximum(_units(residuals[kinds == CLEAN]), least_unit)
        for threshold in THRESHOLDS:
            candidate = replace(candidate, unit=unit, threshold=threshold)
            outcomes = (fold.outcome(candidate, Z, p) for fold, Z, p in zip(folds, repaired, plain, strict=True))
            evidence, changed, unchanged = np.concatenate(list(outcomes), axis=1)
            smallest_harm = FRACTION_HARMED * threshold**2 * float(np.mean(unit**2))
            harm = max(max(smallest_harm, np.max((changed - unchanged)[kinds == k])) / mean_plain[k] for k in SOUND)
            limit = _limit(evidence[np.isin(kinds, SOUND)], harm)
            results = np.where(evidence > limit, changed, unchanged)
            ratios = {kind: np.mean(results[kinds == kind]) / mean for kind, mean in mean_plain.items()}
            left = float(np.mean([ratios[kind] for kind in WRONG]))
            if left < least - WORTH and max(ratios[kind] for kind in SOUND) <= 1 + LARGEST_RISE:
                best, least = replace(candidate, limit=limit), left
    return best


def _limit(evidence: np.ndarray, harm: float) -> float:
    """The evidence beyond which a row is rare enough: its probability times `harm` is the expected rise."""
    ordered = np.sort(evidence)
    count = max(3, int(TAIL * ordered.size))
    beginning = ordered[-count - 1]
    mean_excess = float(np.mean(ordered[-count:] - beginning)) * (1 + (SURE / count) ** 2)
    return float(beginning + mean_excess * max(0.0, np.log(_positive(count / ordered.size * harm / LARGEST_RISE))))


def _left_out(energy: SubspaceEnergy, points: Array, neighborhoods: Neighborhoods) -> list[LeftOut]:
    """Folds of left-out rows, as they are, and some of them with noise and with errors."""
    rng, n = np.random.default_rng(SEED), points.shape[0]
    order = rng.permutation(n)[: min(LEFT_OUT, n)]
    fit = SubspaceFit(energy.kernel, _wanted(energy, n), 0.0)
    values = to_numpy(points)
    closeness = _closeness(values, neighborhoods)
    found = []
    for fold in np.array_split(order, min(FOLDS, -(-FOLDS * order.size // n))):
        others = np.setdiff1d(np.arange(n), fold)
        others = others[np.unique(np.linspace(0, others.size - 1, MOST_POINTS).astype(int))]
        truths = clean, noisy, wrong = [values[fold][::every] for every in (1, EVERY_NOISY, EVERY_WRONG)]
        errors = np.resize(WRONG, len(wrong))
        is_wrong = np.where((errors == GROUPED)[:, None], _groups(closeness, rng, len(wrong)), _scattered(wrong, rng))
        spoiled = np.where(is_wrong, _extremes(errors, values, rng), wrong)
        rows = np.concatenate([clean, _with_noise(noisy, values, rng), spoiled])
        kinds = np.concatenate([np.full(len(clean), CLEAN), np.full(len(noisy), NOISY), errors])
        model = fit(take_rows(points, others)).energy
        found.append(LeftOut(model, from_numpy(np.concatenate(truths), points), from_numpy(rows, points), kinds))
    return found


def _wanted(energy: SubspaceEnergy, n: int) -> Wanted:
    """As many components as the subspace has, but fewer than the smallest number of rows that are left to fit to."""
    most = max(1, min(len(energy.subspace), MOST_POINTS - 1, n - -(-n // FOLDS) - 1))
    return Wanted(number=most, about_mean=energy.subspace.origin is not None)


def _with_noise(clean: np.ndarray, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows with Gaussian noise, the same in all columns."""
    return clean + NOISE * np.sqrt(np.mean(np.var(points, axis=0))) * rng.standard_normal(clean.shape)


def _extremes(kinds: np.ndarray, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values at the ends of the ranges of columns, or as far outside as they are wide; at one end in a group."""
    low, high = points.min(axis=0), points.max(axis=0)
    outside = (kinds == OUTSIDE)[:, None] * (high - low)
    is_high = rng.random((len(kinds), len(low))) < 0.5
    is_high = np.where((kinds == GROUPED)[:, None], is_high[:, :1], is_high)
    return np.where(is_high, high + outside, low - outside)


def _scattered(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random(rows.shape) < SCATTERED


def _closeness(points: np.ndarray, neighborhoods: Neighborhoods) -> np.ndarray:
    """How likely two columns are to be wrong together, shape (d, d): in the graph if there is one, or correlated."""
    d = points.shape[1]
    if neighborhoods.matrix is None:
        centered = points - points.mean(axis=0)
        centered /= _positive(np.linalg.norm(centered, axis=0))
        return np.abs(centered.T @ centered)
    weights = np.eye(d)
    for _ in range(int(np.ceil(np.sqrt(IN_GROUPS * d)))):
        weights = neighborhoods.averages(weights)
    return weights


def _groups(closeness: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """Groups of columns, each those that are closest to a random one, shape (count, d)."""
    d = len(closeness)
    chosen = closeness[rng.integers(d, size=count)]
    ranks = np.argsort(np.argsort(-chosen, axis=1, kind="stable"), axis=1)
    return (ranks < max(1, int(IN_GROUPS * d))) & (chosen > 0)


def _units(residuals: np.ndarray) -> np.ndarray:
    """Root mean squares of columns, shape (d,), none of them much smaller than the others."""
    squares = np.mean(residuals**2, axis=0)
    return np.sqrt(squares + LEAST_UNIT**2 * np.mean(squares) + np.finfo(float).tiny)


def _positive(value: Any) -> Any:
    return np.maximum(value, np.finfo(float).tiny)
