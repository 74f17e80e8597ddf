"""Left-out scores and decisions are those of models fitted without the rows, whatever the route."""

import warnings

import numpy as np
import pytest
from renormalization_data import high_dimensional, overlapping
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from preimage import KernelFisherDiscriminant, KernelPCA
from preimage.inflation._exact import OneVsRestSVC
from preimage.inflation._left_out import left_out_decisions, left_out_scores
from preimage.kernels import Gaussian

RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=(30, 400))
SEVERAL = [KernelFisherDiscriminant(gamma=8), OneVsRestClassifier(SVC(gamma=8))]


def brute_force(estimator, X, y):
    out = []
    for p in range(len(y)):
        rows = np.arange(len(y)) != p
        out.append(clone(estimator).fit(X[rows], y[rows]).decision_function(X[p : p + 1])[0])
    return np.array(out)


def several(n, seed, sizes=(0.55, 0.3, 0.15), d=300, separation=1.0):
    rng = np.random.default_rng(seed)
    y = rng.choice(len(sizes), size=n, p=sizes)
    X = rng.normal(size=(n, d))
    for k in range(len(sizes)):
        X[y == k, 10 * k : 10 * k + 10] += separation
    return X, y


def two(n, seed, d=300):
    X, y = several(n, seed, (0.75, 0.25), d)
    return X, y


@pytest.mark.parametrize(
    "svm",
    [
        SVC(gamma=0.2, tol=1e-6),
        SVC(gamma=0.2, C=10, class_weight={0: 1, 1: 5}, tol=1e-6),
        SVC(kernel="poly", degree=2, gamma=0.3, coef0=1, tol=1e-6),
        SVC(kernel=Gaussian(0.1), tol=1e-6),
    ],
    ids=["rbf", "class weights", "poly", "our kernel"],
)
def test_left_out_decisions_of_svc_equal_brute_force(svm):
    X, y = overlapping(50)
    values = left_out_decisions(svm.fit(X, y), X, y)
    assert values.route == "exact leave-one-out"
    np.testing.assert_allclose(values.left_out[:, 0], brute_force(svm, X, y), atol=2e-3)
    np.testing.assert_allclose(values.train[:, 0], svm.decision_function(X))


@pytest.mark.parametrize(
    "model",
    [NuSVC(nu=0.3, gamma=0.2), LinearSVC(), RidgeClassifier(), LinearDiscriminantAnalysis()],
    ids=lambda model: type(model).__name__,
)
def test_left_out_decisions_of_others_are_refits(model):
    X, y = overlapping(40)
    values = left_out_decisions(model.fit(X, y), X, y)
    assert values.route == "refits"
    np.testing.assert_allclose(values.left_out[:, 0], brute_force(model, X, y), atol=1e-6)


def test_precomputed_kernels_leave_out_rows_and_columns():
    X, y = overlapping(40)
    K = Gaussian(0.2)(X)
    inside = left_out_decisions(SVC(gamma=0.2).fit(X, y), X, y)
    precomputed = SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(left_out_decisions(precomputed, K, y).left_out, inside.left_out, atol=2e-3)
    folds = left_out_decisions(precomputed, K, y, cv=LeaveOneOut())
    np.testing.assert_allclose(folds.left_out, inside.left_out, atol=5e-3)


def test_sparse_inputs_are_dense_ones():
    X, y = overlapping(40)
    dense = left_out_decisions(SVC(gamma=0.2).fit(X, y), X, y)
    thin = sparse.csr_matrix(X)
    thin_values = left_out_decisions(SVC(gamma=0.2).fit(thin, y), thin, y)
    np.testing.assert_allclose(thin_values.left_out, dense.left_out, atol=5e-3)


def test_scalers_keep_the_fast_route_and_selection_does_not():
    (X, y), _ = high_dimensional()
    scaled = make_pipeline(StandardScaler(), SVC(gamma=1e-3)).fit(X, y)
    assert left_out_decisions(scaled, X, y).route == "exact leave-one-out"
    X = np.random.default_rng(1).normal(size=X.shape)  # nothing to learn
    selected = make_pipeline(SelectKBest(k=20), SVC(gamma=0.02)).fit(X, y)
    values = left_out_decisions(selected, X, y)
    assert values.route == "refits"
    # Selection of columns has seen the labels: left-out decisions must not profit from that.
    cheating = left_out_decisions(selected[-1], selected[:-1].transform(X), y)
    assert np.mean((cheating.left_out[:, 0] > 0) == y) > np.mean((values.left_out[:, 0] > 0) == y)


@pytest.mark.parametrize("cv", [5, StratifiedKFold(4), KFold(6, shuffle=True, random_state=0)])
def test_folds_leave_out_every_row_once(cv):
    X, y = overlapping(60)
    values = left_out_decisions(SVC(gamma=0.2).fit(X, y), X, y, cv=cv)
    assert values.route == "refits" and np.isfinite(values.left_out).all()
    assert not np.allclose(values.left_out, values.train)


def test_folds_that_forget_rows_or_classes_are_refused():
    X, y = overlapping(60)
    model = SVC(gamma=0.2).fit(X, y)
    with pytest.raises(ValueError, match="left out once"):
        left_out_decisions(model, X, y, cv=ShuffleSplit(2, test_size=0.2, random_state=0))
    ordered = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match="rows of a class"):
        left_out_decisions(model.fit(X[ordered], y[ordered]), X[ordered], y[ordered], cv=KFold(2))


def test_sample_weights_reach_the_machines():
    X, y = overlapping(50)
    weights = np.random.default_rng(0).uniform(0.2, 3, size=50)
    for model in (SVC(gamma=0.2, tol=1e-6), make_pipeline(StandardScaler(), SVC(gamma=0.2, tol=1e-6))):
        name = "svc__sample_weight" if hasattr(model, "steps") else "sample_weight"
        model.fit(X, y, **{name: weights})
        fast = left_out_decisions(model, X, y, sample_weight=weights)
        slow = left_out_decisions(model, X, y, sample_weight=weights, cv=LeaveOneOut())
        # Refitted scalers differ a little from that of all rows.
        np.testing.assert_allclose(fast.left_out, slow.left_out, atol=0.15 if hasattr(model, "steps") else 2e-3)


def test_rows_of_weight_zero_have_no_part():
    X, y = overlapping(50)
    weights = np.r_[np.zeros(10), np.ones(40)]
    model = SVC(gamma=0.2, tol=1e-6).fit(X, y, sample_weight=weights)
    values = left_out_decisions(model, X, y, sample_weight=weights)
    alone = left_out_decisions(SVC(gamma=0.2, tol=1e-6).fit(X[10:], y[10:]), X[10:], y[10:])
    np.testing.assert_allclose(values.left_out[10:], alone.left_out, atol=2e-3)
    np.testing.assert_allclose(values.left_out[:10], values.train[:10], atol=1e-6)


@pytest.mark.parametrize("threshold", ["gaussian", "midpoint"])
def test_kernel_fisher_discriminants_have_a_closed_form(threshold):
    X, y = overlapping(60)
    model = KernelFisherDiscriminant(gamma=0.2, alpha=0.05, threshold=threshold).fit(X, y)
    values = left_out_decisions(model, X, y)
    assert values.route == "exact leave-one-out"
    truth = brute_force(model, X, y)
    # Ridge and threshold keep their places here; refits move both a little.
    assert np.abs(values.left_out[:, 0] - truth).max() < 0.1 * truth.std()
    assert np.corrcoef(values.left_out[:, 0], truth)[0, 1] > 0.999


@pytest.mark.parametrize("model", [SVC(gamma=0.02), KernelFisherDiscriminant(gamma=0.02)], ids=["svm", "fisher"])
def test_left_out_decisions_of_noise_know_nothing_of_classes(model):
    """Neither against the class that was left out, which intercepts do, nor for it."""
    correlations = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 500)), (np.arange(60) % 3 == 0).astype(int)
        values = left_out_decisions(model.fit(X, y), X, y)
        assert np.corrcoef(values.left_out[:, 0], y)[0, 1] < -0.99
        correlations.append(np.corrcoef(values.leveled[:, 0], y)[0, 1])
    assert abs(np.mean(correlations)) < 3 * np.std(correlations) / np.sqrt(15)


def test_levels_of_kernel_fisher_discriminants_are_those_of_least_squares():
    X, y = overlapping(40)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=40)
    model = KernelFisherDiscriminant(gamma=0.2, alpha=0.05).fit(X, y, sample_weight=weights)
    values = left_out_decisions(model, X, y, sample_weight=weights)
    K = Gaussian(0.2)(X)
    ridge = 0.05 * (weights @ np.diagonal(K) - weights @ K @ weights / weights.sum()) / weights.sum()
    differences = []
    for p in range(40):
        rows = np.flatnonzero(np.arange(40) != p)
        system = np.block(
            [[K[np.ix_(rows, rows)] + np.diag(ridge / weights[rows]), np.ones((39, 1))], [np.ones(39), 0]]
        )
        solution = np.linalg.solve(system, np.append(2.0 * y[rows] - 1, 0))
        fitted = K[:, rows] @ solution[:-1] + solution[-1]
        differences.append(fitted[p] - weights @ fitted / weights.sum())
    differences, found = np.array(differences), (values.left_out - values.levels)[:, 0]
    slope = found @ differences / (differences @ differences)
    np.testing.assert_allclose(found, slope * differences, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("model", SEVERAL, ids=["fisher", "one against the rest"])
def test_levels_of_refits_do_not_tell_classes_of_noise(model):
    correlations = []
    for seed in range(6):
        X, y = 0.05 * np.random.default_rng(seed).normal(size=(45, 300)), np.arange(45) % 3
        values = left_out_decisions(model.fit(X, y), X, y)
        for k in range(3):
            assert np.corrcoef(values.left_out[:, k], y == k)[0, 1] < -0.9
            correlations.append(np.corrcoef(values.leveled[:, k], y == k)[0, 1])
    assert abs(np.mean(correlations)) < 0.1


def test_models_without_a_free_intercept_have_no_levels_of_their_own():
    (X, y), _ = high_dimensional(40)
    for model in (LinearSVC(), RidgeClassifier(fit_intercept=False)):
        values = left_out_decisions(model.fit(X, y), X, y)
        np.testing.assert_allclose(values.leveled, values.left_out)


def test_refits_agree_with_exact_leave_one_out():
    X = WIDE[:, :60] * np.r_[20, 10, np.ones(58)]  # components that keep their places
    for inner in (PCA(2), PCA(2, whiten=True), KernelPCA(2, gamma=1e-5), SklearnKernelPCA(2, kernel="rbf", gamma=1e-5)):
        model = clone(inner).fit(X)
        exact = left_out_scores(model, X)
        slow = left_out_scores(model, X, cv=30)
        assert exact.route == "exact leave-one-out" and slow.route == "refits"
        np.testing.assert_allclose(np.abs(exact.left_out), np.abs(slow.left_out), atol=1e-6)
        for (others, fold, left), (others_slow, fold_slow, left_slow) in zip(exact.folds(), slow.folds(), strict=True):
            np.testing.assert_array_equal(others, others_slow)
            np.testing.assert_array_equal(left, left_slow)
            np.testing.assert_allclose(np.abs(fold), np.abs(fold_slow), atol=1e-6)


def test_refits_of_wide_tables_do_not_depend_on_the_basis():
    X = WIDE * np.r_[20, 10, np.ones(398)]
    model, groups = PCA(2).fit(X), np.arange(30) // 3
    fast = left_out_scores(model, X, groups=groups)
    for fold in range(10):
        out = groups == fold
        truth = PCA(2).fit(X[~out]).transform(X[out])
        np.testing.assert_allclose(np.abs(fast.left_out[out]), np.abs(truth), atol=1e-9)


def test_precomputed_kernels_are_left_out_by_row_and_column():
    X = WIDE[:, :20] * np.r_[20, 10, np.ones(18)]
    K = np.exp(-1e-5 * ((X[:, None] - X) ** 2).sum(axis=2))
    direct = left_out_scores(KernelPCA(2, gamma=1e-5).fit(X), X)
    for cv in (None, 30):
        given = left_out_scores(KernelPCA(2, kernel="precomputed").fit(K), K, cv=cv)
        np.testing.assert_allclose(np.abs(given.left_out), np.abs(direct.left_out), atol=1e-7)


def test_supervised_steps_are_fitted_again():
    y = (np.arange(30) % 2).astype(int)
    pipeline = make_pipeline(SelectKBest(k=20), PCA(1)).fit(WIDE, y)
    scores = left_out_scores(pipeline, WIDE, y)
    assert scores.route == "refits"
    others = np.arange(1, 30)
    alone = make_pipeline(SelectKBest(k=20), PCA(1)).fit(WIDE[others], y[others]).transform(WIDE[:1])
    np.testing.assert_allclose(np.abs(scores.left_out[:1]), np.abs(alone))


def test_landmarks_and_indefinite_kernels_take_the_route_of_refits():
    assert left_out_scores(KernelPCA(2, landmarks=10).fit(WIDE), WIDE, cv=3).route == "refits"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelPCA(2, kernel="sigmoid", gamma=1.0).fit(WIDE[:, :3])
    if model.subspace_.signature is not None:
        assert left_out_scores(model, WIDE[:, :3], cv=3).route == "refits"


def test_left_out_votes_of_pairs_equal_brute_force():
    X, y = several(40, 0, d=4, separation=1.5)
    svm = SVC(gamma=0.3, tol=1e-8).fit(X, y)
    values = left_out_decisions(svm, X, y)
    assert values.route == "exact leave-one-out"
    np.testing.assert_allclose(values.train, svm.decision_function(X), atol=1e-6)
    for p in range(40):
        rows = np.arange(40) != p
        if len(np.unique(y[rows])) == 3:
            truth = clone(svm).fit(X[rows], y[rows]).decision_function(X[p : p + 1])[0]
            np.testing.assert_allclose(values.left_out[p], truth, atol=1e-4)


@pytest.mark.parametrize("kind", [OneVsRestClassifier, OneVsRestSVC])
def test_left_out_decisions_of_one_class_against_the_rest_equal_brute_force(kind):
    X, y = several(36, 1, d=4, separation=1.5)
    model = kind(SVC(gamma=0.3, C=2, tol=1e-8, class_weight="balanced")).fit(X, y)
    values = left_out_decisions(model, X, y)
    assert values.route == "exact leave-one-out"
    truth = left_out_decisions(model, X, y, cv=LeaveOneOut())
    assert truth.route == "refits"
    alone = np.bincount(y)[y] == 1
    fixed = OneVsRestSVC(SVC(gamma=0.3, C=2, tol=1e-8)).fit(X, y)
    fast, slow = left_out_decisions(fixed, X, y), left_out_decisions(fixed, X, y, cv=LeaveOneOut())
    # Balanced weights are those of all rows in the fast way, and move a little when a row is left out.
    np.testing.assert_allclose(values.left_out[~alone], truth.left_out[~alone], atol=0.2)
    np.testing.assert_allclose(fast.left_out, slow.left_out, atol=1e-4)
    np.testing.assert_allclose(fast.levels, slow.levels, atol=1e-4)


def test_copies_of_a_row_are_left_out_together():
    X, y = two(40, 0)
    doubled, labels = np.concatenate([X, X]), np.concatenate([y, y])
    values = left_out_decisions(SVC(C=0.5, tol=1e-8).fit(doubled, labels), doubled, labels)
    single = left_out_decisions(SVC(C=1.0, tol=1e-8).fit(X, y), X, y)
    np.testing.assert_allclose(values.left_out[:40], single.left_out, atol=1e-4)
    np.testing.assert_allclose(values.left_out[40:], values.left_out[:40])


def test_copies_of_rows_of_a_precomputed_kernel_keep_the_fast_route():
    X = WIDE[:20, :8] * np.r_[20, 10, np.ones(6)]
    X = np.concatenate([X[:5], X[2:4], X[5:]])  # two copies, not at the end
    y, K = (X[:, 0] > 0).astype(int), X @ X.T
    by_matrix = left_out_scores(KernelPCA(2, kernel="precomputed").fit(K), K)
    by_rows = left_out_scores(KernelPCA(2, kernel="linear").fit(X), X)
    assert by_matrix.route == by_rows.route == "exact leave-one-out"
    np.testing.assert_allclose(np.abs(by_matrix.left_out), np.abs(by_rows.left_out), atol=1e-6)
    fisher = KernelFisherDiscriminant(kernel="precomputed", alpha=0.1, class_weight="balanced").fit(K, y)
    rows = KernelFisherDiscriminant(kernel="linear", alpha=0.1, class_weight="balanced").fit(X, y)
    exact = left_out_decisions(fisher, K, y)
    assert exact.route == "exact leave-one-out"
    np.testing.assert_allclose(exact.left_out, left_out_decisions(rows, X, y).left_out, rtol=1e-6)


def test_automatic_landmarks_that_are_all_points_keep_the_fast_route():
    X, y = overlapping()
    exact = left_out_decisions(KernelFisherDiscriminant(gamma=0.2, landmarks="auto").fit(X, y), X, y)
    assert exact.route == "exact leave-one-out"
    few = KernelFisherDiscriminant(gamma=0.2, landmarks=20).fit(X, y)
    assert left_out_decisions(few, X, y, cv=3).route == "refits"
