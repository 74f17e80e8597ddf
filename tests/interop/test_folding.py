"""A kernel map, affine maps and a linear machine are one kernel machine, with the answers of the pipeline."""

import warnings

import numpy as np
import pytest
from cases import LABELS, inputs, labels, quietly, targets
from for_each import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, OneClassSVM

from preimage import EmpiricalKernelMap, KernelPCA, OrientedKernelPCA, SemiSupervisedKernelPCA, compress
from preimage.interop import fold, machine_of

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
FRONTS = {
    "kernel PCA": lambda: KernelPCA(6, gamma=0.3),
    "landmarks": lambda: KernelPCA(6, gamma=0.3, landmarks=40, random_state=0),
    "scikit-learn's kernel PCA": lambda: TheirKernelPCA(6, kernel="rbf", gamma=0.3),
    "polynomial": lambda: TheirKernelPCA(6, kernel="poly", degree=2),
    "Nystroem": lambda: Nystroem(gamma=0.3, n_components=30, random_state=0),
    "semi-supervised": lambda: SemiSupervisedKernelPCA(6, gamma=0.3),
    "map": lambda: EmpiricalKernelMap(gamma=0.3),
    "whitened map": lambda: EmpiricalKernelMap(gamma=0.3, whiten=True, landmarks=inputs(3)[1]),
}
CLASSIFIERS = {
    "LinearSVC": lambda: LinearSVC(),
    "LinearSVC without intercept": lambda: LinearSVC(fit_intercept=False),
    "linear SVC": lambda: SVC(kernel="linear"),
    "linear SVC, pairs": lambda: SVC(kernel="linear", decision_function_shape="ovo"),
    "LogisticRegression": lambda: LogisticRegression(),
    "LogisticRegressionCV": lambda: LogisticRegressionCV(Cs=2, cv=2),
    "RidgeClassifier": lambda: RidgeClassifier(),
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "SGD hinge": lambda: SGDClassifier(random_state=0),
    "SGD log": lambda: SGDClassifier(loss="log_loss", random_state=0),
    "SGD Huber": lambda: SGDClassifier(loss="modified_huber", random_state=0),
    "one vs rest": lambda: OneVsRestClassifier(SVC(kernel="linear")),
    "linear one vs rest": lambda: OneVsRestClassifier(LinearSVC()),
    "logistic one vs rest": lambda: OneVsRestClassifier(LogisticRegression()),
}
REGRESSORS = {
    "Ridge": lambda: Ridge(),
    "LinearRegression": lambda: LinearRegression(),
    "Lasso": lambda: Lasso(0.01),
    "ElasticNet": lambda: ElasticNet(0.01),
    "RidgeCV": lambda: RidgeCV(),
    "linear KernelRidge": lambda: KernelRidge(alpha=0.1),
}


def assert_equal_answers(machine, model, Z):
    F = machine(Z)
    clear = np.ones(len(Z), bool)
    if hasattr(model, "predict_proba"):
        # Curves of isotonic calibration have plateaus: classes may be equal to the last digit.
        best = np.sort(model.predict_proba(Z), axis=1)
        clear = best[:, -1] - best[:, -2] > 1e-9
    assert_array_equal(machine.output.predict(F)[clear], model.predict(Z)[clear])
    assert machine.output.predict(F).dtype == model.predict(Z).dtype
    if hasattr(model, "decision_function"):
        assert_allclose(machine.output.decision(F), model.decision_function(Z), **CLOSE)
    assert machine.output.has_decision == hasattr(model, "decision_function")
    assert machine.output.has_probabilities == hasattr(model, "predict_proba")
    if hasattr(model, "predict_proba"):
        assert_allclose(machine.output.probabilities(F), model.predict_proba(Z), **CLOSE)


@for_each("names", ["binary", "three strings"])
@for_each("front", ["kernel PCA", "scikit-learn's kernel PCA"])
@pytest.mark.parametrize("last", CLASSIFIERS)
def test_classifiers_on_kernel_pca(front, last, names):
    X, Z = inputs(0)
    model = quietly(make_pipeline(FRONTS[front](), CLASSIFIERS[last]()), X, labels(X, 0, LABELS[names]))
    machine = machine_of(model)
    assert machine.expansion.points.shape[0] == len(X)
    assert_equal_answers(machine, model, Z)


@pytest.mark.parametrize("front", FRONTS)
def test_every_kernel_map_feeds_a_linear_machine(front):
    X, Z = inputs(1)
    model = quietly(make_pipeline(FRONTS[front](), LogisticRegression()), X, labels(X, 1, LABELS["five"]))
    assert_equal_answers(machine_of(model), model, Z)


def test_oriented_features_feed_a_linear_machine():
    X, Z = inputs(1)
    y = labels(X, 1, LABELS["binary"])
    model = quietly(make_pipeline(OrientedKernelPCA(4, gamma=0.3), LinearSVC()), X, y)
    assert_equal_answers(machine_of(model), model, Z)


@pytest.mark.parametrize("n_outputs", [None, 1, 2])
@pytest.mark.parametrize("last", REGRESSORS)
def test_regressors_on_kernel_pca(last, n_outputs):
    X, Z = inputs(2)
    model = quietly(make_pipeline(KernelPCA(8, gamma=0.2), REGRESSORS[last]()), X, targets(X, 2, n_outputs))
    machine = machine_of(model)
    assert machine.output.predict(machine(Z)).shape == model.predict(Z).shape
    assert_allclose(machine.output.predict(machine(Z)), model.predict(Z), **CLOSE)


@pytest.mark.parametrize("last", [SGDRegressor(random_state=0), LinearSVR(), SVR(kernel="linear")])
def test_regressors_of_one_output(last):
    X, Z = inputs(2)
    model = quietly(make_pipeline(KernelPCA(8, gamma=0.2), last), X, targets(X, 2))
    machine = machine_of(model)
    assert_allclose(machine.output.predict(machine(Z)), model.predict(Z), **CLOSE)


def test_a_linear_detector_on_kernel_pca():
    X, Z = inputs(2)
    model = make_pipeline(KernelPCA(8, gamma=0.2), OneClassSVM(kernel="linear", nu=0.3)).fit(X)
    machine = machine_of(model)
    assert_array_equal(machine.output.predict(machine(Z)), model.predict(Z))
    assert_allclose(machine.output.scores(machine(Z)), model.score_samples(Z), **CLOSE)


AFFINE = {
    "standardised": lambda: [StandardScaler()],
    "without mean": lambda: [StandardScaler(with_mean=False)],
    "without scale": lambda: [StandardScaler(with_std=False)],
    "robust": lambda: [RobustScaler()],
    "largest": lambda: [MaxAbsScaler()],
    "range": lambda: [MinMaxScaler((-1, 2))],
    "rotated": lambda: [PCA(4)],
    "whitened": lambda: [PCA(4, whiten=True)],
    "cut": lambda: [TruncatedSVD(3, random_state=0)],
    "selected": lambda: [SelectKBest(k=3)],
    "several": lambda: [StandardScaler(), PCA(5), MinMaxScaler(), "passthrough", SelectKBest(k=4)],
}


@pytest.mark.parametrize("between", AFFINE)
def test_affine_maps_between_fold_in(between):
    X, Z = inputs(4)
    steps = [KernelPCA(6, gamma=0.3), *AFFINE[between](), LogisticRegression()]
    model = quietly(make_pipeline(*steps), X, labels(X, 4, LABELS["three"]))
    folded = fold(model)
    assert not folded.front
    assert_equal_answers(folded.machine, model, Z)


@pytest.mark.parametrize("step", [Normalizer(), MinMaxScaler(clip=True)])
def test_other_steps_between_are_refused(step):
    X, _ = inputs(4)
    model = make_pipeline(KernelPCA(6, gamma=0.3), step, LinearSVC()).fit(X, labels(X, 4, LABELS["binary"]))
    with pytest.raises(TypeError, match="with nothing but scalers between"):
        fold(model)


def test_steps_before_the_kernel_stay():
    X, Z = inputs(5)
    y = labels(X, 5, LABELS["three"])
    inner = Pipeline([("scale", StandardScaler()), ("pca", KernelPCA(6, gamma=0.1)), ("svm", LinearSVC())])
    model = Pipeline([("scale", RobustScaler()), ("rest", inner)]).fit(X, y)
    folded = fold(model)
    assert [type(step) for _, step in folded.front] == [RobustScaler, StandardScaler]
    assert len({name for name, _ in folded.front}) == 2
    transformed = folded.front[1][1].transform(folded.front[0][1].transform(Z))
    assert_allclose(folded.machine(transformed), model.decision_function(Z), **CLOSE)
    rotated = make_pipeline(PCA(2), KernelPCA(6, gamma=0.1), LinearSVC()).fit(X, y)
    with pytest.raises(TypeError, match=r"The step 'pca' .* pass its last step"):
        machine_of(rotated)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
@pytest.mark.parametrize(
    "scalers",
    [[StandardScaler()], [MinMaxScaler()], [StandardScaler(with_mean=False)], [MaxAbsScaler(), RobustScaler()]],
)
def test_scalers_before_a_machine_become_part_of_its_kernel(scalers, kernel):
    X, Z = inputs(5)
    X, Z = (np.array([1, 10, 0.1, 3]) * (part + np.array([2, -1, 0, 1])) for part in (X, Z))
    model = make_pipeline(*scalers, KernelRidge(kernel=kernel, gamma=0.3)).fit(X, targets(X, 5))
    machine = machine_of(model)
    assert_allclose(machine.output.predict(machine(Z)), model.predict(Z), **CLOSE)
    small = compress(model, 20, X=X)
    assert small.steps[0][1] is model.steps[0][1]
    machine = machine_of(small)
    assert_allclose(machine.output.predict(machine(Z)), small.predict(Z), rtol=1e-7, atol=1e-7)
    assert machine.n_features_in == X.shape[1]


def test_scalers_of_sparse_rows_stay_sparse():
    X, Z = inputs(6)
    model = make_pipeline(MaxAbsScaler(), SVC()).fit(sparse.csr_matrix(X), labels(X, 6, LABELS["binary"]))
    machine = machine_of(model)
    assert sparse.issparse(machine.expansion.points)
    assert_allclose(machine(Z)[:, 0], model.decision_function(sparse.csr_matrix(Z)), **CLOSE)


def test_a_kernel_machine_after_kernel_pca_leaves_it_in_front():
    X, _ = inputs(5)
    model = make_pipeline(KernelPCA(6), SVC()).fit(X, labels(X, 5, LABELS["three"]))
    assert [name for name, _ in fold(model).front] == ["kernelpca"]


def test_linear_machines_alone_are_refused():
    X, _ = inputs(5)
    y = labels(X, 5, LABELS["binary"])
    for model in (LinearSVC(), make_pipeline(StandardScaler(), LogisticRegression()), make_pipeline(PCA(2), Ridge())):
        with pytest.raises(TypeError, match=r"Only kernel machines have an expansion.* linear machine"):
            fold(model.fit(X, y))


def test_sparse_inputs_and_precomputed_matrices():
    X, Z = inputs(6)
    y = labels(X, 6, LABELS["binary"])
    rows = sparse.csr_matrix(X)
    model = make_pipeline(TheirKernelPCA(5, kernel="rbf"), LinearSVC()).fit(rows, y)
    assert_allclose(machine_of(model)(sparse.csr_matrix(Z))[:, 0], model.decision_function(sparse.csr_matrix(Z)))
    for pca in (TheirKernelPCA(3, kernel="precomputed"), KernelPCA(3, kernel="precomputed")):
        model = make_pipeline(pca, LinearSVC()).fit(X @ X.T, y)
        assert_allclose(machine_of(model)(Z @ X.T)[:, 0], model.decision_function(Z @ X.T), **CLOSE)
        small = compress(model, len(X), X=X @ X.T)
        assert_array_equal(small.predict(Z @ X.T), model.predict(Z @ X.T))


def test_single_precision_is_folded_in_double():
    X, Z = inputs(6)
    y = labels(X, 6, LABELS["binary"])
    single = make_pipeline(KernelPCA(20, gamma=0.1), StandardScaler(), Ridge(1e-3)).fit(X.astype(np.float32), y)
    machine = machine_of(single)
    assert machine.expansion.coefficients.dtype == np.float64
    # As far as transform itself, in single precision, lets one see.
    assert_allclose(machine(Z)[:, 0], single.predict(Z.astype(np.float32)), atol=2e-3)


CALIBRATED = [
    ("sigmoid", SVC()),
    ("isotonic", SVC()),
    ("sigmoid", SVC(decision_function_shape="ovo")),
    ("isotonic", OneVsRestClassifier(SVC())),
    ("sigmoid", make_pipeline(KernelPCA(6, gamma=0.3), StandardScaler(), LinearSVC())),
    ("isotonic", make_pipeline(KernelPCA(6, gamma=0.3), LogisticRegression())),
    ("temperature", SVC()),
]


@pytest.mark.parametrize("names", ["binary bools", "five", "three strings"])
@pytest.mark.parametrize(("method", "inside"), CALIBRATED)
def test_calibrated_classifiers(method, inside, names):
    X, Z = inputs(7)
    y = labels(X, 7, LABELS[names])
    try:
        model = quietly(CalibratedClassifierCV(clone(inside), method=method, ensemble=False, cv=2), X, y)
    except ValueError:
        assert method == "temperature"
        pytest.skip("this scikit-learn has no temperature scaling")
    assert_equal_answers(machine_of(model), model, Z)


def test_calibrated_and_frozen_and_searched():
    X, Z = inputs(8)
    y = labels(X, 8, LABELS["three"])
    scaled = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    model = CalibratedClassifierCV(FrozenEstimator(scaled)).fit(X, y)
    small = compress(model, len(X), method="select")
    assert isinstance(small, Pipeline) and [name for name, _ in small.steps] == ["standardscaler", "svc"]
    assert_allclose(small.predict_proba(Z), model.predict_proba(Z), **CLOSE)
    template = small[-1].estimator
    assert isinstance(template, CalibratedClassifierCV) and template.ensemble is False
    search = GridSearchCV(CalibratedClassifierCV(SVC(), ensemble=False, cv=2), {"estimator__C": [1, 5]}, cv=2)
    small = compress(search.fit(X, y), len(X), method="select")
    assert_allclose(small.predict_proba(Z), search.predict_proba(Z), **CLOSE)


def predictions(machine, Z):
    return machine.output.predict(machine(Z))


SCALED_TARGETS = {
    "SVR": lambda: SVR(C=10),
    "pipeline": lambda: make_pipeline(StandardScaler(), SVR(C=10)),
    "kernel PCA and ridge": lambda: make_pipeline(KernelPCA(6, gamma=0.3), StandardScaler(), Ridge()),
    "search": lambda: GridSearchCV(SVR(), {"C": [1, 10]}, cv=2),
}


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 2)), RobustScaler(), None], ids=repr)
@pytest.mark.parametrize("inside", SCALED_TARGETS)
def test_scaled_targets(inside, scaler):
    X, Z = inputs(6)
    y = 1e4 + 300 * targets(X, 6)
    for columns in (y, y[:, None]):
        model = TransformedTargetRegressor(SCALED_TARGETS[inside](), transformer=scaler)
        quietly(model, X, columns)
        found, expected = predictions(machine_of(model), Z), model.predict(Z)
        assert_allclose(found, expected, rtol=1e-9)
        assert found.shape == expected.shape
    linear = make_pipeline(KernelPCA(6, gamma=0.3), TransformedTargetRegressor(Ridge(), transformer=scaler)).fit(X, y)
    assert_allclose(predictions(machine_of(linear), Z), linear.predict(Z), rtol=1e-9)


def test_several_scaled_targets():
    X, Z = inputs(6)
    Y = np.c_[targets(X, 6), 1e4 - 300 * targets(X, 5), targets(X, 4) / 100]
    model = TransformedTargetRegressor(KernelRidge(kernel="rbf", gamma=0.3), transformer=StandardScaler()).fit(X, Y)
    assert_allclose(predictions(machine_of(model), Z), model.predict(Z), rtol=1e-9)


def test_machines_of_scaled_targets_are_compressed_and_trained_again():
    X, Z = inputs(6)
    y = 1e4 + 300 * targets(X, 6)
    model = TransformedTargetRegressor(make_pipeline(StandardScaler(), SVR(C=10)), transformer=StandardScaler())
    small = compress(model.fit(X, y), X=X, y=y, tolerance=0.05)
    assert [name for name, _ in small.steps] == ["standardscaler", "svr"]
    assert isinstance(small[-1].estimator, TransformedTargetRegressor) and small[-1].is_retrained_
    assert np.std(small.predict(Z) - model.predict(Z)) < 0.3 * y.std()
    assert small.score(X, y) > model.score(X, y) - 0.1


def test_targets_transformed_by_functions_are_refused():
    X, _ = inputs(6)
    for options in ({"func": np.log, "inverse_func": np.exp}, {"transformer": QuantileTransformer(n_quantiles=20)}):
        model = TransformedTargetRegressor(SVR(), **options).fit(X, 5 + np.abs(targets(X, 6)))
        with pytest.raises(TypeError, match=r"TransformedTargetRegressor transforms targets by .*Scalers can"):
            compress(model, 5)


def test_ensembles_of_calibrated_classifiers_are_refused():
    X, _ = inputs(8)
    model = CalibratedClassifierCV(SVC(), cv=2).fit(X, labels(X, 8, LABELS["binary"]))
    with pytest.raises(TypeError, match="ensemble=False"):
        compress(model, 5)


def test_probabilities_of_nothing_are_equal():
    """Where all curves of a class give zero, scikit-learn makes classes equal."""
    X, Z = inputs(9)
    y = labels(X, 9, LABELS["three"])
    far = np.concatenate([Z, 1e3 * Z])
    for last in (SGDClassifier(loss="modified_huber", random_state=0), LogisticRegression()):
        model = quietly(make_pipeline(KernelPCA(5, kernel="linear"), last), X, y)
        assert_allclose(
            machine_of(model).output.probabilities(machine_of(model)(far)), model.predict_proba(far), **CLOSE
        )


def test_their_kernel_pca_is_a_machine_of_coordinates():
    X, Z = inputs(10)
    for kernel, options in (("rbf", {"gamma": 0.2}), ("linear", {}), ("sigmoid", {"gamma": 0.01}), ("cosine", {})):
        theirs = TheirKernelPCA(3, kernel=kernel, **options).fit(X)
        machine = machine_of(theirs)
        assert_allclose(machine.output.predict(machine(Z)), theirs.transform(Z), **CLOSE)
        assert_allclose(machine.expansion.coefficients[:, :3].sum(axis=0), 0, atol=1e-10)


def test_work_counts_every_step():
    X, _ = inputs(11)
    y = labels(X, 11, LABELS["binary"])
    n, d, k = len(X) - 10, X.shape[1], 6  # ten rows occur twice, and count once
    pca = KernelPCA(k, gamma=0.3).fit(X)
    assert fold(pca).work == n * d + n * k
    linear = make_pipeline(StandardScaler(), KernelPCA(k, gamma=0.3), StandardScaler(), LinearSVC()).fit(X, y)
    assert fold(linear).work == d + n * (d + k) + k + k
    machine = make_pipeline(KernelPCA(k, gamma=0.3), SVC()).fit(X, y)
    small = compress(machine, 5)
    before = fold(machine).work
    assert before > n * (d + k)
    after = n * (d + k) + 5 * (k + 1)
    assert small[-1].work_ratio_ == pytest.approx(before / after)
    assert compress(make_pipeline(KernelPCA(k, gamma=0.3), LinearSVC()).fit(X, y), 5).work_ratio_ == pytest.approx(
        (n * (d + k) + k) / (5 * (d + 1))
    )


MAPS = [
    lambda k, kernel, gamma: KernelPCA(k, kernel=kernel, gamma=gamma),
    lambda k, kernel, gamma: TheirKernelPCA(k, kernel=kernel, gamma=gamma),
    lambda k, kernel, gamma: Nystroem(kernel, gamma=gamma, n_components=k, random_state=0),
    lambda k, kernel, gamma: EmpiricalKernelMap(kernel, gamma=gamma),
]


@settings(max_examples=40)
@given(
    make=st.sampled_from(MAPS),
    kernel=st.sampled_from(["rbf", "poly", "cosine"]),
    gamma=st.floats(-4, 2),
    k=st.integers(1, 12),
    between=st.lists(st.sampled_from([StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler, PCA]), max_size=2),
    last=st.sampled_from([LogisticRegression, LinearSVC, LinearDiscriminantAnalysis, RidgeClassifier]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    single=st.booleans(),
)
def test_any_pipeline_equals_its_machine(make, kernel, gamma, k, between, last, scale, single):
    """Functions agree up to rounding errors, relative to the size of the terms that they are sums of."""
    X, Z = (scale * part.astype(np.float32 if single else float) for part in inputs(12))
    y = labels(X, 12, LABELS["three"])
    unit = 1 if kernel == "cosine" else scale**2
    model = make_pipeline(make(k, kernel, 10**gamma / unit), *(step() for step in between), last())
    model = quietly(model, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine, expected = machine_of(model), model.decision_function(Z)
    coefficients = np.abs(machine.expansion.coefficients)
    values = np.abs(machine.expansion.kernel(Z.astype(float), machine.expansion.points))
    size = (values @ coefficients + np.abs(machine.intercept)).max()
    # Peers keep axes whose eigenvalues are rounding errors: a relative error of 6e-11 was seen.
    assert np.abs(machine(Z.astype(float)) - expected).max() <= (1e-3 if single else 1e-9) * size
