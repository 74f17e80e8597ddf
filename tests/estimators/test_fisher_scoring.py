"""Scores other than accuracy in searches for discriminants, and what they refit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut, StratifiedKFold, cross_val_predict

from preimage import KernelFisherDiscriminant, KernelFisherDiscriminantCV, load
from preimage._models.discriminants import FisherOptions, KernelTable, LabelledData
from preimage.estimators._kernel_fisher_cv import WIDTH_MULTIPLES
from preimage.kernels import Gaussian, resolve_gamma

GRID = {"gammas": [0.5, 4.0], "alphas": [0.001, 0.1]}
FOLDS = StratifiedKFold(3)


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([70, 25, 25], centers=None, cluster_std=4.0, random_state=3)


def searched_by_sklearn(X, y, scoring, refit=True, **options):
    grid = {"gamma": GRID["gammas"], "alpha": sorted(GRID["alphas"], reverse=True)}
    return GridSearchCV(KernelFisherDiscriminant(**options), grid, scoring=scoring, refit=refit, cv=FOLDS).fit(X, y)


def by_pair(results, key):
    """A column of results as a dict, whatever the order of the pairs."""
    return {(each["gamma"], each["alpha"]): value for each, value in zip(results["params"], results[key], strict=True)}


def assert_same_column(ours, theirs, key):
    ours, theirs = by_pair(ours.cv_results_, key), by_pair(theirs.cv_results_, key)
    assert ours.keys() == theirs.keys()
    assert_allclose([ours[pair] for pair in ours], [theirs[pair] for pair in ours], atol=1e-9)


def number_of_points(model, X, y):
    """A score that looks inside of the model."""
    return float(model.expansion_.points.shape[0])


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1", "accuracy", number_of_points])
@pytest.mark.parametrize("options", [{}, {"regularizer": "both", "class_weight": "balanced"}], ids=str)
def test_scores_are_those_of_scikit_learns_search(moons, scoring, options):
    X, y = moons
    ours = KernelFisherDiscriminantCV(**GRID, scoring=scoring, cv=FOLDS, **options).fit(X, y)
    theirs = searched_by_sklearn(X, y, scoring, **options)
    for key in ("mean_test_score", "std_test_score", "split0_test_score", "rank_test_score"):
        assert_same_column(ours, theirs, key)
    assert_allclose(ours.best_score_, theirs.best_score_)
    assert_allclose(ours.cv_results_["mean_test_score"][ours.best_index_], ours.best_score_)
    if not callable(scoring):
        assert_allclose(ours.score(X, y), theirs.scorer_(ours, X, y))


def test_scores_of_several_classes_and_several_scores(blobs):
    X, y = blobs
    scoring = {"balanced": "balanced_accuracy", "loss": "neg_log_loss", "points": number_of_points}
    ours = KernelFisherDiscriminantCV(**GRID, scoring=scoring, refit="balanced", cv=FOLDS).fit(X, y)
    theirs = searched_by_sklearn(X, y, scoring, refit="balanced")
    for name in scoring:
        assert_same_column(ours, theirs, f"mean_test_{name}")
        assert_same_column(ours, theirs, f"rank_test_{name}")
    assert_allclose(ours.best_score_, theirs.best_score_)
    assert_allclose(ours.score(X, y), balanced_accuracy_score(y, ours.predict(X)))


def test_the_named_accuracy_is_the_default(blobs):
    X, y = blobs
    for options in ({}, {"landmarks": 15}, {"cv": "loo"}):
        default, named = (
            KernelFisherDiscriminantCV(**GRID, **options, scoring=scoring).fit(X, y) for scoring in (None, "accuracy")
        )
        assert_allclose(named.cv_results_["mean_test_score"], default.cv_results_["mean_test_score"])
        assert named.best_params_ == default.best_params_
        assert_array_equal(named.predict(X), default.predict(X))


def test_weights_count_like_repetitions_in_scores(moons, rng):
    X, y = moons[0][:60], moons[1][:60]
    times = rng.integers(0, 4, size=60)
    number = np.repeat(np.arange(60), times)
    folds = lambda rows: [(np.flatnonzero(rows % 3 != f), np.flatnonzero(rows % 3 == f)) for f in range(3)]
    weighted = KernelFisherDiscriminantCV(**GRID, scoring="roc_auc", cv=folds(np.arange(60))).fit(X, y, times)
    repeated = KernelFisherDiscriminantCV(**GRID, scoring="roc_auc", cv=folds(number)).fit(X[number], y[number])
    assert_allclose(weighted.cv_results_["mean_test_score"], repeated.cv_results_["mean_test_score"])
    assert_allclose(weighted.score(X, y, times), repeated.score(X[number], y[number]))


def test_precomputed_kernels_are_scored_like_the_kernel_itself(moons, rng):
    X, y = moons
    weights = rng.integers(0, 3, size=len(y)).astype(float)
    K = Gaussian(2.0)(X)
    options = {"alphas": GRID["alphas"], "scoring": "roc_auc", "cv": FOLDS}
    found = [
        KernelFisherDiscriminantCV(kernel=kernel, **options).fit(rows, y, weights)
        for kernel, rows in (("precomputed", K), (Gaussian(2.0), X))
    ]
    assert_allclose(*(each.cv_results_["mean_test_score"] for each in found), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_left_out_decisions_are_scored_together(blobs, n_classes):
    X, y = blobs
    X, y = X[y < n_classes], y[y < n_classes]
    scoring = "roc_auc" if n_classes == 2 else make_scorer(balanced_accuracy_score)
    search = KernelFisherDiscriminantCV(gammas=[0.05], alphas=[0.1], cv="loo", scoring=scoring).fit(X, y)
    assert search.cv_results_["split0_test_score"].shape == (1,) and "split1_test_score" not in search.cv_results_
    if n_classes == 2:
        model = KernelFisherDiscriminant(**search.best_params_)
        left_out = cross_val_predict(model, X, y, cv=LeaveOneOut(), method="decision_function")
        # Decisions of refits have a threshold and a length of their own each, which blurs their common order a little.
        assert abs(search.best_score_ - roc_auc_score(y, left_out)) < 0.05
        data = LabelledData(Gaussian(0.05), X, y, np.arange(2), None)
        decisions = KernelTable.of(data, X, FisherOptions()).problem().leave_one_out(0.1, 2.0 * np.eye(2)[y] - 1)
        assert_allclose(search.best_score_, roc_auc_score(y, decisions[:, 1]))
    with pytest.raises(ValueError, match=r"predict_proba.*or cv=5"):
        KernelFisherDiscriminantCV(cv="loo", scoring="neg_log_loss").fit(X, y)


def test_functions_choose_the_best(moons):
    X, y = moons

    def widest_of_good(results):
        good = results["mean_test_auc"] >= results["mean_test_auc"].max() - 0.05
        return int(np.flatnonzero(good)[0])

    scoring = {"auc": "roc_auc", "brier": make_scorer(brier_score_loss, response_method="predict_proba")}
    search = KernelFisherDiscriminantCV(**GRID, scoring=scoring, refit=widest_of_good).fit(X, y)
    chosen = widest_of_good(search.cv_results_)
    assert search.best_index_ == chosen and search.best_params_ == search.cv_results_["params"][chosen]
    assert not hasattr(search, "best_score_")
    again = KernelFisherDiscriminant(**search.best_params_).fit(X, y)
    assert_allclose(search.decision_function(X), again.decision_function(X), rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="none of which"):
        search.score(X, y)
    with pytest.raises(ValueError, match="from 0 to 3; got 9"):
        KernelFisherDiscriminantCV(**GRID, scoring=scoring, refit=lambda results: 9).fit(X, y)


def test_scores_may_come_as_a_dict_of_a_function(moons):
    X, y = moons
    both = lambda model, X, y: {"right": float(np.mean(model.predict(X) == y)), "size": number_of_points(model, X, y)}
    search = KernelFisherDiscriminantCV(**GRID, scoring=both, refit="right").fit(X, y)
    plain = KernelFisherDiscriminantCV(**GRID).fit(X, y)
    assert_allclose(search.cv_results_["mean_test_right"], plain.cv_results_["mean_test_score"])
    assert search.best_params_ == plain.best_params_


def test_without_refit_there_are_results_alone(moons):
    X, y = moons
    search = KernelFisherDiscriminantCV(**GRID).fit(X, y)
    fitted = clone(search).set_params(refit=False).fit(X, y)
    assert fitted.best_params_ == search.best_params_ and fitted.best_score_ == search.best_score_
    assert not hasattr(fitted, "best_estimator_")
    for method in ("predict", "decision_function", "predict_proba", "score"):
        assert not hasattr(fitted, method)
    with pytest.raises(NotFittedError, match="refit=False"):
        fitted.transform(X)
    search.set_params(refit=False).fit(X, y)  # a model of an earlier fit is not that of this one
    assert not hasattr(search, "best_estimator_")
    several = KernelFisherDiscriminantCV(**GRID, scoring=["roc_auc", "f1"], refit=False).fit(X, y)
    assert not hasattr(several, "best_params_") and "mean_test_f1" in several.cv_results_


def test_searches_with_scores_are_saved(moons, tmp_path):
    X, y = moons
    for options in ({"scoring": "roc_auc"}, {"scoring": ["roc_auc", "f1"], "refit": "f1"}, {"refit": False}):
        search = KernelFisherDiscriminantCV(**GRID, **options).fit(X, y)
        search.save(tmp_path / "model.preimage")
        loaded = load(tmp_path / "model.preimage")
        assert loaded.best_params_ == search.best_params_ and loaded.get_params() == search.get_params()
        if search.refit:
            assert loaded.score(X, y) == search.score(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": ["roc_auc", "f1"]}, "`refit` names the one that chooses"),
        ({"scoring": ["roc_auc", "f1"], "refit": "accuracy"}, "Got 'accuracy'"),
        ({"scoring": "no such score"}, "no such score"),
        ({"scoring": roc_auc_score}, "make_scorer"),
        ({"scoring": lambda model, X, y: np.nan}, "finite numbers"),
        ({"scoring": lambda model, X, y: "good"}, "finite numbers"),
        ({"scoring": lambda model, X, y: X[:, 0]}, "finite numbers"),
        ({"scoring": []}, "scor"),
    ],
)
def test_bad_scores_are_refused(moons, options, message):
    with pytest.raises(ValueError, match=message):
        KernelFisherDiscriminantCV(**GRID, **options).fit(*moons)


def test_scores_without_weights_say_so(moons):
    X, y = moons
    with pytest.raises(ValueError, match="takes weights"):
        KernelFisherDiscriminantCV(**GRID, scoring=number_of_points).fit(X, y, np.ones(len(y)) * 2)


def test_default_widths_are_in_steps_of_two(moons):
    X, y = moons
    search = KernelFisherDiscriminantCV(alphas=[0.1]).fit(X, y)
    gammas = search.cv_results_["param_gamma"].astype(float)
    assert_allclose(gammas[1:] / gammas[:-1], 2)
    assert_allclose(gammas[len(gammas) // 2], resolve_gamma("median", X))
    assert gammas.size == len(WIDTH_MULTIPLES) == 9
