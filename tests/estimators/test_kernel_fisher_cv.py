"""Searches for the width and the ridge of kernel Fisher discriminants."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons
from sklearn.model_selection import ShuffleSplit, cross_val_score

from preimage import KernelFisherDiscriminant, KernelFisherDiscriminantCV
from preimage._engine import threads as _threads
from preimage._engine.memory import LEAST_WORK
from preimage.estimators._kernel_fisher_cv import widths_at_once
from preimage.kernels import ProfileKernel, SquaredDistance
from preimage.landmarks import Uniform


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(200, centers=4, cluster_std=2.5, random_state=3)


@pytest.mark.parametrize("landmarks", [None, Uniform(300)])
@pytest.mark.parametrize("regularizer", ["norm", "identity"])
@pytest.mark.parametrize("threshold", ["gaussian", "margin"])
def test_cross_validation_equals_refitting(moons, landmarks, regularizer, threshold):
    X, y = moons
    if landmarks is not None and regularizer == "identity":
        pytest.skip("landmarks are chosen on all rows there")
    options = {"landmarks": landmarks, "regularizer": regularizer, "threshold": threshold, "alpha_scale": "absolute"}
    search = KernelFisherDiscriminantCV(gammas=[0.5, 2], alphas=[0.01, 1.0], **options).fit(X, y)
    results = search.cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        model = KernelFisherDiscriminant(**params, **options)
        if landmarks is None:
            assert_allclose(cross_val_score(model, X, y, cv=5).mean(), score)
    assert search.best_score_ == results["mean_test_score"].max()
    assert_allclose(search.best_estimator_.decision_function(X), search.decision_function(X))


@pytest.mark.parametrize(
    "options", [{}, {"landmarks": 30}, {"cv": "loo"}, {"multiclass": "one_vs_rest", "sparsity": 5}], ids=str
)
def test_results_do_not_depend_on_threads(blobs, monkeypatch, options):
    X, y = blobs
    searches = []
    for threads in (1, 2, 8):
        monkeypatch.setattr(_threads, "allowed_threads", lambda count=threads: count)
        searches.append(KernelFisherDiscriminantCV(gammas=[0.05, 0.5], alphas=[0.01, 1], **options).fit(X, y))
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 8)
    searches.append(KernelFisherDiscriminantCV(gammas=[0.05, 0.5], alphas=[0.01, 1], n_jobs=2, **options).fit(X, y))
    first, *others = searches
    for other in others:
        assert other.best_params_ == first.best_params_
        assert_array_equal(other.cv_results_["mean_test_score"], first.cv_results_["mean_test_score"])
        assert_allclose(other.decision_function(X), first.decision_function(X), rtol=1e-9, atol=1e-9)


def test_every_array_library_finds_the_same(blobs, xp):
    X, y = blobs
    options = {"alphas": [0.01, 1], "gammas": [0.05, 0.5]}
    expected, found = (KernelFisherDiscriminantCV(**options).fit(data, y) for data in (X, xp.asarray(X)))
    assert found.best_params_ == expected.best_params_
    assert_array_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


def test_memory_is_bounded_whatever_the_threads(monkeypatch):
    """With a budget for two folds at a time, eight threads take no more memory than that."""
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 8)
    X, y = make_blobs(400, centers=3, random_state=0)
    budget = 10 * 8 * 400**2
    KernelFisherDiscriminantCV(max_memory=budget).fit(X[:60], y[:60])  # imports and pools
    tracemalloc.start()
    KernelFisherDiscriminantCV(max_memory=budget).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= budget + LEAST_WORK  # which temporary arrays may always take


def test_widths_in_memory_together(monkeypatch):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 8)
    assert widths_at_once(1000, 5, 10**9) == 13  # 65 folds for eight threads
    assert widths_at_once(1000, 5, 10**8) == 6  # 8 MB each in half of the memory
    assert widths_at_once(10**5, 5, 10**8) == 1
    assert widths_at_once(0, 80, 10**8) == 1


def test_many_ridges_share_eigenvectors(moons):
    X, y = moons
    many = KernelFisherDiscriminantCV(gammas=[2], alphas=np.geomspace(1e-3, 10, 30)).fit(X, y)
    for i in (0, 15, 29):
        few = KernelFisherDiscriminantCV(gammas=[2], alphas=many.cv_results_["param_alpha"][[i]]).fit(X, y)
        assert_allclose(few.best_score_, many.cv_results_["mean_test_score"][i], atol=0.005)


def test_leave_one_out_is_close_to_cross_validation(blobs):
    X, y = blobs
    loo = KernelFisherDiscriminantCV(cv="loo").fit(X, y)
    folds = KernelFisherDiscriminantCV(cv=10).fit(X, y)
    assert abs(loo.best_score_ - folds.best_score_) < 0.05
    with pytest.raises(ValueError, match="cv=5"):
        KernelFisherDiscriminantCV(cv="loo", landmarks=10).fit(X, y)


def test_searches_refuse_empty_grids(moons):
    with pytest.raises(ValueError, match="alphas"):
        KernelFisherDiscriminantCV(alphas=[]).fit(*moons)
    with pytest.raises(ValueError, match="gammas"):
        KernelFisherDiscriminantCV(gammas=[]).fit(*moons)


def test_searches_need_no_width(blobs):
    X, y = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = KernelFisherDiscriminantCV(kernel="linear").fit(X, y)
    assert search.best_params_["gamma"] is None
    assert search.score(X, y) > 0.7


def test_no_cv_is_five_stratified_folds(moons):
    order = np.argsort(moons[1], kind="stable")
    X, y = moons[0][order], moons[1][order]
    scores = [
        KernelFisherDiscriminantCV(gammas=[2], cv=cv).fit(X, y).cv_results_["mean_test_score"] for cv in (None, 5)
    ]
    assert_array_equal(*scores)


def test_splitters_cut_the_rows_that_were_given(moons):
    X, y = moons
    weights = (np.arange(len(y)) >= 50).astype(float)
    splitter = ShuffleSplit(3, random_state=0)
    results = [
        KernelFisherDiscriminantCV(gammas=[2], cv=cv).fit(X, y, weights).cv_results_["mean_test_score"]
        for cv in (splitter, list(splitter.split(X)))
    ]
    assert_array_equal(*results)


@pytest.mark.parametrize("cv", ["folds", "loo"])
def test_searches_fit_weights_like_repetitions(moons, rng, cv):
    X, y = moons[0][:60], moons[1][:60]
    times = rng.integers(1, 4, size=60)
    number = np.repeat(np.arange(60), times)
    folds = lambda rows: [(np.flatnonzero(rows % 3 != f), np.flatnonzero(rows % 3 == f)) for f in range(3)]
    options = {"gammas": [0.5, 5.0], "alphas": [0.01, 1.0]}
    weighted = KernelFisherDiscriminantCV(**options, cv=folds(np.arange(60)) if cv == "folds" else cv).fit(X, y, times)
    if cv == "folds":  # copies of a row in one fold
        repeated = KernelFisherDiscriminantCV(**options, cv=folds(number)).fit(X[number], y[number])
        assert_allclose(weighted.cv_results_["mean_test_score"], repeated.cv_results_["mean_test_score"])
        assert weighted.best_params_ == repeated.best_params_
    again = KernelFisherDiscriminant(**weighted.best_params_).fit(X[number], y[number])
    assert_allclose(weighted.decision_function(X), again.decision_function(X), atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cv": "loo"},
        {"landmarks": 20},
        {"regularizer": "identity"},
        {"sparsity": 12},
        {"max_memory": 3.6 * 8 * 300**2},
    ],
)
def test_the_best_model_is_that_of_a_new_fit(moons, options):
    X, y = moons
    search = KernelFisherDiscriminantCV(gammas=[0.5, 2.0], alphas=[0.01, 0.1], **options).fit(X, y)
    options = {name: value for name, value in options.items() if name != "cv"}
    again = KernelFisherDiscriminant(**search.best_params_, **options).fit(X, y)
    assert_allclose(search.decision_function(X), again.decision_function(X), rtol=1e-6, atol=1e-8)
    assert search.best_estimator_.n_features_in_ == 2 and search.best_estimator_.alpha == again.alpha


class CountingGaussian(ProfileKernel):
    """A Gaussian kernel that counts the entries of the profiles it computes."""

    pairwise, is_positive_semidefinite = SquaredDistance(), True
    entries = 0

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def profile(self, s):
        CountingGaussian.entries += s.size
        return np.exp(-self.gamma * s)

    def profile_derivative(self, s):
        return -self.gamma * np.exp(-self.gamma * s)


def test_searches_compute_every_gram_matrix_once(moons):
    X, y = moons
    CountingGaussian.entries = 0
    KernelFisherDiscriminantCV(kernel=CountingGaussian(2.0), alphas=[0.01, 0.1, 1.0], cv=3).fit(X, y)
    assert 0 < CountingGaussian.entries <= X.shape[0] ** 2 + X.shape[0]
