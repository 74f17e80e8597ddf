"""The penalised discriminant: nearest means, posteriors, weight maps, paths of ridges."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage._engine.arrays import to_numpy
from preimage.estimators._penalized_discriminant import PenalizedDiscriminant

RNG = np.random.default_rng(0)
MEANS = RNG.normal(size=(4, 200))
Y = np.repeat(np.arange(4), 12)
X = MEANS[Y] + 2 * RNG.normal(size=(48, 200))
NEW = MEANS[Y] + 2 * RNG.normal(size=(48, 200))


def test_predictions_are_the_nearest_means_among_the_variates():
    model = PenalizedDiscriminant(2.0).fit(X, Y)
    Z, means = model.transform(NEW), np.stack([model.transform(X[c == Y]).mean(axis=0) for c in range(4)])
    np.testing.assert_allclose(means, model.means_, atol=1e-10)
    nearest = np.argmin(((Z[:, None] - means) ** 2).sum(axis=-1), axis=1)
    np.testing.assert_array_equal(model.predict(NEW), nearest)
    assert model.score(NEW, Y) > 0.9


@pytest.mark.parametrize("priors", ["equal", "empirical", [0.1, 0.2, 0.3, 0.4]])
def test_probabilities_are_those_of_unit_normal_densities(priors):
    model = PenalizedDiscriminant(2.0, priors=priors).fit(X[:40], Y[:40])
    Z = model.transform(NEW)
    density = model.priors_ * np.exp(-((Z[:, None] - model.means_) ** 2).sum(axis=-1) / 2)
    np.testing.assert_allclose(model.predict_proba(NEW), density / density.sum(axis=1, keepdims=True), atol=1e-10)
    np.testing.assert_array_equal(model.predict(NEW), np.argmax(density, axis=1))


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_decisions_are_linear_with_the_weights_told(n_classes):
    few = n_classes > Y
    model = PenalizedDiscriminant().fit(X[few], Y[few])
    linear = NEW @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(NEW), linear[:, 0] if n_classes == 2 else linear, atol=1e-9)
    assert model.coef_.shape == ((1 if n_classes == 2 else n_classes), 200)


def test_two_classes_are_told_apart_by_the_sign_of_the_log_odds():
    few = Y < 2
    model = PenalizedDiscriminant().fit(X[few], np.array(["cat", "dog"])[Y[few]])
    odds, p = model.decision_function(NEW), model.predict_proba(NEW)
    np.testing.assert_allclose(odds, np.log(p[:, 1] / p[:, 0]), atol=1e-8)
    np.testing.assert_array_equal(model.predict(NEW), np.where(odds >= 0, "dog", "cat"))


def test_without_a_ridge_it_is_linear_discriminant_analysis():
    few = X[:, :6]
    mine = PenalizedDiscriminant(0.0, priors="empirical").fit(few, Y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(few, Y)
    # Their variance within classes has the divisor n - 1 of each class, ours n of all; one factor in this design.
    np.testing.assert_array_equal(mine.predict(NEW[:, :6]), theirs.predict(NEW[:, :6]))
    for j in range(3):
        cosine = mine.scalings_[:, j] @ theirs.scalings_[:, j]
        cosine /= np.linalg.norm(mine.scalings_[:, j]) * np.linalg.norm(theirs.scalings_[:, j])
        assert abs(cosine) == pytest.approx(1, abs=1e-9)


def test_a_path_of_ridges_is_that_many_fits():
    alphas = [0.01, 1.0, 100.0]
    for model, alpha in zip(PenalizedDiscriminant(n_components=2).fit_path(X, Y, alphas), alphas):
        alone = PenalizedDiscriminant(alpha, n_components=2).fit(X, Y)
        assert model.alpha == alpha
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-12)
        np.testing.assert_array_equal(model.predict(NEW), alone.predict(NEW))


def test_a_decomposition_serves_other_labels():
    model = PenalizedDiscriminant()
    other = RNG.permutation(Y)
    (mine,) = model.fit_path(X, other, [3.0], decomposition=model.decompose(X))
    np.testing.assert_allclose(mine.coef_, PenalizedDiscriminant(3.0).fit(X, other).coef_, atol=1e-12)


def test_it_works_in_pipelines_and_searches():
    pipe = make_pipeline(StandardScaler(), PenalizedDiscriminant())
    search = GridSearchCV(pipe, {"penalizeddiscriminant__alpha": [0.1, 10.0]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.8


def test_fewer_components_are_the_first_ones():
    all_of_them, one = PenalizedDiscriminant().fit(X, Y), PenalizedDiscriminant(n_components=1).fit(X, Y)
    np.testing.assert_allclose(one.scalings_, all_of_them.scalings_[:, :1])
    assert one.transform(NEW).shape == (48, 1)
    assert list(one.get_feature_names_out()) == ["penalizeddiscriminant0"]


def test_constant_data_give_a_prediction_without_warnings():
    model = PenalizedDiscriminant().fit(np.ones((6, 3)), [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(model.predict_proba(np.ones((2, 3))), 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"n_components": 0}, "n_components"),
        ({"priors": "other"}, "priors"),
        ({"priors": [0.5, 0.5]}, "each of 4 classes"),
        ({"priors": [0.5, 0.5, 0, 0.1]}, "positive prior"),
    ],
)
def test_senseless_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PenalizedDiscriminant(**options).fit(X, Y)


def test_one_class_and_missing_values_are_refused():
    with pytest.raises(ValueError, match="two classes or more"):
        PenalizedDiscriminant().fit(X, np.zeros(48))
    with pytest.raises(ValueError, match="NaN"):
        PenalizedDiscriminant().fit(np.where(X > 3, np.nan, X), Y)


def test_other_array_libraries(xp):
    X, y = load_iris(return_X_y=True)
    expected = PenalizedDiscriminant(0.1).fit(X, y)
    model = PenalizedDiscriminant(0.1).fit(xp.asarray(X), xp.asarray(y, dtype=int))
    queries = xp.asarray(X)
    for method in ("transform", "decision_function"):
        values = getattr(model, method)(queries)
        assert type(values) is type(queries)
        np.testing.assert_allclose(to_numpy(values), getattr(expected, method)(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(queries), expected.predict(X))
    np.testing.assert_allclose(model.predict_proba(queries), expected.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.coef_, expected.coef_)


@pytest.mark.parametrize("priors", ["equal", "empirical"])
def test_weights_are_repetitions(priors):
    X, y = load_iris(return_X_y=True)
    times = np.random.default_rng(0).integers(0, 4, size=150)
    weighted = PenalizedDiscriminant(0.1, priors=priors).fit(X, y, times)
    repeated = PenalizedDiscriminant(0.1, priors=priors).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(weighted.priors_, repeated.priors_)
    some = PenalizedDiscriminant(0.1).fit(X, y, (y < 2).astype(float))
    np.testing.assert_array_equal(some.classes_, [0, 1])


def test_single_precision_decides_like_double_on_the_same_rows():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, X[:, :1] + 1e-4 * np.random.default_rng(0).normal(size=(150, 1))]).astype(np.float32)
    for alpha in (0.0, 1e-8, 1.0):
        single, double = PenalizedDiscriminant(alpha).fit(X, y), PenalizedDiscriminant(alpha).fit(X.astype(float), y)
        assert single.transform(X).dtype == single.decision_function(X).dtype == np.float32
        np.testing.assert_array_equal(single.predict(X), double.predict(X.astype(float)))
        np.testing.assert_allclose(single.transform(X), double.transform(X.astype(float)), rtol=1e-5, atol=1e-5)


def test_iterators_are_refused_with_a_way_out():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="join the blocks"):
        PenalizedDiscriminant().fit(iter((X,)), y)
    with pytest.raises(TypeError, match="one by one"):
        PenalizedDiscriminant().fit(X, y).predict(iter((X,)))
