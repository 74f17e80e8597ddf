"""How well hidden entries are filled, for the choice of a kernel's width and of the noise."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, in_double, take_rows, to_numpy
from preimage._engine.typing import Array
from preimage._models.completion._conditional_fit import fit_conditional
from preimage._models.completion._fill import fill
from preimage._models.completion._hiding import hidden_entries
from preimage._models.completion._indicators import Indicators
from preimage._models.completion._model import NoisySubspace, SubspaceFit
from preimage._models.completion._start import complete_rows, neighbor_start
from preimage.descent import Box

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
    indicators : Indicators or None
        Columns that stand for categories, which are hidden together.
    """

    rows: Array
    observed: np.ndarray
    numbers: np.ndarray
    hidden: np.ndarray
    folds: np.ndarray
    indicators: Indicators | None = None

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
        indicators: Indicators | None = None,
    ) -> "HiddenRows":
        """Hide about `n_entries` entries (see `hidden_entries`), of as many rows as that takes, in a random order."""
        n = observed.shape[0]
        folds = rng.permutation(np.arange(n) % n_folds)
        order, numbers, hidden, found = rng.permutation(n), [], [], 0
        # Of incomplete rows each once: the others are filled without what is hidden (`seen`).
        for _ in range(MOST_REPEATS if observed.all() else 1):
            mask = hidden_entries(observed, rng, fraction, None if indicators is None else indicators.groups)
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

    def errors(self, fit: SubspaceFit, noises: list[float], scale: float, box: Box) -> np.ndarray:
        """Sums of squared errors of the hidden entries of each judged row, shape (len(noises), m).

        Each row is filled by subspaces that are fitted to the other folds, one per fold for all noises.

        Parameters
        ----------
        fit : SubspaceFit
            Its noise is not used.
        noises : list of float
            Fractions of the variance in feature space.
        scale : float
            The median squared distance of the rows, see `neighbor_start`.
        box : Box
            Bounds on missing entries.
        """
        errors = np.zeros((len(noises), self.numbers.size))
        for fold in np.unique(self.folds[self.numbers]):
            judged = np.flatnonzero(self.folds[self.numbers] == fold)
            training = take_rows(self.rows, np.flatnonzero(self.folds != fold))
            truth = take_rows(self.rows, self.numbers[judged])
            hidden = self.hidden[judged]
            seen = from_numpy(self.observed[self.numbers[judged]] & ~hidden, truth, dtype=array_namespace(truth).bool)
            principal = fit(training).principal
            start = neighbor_start(complete_rows(training), truth, seen, scale)
            for number, noise in enumerate(noises):
                energy = NoisySubspace.of(principal, noise).energy
                filled = fill(energy, seen, start, box=box, max_iter=COMPARED_STEPS).points
                squares = to_numpy(filled - truth) ** 2
                errors[number, judged] = np.sum(np.where(hidden, squares, 0.0), axis=1)
        return errors

    def conditional_errors(self, scale: float, rng: np.random.Generator) -> np.ndarray:
        """The same of conditional means that are fitted to the other folds, shape (m,)."""
        errors = np.zeros(self.numbers.size)
        xp = array_namespace(self.rows)
        as_known = lambda known: from_numpy(known, self.rows, dtype=xp.bool)
        for fold in np.unique(self.folds[self.numbers]):
            judged, others = np.flatnonzero(self.folds[self.numbers] == fold), np.flatnonzero(self.folds != fold)
            known = as_known(self.observed[others])
            rows = in_double(take_rows(self.rows, others))
            model = fit_conditional(rows, known, scale, rng=rng, indicators=self.indicators).model
            truth, hidden = in_double(take_rows(self.rows, self.numbers[judged])), self.hidden[judged]
            filled = model.fill(truth, as_known(self.observed[self.numbers[judged]] & ~hidden))
            errors[judged] = np.sum(np.where(hidden, to_numpy(filled - truth) ** 2, 0.0), axis=1)
        return errors
