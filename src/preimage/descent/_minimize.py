"""The batched, safeguarded descent: many small problems minimised together, each with a step length of its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, Self

import array_api_compat.numpy
import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    concat_rows,
    epsilon,
    from_numpy,
    itemsize,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array
from preimage.kernels import Kernel


class Batched:
    """Base of frozen dataclasses with one row per problem.

    Fields are arrays, other values of this kind, tuples of such values, or None. NumPy arrays and arrays of
    another library may be mixed.
    """

    def take(self, rows: np.ndarray) -> Self:
        """The problems with the given NumPy indices."""
        try:
            return _map_arrays(lambda array: take_rows(array, rows), self)
        except IndexError as error:
            raise ValueError(
                f"{type(self).__name__}.take needs numbers of problems, an array of integers from 0 on; got a number "
                f"that no problem has ({error})."
            ) from error

    def where(self, mask: Array, other: Self) -> Self:
        """Row by row, this value where the boolean array `mask` holds and `other` elsewhere."""
        xp, columns = array_namespace(mask), mask[:, None]

        def pick(mine: Array, theirs: Array) -> Array:
            if isinstance(mine, np.ndarray) and xp is not array_api_compat.numpy:
                return np.where(to_numpy(mask if mine.ndim == 1 else columns), mine, theirs)
            return xp.where(mask if mine.ndim == 1 else columns, mine, theirs)

        return _map_arrays(pick, self, other)

    def replaced(self, rows: np.ndarray, other: Self) -> Self:
        """This value with the problems `rows` taken from `other`."""
        size = next(iter(vars(self).values())).shape[0]  # of the first field, which is an array
        order = np.arange(size)
        order[rows] = size + np.arange(len(rows))
        return self.join([self, other]).take(order)

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """One value from those of consecutive blocks of problems."""
        if not parts:
            raise ValueError(f"A {cls.__name__} is that of one or more problems; got none. Pass one row or more.")
        return parts[0] if len(parts) == 1 else _map_arrays(lambda *arrays: concat_rows(*arrays), *parts)


def _map_arrays(function: Callable, *values: Any) -> Any:
    """`function` applied to the matching arrays of values of one type."""
    first = values[0]
    if first is None:
        return None
    if isinstance(first, Batched):
        parts = zip(*(vars(value).values() for value in values), strict=True)  # a dataclass has its fields in order
        return type(first)(*[_map_arrays(function, *part) for part in parts])
    if isinstance(first, tuple):
        return tuple(_map_arrays(function, *items) for items in zip(*values, strict=True))
    return function(*values)


class Reason(StrEnum):
    """Why a problem stopped. The text of a reason, `str(reason)`, completes "it stopped because".

    See Also
    --------
    PreimageResult : Has one reason per problem.
    preimage.reduced_sets.Reduction : Has a reason, too.

    Examples
    --------
    >>> from preimage.solvers import Reason
    >>> str(Reason.ITERATION_LIMIT)
    'the iteration limit was reached'
    """

    CONVERGED = "the stopping rule was met"
    ITERATION_LIMIT = "the iteration limit was reached"
    STALLED = "no step lowered the objective"
    VANISHING = "kernel values vanish around the start"
    RESTRICTED = "the objective has no minimum; this is the best point within the range of the data"
    DIRECT = "a closed formula gave the result"
    NEAREST = "no other of the given rows is nearer"
    UNDEFINED = "the closed formula has no finite value"
    NOT_EXACT = "there is no exact pre-image"
    LEARNED = "no nearest image lies near the data; the learned map answered instead"
    NO_DESCENT = "the descent did not lower the error, and its start was kept"
    DEPENDENT_IMAGES = "images of the points are linearly dependent"
    ALL_POINTS_KEPT = "all points are kept"
    NOTHING_SMALLER = "no smaller machine is within the tolerance"

    @staticmethod
    def array(size: int, reason: "Reason") -> np.ndarray:
        """An array of `size` equal reasons; NumPy's own functions would make plain strings of them."""
        reasons = np.empty(size, dtype=object)
        reasons[:] = reason
        return reasons

    @staticmethod
    def choose(mask: np.ndarray, if_true: "Reason", if_false: "Reason") -> np.ndarray:
        """One reason where the boolean array `mask` holds, the other elsewhere."""
        return np.array([if_false, if_true], dtype=object)[np.asarray(mask).astype(int)]


@dataclass(frozen=True)
class PreimageResult(Batched):
    """Pre-images of q targets, and how they were found.

    Attributes
    ----------
    points : array of shape (q, d)
        The pre-images z.
    objective : array of shape (q,)
        ρ(z) = ‖φ(z) − Ψ‖² plus the penalty of the solver. Results of estimators have the largest number instead of one
        that is beyond it.
    n_iter : integer array of shape (q,)
        Iterations of each problem, in NumPy.
    converged : boolean array of shape (q,)
        Whether each problem met its stopping rule, in NumPy.
    reason : array of q members of `Reason`
        Why each problem stopped, in NumPy. Each is also a string that says so in words.

    See Also
    --------
    Reason : The reasons for which a problem stops.
    preimage.KernelPCA.find_preimages : Returns such a result.
    ParametrizedResult : The result of a search within a family.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> kpca = KernelPCA(2, gamma=0.1).fit(X)
    >>> result = kpca.find_preimages(kpca.transform(X[:3]))
    >>> result.points.shape, str(result.reason[0])
    ((3, 2), 'a closed formula gave the result')
    """

    points: Array
    objective: Array
    n_iter: np.ndarray
    converged: np.ndarray
    reason: np.ndarray

    def within_range(self) -> Self:
        """This result with finite objectives: the largest number where they are beyond it, or were not found.

        All else is shared with this result, which is returned itself where its objectives are finite.
        """
        xp = array_namespace(self.objective)
        is_number = xp.isfinite(self.objective)
        if bool(xp.all(is_number)):
            return self
        largest = xp.full_like(self.objective, float(xp.finfo(self.objective.dtype).max))
        return replace(self, objective=xp.where(is_number, self.objective, largest))

    def better_of(self, other: Self) -> Self:
        """Problem by problem, the result with the smaller objective."""
        mine = ~(other.objective < self.objective)  # also where the other one is not a number
        return replace(self.where(mine, other), n_iter=self.n_iter + other.n_iter)


# Finished problems leave the batch only when they are at least this fraction of it, because all the others are copied
# then. At ten times the fraction half of the work would go into problems that are done.
CLEARED_FRACTION = 0.05
# Sums of kernel values at or below this have no correct digits left: the smallest normal numbers are 1e-38 in single
# and 1e-308 in double precision, and gradients multiply the sums by coefficients and differences of inputs.
VANISHING_SINGLE, VANISHING_DOUBLE = 1e-30, 1e-280


@gives_finite_numbers("objective")  # which is that of the start where no step has a smaller one
def minimize_rows(
    objective: "Objective",
    start: Array,
    box: "Box | tuple[Array | None, Array | None] | None",
    rule: "StepRule",
    max_iter: int,
    least: int = 0,
) -> PreimageResult:
    """Minimise one objective per row of `start`, all rows together; no value ends above that of its start in the box.

    In each iteration the rule proposes a point per row and judges the values found there. Rows for which the proposal
    is no better stay where they are and try a shorter step; rows that are done leave the batch.

    Parameters
    ----------
    objective : Objective
        One function per row.
    start : array of shape (q, d)
        Where each row begins.
    box : pair of arrays of shape (d,), or None
        Lower and upper bounds of each variable, either of which may be None; None has no bounds.
    rule : StepRule
        `QuasiNewton` for any objective; `FixedPoint` brings a rule of its own.
    max_iter : int
        Largest number of steps.
    least : int, default=0
        Steps that are taken before a row may rest: more than none where starts have rounding errors of their own.

    Returns
    -------
    PreimageResult

    See Also
    --------
    Objective : What is minimised.
    QuasiNewton : The rule for any objective.
    Gradient : The solver made of these parts.

    Examples
    --------
    Two paraboloids, one in a box that ends before the minimum:

    >>> import numpy as np
    >>> from preimage.solvers import Evaluation, Objective, QuasiNewton, minimize_rows
    >>> class Squares(Objective):
    ...     def __init__(self, centers):
    ...         self.centers = centers
    ...     def at(self, Z):
    ...         steps = Z - self.centers
    ...         return Evaluation((steps**2).sum(axis=1), 2 * steps, np.zeros(len(Z)))
    ...     def take(self, rows):
    ...         return Squares(self.centers[rows])
    >>> objective = Squares(np.array([[1.0, 0.0], [5.0, 0.0]]))
    >>> box, rule = (None, np.array([2.0, 2.0])), QuasiNewton(size=1.0, tol=1e-8)
    >>> result = minimize_rows(objective, np.zeros((2, 2)), box, rule, max_iter=50)
    >>> result.points.round(4)
    array([[1., 0.],
           [2., 0.]])
    """
    box = box if isinstance(box, Box) else Box(*(box or ()))
    Z = box.clip(start)
    xp = array_namespace(Z)
    here = objective.at(Z)
    state = rule.begin(here)
    batch = _Batch(Z.shape[0])
    batch.note(0, {Reason.VANISHING: here.vanishes()})
    if least == 0:
        batch.note(0, {Reason.CONVERGED: rule.at_rest(state, Z)})
    # Invariant: `here` is the objective at Z, `state` belongs to both, and nothing changes for rows that are done.
    for step in range(1, max_iter + 1):
        if batch.all_done():
            break
        if batch.is_worth_clearing():
            stay = batch.clear(rule.settled(state, Z, box), here.value)
            Z = take_rows(Z, stay)
            here, state, objective = here.take(stay), state.take(stay), objective.take(stay)
        trial = rule.propose(state, Z, here, box)
        there = objective.at(trial)
        done = from_numpy(batch.done, Z, dtype=xp.bool)
        verdict = rule.judge(state, Z, here, trial, there, box, ~done)
        better, state = verdict.better, verdict.state
        Z = xp.where(better[:, None], trial, Z)
        here = there.where(better, here)
        batch.note(
            step,
            {
                Reason.VANISHING: here.vanishes(),
                Reason.CONVERGED: verdict.converged | rule.at_rest(state, Z) if step >= least else verdict.converged,
                Reason.STALLED: verdict.stalled,
            },
        )
    return batch.result(rule.settled(state, Z, box), here.value)


@dataclass(frozen=True)
class Evaluation(Batched):
    """An objective at one point per problem, with derivatives.

    Attributes
    ----------
    value, gradient : arrays of shape (q,), (q, d)
        The objective and its gradient.
    noise : array of shape (q,)
        Bound of the rounding errors of the value.
    curvature : array of shape (q,) or None
        The D for which z − gradient/D is the fixed point of the papers; None for objectives without one.
    safe_curvature : array of shape (q,) or None
        The same with the moduli of all terms: positive wherever any kernel value is.

    See Also
    --------
    Objective : Returns an evaluation at each point.
    minimize_rows : Looks at nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.solvers import Evaluation
    >>> Z = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> there = Evaluation((Z**2).sum(axis=1), 2 * Z, np.zeros(2))
    >>> there.take([1]).gradient
    array([[0., 2.]])
    """

    value: Array
    gradient: Array
    noise: Array
    curvature: Array = None
    safe_curvature: Array = None

    def penalized(self, Z: Array, anchor: Array, penalty: float) -> "Evaluation":
        """The same with λ‖z − anchor‖² added."""
        if penalty == 0:
            return self
        shift = Z - anchor
        added = penalty * array_namespace(Z).sum(shift * shift, axis=1)
        raised = lambda curvature: None if curvature is None else curvature + 2 * penalty
        return Evaluation(
            self.value + added,
            self.gradient + 2 * penalty * shift,
            self.noise + epsilon(Z.dtype) * added,
            raised(self.curvature),
            raised(self.safe_curvature),
        )

    def vanishes(self) -> Array:
        """Where kernel values are too small to have correct digits, so that the gradient has no direction."""
        xp = array_namespace(self.value)
        if self.safe_curvature is None:
            return xp.zeros_like(self.value, dtype=xp.bool)
        single = itemsize(self.value.dtype) == 4
        return self.safe_curvature <= (VANISHING_SINGLE if single else VANISHING_DOUBLE)


class Objective(ABC):
    """One function per row.

    A subclass gives values and gradients at one point per row, and can be restricted to some rows: rows that are done
    leave the batch.

    See Also
    --------
    Evaluation : What `at` returns.
    minimize_rows : The minimiser; its page has a complete example.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.solvers import Evaluation, Objective
    >>> class Squares(Objective):
    ...     def at(self, Z):
    ...         return Evaluation((Z**2).sum(axis=1), 2 * Z, np.zeros(len(Z)))
    ...     def take(self, rows):
    ...         return self
    >>> Squares().at(np.array([[3.0, 4.0]])).value
    array([25.])
    """

    @abstractmethod
    def at(self, Z: Array) -> Evaluation:
        """The functions at the rows of Z, the j-th function at the j-th row."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> "Objective":
        """The functions with the given NumPy indices."""


@dataclass(frozen=True)
class SameFunction(Objective):
    """The same function for every row: `evaluate` maps Z of shape (q, d) to values (q,) and gradients (q, d)."""

    evaluate: Callable[[Array], tuple[Array, Array]]

    def at(self, Z: Array) -> Evaluation:
        values, gradients = self.evaluate(Z)
        return Evaluation(values, gradients, 4 * epsilon(Z.dtype) * array_namespace(Z).abs(values))

    def take(self, rows: np.ndarray) -> "SameFunction":
        return self


def spread(points: Array) -> float:
    """Root mean squared distance of the points from their mean; one when they coincide.

    The length scale of a problem: steps and tolerances of rules are relative to it.
    """
    points = to_dense(points)
    xp = array_namespace(points)
    squared = float(xp.mean(xp.sum((points - xp.mean(points, axis=0)) ** 2, axis=1)))
    return squared**0.5 if squared > 0 else 1.0


@dataclass(frozen=True)
class Box:
    """Bounds on inputs, lower ≤ z ≤ upper: arrays of shape (d,), or None for no bound on that side."""

    lower: Array = None
    upper: Array = None

    @classmethod
    def of_inputs(cls, lower: Any, upper: Any, kernel: Kernel, like: Array) -> Self:
        """Bounds given by a user, on the device of `like`; `lower` is at least the smallest input of the kernel."""
        least = kernel.lowest_input
        if least is not None:
            lower = least if lower is None else np.maximum(np.asarray(lower, dtype=float), least)
        if lower is None and upper is None:
            return cls()

        def bound(value: Any, default: float) -> Array:
            value = default if value is None else to_numpy(value) if hasattr(value, "shape") else value
            return from_numpy(np.array(np.broadcast_to(value, tuple(like.shape[1:]))), like)

        box = cls(bound(lower, -np.inf), bound(upper, np.inf))
        if bool(array_namespace(like).any(box.lower > box.upper)):
            raise ValueError("Bounds need lower ≤ upper in every coordinate.")
        return box

    def within(self, lower: Array, upper: Array) -> "Box":
        """The part of this box between `lower` and `upper`; where there is none, the nearest edge of this box."""
        return Box(self.clip(lower), self.clip(upper))

    def clip(self, Z: Array) -> Array:
        """The nearest points of the box; Z itself where it has no bounds."""
        self._require_coordinates(Z)
        xp = array_namespace(Z)
        Z = Z if self.lower is None else xp.where(self.lower > Z, self.lower, Z)
        return Z if self.upper is None else xp.where(self.upper < Z, self.upper, Z)

    def free(self, Z: Array, gradient: Array) -> Array:
        """One where a coordinate may follow −gradient, zero where it would leave the box; broadcasts to (q, d)."""
        self._require_coordinates(Z)
        xp = array_namespace(Z)
        free = xp.ones_like(Z[:, :1])
        if self.lower is not None:
            free = free * xp.astype((self.lower < Z) | ~(gradient > 0), Z.dtype)
        if self.upper is not None:
            free = free * xp.astype((self.upper > Z) | ~(gradient < 0), Z.dtype)
        return free

    def _require_coordinates(self, Z: Array) -> None:
        for bound in (self.lower, self.upper):
            if bound is not None and bound.shape and Z.shape[-1] not in (1, bound.shape[-1]):
                raise ValueError(f"The box has {bound.shape[-1]} coordinates; got points of shape {tuple(Z.shape)}.")


class Verdict(NamedTuple):
    """What a step rule says of the points it proposed: three boolean arrays of shape (q,), and its next state."""

    better: Array
    converged: Array
    stalled: Array
    state: Batched


class StepRule(ABC):
    """How a descent moves; its state is a `Batched` value that travels with the rows."""

    @abstractmethod
    def begin(self, here: Evaluation) -> Batched:
        """The state at the start."""

    @abstractmethod
    def propose(self, state: Any, Z: Array, here: Evaluation, box: Box) -> Array:
        """The point to try next, for each row."""

    @abstractmethod
    def judge(
        self, state: Any, Z: Array, here: Evaluation, trial: Array, there: Evaluation, box: Box, open_rows: Array
    ) -> Verdict:
        """Which proposals improve on Z, which rows are finished, and the state that follows.

        `open_rows` marks the rows that may still move; a proposal is better for these alone.
        """

    def at_rest(self, state: Any, Z: Array) -> Array:
        """Which rows need no further evaluation, whatever came before: their next step is too short to matter."""
        xp = array_namespace(Z)
        return xp.zeros_like(Z[:, 0], dtype=xp.bool)

    def settled(self, state: Any, Z: Array, box: Box) -> Array:
        """The results of rows that are done: Z, or Z after a last step that is too short to evaluate."""
        return Z


class _Batch:
    """Which problems are still in work, and the results of those that have left."""

    def __init__(self, size: int) -> None:
        self.active = np.arange(size)
        self.done = np.zeros(size, bool)
        self.reason = Reason.array(size, Reason.ITERATION_LIMIT)
        self.steps = np.zeros(size, int)
        self._numbers: list[np.ndarray] = []
        self._left: list[PreimageResult] = []

    def note(self, step: int, reasons: dict[Reason, Array]) -> None:
        """Record the problems that stop at this step; where several reasons hold, the first one counts."""
        self.steps[~self.done] = step
        for reason, rows in reasons.items():
            new = to_numpy(rows) & ~self.done
            self.reason[new] = reason
            self.done |= new

    def all_done(self) -> bool:
        return bool(self.done.all())

    def is_worth_clearing(self) -> bool:
        return bool(self.done.sum() >= max(1, CLEARED_FRACTION * len(self.done)))

    def clear(self, points: Array, objective: Array) -> np.ndarray:
        """Take the results of the problems that are done; returns the positions of the others."""
        self._leave(np.flatnonzero(self.done), points, objective)
        stay = np.flatnonzero(~self.done)
        self.active, self.reason, self.steps = self.active[stay], self.reason[stay], self.steps[stay]
        self.done = np.zeros(stay.size, bool)
        return stay

    def result(self, points: Array, objective: Array) -> PreimageResult:
        """The results of all problems, in their first order."""
        self._leave(np.arange(len(self.done)), points, objective)
        return PreimageResult.join(self._left).take(np.argsort(np.concatenate(self._numbers)))

    def _leave(self, rows: np.ndarray, points: Array, objective: Array) -> None:
        reason = self.reason[rows]
        self._numbers.append(self.active[rows])
        self._left.append(
            PreimageResult(
                take_rows(points, rows),
                take_rows(objective, rows),
                self.steps[rows],
                reason == Reason.CONVERGED,
                reason,
            )
        )
