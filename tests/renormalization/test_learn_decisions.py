"""Correction of decisions: what is learned, what is chosen, and what it is worth on new points."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from preimage import KernelFisherDiscriminant
from preimage.calibration import TrainingSpan
from preimage.datasets import data_directory, load_gene_expression
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian
from preimage.renormalization._learn_decisions import learn_decision_calibration
from preimage.renormalization._left_out import LeftOutDecisions, left_out_decisions

METHODS = ["threshold", "transfer", "isotonic", "affine", "orthogonal", "histogram", "none", "auto"]


def high_dimensional(n=60, share=0.25, d=400, seed=0, n_new=400):
    """A small class, signal in few of many columns: (X, y), (X_new, y_new)."""
    rng = np.random.default_rng(seed)
    y = np.arange(n + n_new) % round(1 / share) == 0
    X = rng.normal(size=(n + n_new, d))
    X[y, :10] += 1.5
    return (X[:n], y[:n].astype(int)), (X[n:], y[n:].astype(int))


def overlapping(n=120, seed=0, n_classes=2):
    X, y = make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )
    return X, y


def g_mean(decisions, y):
    return np.sqrt(np.mean(decisions[y == 1] > 0) * np.mean(decisions[y == 0] <= 0))


def brute_force(estimator, X, y):
    out = []
    for p in range(len(y)):
        rows = np.arange(len(y)) != p
        out.append(clone(estimator).fit(X[rows], y[rows]).decision_function(X[p : p + 1])[0])
    return np.array(out)


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


def test_a_search_stands_for_its_best_model():
    X, y = overlapping(60)
    search = GridSearchCV(SVC(gamma=0.2), {"C": [0.1, 10.0]}, cv=3).fit(X, y)
    inner = left_out_decisions(search.best_estimator_, X, y)
    np.testing.assert_array_equal(left_out_decisions(search, X, y).left_out, inner.left_out)
    calibration = learn_decision_calibration(search, X, y, method="transfer")
    assert calibration.apply(search.decision_function(X), X).shape == (60,)


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


@pytest.mark.parametrize("model", [SVC(gamma=0.5), RidgeClassifier()], ids=["fast", "refits"])
def test_the_only_row_of_a_class_keeps_its_decision(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 2)), np.r_[1, np.zeros(14, int)]
    values = left_out_decisions(model.fit(X, y), X, y)
    assert values.left_out[0, 0] == values.train[0, 0]
    assert np.isfinite(values.left_out).all()
    assert learn_decision_calibration(model, X, y).method in ("none", "threshold")


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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shapes_are_those_of_the_classifier(method, n_classes):
    X, y = overlapping(90, n_classes=n_classes)
    model = OneVsRestClassifier(SVC(gamma=0.2)) if n_classes > 2 else SVC(gamma=0.2)
    model.fit(X[:60], y[:60])
    calibration = learn_decision_calibration(model, X[:60], y[:60], method=method)
    values = model.decision_function(X[60:])
    out = calibration.apply(values, X[60:])
    assert out.shape == values.shape and np.isfinite(out).all()
    assert calibration.inflation.shape == (1 if n_classes == 2 else 3,)
    assert calibration.train.shape == calibration.left_out.shape == calibration.corrected.shape
    assert calibration.requires_batch == (method == "histogram")
    assert calibration.method == method or method == "auto"
    np.testing.assert_allclose(pickle.loads(pickle.dumps(calibration)).apply(values, X[60:]), out)


@pytest.mark.parametrize("method", ["threshold", "transfer", "isotonic", "affine", "orthogonal"])
def test_single_points_get_what_they_get_in_company(method):
    (X, y), (X_new, _) = high_dimensional(n_new=20)
    model = SVC(gamma=2e-3, C=10).fit(X, y)
    calibration = learn_decision_calibration(model, X, y, method=method)
    values = model.decision_function(X_new)
    together = calibration.apply(values, X_new)
    alone = [calibration.apply(values[i : i + 1], X_new[i : i + 1])[0] for i in range(20)]
    np.testing.assert_allclose(alone, together, rtol=1e-10)
    if method != "orthogonal":
        assert (np.diff(together[np.argsort(values)]) >= -1e-9).all()


def test_histogram_gives_the_training_distribution_and_warns_of_few_rows():
    (X, y), (X_new, _) = high_dimensional(n_new=60)
    model = SVC(gamma=2e-3, C=10).fit(X, y)
    calibration = learn_decision_calibration(model, X, y, method="histogram")
    values = model.decision_function(X_new)
    np.testing.assert_allclose(np.sort(calibration.apply(values, X_new)), np.sort(model.decision_function(X)))
    with pytest.warns(UserWarning, match="whole test set"):
        calibration.apply(values[:3], X_new[:3])


def test_the_orthogonal_factor_is_the_decision_at_the_projection():
    (X, y), (X_new, _) = high_dimensional(n_new=20)
    model = SVC(gamma=2e-3, C=10).fit(X, y)
    calibration = learn_decision_calibration(model, X, y, method="orthogonal")
    span = TrainingSpan(X, affine=True)
    projected = span.origin + (X_new - span.origin) @ span.axes.T @ span.axes
    out = calibration.apply(model.decision_function(X_new), X_new)
    np.testing.assert_allclose(out, model.decision_function(projected), rtol=1e-6, atol=1e-8)


def test_the_orthogonal_factor_sees_what_left_out_rows_lose_after_a_scaler():
    (X, y), _ = high_dimensional()
    model = make_pipeline(StandardScaler(), SVC(gamma=2e-3, C=10)).fit(X, y)
    calibration = learn_decision_calibration(model, X, y, method="orthogonal")
    assert calibration.corrected.std() > 1.2 * calibration.left_out.std()


def test_the_orthogonal_factor_needs_a_gaussian_kernel_machine():
    X, y = overlapping(40)
    for model in (RidgeClassifier(), SVC(kernel="linear"), SVC(kernel="poly")):
        with pytest.raises(UnsupportedKernelError, match="transfer"):
            learn_decision_calibration(model.fit(X, y), X, y, method="orthogonal")
    X, y = overlapping(60, n_classes=3)
    with pytest.raises(UnsupportedKernelError, match="pairs"):
        learn_decision_calibration(SVC(gamma=0.2).fit(X, y), X, y, method="orthogonal")


@pytest.mark.parametrize("method", ["threshold", "transfer", "isotonic", "affine", "histogram", "auto"])
def test_the_small_class_is_found_again(method):
    """Collapse to the large class before; after, far better than that, in several draws."""
    before, after = [], []
    for seed in range(4):
        (X, y), (X_new, y_new) = high_dimensional(n=80, seed=seed)
        model = SVC(gamma=3e-3).fit(X, y)
        values = model.decision_function(X_new)
        calibration = learn_decision_calibration(model, X, y, method=method)
        assert calibration.inflation > 2
        before.append(g_mean(values, y_new))
        after.append(g_mean(calibration.apply(values, X_new), y_new))
    assert np.mean(before) < 0.2
    assert np.mean(after) > np.mean(before) + 0.3


def balanced_accuracy(decisions, y):
    return (np.mean(decisions[y == 1] > 0) + np.mean(decisions[y == 0] <= 0)) / 2


def test_auto_does_no_harm_where_nothing_is_inflated():
    changes = []
    for seed in range(12):
        X, y = overlapping(400, seed=seed)
        model = SVC(gamma=0.01, C=0.5).fit(X[:120], y[:120])
        calibration = learn_decision_calibration(model, X[:120], y[:120])
        assert calibration.inflation < 1.1
        values = model.decision_function(X[120:])
        corrected = calibration.apply(values, X[120:])
        changes.append(balanced_accuracy(corrected, y[120:]) - balanced_accuracy(values, y[120:]))
    assert np.mean(changes) > -0.005 and np.min(changes) > -0.03


def test_thresholds_are_for_the_measure_that_is_asked_for():
    """Both classes alike, or as many right decisions as possible: a small class counts less in the second."""
    found = {}
    for scoring in ("balanced_accuracy", "accuracy"):
        scores = []
        for seed in range(8):
            rng = np.random.default_rng(seed)
            y = (np.arange(2200) % 6 == 0).astype(int)
            X = rng.normal(size=(2200, 4)) + 1.2 * y[:, None] * [1, 0, 0, 0]
            model = SVC(gamma=0.1).fit(X[:200], y[:200])
            calibration = learn_decision_calibration(model, X[:200], y[:200], method="threshold", scoring=scoring)
            corrected, new = calibration.apply(model.decision_function(X[200:]), X[200:]), y[200:]
            scores.append([balanced_accuracy(corrected, new), np.mean((corrected > 0) == new)])
        found[scoring] = np.mean(scores, axis=0)
    assert found["balanced_accuracy"][0] > found["accuracy"][0] + 0.03
    assert found["accuracy"][1] > found["balanced_accuracy"][1] - 0.005


def test_auto_says_what_it_compared():
    (X, y), _ = high_dimensional()
    choice = learn_decision_calibration(SVC(gamma=2e-3).fit(X, y), X, y).choice
    assert choice["chosen"] == "threshold" and choice["inflation"] > 2 and choice["signal"] < 0.05
    assert choice["gain"] > choice["standard error"] > 0 and choice["scoring"] == "balanced_accuracy"


def test_auto_is_none_when_no_row_matters():
    X, y = np.r_[-5.0, -4.9, 5.0, 4.9][:, None], np.array([0, 0, 1, 1])
    assert learn_decision_calibration(RidgeClassifier().fit(X, y), X, y).method in ("none", "threshold")
    values = left_out_decisions(RidgeClassifier().fit(X, y), X, y)
    values = replace(values, left_out=values.train)
    assert learn_decision_calibration(RidgeClassifier().fit(X, y), X, y, values=values).method == "none"


def test_results_depend_on_the_seed_alone():
    (X, y), (X_new, _) = high_dimensional()
    model = SVC(gamma=2e-3).fit(X, y)
    values = model.decision_function(X_new)
    once, again = (
        learn_decision_calibration(model, X, y, rng=np.random.default_rng(3)).apply(values, X_new) for _ in range(2)
    )
    np.testing.assert_array_equal(once, again)


def test_string_labels():
    (X, y), (X_new, _) = high_dimensional()
    names = np.array(["healthy", "ill"])[y]
    model, named = SVC(gamma=2e-3).fit(X, y), SVC(gamma=2e-3).fit(X, names)
    first = learn_decision_calibration(model, X, y, method="transfer")
    second = learn_decision_calibration(named, X, names, method="transfer")
    values = model.decision_function(X_new)
    np.testing.assert_allclose(second.apply(values, X_new), first.apply(values, X_new))


def test_bad_input_is_refused():
    X, y = overlapping(60, n_classes=3)
    model = SVC(decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        learn_decision_calibration(model, X, y)
    with pytest.raises(ValueError, match="one of auto, threshold, transfer"):
        learn_decision_calibration(SVC().fit(X, y), X, y, method="spline")


@pytest.mark.parametrize(("name", "percentile", "least"), [("lung_cancer", 80, -0.02), ("leukemia_allaml", 5, 0.05)])
def test_gene_expression(name, percentile, least):
    """Wide kernels on lung cancer need no help, and histograms hurt there; narrow ones on leukaemia do need help."""
    directory = data_directory()
    if directory is None or not (directory / f"{name}.npz").exists():
        pytest.skip(f"{name} is absent; PREIMAGE_DATA names the folder that has {name}.npz")
    data = load_gene_expression(name)
    change = {"auto": [], "histogram": []}
    for seed in range(3):
        X, X_new, y, y_new = train_test_split(data.X, data.y, test_size=0.5, stratify=data.y, random_state=seed)
        scaler = StandardScaler().fit(X)
        X, X_new = scaler.transform(X), scaler.transform(X_new)
        y, y_new = np.unique(y, return_inverse=True)[1], np.unique(y_new, return_inverse=True)[1]
        model = SVC(gamma=np.percentile(pdist(X), percentile) ** -2.0, C=10).fit(X, y)
        decisions = model.decision_function(X_new)
        for method in change:
            corrected = learn_decision_calibration(model, X, y, method=method).apply(decisions, X_new)
            change[method].append(g_mean(corrected, y_new) - g_mean(decisions, y_new))
    assert np.mean(change["auto"]) >= least
    if name == "lung_cancer":
        assert np.mean(change["histogram"]) < np.mean(change["auto"])


def half_circles(n, seed, d=300, noise=0.04):
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=n) > 0.6).astype(int)
    angle = rng.uniform(0, np.pi, size=n)
    points = np.where(
        y[:, None] == 1, np.c_[1 - np.cos(angle), 0.5 - np.sin(angle)], np.c_[np.cos(angle), np.sin(angle)]
    )
    axes = np.linalg.qr(np.random.default_rng(1).normal(size=(d, 2)))[0]
    return points @ axes.T + noise * rng.normal(size=(n, d)), y


@pytest.mark.parametrize("model", [SVC(gamma=15), KernelFisherDiscriminant(gamma=15)], ids=["svm", "fisher"])
@pytest.mark.parametrize("method", ["threshold", "transfer", "isotonic", "affine", "auto"])
def test_extreme_inflation_is_not_hidden_by_intercepts_that_move(model, method):
    """Left-out decisions vary by a thousandth of a training decision, intercepts without a row by a hundredth."""
    (X, y), (X_new, y_new) = half_circles(80, 0), half_circles(300, 2)
    calibration = learn_decision_calibration(model.fit(X, y), X, y, method=method)
    assert calibration.inflation > 500
    values = model.decision_function(X_new)
    assert g_mean(values, y_new) == 0
    assert g_mean(calibration.apply(values, X_new), y_new) > 0.95


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


@pytest.mark.parametrize("gamma", [1.0, 1e6])
def test_auto_does_nothing_and_says_so_where_kernels_vanish(gamma):
    (X, y), (X_new, _) = high_dimensional(n_new=30)
    model = SVC(gamma=gamma).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.warns(UserWarning, match=r"rounding errors only.*smaller gamma"):
            calibration = learn_decision_calibration(model, X, y)
        assert calibration.method == "none"
        values = model.decision_function(X_new)
        for method in ("transfer", "affine", "orthogonal"):
            corrected = learn_decision_calibration(model, X, y, method=method).apply(values, X_new)
            np.testing.assert_allclose(corrected, values)


def test_auto_takes_no_correction_that_names_wrong_classes():
    """As where intercepts move and models do not tell their levels."""
    X, y = half_circles(80, 0)
    model = SVC(gamma=15).fit(X, y)
    exact = left_out_decisions(model, X, y)
    values = LeftOutDecisions(exact.train, exact.left_out, exact.codes, None, "refits")
    with pytest.warns(UserWarning, match="name wrong classes"):
        calibration = learn_decision_calibration(model, X, y, values=values)
    assert calibration.method == "none"


def three_arcs(n, seed, d=300):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    angle = rng.uniform(0, np.pi, size=n)
    points = np.c_[np.cos(angle) + 1.5 * y, np.sin(angle) * (1 - 2 * (y % 2))]
    axes = np.linalg.qr(np.random.default_rng(1).normal(size=(d, 2)))[0]
    return points @ axes.T + 0.04 * rng.normal(size=(n, d)), y


SEVERAL = [KernelFisherDiscriminant(gamma=8), OneVsRestClassifier(SVC(gamma=8))]


@pytest.mark.parametrize("model", SEVERAL, ids=["fisher", "one against the rest"])
def test_extreme_inflation_of_several_classes_is_undone(model):
    (X, y), (X_new, y_new) = three_arcs(90, 0), three_arcs(200, 2)
    calibration = learn_decision_calibration(model.fit(X, y), X, y)
    values = model.decision_function(X_new)
    assert np.mean(values.argmax(axis=1) == y_new) < 0.6
    assert np.mean(calibration.apply(values, X_new).argmax(axis=1) == y_new) > 0.95


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
