"""Machines made of fitted estimators say what the estimators say."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import LABELS, inputs, labels, quietly, targets
from for_each import for_each
from labels import label
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

from preimage._models.machines import KernelMachine
from preimage.exceptions import UnsupportedKernelError
from preimage.interop import machine_of
from preimage.kernels import CallableKernel, Gaussian, Precomputed

TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


def same_function(estimator, Z, methods, inputs_of_machine=None):
    """Compare what the machine and the estimator say about Z; returns the machine."""
    machine = machine_of(estimator)
    F = machine(Z if inputs_of_machine is None else inputs_of_machine)
    assert F.shape == (Z.shape[0], len(machine.expansion)) == (Z.shape[0], machine.output.n_functions)
    ours = {
        "decision_function": machine.output.decision,
        "predict": machine.output.predict,
        "predict_proba": machine.output.probabilities,
        "score_samples": getattr(machine.output, "scores", None),
    }
    for method in methods:
        expected, found = getattr(estimator, method)(Z), ours[method](F)
        assert found.shape == expected.shape
        if expected.dtype.kind == "f":
            assert_allclose(found, expected, **TOLERANCE)
        else:
            assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
    return machine


def scaled_product(X, Y):
    return 0.3 * (X @ Y.T) ** 3


def sparse_product(X, Y):
    return sparse.csr_array(X @ Y.T)


def row_similarity(x, y, width):
    return float(np.exp(-np.abs(x - y).max() / width))


SVM_KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly"},
    {"kernel": "poly", "degree": 2, "coef0": 1.5, "gamma": 0.3},
    {"kernel": "poly", "degree": 0},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "rbf", "gamma": 0.0},
    {"kernel": "sigmoid", "coef0": -0.2},
    {"kernel": "sigmoid", "coef0": 0.4, "gamma": 0.0},
    {"kernel": scaled_product},
    {"kernel": sparse_product},
    {"kernel": laplacian_kernel},
    {"kernel": Gaussian(0.4)},
    {"kernel": 2.0 * gp.RBF(1.5) + gp.WhiteKernel(0.1)},
]


@for_each("seed", range(3))
@for_each("names", LABELS.values(), ids=LABELS)
@for_each("shape", ["ovr", "ovo"])
@for_each("kind", [SVC, NuSVC])
def test_classifiers(kind, names, shape, seed):
    X, Z = inputs(seed, n=150)
    settings = {"C": 3.0} if kind is SVC else {"nu": 0.1}
    svm = quietly(kind(decision_function_shape=shape, **settings), X, labels(X, seed, names))
    machine = same_function(svm, Z, ["decision_function", "predict"])
    assert machine.output.kind == "classifier"
    assert_array_equal(machine.output.classes, svm.classes_)
    assert len(np.unique(svm.predict(Z))) > 1
    assert not machine.output.has_probabilities


@for_each("parameters", SVM_KERNELS, ids=label)
@for_each("names", ["binary", "three"])
def test_kernels_of_classifiers(parameters, names):
    X, Z = inputs(0)
    svm = quietly(SVC(C=2.0, **parameters), X, labels(X, 0, LABELS[names]))
    # A constant kernel has no values between −1e-10 and 1e-10, so labels can be compared for all.
    assert np.abs(svm.decision_function(Z)).min() > 1e-10
    machine = same_function(svm, Z, ["decision_function", "predict"])
    assert machine.n_features_in == 4


@for_each("names", ["binary", "binary strings", "three", "five"])
@for_each("kind", [SVC, NuSVC])
@for_each("seed", range(3))
def test_probabilities(kind, names, seed):
    X, Z = inputs(seed, n=150)
    settings = {"C": 3.0} if kind is SVC else {"nu": 0.1}
    svm = quietly(kind(probability=True, random_state=seed, **settings), X, labels(X, seed, LABELS[names]))
    same_function(svm, 3 * Z, ["decision_function", "predict", "predict_proba"])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_far_from_all_boundaries(n_classes):
    """Where pairwise probabilities come within 1e-7 of zero and one, and are kept there."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % n_classes
    X = rng.normal(size=(120, 2)) + 3 * np.stack([y, y % 2], axis=1)
    svm = quietly(SVC(kernel="linear", probability=True, random_state=0), X, y)
    Z = 1000 * rng.normal(size=(50, 2))
    assert svm.predict_proba(Z).min() < 2e-7
    same_function(svm, Z, ["predict_proba"])


def test_probabilities_of_many_rows_come_in_blocks():
    X, _ = inputs(0)
    Z = np.random.default_rng(5).normal(size=(5000, 4))
    svm = quietly(SVC(probability=True, random_state=0), X, labels(X, 0, LABELS["three"]))
    same_function(svm, Z, ["predict_proba"])


@pytest.mark.parametrize("seed", range(3))
def test_ties_broken_by_confidence(seed):
    X, Z = inputs(seed)
    y = labels(X, seed, LABELS["five"])
    Z = np.concatenate([Z, 0.05 * Z])
    first = quietly(SVC(C=0.1, gamma=0.05), X, y)
    broken = quietly(SVC(C=0.1, gamma=0.05, break_ties=True), X, y)
    same_function(first, Z, ["decision_function", "predict"])
    same_function(broken, Z, ["decision_function", "predict"])


def test_votes_tie_on_some_rows():
    """So that the two rules above differ."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 5
    Z = rng.normal(size=(400, 2))
    first, broken = quietly(SVC(gamma=3.0), X, y), quietly(SVC(gamma=3.0, break_ties=True), X, y)
    assert np.any(first.predict(Z) != broken.predict(Z))
    same_function(first, Z, ["predict"])
    same_function(broken, Z, ["predict"])


def test_breaking_ties_of_pairs_is_refused_as_by_sklearn():
    X, Z = inputs(0)
    svm = quietly(SVC(break_ties=True, decision_function_shape="ovo"), X, labels(X, 0, LABELS["three"]))
    machine = same_function(svm, Z, ["decision_function"])
    with pytest.raises(ValueError, match="break_ties must be False"):
        machine.output.predict(machine(Z))


def test_zero_belongs_to_the_second_class():
    svm = SVC(kernel="linear").fit([[-1.0], [1.0]], ["a", "b"])
    Z = np.zeros((1, 1))
    assert svm.decision_function(Z) == 0
    same_function(svm, Z, ["decision_function", "predict"])


@for_each("parameters", SVM_KERNELS, ids=label)
@for_each("kind", [SVR, NuSVR, OneClassSVM])
def test_regression_and_detection(kind, parameters):
    X, Z = inputs(1)
    if kind is OneClassSVM:
        svm = quietly(OneClassSVM(nu=0.3, **parameters), X)
        machine = machine_of(svm)
        assert machine.output.kind == "detector"
        methods = ["decision_function", "score_samples"]
        methods += ["predict"] if np.abs(svm.decision_function(Z)).min() > 1e-10 else []
        same_function(svm, Z, methods)
    else:
        machine = same_function(quietly(kind(**parameters), X, targets(X, 1)), Z, ["predict"])
        assert machine.output.kind == "regressor"


def test_a_detector_finds_novelties():
    X, Z = inputs(1)
    svm = OneClassSVM(nu=0.3).fit(X)
    assert set(svm.predict(Z)) == {-1, 1}
    same_function(svm, Z, ["predict"])


@pytest.mark.parametrize("kernel", ["rbf", "linear", scaled_product])
@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_machine_without_support_vectors_is_its_intercept(kernel, as_input):
    X, Z = inputs(0)
    svm = SVR(kernel=kernel, epsilon=100.0).fit(as_input(X), targets(X, 0))
    assert svm.support_.size == 0
    same_function(svm, as_input(Z), ["predict"])


def test_no_support_vectors_of_a_precomputed_kernel():
    X, Z = inputs(0)
    svm = SVR(kernel="precomputed", epsilon=100.0).fit(X @ X.T, targets(X, 0))
    same_function(svm, Z @ X.T, ["predict"])


@for_each("parameters", SVM_KERNELS[:9], ids=label)
@for_each("names", ["binary", "five"])
@for_each("sparse_type", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_models_keep_sparse_points(sparse_type, names, parameters):
    X, Z = inputs(2)
    X, Z = X * (np.abs(X) > 0.7), Z * (np.abs(Z) > 0.7)
    svm = quietly(SVC(probability=True, random_state=0, **parameters), sparse_type(X), labels(X, 2, LABELS[names]))
    machine = same_function(svm, sparse.csr_array(Z), ["decision_function", "predict_proba"])
    assert machine.expansion.points.format == "csr"
    assert machine.expansion.points.shape[0] == svm.support_.size
    same_function(svm, Z, ["decision_function"])  # dense queries of a sparse model


@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(probability=True), SVR(), OneClassSVM(), OneVsRestClassifier(SVC())],
    ids=lambda model: type(model).__name__,
)
def test_precomputed_kernels_are_evaluated_by_rows(model):
    X, Z = inputs(3)
    y = targets(X, 3) if isinstance(model, SVR) else labels(X, 3, LABELS["three"])
    model = model.set_params(**{"estimator__kernel" if hasattr(model, "estimator") else "kernel": "precomputed"})
    quietly(model, X @ X.T, y)
    machine = same_function(model, Z @ X.T, ["predict"])
    assert isinstance(machine.expansion.kernel, Precomputed)
    assert machine.expansion.points.dtype == np.int64
    assert machine.n_features_in == X.shape[0]
    with pytest.raises(UnsupportedKernelError, match="does not hold the values among training points"):
        machine.expansion.squared_norms()
    with pytest.raises(UnsupportedKernelError, match="does not hold the values among training points"):
        machine.expansion.kernel.diagonal(machine.expansion.points)


def test_precomputed_kernel_ridge_knows_its_gram_matrix():
    X, Z = inputs(3)
    ridge = KernelRidge(kernel="precomputed").fit(X @ X.T, targets(X, 3))
    machine = same_function(ridge, Z @ X.T, ["predict"])
    linear = machine_of(KernelRidge(kernel="linear").fit(X, targets(X, 3)))
    assert_allclose(machine.expansion.squared_norms(), linear.expansion.squared_norms(), rtol=1e-8)


RIDGE_KERNELS = [
    {"kernel": "linear", "gamma": 0.0},
    {"kernel": "cosine"},
    {"kernel": "poly"},
    {"kernel": "polynomial", "degree": 2, "coef0": 0.5, "gamma": 0.2},
    {"kernel": "polynomial", "degree": 2.0},
    {"kernel": "poly", "degree": 1.5, "gamma": 0.01, "coef0": 2},
    {"kernel": "poly", "degree": 0},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "laplacian"},
    {"kernel": "laplacian", "gamma": 0.7},
    {"kernel": "sigmoid", "gamma": 0.1, "coef0": 0.1},
    {"kernel": "additive_chi2"},
    {"kernel": "chi2", "gamma": 0.5},
    {"kernel": row_similarity, "kernel_params": {"width": 2.0}},
    {"kernel": gp.RBF(1.3) + gp.WhiteKernel(2.0)},
]


@for_each("n_outputs", [None, 1, 3])
@for_each("parameters", RIDGE_KERNELS, ids=label)
def test_kernel_ridge(parameters, n_outputs):
    X, Z = inputs(4)
    if "chi2" in str(parameters["kernel"]):
        X, Z = np.abs(X), np.abs(Z)
    ridge = quietly(KernelRidge(alpha=0.5, **parameters), X, targets(X, 4, n_outputs))
    machine = same_function(ridge, Z, ["predict"])
    without_counterpart = parameters.get("degree") == 1.5
    is_function = parameters["kernel"] is row_similarity
    assert isinstance(machine.expansion.kernel, CallableKernel) == (without_counterpart or is_function)


def product_over_norms(x, y):
    """Of rows; on matrices it has the right shape and the wrong values."""
    return x @ y.T / np.linalg.norm(x) / np.linalg.norm(y)


def test_functions_of_kernel_ridge_are_given_rows():
    X, Z = inputs(4)
    same_function(KernelRidge(kernel=product_over_norms).fit(X, targets(X, 4)), Z, ["predict"])


@pytest.mark.parametrize("sparse_type", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "cosine"])
def test_sparse_kernel_ridge(kernel, sparse_type):
    X, Z = inputs(4)
    X, Z = X * (np.abs(X) > 0.7), Z * (np.abs(Z) > 0.7)
    ridge = KernelRidge(kernel=kernel).fit(sparse_type(X), targets(X, 4))
    machine = same_function(ridge, sparse.csr_array(Z), ["predict"])
    assert machine.expansion.points.format == "csr"


@pytest.mark.parametrize("normalize_y", [True, False])
@pytest.mark.parametrize("n_outputs", [None, 1, 3])
@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
def test_gaussian_process_means(normalize_y, n_outputs, optimizer):
    X, Z = inputs(5)
    kernel = 1.5 * gp.RBF([1.0, 2.0, 3.0, 4.0]) + gp.WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, normalize_y=normalize_y, optimizer=optimizer, alpha=1e-3)
    machine = same_function(quietly(process, X, targets(X, 5, n_outputs)), Z, ["predict"])
    assert machine.expansion.kernel.has_gradient
    # The noise belongs to the training set: on it the mean is the mean too.
    same_function(process, X, ["predict"])


def test_the_default_kernel_of_gaussian_processes():
    X, Z = inputs(5)
    same_function(GaussianProcessRegressor(alpha=0.1).fit(X, targets(X, 5)), Z, ["predict"])


@for_each("probability", [True, False])
@for_each("names", LABELS.values(), ids=LABELS)
@for_each("kind", [SVC, NuSVC])
def test_one_versus_rest(kind, names, probability):
    X, Z = inputs(6)
    inner = kind(probability=probability, random_state=0, **({"nu": 0.05} if kind is NuSVC else {}))
    classifier = quietly(OneVsRestClassifier(inner), X, labels(X, 6, names))
    methods = ["decision_function", "predict"] + ["predict_proba"] * probability
    machine = same_function(classifier, Z, methods)
    assert machine.output.has_probabilities == probability
    assert np.unique(machine.expansion.points, axis=0).shape == machine.expansion.points.shape
    assert machine.expansion.points.shape[0] < sum(part.support_.size for part in classifier.estimators_)


@pytest.mark.parametrize("kernel", ["linear", "rbf", scaled_product])
@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_one_versus_rest_on_other_kernels_and_inputs(kernel, as_input):
    X, Z = inputs(6)
    X, Z = X * (np.abs(X) > 0.7), Z * (np.abs(Z) > 0.7)
    classifier = quietly(OneVsRestClassifier(SVC(kernel=kernel)), as_input(X), labels(X, 6, LABELS["three"]))
    machine = same_function(classifier, as_input(Z), ["decision_function", "predict"])
    dense = machine.expansion.points.toarray() if as_input is sparse.csr_array else machine.expansion.points
    assert np.unique(dense, axis=0).shape == dense.shape
    assert machine.n_features_in == 4


@pytest.mark.parametrize("probability", [True, False])
@pytest.mark.parametrize("constant", [None, "never, first", "always, first", "never, last", "always, last"])
def test_one_versus_rest_of_many_labels(constant, probability):
    X, Z = inputs(7)
    Y = np.stack([X[:, 0] > 0, X[:, 1] * X[:, 2] > 0.3, X[:, 3] > 1], axis=1).astype(int)
    if constant:
        Y[:, 0 if constant.endswith("first") else 2] = constant.startswith("always")
    classifier = quietly(OneVsRestClassifier(SVC(probability=probability, random_state=0)), X, Y)
    methods = ["predict"] + ["predict_proba"] * probability
    machine = same_function(classifier, Z, methods)
    assert machine.output.multilabel
    expected = np.stack([part.decision_function(Z).ravel() for part in classifier.estimators_], axis=1)
    assert_allclose(machine.output.decision(machine(Z)), expected, **TOLERANCE)


def test_one_versus_rest_of_constants_only_has_no_function():
    X, _ = inputs(7)
    classifier = quietly(OneVsRestClassifier(SVC()), X, np.repeat([[0, 1]], X.shape[0], axis=0))
    with pytest.raises(ValueError, match="no function to expand"):
        machine_of(classifier)


def test_one_versus_rest_of_other_models_is_refused():
    X, _ = inputs(7)
    classifier = OneVsRestClassifier(LogisticRegression()).fit(X, labels(X, 7, LABELS["three"]))
    with pytest.raises(TypeError, match=r"made of SVC or NuSVC.* got LogisticRegression"):
        machine_of(classifier)


def test_one_versus_rest_with_two_kernels_is_refused():
    X, _ = inputs(7)
    classifier = OneVsRestClassifier(SVC()).fit(X, labels(X, 7, LABELS["three"]))
    classifier.estimators_[1] = SVC(kernel="linear").fit(X, labels(X, 7, LABELS["binary"]))
    with pytest.raises(ValueError, match="must have one kernel"):
        machine_of(classifier)


@pytest.mark.parametrize("model", [SVC(), KernelRidge(kernel="rbf"), GaussianProcessRegressor(alpha=0.1)])
def test_data_frames_leave_their_column_names(model):
    X, Z = inputs(8)
    names = ["a", "b", "c", "d"]
    y = labels(X, 8, LABELS["three"])
    quietly(model, pd.DataFrame(X, columns=names), y)
    machine = machine_of(model)
    assert_array_equal(machine.feature_names_in, names)
    assert_allclose(machine.output.predict(machine(Z)), model.predict(pd.DataFrame(Z, columns=names)), **TOLERANCE)
    assert machine_of(quietly(model, X, y)).feature_names_in is None


def test_a_data_frame_and_a_function_as_kernel():
    X, Z = inputs(8)
    svm = SVC(kernel=linear_kernel).fit(pd.DataFrame(X), labels(X, 8, LABELS["three"]))
    same_function(svm, Z, ["decision_function"])


@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM()], ids=lambda model: type(model).__name__)
def test_single_precision_inputs_of_support_vector_machines(model):
    X, Z = (part.astype(np.float32) for part in inputs(9))
    quietly(model, X, labels(X, 9, LABELS["three"]))
    machine = same_function(model, Z, ["predict"], inputs_of_machine=Z.astype(np.float64))
    assert machine.expansion.points.dtype == np.float64
    assert_allclose(machine(Z), machine(Z.astype(np.float64)), rtol=1e-4, atol=1e-4)


def test_single_precision_kernel_ridge_is_read_in_double_precision():
    X, Z = (part.astype(np.float32) for part in inputs(9))
    ridge = KernelRidge(kernel="rbf").fit(X, targets(X, 9))
    machine = machine_of(ridge)
    assert machine.expansion.points.dtype == machine.expansion.coefficients.dtype == np.float64
    assert_allclose(machine.output.predict(machine(Z.astype(float))), ridge.predict(Z), rtol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        NuSVC(),
        SVR(),
        NuSVR(),
        OneClassSVM(),
        KernelRidge(),
        GaussianProcessRegressor(),
        OneVsRestClassifier(SVC()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_must_be_fitted(model):
    with pytest.raises(NotFittedError):
        machine_of(model)
    with pytest.raises(NotFittedError):
        machine_of(model)


@pytest.mark.parametrize("model", [LinearSVC(), GaussianProcessClassifier(), 3, "SVC", None, SVC, KernelMachine])
def test_other_models_are_refused_with_a_list(model):
    with pytest.raises(TypeError, match=r"SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge"):
        machine_of(model)


def test_wrappers_are_refused_with_advice():
    X, _ = inputs(0)
    y = labels(X, 0, LABELS["binary"])
    with pytest.raises(TypeError, match="pass its last step"):
        machine_of(make_pipeline(Normalizer(), SVC()).fit(X, y))
    with pytest.raises(TypeError, match="pass its best_estimator_"):
        machine_of(GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2).fit(X, y))


def test_subclasses_count_as_what_they_are():
    class Mine(SVC):
        pass

    X, Z = inputs(0)
    same_function(quietly(Mine(), X, labels(X, 0, LABELS["three"])), Z, ["decision_function", "predict"])


def test_objects_that_know_their_machine_are_asked():
    X, _ = inputs(0)
    machine = machine_of(SVR().fit(X, targets(X, 0)))

    class Ours:
        def _kernel_machine(self):
            return machine

    assert machine_of(Ours()) is machine
    assert machine_of(Ours()).expansion is machine.expansion
    assert machine_of(machine) is machine


def test_machines_survive_pickling():
    X, Z = inputs(0)
    for parameters in ({"kernel": "rbf"}, {"kernel": scaled_product}):
        machine = machine_of(SVC(**parameters).fit(X, labels(X, 0, LABELS["three"])))
        copy = pickle.loads(pickle.dumps(machine))
        assert_array_equal(copy.output.predict(copy(Z)), machine.output.predict(machine(Z)))


def test_the_estimator_is_left_alone():
    X, Z = inputs(0)
    svm = SVC().fit(X, labels(X, 0, LABELS["binary"]))
    before = svm.decision_function(Z)
    machine = machine_of(svm)
    machine.expansion.coefficients[:] = 0
    machine.intercept[:] = 0
    assert_array_equal(svm.decision_function(Z), before)
