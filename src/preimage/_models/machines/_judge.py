"""Small machines compared with their original on rows of data, also on rows that they were not fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import from_numpy, in_double, itemsize, to_numpy
from preimage._engine.linalg import rank_tolerance
from preimage._engine.typing import Array, Targets
from preimage._engine.warnings import unwarned
from preimage._models.machines._machine import KernelMachine
from preimage._models.machines._outputs import Output
from preimage.feature_space import Expansion
from preimage.reduced_sets import relative_error

# Rows whose errors a row borrows, itself included. Seventeen show fractions of changed decisions that are less than one
# row of a few hundred. With ten times as many, rows near a boundary would borrow errors from rows far from it.
N_BORROWED = 17
# Fraction of the examples of a class, averaged over classes, whose decision may change at a size within the tolerance.
# The score alone is not enough: with a tolerance of half a percent, a class of that frequency could disappear.
RARE_LOSS = 0.05
# Scores are counts over counts: a drop of exactly the tolerance passes in spite of rounding errors.
ROUNDING = 1e-12


def weighted(machine: KernelMachine) -> Expansion:
    """The functions of a machine, each times the weight of its errors."""
    expansion = machine.expansion
    if machine.weights is None:
        return expansion
    weights = from_numpy(machine.weights, expansion.coefficients)
    return Expansion(expansion.kernel, expansion.points, expansion.coefficients * weights)


class Judge:
    """Compares small machines with the original, on data X with labels y where there are any."""

    def __init__(self, machine: KernelMachine, X: Array | None, y: Targets | None):
        self.machine, self.X = machine, X
        self.output = machine.output
        self.has_labels = y is not None and self.output.kind != "transformer"
        if X is not None:
            self.values = machine(X)
            self.decided = to_numpy(self.output.predict(self.values))
            self.truth = to_numpy(y) if self.has_labels else self.decided
            self.original = self.score(self.values)

    def error(self, small: KernelMachine) -> float:
        """The relative squared error of all functions in feature space; NaN without a norm.

        It is a difference of squared norms, of which single precision leaves two digits where the kernel is narrow.
        """
        if not self.machine.expansion.kernel.is_positive_semidefinite:
            return float("nan")
        return relative_error(*(_in_double(weighted(each)) for each in (self.machine, small)))

    def is_exact(self, small: KernelMachine) -> bool:
        """Whether the functions are those of the original up to rounding errors; never known without a norm."""
        expansion = self.machine.expansion
        return self.error(small) <= rank_tolerance(expansion.points.shape[0], expansion.coefficients.dtype)

    @property
    def counts_decisions(self) -> bool:
        """Whether scores are fractions of right decisions; otherwise they are fractions of variance."""
        return self.output.kind in ("classifier", "detector")

    def score(self, values: Array) -> float:
        """The score of a machine with these function values on X."""
        predicted = to_numpy(self.output.predict(values))
        if self.counts_decisions:
            from sklearn.metrics import accuracy_score

            return float(accuracy_score(self.truth, predicted))
        # As `score` of regressors; coordinates count by their variance.
        average = "uniform_average" if self.output.kind == "regressor" else "variance_weighted"
        if predicted.shape[0] < 2:  # there is no variance; as of constant targets, all or nothing is explained
            return float(np.array_equal(self.truth, predicted))
        score = determination(to_numpy(self.truth), predicted, multioutput=average)
        return score if np.isfinite(score) else -float(np.finfo(np.float64).max)  # farther off than numbers can say

    def recall(self, values: Array) -> float:
        """Mean over the classes that the original predicts of how many of them the machine predicts as well."""
        predicted = to_numpy(self.output.predict(values))
        if not self.counts_decisions or predicted.ndim > 1:
            return 1.0
        return mean_over_classes(predicted == self.decided, self.decided)


def determination(
    truth: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None = None, multioutput: str = "uniform_average"
) -> float:
    """R² of predictions for targets of any size."""
    # R² has no unit. In that of the targets their squares are numbers, however large they are.
    unit = float(np.max(np.abs(truth))) or 1.0
    from sklearn.metrics import r2_score

    return float(r2_score(truth / unit, predicted / unit, sample_weight=weights, multioutput=multioutput))


def mean_over_classes(kept: np.ndarray, decided: np.ndarray) -> float:
    """Mean of `kept` over the rows of each class, then over classes: a rare class counts as much as a frequent one."""
    return float(np.mean([np.mean(kept[decided == label]) for label in np.unique(decided)]))


def _in_double(functions: Expansion) -> Expansion:
    """The same functions, with kernel values in double precision."""
    if itemsize(functions.coefficients.dtype) == itemsize(functions.kernel.value_type(functions.points)) == 8:
        return functions
    points = functions.points if functions.kernel.points_are_row_numbers else in_double(functions.points)
    return Expansion(functions.kernel, points, in_double(functions.coefficients))


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
        pairs = list(zip(self.judges, values, strict=True))
        scores, recall = [judge.score(each) for judge, each in pairs], 1.0
        if self.counts_decisions:
            drops = np.concatenate([_lost_decisions(*each) for each in pairs])
            changes = self._changes(values)
            losses = changes * self.costs
            if self.decided.ndim == 1:
                recall = mean_over_classes(1 - changes, self.decided)
        else:
            drops, losses = np.concatenate([_lost_variance(*each) for each in pairs], axis=1)
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


def _lost_decisions(judge: Judge, values: np.ndarray) -> np.ndarray:
    """What each row contributes to the drop of the score, which is their mean."""
    right = lambda decided: _equal_rows(judge.truth, decided).astype(float)
    return right(judge.decided) - right(to_numpy(judge.output.predict(values)))


def _lost_variance(judge: Judge, values: np.ndarray) -> np.ndarray:
    """Contributions of rows to the drop of R², and squared changes of predictions in its unit; shape (2, n)."""
    # Relative to the largest entry of truth: squares of numbers beyond 1e154 are none.
    unit = float(np.max(np.abs(judge.truth))) or 1.0
    columns = (np.asarray(each, float) / unit for each in (judge.truth, judge.decided, judge.output.predict(values)))
    truth, before, after = (each[:, None] if each.ndim == 1 else each for each in columns)
    squares = np.stack([(truth - after) ** 2 - (truth - before) ** 2, (after - before) ** 2])
    variances = np.var(truth, axis=0)
    if judge.output.kind == "regressor":
        return np.mean(squares / np.where(variances > 0, variances, 1.0), axis=2)
    return np.sum(squares, axis=2) / (np.sum(variances) or 1.0)


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
