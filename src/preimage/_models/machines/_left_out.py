"""Small machines judged on rows that they were not fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import to_numpy
from preimage._engine.typing import Array, Targets
from preimage._engine.warnings import unwarned
from preimage._models.machines._judge import Judge, mean_over_classes
from preimage._models.machines._machine import KernelMachine
from preimage._models.machines.outputs import Output

# Rows whose errors a row borrows, itself included. Seventeen show fractions of changed decisions that are less than one
# row of a few hundred. With ten times as many, rows near a boundary would borrow errors from rows far from it.
N_BORROWED = 17
# Fraction of the examples of a class, averaged over classes, whose decision may change at a size within the tolerance.
# The score alone is not enough: with a tolerance of half a percent, a class of that frequency could disappear.
RARE_LOSS = 0.05
# Scores are counts over counts: a drop of exactly the tolerance passes in spite of rounding errors.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Trial:
    """A machine, rows to make it small on, and rows that neither the small machine nor, at best, it has seen.

    Attributes
    ----------
    machine : KernelMachine
    X, y : rows to fit to, and their labels or None
    left_out_X, left_out_y : rows to judge on, and their labels or None
    is_retrained : bool
        Whether the machine was trained without the rows that are left out.
    """

    machine: KernelMachine
    X: Array
    y: Targets | None
    left_out_X: Array
    left_out_y: Targets | None
    is_retrained: bool = False


@dataclass(frozen=True)
class LeftOut:
    """What rows that were left out say about small machines of one size.

    Attributes
    ----------
    scores : tuple of two floats
        Of the originals and of the small machines; means over rows.
    standard_error : float
        Of the difference of the two.
    loss, loss_error : float
        The expected drop of the score, by function values, and its standard error.
    recall : float
        Fraction of decisions that stay, mean over classes.
    """

    scores: tuple[float, float]
    standard_error: float
    loss: float
    loss_error: float
    recall: float

    def is_within(self, tolerance: float) -> bool:
        """Whether the score is expected to drop by no more than `tolerance`, with a standard error to spare.

        The drop that was counted is noisier. It refuses a size only where it is beyond the tolerance by more than its
        standard error. A rare class must not vanish behind a score that hardly drops.
        """
        counted = self.scores[0] - self.scores[1] - self.standard_error
        return max(self.loss + self.loss_error, counted) <= tolerance + ROUNDING and self.recall >= 1 - RARE_LOSS


class LeftOutRows:
    """The rows that trials leave out, on which small machines are compared with the machines of the trials.

    Decisions are counts, and one changed decision of two hundred rows is as much as a usual tolerance. So the expected
    loss is computed from function values. With values F of the original and errors Δ of the small machine, row i
    changes its decision with the probability

        qᵢ = mean over j of [decision(Fᵢ + Δⱼ) ≠ decision(Fᵢ)],

    where the rows j have the same decision and are nearest to i in margin. A changed decision costs
    max(0, 2pᵢ − 1), where pᵢ is the fraction of the same rows j whose label is the decision of the original: where
    labels are a matter of chance, nothing is lost. It never counts as a gain. Without labels each costs one.
    Scores of other machines are fractions of variance, and the loss is the squared error in units of that variance.

    Parameters
    ----------
    trials : sequence of Trial
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.judges = [Judge(trial.machine, trial.left_out_X, trial.left_out_y) for trial in trials]
        self.sizes = np.array([trial.left_out_X.shape[0] for trial in trials])
        self.values = [to_numpy(judge.values) for judge in self.judges]
        self.counts_decisions = self.judges[0].counts_decisions
        if self.counts_decisions:
            self._borrow()

    @unwarned()
    def compared(self, small: Sequence[KernelMachine]) -> LeftOut:
        """What the rows say about small machines, one for each trial; infinite losses are beyond any tolerance."""
        values = [to_numpy(machine(judge.X)) for machine, judge in zip(small, self.judges, strict=True)]
        scores = [judge.score(each) for judge, each in zip(self.judges, values, strict=True)]
        drops = np.concatenate([_drops(*each) for each in zip(self.judges, values, strict=True)])
        if self.counts_decisions:
            changes = self._changes(values)
            losses = changes * self.costs
            recall = 1.0 if self.decided.ndim > 1 else mean_over_classes(1 - changes, self.decided)
        else:
            losses = np.concatenate([_squared_errors(*each) for each in zip(self.judges, values, strict=True)])
            recall = 1.0
        mean = lambda each: float(np.average(each, weights=self.sizes))
        return LeftOut(
            (mean([judge.original for judge in self.judges]), mean(scores)),
            standard_error(drops),
            float(np.mean(losses)),
            standard_error(losses),
            recall,
        )

    def _borrow(self) -> None:
        """Which rows lend their errors to which, and what a changed decision of each row costs."""
        self.decided = np.concatenate([judge.decided for judge in self.judges])
        margins = [_margins(judge.output, F, judge.decided) for judge, F in zip(self.judges, self.values, strict=True)]
        if len({F.shape[1] for F in self.values}) == 1:
            self.lenders = _nearest(self.decided, np.concatenate(margins))
        else:  # machines that were trained without some rows have more functions or fewer, and errors of their own
            starts = np.cumsum(self.sizes) - self.sizes
            own = [_nearest(judge.decided, each) for judge, each in zip(self.judges, margins, strict=True)]
            self.lenders = np.concatenate([start + each for start, each in zip(starts, own, strict=True)])
        self.costs = np.ones(len(self.decided))
        if self.judges[0].has_labels:
            truth = np.concatenate([judge.truth for judge in self.judges])
            right = _equal_rows(self.decided, truth)
            self.costs = np.maximum(0.0, 2 * np.mean(right[self.lenders], axis=1) - 1)

    def _changes(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """The probability that the decision of each row changes, shape (n,)."""
        width = max(F.shape[1] for F in self.values)
        padded = lambda F: np.pad(F, ((0, 0), (0, width - F.shape[1])))
        errors = np.concatenate([padded(after - before) for after, before in zip(values, self.values, strict=True)])
        parts = np.split(self.lenders, np.cumsum(self.sizes)[:-1])

        def changed(judge: Judge, F: np.ndarray, lenders: np.ndarray) -> np.ndarray:
            return ~_equal_rows(judge.output.predict(F + errors[lenders, : F.shape[1]]), judge.decided)

        changes = [
            np.mean([changed(judge, F, each) for each in lenders.T], axis=0)
            for judge, F, lenders in zip(self.judges, self.values, parts, strict=True)
        ]
        return np.concatenate(changes)


def standard_error(values: np.ndarray) -> float:
    """Of the mean of independent values."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _drops(judge: Judge, values: np.ndarray) -> np.ndarray:
    """What each row contributes to the drop of the score, which is their mean."""
    predicted = to_numpy(judge.output.predict(values))
    if judge.counts_decisions:
        before, after = (_equal_rows(judge.truth, each).astype(float) for each in (judge.decided, predicted))
        return before - after
    truth, before, after = _in_one_unit(judge.truth, judge.decided, predicted)
    return _in_units_of_variance((truth - after) ** 2 - (truth - before) ** 2, truth, judge)


def _squared_errors(judge: Judge, values: np.ndarray) -> np.ndarray:
    """Squared differences of predictions, in the unit of the score."""
    truth, before, after = _in_one_unit(judge.truth, judge.decided, to_numpy(judge.output.predict(values)))
    return _in_units_of_variance((after - before) ** 2, truth, judge)


def _in_units_of_variance(squares: np.ndarray, truth: np.ndarray, judge: Judge) -> np.ndarray:
    """Sums over outputs of squares divided by the variances of truth, as R² averages them; shape (n,)."""
    variances = np.var(truth, axis=0)
    if judge.output.kind == "regressor":
        return np.mean(squares / np.where(variances > 0, variances, 1.0), axis=1)
    return np.sum(squares, axis=1) / (np.sum(variances) or 1.0)


def _in_one_unit(truth: np.ndarray, *predicted: np.ndarray) -> list[np.ndarray]:
    """Columns of all, relative to the largest entry of truth: squares of numbers beyond 1e154 are none."""
    unit = float(np.max(np.abs(truth))) or 1.0
    columns = (np.asarray(each, dtype=np.float64) / unit for each in (truth, *predicted))
    return [each[:, None] if each.ndim == 1 else each for each in columns]


def _equal_rows(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Whether decisions are equal, one per row; those about several labels are where all labels are."""
    same = one == other
    return same if same.ndim == 1 else np.all(same, axis=1)


def _margins(output: Output, F: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """How far each row is from another decision; an order among rows of one decision is all that is needed."""
    if F.shape[1] == 1:
        return F[:, 0]
    signs = output.signs(decided)
    if signs is None:
        second, first = np.partition(F, -2, axis=1)[:, -2:].T
        return first - second
    return np.min(np.where(signs == 0, np.inf, signs * F), axis=1)


def _nearest(decided: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Numbers of the rows with the same decision that are nearest in the order of margins, shape (n, N_BORROWED)."""
    lenders = np.empty((len(margins), N_BORROWED), dtype=np.intp)
    groups = np.zeros(len(margins), dtype=int) if decided.ndim > 1 else np.unique(decided, return_inverse=True)[1]
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        order = members[np.argsort(margins[members], kind="stable")]
        # A window around each row, moved inwards at the ends; where rows are too few they are taken several times.
        first = np.clip(np.arange(len(order)) - N_BORROWED // 2, 0, max(0, len(order) - N_BORROWED))
        lenders[order] = order[first[:, None] + np.arange(N_BORROWED) % len(order)]
    return lenders
