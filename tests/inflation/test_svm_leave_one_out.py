"""Left-out decisions of support vector machines against machines that were really fitted without the row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from preimage.inflation import svm_leave_one_out
from preimage.inflation._svm_leave_one_out import (
    REFIT_TOLERANCE,
    RESIDUAL,
    ZERO,
    _exact_machine,
    _left_out_rows,
    _refitted,
    useful_threads,
)
from preimage.inflation._svm_leave_one_out import machines_without as machines_left_by


def machine(K, signs, costs):
    svm = SVC(kernel="precomputed", C=1.0, tol=1e-6, max_iter=200_000).fit(K, signs, sample_weight=costs)
    coefficients = np.zeros(len(signs))
    coefficients[svm.support_] = svm.dual_coef_[0]
    return coefficients, svm.decision_function(K)


def machines_without(K, signs, costs):
    """Row p: decisions for all rows by the machine without row p."""
    out = []
    for p in range(len(signs)):
        rows = np.arange(len(signs)) != p
        svm = SVC(kernel="precomputed", C=1.0, tol=1e-6, max_iter=200_000)
        svm.fit(K[np.ix_(rows, rows)], signs[rows], costs[rows])
        out.append(svm.decision_function(K[:, rows]))
    return np.array(out)


def brute_force(K, signs, costs):
    return np.diagonal(machines_without(K, signs, costs))


def problem(n=60, n_features=8, seed=0, share=0.7):
    X, y = make_classification(
        n, n_features, n_informative=3, n_redundant=0, weights=[share], flip_y=0.1, random_state=seed
    )
    return X, 2.0 * y - 1


@pytest.mark.parametrize("gamma", [0.02, 0.1, 10.0])
@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_it_equals_brute_force(gamma, C):
    X, signs = problem()
    K, costs = rbf_kernel(X, gamma=gamma), np.full(len(signs), C)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    truth = brute_force(K, signs, costs)
    np.testing.assert_allclose(result.values, truth, atol=2e-4 * max(1, np.abs(truth).max()))


@pytest.mark.parametrize("C", [0.2, 10.0])
def test_levels_are_mean_decisions_of_the_machines(C):
    X, signs = problem(40)
    K, costs = rbf_kernel(X, gamma=0.3), C * np.random.default_rng(0).uniform(0.5, 2, size=40)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    np.testing.assert_allclose(result.levels, machines_without(K, signs, costs).mean(axis=1), atol=1e-3)
    assert np.ptp(result.levels) > 0.01


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(-3, 1), st.floats(-1, 3))
def test_it_equals_brute_force_on_random_problems(seed, log_gamma, log_cost):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 25))
    X, signs = rng.normal(size=(n, 3)), np.where(np.arange(n) < max(2, n // 4), 1.0, -1.0)
    K, costs = rbf_kernel(X, gamma=10**log_gamma), 10**log_cost * rng.uniform(0.5, 2, size=n)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    truth = brute_force(K, signs, costs)
    np.testing.assert_allclose(result.values, truth, atol=1e-3 * max(1, np.abs(truth).max()))


def test_nearly_all_rows_need_no_other_machine():
    X, signs = problem(100)
    K, costs = rbf_kernel(X, gamma=0.1), np.full(100, 10.0)
    coefficients, decisions = machine(K, signs, costs)
    assert svm_leave_one_out(K, signs, coefficients, costs, decisions).refitted.size <= 2


def test_rows_without_coefficient_have_the_decision_of_the_exact_machine():
    """Whatever the tolerance of the machine that was given."""
    X, signs = problem(80, share=0.5)
    K, costs = rbf_kernel(X, gamma=0.02), np.full(80, 10.0)
    coefficients, decisions = machine(K, signs, costs)
    rough = SVC(kernel="precomputed", C=10.0, tol=0.01).fit(K, signs)
    rough_coefficients = np.zeros(80)
    rough_coefficients[rough.support_] = rough.dual_coef_[0]
    idle = (coefficients == 0) & (rough_coefficients == 0)
    assert idle.sum() > 5
    assert np.abs(rough.decision_function(K) - decisions).max() > 1e-3
    result = svm_leave_one_out(K, signs, rough_coefficients, costs, rough.decision_function(K))
    np.testing.assert_allclose(result.values[idle], decisions[idle], atol=1e-5)
    # A left-out support vector is never better off.
    assert (signs * result.values <= signs * decisions + 1e-5)[~idle].all()


def test_a_row_without_coefficient_may_end_the_interval_of_the_intercept():
    """All coefficients of the small class at their bounds, one of the large class free or none: b is an interval."""
    rng = np.random.default_rng(1)
    found = 0
    for n_positive in (1, 2, 5, 10, 16):
        signs = np.where(np.arange(33) < n_positive, 1.0, -1.0)
        X = rng.normal(size=(33, 5)) + signs[:, None]
        K, costs = rbf_kernel(X, gamma=0.1), np.full(33, 1e-3 * rng.integers(1, 4))
        coefficients, decisions = machine(K, signs, costs)
        result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
        truth = brute_force_where_possible(K, signs, costs)
        np.testing.assert_allclose(result.values[~truth.mask], truth.compressed(), atol=1e-5)
        idle = (coefficients == 0) & ~truth.mask
        found += np.sum(np.abs(truth.data - decisions)[idle] > 0.01)
    assert found > 0  # what this test is about


def brute_force_where_possible(K, signs, costs):
    """As `brute_force`, masked for rows that are alone in their class."""
    alone = np.array([np.sum(signs == sign) == 1 for sign in signs])
    truth = np.ma.masked_array(np.zeros(len(signs)), alone)
    for p in np.flatnonzero(~alone):
        rows = np.arange(len(signs)) != p
        svm = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(K[np.ix_(rows, rows)], signs[rows], costs[rows])
        truth[p] = svm.decision_function(K[[p]][:, rows])[0]
    return truth


def gap(K, signs, alpha, costs):
    """By how much the conditions of optimality are missed: the largest difference of two gradients that should not be.

    With G = y − Kα (signed), any row whose signed coefficient can grow has a smaller G + b than one where it can sink.
    """
    G, slack = signs - K @ (signs * alpha), 1e-9 * costs.max()
    can_grow = np.where(signs > 0, alpha < costs - slack, alpha > slack) & (costs > 0)
    can_sink = np.where(signs > 0, alpha > slack, alpha < costs - slack) & (costs > 0)
    if not can_grow.any() or not can_sink.any():
        return 0.0
    return max(0.0, G[can_grow].max() - G[can_sink].min())


def test_every_machine_meets_its_conditions_of_optimality():
    """Kernels, sizes, costs over seven decades, copies of both classes, scales of inputs: KKT conditions to 1e-6."""
    n_found = n_machines = 0
    for seed in range(60):
        K, signs, costs = random_machine(np.random.default_rng(seed))
        svm = SVC(kernel="precomputed", C=1.0, max_iter=200_000).fit(K, signs, sample_weight=costs)
        coefficients = np.zeros(len(signs))
        coefficients[svm.support_] = svm.dual_coef_[0]
        base = _exact_machine(K, signs, coefficients, costs, svm.decision_function(K), np.ones(len(signs)))
        takes_part = (base.states != ZERO) | (not base.has_inner_rows)
        groups, _ = _left_out_rows(signs, takes_part, costs, np.arange(len(signs)))
        end = machines_left_by(base, groups)
        n_machines, n_found = n_machines + len(groups), n_found + end.is_optimal.sum()
        for number in np.flatnonzero(end.is_optimal):
            check_machine(K, signs, costs, groups[number], base.coefficients_of(end.states, end.watched)[number])
            check_margins(K, signs, base.coefficients_of(end.states, end.watched)[number], end.margins[number])
    assert n_found > 0.98 * n_machines  # libsvm fits the others


def check_machine(K, signs, costs, rows, alpha):
    kept = costs.copy()
    kept[rows] = 0.0
    assert gap(K, signs, alpha, kept) <= 5 * RESIDUAL * decision_scale(K, signs, alpha)
    assert abs(signs @ alpha) <= 1e-7 * costs.max()
    # Coefficients beyond their bounds move decisions by less than the conditions leave open.
    beyond = max(-alpha.min(), (alpha - kept).max())
    assert beyond * K.diagonal().max() <= 5 * RESIDUAL * decision_scale(K, signs, alpha)


def check_margins(K, signs, alpha, margins):
    """The margins that are returned are those of the coefficients, up to the intercept."""
    assert np.ptp(signs * margins - K @ (signs * alpha)) <= 5 * RESIDUAL * decision_scale(K, signs, alpha)


def decision_scale(K, signs, alpha):
    """The largest decision, or what rounding errors of kernel values make of 1e-7 of it."""
    decisions = K @ (signs * alpha)
    return max(1.0, np.ptp(decisions)) + 1e7 * np.finfo(float).eps * K.diagonal().max() * alpha.sum()


def random_machine(rng):
    n, d = int(rng.integers(10, 60)), int(rng.choice([1, 2, 5, 30, 500]))
    signs = np.where(np.arange(n) < max(2, int(rng.choice([0.1, 0.3, 0.5]) * n)), 1.0, -1.0)
    X = rng.normal(size=(n, d)) * 10 ** rng.choice([0, 0, rng.uniform(-3, 3)])
    X[:, 0] += rng.choice([0, 0.5, 2]) * signs
    if rng.random() < 0.3:  # copies, of both classes
        X[rng.integers(0, n, size=n // 4)] = X[rng.integers(0, n, size=n // 4)]
    squares = np.median(np.sum((X[:, None] - X) ** 2, axis=2))
    K = [linear_kernel, lambda X: rbf_kernel(X, gamma=10 ** rng.uniform(-2, 2) / squares), polynomial_kernel][
        rng.integers(3)
    ](X)
    return K, signs, 10 ** rng.uniform(-3, 4) * rng.choice([1.0, rng.uniform(0.2, 3)], size=n)


def test_large_kernel_values_and_costs_are_no_obstacle():
    """Inputs as they were measured, with C = 1: a ridge of 1e-8 of the largest kernel value would move margins by 0.07.

    libsvm keeps kernel values in single precision, so that machines that it fits miss their conditions by as much.
    """
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(569)[:80]
    K, signs, costs = linear_kernel(X[rows]), 2.0 * y[rows] - 1, np.full(80, 1.0)
    svm = SVC(kernel="precomputed", C=1.0).fit(K, signs)
    coefficients = np.zeros(80)
    coefficients[svm.support_] = svm.dual_coef_[0]
    base = _exact_machine(K, signs, coefficients, costs, svm.decision_function(K), np.ones(80))
    groups = [np.array([row]) for row in np.flatnonzero(base.states != ZERO)]
    end = machines_left_by(base, groups)
    assert end.is_optimal.all()
    for (row,), states, watched in zip(groups, end.states, end.watched, strict=True):
        kept = np.where(np.arange(80) == row, 0.0, costs)
        assert gap(K, signs, base.coefficients_of(states, watched), kept) < 1e-5


def test_the_span_rule_where_no_state_changes():
    """All rows free: the closed form holds for each."""
    X, signs = problem(30)
    K, costs = rbf_kernel(X, gamma=5.0), np.full(30, 1e6)
    coefficients, decisions = machine(K, signs, costs)
    assert (coefficients != 0).all()
    bordered = np.block([[K, np.ones((30, 1))], [np.ones((1, 30)), np.zeros((1, 1))]])
    span = signs - coefficients / np.diagonal(np.linalg.inv(bordered))[:-1]
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    np.testing.assert_allclose(result.values, span, atol=1e-5)


@pytest.mark.parametrize("kernel", [linear_kernel, lambda X: rbf_kernel(X, gamma=0.3)], ids=["linear", "gaussian"])
def test_singular_kernel_matrices_are_no_obstacle(kernel):
    X, signs = problem(40, n_features=4)
    X = np.concatenate([X, X[:10]])  # duplicates
    signs = np.concatenate([signs, signs[:10]])
    K, costs = kernel(X), np.full(50, 0.1)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    truth = brute_force(K, signs, costs)
    np.testing.assert_allclose(result.values, truth, atol=2e-3 * max(1, np.abs(truth).max()))
    assert result.refitted.size <= 10


@pytest.mark.parametrize("n", [40, 80])
def test_few_free_rows_need_steps(n):
    """A wide kernel and a small cost: nearly all support vectors are at their bounds."""
    X, signs = problem(n, n_features=4, share=0.5)
    K, costs = rbf_kernel(X, gamma=0.05), np.linspace(0.4, 0.6, n)
    coefficients, decisions = machine(K, signs, costs)
    free = (coefficients != 0) & (np.abs(coefficients) < 0.999 * costs)
    assert 1 <= free.sum() <= 0.2 * n
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    np.testing.assert_allclose(result.values, brute_force(K, signs, costs), atol=1e-3)
    assert result.refitted.size <= 2


@pytest.mark.parametrize("switched_off", [["MOST_PIVOTS"], ["MOST_STEPS"], ["MOST_PIVOTS", "MOST_STEPS"]])
def test_pivots_paths_and_libsvm_come_to_the_same_end(switched_off, monkeypatch):
    """Without pivots a path makes the machine of all rows exact; without steps pivots lead to the others.

    Without both libsvm fits them.
    """
    X, signs = problem(60, n_features=4, share=0.6)
    K, costs = rbf_kernel(X, gamma=0.3), np.full(60, 2.0)
    svm = SVC(kernel="precomputed", C=1.0, tol=0.1).fit(K, signs, sample_weight=costs)  # far from optimal
    coefficients = np.zeros(60)
    coefficients[svm.support_] = svm.dual_coef_[0]
    both = svm_leave_one_out(K, signs, coefficients, costs, svm.decision_function(K))
    assert both.refitted.size == 0
    for name in switched_off:
        monkeypatch.setattr(f"preimage.inflation._svm_leave_one_out.{name}", 0)
    one = svm_leave_one_out(K, signs, coefficients, costs, svm.decision_function(K))
    support = coefficients != 0
    np.testing.assert_allclose(one.values[support], both.values[support], atol=1e-5)
    assert (one.refitted.size > 0) == (len(switched_off) == 2)


def test_without_free_rows_the_intercept_is_the_middle_of_its_interval():
    """Two rows of opposite classes at their bounds, and their copies."""
    X, signs = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([-1.0, -1.0, 1.0, 1.0])
    K, costs = linear_kernel(X), np.full(4, 1e-3)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    np.testing.assert_allclose(result.values, brute_force(K, signs, costs), atol=1e-6)
    assert result.refitted.size == 0


@pytest.mark.parametrize("n_positive", [9, 15, 16, 25])
@pytest.mark.parametrize("C", [1e-3, 0.05, 0.3])
def test_small_costs_leave_few_rows_free_or_none(n_positive, C):
    rng = np.random.default_rng(n_positive)
    signs = np.where(np.arange(30) < n_positive, 1.0, -1.0)
    X = rng.normal(size=(30, 2)) + 0.5 * signs[:, None]
    K, costs = rbf_kernel(X, gamma=0.5), np.full(30, C)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    np.testing.assert_allclose(result.values, brute_force(K, signs, costs), atol=1e-4)
    assert result.refitted.size == 0


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_copies_are_left_out_together_as_one_row(C):
    """Few distinct rows with many copies, of both classes: the kernel matrix is singular."""
    rng = np.random.default_rng(0)
    distinct, units = rng.normal(size=(12, 2)), rng.integers(0, 12, size=60)
    K, costs = rbf_kernel(distinct[units], gamma=0.5), C * rng.uniform(0.5, 2, size=60)
    signs = np.where(rng.uniform(size=60) < 0.3 + 0.4 * (distinct[units, 0] > 0), 1.0, -1.0)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions, units)
    assert result.refitted.size == 0
    for unit in range(12):
        kept, left = np.flatnonzero(units != unit), np.flatnonzero(units == unit)
        svm = SVC(kernel="precomputed", C=1.0, tol=1e-8).fit(K[np.ix_(kept, kept)], signs[kept], costs[kept])
        np.testing.assert_allclose(result.values[left], svm.decision_function(K[np.ix_(left, kept)]), atol=2e-4)


def test_results_do_not_depend_on_threads():
    X, signs = problem(300, n_features=3, share=0.5)
    K, costs = rbf_kernel(X, gamma=0.5), np.full(300, 1.0)
    coefficients, decisions = machine(K, signs, costs)
    found = []
    for threads in (1, 2, 8):
        with threadpool_limits(threads):
            found.append(svm_leave_one_out(K, signs, coefficients, costs, decisions))
    for other in found[1:]:
        np.testing.assert_allclose(other.values, found[0].values, atol=1e-12)
        np.testing.assert_allclose(other.levels, found[0].levels, atol=1e-12)


def test_blocks_of_any_size_give_the_same(monkeypatch):
    X, signs = problem(80, n_features=3, share=0.5)
    K, costs = rbf_kernel(X, gamma=0.5), np.full(80, 1.0)
    coefficients, decisions = machine(K, signs, costs)
    whole = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    for block in (1, 7):
        monkeypatch.setattr("preimage.inflation._svm_leave_one_out.SMALLEST_BLOCK", 1)
        monkeypatch.setattr("preimage.inflation._svm_leave_one_out.LARGEST_BLOCK", block)
        parts = svm_leave_one_out(K, signs, coefficients, costs, decisions)
        np.testing.assert_allclose(parts.values, whole.values, atol=1e-12)


def test_weights_of_classes_and_rows_are_bounds():
    X, signs = problem(50)
    K, costs = rbf_kernel(X, gamma=0.1), np.where(signs > 0, 7.0, 0.5) * np.linspace(0.5, 2, 50)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    np.testing.assert_allclose(result.values, brute_force(K, signs, costs), atol=1e-3)


def test_rows_of_weight_zero_do_not_take_part():
    X, signs = problem(50)
    K = rbf_kernel(X, gamma=0.1)
    kept = np.arange(50) >= 10
    costs = np.where(kept, 2.0, 0.0)
    inner = np.ix_(kept, kept)
    coefficients, decisions = machine(K[inner], signs[kept], costs[kept])
    alone = svm_leave_one_out(K[inner], signs[kept], coefficients, costs[kept], decisions)
    spread, everywhere = np.zeros(50), np.zeros(50)
    spread[kept], everywhere[kept] = coefficients, decisions
    together = svm_leave_one_out(K, signs, spread, costs, everywhere)
    np.testing.assert_allclose(together.values[kept], alone.values, atol=1e-6)
    assert (together.values[~kept] == 0).all()


def test_the_only_row_of_a_class_keeps_its_decision():
    rng = np.random.default_rng(0)
    X, signs = rng.normal(size=(12, 2)), np.r_[1.0, -np.ones(11)]
    K, costs = rbf_kernel(X), np.full(12, 10.0)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    assert result.values[0] == decisions[0]
    assert np.isfinite(result.values).all()
    with pytest.raises(ValueError, match="NaN"):
        svm_leave_one_out(K, signs, coefficients, costs, np.full(12, np.nan))


def test_refits_that_take_many_iterations_are_not_cut_short():
    """Standardised inputs, a tenth of the labels wrong, and C = 30: 1e5 iterations, and a solution like any other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 30)) @ rng.normal(size=(30, 30))
    X, costs, rows = (X - X.mean(axis=0)) / X.std(axis=0), np.full(100, 30.0), np.array([3])
    signs = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0) * np.where(rng.random(100) < 0.1, -1.0, 1.0)
    K, others = X @ X.T, np.delete(np.arange(100), rows)
    exact = SVC(kernel="precomputed", C=30.0, tol=REFIT_TOLERANCE).fit(K[np.ix_(others, others)], signs[others])
    assert exact.n_iter_[0] > 50_000
    # libsvm's own decisions are off by 2e-4 here; they are made exact.
    found = _refitted(K, signs, costs, rows, np.ones(100))
    np.testing.assert_allclose(found, exact.decision_function(K[:, others]), atol=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_refits_are_made_exact():
    """Large kernel values of inputs that nearly coincide, and a large C, of which libsvm gives up after 1e6 steps."""
    rng = np.random.default_rng(6)
    X = np.round(rng.normal(size=(40, 2)))
    signs, costs = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0), np.full(40, 5e3)
    K = 100 * X @ X.T
    found = _refitted(K, signs, costs, np.array([0]), np.ones(40))
    # Inputs are whole numbers, and so are the decisions of the optimum; that of the row that is left out is zero.
    np.testing.assert_allclose(found, np.round(found), atol=1e-6)
    assert abs(found[0]) < 1e-6


def test_a_kernel_of_zeros_leaves_the_class_with_more_rows():
    K, signs, costs = np.zeros((7, 7)), np.array([1.0, 1, -1, -1, -1, -1, -1]), np.ones(7)
    coefficients, decisions = machine(K, signs, costs)
    result = svm_leave_one_out(K, signs, coefficients, costs, decisions)
    np.testing.assert_allclose(result.values, brute_force(K, signs, costs), atol=1e-6)
    np.testing.assert_allclose(result.values, -1.0, atol=1e-6)


def test_threads_have_long_enough_steps():
    assert useful_threads(360, 150) == useful_threads(1000, 400) == 2
    assert useful_threads(2000, 800) == useful_threads(10**5, 10**4) == 4
    assert useful_threads(10, 1) == 2
