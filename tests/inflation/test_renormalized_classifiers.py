"""Decisions of classifiers: several classes, groups, weights, probabilities, maps."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score, brier_score_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneGroupOut, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from preimage import KernelFisherDiscriminant, Renormalized
from preimage._engine.threads import available_threads
from preimage.inflation._exact import OneVsRestSVC
from preimage.neuro import sensitivity_map, split_half

RNG = np.random.default_rng(0)


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


# Several classes


def test_machines_of_one_class_take_weights_of_rows_and_classes():
    X, y = several(60, 0, d=5)
    names = np.array(["a", "b", "c"])[y]
    given = OneVsRestSVC(SVC(class_weight={"b": 3.0})).fit(X, names)
    rows = OneVsRestSVC(SVC()).fit(X, names, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(given.decision_function(X), rows.decision_function(X))
    plain = OneVsRestClassifier(SVC()).fit(X, names)
    np.testing.assert_allclose(OneVsRestSVC(SVC()).fit(X, names).decision_function(X), plain.decision_function(X))
    assert list(given.classes_) == ["a", "b", "c"]


@pytest.mark.parametrize("steps", [[], [StandardScaler()]], ids=["alone", "scaled"])
def test_svms_of_several_classes_find_small_ones_again(steps):
    before, after = [], []
    for seed in range(4):
        (X, y), (X_new, y_new) = several(120, seed), several(400, 100 + seed)
        plain = make_pipeline(*steps, SVC()).fit(X, y)
        cured = Renormalized(make_pipeline(*steps, SVC())).fit(X, y)
        before.append(balanced_accuracy_score(y_new, plain.predict(X_new)))
        after.append(balanced_accuracy_score(y_new, cured.predict(X_new)))
        assert cured.decision_function(X_new).shape == (400, 3) and cured.predict_proba(X_new).shape == (400, 3)
    assert np.mean(after) > np.mean(before) + 0.1


def test_votes_of_pairs_stay_where_they_are_as_good():
    kept = 0
    for seed in range(5):
        X, y = several(150, seed, (0.34, 0.33, 0.33), d=6, separation=2.0)
        model = Renormalized(SVC()).fit(X, y)
        kept += model.method_ == "none"
        if model.method_ == "none":
            assert type(model.estimator_) is SVC
            np.testing.assert_array_equal(model.predict(X[:20] + 0.1), SVC().fit(X, y).predict(X[:20] + 0.1))
    assert kept >= 3


# Groups


def scans(n_runs=6, n=20, d=200, drift=3.0, seed=0):
    """Scans of a run share an offset, which makes them alike beyond their class."""
    rng = np.random.default_rng(seed)
    run = np.repeat(np.arange(n_runs), n)
    y = np.tile(np.arange(n) % 4 == 0, n_runs).astype(int)
    offsets = drift * rng.normal(size=(n_runs, d)) / 3
    X = rng.normal(size=(n_runs * n, d)) + offsets[run]
    X[:, :8] += y[:, None]
    return X, y, run


@pytest.mark.parametrize("inner", [PCA(3), SVC()], ids=["PCA", "SVC"])
def test_whole_groups_are_left_out(inner):
    X, y, run = scans()
    by_default = Renormalized(inner).fit(X, y, groups=run)
    named = Renormalized(inner, cv=LeaveOneGroupOut()).fit(X, y, groups=run)
    np.testing.assert_allclose(by_default.inflation_, named.inflation_)
    assert not np.allclose(Renormalized(inner).fit(X, y).inflation_, named.inflation_)
    folds = Renormalized(inner, cv=GroupKFold(3)).fit(X, y, groups=run)
    assert (folds.inflation_ > 0).all()


def test_leaving_out_scans_underestimates_the_inflation_of_new_runs():
    X, _, run = scans(n_runs=8, drift=4.0)
    new = scans(n_runs=8, drift=4.0, seed=1)[0]
    plain = PCA(3).fit(X)
    truth = plain.transform(X).std(axis=0) / plain.transform(new).std(axis=0)
    by_scan, by_run = Renormalized(PCA(3)).fit(X), Renormalized(PCA(3)).fit(X, groups=run)
    assert np.abs(np.log(by_run.inflation_ / truth)).mean() < np.abs(np.log(by_scan.inflation_ / truth)).mean()


def test_groups_are_routed():
    X, y, run = scans(n_runs=6, n=10)
    with config_context(enable_metadata_routing=True):
        model = Renormalized(SVC(), cv=GroupKFold(3)).set_fit_request(groups=True, sample_weight=False)
        found = cross_validate(model, X, y, cv=GroupKFold(2), params={"groups": run}, return_estimator=True)
    assert all(each.calibration_.choice.route == "refits" for each in found["estimator"])


def test_folds_without_groups_say_what_they_need():
    X, y, _ = scans()
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        Renormalized(SVC(), cv=GroupKFold(3)).fit(X, y)


# Weights


@pytest.mark.parametrize("method", ["auto", "threshold", "transfer", "affine"])
@pytest.mark.parametrize(
    "inner",
    [SVC(tol=1e-9, gamma=0.02), SVC(tol=1e-9, gamma=2e-3, C=10), KernelFisherDiscriminant(gamma=0.002)],
    ids=["svm", "hard svm", "fisher"],
)
def test_weights_are_repetitions(inner, method):
    X, y = two(40, 0, d=60)
    weights = RNG.integers(0, 4, size=40)
    weights[:4] = 1
    new = two(30, 1, d=60)[0]
    weighted = Renormalized(inner, method=method).fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(40), weights)
    repeated = Renormalized(inner, method=method).fit(X[rows], y[rows])
    assert weighted.method_ == repeated.method_
    np.testing.assert_allclose(weighted.inflation_, repeated.inflation_, rtol=1e-4)
    np.testing.assert_allclose(
        weighted.decision_function(new),
        repeated.decision_function(new),
        atol=1e-4 * repeated.decision_function(X).std(),
    )
    np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), atol=1e-4)


def test_weights_of_several_classes_are_repetitions():
    X, y = several(45, 0, d=40)
    weights = RNG.integers(1, 4, size=45)
    rows = np.repeat(np.arange(45), weights)
    weighted = Renormalized(SVC(tol=1e-9, gamma=0.02), method="threshold").fit(X, y, sample_weight=weights)
    repeated = Renormalized(SVC(tol=1e-9, gamma=0.02), method="threshold").fit(X[rows], y[rows])
    new = several(20, 1, d=40)[0]
    np.testing.assert_allclose(weighted.decision_function(new), repeated.decision_function(new), atol=1e-3)


def test_weights_reach_the_last_step_of_a_pipeline_and_of_a_search():
    X, y = two(40, 0, d=30)
    weights = RNG.uniform(0.5, 2, size=40)
    model = Renormalized(make_pipeline(StandardScaler(), SVC()), method="none").fit(X, y, sample_weight=weights)
    inner = make_pipeline(StandardScaler(), SVC()).fit(X, y, svc__sample_weight=weights)
    np.testing.assert_allclose(model.decision_function(X), inner.decision_function(X))
    search = GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=3)
    found = Renormalized(search, method="none").fit(X, y, sample_weight=weights)
    expected = clone(search).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X))


def test_weights_that_cannot_be_are_refused():
    X, y = two(30, 0, d=20)
    with pytest.raises(TypeError, match=r"fit takes weights; that of PCA does not"):
        Renormalized(PCA(2)).fit(X, sample_weight=np.ones(30))
    for bad in (np.ones(29), -np.ones(30), np.zeros(30), np.full(30, np.nan)):
        with pytest.raises(ValueError, match="sample_weight needs 30 finite weights"):
            Renormalized(SVC()).fit(X, y, sample_weight=bad)
    with pytest.raises(ValueError, match="1 rows have sample_weight zero"):
        Renormalized(SVC(kernel="precomputed")).fit(X @ X.T, y, sample_weight=np.r_[0, np.ones(29)])


# Probabilities


def test_probabilities_are_those_of_new_points():
    """Better than those of the inflated decisions, and close to what happens."""
    ours, inflated = [], []
    for seed in range(4):
        (X, y), (X_new, y_new) = two(80, seed), two(600, 50 + seed)
        model = Renormalized(SVC(gamma=3e-3)).fit(X, y)
        chances = model.predict_proba(X_new)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        assert ((chances >= 0) & (chances <= 1)).all()
        plain = SVC(gamma=3e-3).fit(X, y)
        naive = LogisticRegression().fit(plain.decision_function(X)[:, None], y)
        ours.append(brier_score_loss(y_new, chances[:, 1]))
        inflated.append(brier_score_loss(y_new, naive.predict_proba(plain.decision_function(X_new)[:, None])[:, 1]))
        assert abs(chances[:, 1].mean() - y.mean()) < 0.12
    assert np.mean(ours) < np.mean(inflated)


def test_probabilities_grow_with_decisions():
    X, y = two(60, 0)
    model, new = Renormalized(RidgeClassifier()).fit(X, y), two(50, 1)[0]
    order = np.argsort(model.decision_function(new))
    assert (np.diff(model.predict_proba(new)[order, 1]) >= 0).all()
    noise = Renormalized(SVC()).fit(RNG.normal(size=(40, 200)), np.arange(40) % 4 == 0)
    order = np.argsort(noise.decision_function(RNG.normal(size=(50, 200))))
    assert np.isfinite(noise.predict_proba(RNG.normal(size=(50, 200)))).all()


# Maps and containers


def test_maps_are_those_of_the_estimator_inside():
    X, y = two(60, 0, d=30)
    model = Renormalized(make_pipeline(StandardScaler(), SVC())).fit(X, y)
    expected = sensitivity_map(make_pipeline(StandardScaler(), SVC()).fit(X, y), X)
    np.testing.assert_allclose(sensitivity_map(model, X), expected)
    run = np.arange(60) // 6
    result = split_half(Renormalized(SVC()), X, y, run, n_splits=3, random_state=0)
    plain = split_half(SVC(), X, y, run, n_splits=3, random_state=0)
    np.testing.assert_allclose(result.reproducibility, plain.reproducibility)
    linear = split_half(Renormalized(LinearSVC()), X, y, run, n_splits=2, random_state=0)
    assert np.isfinite(linear.reproducibility).all()


def test_maps_go_back_through_a_renormalized_step():
    X, y = two(60, 0, d=30)
    wrapped = make_pipeline(Renormalized(PCA(5)), LogisticRegression()).fit(X, y)
    plain = make_pipeline(PCA(5), LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(sensitivity_map(wrapped, X), sensitivity_map(plain, X))


def test_precomputed_kernels_may_be_lists():
    X, y = two(30, 0, d=20)
    K = X @ X.T
    expected = Renormalized(SVC(kernel="precomputed"), cv=3).fit(K, y)
    found = Renormalized(SVC(kernel="precomputed"), cv=3).fit(K.tolist(), y.tolist())
    np.testing.assert_allclose(found.decision_function(K.tolist()), expected.decision_function(K))
    thin = Renormalized(SVC()).fit(sparse.csr_array(X), y)
    assert thin.predict_proba(sparse.csr_array(X[:3] * 2)).shape == (3, 2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_machines_of_one_class_against_the_rest_use_at_most_n_jobs_threads(monkeypatch, n_jobs):
    monkeypatch.setattr("preimage._engine.threads.allowed_threads", lambda: 8)
    seen = []
    monkeypatch.setattr(
        "preimage.inflation._exact.run_parallel",
        lambda work, items: seen.append(available_threads()) or [work(item) for item in items],
    )
    X, y = load_iris(return_X_y=True)
    OneVsRestSVC(SVC(), n_jobs=n_jobs).fit(X, y)
    assert seen == [n_jobs]
