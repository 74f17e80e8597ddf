"""Linear-programming machines as estimators: programs of users' words, weights, growth, sparsity."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC, SVR

from preimage import LinearProgrammingClassifier, LinearProgrammingRegressor, compress
from preimage._engine.arrays import to_numpy
from preimage.exceptions import ConvergenceWarning
from preimage.kernels import Gaussian
from preimage.landmarks import KMeans, SparseGreedy


def moons(n=300, noise=0.25):
    return make_moons(n, noise=noise, random_state=0)


def waves(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


def test_the_objective_is_the_one_that_is_documented():
    X, y = moons()
    model = LinearProgrammingClassifier(40, gamma=2, C=3).fit(X, y)
    signs = np.where(y == 1, 1, -1)
    loss = np.maximum(1 - signs * model.decision_function(X), 0).sum()
    assert_allclose(model.objective_[0], np.abs(model.dual_coef_).sum() + 3 * loss)
    X, y = waves()
    model = LinearProgrammingRegressor(40, gamma=2, C=3, epsilon=0.2).fit(X, y)
    loss = np.maximum(np.abs(y - model.predict(X)) - 0.2, 0).sum()
    assert_allclose(model.objective_[0], np.abs(model.dual_coef_).sum() + 3 * loss)


def test_no_other_coefficients_are_better():
    X, y = waves()
    model = LinearProgrammingRegressor(SparseGreedy(15), gamma=2, C=1).fit(X, y)
    rng = np.random.default_rng(1)
    K = Gaussian(2.0)(X, model.landmarks_.points)
    beta = np.zeros(15)
    beta[[list(model.landmarks_.indices).index(i) for i in model.support_]] = model.dual_coef_
    cost = lambda b, c: np.abs(b).sum() + np.maximum(np.abs(y - K @ b - c) - 0.1, 0).sum()
    best = cost(beta, model.intercept_[0])
    assert_allclose(best, model.objective_[0])
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(30):
            assert cost(beta + scale * rng.normal(size=15), model.intercept_[0] + scale * rng.normal()) >= best - 1e-9


def test_functions_are_fewer_than_support_vectors():
    X, y = moons()
    model, svc = LinearProgrammingClassifier(100, gamma=2).fit(X, y), SVC(gamma=2).fit(X, y)
    assert len(model.support_) < 0.2 * len(svc.support_)
    assert model.score(X, y) > svc.score(X, y) - 0.02
    X, y = waves()
    model, svr = LinearProgrammingRegressor(100, gamma=2).fit(X, y), SVR(gamma=2).fit(X, y)
    assert len(model.support_) < 0.2 * len(svr.support_)
    assert model.score(X, y) > svr.score(X, y) - 0.02


def test_weights_count_rows():
    X, y = moons(120)
    weights = np.random.default_rng(0).integers(0, 4, 120)
    rows = np.repeat(np.arange(120), weights)
    some = SparseGreedy(200)
    weighted = LinearProgrammingClassifier(some, gamma=2, C=2).fit(X, y, sample_weight=weights)
    repeated = LinearProgrammingClassifier(some, gamma=2, C=2).fit(X[rows], y[rows])
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-6)
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-3)


def test_the_gap_bounds_what_all_rows_could_gain():
    X, y = moons(200)
    every = LinearProgrammingClassifier(SparseGreedy(200), gamma=2, C=5).fit(X, y)
    few = LinearProgrammingClassifier(10, gamma=2, C=5).fit(X, y)
    assert few.gap_ is None and few.n_offered_ == 10
    for gap in (0.3, 1e-4):
        grown = LinearProgrammingClassifier(10, gamma=2, C=5, max_gap=gap).fit(X, y)
        assert grown.gap_[0] <= gap and grown.n_offered_ >= 10
        assert grown.objective_[0] * (1 - grown.gap_[0]) <= every.objective_[0] * (1 + 1e-6)
        assert grown.objective_[0] <= few.objective_[0] * (1 + 1e-7)
    assert_allclose(grown.objective_, every.objective_, rtol=2e-4)
    assert_array_equal(grown.expansion_.points, X[grown.support_])


def test_several_classes_and_several_targets():
    X, y = load_iris(return_X_y=True)
    model = LinearProgrammingClassifier(50, gamma=0.3, C=5).fit(X, y)
    assert model.dual_coef_.shape == (len(model.support_), 3)
    assert model.score(X, y) > 0.95
    for c in range(3):  # each function is the one of its class against the rest
        alone = LinearProgrammingClassifier(50, gamma=0.3, C=5).fit(X, y == c)
        assert_allclose(alone.objective_[0], model.objective_[c], rtol=1e-7)
    both = LinearProgrammingRegressor(50, gamma=0.3).fit(X[:, :2], X[:, 2:])
    assert both.predict(X[:, :2]).shape == (150, 2)
    one = LinearProgrammingRegressor(50, gamma=0.3).fit(X[:, :2], X[:, 3])
    assert_allclose(both.objective_[1], one.objective_[0], rtol=1e-7)


@pytest.mark.parametrize("C", [1e4, 1e12])
def test_rows_join_once_however_rounding_errors_see_them(C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if C > 1e9 else "error", ConvergenceWarning)
        model = LinearProgrammingRegressor(10, gamma=0.3, C=C, max_gap=0.01).fit(X, y)
    assert model.n_offered_ <= 120 and len(set(model.support_)) == len(model.support_)
    # At the largest cost multipliers are lost in rounding errors, which must not look like a proof.
    assert model.gap_[0] <= 0.01 if C < 1e9 else model.gap_[0] > 0.5


def test_a_gap_that_is_not_reached_is_told():
    X, y = waves(60)
    with pytest.warns(ConvergenceWarning, match="stopped short of its minimum"):
        LinearProgrammingRegressor(10, gamma=1e-3, C=1e12, max_gap=0.01).fit(X, y)


def test_centres_of_clusters_are_no_rows():
    X, y = moons()
    model = LinearProgrammingClassifier(KMeans(30), gamma=2).fit(X, y)
    assert (model.support_ == -1).all() and model.score(X, y) > 0.9


def test_a_small_cost_leaves_the_constant():
    X, y = waves()
    model = LinearProgrammingRegressor(20, gamma=2, C=1e-6, epsilon=0.0).fit(X, y)
    assert_allclose(model.predict(X), np.median(y))
    assert not model.dual_coef_.any()


def test_without_an_intercept_there_is_none():
    X, y = waves()
    model = LinearProgrammingRegressor(20, gamma=2, fit_intercept=False).fit(X, y + 5)
    assert_array_equal(model.intercept_, [0.0])


def test_array_libraries_agree(xp):
    X, y = moons(100)
    expected = LinearProgrammingClassifier(20, gamma=2).fit(X, y).decision_function(X)
    found = LinearProgrammingClassifier(20, gamma=2).fit(xp.asarray(X), y).decision_function(xp.asarray(X))
    assert_allclose(to_numpy(found), expected, atol=1e-4)


def test_they_are_kernel_machines():
    X, y = moons()
    model = LinearProgrammingClassifier(50, gamma=2, C=10).fit(X, y)
    small = compress(model, len(model.support_) // 2, X=X)
    assert np.mean(small.predict(X) == model.predict(X)) > 0.9


@pytest.mark.parametrize("parameters", [{"C": 0}, {"C": -1.0}, {"max_gap": 0.0}, {"landmarks": 0}])
def test_bad_parameters_are_refused(parameters):
    X, y = moons(30)
    with pytest.raises(ValueError, match=next(iter(parameters))):
        LinearProgrammingClassifier(**parameters).fit(X, y)
