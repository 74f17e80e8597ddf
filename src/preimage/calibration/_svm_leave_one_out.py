"""Decisions of support vector machines at points they were not fitted on, by changes of their solution."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.svm import SVC

from preimage.calibration._samples import check_sample

# Conditions of optimality count as met within these shares of the largest bound and of the largest decision.
COEFFICIENT_TOLERANCE = 1e-7
DECISION_TOLERANCE = 1e-7
# Added to the diagonal, as a share of its largest entry: singular Gram matrices (duplicates, linear kernels) then have
# inverses, and decisions move by no more than this times the largest cost.
RIDGE = 1e-8
# Block pivots: most rows need less than six; where few rows are free they may go in circles.
MOST_PIVOTS = 12
MOST_FIRST_PIVOTS = 100
MOST_STEPS = 60
REFIT_TOLERANCE = 1e-6
# Rows whose first answers are computed together: a few arrays of this many rows of length n are held.
BLOCK = 256

ZERO, FREE, BOUND = 0, 1, 2


@dataclass(frozen=True)
class LeftOutDecisions:
    """Decisions of machines that were fitted without the row they judge.

    Attributes
    ----------
    values : array of shape (n,)
    levels : array of shape (n,)
        Mean decision of each of these machines over all rows. It moves with the class of the row left out.
    refitted : integer array
        Rows whose machine libsvm had to solve for, because changes of states came to no end, or left no row free.
    """

    values: Any
    levels: Any
    refitted: Any


def svm_leave_one_out(K, signs, coefficients, costs, decisions, units=None, weights=None):
    r"""Decisions of a two-class support vector machine at each training point, were it fitted without that point.

    A machine has rows at zero, free rows (on the margin) and rows at their bound :math:`C_i`. Rows with zero
    coefficients do not take part: leaving them out changes nothing. To leave out another one, its coefficient goes to
    zero, and what is free answers through the inverse of the bordered Gram matrix of the free rows, which is computed
    once,

    .. math:: M = \begin{pmatrix} K_{FF} & 1 \\ 1^\top & 0 \end{pmatrix}.

    If no other row changes its state, this is the span rule [1]_ for a free row,
    :math:`y_p f_{-p}(x_p) = 1 - \alpha_p / (M^{-1})_{pp}`. Rows that violate the conditions of optimality change their
    state, all at once, and a system of the size of these changes is solved again. Where this goes in circles, the
    coefficient goes to zero step by step, from one change of state to the next [2]_. Both end when all conditions hold:
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
    LeftOutDecisions
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
    if base is not None and alone.size:
        states, at_once, level = base.first_answers(alone, fractions)
        done = np.array([each is None for each in states])
        values[alone[done]], levels[alone[done]] = at_once[done], level[done]
        left = [(np.array([p]), each) for p, each in zip(alone, states, strict=True) if each is not None]
    else:
        left = [(np.array([p]), None) for p in alone]
    for rows, states in [*left, *((rows, None) for rows in together)]:
        others = None if base is None else base.without(rows, states)
        if others is None:
            failed.extend(rows)
            others = _refitted(K, signs, costs, rows)
        values[rows], levels[rows] = others[rows], fractions @ others
    return LeftOutDecisions(values, levels, np.array(sorted(failed), dtype=int))


def _left_out_rows(signs, coefficients, costs, units):
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
    """A machine on all rows, solved to rounding errors, and all that does not depend on who is left out."""

    def __init__(self, K, signs, costs, states, coefficients, intercept):
        self.signs, self.costs, self.states = signs, costs, states
        self.coefficients = coefficients
        self.free = np.flatnonzero(states == FREE)
        self.place = np.full(len(signs), -1)
        self.place[self.free] = np.arange(self.free.size)
        self.decisions = K @ coefficients + intercept
        self.inverse = np.linalg.inv(_bordered(K[np.ix_(self.free, self.free)]))
        # Answer of the free rows and the intercept to a coefficient of any row, and what is left of its kernel values.
        columns = np.concatenate([K[self.free], np.ones((1, len(signs)))])
        self.answers = self.inverse @ columns
        self.rest = K - columns.T @ self.answers

    @classmethod
    def of(cls, K, signs, coefficients, costs):
        """None where no states with a free row are optimal."""
        K = K + RIDGE * np.diagonal(K).max() * np.eye(len(K))
        alpha = signs * coefficients
        nearly = 1e-6 * costs  # libsvm sets bounds exactly; rows of weight zero count as zero
        states = np.where(alpha <= nearly, ZERO, np.where(alpha >= costs - nearly, BOUND, FREE))
        for _ in range(MOST_FIRST_PIVOTS):
            if not (states == FREE).any():
                return None
            try:
                coefficients, intercept = _solve(K, signs, costs, states)
            except np.linalg.LinAlgError:  # of an indefinite kernel
                return None
            wrong, changed = _violations(states, coefficients, K @ coefficients + intercept, signs, costs)
            wrong &= costs > 0
            if not wrong.any():
                return cls(K, signs, costs, states, coefficients, intercept)
            states = np.where(wrong, changed, states)
        return None

    def first_answers(self, rows, fractions):
        """What leaving out each row alone leads to, if no other row changes its state.

        Returns a list with None for rows where that is all, and the states to try next for others, and decisions and
        mean decisions of the former. One row of `answers` or `rest` is all that changes; blocks of rows are checked
        together.
        """
        following, values, levels = [], np.empty(rows.size), np.empty(rows.size)
        movable = self.costs > 0
        for start in range(0, rows.size, BLOCK):
            p = rows[start : start + BLOCK]
            here = slice(start, start + p.size)
            place, is_free = self.place[p], self.place[p] >= 0
            removed = -self.coefficients[p]
            pivot = np.where(is_free, np.diagonal(self.inverse)[place], 1.0)
            slack = removed / np.where(pivot == 0, 1.0, pivot)  # zero where the row is the only free one: see is_open
            answer = np.where(is_free[:, None], self.inverse[place], -self.answers[:, p].T) * slack[:, None]
            change = np.where(is_free[:, None], self.answers[place], self.rest[p]) * slack[:, None]
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

    def without(self, rows, states=None):
        """Decisions for all rows by the machine without some of them; None if no optimal one was found.

        `states` are those to begin with, for which `first_answers` has done the first pivot.
        """
        try:
            decisions = self._by_pivots(rows, states)
            return self._by_steps(rows) if decisions is None else decisions
        except np.linalg.LinAlgError:
            return None

    def _by_pivots(self, rows, states=None):
        """All rows that violate a condition change their states together, until none does."""
        states, movable = self.states.copy() if states is None else states, self.costs > 0
        states[rows], movable[rows] = ZERO, False
        for _ in range(MOST_PIVOTS):
            if not (states == FREE).any():
                return None
            coefficients, decisions = self._changed(states, rows, 0.0)
            wrong, changed = _violations(states, coefficients, decisions, self.signs, self.costs)
            wrong &= movable
            if not wrong.any():
                return decisions
            states = np.where(wrong, changed, states)
        return None

    def _by_steps(self, rows):
        """The coefficients of the rows go to zero; one other row at a time changes its state, where it meets a
        condition."""
        states, movable = self.states.copy(), self.costs > 0
        states[rows], movable[rows] = ZERO, False
        start, reached = self.coefficients[rows], 0.0
        for _ in range(MOST_STEPS):
            if not (states == FREE).any():
                return None
            here, there = (self._changed(states, rows, (1 - t) * start) for t in (reached, 1.0))
            share, row, state = _first_event(states, here, there, self.signs, self.costs, movable)
            if row is None:
                return there[1]
            reached += share * (1 - reached)
            states[row] = state
        return None

    def _changed(self, states, rows, value):
        """Coefficients and decisions where some rows are in other states than on all rows, and `rows` have given
        coefficients."""
        bounds = np.where(states == BOUND, self.signs * self.costs, 0.0)
        bounds[rows] = value
        was_free, is_free = self.place >= 0, states == FREE
        fixed = np.flatnonzero(was_free & ~is_free)
        freed = np.flatnonzero(~was_free & is_free)
        moved = np.flatnonzero(~was_free & ~is_free & (bounds != self.coefficients))
        shift = bounds[moved] - self.coefficients[moved]
        r = self.place[fixed]
        cross = self.answers[np.ix_(r, freed)]
        system = np.block([[self.rest[np.ix_(freed, freed)], cross.T], [-cross, self.inverse[np.ix_(r, r)]]])
        right = np.concatenate(
            [
                self.signs[freed] - self.decisions[freed] - self.rest[np.ix_(freed, moved)] @ shift,
                bounds[fixed] - self.coefficients[fixed] + self.answers[np.ix_(r, moved)] @ shift,
            ]
        )
        solution = np.linalg.solve(system, right) if right.size else right
        pushed, slack = solution[: freed.size], solution[freed.size :]
        answer = self.inverse[:, r] @ slack - self.answers[:, freed] @ pushed - self.answers[:, moved] @ shift
        coefficients = self.coefficients.copy()
        coefficients[self.free] += answer[:-1]
        coefficients[freed] += pushed
        coefficients[~is_free] = bounds[~is_free]
        change = self.rest[:, freed] @ pushed + self.rest[:, moved] @ shift + self.answers[r].T @ slack
        return coefficients, self.decisions + change


def _violations(states, coefficients, decisions, signs, costs):
    """Rows that violate a condition of optimality, and the states they should rather have."""
    alpha, margins = signs * coefficients, signs * decisions
    slack = COEFFICIENT_TOLERANCE * costs.max()
    tolerance = DECISION_TOLERANCE * np.maximum(1.0, np.abs(decisions).max(axis=-1, keepdims=True))
    is_free = states == FREE
    too_low, too_high = is_free & (alpha < -slack), is_free & (alpha > costs + slack)
    inside = (states == ZERO) & (margins < 1 - tolerance)
    outside = (states == BOUND) & (margins > 1 + tolerance)
    changed = np.where(too_low, ZERO, np.where(too_high, BOUND, FREE))
    return too_low | too_high | inside | outside, changed


def _first_event(states, here, there, signs, costs, movable):
    """Share of the way from `here` to `there` at which a row first violates a condition, the row, and its new state."""
    wrong, changed = _violations(states, *there, signs, costs)
    rows = np.flatnonzero(wrong & movable)
    if not rows.size:
        return 1.0, None, None
    is_free = states[rows] == FREE
    # What is compared with its bound: α of free rows, margins of others.
    first, last = (signs[rows] * np.where(is_free, each[0][rows], each[1][rows]) for each in (here, there))
    bound = np.where(is_free, np.where(changed[rows] == BOUND, costs[rows], 0.0), 1.0)
    way = last - first
    shares = np.clip(np.divide(bound - first, way, out=np.zeros_like(way), where=way != 0), 0, 1)
    best = int(np.argmin(shares))
    return float(shares[best]), rows[best], changed[rows[best]]


def _solve(K, signs, costs, states):
    """Coefficients and intercept for given states of all rows."""
    free, bound = np.flatnonzero(states == FREE), np.flatnonzero(states == BOUND)
    at_bound = signs[bound] * costs[bound]
    right = np.append(signs[free] - K[np.ix_(free, bound)] @ at_bound, -at_bound.sum())
    solution = np.linalg.solve(_bordered(K[np.ix_(free, free)]), right)
    coefficients = np.zeros(len(signs))
    coefficients[bound] = at_bound
    coefficients[free] = solution[:-1]
    return coefficients, solution[-1]


def _bordered(K):
    return np.block([[K, np.ones((len(K), 1))], [np.ones((1, len(K))), np.zeros((1, 1))]])


def _refitted(K, signs, costs, rows):
    """Decisions for all rows by libsvm's machine without some of them."""
    # Rows go themselves, not only their weight: scikit-learn's `support_` skips rows of weight zero, which precomputed
    # kernels do not survive.
    others = np.setdiff1d(np.flatnonzero(costs > 0), rows)
    machine = SVC(kernel="precomputed", C=1.0, tol=REFIT_TOLERANCE, cache_size=500)
    machine.fit(K[np.ix_(others, others)], signs[others], sample_weight=costs[others])
    return machine.decision_function(K[:, others])
