"""A model that was exported answers as itself, probabilities included; and the class of `predict` is the most probable.

Exports: `compress` with as many points as the model has, graphs in onnxruntime, files, and skops. A new estimator that
can be exported joins by one line of `CLASSIFIERS` or `OTHERS`; a public classifier with probabilities has to.
"""

from dataclasses import replace

import numpy as np
import pytest
from all_estimators import public_estimators
from for_each import for_each
from labels import label
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import KernelPCA as ScikitKernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import preimage
from preimage import (
    CompressedClassifier,
    CompressedRegressor,
    FeatureSpaceNeighborsClassifier,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelPCA,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    OrientedKernelPCA,
    PenalizedDiscriminant,
    Renormalized,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    compress,
)
from preimage.interop import machine_of, to_onnx
from preimage.model_selection import WidthSearch

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(80, 3)), RNG.normal(size=(50, 3))
LABELS = {
    "two texts": np.array(["yes", "no"]),
    "flags": np.array([False, True]),
    "three numbers": np.array([7, -2, 30]),
    "five texts": np.array(["e", "d", "c", "b", "a"], dtype=object),
}


def classes(names):
    """Sectors of the plane with noise; the first one is twice as large as the others."""
    angle = np.arctan2(X[:, 0], X[:, 1]) / (2 * np.pi) + 0.5 + 0.1 * np.random.default_rng(1).normal(size=len(X))
    return names[np.clip((angle * (len(names) + 1)).astype(int) - 1, 0, len(names) - 1)]


SCALED = (StandardScaler(), KernelPCA(5, gamma=0.3))
# SVMs of scikit-learn fit probabilities apart from their thresholds (Platt): exports have both as they are.
PLATT = {
    "SVC": SVC(gamma=0.3, probability=True, random_state=0),
    "NuSVC": NuSVC(nu=0.1, gamma=0.3, probability=True, random_state=0),
    "one against the rest": OneVsRestClassifier(SVC(gamma=0.3, probability=True, random_state=0)),
    "scaled SVC": make_pipeline(StandardScaler(), SVC(gamma=0.3, probability=True, random_state=0)),
}
CLASSIFIERS = {
    "SVC without probabilities": SVC(gamma=0.3),
    "calibrated": CalibratedClassifierCV(SVC(gamma=0.3), ensemble=False),
    "isotonic": CalibratedClassifierCV(SVC(gamma=0.3), method="isotonic", ensemble=False),
    "logistic regression": make_pipeline(*SCALED, LogisticRegression()),
    "modified Huber loss": make_pipeline(*SCALED, SGDClassifier(loss="modified_huber", random_state=0)),
    "KernelFisherDiscriminant": KernelFisherDiscriminant(gamma=0.3),
    "Fisher with landmarks": KernelFisherDiscriminant(gamma=0.3, landmarks=20, random_state=0),
    "Fisher against the rest": KernelFisherDiscriminant(gamma=0.3, multiclass="one_vs_rest", threshold="empirical"),
    "Fisher, all against the rest": KernelFisherDiscriminant(gamma=0.3, multiclass="one_vs_rest"),
    "Fisher with equal classes": KernelFisherDiscriminant(gamma=0.3, threshold="midpoint"),
    "KernelFisherDiscriminantCV": KernelFisherDiscriminantCV(),
    "SparseGreedyClassifier": SparseGreedyClassifier(15, gamma=0.3),
    "logistic machine": SparseGreedyClassifier(15, gamma=0.3, loss="logistic"),
    "support vector machine on landmarks": SparseGreedyClassifier(15, gamma=0.3, loss="hinge"),
    "LinearProgrammingClassifier": LinearProgrammingClassifier(15, gamma=0.3),
    "CompressedClassifier of a pipeline": CompressedClassifier(make_pipeline(*SCALED, LogisticRegression()), 8),
    "CompressedClassifier of Fisher": CompressedClassifier(KernelFisherDiscriminant(gamma=0.3), 8),
    "CompressedClassifier of Huber": CompressedClassifier(
        make_pipeline(*SCALED, SGDClassifier(loss="modified_huber", random_state=0)), 8
    ),
}
WITHOUT_PROBABILITIES = {
    "SVC without probabilities",
    "SparseGreedyClassifier",
    "support vector machine on landmarks",
    "LinearProgrammingClassifier",
}
# Classifiers that are no kernel machines, and have files only.
IN_FILES = {
    "FeatureSpaceNeighborsClassifier": FeatureSpaceNeighborsClassifier(weights="distance", kernel="poly"),
    "PenalizedDiscriminant": PenalizedDiscriminant(1.0),
    "WidthSearch": WidthSearch(KernelFisherDiscriminant()),
    "Renormalized, auto": Renormalized(SVC(gamma=0.3)),
    "Renormalized, none": Renormalized(SVC(gamma=0.3), method="none"),
    "Renormalized, threshold": Renormalized(SVC(gamma=0.3), method="threshold"),
    "Renormalized, accuracy": Renormalized(SVC(gamma=0.3), method="threshold", scoring="accuracy"),
    "Renormalized, transfer": Renormalized(SVC(gamma=0.3), method="transfer"),
    "Renormalized Fisher": Renormalized(KernelFisherDiscriminant(gamma=0.3), method="threshold"),
}
OTHERS = {
    "SVR": SVR(gamma=0.3),
    "KernelRidge": KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1),
    "OneClassSVM": OneClassSVM(gamma=0.3),
    "KernelPCA": KernelPCA(4, gamma=0.3),
    "KernelPCA with landmarks": KernelPCA(4, gamma=0.3, landmarks=20, random_state=0),
    "scaled KernelPCA": make_pipeline(StandardScaler(), KernelPCA(4, gamma=0.3)),
    "KernelPCA of scikit-learn": ScikitKernelPCA(4, kernel="rbf", gamma=0.3),
    "OrientedKernelPCA": OrientedKernelPCA(3, gamma=0.3, alpha=0.1),
    "SemiSupervisedKernelPCA": SemiSupervisedKernelPCA(3, gamma=0.3),
    "SparseGreedyDetector": SparseGreedyDetector(15, gamma=0.3, nu=0.2),
    "SparseGreedyRegressor": SparseGreedyRegressor(15, gamma=0.3),
    "regression with widths per column": SparseGreedyRegressor(15, gamma="relevance"),
    "quantile regression": SparseGreedyRegressor(15, gamma=0.3, loss="quantile"),
    "LinearProgrammingRegressor": LinearProgrammingRegressor(15, gamma=0.3),
    "CompressedRegressor": CompressedRegressor(SVR(gamma=0.3), 8),
}
METHODS = ("predict", "predict_proba", "decision_function", "transform")
# What graphs call the answers of methods.
OUTPUTS = {
    "label": "predict",
    "prediction": "predict",
    "decision": "decision_function",
    "probabilities": "predict_proba",
    "coordinates": "transform",
}


def fitted(model, names=None, dtype=float):
    if names is not None:
        return clone(model).fit(X.astype(dtype), classes(LABELS[names]))
    needs_classes = isinstance(model, SemiSupervisedKernelPCA)
    return clone(model).fit(X.astype(dtype), X[:, 1] > 0 if needs_classes else np.sin(X[:, 0]))


def answers(model, rows=NEW):
    """What machines say of rows; coordinates only where they predict nothing."""
    methods = METHODS[:-1] if hasattr(model, "predict") else METHODS[-1:]
    return {name: np.asarray(getattr(model, name)(rows)) for name in methods if hasattr(model, name)}


def assert_same(found, own, tolerance):
    """All answers of the model itself, to a tolerance in units of the largest number."""
    assert found.keys() == own.keys()
    for name in own:
        assert found[name].shape == own[name].shape, name
        if own[name].dtype.kind == "f":
            scale = max(1.0, np.abs(own[name]).max())
            np.testing.assert_allclose(found[name], own[name], rtol=0, atol=tolerance * scale, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], own[name], err_msg=name)


def cases():
    for name, model in {**PLATT, **CLASSIFIERS}.items():
        for names in LABELS:
            if names in ("two texts", "flags") or getattr(model, "threshold", None) != "empirical":
                yield pytest.param(model, names, id=f"{name}, {names}")
    yield from (pytest.param(model, None, id=name) for name, model in OTHERS.items())


each_case = pytest.mark.parametrize(("model", "names"), list(cases()))


@each_case
def test_compressing_to_all_points_changes_nothing(model, names):
    model = fitted(model, names)
    own = answers(model)
    assert_same(answers(compress(model, 10**6, X=X)), own, 1e-9)


@each_case
def test_graphs_answer_as_the_model_does(model, names):
    pytest.importorskip("onnx", reason="export needs onnx")
    runtime = pytest.importorskip("onnxruntime", reason="graphs run in onnxruntime")
    model = fitted(model, names)
    for dtype, tolerance in (("float64", 1e-9), ("float32", 1e-5)):
        graph = to_onnx(model, dtype=dtype)
        session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        rows = NEW.astype(dtype)
        found = dict(zip([each.name for each in session.get_outputs()], session.run(None, {"X": rows})))
        found = {OUTPUTS[name]: values for name, values in found.items()}
        assert_same(found, answers(model, rows.astype(float)), tolerance)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        *cases(),
        *(pytest.param(model, names, id=f"{name}, {names}") for name, model in IN_FILES.items() for names in LABELS),
    ],
)
def test_files_answer_as_the_model_does(model, names, tmp_path):
    pytest.importorskip("safetensors", reason="files are safetensors")
    skops = pytest.importorskip("skops.io", reason="skops files need skops")
    model = fitted(model, names)
    own = answers(model)
    if type(model).__module__.startswith("preimage."):
        preimage.save(model, tmp_path / "model.safetensors")
        assert_same(answers(preimage.load(tmp_path / "model.safetensors")), own, 0.0)
    data = skops.dumps(model)
    assert_same(answers(skops.loads(data, trusted=skops.get_untrusted_types(data=data))), own, 0.0)


@for_each("dtype", [np.float64, np.float32], ids=label)
@for_each("names", LABELS)
@pytest.mark.parametrize("name", sorted({**CLASSIFIERS, **IN_FILES}.keys() - WITHOUT_PROBABILITIES))
def test_the_predicted_class_is_the_most_probable(name, names, dtype):
    model = {**CLASSIFIERS, **IN_FILES}[name]
    if getattr(model, "threshold", None) == "empirical" and len(LABELS[names]) > 2:
        pytest.skip("that threshold is for two classes")
    model = fitted(model, names, dtype)
    is_ours = type(model).__module__.startswith("preimage.")
    for rows in (X.astype(dtype), NEW.astype(dtype), 3 * NEW.astype(dtype)):
        P, predicted = np.asarray(model.predict_proba(rows)), np.searchsorted(model.classes_, model.predict(rows))
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
        # The first of the largest; in scikit-learn, one of several that are equal up to rounding.
        assert not is_ours or (P.argmax(axis=1) == predicted).all()
        assert (P[np.arange(len(P)), predicted] >= P.max(axis=1) - 4 * np.finfo(dtype).eps).all()


def test_graphs_of_saturated_links_have_the_label_of_predict_as_the_most_probable():
    pytest.importorskip("onnx", reason="export needs onnx")
    runtime = pytest.importorskip("onnxruntime", reason="graphs run in onnxruntime")
    for name in ("Fisher, all against the rest", "CompressedClassifier of Huber", "logistic regression"):
        model = fitted(CLASSIFIERS[name], "five texts")
        output = replace(machine_of(model).output, temperature=50.0)  # probabilities of several classes are one
        machine = replace(machine_of(model), output=output)
        for dtype in ("float64", "float32"):
            session = runtime.InferenceSession(to_onnx(machine, dtype=dtype).SerializeToString())
            labels, P = session.run(["label", "probabilities"], {"X": NEW.astype(dtype)})
            np.testing.assert_array_equal(output.classes[P.argmax(axis=1)], labels)
            np.testing.assert_array_equal(labels, output.predict(machine(NEW.astype(dtype).astype(float))))
            np.testing.assert_allclose(P.sum(axis=1), 1, rtol=8 * np.finfo(dtype).eps)


def test_every_classifier_with_probabilities_is_here():
    here = {type(model) for model in {**CLASSIFIERS, **IN_FILES}.values()}
    assert {each for each in public_estimators() if hasattr(each, "predict_proba")} <= here


@pytest.mark.parametrize("method", ["select", "construct", "auto"])
@pytest.mark.parametrize("names", LABELS)
def test_thresholds_and_probabilities_move_together(names, method):
    """Classes and probabilities of a small machine are the same functions of its values as those of the original."""
    model = fitted(PLATT["SVC"], names)
    small, output = compress(model, 6, X=X, y=classes(LABELS[names]), method=method), machine_of(model).output
    values = small.machine_(NEW)
    np.testing.assert_array_equal(small.predict(NEW), output.predict(values))
    np.testing.assert_allclose(small.predict_proba(NEW), output.probabilities(values), atol=1e-12)
