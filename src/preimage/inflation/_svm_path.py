"""Solutions of support vector machines, followed from one change of state to the next; many machines at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from preimage._engine.linalg import product
from preimage._engine.threads import large_decomposition, run_parallel
from preimage._engine.typing import Array

# Conditions of optimality count as met within these fractions of the largest bound and of the largest decision: above
# what a ridge of 1e-8 changes, and far below the tolerance of libsvm (1e-3), which leaves the states undecided.
COEFFICIENT_TOLERANCE = 1e-7
DECISION_TOLERANCE = 1e-7
# Coefficients are not known to more digits than this fraction of the largest bound: some rounding errors.
LEAST_SLACK = 1e-14
# Random vectors that look for errors of a machine: with four, one of ten times the limit stays hidden once in 40,000.
N_PROBES = 4
# Rounding error of a product with the kernel matrix, relative to its largest entry and the sum of coefficients: that of
# one entry, for errors of different signs.
ROUNDING = float(np.finfo(np.float64).eps)
# Entries by which the tables of changed rows grow: most machines need fewer than eight.
MORE_ENTRIES = 4
# Machines leave a batch when they are at least this fraction of it, because the others are copied then.
CLEARED_FRACTION = 0.25
# Rows of the table of effects that one thread computes together: a product of the size that BLAS likes.
ROWS = 128

ZERO, FREE, BOUND, REMOVED = 0, 1, 2, 3


@dataclass(frozen=True)
class SVMProblem:
    """What the machines have in common.

    Attributes
    ----------
    K : array of shape (n, n)
    ridge : array of shape (n,)
        Added to the diagonal of K.
    signs : array of shape (n,), entries ±1
    costs : array of shape (n,)
        Largest coefficients C.
    """

    K: Array
    ridge: Array
    signs: Array
    costs: Array


class SVMMachine:
    """A machine with given states of its rows, optimal or not, and how it answers when a state changes.

    Each row has a coefficient α and a margin yf(x). One of them is given: the margin, which is one, of free rows, and
    the coefficient, which is zero or C, of others. The other one is watched: it has limits for the state to stay.
    Everything here is in these signed terms, in which the kernel matrix is yᵢyⱼkᵢⱼ.

    Attributes
    ----------
    given : array of shape (n,)
        Margins of free rows, which are one, α of others.
    watched : array of shape (n,)
        α of free rows, margins of others.
    """

    def __init__(self, problem: SVMProblem, states: Array) -> None:
        self.problem, self.states = problem, states
        self.signs, self.costs = problem.signs, problem.costs
        self.is_free = states == FREE
        self.given = np.where(self.is_free, 1.0, np.where(states == BOUND, self.costs, 0.0))
        self.watched = self._solution()
        largest = float(np.abs(self.watched[~self.is_free]).max(initial=1.0))
        self.tolerance = DECISION_TOLERANCE * largest
        # A coefficient beyond its bound by this moves decisions by no more than the tolerance of decisions.
        most, scale = float(self.costs.max()), float(np.abs(problem.K.diagonal()).max())
        unnoticed = self.tolerance / scale if scale > 0 else np.inf  # a kernel of zeros has the decisions of nothing
        self.slack = max(min(COEFFICIENT_TOLERANCE * most, unnoticed), LEAST_SLACK * most)
        self.low, self.high = self.limits(states, self.costs)

    def limits(self, states: Array, costs: Array) -> tuple[Array, Array]:
        """Between which values the watched quantities of rows may lie, tolerances included."""
        # Optimal: α = 0 with margin ≥ 1, 0 < α < C with margin 1, α = C with margin ≤ 1.
        low = np.choose(states, (1 - self.tolerance, -self.slack, -np.inf, -np.inf))
        high = np.choose(states, (np.inf, costs + self.slack, 1 + self.tolerance, np.inf))
        return low, high

    def coefficients_of(self, states: Array, watched: Array) -> Array:
        """Coefficients α of machines with given states and values of what is watched, all of shape (B, n)."""
        return np.where(states == FREE, watched, np.where(states == BOUND, self.costs, 0.0))

    def residuals(self, states: Array, watched: Array, margins: Array) -> Array:
        """How far margins are from what coefficients and conditions of optimality demand, shape (B,).

        Margins and coefficients come from the same tables, whose errors they share; here the coefficients meet the
        kernel matrix again. Products with a few random vectors see an error in any row, and cost less than all
        decisions. The vectors sum to zero, so that intercepts have no part. Then there is the ridge, which moves
        margins of free rows from one. Relative to the largest decision, or to rounding errors where these are larger.
        """
        alpha = self.coefficients_of(states, watched)
        vectors, products = self._probes
        found = alpha @ products
        gaps = np.abs(margins @ vectors - found[:, :-1]).max(axis=1)
        moved = self.problem.ridge.max() * np.max(watched, axis=1, where=states == FREE, initial=0.0)
        rounding = ROUNDING * np.abs(self.problem.K.diagonal()).max() * np.abs(found[:, -1])
        largest = np.maximum(np.maximum(margins.max(axis=1), -margins.min(axis=1)), 1.0)
        return np.maximum(gaps, moved) / (largest + rounding / DECISION_TOLERANCE)

    @property
    def residual(self) -> float:
        """`residuals` of the machine itself."""
        return float(self.residuals(self.states[None], self.watched[None], self.margins[None])[0])

    @cached_property
    def _probes(self) -> tuple[Array, Array]:
        """Random vectors that sum to zero, as columns with the signs of rows, and what coefficients are multiplied by.

        Their products with the kernel matrix, and a column of ones.
        """
        vectors = np.random.default_rng(0).normal(size=(len(self.signs), N_PROBES))
        vectors -= vectors.mean(axis=0)
        signs = self.signs[:, None]
        return signs * vectors, np.append(signs * (self.problem.K @ vectors), np.ones_like(signs), axis=1)

    @property
    def has_inner_rows(self) -> bool:
        """Whether a coefficient is inside of its bounds, which determines the intercept."""
        return bool(self.is_inner(self.states, self.watched).any())

    @property
    def margins(self) -> Array:
        """Margins of all rows, shape (n,); where the intercept is an interval, with its middle, as libsvm has it."""
        return self.margins_of(self.states[None], self.watched[None])[0]

    def is_inner(self, states: Array, watched: Array) -> Array:
        """Which coefficients are inside of their bounds."""
        return (states == FREE) & (watched > self.slack) & (watched < self.costs - self.slack)

    def margins_of(self, states: Array, watched: Array) -> Array:
        """Margins of machines with given states and values of what is watched, all of shape (B, n)."""
        # Those of the kernel matrix, to which no ridge is added.
        margins = self.coefficients_of(states, watched)
        margins *= -self.problem.ridge
        margins += np.where(states == FREE, 1.0, watched)
        for machine in np.flatnonzero(~self.is_inner(states, watched).any(axis=1)):
            alpha = self.coefficients_of(states[machine], watched[machine])
            margins[machine] += self.signs * self._to_middle(states[machine], alpha, margins[machine])
        return margins

    def _to_middle(self, states: Array, alpha: Array, margins: Array) -> float:
        """The shift of the intercept to the middle of all that are optimal, where every row is at a bound."""
        at_cost = (states != REMOVED) & (alpha > self.costs / 2)
        at_zero = ~at_cost & (states != REMOVED)
        signs, gaps = self.signs, (1 - margins) * self.signs
        from_below = (at_zero & (signs > 0)) | (at_cost & (signs < 0))
        from_above = (at_zero & (signs < 0)) | (at_cost & (signs > 0))
        if not from_below.any() or not from_above.any():
            return 0.0
        return float(gaps[from_below].max() + gaps[from_above].min()) / 2

    @cached_property
    def effects(self) -> Array:
        """Row j: the changes of all that is watched when what is given of row j grows by one, shape (n, n).

        A principal pivot transform of the kernel matrix, bordered for the intercept.
        """
        K, ridge, signs, free = self.problem.K, self.problem.ridge, self.signs, np.flatnonzero(self.is_free)
        with large_decomposition(free.size):
            inverse = np.linalg.inv(self._bordered(free))
        columns = np.concatenate([K[free], np.ones((1, len(K)))])
        columns[np.arange(free.size), free] += ridge[free]
        answers = product(inverse, columns)
        effects = np.empty(K.shape)

        def fill(start: int) -> None:
            rows = np.arange(start, min(start + ROWS, len(K)))
            some = effects[start : start + ROWS]
            np.matmul(columns[:, rows].T, answers, out=some)
            np.subtract(K[start : start + ROWS], some, out=some)
            some[np.arange(rows.size), rows] += ridge[rows]
            some[:, free] = -answers[:-1, rows].T
            inside = self.is_free[rows]
            position = np.searchsorted(free, rows[inside])
            some[inside] = answers[position]
            some[np.ix_(inside, free)] = inverse[position, :-1]
            some *= signs
            some *= signs[rows, None]

        run_parallel(fill, range(0, len(K), ROWS))
        return effects

    def _solution(self) -> Array:
        K, free, bound = self.problem.K, np.flatnonzero(self.is_free), np.flatnonzero(self.states == BOUND)
        at_bound = self.signs[bound] * self.costs[bound]
        right = np.append(self.signs[free] - K[np.ix_(free, bound)] @ at_bound, -at_bound.sum())
        with large_decomposition(free.size):
            solution = np.linalg.solve(self._bordered(free), right)
        coefficients = np.zeros(len(K))
        coefficients[bound], coefficients[free] = at_bound, solution[:-1]
        decisions = K @ coefficients + self.problem.ridge * coefficients + solution[-1]
        return self.signs * np.where(self.is_free, coefficients, decisions)

    def _bordered(self, free: Array) -> Array:
        """The kernel matrix of the free rows, with a row and a column of ones for the intercept."""
        bordered = np.ones((free.size + 1, free.size + 1))
        bordered[:-1, :-1] = self.problem.K[np.ix_(free, free)]
        np.einsum("ii->i", bordered)[:-1] += self.problem.ridge[free]
        bordered[-1, -1] = 0.0
        return bordered


@dataclass(frozen=True)
class PathEnd:
    """Where the machines of a batch have come to.

    Attributes
    ----------
    margins : array of shape (B, n)
    states : integer array of shape (B, n)
    watched : array of shape (B, n)
    is_optimal : boolean array of shape (B,)
        Whether all conditions of optimality hold; the others have taken all steps, or found no way on.
    """

    margins: Array
    states: Array
    watched: Array
    is_optimal: Array


def follow(base: SVMMachine, removed: Sequence[Array], most_steps: int, here: Array | None = None) -> PathEnd:
    """Take rows out of a machine, in several independent ways at a time.

    The coefficients of the removed rows go to zero on a straight way. What is watched is linear between changes of
    state: `there` is the end of the way if no further state changes, and the first row on the way that leaves its
    limits changes its state [1]_. Invariant: all conditions of optimality hold `here`.

    Parameters
    ----------
    base : SVMMachine
    removed : sequence of B integer arrays
        The rows that leave each machine.
    most_steps : int
        Changes of state at most.
    here : array of shape (n,), optional
        Where the way begins, where the base is not optimal: values within their limits. By default, that of the
        base, whose conditions of optimality hold.

    References
    ----------
    .. [1] G. Cauwenberghs, T. Poggio, "Incremental and Decremental Support Vector Machine Learning",
       NIPS 13, 2001.
    """
    batch = _Batch(base, removed, base.watched if here is None else here)
    n = len(base.signs)
    end = PathEnd(
        np.empty((len(removed), n)),
        np.empty((len(removed), n), dtype=np.int8),
        np.empty((len(removed), n)),
        np.zeros(len(removed), dtype=bool),
    )
    for _ in range(most_steps):
        there = batch.target()
        changes = batch.first_changes(there)
        is_done = ~batch.is_lost
        is_done[changes.machine] = False
        if np.mean(is_done | batch.is_lost) >= CLEARED_FRACTION:
            batch.leave(is_done, there, end, is_optimal=True)
            batch.leave(batch.is_lost, batch.here, end, is_optimal=False)
            kept = np.flatnonzero(~is_done & ~batch.is_lost)
            if not kept.size:
                return end
            changes = changes.renumbered(np.searchsorted(kept, changes.machine))
            batch, there = batch.take(kept), there[kept]
        batch.make(changes, there)
    batch.leave(np.ones(batch.numbers.size, dtype=bool), batch.here, end, is_optimal=False)
    return end


class _Changes(NamedTuple):
    """One change of state for each of some machines.

    Attributes
    ----------
    machine, row, state : integer arrays of shape (k,)
        Which row of which machine, and the state it will have.
    fraction : array of shape (k,)
        How far on the way.
    """

    machine: Array
    row: Array
    state: Array
    fraction: Array

    def renumbered(self, machine: Array) -> "_Changes":
        return self._replace(machine=machine)


class _Batch:
    """Machines on their way, each with a list of entries: the rows whose states differ from those of the base.

    Attributes
    ----------
    numbers : positions of the machines in the first batch
    here : what is watched, shape (B, n)
    states : shape (B, n)
    low, high : limits of what is watched
    rows : integer array of shape (B, m)
        Row of each entry, or −1 for none.
    is_exchanged : boolean array of shape (B, m)
        Whether what is watched and what is given have changed their roles: rows that were free, or are.
    change : array of shape (B, m)
        Of exchanged rows, the change of what was watched in the base, and is given now; of others, of what is given.
    n_free : integer array of shape (B,)
    load : array of shape (B,)
        What the other rows have to take over: its sign says which way the intercept goes where no row is free.
    is_lost : boolean array of shape (B,)
        Machines for which there is no way on.
    """

    def __init__(self, base: SVMMachine, removed: Sequence[Array], here: Array) -> None:
        size, counts = len(removed), np.array([rows.size for rows in removed])
        self.base, self.numbers = base, np.arange(size)
        self.here, self.states = np.tile(here, (size, 1)), np.tile(base.states.astype(np.int8), (size, 1))
        self.low, self.high = np.tile(base.low, (size, 1)), np.tile(base.high, (size, 1))
        self.rows = np.full((size, counts.max() + MORE_ENTRIES), -1)
        self.is_exchanged, self.change = np.zeros(self.rows.shape, dtype=bool), np.zeros(self.rows.shape)
        self.is_lost = np.zeros(size, dtype=bool)
        machine, rows = np.repeat(self.numbers, counts), np.concatenate(removed)
        entry = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
        alpha = np.where(base.is_free[rows], base.watched[rows], base.given[rows])
        self.states[machine, rows] = REMOVED
        self.low[machine, rows], self.high[machine, rows] = -np.inf, np.inf
        self.rows[machine, entry], self.is_exchanged[machine, entry] = rows, base.is_free[rows]
        self.change[machine, entry] = -alpha
        self.load = np.bincount(machine, alpha * base.signs[rows], minlength=size)
        self.n_free = (self.states == FREE).sum(axis=1)
        for lonely in np.flatnonzero(self.n_free == 0):
            self._free_nearest(int(lonely))

    def take(self, kept: Array) -> "_Batch":
        """The batch of some of the machines."""
        other = object.__new__(_Batch)
        other.base = self.base
        for name, each in vars(self).items():
            if name != "base":
                setattr(other, name, each[kept])
        return other

    def target(self) -> Array:
        """What is watched at the end of the way, if no further state changes."""
        base, rows, exchanged = self.base, self.rows, self.is_exchanged
        # Exchanged rows demand the change of what was watched; the others have theirs.
        system = base.effects[rows[:, None, :], rows[:, :, None]]
        system = np.where(exchanged[:, :, None], system, np.eye(rows.shape[1]))
        causes = _solved(system, self.change)
        self.is_lost |= ~np.isfinite(causes).all(axis=1)
        causes[self.is_lost] = 0.0
        used = (rows >= 0) & (causes != 0)
        begins = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        combinations = csr_array((causes[used], rows[used], begins), shape=(len(rows), len(base.signs)))
        there = combinations @ base.effects
        there += base.watched
        machine, entry = np.nonzero(exchanged)
        row = rows[machine, entry]
        there[machine, row] = base.given[row] + causes[machine, entry]
        return there

    def first_changes(self, there: Array) -> _Changes:
        """The first row of each machine that leaves its limits on the way; none where no row does."""
        is_outside = there < self.low
        is_outside |= there > self.high
        is_outside[self.is_lost] = False
        machine, row = np.divmod(np.flatnonzero(is_outside), is_outside.shape[1])  # faster than `nonzero` of two axes
        state = self.states[machine, row]
        first, last = self.here[machine, row], there[machine, row]
        way = last - first
        bound = np.where(state != FREE, 1.0, np.where(way > 0, self.base.costs[row], 0.0))
        fraction = np.clip(np.divide(bound - first, way, out=np.zeros_like(way), where=way != 0), 0, 1)
        following = np.where(state != FREE, FREE, np.where(way > 0, BOUND, ZERO))
        order = np.lexsort((fraction, machine))
        order = order[np.unique(machine[order], return_index=True)[1]]
        return _Changes(machine[order], row[order], following[order], fraction[order])

    def make(self, changes: _Changes, there: Array) -> None:
        """Go to the changes, and make them; `there` is overwritten."""
        part = np.zeros((len(there), 1))
        part[changes.machine, 0] = changes.fraction
        there -= self.here
        there *= part
        self.here += there
        self._change(changes.machine, changes.row, changes.state)
        for number in changes.machine[self.n_free[changes.machine] == 0]:
            self._free_nearest(int(number))

    def leave(self, gone: Array, there: Array, end: PathEnd, *, is_optimal: bool) -> None:
        """Record the machines of a mask."""
        if not gone.any():
            return
        numbers, states, there = self.numbers[gone], self.states[gone], there[gone]
        end.margins[numbers], end.states[numbers] = self.base.margins_of(states, there), states
        end.watched[numbers], end.is_optimal[numbers] = there, is_optimal

    def _change(self, machine: Array, row: Array, state: Array) -> None:
        """Let one row of each of some machines have another state."""
        base = self.base
        before, cost = self.states[machine, row], base.costs[row]
        self.states[machine, row] = state
        self.low[machine, row], self.high[machine, row] = base.limits(state, cost)
        becomes_free = state == FREE
        self.n_free[machine] += np.where(becomes_free, 1, -1)
        # A row at a bound has margin one when it becomes free, or stops being so.
        self.here[machine, row] = np.where(becomes_free, np.where(before == BOUND, cost, 0.0), 1.0)
        was_free, coefficient = base.is_free[row], np.where(state == BOUND, cost, 0.0)
        # What is given from now on, relative to the base.
        wanted = np.where(becomes_free, 1.0, coefficient)
        old = np.where(was_free == becomes_free, base.given[row], base.watched[row])
        is_as_before = (was_free == becomes_free) & (wanted == old)
        entry = self._entry(machine, row)
        self.rows[machine, entry] = np.where(is_as_before, -1, row)
        self.is_exchanged[machine, entry] = was_free != becomes_free
        self.change[machine, entry] = np.where(is_as_before, 0.0, wanted - old)

    def _entry(self, machine: Array, row: Array) -> Array:
        """Where the entry of a row is in the list of its machine, or the first empty place."""
        if (self.rows[machine, -1] >= 0).any():
            more = ((0, 0), (0, MORE_ENTRIES))
            self.rows = np.pad(self.rows, more, constant_values=-1)
            self.is_exchanged, self.change = np.pad(self.is_exchanged, more), np.pad(self.change, more)
        is_here = self.rows[machine] == row[:, None]
        is_empty = self.rows[machine] < 0
        return np.where(is_here.any(axis=1), is_here.argmax(axis=1), is_empty.argmax(axis=1))

    def _free_nearest(self, machine: int) -> None:
        """Where no row is free, move the intercept until one is that can take over what the removed rows had."""
        signs, states, here = self.base.signs, self.states[machine], self.here[machine]
        # Where nothing is taken over, both ends of the interval of the intercept will do.
        for direction in (np.sign(self.load[machine]),) if self.load[machine] else (1.0, -1.0):
            able = np.flatnonzero(
                ((states == ZERO) & (signs == direction)) | ((states == BOUND) & (signs == -direction))
            )
            if able.size:
                break
        else:
            self.is_lost[machine] = True
            return
        gaps = np.abs(here[able] - 1)
        nearest = int(np.argmin(gaps))
        here -= signs * direction * gaps[nearest]
        self._change(np.array([machine]), able[nearest : nearest + 1], np.array([FREE]))


def _solved(systems: Array, right: Array) -> Array:
    """Solutions of small systems, shape (B, m); NaN for those that are singular."""
    try:
        return np.linalg.solve(systems, right[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
        for number, (system, side) in enumerate(zip(systems, right, strict=True)):
            try:
                found[number] = np.linalg.solve(system, side)
            except np.linalg.LinAlgError:
                continue
        return found
