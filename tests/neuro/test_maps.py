"""Sensitivity maps are squared derivatives, by differences; weight maps are taken back through pipelines."""

import numpy as np
import pytest
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from preimage import KernelFisherDiscriminant, KernelPCA
from preimage.estimators._penalized_discriminant import PenalizedDiscriminant
from preimage.exceptions import UnsupportedKernelError
from preimage.neuro._maps import sensitivity_map, weight_maps

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 6)) * np.array([1, 2, 0.5, 1, 3, 1]) + 1
Y3 = np.argmax(X[:, :3] + 0.5 * RNG.normal(size=(60, 3)), axis=1)
Y2 = (X[:, 0] * X[:, 1] > 1).astype(int)
STEP = 1e-5


def by_differences(function):
    total = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        shift = STEP * np.eye(X.shape[1])[j]
        slope = (function(X + shift) - function(X - shift)) / (2 * STEP)
        total[j] = (slope.reshape(len(X), -1) ** 2).sum(axis=1).mean()
    return total


PROBABILISTIC = [
    PenalizedDiscriminant(0.5),
    PenalizedDiscriminant(0.5, priors="empirical"),
    LinearDiscriminantAnalysis(),
    LogisticRegression(),
    KernelFisherDiscriminant(gamma=0.2, alpha=0.1),
    KernelFisherDiscriminant(gamma=0.2, alpha=0.1, multiclass="one_vs_rest"),
    KernelFisherDiscriminant(kernel="poly", degree=2, alpha=0.1),
    make_pipeline(StandardScaler(), PCA(4, whiten=True), LogisticRegression()),
    make_pipeline(StandardScaler(), KernelFisherDiscriminant(gamma=0.2, alpha=0.1)),
]


@pytest.mark.parametrize("y", [Y2, Y3], ids=["two classes", "three classes"])
@pytest.mark.parametrize("model", PROBABILISTIC, ids=str)
def test_slopes_of_log_posteriors(model, y):
    model = model.fit(X, y)
    log_posterior = lambda Z: np.log(model.predict_proba(Z))
    np.testing.assert_allclose(sensitivity_map(model, X), by_differences(log_posterior), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("y", [Y2, Y3], ids=["two classes", "three classes"])
@pytest.mark.parametrize(
    "model",
    [
        SVC(gamma=0.2, decision_function_shape="ovo"),
        SVC(kernel="poly", degree=2, decision_function_shape="ovo"),
        RidgeClassifier(),
        PenalizedDiscriminant(),
        make_pipeline(RobustScaler(), SelectKBest(k=3), SVC(gamma=0.2, decision_function_shape="ovo")),
        make_pipeline(MinMaxScaler(), TruncatedSVD(3), LinearSVC()),
    ],
    ids=str,
)
def test_slopes_of_decisions(model, y):
    model = model.fit(X, y)
    found = sensitivity_map(model, X, output="decision")
    np.testing.assert_allclose(found, by_differences(model.decision_function), rtol=1e-5, atol=1e-8)


def test_regressions_have_slopes_of_their_values():
    model = KernelRidge(kernel="rbf", gamma=0.1).fit(X, X[:, 0] ** 2)
    np.testing.assert_allclose(sensitivity_map(model, X), by_differences(model.predict), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("output", ["decision", "log_proba"])
def test_two_classes_and_a_line_have_squared_weights(output):
    model = PenalizedDiscriminant().fit(X, Y2)
    found, weights = sensitivity_map(model, X, output=output), model.coef_[0] ** 2
    np.testing.assert_allclose(found / found.sum(), weights / weights.sum(), rtol=1e-12)


def test_the_spectrum_of_block_sizes_does_not_matter(block_shape):
    model = SVC(gamma=0.2).fit(X, Y2)
    expected = sum(sensitivity_map(model, row[None]) for row in X) / len(X)
    np.testing.assert_allclose(sensitivity_map(model, X), expected, rtol=1e-10)


def test_what_has_no_slopes_says_so():
    with pytest.raises(TypeError, match="linear models and kernel machines"):
        sensitivity_map(KNeighborsClassifier().fit(X, Y2), X)
    with pytest.raises(ValueError, match="output='decision'"):
        sensitivity_map(SVC().fit(X, Y3), X, output="log_proba")
    with pytest.raises(ValueError, match="knows the outputs"):
        sensitivity_map(SVC().fit(X, Y3), X, output="other")
    precomputed = SVC(kernel="precomputed").fit(X @ X.T, Y2)
    with pytest.raises(UnsupportedKernelError, match="gradient"):
        sensitivity_map(precomputed, X @ X.T)


def test_points_with_other_variables_are_refused():
    model = SVC().fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="variables that the model was fitted to"):
        sensitivity_map(model, X[:, :2])


def test_weights_of_a_pipeline_belong_to_its_inputs():
    pipe = make_pipeline(StandardScaler(), SelectKBest(k=4), PCA(3), LinearSVC()).fit(X, Y2)
    (weights,) = weight_maps(pipe, X).values
    slopes = [
        (pipe.decision_function(X + row) - pipe.decision_function(X - row)).mean() / (2 * STEP)
        for row in STEP * np.eye(6)
    ]
    np.testing.assert_allclose(weights, slopes, atol=1e-6)


def test_the_best_map_is_found():
    assert weight_maps(PenalizedDiscriminant().fit(X, Y3), X).are_components
    np.testing.assert_array_equal(
        weight_maps(LogisticRegression().fit(X, Y3), X).values, LogisticRegression().fit(X, Y3).coef_
    )
    two = PenalizedDiscriminant().fit(X, Y2)
    np.testing.assert_array_equal(weight_maps(two, X).values, two.coef_)
    assert weight_maps(Ridge().fit(X, Y2), X).values.shape == (1, 6)
    svm = SVC().fit(X, Y2)
    np.testing.assert_array_equal(weight_maps(svm, X).values[0], sensitivity_map(svm, X))
    search = GridSearchCV(LinearSVC(), {"C": [0.1, 1]}, cv=2).fit(X, Y2)
    np.testing.assert_array_equal(weight_maps(search, X).values, search.best_estimator_.coef_)


def test_importances_pass_scalers_and_selections():
    forest = RandomForestClassifier(5, random_state=0)
    pipe = make_pipeline(StandardScaler(), SelectKBest(k=2), forest).fit(X, Y2)
    (found,) = weight_maps(pipe, X).values
    np.testing.assert_allclose(found[pipe[1].get_support()], pipe[-1].feature_importances_)
    assert np.count_nonzero(found) <= 2
    with pytest.raises(TypeError, match="got PCA"):
        weight_maps(make_pipeline(PCA(2), forest).fit(X, Y2), X)


def test_a_function_gives_any_map():
    found = weight_maps(KNeighborsClassifier().fit(X, Y2), X, lambda model, rows: rows.mean(axis=0))
    np.testing.assert_array_equal(found.values, X.mean(axis=0)[None])


@pytest.mark.parametrize(
    ("maps", "error", "message"),
    [
        ("scalings", TypeError, "LinearSVC has no scalings_"),
        ("other", ValueError, "one of 'auto'"),
        (lambda model, rows: np.ones(5), ValueError, "6 here"),
    ],
)
def test_wrong_maps_are_refused(maps, error, message):
    with pytest.raises(error, match=message):
        weight_maps(LinearSVC().fit(X, Y2), X, maps)


def test_steps_that_are_not_affine_are_refused():
    for step in (KernelPCA(3), FunctionTransformer(np.abs)):
        with pytest.raises(TypeError, match=r"maps\(model, X\)"):
            weight_maps(make_pipeline(step, LinearSVC()).fit(X, Y2), X)
