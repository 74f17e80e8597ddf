"""Scores other than accuracy in searches for discriminants."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from preimage import KernelFisherDiscriminant, KernelFisherDiscriminantCV, load
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


def searched_by_sklearn(X, y, scoring, **options):
    grid = {"gamma": GRID["gammas"], "alpha": sorted(GRID["alphas"], reverse=True)}
    return GridSearchCV(KernelFisherDiscriminant(**options), grid, scoring=scoring, cv=FOLDS).fit(X, y)


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
@pytest.mark.parametrize("options", [{}, {"regularizer": "identity", "class_weight": "balanced"}], ids=str)
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


def test_scores_of_several_classes(blobs):
    X, y = blobs
    for scoring in ("balanced_accuracy", "neg_log_loss", number_of_points):
        ours = KernelFisherDiscriminantCV(**GRID, scoring=scoring, cv=FOLDS).fit(X, y)
        theirs = searched_by_sklearn(X, y, scoring)
        assert_same_column(ours, theirs, "mean_test_score")
        assert_same_column(ours, theirs, "rank_test_score")
        assert_allclose(ours.best_score_, theirs.best_score_)
    ours = KernelFisherDiscriminantCV(**GRID, scoring="balanced_accuracy", cv=FOLDS).fit(X, y)
    assert_allclose(ours.score(X, y), balanced_accuracy_score(y, ours.predict(X)))


def test_the_named_accuracy_is_the_default(blobs):
    X, y = blobs
    for options in ({}, {"landmarks": 15}):
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


def test_searches_with_scores_are_saved(moons, tmp_path):
    X, y = moons
    search = KernelFisherDiscriminantCV(**GRID, scoring="roc_auc").fit(X, y)
    search.save(tmp_path / "model.preimage")
    loaded = load(tmp_path / "model.preimage")
    assert loaded.best_params_ == search.best_params_ and loaded.get_params() == search.get_params()
    assert loaded.score(X, y) == search.score(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": ["roc_auc", "f1"]}, "scoring"),
        ({"scoring": "roc_auc", "cv": "loo"}, "scoring=None.*Use cv=5"),
        ({"scoring": lambda model, X, y: {"right": 1.0}}, "finite numbers"),
        ({"scoring": "no such score"}, "no such score"),
        ({"scoring": roc_auc_score}, "make_scorer"),
        ({"scoring": lambda model, X, y: np.nan}, "finite numbers"),
        ({"scoring": lambda model, X, y: "good"}, "finite numbers"),
        ({"scoring": lambda model, X, y: X[:, 0]}, "finite numbers"),
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
