"""Decisions of support vector machines at points they were not fitted on, by changes of their solution."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC

from preimage._engine.progress import stage
from preimage._engine.threads import at_most, available_threads, on_own_threads, run_parallel
from preimage._engine.typing import Array
from preimage.inflation._inflation import check_sample
from preimage.inflation._svm_path import BOUND, FREE, REMOVED, ZERO, PathEnd, SVMMachine, SVMProblem, follow

# Added to the diagonal, as fractions of its largest entry: singular Gram matrices (duplicates, linear kernels) then
# have inverses. Margins of free rows move by the ridge times their coefficients, so that kernels of large values with a
# large C need a smaller one; the first that is small enough is taken. The last is some fifty rounding errors.
RIDGES = (1e-8, 1e-10, 1e-12, 1e-14)
# How far margins may be from what the conditions of optimality demand, relative to the largest decision (at least one).
# A thousandth of the default tolerance of libsvm, and that of its machines where they replace ours.
RESIDUAL = 1e-6
# The same for the machine of all rows: a tenth, because coefficients grow when rows leave.
RESIDUAL_OF_ALL = 0.1 * RESIDUAL
# Coefficients within this fraction of a bound start at the bound; libsvm sets bounds exactly.
AT_BOUND = 1e-6
# Kernel values of copies of one row differ by rounding errors alone, some 1e-15 of the largest. With ten times more,
# rows that differ in the seventh digit would count as copies (a Gaussian is flat at distance zero).
SAME = 1e-14
# The states that libsvm found are nearly those of the exact machine: a few rounds in which all wrong states change at
# once find most. Where they cycle, the exact machine is the end of a path of many steps; its table is made again after
# so many of them, because the systems to solve grow with each.
MOST_PIVOTS = 8
STEPS_OF_A_TABLE = 64
MOST_TABLES = 30
# Changes of state when a row leaves: five to twenty are usual. The limit ends cycles.
MOST_STEPS = 300
# Tolerance of libsvm where it has to fit a machine: a thousand times below its default, because results are compared
# with exact ones.
REFIT_TOLERANCE = 1e-6
# Iterations after which such a refit stops, and for each row; scikit-learn warns then. Machines of scaled inputs with a
# large C take up to a hundred thousand at this tolerance, and with a tenth of the limit the decisions of some would be
# wrong. Where kernel values are so large that the tolerance is below their rounding errors, libsvm would never stop.
REFIT_ITERATIONS, ITERATIONS_PER_ROW = 1_000_000, 100
# Machines that are followed together, one block for each thread within these limits. An operation on fewer takes no
# longer than Python takes to call it, and threads would wait for each other; more need a few arrays of this many rows
# of length n, 4 MB each for 2,000 rows, that do not fit into caches.
SMALLEST_BLOCK, LARGEST_BLOCK = 32, 256
# Entries of the arrays that an operation works on, for each thread that takes part, and bounds of their number. Shorter
# operations leave the others waiting for the interpreter lock. Measured on sixteen cores: machines of 360 rows, and of
# 1,000, are fastest with two threads and take a quarter longer with four; of 2,000 rows they are 2.3 times as fast with
# four, 1.7 with eight, and no faster with sixteen than with one.
ENTRIES_PER_THREAD = 150_000
FEWEST_THREADS, MOST_THREADS = 2, 4


@dataclass(frozen=True)
class SVMLeaveOneOut:
    """Decisions of support vector machines that were fitted without the row they judge.

    Attributes
    ----------
    values : array of shape (n,)
    levels : array of shape (n,)
        Mean decision of each of these machines over all rows. It moves away from the class of the row left out.
    refitted : integer array
        Rows whose machine libsvm had to fit, to a tolerance of 1e-6, because no other one met its conditions.
    """

    values: Array
    levels: Array
    refitted: Array


@on_own_threads
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
    coefficients do not take part: leaving them out changes nothing, unless no row is free. To leave out another
    one, its coefficient goes to zero, and what is free answers through the inverse of the bordered Gram matrix of
    the free rows, which is computed once,

    .. math:: M = \begin{pmatrix} K_{FF} & 1 \\ 1^\top & 0 \end{pmatrix}.

    If no other row changes its state, this is the span rule [1]_ for a free row, :math:`y_p f_{-p}(x_p) = 1 - \alpha_p
    / (M^{-1})_{pp}`. Otherwise the coefficient goes to zero from one change of state to the next [2]_, and a system
    of the size of all changes so far is solved each time. Where no row is free, the intercept is the middle of its
    interval, as libsvm has it.

    Neither the given machine nor the way decides how accurate the results are, only the conditions of optimality at the
    end, where they are looked at for each machine: margins :math:`y_i f(x_i)` are at least one where
    :math:`\alpha_i = 0`, one where :math:`0 < \alpha_i < C_i` and at most one where :math:`\alpha_i = C_i`, up to
    1e-6 of the largest decision (at least one). This is a thousandth of the tolerance with which `SVC` stops by
    default. Decisions are large where kernel values or C are, and tolerances with them. Machines that fail, such as
    those of indefinite kernels, are fitted by libsvm with the same tolerance, and made exact where its rows at bounds
    are the right ones; `refitted` says which. libsvm keeps kernel values in single precision: where they are large, and
    C is, its own machines are less accurate.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix.
    signs : array of shape (n,), entries ±1
        The two classes.
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

    See Also
    --------
    leave_one_out : Scores of kernel PCA.
    preimage.Renormalized : Everything together: ``Renormalized(SVC())``.

    References
    ----------
    .. [1] O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee, "Choosing Multiple Parameters for Support Vector
       Machines", Machine Learning 46, 2002.
    .. [2] G. Cauwenberghs, T. Poggio, "Incremental and Decremental Support Vector Machine Learning",
       NIPS 13, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from preimage.inflation import svm_leave_one_out
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
    units = np.arange(len(signs)) if units is None else np.asarray(units)
    first, copy_of = _copies(K, signs, costs, units)
    total = lambda each: np.bincount(copy_of, each)
    alone = _left_out(
        K if first.size == len(K) else K[np.ix_(first, first)],
        signs[first],
        total(coefficients),
        total(costs),
        decisions[first],
        units[first],
        total(weights),
        np.bincount(copy_of),
    )
    refitted = np.flatnonzero(np.isin(copy_of, alone.refitted))
    return SVMLeaveOneOut(alone.values[copy_of], alone.levels[copy_of], refitted)


def _left_out(
    K: Array,
    signs: Array,
    coefficients: Array,
    costs: Array,
    decisions: Array,
    units: Array,
    weights: Array,
    counts: Array,
) -> SVMLeaveOneOut:
    """Of rows that are no copies of each other in a unit; `counts` says how many copies each stands for."""
    fractions = weights / weights.sum()
    base = _exact_machine(K, signs, coefficients, costs, decisions, counts)
    if base is None:
        whole, takes_part = decisions, coefficients != 0
    else:
        # Where the intercept is an interval, rows at zero may be what ends it.
        whole, takes_part = signs * base.margins, (base.states != ZERO) | (not base.has_inner_rows)
    groups, alone = _left_out_rows(signs, takes_part, costs, units)
    values, levels, failed = whole.copy(), np.full(len(decisions), fractions @ whole), []
    values[costs == 0], values[alone] = decisions[costs == 0], decisions[alone]
    if base is not None and groups:
        _ = base.effects  # all threads share them
    threads = useful_threads(len(K), len(groups))
    size = min(max(SMALLEST_BLOCK, -(-len(groups) // min(available_threads(), threads))), LARGEST_BLOCK)
    blocks = [groups[start : start + size] for start in range(0, len(groups), size)]
    with at_most(threads), stage("Leaving out samples", len(groups)) as advance:

        def leave_out(block: list[Array]) -> list[Array]:
            """Leave out the rows of some groups; returns those for which this fails."""
            if base is None:
                return block
            end = machines_without(base, block)
            machine = np.repeat(np.arange(len(block)), [rows.size for rows in block])
            rows, is_right = np.concatenate(block), end.is_optimal[machine]
            machine, rows = machine[is_right], rows[is_right]
            values[rows] = signs[rows] * end.margins[machine, rows]
            levels[rows] = (end.margins @ (signs * fractions))[machine]
            advance(int(end.is_optimal.sum()))
            return [block[number] for number in np.flatnonzero(~end.is_optimal)]

        for rows in (rows for block in run_parallel(leave_out, blocks) for rows in block):
            failed.extend(rows)
            others = _refitted(K, signs, costs, rows, counts)
            values[rows], levels[rows] = others[rows], fractions @ others
            advance()
    return SVMLeaveOneOut(values, levels, np.array(sorted(failed), dtype=int))


def useful_threads(n_rows: int, n_machines: int) -> int:
    """Threads that follow machines of so many rows, of which so many are left out, without waiting for each other."""
    return min(max(n_rows * n_machines // ENTRIES_PER_THREAD, FEWEST_THREADS), MOST_THREADS)


def machines_without(base: SVMMachine, groups: Sequence[Array]) -> PathEnd:
    """The machines without some rows, one for each array of rows; `is_optimal` says which of them meet the conditions.

    Ends of paths are looked at again without the tables of the base, which lose digits where kernel values are large
    and nearly dependent. Those that fail are solved for their states directly; a few pivots may lead further.
    """
    end = follow(base, groups, MOST_STEPS)
    end.is_optimal[:] &= base.residuals(end.states, end.watched, end.margins) <= RESIDUAL
    for number in np.flatnonzero(~end.is_optimal):
        try:
            machine = _by_pivots(base.problem, end.states[number])
        except np.linalg.LinAlgError:
            continue
        if machine is not None and machine.residual <= RESIDUAL:
            end.is_optimal[number], end.margins[number] = True, machine.margins
            end.states[number], end.watched[number] = machine.states, machine.watched
    return end


def _copies(K: Array, signs: Array, costs: Array, units: Array) -> tuple[Array, Array]:
    """The rows that are no copies of earlier ones, and for each row the position of what it is a copy of among them.

    Copies of one class that are left out together are one row with the sum of their costs: the machine is the same,
    and its kernel matrix is not singular.
    """
    n = len(signs)
    order = np.lexsort((np.arange(n), signs, units))
    is_new = np.append(True, (np.diff(units[order]) != 0) | (np.diff(signs[order]) != 0))
    original = np.empty(n, dtype=np.intp)
    original[order] = order[np.flatnonzero(is_new)[np.cumsum(is_new) - 1]]
    suspects = np.flatnonzero(original != np.arange(n))
    differs = np.abs(K[suspects] - K[original[suspects]]).max(axis=1, initial=0.0) > SAME * np.abs(K.diagonal()).max()
    differs |= (costs[suspects] == 0) | (costs[original[suspects]] == 0)
    original[suspects[differs]] = suspects[differs]
    first, copy_of = np.unique(original, return_inverse=True)
    return first, copy_of


def _left_out_rows(signs: Array, takes_part: Array, costs: Array, units: Array) -> tuple[list[Array], Array]:
    """Arrays of rows that are left out together, where that changes the machine and leaves rows of both classes.

    Then the rows without which one class would be empty.
    """
    active = np.flatnonzero(costs > 0)
    _, unit = np.unique(units[active], return_inverse=True)
    n_positive, n_negative = (np.bincount(unit, sign * signs[active] > 0) for sign in (1, -1))
    leaves_both = (n_positive < n_positive.sum()) & (n_negative < n_negative.sum())
    is_left_out = leaves_both & (np.bincount(unit, takes_part[active]) > 0)
    order = np.argsort(unit, kind="stable")
    sizes, ordered = np.bincount(unit), active[order]
    ends = np.cumsum(sizes)
    if sizes.max(initial=1) == 1:  # most often, and a row of a table is quicker than a part of a list
        groups = list(ordered[is_left_out][:, None])
    else:
        groups = [ordered[ends[number] - sizes[number] : ends[number]] for number in np.flatnonzero(is_left_out)]
    return groups, active[~leaves_both[unit]]


def _exact_machine(
    K: Array, signs: Array, coefficients: Array, costs: Array, decisions: Array, counts: Array
) -> SVMMachine | None:
    """The machine that libsvm found up to its tolerance, made exact; None where that fails."""
    alpha, margins = signs * coefficients, signs * decisions
    nearly = AT_BOUND * costs
    states = np.where(alpha <= nearly, ZERO, np.where(alpha >= costs - nearly, BOUND, FREE))
    states[costs == 0] = REMOVED  # these rows are not in the machine, and nothing is asked of them
    if not np.any(states == FREE):
        # The intercept is an interval: at its end a row is free, with its coefficient at a bound.
        able = np.flatnonzero(((states == ZERO) & (signs > 0)) | ((states == BOUND) & (signs < 0)))
        if not able.size:
            return None
        states[able[np.argmin(np.abs(margins[able] - 1))]] = FREE
    machine = None
    for ridge in RIDGES:
        # What stands for several copies, with the sum of their coefficients, gets the ridge that they have together.
        problem = SVMProblem(K, ridge * np.diagonal(K).max() / counts, signs, costs)
        try:
            found = _by_pivots(problem, states) or _by_path(problem, states, alpha, margins)
        except np.linalg.LinAlgError:  # of an indefinite kernel, or because the ridge is too small
            break
        if found is None:
            break
        machine, states = found, found.states
        if machine.residual <= RESIDUAL_OF_ALL:
            break
    return machine


def _by_pivots(problem: SVMProblem, states: Array) -> SVMMachine | None:
    """All rows that violate a condition change their states together, until none does."""
    for _ in range(MOST_PIVOTS):
        if not np.any(states == FREE):
            return None
        machine = SVMMachine(problem, states)
        too_low, too_high = machine.watched < machine.low, machine.watched > machine.high
        if not np.any(too_low | too_high):
            return machine
        at_bound = np.where(too_low, ZERO, BOUND)
        states = np.where(too_low | too_high, np.where(states == FREE, at_bound, FREE), states)
    return None


def _by_path(problem: SVMProblem, states: Array, alpha: Array, margins: Array) -> SVMMachine | None:
    """One row at a time changes its state, from the machine that libsvm found.

    That machine is the exact one of a slightly different problem, in which decisions have offsets that make all its
    conditions hold; the path leads to offsets of zero.
    """
    here: Array = np.where(states == FREE, alpha, margins)
    for _ in range(MOST_TABLES):
        machine = SVMMachine(problem, states)
        here = np.clip(here, machine.low, machine.high)
        end = follow(machine, [np.empty(0, dtype=np.intp)], STEPS_OF_A_TABLE, here)
        (states,), (here,) = end.states, end.watched
        if end.is_optimal[0]:
            return SVMMachine(problem, states)
        if not np.any(states == FREE):
            return None
    return None


def _refitted(K: Array, signs: Array, costs: Array, rows: Array, counts: Array) -> Array:
    """Decisions for all rows by libsvm's machine without some of them, made exact where that succeeds."""
    # Rows are removed rather than given weight zero: scikit-learn's `support_` skips rows of weight zero, which makes
    # indices of precomputed kernels wrong.
    others = np.setdiff1d(np.flatnonzero(costs > 0), rows)
    most = max(REFIT_ITERATIONS, ITERATIONS_PER_ROW * len(others))
    svm = SVC(kernel="precomputed", C=1.0, tol=REFIT_TOLERANCE, cache_size=500, max_iter=most)
    svm.fit(K[np.ix_(others, others)], signs[others], sample_weight=costs[others])
    decisions, coefficients = svm.decision_function(K[:, others]), np.zeros(len(K))
    coefficients[others[svm.support_]] = svm.dual_coef_[0]
    without = np.zeros(len(K))
    without[others] = costs[others]
    exact = _exact_machine(K, signs, coefficients, without, decisions, counts)
    return decisions if exact is None or exact.residual > RESIDUAL else signs * exact.margins
