"""Draws of missing entries: how certain a filling is, and several fillings that differ as much as they may."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    epsilon,
    from_numpy,
    itemsize,
    take_rows,
    to_dense,
    to_numpy,
    with_rows,
)
from preimage._engine.linalg import eigh
from preimage._engine.memory import work_memory
from preimage._engine.rows import cut
from preimage._engine.typing import Array
from preimage._models.completion._energy import SubspaceEnergy
from preimage._models.completion._fill import fill
from preimage._models.completion._hiding import hidden_entries
from preimage._models.completion._model import SubspaceFit
from preimage._models.completion._start import complete_rows, neighbor_start
from preimage.descent import Box, Objective

# Arrays of shape (rows, d, d) that are alive at once while second derivatives are found and decomposed.
SQUARE_ARRAYS = 6
# The temperature is sought between these multiples of the median curvature, of which data with any structure are far
# inside, and the interval is halved so often that a per cent remains.
TEMPERATURE_RANGE, BISECTIONS = 1e9, 12
# Intervals of the first probability contain that fraction of hidden entries: the level at which intervals are mostly
# read. Making the mean of squared errors agree instead would make most intervals too wide, because a few errors are
# large. Where entries may be at several places no interval around one of them contains so many, and the widest would be
# chosen: the second probability then decides. With each, the quantile of the normal distribution.
LEVELS = ((0.9, 1.6449), (0.5, 0.6745))
# Folds for the temperature, and rows judged in all of them: their thousands of entries give it to some per cent.
FOLDS, JUDGED_ROWS = 5, 200


@dataclass(frozen=True)
class Posterior:
    r"""Normal approximations of :math:`p(z) \propto e^{-E(z)/2T}` over the missing entries of rows, at minima of E.

    With H the second derivatives of E over the missing entries, the covariance is :math:`2T H^{-1}`. For linear kernels
    and T the variance σ² of the noise it is the covariance of the missing entries given the known ones under
    probabilistic PCA, exactly. Along no axis of H the variance is larger than that of the training rows: a known entry
    does not make others less certain.

    Attributes
    ----------
    modes : array of shape (q, d)
    free : array of shape (q, d)
        One where an entry is missing, zero where it is known.
    axes : array of shape (q, d, d)
        Orthonormal eigenvectors of H, in columns, in units of the deviations of the training columns.
    curvatures, limits : arrays of shape (q, d)
        Eigenvalues of H, and the variances of training rows along the axes, in the same units.
    deviations : array of shape (d,)
        Of the training columns.
    """

    modes: Array
    free: Array
    axes: Array
    curvatures: Array
    limits: Array
    deviations: Array

    @classmethod
    def of(cls, energy: SubspaceEnergy, modes: Array, observed: Array) -> "Posterior":
        """Of rows whose energies are least at `modes`."""
        xp = array_namespace(modes)
        free = xp.astype(~observed, modes.dtype)
        points = to_dense(energy.points)
        deviations = xp.std(points, axis=0)
        deviations = xp.where(deviations > 0, deviations, xp.ones_like(deviations))
        scaled = (points - xp.mean(points, axis=0)) / deviations
        covariance = scaled.T @ scaled / points.shape[0]
        H = second_derivatives(energy, modes, free, deviations)
        H = (H + xp.matrix_transpose(H)) / 2
        # Known entries get curvatures larger than all others, so that no axis mixes them with missing ones.
        largest = 1 + 2 * xp.max(xp.sum(xp.abs(H), axis=2), axis=1)
        H = H + xp.eye(H.shape[1], dtype=H.dtype) * ((1 - free) * largest[:, None])[:, None, :]
        curvatures, axes = eigh(H)
        # Along sums of indicators, which are constant, rounding errors of the variance may be negative.
        limits = xp.clip(xp.sum(axes * (covariance @ axes), axis=1), min=0.0)
        return cls(modes, free, axes, curvatures, limits, deviations)

    def spreads(self, temperature: float) -> Array:
        """Standard deviations along the axes, in units of the deviations of the training columns, shape (q, d)."""
        xp = array_namespace(self.modes)
        rising = self.curvatures > 0
        inverse = 2 * temperature / xp.where(rising, self.curvatures, xp.ones_like(self.curvatures))
        return xp.sqrt(xp.where(rising & (inverse < self.limits), inverse, self.limits))

    def variances(self, temperature: float) -> Array:
        """Variances of the entries, zero for those that are known, shape (q, d)."""
        xp = array_namespace(self.modes)
        weighted = self.axes * self.spreads(temperature)[:, None, :]
        return xp.sum(weighted * weighted, axis=2) * self.free * self.deviations**2

    def draw(self, normal: Array, temperature: float) -> Array:
        """Rows of which the missing entries are drawn, from standard normal numbers of shape (q, d)."""
        # The symmetric root of the covariance: unlike eigenvectors alone, it does not depend on their signs.
        turned = array_namespace(normal).matrix_transpose(self.axes) @ normal[:, :, None]
        moved = self.axes @ (self.spreads(temperature)[:, :, None] * turned)
        return self.modes + moved[:, :, 0] * self.free * self.deviations


def second_derivatives(objective: Objective, Z: Array, free: Array, scales: Array) -> Array:
    """Of the objective of each row over its free entries, in units of `scales`, zero elsewhere; shape (q, d, d).

    Differences of gradients, one pair per missing entry of the row that misses most: as many operations as the exact
    formula would take, for every kernel that has a gradient.
    """
    xp = array_namespace(Z)
    step = epsilon(Z.dtype) ** (1 / 3)  # errors of differences, step², and of rounding, ε/step, are alike
    free_host = to_numpy(free)
    order = np.argsort(-free_host, axis=1, kind="stable")  # missing entries first
    rows = np.arange(Z.shape[0])
    H = np.zeros((*Z.shape, Z.shape[1]), dtype=free_host.dtype)
    for number in range(int(free_host.sum(axis=1).max(initial=0))):
        unit = np.zeros_like(free_host)
        unit[rows, order[:, number]] = free_host[rows, order[:, number]]
        shift = from_numpy(step * unit, Z) * scales
        difference = (objective.at(Z + shift).gradient - objective.at(Z - shift).gradient) / (2 * step)
        H[rows, order[:, number], :] += to_numpy(difference * scales * free) * unit.sum(axis=1)[:, None]
    return from_numpy(H, Z, dtype=xp.asarray(Z).dtype)


def draws(
    energy: SubspaceEnergy,
    observed: Array,
    modes: Array,
    temperature: float,
    *,
    n_draws: int,
    rng: np.random.Generator,
    box: Box | None = None,
) -> Array:
    """Several fillings of each row, drawn from its normal approximation (see `Posterior`) and cut off at the box.

    Parameters
    ----------
    energy : SubspaceEnergy
    observed : boolean array of shape (q, d)
        Which entries are known.
    modes : array of shape (q, d)
        The rows as `fill` has filled them.
    temperature : float
        See `fit_temperature`.
    n_draws : int
    rng : numpy.random.Generator
    box : Box, optional
        Bounds on missing entries.

    Returns
    -------
    array of shape (n_draws, q, d)
    """
    xp = array_namespace(modes)
    normal = rng.standard_normal((n_draws, *modes.shape))
    parts = []
    for rows in _blocks(modes):
        posterior = Posterior.of(energy, modes[rows, :], observed[rows, :])
        found = [posterior.draw(from_numpy(numbers, modes), temperature) for numbers in normal[:, rows, :]]
        inside = found if box is None else [xp.where(observed[rows, :], each, box.clip(each)) for each in found]
        parts.append(xp.stack(inside))
    return xp.concat(parts, axis=1)


def fit_temperature(
    fit: SubspaceFit, rows: Array, observed: Array, scale: float, *, rng: np.random.Generator, box: Box | None = None
) -> float:
    """The temperature T at which hidden entries differ from their fillings as much as the posterior says.

    The rows are divided into folds. In each, known entries are hidden and filled by a subspace that is fitted to the
    other folds; T makes 90 % intervals contain 90 % of the hidden entries or, where entries may be at several places so
    that no T does, 50 % intervals 50 %. The noise of the model would be the
    temperature if images were normally distributed in feature space, but they lie on a curved surface there.

    Parameters
    ----------
    fit : SubspaceFit
    rows : array of shape (n, d)
        Training rows, filled.
    observed : boolean array of shape (n, d)
        Which of their entries are known.
    scale : float
        The median squared distance of the rows, see `neighbor_start`.
    rng : numpy.random.Generator
    box : Box, optional
        Bounds on missing entries.

    Returns
    -------
    float
        One where nothing can be hidden.
    """
    known = to_numpy(observed)
    hidden = hidden_entries(known, rng)
    usable = rng.permutation(np.flatnonzero(hidden.any(axis=1)))
    errors, posteriors, judged = [], [], []
    for fold, model in _fold_models(fit, rows, usable):
        fold = fold[: JUDGED_ROWS // FOLDS]
        truth = take_rows(rows, fold)
        seen = from_numpy(known[fold] & ~hidden[fold], rows, dtype=array_namespace(rows).bool)
        modes = model.filled(truth, seen, scale, box)
        for part in _blocks(modes):
            posteriors.append(Posterior.of(model.energy, modes[part, :], seen[part, :]))
            errors.append(to_numpy((truth[part, :] - modes[part, :]) ** 2))
            judged.append(hidden[fold[part]])
    return _covering_temperature(posteriors, np.concatenate(errors), np.concatenate(judged)) if errors else 1.0


def cross_draws(
    fit: SubspaceFit,
    rows: Array,
    observed: Array,
    scale: float,
    temperature: float,
    *,
    rng: np.random.Generator,
    box: Box | None = None,
) -> Array:
    """The training rows themselves, of which missing entries are drawn, shape (n, d).

    Rows of each fold are drawn with a subspace that is fitted to the other folds: with one that a row was fitted to,
    its entries would seem to be more certain than they are, because its own image is there already.

    Parameters
    ----------
    fit, rows, observed, scale, rng, box
        As in `fit_temperature`.
    temperature : float
    """
    xp = array_namespace(rows)
    incomplete = rng.permutation(np.flatnonzero(~to_numpy(xp.all(observed, axis=1))))
    drawn = rows
    for fold, model in _fold_models(fit, rows, incomplete):
        seen = take_rows(observed, fold)
        modes = model.filled(take_rows(rows, fold), seen, scale, box)
        found = draws(model.energy, seen, modes, temperature, n_draws=1, rng=rng, box=box)
        drawn = with_rows(drawn, fold, found[0, :, :])
    return drawn


class _FoldModel(NamedTuple):
    """A subspace of the rows of other folds, and these rows."""

    energy: SubspaceEnergy
    training: Array

    def filled(self, X: Array, seen: Array, scale: float, box: Box | None) -> Array:
        start = neighbor_start(complete_rows(self.training), X, seen, scale)
        return fill(self.energy, seen, start, box=box).points


def _fold_models(fit: SubspaceFit, rows: Array, numbers: np.ndarray) -> Iterator[tuple[np.ndarray, _FoldModel]]:
    """Folds of the rows with the given numbers, each with a model of all rows but those of the fold."""
    for fold in np.array_split(numbers, FOLDS):
        others = np.setdiff1d(np.arange(rows.shape[0]), fold)
        if fold.size and others.size > 1:
            training = take_rows(rows, others)
            yield fold, _FoldModel(fit(training).energy, training)


def _covering_temperature(posteriors: list[Posterior], errors: np.ndarray, judged: np.ndarray) -> float:
    """The smallest temperature at which intervals contain as many judged entries as they should, given squared errors.

    Of 90 % intervals 90 % or, where no temperature has as many, of 50 % intervals 50 %.
    """

    def covers_enough(temperature: float, level: float, quantile: float) -> bool:
        variances = np.concatenate([to_numpy(each.variances(temperature)) for each in posteriors])
        counted = judged & (variances > 0)  # columns without variance have none for any temperature
        inside = errors[counted] <= quantile**2 * variances[counted]
        return bool(np.mean(inside) >= level) if inside.size else True

    curvatures = np.concatenate([to_numpy(each.curvatures)[to_numpy(each.free) > 0] for each in posteriors])
    middle = float(np.median(np.abs(curvatures))) or 1.0
    low, high = -np.log(TEMPERATURE_RANGE), np.log(TEMPERATURE_RANGE)
    wanted = next((each for each in LEVELS if covers_enough(middle * TEMPERATURE_RANGE, *each)), LEVELS[-1])
    for _ in range(BISECTIONS):
        half = (low + high) / 2
        low, high = (low, half) if covers_enough(middle * float(np.exp(half)), *wanted) else (half, high)
    return middle * float(np.exp(high))


def _blocks(Z: Array) -> list[slice]:
    """Slices of rows whose second derivatives fit in memory together."""
    per_row = SQUARE_ARRAYS * itemsize(Z.dtype) * Z.shape[1] ** 2
    return cut(Z.shape[0], max(1, min(256, work_memory(Z) // per_row)))
