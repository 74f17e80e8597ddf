"""Left-out scores and decisions against models that were fitted without the row, in extended precision."""

import numpy as np
import pytest
from precise import LONG, eigh, gaussian, linear, needs_long_double
from sklearn.datasets import make_circles
from sklearn.svm import SVC

from preimage import KernelPCA, Renormalized
from preimage.inflation import leave_one_out, linear_leave_one_out, svm_leave_one_out
from preimage.inflation._left_out import left_out_scores

pytestmark = needs_long_double

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(12, 3)) * [3.0, 1.5, 0.7]
EPSILON = float(np.finfo(float).eps)


def without(K, n, weights=None):
    """Scores of point n in the model of the others, all components, eigenvalues, and axes as coefficients."""
    weights = np.ones(len(K), LONG) if weights is None else np.asarray(weights, LONG)
    others = np.flatnonzero(np.arange(len(K)) != n)
    w = weights[others]
    inner, row = K[np.ix_(others, others)], K[n, others]
    means, fractions = inner @ (w / w.sum()), w / w.sum()
    centered = inner - means[:, None] - means + fractions @ means
    roots = np.sqrt(w)
    values, vectors = eigh(roots[:, None] * centered * roots)
    kept = values > 0
    axes = roots[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    query = row - fractions @ row - means + fractions @ means
    return query @ axes, values[kept]


def compare(found, K, weights=None, n_components=3):
    """Sizes of left-out scores agree as far as the gaps between eigenvalues allow."""
    compared = 0
    for n in range(len(K)):
        scores, values = without(K, n, weights)
        for k in range(min(n_components, len(values) - 1)):
            gaps = [values[k] - values[k + 1]] + ([values[k - 1] - values[k]] if k else [])
            gap = float(min(gaps) / values[0])
            if gap < 1e-6 or values[k] < 1e-9 * values[0]:
                continue  # directions of equal eigenvalues may turn
            nearest = np.argmin(np.abs(np.asarray(found.left_out_eigenvalues[n] - values[k], dtype=float)))
            # Kernel matrices are rounded at 1e-16 of their largest entry: relative to what is left after centring.
            size = float(np.abs(K).max() / values[0])
            allowed = 1e4 * EPSILON * max(1.0, size) * np.sqrt(float(values[0])) / gap
            assert abs(abs(found.left_out[n, nearest]) - abs(float(scores[k]))) < allowed, (n, k)
            compared += 1
    assert compared >= len(K)


@pytest.mark.parametrize("gamma", [1e-6, 1e-4, 1e-2, 0.3, 3.0])
def test_scores_of_gaussian_kernels_over_widths(gamma):
    compare(leave_one_out(np.asarray(gaussian(POINTS, POINTS, gamma), float), 6), gaussian(POINTS, POINTS, gamma))


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e8])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_scores_of_linear_components_over_scales(scale, offset):
    X = scale * (POINTS + offset)
    # The rows as they are rounded, which is what the model is fitted to.
    compare(linear_leave_one_out(X), linear(X - X.mean(axis=0), X - X.mean(axis=0)))


@pytest.mark.parametrize("columns", [3, 40])
def test_scores_of_wide_and_tall_tables(columns):
    X = np.random.default_rng(1).normal(size=(12, columns)) * np.linspace(4, 0.1, columns)
    compare(linear_leave_one_out(X), linear(X - X.mean(axis=0), X - X.mean(axis=0)))


def test_scores_with_repeated_rows():
    X = np.concatenate([POINTS[:9], POINTS[:3]])
    compare(leave_one_out(np.asarray(gaussian(X, X, 0.1), float), 6), gaussian(X, X, 0.1))


@pytest.mark.parametrize("gamma", [1e-3, 0.1])
def test_weights_are_rows_that_are_left_out_together(gamma):
    weights = np.array([1.0, 2, 1, 3, 1, 1, 2, 1, 1, 4, 1, 1])
    K = gaussian(POINTS, POINTS, gamma)
    found = leave_one_out(np.asarray(K, float), 6, sample_weight=weights)
    compare(found, K, weights)
    # And by refits on rows that are really repeated.
    rows = np.repeat(np.arange(12), weights.astype(int))
    for n in (1, 9, 11):
        kept = rows[rows != n]
        big = np.concatenate([kept, [n]])
        scores, _ = without(K[np.ix_(big, big)], len(kept))
        np.testing.assert_allclose(np.abs(found.left_out[n, :2]), np.abs(np.asarray(scores[:2], float)), rtol=1e-7)


@pytest.mark.parametrize("n_components", [5, None])
def test_left_out_scores_of_kernel_pca_are_those_of_its_components(n_components):
    """Where eigenvalues fall over many decades, and no score may be larger than training scores are."""
    X, _ = make_circles(30, factor=0.3, noise=0.05, random_state=0)
    model = KernelPCA(n_components, gamma=1.0).fit(X)
    values = left_out_scores(model, X)
    assert values.route == "exact leave-one-out"
    np.testing.assert_allclose(values.train, model.transform(X), atol=1e-9)
    K = gaussian(X, X, 1.0)
    for n in (0, 7):
        scores, _ = without(K, n)
        # Axes of the others may have changed places.
        sizes, truth = (np.sort(np.abs(np.asarray(each[:3], float))) for each in (values.left_out[n], scores))
        np.testing.assert_allclose(sizes, truth, rtol=1e-6)
    assert (values.left_out.std(axis=0) < 10 * values.train.std(axis=0).max()).all()


def test_corrected_scores_of_all_components_stay_of_the_size_of_training_scores():
    X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    new = make_circles(200, factor=0.3, noise=0.05, random_state=1)[0]
    for guard in ("auto", None):
        model = Renormalized(KernelPCA(gamma=1), guard=guard).fit(X, y)
        np.testing.assert_allclose(model.transform(X), KernelPCA(gamma=1).fit_transform(X), atol=1e-9)
        spread = model.transform(new).std(axis=0)
        assert (spread < 5 * model.transform(X).std(axis=0) + 1e-9).all()


# Decisions: the solution of the dual by its conditions, from the states that libsvm finds


def solve(A, b):
    """Gaussian elimination with pivots, in extended precision."""
    A, b = np.array(A, LONG), np.array(b, LONG)
    n = len(b)
    for k in range(n):
        p = k + int(np.argmax(np.abs(A[k:, k])))
        A[[k, p]], b[[k, p]] = A[[p, k]], b[[p, k]]
        factors = A[k + 1 :, k] / A[k, k]
        A[k + 1 :] -= factors[:, None] * A[k]
        b[k + 1 :] -= factors * b[k]
    x = np.zeros(n, LONG)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x


def machine(K, signs, costs):
    """Coefficients and intercept that meet all conditions of optimality, or None where no row is free."""
    svm = SVC(kernel="precomputed", C=1.0, tol=1e-10, max_iter=10**6)
    svm.fit(np.asarray(K, float), signs, sample_weight=costs)
    alpha = np.zeros(len(signs))
    alpha[svm.support_] = np.abs(svm.dual_coef_[0])
    free = np.flatnonzero((alpha > 1e-7 * costs) & (alpha < costs * (1 - 1e-7)))
    bound = np.flatnonzero(alpha >= costs * (1 - 1e-7))
    if not free.size:
        return None
    fixed = LONG(1) * signs[bound] * costs[bound]
    system = np.zeros((free.size + 1, free.size + 1), LONG)
    system[:-1, :-1], system[:-1, -1], system[-1, :-1] = K[np.ix_(free, free)], 1, 1
    right = np.append(signs[free] - K[np.ix_(free, bound)] @ fixed, -fixed.sum())
    solution = solve(system, right)
    coefficients = np.zeros(len(signs), LONG)
    coefficients[bound], coefficients[free] = fixed, solution[:-1]
    margins = signs * (K @ coefficients + solution[-1])
    inside = (signs * coefficients)[free]
    optimal = (inside > 0).all() and (inside < costs[free]).all() and (margins[bound] <= 1 + 1e-8).all()
    rest = np.setdiff1d(np.arange(len(signs)), np.concatenate([free, bound]))
    return (coefficients, solution[-1]) if optimal and (margins[rest] >= 1 - 1e-8).all() else None


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("cost", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_decisions_of_support_vector_machines(gamma, cost, scale):
    rng = np.random.default_rng(3)
    signs = np.where(np.arange(18) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(18, 4)) + 0.8 * signs[:, None]
    K = gaussian(scale * X, scale * X, gamma / scale**2)
    costs = cost * rng.uniform(0.5, 2, size=18)
    check_decisions(K, signs, costs, np.arange(18))


@pytest.mark.parametrize("cost", [0.3, 10.0])
def test_decisions_with_copies_that_are_left_out_together(cost):
    rng = np.random.default_rng(4)
    base, labels = rng.normal(size=(10, 3)), np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
    rows = np.repeat(np.arange(10), [1, 2, 1, 3, 1, 1, 2, 1, 1, 1])
    single = gaussian(base, base, 0.2)
    counts = np.bincount(rows).astype(float)
    found = leave_out(single[np.ix_(rows, rows)], labels[rows], np.full(len(rows), cost), rows)
    compared = 0
    for n in range(10):
        others = np.arange(10) != n
        exact = machine(single[np.ix_(others, others)], labels[others], cost * counts[others])
        if exact is not None:
            truth = float(single[n, others] @ exact[0] + exact[1])
            np.testing.assert_allclose(found[rows == n], truth, atol=1e-6 * max(1, cost))
            compared += 1
    assert compared >= 5


def leave_out(K, signs, costs, units):
    K = np.asarray(K, float)
    svm = SVC(kernel="precomputed", C=1.0, tol=1e-10).fit(K, signs, sample_weight=costs)
    coefficients = np.zeros(len(signs))
    coefficients[svm.support_] = svm.dual_coef_[0]
    return svm_leave_one_out(K, signs, coefficients, costs, svm.decision_function(K), units).values


def check_decisions(K, signs, costs, units):
    found = leave_out(K, signs, costs, units)
    compared = 0
    for n in range(len(signs)):
        others = np.arange(len(signs)) != n
        exact = machine(K[np.ix_(others, others)], signs[others], costs[others])
        if exact is None:
            continue  # the intercept of a machine without free rows is an interval
        truth = float(K[n, others] @ exact[0] + exact[1])
        # A ridge of 1e-8 of the diagonal is added to the kernel: decisions move by no more than that times the costs.
        assert abs(found[n] - truth) < 1e-6 * max(1.0, costs.max(), abs(truth)), n
        compared += 1
    assert compared >= 3
