"""Correction of decisions: what is learned, what is chosen, and what it is worth on new points."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from data import data_directory, load_gene_expression
from renormalization_data import high_dimensional, overlapping
from scipy.spatial.distance import pdist
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from preimage import KernelFisherDiscriminant
from preimage.exceptions import UnsupportedKernelError
from preimage.inflation._comparison import signal_of
from preimage.inflation._corrections import TrainingSpan
from preimage.inflation._learn import Verdict, learn_decision_calibration
from preimage.inflation._left_out import LeftOutDecisions, left_out_decisions

METHODS = ["threshold", "transfer", "isotonic", "affine", "orthogonal", "histogram", "none", "auto"]


def g_mean(decisions, y):
    return np.sqrt(np.mean(decisions[y == 1] > 0) * np.mean(decisions[y == 0] <= 0))


def test_a_search_stands_for_its_best_model():
    X, y = overlapping(60)
    search = GridSearchCV(SVC(gamma=0.2), {"C": [0.1, 10.0]}, cv=3).fit(X, y)
    inner = left_out_decisions(search.best_estimator_, X, y)
    np.testing.assert_array_equal(left_out_decisions(search, X, y).left_out, inner.left_out)
    calibration = learn_decision_calibration(search, X, y, method="transfer")
    assert calibration.apply(search.decision_function(X), X).shape == (60,)


@pytest.mark.parametrize("model", [SVC(gamma=0.5), RidgeClassifier()], ids=["fast", "refits"])
def test_the_only_row_of_a_class_keeps_its_decision(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 2)), np.r_[1, np.zeros(14, int)]
    values = left_out_decisions(model.fit(X, y), X, y)
    assert values.left_out[0, 0] == values.train[0, 0]
    assert np.isfinite(values.left_out).all()
    assert learn_decision_calibration(model, X, y).method in ("none", "threshold")


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
    assert choice.accepted and choice.inflation > 2
    assert choice.gain > choice.standard_error > 0 and choice.scoring == "balanced_accuracy"


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


@pytest.mark.parametrize(
    ("verdict", "accepted"),
    [
        (Verdict(2.0), False),
        (Verdict(2.0, "name wrong classes"), False),
        (Verdict(2.0, None, 0.01, 0.02, 0.02), True),
        (Verdict(2.0, None, -0.01, 0.02, 0.02), True),  # a gain is possible
        (Verdict(2.0, None, -0.03, 0.02, 0.02), False),
        (Verdict(2.0, None, 0.0, 0.0, 0.0), False),  # there is nothing to correct
        (Verdict(2.0, None, -0.01, 0.02), False),  # several classes
        (Verdict(2.0, None, 0.01, 0.02, has_evidence=False), False),
        (Verdict(2.0, None, -0.1, 0.02, 0.02, has_nothing_to_lose=True), True),
    ],
    ids=str,
)
def test_auto_moves_thresholds_unless_that_is_worse(verdict, accepted):
    assert verdict.is_accepted == accepted


def test_decisions_that_name_one_class_have_nothing_to_lose_in_balanced_accuracy():
    (X, y), _ = high_dimensional()
    X = np.random.default_rng(5).normal(size=X.shape)  # noise
    model = SVC(gamma=2e-3).fit(X, y)
    values = left_out_decisions(model, X, y)
    assert (values.leveled < 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collapsed = learn_decision_calibration(model, X, y, values=values).choice.gain is None
        assert learn_decision_calibration(model, X, y, values=values).method == ("none" if collapsed else "threshold")
        accuracy = learn_decision_calibration(model, X, y, values=values, scoring="accuracy")
    assert signal_of(values.leveled, y).p_value > 0.2 and accuracy.method == "none"
