"""Small machines compared with their original on rows of data."""

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from preimage._engine.arrays import from_numpy, in_double, itemsize, to_numpy
from preimage._engine.linalg import rank_tolerance
from preimage._engine.typing import Array, Targets
from preimage._models.machines._machine import KernelMachine
from preimage.feature_space import Expansion
from preimage.reduced_sets import relative_error

# Squares of smaller numbers, and of numbers larger than one over this, leave the range of double precision.
SMALLEST_UNIT = 1e-150


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

    def error(self, small: KernelMachine, *, in_double_precision: bool = False) -> float:
        """The relative squared error of all functions in feature space; NaN without a norm.

        It is a difference of squared norms, of which single precision leaves two digits where the kernel is narrow.
        """
        if not self.machine.expansion.kernel.is_positive_semidefinite:
            return float("nan")
        both = weighted(self.machine), weighted(small)
        return relative_error(*(map(_in_double, both) if in_double_precision else both))

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
            return float(accuracy_score(self.truth, predicted))
        # As `score` of regressors; coordinates count by their variance.
        average = "uniform_average" if self.output.kind == "regressor" else "variance_weighted"
        if predicted.shape[0] < 2:  # there is no variance; as of constant targets, all or nothing is explained
            return float(np.array_equal(self.truth, predicted))
        truth, largest = to_numpy(self.truth), float(np.max(np.abs(self.truth)))
        # The same in any unit; sums of squares of such numbers are none.
        if not SMALLEST_UNIT <= largest <= 1 / SMALLEST_UNIT and largest > 0:
            truth, predicted = truth / largest, predicted / largest
        score = float(r2_score(truth, predicted, multioutput=average))
        return score if np.isfinite(score) else -float(np.finfo(np.float64).max)  # farther off than numbers can say

    def recall(self, values: Array) -> float:
        """Mean over the classes that the original predicts of how many of them the machine predicts as well."""
        predicted = to_numpy(self.output.predict(values))
        if not self.counts_decisions or predicted.ndim > 1:
            return 1.0
        return mean_over_classes(predicted == self.decided, self.decided)


def mean_over_classes(kept: np.ndarray, decided: np.ndarray) -> float:
    """Mean of `kept` over the rows of each class, then over classes: a rare class counts as much as a frequent one."""
    return float(np.mean([np.mean(kept[decided == label]) for label in np.unique(decided)]))


def _in_double(functions: Expansion) -> Expansion:
    """The same functions, with kernel values in double precision."""
    if itemsize(functions.coefficients.dtype) == itemsize(functions.kernel.value_type(functions.points)) == 8:
        return functions
    points = functions.points if functions.kernel.points_are_row_numbers else in_double(functions.points)
    return Expansion(functions.kernel, points, in_double(functions.coefficients))
