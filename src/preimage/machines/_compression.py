"""Kernel machines made small: reduction, thresholds, and the search for the size."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from preimage._arrays import array_namespace, from_numpy, to_numpy
from preimage._linalg import rank_tolerance
from preimage.feature_space import Expansion
from preimage.machines._machine import KernelMachine
from preimage.machines._threshold import best_threshold
from preimage.reduced_sets import NestedReducer, Reduction, relative_error

# Share of the examples of a class, on average over classes, that a size within tolerance may decide otherwise.
RARE_LOSS = 0.05
# Support vectors of a one-class machine that are on its margin have the value zero, up to libsvm's tolerance of 1e-3:
# their signs are chance, and have no say in the threshold.
ON_THE_MARGIN = 2e-3


@dataclass(frozen=True)
class Compression:
    """A small machine, and how it compares with the large one.

    Attributes
    ----------
    machine : KernelMachine
    n_original_points : int
    error : float
        Σ‖Ψ − Ψ′‖²/Σ‖Ψ‖² in feature space; NaN for kernels without a norm.
    scores : tuple of two floats, or None
        Of the original and the small machine, where data were given.
    converged : bool
    reason : str
    """

    machine: KernelMachine
    n_original_points: int
    error: float
    scores: Any
    converged: bool
    reason: str


def compress_machine(machine, reducer, n_points, *, X=None, y=None, tolerance=None, shared=True, rng=None):
    """The machine on few points: `n_points` of them, or as many as a tolerance asks for.

    Parameters
    ----------
    machine : KernelMachine
    reducer : Reducer
    n_points : int or None
        None lets `tolerance` decide.
    X : array of shape (n, d), optional
        Inputs where function values should agree, and on which machines are scored.
    y : array of shape (n,), optional
        Labels of X, for scores and thresholds; without them the original machine's outputs stand for them.
    tolerance : float, optional
        With X, how much the score may drop; without, the largest relative error in feature space.
    shared : bool, default=True
        Whether all functions share all points; otherwise each is reduced alone, to `n_points` of its own.

    Returns
    -------
    Compression
    """
    machine = _with_output_weights(machine, X)
    judge = _Judge(machine, X, y)
    whole = machine.expansion.merged()
    original = whole.points.shape[0]
    if n_points is not None and shared and n_points >= original:
        # As many points as there are: the machine itself, where a search for better points could only lose digits.
        small = machine.with_expansion(whole)
        return Compression(small, original, judge.error(small), judge.scores(small), True, "all points are kept")
    if n_points is None and shared and isinstance(reducer, NestedReducer):
        reductions = _Prefixes(reducer, _weighted(machine)[0])
    else:
        reductions = _Reductions(reducer, _weighted(machine)[0], X, shared, rng)
    if n_points is not None:
        result = reductions(n_points)
        small = _assembled(machine, result, X, y)
        if n_points >= (whole := machine.expansion.merged()).points.shape[0] and not judge.is_exact(small):
            small, result = machine.with_expansion(whole), Reduction(whole, reason="all points are kept")
    else:
        make = lambda n: (_assembled(machine, result := reductions(n), X, y), result)
        accept = lambda small: judge.accepts(small, tolerance)
        small, result = _smallest(machine, make, accept, reductions.resolution)
    return Compression(small, original, judge.error(small), judge.scores(small), result.converged, result.reason)


def _with_output_weights(machine, X):
    """Outputs of a regressor count alike, whatever their units."""
    if machine.weights is not None or X is None or machine.output.kind != "regressor" or len(machine.expansion) < 2:
        return machine
    spread = np.std(to_numpy(machine.expansion(X)), axis=0)
    return replace(machine, weights=1 / np.where(spread > 0, spread, 1.0))


class _Reductions:
    """Reductions of a target to any number of points, each a computation of its own."""

    #: A search for the size may stop this near to the best one.
    resolution = 0.05

    def __init__(self, reducer, target, X, shared, rng):
        self.reducer, self.target, self.X, self.shared, self.rng = reducer, target, X, shared, rng

    def __call__(self, n_points):
        if self.shared:
            return self.reducer.reduce(self.target, n_points, X=self.X, rng=self.rng)
        parts = [self.target[j].prune() for j in range(len(self.target))]
        alone = [self.reducer.reduce(part, n_points, X=self.X, rng=self.rng) for part in parts]
        shifts = [result.shift for result in alone]
        xp = array_namespace(self.target.coefficients)
        failed = [result for result in alone if not result.converged]
        return Reduction(
            Expansion.join([result.expansion for result in alone]),
            None if shifts[0] is None else xp.concat(shifts),
            not failed,
            (failed or alone)[0].reason,
        )


class _Prefixes:
    """Reductions that are the beginnings of one order of points, which grows as it is asked for."""

    resolution = 0.0

    def __init__(self, reducer, target):
        self.reducer, self.target = reducer, target
        self.asked, self.path = 0, None

    def __call__(self, n_points):
        if n_points > self.asked:
            self.asked, self.path = n_points, self.reducer.path(self.target, n_points)
        return Reduction(self.path[n_points])


def _assembled(machine, result, X, y):
    """The machine on the points of a reduction, with the constants that go with them."""
    expansion, shift, weights = result.expansion, result.shift, _weighted(machine)[1]
    if weights is not None:
        xp = array_namespace(weights)
        weights = xp.where(weights == 0, xp.ones_like(weights), weights)  # of zero axes, which stay zero
        expansion = Expansion(expansion.kernel, expansion.points, expansion.coefficients / weights)
        shift = None if shift is None else shift / weights
    small = machine.with_expansion(expansion)
    if shift is not None:
        return _shifted(small, shift)
    return small if X is None else _with_thresholds(machine, small, X, y)


def _weighted(machine):
    weights = machine.weights
    if weights is None:
        return machine.expansion, None
    weights = from_numpy(weights, machine.expansion.coefficients)
    expansion = machine.expansion
    return Expansion(expansion.kernel, expansion.points, expansion.coefficients * weights), weights


def _with_thresholds(machine, small, X, y):
    """Constants recomputed on data: fewest decisions unlike the original's, or the same mean value.

    Not fewest errors on labels: weights of classes and examples have moved the original's thresholds for a reason.
    """
    if machine.output.fitted_constants == "origin":
        return small
    values = to_numpy(small.expansion(X))
    intercept = to_numpy(small.intercept).astype(float)
    if machine.output.fitted_constants == "values":
        shift = np.mean(to_numpy(machine.expansion(X)) - values, axis=0)
        return _shifted(small, from_numpy(shift, small.intercept))
    # Examples of other classes do not matter to a function that tells two apart.
    relevant = None if y is None else machine.output.signs(y)
    before = to_numpy(machine(X))
    signs = np.where(before > 0, 1, -1) * (1 if relevant is None else relevant != 0)
    if machine.output.kind == "detector":
        signs = signs * (np.abs(before) > ON_THE_MARGIN * np.max(np.abs(before)))
    chosen = [
        best_threshold(values[rows, j], signs[rows, j], intercept[j]) if rows.size else intercept[j]
        for j, rows in enumerate(np.flatnonzero(column) for column in signs.T)
    ]
    shift = np.asarray(chosen) - intercept
    moved = _shifted(small, from_numpy(shift, small.intercept))
    # Probabilities are those of the values before the thresholds moved.
    return replace(moved, output=moved.output.with_threshold_shift(shift))


def _shifted(machine, shift):
    return replace(machine, intercept=machine.intercept + shift, output=machine.output.with_shift(shift))


class _Judge:
    """Compares small machines with the original."""

    def __init__(self, machine, X, y):
        self.machine, self.X = machine, X
        if X is not None:
            values = machine(X)
            self.truth = machine.output.predict(values) if y is None or machine.output.kind == "transformer" else y
            self.decided = to_numpy(machine.output.predict(values))
            self.original = self._score(values)

    def _score(self, values):
        output = self.machine.output
        predicted, truth = to_numpy(output.predict(values)), to_numpy(self.truth)
        if output.kind in ("classifier", "detector"):
            return float(accuracy_score(truth, predicted))
        # As `score` of regressors; coordinates count by their variance.
        average = "uniform_average" if output.kind == "regressor" else "variance_weighted"
        return float(r2_score(truth, predicted, multioutput=average))

    def _recall(self, values):
        """Mean over the classes that the original predicts of how many of them the machine predicts as well."""
        predicted = to_numpy(self.machine.output.predict(values))
        if self.machine.output.kind not in ("classifier", "detector") or predicted.ndim > 1:
            return 1.0
        return float(np.mean([np.mean(predicted[self.decided == label] == label) for label in np.unique(self.decided)]))

    def scores(self, small):
        return None if self.X is None else (self.original, self._score(small(self.X)))

    def error(self, small):
        if not self.machine.expansion.kernel.is_positive_semidefinite:
            return float("nan")
        return relative_error(_weighted(self.machine)[0], _weighted(small)[0])

    def is_exact(self, small):
        """Whether the functions are those of the original up to rounding errors; never known without a norm."""
        expansion = self.machine.expansion
        return self.error(small) <= rank_tolerance(expansion.points.shape[0], expansion.coefficients.dtype)

    def accepts(self, small, tolerance):
        if self.X is None:
            return self.error(small) <= tolerance
        values = small(self.X)
        # Counts over counts: a drop of exactly the tolerance should pass. A rare class may not vanish behind it.
        return self._score(values) >= self.original - tolerance - 1e-12 and self._recall(values) >= 1 - RARE_LOSS


def _smallest(machine, make, accept, resolution):
    """The smallest acceptable machine and its reduction, by doubling and bisection; the original where none is."""
    whole = machine.expansion.merged()
    size, refused = min(4, whole.points.shape[0]), 0
    while not accept((best := make(size))[0]):
        if size == whole.points.shape[0]:
            return machine.with_expansion(whole), Reduction(whole, reason="no smaller machine is within the tolerance")
        size, refused = min(2 * size, whole.points.shape[0]), size
    while size - refused > max(1, resolution * size):
        middle = (size + refused) // 2
        small = make(middle)
        if accept(small[0]):
            size, best = middle, small
        else:
            refused = middle
    return best
