"""How well hidden entries are filled, for the choice of a kernel's width and of the noise."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, in_double, take_rows, to_numpy
from preimage._engine.typing import Array
from preimage._models.completion._conditional_fit import fit_conditional
from preimage._models.completion._energy import fill
from preimage._models.completion._incomplete_fit import NoisySubspace, SubspaceFit
from preimage._models.completion._indicators import Indicators
from preimage._models.completion._partial_rows import hidden_entries, neighbor_start
from preimage.descent import Box

# From numbers of rows to learn from, other rows, and their known entries to these rows filled in several ways.
Fillings: TypeAlias = Callable[[np.ndarray, Array, Array], Iterable[Array]]

# How often the rows are gone through until enough entries are hidden: more than this repeats the same few rows.
MOST_REPEATS = 10
# Iterations of fillings that are only compared: errors of candidates differ by more than later iterations change.
COMPARED_STEPS = 60


@dataclass(frozen=True)
class HiddenRows:
    """Rows of which known entries are hidden, and the folds that are fitted without them.

    Attributes
    ----------
    rows : array of shape (n, d)
        All rows, filled where entries are missing.
    observed : boolean array of shape (n, d), in NumPy
        Which of their entries are known.
    numbers : integer array of shape (m,)
        The rows that are judged. Of few rows each may be there several times, with other entries hidden.
    hidden : boolean array of shape (m, d)
    folds : integer array of shape (n,)
        The fold of each row.
    indicators : Indicators
        Columns that stand for categories, which are hidden together.
    """

    rows: Array
    observed: np.ndarray
    numbers: np.ndarray
    hidden: np.ndarray
    folds: np.ndarray
    indicators: Indicators

    @classmethod
    def draw(
        cls,
        rows: Array,
        observed: np.ndarray,
        *,
        n_entries: int,
        n_folds: int,
        fraction: float | None,
        rng: np.random.Generator,
        indicators: Indicators,
    ) -> "HiddenRows":
        """Hide about `n_entries` entries (see `hidden_entries`), of as many rows as that takes, in a random order."""
        n = observed.shape[0]
        folds = rng.permutation(np.arange(n) % n_folds)
        order, numbers, hidden, found = rng.permutation(n), [], [], 0
        # Of incomplete rows each once: the others are filled without what is hidden (`seen`).
        for _ in range(MOST_REPEATS if observed.all() else 1):
            mask = hidden_entries(observed, rng, fraction, indicators.groups)
            for row in order[mask[order].any(axis=1)]:
                numbers.append(row)
                hidden.append(mask[row])
                found += int(mask[row].sum())
                if found >= n_entries:
                    break
            if found >= n_entries or not numbers:
                break
        masks = np.array(hidden).reshape(-1, observed.shape[1])
        return cls(rows, observed, np.array(numbers, dtype=int), masks, folds, indicators)

    def seen(self) -> np.ndarray:
        """Which entries of the rows are known and nowhere hidden, shape (n, d)."""
        found = self.observed.copy()
        np.logical_and.at(found, self.numbers, ~self.hidden)
        return found

    def part(self, selected: slice) -> "HiddenRows":
        """The judged rows of a slice."""
        return replace(self, numbers=self.numbers[selected], hidden=self.hidden[selected])

    def errors(self, fillings: Fillings, n_fillings: int) -> np.ndarray:
        """Sums of squared errors of the hidden entries of each judged row, shape (n_fillings, m).

        Parameters
        ----------
        fillings : callable
            From numbers of rows to learn from, rows of another fold and their known entries (boolean) to these rows
            filled, in `n_fillings` ways.
        n_fillings : int
        """
        errors = np.zeros((n_fillings, self.numbers.size))
        for fold in np.unique(self.folds[self.numbers]):
            judged = np.flatnonzero(self.folds[self.numbers] == fold)
            truth, hidden = take_rows(self.rows, self.numbers[judged]), self.hidden[judged]
            seen = self.as_known(self.observed[self.numbers[judged]] & ~hidden)
            for number, filled in enumerate(fillings(np.flatnonzero(self.folds != fold), truth, seen)):
                errors[number, judged] = np.sum(np.where(hidden, to_numpy(filled - truth) ** 2, 0.0), axis=1)
        return errors

    def energy_errors(self, fit: SubspaceFit, noises: list[float], scale: float, box: Box) -> np.ndarray:
        """`errors` of subspaces, one per fold for all noises, which are fractions of the variance in feature space.

        The noise of `fit` is not used; `scale` is the median squared distance of the rows (`neighbor_start`), and `box`
        has bounds on missing entries.
        """

        def fillings(others: np.ndarray, truth: Array, seen: Array) -> Iterator[Array]:
            training = take_rows(self.rows, others)
            principal = fit(training).principal
            start = neighbor_start(truth, seen, scale, training)
            for noise in noises:
                energy = NoisySubspace.of(principal, noise).energy
                yield fill(energy, seen, start, box=box, max_iter=COMPARED_STEPS).points

        return self.errors(fillings, len(noises))

    def conditional_errors(self, scale: float, rng: np.random.Generator) -> np.ndarray:
        """`errors` of conditional means, shape (m,)."""

        def fillings(others: np.ndarray, truth: Array, seen: Array) -> Iterator[Array]:
            known, rows = self.as_known(self.observed[others]), in_double(take_rows(self.rows, others))
            fit = fit_conditional(rows, known, scale, rng=rng, indicators=self.indicators)
            yield fit.model.fill(in_double(truth), seen)

        return self.errors(fillings, 1)[0]

    def as_known(self, known: np.ndarray) -> Array:
        """A boolean array on the device of the rows."""
        return from_numpy(known, self.rows, dtype=array_namespace(self.rows).bool)
