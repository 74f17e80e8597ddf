"""Kernel machines made small: reduction, constants, and the search for the size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, to_numpy
from preimage._engine.progress import stage
from preimage._engine.threads import on_own_threads
from preimage._engine.typing import Array, Targets
from preimage._models.machines._judge import RARE_LOSS, ROUNDING, Judge, LeftOut, LeftOutRows, Trial, weighted
from preimage._models.machines._machine import KernelMachine
from preimage.feature_space import Expansion
from preimage.reduced_sets import NestedReducer, Reducer, Reduction
from preimage.solvers import Reason

Result = TypeVar("Result")

# Where every size needs its own reduction, the search stops when the size is known to this fraction: going on would
# double the number of reductions and save a twentieth of the points at most.
RESOLUTION = 0.05
# Smallest size that the search by doubling tries. It meets the size of any machine in a few steps.
FIRST_SIZE = 4


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
    left_out_scores : tuple of two floats, or None
        Of the original and of machines of this size, on rows that these were not fitted to, where the size was chosen
        on such rows.
    left_out_standard_error : float or None
        Of the difference of `left_out_scores`.
    is_retrained : bool
        Whether originals that were trained without these rows stand for the original in `left_out_scores`.
    """

    machine: KernelMachine
    n_original_points: int
    error: float
    scores: tuple[float, float] | None
    is_scored_by_original: bool
    converged: bool
    reason: str
    work_ratio: float
    left_out_scores: tuple[float, float] | None = None
    left_out_standard_error: float | None = None
    is_retrained: bool = False


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
    trials: Sequence[Trial] = (),
) -> Compression:
    """The machine on few points: `n_points` of them, or as many as a tolerance asks for.

    Parameters
    ----------
    machine : KernelMachine
    reducer : Reducer
    n_points : int, float or None
        A number of points, or a fraction of those that the machine has; None lets `tolerance` decide.
    X : array of shape (n, d), optional
        Inputs where function values should agree, and on which the result is scored.
    y : array of shape (n,), optional
        Labels of X, for scores and thresholds; without them the original machine's outputs stand for them.
    tolerance : float, default=0.0
        With X, how much the score may drop; without, the largest relative error in feature space.
    shared : bool, default=True
        Whether all functions share all points; otherwise each is reduced alone, to `n_points` of its own, or to that
        fraction of the points that it has.
    rng : numpy.random.Generator, optional
    trials : sequence of Trial, default=()
        On which the size is chosen, by rows that each leaves out. Without any, X judges sizes that were fitted to it.

    Returns
    -------
    Compression
    """
    machine = _with_output_weights(machine, X)
    judge = Judge(machine, X, y)
    merged = machine.expansion.merged()
    whole = _Candidate(machine.with_expansion(merged), Reduction(merged, reason=Reason.ALL_POINTS_KEPT))
    size = merged.points.shape[0]
    if n_points is not None and shared:
        n_points = _count(n_points, size)
    if n_points is not None and shared and n_points >= size:
        # As many points as there are: the machine itself, where a search for better points could only lose digits.
        return _compared(judge, whole, size)
    reduce = _reductions(machine, reducer, X, shared, rng, nested=n_points is None and not trials)
    make = lambda n: _candidate(machine, reduce(n), X, y)
    # Points of their own for every function: with more than this for each there would be more than the machine has.
    largest = size if shared else size // len(machine.expansion)
    if n_points is not None:
        with stage("Finding points", 1) as advance:
            found = make(n_points)
            advance()
        if _count(n_points, size) >= size and not judge.is_exact(found.machine):
            found = whole
        return _compared(judge, found, size)
    nothing = replace(whole, reduction=replace(whole.reduction, reason=Reason.NOTHING_SMALLER))
    if not trials:
        is_nested = shared and isinstance(reducer, NestedReducer)
        accepts = lambda candidate: _accepts(judge, candidate.machine, tolerance)
        return _compared(judge, smallest(make, accepts, largest, 0.0 if is_nested else RESOLUTION) or nothing, size)
    tried = _on_trials(trials, reducer, shared, rng)
    chosen = first_acceptable(tried, lambda said: said.is_within(tolerance), largest)
    if chosen is None:  # the machine itself, which loses nothing
        return _compared(judge, nothing, size)
    n_chosen, said = chosen
    return replace(
        _compared(judge, make(n_chosen), size),
        left_out_scores=said.scores,
        left_out_standard_error=said.standard_error,
        is_retrained=all(trial.is_retrained for trial in trials),
    )


def _on_trials(
    trials: Sequence[Trial], reducer: Reducer, shared: bool, rng: np.random.Generator | None
) -> Callable[[int], LeftOut]:
    """From a size to what the rows that trials leave out say about it."""
    weighed = [replace(trial, machine=_with_output_weights(trial.machine, trial.X)) for trial in trials]
    rows = LeftOutRows(weighed)
    reductions = [_reductions(trial.machine, reducer, trial.X, shared, rng, nested=True) for trial in weighed]
    small = lambda trial, reduce, n: _candidate(trial.machine, reduce(n), trial.X, trial.y).machine
    return lambda n: rows.compared([small(*pair, n) for pair in zip(weighed, reductions, strict=True)])


def _compared(judge: Judge, candidate: _Candidate, n_original_points: int) -> Compression:
    """The result of a compression."""
    small, reduction = candidate.machine, candidate.reduction
    return Compression(
        machine=small,
        n_original_points=n_original_points,
        error=judge.error(small),
        scores=None if judge.X is None else (judge.original, judge.score(small(judge.X))),
        is_scored_by_original=judge.X is not None and not judge.has_labels,
        converged=reduction.converged,
        reason=reduction.reason,
        work_ratio=judge.machine.multiplications / small.multiplications,
    )


def _accepts(judge: Judge, small: KernelMachine, tolerance: float) -> bool:
    """Whether a machine is within the tolerance of the original, on the rows of the judge or in feature space."""
    if judge.X is None:
        return judge.error(small) <= tolerance
    values = small(judge.X)
    # A rare class must not vanish behind a score that hardly drops.
    return judge.score(values) >= judge.original - tolerance - ROUNDING and judge.recall(values) >= 1 - RARE_LOSS


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
    target = weighted(machine)
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


def smallest(
    make: Callable[[int], Result], accepts: Callable[[Result], bool], largest: int, resolution: float
) -> Result | None:
    """The smallest acceptable candidate, by doubling and bisection; None where not even the largest is."""
    if largest == 0:
        return None
    with stage("Sizes tried") as advance:

        def tried(size: int) -> tuple[Result, bool]:
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


def first_acceptable(
    make: Callable[[int], Result], accepts: Callable[[Result], bool], largest: int
) -> tuple[int, Result] | None:
    """The first power of two below `largest` that is acceptable, or the size in the middle of it and the one before.

    The middle is geometric: 3, 6, 11, 23, 45, … Whatever is made need not improve steadily with the size. Whoever
    accepts more still never gets a larger size, because the sizes that are tried do not depend on what is accepted.

    Returns
    -------
    The size and what was made of it; None where none is acceptable.
    """
    with stage("Sizes tried") as advance:

        def tried(size: int) -> tuple[int, Result] | None:
            made = make(size)
            advance()
            return (size, made) if accepts(made) else None

        size = 1
        while size < largest:
            found = tried(size)
            if found is not None:
                middle = round(size / 2**0.5)
                return (tried(middle) if size / 2 < middle < size else None) or found
            size *= 2
    return None
