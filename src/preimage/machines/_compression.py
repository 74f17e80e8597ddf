"""Kernel machines made small: reduction, constants, and the search for the size."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from preimage._arrays import array_namespace, from_numpy, in_double, itemsize, to_numpy
from preimage._linalg import rank_tolerance
from preimage._progress import stage
from preimage._threads import on_own_threads
from preimage._typing import Array, Targets
from preimage.feature_space import Expansion
from preimage.machines._machine import KernelMachine
from preimage.reduced_sets import NestedReducer, Reducer, Reduction, relative_error
from preimage.solvers import Reason

# Fraction of the examples of a class, averaged over classes, whose decision may change at a size within the tolerance.
# The score alone is not enough: with a tolerance of half a percent, a class of that frequency could disappear.
RARE_LOSS = 0.05
# Where every size needs its own reduction, the search stops when the size is known to this fraction: going on would
# double the number of reductions and save a twentieth of the points at most.
RESOLUTION = 0.05
# Smallest size that the search tries. Doubling from here meets the size of any machine in a few steps.
FIRST_SIZE = 4
# Scores are counts over counts: a drop of exactly the tolerance passes in spite of rounding errors.
ROUNDING = 1e-12
# Squares of smaller numbers, and of numbers larger than one over this, leave the range of double precision.
SMALLEST_UNIT = 1e-150


@dataclass(frozen=True)
class Compression:
    """A small machine, and how it compares with the large one.

    Attributes
    ----------
    machine : KernelMachine
    n_original_points : int
        Distinct points of the large machine.
    error : float
        Σ‖Ψ − Ψ′‖²/Σ‖Ψ‖² in feature space; NaN for kernels without a norm.
    scores : tuple of two floats, or None
        Of the original and the small machine, where data were given.
    is_scored_by_original : bool
        Whether predictions of the original took the place of labels in `scores`.
    converged : bool
    reason : str
        Why the reduction stopped.
    work_ratio : float
        Multiplications of a prediction of the large machine over those of the small one.
    """

    machine: KernelMachine
    n_original_points: int
    error: float
    scores: tuple[float, float] | None
    is_scored_by_original: bool
    converged: bool
    reason: str
    work_ratio: float


@dataclass(frozen=True)
class _Candidate:
    """A machine of some size, and the reduction that it is made of."""

    machine: KernelMachine
    reduction: Reduction


@on_own_threads
def compress_machine(
    machine: KernelMachine,
    reducer: Reducer,
    n_points: int | float | None,
    *,
    X: Array | None = None,
    y: Targets | None = None,
    tolerance: float = 0.0,
    shared: bool = True,
    rng: np.random.Generator | None = None,
) -> Compression:
    """The machine on few points: `n_points` of them, or as many as a tolerance asks for.

    Parameters
    ----------
    machine : KernelMachine
    reducer : Reducer
    n_points : int, float or None
        A number of points, or a fraction of those that the machine has; None lets `tolerance` decide.
    X : array of shape (n, d), optional
        Inputs where function values should agree, and on which machines are scored.
    y : array of shape (n,), optional
        Labels of X, for scores and thresholds; without them the original machine's outputs stand for them.
    tolerance : float, default=0.0
        With X, how much the score may drop; without, the largest relative error in feature space.
    shared : bool, default=True
        Whether all functions share all points; otherwise each is reduced alone, to `n_points` of its own, or to that
        fraction of the points that it has.
    rng : numpy.random.Generator, optional

    Returns
    -------
    Compression
    """
    machine = _with_output_weights(machine, X)
    judge = _Judge(machine, X, y)
    merged = machine.expansion.merged()
    whole = _Candidate(machine.with_expansion(merged), Reduction(merged, reason=Reason.ALL_POINTS_KEPT))
    size = merged.points.shape[0]
    if n_points is not None and shared:
        n_points = _count(n_points, size)
    if n_points is not None and shared and n_points >= size:
        # As many points as there are: the machine itself, where a search for better points could only lose digits.
        return judge.compared(whole, size)
    reduce = _reductions(machine, reducer, X, shared, rng, nested=n_points is None)
    make = lambda n: _candidate(machine, reduce(n), X, y)
    if n_points is not None:
        with stage("Finding points", 1) as advance:
            found = make(n_points)
            advance()
        if _count(n_points, size) >= size and not judge.is_exact(found.machine):
            found = whole
    else:
        is_nested = shared and isinstance(reducer, NestedReducer)
        accepts = lambda candidate: judge.accepts(candidate.machine, tolerance)
        # Points of their own for every function: with more than this for each there would be more than the machine has.
        largest = size if shared else size // len(machine.expansion)
        found = _smallest(make, accepts, largest, 0.0 if is_nested else RESOLUTION) or replace(
            whole, reduction=replace(whole.reduction, reason=Reason.NOTHING_SMALLER)
        )
    return judge.compared(found, size)


def _with_output_weights(machine: KernelMachine, X: Array | None) -> KernelMachine:
    """Outputs of a regressor count alike, whatever their units."""
    if machine.weights is not None or X is None or machine.output.kind != "regressor" or len(machine.expansion) < 2:
        return machine
    spread = np.std(to_numpy(machine.expansion(X)), axis=0)
    return replace(machine, weights=1 / np.where(spread > 0, spread, 1.0))


def _reductions(
    machine: KernelMachine,
    reducer: Reducer,
    X: Array | None,
    shared: bool,
    rng: np.random.Generator | None,
    nested: bool,
) -> Callable[[Any], Reduction]:
    """Reductions of the weighted functions of a machine to any number of points."""
    target = _weighted(machine)
    if not shared:
        return lambda n_points: _reduced_alone(target, reducer, n_points, X, rng)
    if nested and isinstance(reducer, NestedReducer):
        return _Prefixes(reducer, target)
    return lambda n_points: reducer.reduce(target, n_points, X=X, rng=rng)


class _Prefixes:
    """Reductions that are the beginnings of one order of points, which grows as it is asked for."""

    def __init__(self, reducer: NestedReducer, target: Expansion):
        self.reducer, self.target = reducer, target
        self.asked, self.path = FIRST_SIZE, reducer.path(target, FIRST_SIZE)

    def __call__(self, n_points: int) -> Reduction:
        if n_points > self.asked:
            self.asked, self.path = n_points, self.reducer.path(self.target, n_points)
        return Reduction(self.path[min(n_points, len(self.path))])


def _reduced_alone(
    target: Expansion, reducer: Reducer, n_points: int | float, X: Array | None, rng: np.random.Generator | None
) -> Reduction:
    """Every function reduced to a number, or a fraction, of points of its own; all of them on one list of points."""
    parts = [target[j].prune().merged() for j in range(len(target))]
    alone = [reducer.reduce(part, _count(n_points, part.points.shape[0]), X=X, rng=rng) for part in parts]
    failed = [result for result in alone if not result.converged]
    xp = array_namespace(target.coefficients)
    return Reduction(
        Expansion.join([result.expansion for result in alone]),
        None if alone[0].shift is None else xp.concat([result.shift for result in alone]),
        not failed,
        (failed or alone)[0].reason,
    )


def _count(n_points: int | float, size: int) -> int:
    """A number of points, or that fraction of `size`, at least one."""
    return n_points if isinstance(n_points, int | Integral) else max(1, int(n_points * size))


def _candidate(machine: KernelMachine, reduction: Reduction, X: Array | None, y: Targets | None) -> _Candidate:
    """The machine on the points of a reduction, with the constants that go with them."""
    expansion, shift = reduction.expansion, reduction.shift
    if machine.weights is not None:
        weights = from_numpy(machine.weights, expansion.coefficients)
        xp = array_namespace(weights)
        weights = xp.where(weights == 0, xp.ones_like(weights), weights)  # of zero axes, which stay zero
        expansion = Expansion(expansion.kernel, expansion.points, expansion.coefficients / weights)
        shift = None if shift is None else shift / weights
    small = machine.with_expansion(expansion)
    if shift is not None:  # a reduction that fitted values has fitted the constants with them
        return _Candidate(small.with_shift(shift), reduction)
    if X is None:
        return _Candidate(small, reduction)
    constants, output = machine.output.recentred(to_numpy(machine(X)), to_numpy(small(X)), y)
    return _Candidate(small.with_shift(from_numpy(constants, small.intercept), output), reduction)


def _in_double(functions: Expansion) -> Expansion:
    """The same functions, with kernel values in double precision."""
    if itemsize(functions.coefficients.dtype) == itemsize(functions.kernel.value_type(functions.points)) == 8:
        return functions
    points = functions.points if functions.kernel.points_are_row_numbers else in_double(functions.points)
    return Expansion(functions.kernel, points, in_double(functions.coefficients))


def _weighted(machine: KernelMachine) -> Expansion:
    """The functions of a machine, each times the weight of its errors."""
    expansion = machine.expansion
    if machine.weights is None:
        return expansion
    weights = from_numpy(machine.weights, expansion.coefficients)
    return Expansion(expansion.kernel, expansion.points, expansion.coefficients * weights)


class _Judge:
    """Compares small machines with the original, on data X with labels y where there are any."""

    def __init__(self, machine: KernelMachine, X: Array | None, y: Targets | None):
        self.machine, self.X = machine, X
        self.output = machine.output
        self.has_labels = y is not None and self.output.kind != "transformer"
        if X is not None:
            values = machine(X)
            self.decided = to_numpy(self.output.predict(values))
            self.truth = to_numpy(y) if self.has_labels else self.decided
            self.original = self._score(values)

    def compared(self, candidate: _Candidate, n_original_points: int) -> Compression:
        """The result of a compression."""
        small, reduction = candidate.machine, candidate.reduction
        return Compression(
            machine=small,
            n_original_points=n_original_points,
            error=self.error(small, in_double_precision=True),
            scores=None if self.X is None else (self.original, self._score(small(self.X))),
            is_scored_by_original=self.X is not None and not self.has_labels,
            converged=reduction.converged,
            reason=reduction.reason,
            work_ratio=self.machine.multiplications / small.multiplications,
        )

    def error(self, small: KernelMachine, *, in_double_precision: bool = False) -> float:
        """The relative squared error of all functions in feature space; NaN without a norm.

        It is a difference of squared norms, of which single precision leaves two digits where the kernel is narrow.
        """
        if not self.machine.expansion.kernel.is_positive_semidefinite:
            return float("nan")
        both = _weighted(self.machine), _weighted(small)
        return relative_error(*(map(_in_double, both) if in_double_precision else both))

    def is_exact(self, small: KernelMachine) -> bool:
        """Whether the functions are those of the original up to rounding errors; never known without a norm."""
        expansion = self.machine.expansion
        return self.error(small) <= rank_tolerance(expansion.points.shape[0], expansion.coefficients.dtype)

    def accepts(self, small: KernelMachine, tolerance: float) -> bool:
        """Whether a machine is within the tolerance of the original."""
        if self.X is None:
            return self.error(small) <= tolerance
        values = small(self.X)
        # A rare class must not vanish behind a score that hardly drops.
        return self._score(values) >= self.original - tolerance - ROUNDING and self._recall(values) >= 1 - RARE_LOSS

    def _score(self, values: Array) -> float:
        predicted = to_numpy(self.output.predict(values))
        if self.output.kind in ("classifier", "detector"):
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

    def _recall(self, values: Array) -> float:
        """Mean over the classes that the original predicts of how many of them the machine predicts as well."""
        predicted = to_numpy(self.output.predict(values))
        if self.output.kind not in ("classifier", "detector") or predicted.ndim > 1:
            return 1.0
        return float(np.mean([np.mean(predicted[self.decided == label] == label) for label in np.unique(self.decided)]))


def _smallest(
    make: Callable[[int], _Candidate], accepts: Callable[[_Candidate], bool], largest: int, resolution: float
) -> _Candidate | None:
    """The smallest acceptable candidate, by doubling and bisection; None where not even the largest is."""
    if largest == 0:
        return None
    with stage("Sizes tried") as advance:

        def tried(size: int) -> tuple[_Candidate, bool]:
            candidate = make(size)
            advance()
            return candidate, accepts(candidate)

        size, refused = min(FIRST_SIZE, largest), 0
        best, is_enough = tried(size)
        while not is_enough:
            if size == largest:
                return None
            size, refused = min(2 * size, largest), size
            best, is_enough = tried(size)
        # `best` has `size` points and is acceptable; `refused` points, where more than zero, are too few.
        while size - refused > max(1, resolution * size):
            middle = (size + refused) // 2
            candidate, is_enough = tried(middle)
            if is_enough:
                size, best = middle, candidate
            else:
                refused = middle
        return best
