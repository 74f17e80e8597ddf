"""Decisions of support vector machines at points they were not fitted on, by changes of their solution."""

from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC

from preimage._progress import stage
from preimage._typing import Array
from preimage.calibration._samples import check_sample

# Conditions of optimality count as met within these fractions of the largest bound and of the largest decision: above
# what the ridge below changes, and far below the tolerance of libsvm (1e-3), which leaves the states undecided.
COEFFICIENT_TOLERANCE = 1e-7
DECISION_TOLERANCE = 1e-7
# Added to the diagonal, as a fraction of its largest entry: singular Gram matrices (duplicates, linear kernels) then
# have inverses, and decisions move by no more than this times the largest cost.
RIDGE = 1e-8
# Coefficients within this fraction of a bound start at the bound; libsvm sets bounds exactly.
AT_BOUND = 1e-6
# Block pivots: most rows need less than six; where few rows are free, pivots may cycle. The machine on all rows, which
# starts at libsvm's states, may take more. Steps change one state each; the limit ends cycles.
MOST_PIVOTS = 12
MOST_FIRST_PIVOTS = 100
MOST_STEPS = 60
# Tolerance of libsvm where it has to fit a machine: a thousand times below its default, because results are compared
# with exact ones.
REFIT_TOLERANCE = 1e-6
# Rows whose first answers are computed together: a few arrays of this many rows of length n are held, 4 MB each for
# 2,000 rows.
BLOCK = 256

ZERO, FREE, BOUND = 0, 1, 2


@dataclass(frozen=True)
class SVMLeaveOneOut:
    """Decisions of support vector machines that were fitted without the row they judge.

    Attributes
    ----------
    values : array of shape (n,)
    levels : array of shape (n,)
        Mean decision of each of these machines over all rows. It moves away from the class of the row left out.
    refitted : integer array
        Rows whose machine libsvm had to fit, because changes of states did not end, or left no row free.
    """

    values: Array
    levels: Array
    refitted: Array


def svm_leave_one_out(
    K: Array,
    signs: Array,
    coefficients: Array,
    costs: Array,
    decisions: Array,
    units: Array | None = None,
    weights: Array | None = None,
) -> SVMLeaveOneOut:
    r"""Decisions of a two-class support vector machine at each training point, were it fitted without that point.

    A machine has rows at zero, free rows (on the margin) and rows at their bound :math:`C_i`. Rows with zero
    coefficients do not take part: leaving them out changes nothing. To leave out another one, its coefficient goes to
    zero, and what is free answers through the inverse of the bordered Gram matrix of the free rows, which is computed
    once,

    .. math:: M = \begin{pmatrix} K_{FF} & 1 \\ 1^\top & 0 \end{pmatrix}.

    If no other row changes its state, this is the span rule [1]_ for a free row,
    :math:`y_p f_{-p}(x_p) = 1 - \alpha_p / (M^{-1})_{pp}`. Rows that violate the conditions of optimality change their
    state, all at once, and a system of the size of these changes is solved again. Where this cycles, the coefficient
    goes to zero step by step, from one change of state to the next [2]_. Both end when all conditions hold:
    the result is exact. Rows for which both fail (no free row is left) are left out by libsvm. The first answers, which
    are final for a third of the rows or more, are computed for all rows together.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix.
    signs : array of shape (n,), entries ±1
    coefficients : array of shape (n,)
        αᵢyᵢ of the machine on all rows.
    costs : array of shape (n,)
        Bounds Cᵢ of α, with class and sample weights; rows of cost zero are not in the machine.
    decisions : array of shape (n,)
        f(xᵢ) of the machine on all rows.
    units : integer array of shape (n,), optional
        Rows with the same number are left out together, as copies of one sample should be. By default, each row alone.
    weights : array of shape (n,), optional
        Of rows in the mean decisions; zero for those that are not in the machine. By default, all that are count alike.

    Returns
    -------
    SVMLeaveOneOut
        Rows without which a class would be empty keep their decisions: there is no machine without them.

    References
    ----------
    .. [1] O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee, "Choosing Multiple Parameters for Support Vector
       Machines", Machine Learning 46, 2002.
    .. [2] G. Cauwenberghs, T. Poggio, "Incremental and Decremental Support Vector Machine Learning", NIPS 13, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from preimage.calibration import svm_leave_one_out
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1, -1, 1, 1])
    >>> svm = SVC(kernel="linear", C=10, tol=1e-6).fit(X, y)
    >>> alpha = np.zeros(4)
    >>> alpha[svm.support_] = svm.dual_coef_[0]
    >>> svm_leave_one_out(X @ X.T, y, alpha, np.full(4, 10.0), svm.decision_function(X)).values.round(4)
    array([-2.    , -0.3333,  0.3333,  2.    ])
    """
    K = np.asarray(K, dtype=np.float64)
    decisions = check_sample("svm_leave_one_out", "decisions", decisions, least=2)
    signs, coefficients, costs = (np.asarray(each, dtype=np.float64) for each in (signs, coefficients, costs))
    weights = (costs > 0).astype(float) if weights is None else np.asarray(weights, dtype=np.float64)
    fractions = weights / weights.sum()
    values, levels, failed = decisions.copy(), np.full(len(decisions), fractions @ decisions), []
    base = _Base.of(K, signs, coefficients, costs)
    alone, together = _left_out_rows(signs, coefficients, costs, units)
    with stage("Leaving out samples", alone.size + len(together)) as advance:
        if base is not None and alone.size:
            # Final where no other row violates its condition (state None); the others continue from the states found
            # here.
            states, at_once, level = base.first_answers(alone, fractions)
            done = np.array([each is None for each in states])
            values[alone[done]], levels[alone[done]] = at_once[done], level[done]
            left = [(np.array([p]), each) for p, each in zip(alone, states, strict=True) if each is not None]
            advance(int(done.sum()))
        else:
            left = [(np.array([p]), None) for p in alone]
        for rows, states in [*left, *((rows, None) for rows in together)]:
            others = None if base is None else base.without(rows, states)
            if others is None:
                failed.extend(rows)
                others = _refitted(K, signs, costs, rows)
            values[rows], levels[rows] = others[rows], fractions @ others
            advance()
    return SVMLeaveOneOut(values, levels, np.array(sorted(failed), dtype=int))


def _left_out_rows(signs: Array, coefficients: Array, costs: Array, units: Array | None) -> tuple[Array, list[Array]]:
    """Rows that are left out alone, and arrays of rows that are left out together, where that changes the machine."""
    active = costs > 0
    n_of = {side: np.sum((signs == side) & active) for side in (-1, 1)}
    units = np.arange(len(signs)) if units is None else np.asarray(units)
    order = np.argsort(units, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(units[order])) + 1)
    groups = [rows[active[rows]] for rows in groups if coefficients[rows].any()]
    kept = [rows for rows in groups if all(np.sum(signs[rows] == side) < n_of[side] for side in (-1, 1))]
    alone = np.array([rows[0] for rows in kept if rows.size == 1], dtype=np.intp)
    return np.sort(alone), [rows for rows in kept if rows.size > 1]


class _Base:
    """A machine on all rows, solved to rounding errors, and everything that does not depend on the row left out.

    Attributes
    ----------
    free : integer array of shape (f,)
        The free rows.
    position : integer array of shape (n,)
        The position of each row among the free ones, or −1.
    inverse : array of shape (f + 1, f + 1)
        Of the Gram matrix of the free rows, bordered for the intercept.
    answers : array of shape (f + 1, n)
        Minus the change of free coefficients and intercept when the coefficient of a row grows by one.
    rest : array of shape (n, n)
        The change of all decisions then, after the free rows have answered.
    """

    def __init__(
        self, K: Array, signs: Array, costs: Array, states: Array, coefficients: Array, intercept: float
    ) -> None:
        self.signs, self.costs, self.states = signs, costs, states
        self.coefficients = coefficients
        self.free = np.flatnonzero(states == FREE)
        self.position = np.full(len(signs), -1)
        self.position[self.free] = np.arange(self.free.size)
        self.decisions = K @ coefficients + intercept
        self.inverse = np.linalg.inv(_bordered(K[np.ix_(self.free, self.free)]))
        columns = np.concatenate([K[self.free], np.ones((1, len(signs)))])
        self.answers = self.inverse @ columns
        self.rest = K - columns.T @ self.answers

    @classmethod
    def of(cls, K: Array, signs: Array, coefficients: Array, costs: Array) -> "_Base | None":
        """The machine that libsvm found, made exact; None where no states with a free row are optimal."""
        K = K + RIDGE * np.diagonal(K).max() * np.eye(len(K))
        alpha = signs * coefficients
        nearly = AT_BOUND * costs  # rows of weight zero count as zero
        states = np.where(alpha <= nearly, ZERO, np.where(alpha >= costs - nearly, BOUND, FREE))
        for _ in range(MOST_FIRST_PIVOTS):
            if not np.any(states == FREE):
                return None
            try:
                coefficients, intercept = _solve(K, signs, costs, states)
            except np.linalg.LinAlgError:  # of an indefinite kernel
                return None
            wrong, changed = _violations(states, coefficients, K @ coefficients + intercept, signs, costs)
            wrong = wrong & (costs > 0)
            if not wrong.any():
                return cls(K, signs, costs, states, coefficients, intercept)
            states = np.where(wrong, changed, states)
        return None

    def first_answers(self, rows: Array, fractions: Array) -> tuple[list[Array | None], Array, Array]:
        """What leaving out each row alone leads to, if no other row changes its state.

        Returns a list with None for rows where that is all, and the states to try next for others, and decisions and
        mean decisions of the former. One row of `answers` or `rest` is all that changes; blocks of rows are checked
        together.
        """
        following: list[Array | None] = []
        values, levels = np.empty(rows.size), np.empty(rows.size)
        movable = self.costs > 0
        for start in range(0, rows.size, BLOCK):
            p = rows[start : start + BLOCK]
            here = slice(start, start + p.size)
            position, is_free = self.position[p], self.position[p] >= 0
            removed = -self.coefficients[p]
            pivot = np.where(is_free, np.diagonal(self.inverse)[position], 1.0)
            slack = removed / np.where(pivot == 0, 1.0, pivot)  # zero where the row is the only free one: see is_open
            answer = np.where(is_free[:, None], self.inverse[position], -self.answers[:, p].T) * slack[:, None]
            change = np.where(is_free[:, None], self.answers[position], self.rest[p]) * slack[:, None]
            coefficients = np.broadcast_to(self.coefficients, (p.size, len(self.signs))).copy()
            coefficients[:, self.free] += answer[:, :-1]
            decisions = self.decisions + change
            coefficients[np.arange(p.size), p] = 0.0
            states = np.broadcast_to(self.states, coefficients.shape).copy()
            states[np.arange(p.size), p] = ZERO
            wrong, changed = _violations(states, coefficients, decisions, self.signs, self.costs)
            wrong &= movable
            wrong[np.arange(p.size), p] = False
            is_open = wrong.any(axis=1) | ~(states == FREE).any(axis=1)
            following += [np.where(wrong[k], changed[k], states[k]) if is_open[k] else None for k in range(p.size)]
            values[here], levels[here] = decisions[np.arange(p.size), p], decisions @ fractions
        return following, values, levels

    def without(self, rows: Array, states: Array | None = None) -> Array | None:
        """Decisions for all rows by the machine without some of them; None if no optimal one was found.

        `states` are those to begin with, for which `first_answers` has done the first pivot.
        """
        try:
            decisions = self._by_pivots(rows, states)
            return self._by_steps(rows) if decisions is None else decisions
        except np.linalg.LinAlgError:
            return None

    def _by_pivots(self, rows: Array, states: Array | None = None) -> Array | None:
        """All rows that violate a condition change their states together, until none does."""
        states = self.states.copy() if states is None else states
        movable: Array = self.costs > 0
        states[rows], movable[rows] = ZERO, False
        for _ in range(MOST_PIVOTS):
            if not np.any(states == FREE):
                return None
            coefficients, decisions = self._changed(states, rows, 0.0)
            wrong, changed = _violations(states, coefficients, decisions, self.signs, self.costs)
            wrong = wrong & movable
            if not wrong.any():
                return decisions
            states = np.where(wrong, changed, states)
        return None

    def _by_steps(self, rows: Array) -> Array | None:
        """The coefficients of the rows go to zero; on the way, one other row at a time changes its state.

        Invariant: all conditions of optimality hold at the fraction `reached` of the way.
        """
        states, movable = self.states.copy(), self.costs > 0
        states[rows], movable[rows] = ZERO, False
        start, reached = self.coefficients[rows], 0.0
        for _ in range(MOST_STEPS):
            if not np.any(states == FREE):
                return None
            here, there = (self._changed(states, rows, (1 - t) * start) for t in (reached, 1.0))
            fraction, row, state = _first_event(states, here, there, self.signs, self.costs, movable)
            if row is None:
                return there[1]
            reached += fraction * (1 - reached)
            states[row] = state
        return None

    def _changed(self, states: Array, rows: Array, value: float | Array) -> tuple[Array, Array]:
        """Coefficients and decisions with other states than on all rows, and given coefficients of `rows`."""
        targets = np.where(states == BOUND, self.signs * self.costs, 0.0)
        targets[rows] = value
        return _StateChange(self, states == FREE, targets).solution()


class _StateChange:
    """The rows whose states differ from those of a `_Base`, in three sets, and the small system that they solve.

    Attributes
    ----------
    fixed : rows that were free, and now have a given coefficient
    freed : rows that had a given coefficient, and now have a given decision: their margin is one
    moved : rows that had a given coefficient, and now have another one
    targets : array of shape (n,)
        The given coefficients.
    """

    def __init__(self, base: _Base, is_free: Array, targets: Array) -> None:
        self.base, self.is_free, self.targets = base, is_free, targets
        was_free = base.position >= 0
        self.fixed = np.flatnonzero(was_free & ~is_free)
        self.freed = np.flatnonzero(~was_free & is_free)
        self.moved = np.flatnonzero(~was_free & ~is_free & (targets != base.coefficients))

    def solution(self) -> tuple[Array, Array]:
        """Coefficients and decisions of all rows.

        Unknown are the coefficients p of the freed rows and the multipliers s that hold the fixed ones at their
        targets. The freed rows demand a decision, the fixed ones a coefficient:
        R p + Aᵀ s = y − f − R′δ and −A p + M s = t − c + A′δ, with the steps δ of the moved rows.
        """
        base, fixed, freed, moved = self.base, self.fixed, self.freed, self.moved
        position = base.position[fixed]
        steps = self.targets[moved] - base.coefficients[moved]
        cross = base.answers[np.ix_(position, freed)]
        system = np.block(
            [[base.rest[np.ix_(freed, freed)], cross.T], [-cross, base.inverse[np.ix_(position, position)]]]
        )
        missing_decisions = base.signs[freed] - base.decisions[freed] - base.rest[np.ix_(freed, moved)] @ steps
        missing_coefficients = self.targets[fixed] - base.coefficients[fixed]
        missing_coefficients = missing_coefficients + base.answers[np.ix_(position, moved)] @ steps
        right = np.concatenate([missing_decisions, missing_coefficients])
        unknown = np.linalg.solve(system, right) if right.size else right
        pushes, multipliers = unknown[: freed.size], unknown[freed.size :]
        # What the rows that stay free answer; the last entry is the intercept, which decisions contain.
        answer = (
            base.inverse[:, position] @ multipliers - base.answers[:, freed] @ pushes - base.answers[:, moved] @ steps
        )
        coefficients = base.coefficients.copy()
        coefficients[base.free] += answer[:-1]
        coefficients[freed] += pushes
        coefficients[~self.is_free] = self.targets[~self.is_free]
        change = base.rest[:, freed] @ pushes + base.rest[:, moved] @ steps + base.answers[position].T @ multipliers
        return coefficients, base.decisions + change


def _violations(
    states: Array, coefficients: Array, decisions: Array, signs: Array, costs: Array
) -> tuple[Array, Array]:
    """Rows that violate a condition of optimality, and the states they should rather have."""
    alpha, margins = signs * coefficients, signs * decisions
    slack = COEFFICIENT_TOLERANCE * costs.max()
    tolerance = DECISION_TOLERANCE * np.maximum(1.0, np.abs(decisions).max(axis=-1, keepdims=True))
    is_free = states == FREE
    too_low, too_high = is_free & (alpha < -slack), is_free & (alpha > costs + slack)
    # Optimal: α = 0 with margin ≥ 1, 0 < α < C with margin 1, α = C with margin ≤ 1.
    inside = (states == ZERO) & (margins < 1 - tolerance)
    outside = (states == BOUND) & (margins > 1 + tolerance)
    changed = np.where(too_low, ZERO, np.where(too_high, BOUND, FREE))
    return too_low | too_high | inside | outside, changed


def _first_event(
    states: Array,
    here: tuple[Array, Array],
    there: tuple[Array, Array],
    signs: Array,
    costs: Array,
    movable: Array,
) -> tuple[float, Array | None, Array | None]:
    """At which fraction of the way from `here` to `there` a row first violates a condition, the row, its new state."""
    wrong, changed = _violations(states, *there, signs, costs)
    rows = np.flatnonzero(wrong & movable)
    if not rows.size:
        return 1.0, None, None
    is_free = states[rows] == FREE
    # What is compared with its bound: α of free rows, margins of others.
    first, last = (signs[rows] * np.where(is_free, each[0][rows], each[1][rows]) for each in (here, there))
    bound = np.where(is_free, np.where(changed[rows] == BOUND, costs[rows], 0.0), 1.0)
    way = last - first
    fractions = np.clip(np.divide(bound - first, way, out=np.zeros_like(way), where=way != 0), 0, 1)
    best = int(np.argmin(fractions))
    return float(fractions[best]), rows[best], changed[rows[best]]


def _solve(K: Array, signs: Array, costs: Array, states: Array) -> tuple[Array, float]:
    """Coefficients and intercept for given states of all rows."""
    free, bound = np.flatnonzero(states == FREE), np.flatnonzero(states == BOUND)
    at_bound = signs[bound] * costs[bound]
    right = np.append(signs[free] - K[np.ix_(free, bound)] @ at_bound, -at_bound.sum())
    solution = np.linalg.solve(_bordered(K[np.ix_(free, free)]), right)
    coefficients = np.zeros(len(signs))
    coefficients[bound] = at_bound
    coefficients[free] = solution[:-1]
    return coefficients, solution[-1]


def _bordered(K: Array) -> Array:
    return np.block([[K, np.ones((len(K), 1))], [np.ones((1, len(K))), np.zeros((1, 1))]])


def _refitted(K: Array, signs: Array, costs: Array, rows: Array) -> Array:
    """Decisions for all rows by libsvm's machine without some of them."""
    # Rows are removed rather than given weight zero: scikit-learn's `support_` skips rows of weight zero, which makes
    # indices of precomputed kernels wrong.
    others = np.setdiff1d(np.flatnonzero(costs > 0), rows)
    machine = SVC(kernel="precomputed", C=1.0, tol=REFIT_TOLERANCE, cache_size=500)
    machine.fit(K[np.ix_(others, others)], signs[others], sample_weight=costs[others])
    return machine.decision_function(K[:, others])
