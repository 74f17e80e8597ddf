"""Pipelines become one graph, which computes what they do, and is run before it is called done."""

import warnings

import numpy as np
import pytest
from for_each import for_each
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import preimage
from preimage import (
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelNoveltyDetector,
    KernelPCA,
    KernelProjectionPursuit,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    OrientedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
    compress,
    to_onnx,
)
from preimage.interop.onnx import _verify

onnx = pytest.importorskip("onnx", reason="export needs onnx")
runtime = pytest.importorskip("onnxruntime", reason="graphs run in onnxruntime")

RNG = np.random.default_rng(0)
# Columns of very different sizes and places, as tables have them; exact in single precision.
X = (RNG.normal(size=(90, 4)) * [1, 100, 0.01, 10] + [5, 1000, 0.1, 0]).astype(np.float32).astype(float)
Z = (X - X.mean(axis=0)) / X.std(axis=0)
THREE = np.digitize(Z[:, 0] + Z[:, 1], [-0.5, 0.7])
NAMES = np.array(["ox", "cat", "a long name"], dtype=object)[THREE]
Y = Z[:, 0] * Z[:, 1] + 3
QUERIES = (X[:40] + 0.1 * X.std(axis=0) * RNG.normal(size=(40, 4))).astype(np.float32).astype(float)
STEPS = {
    "StandardScaler": StandardScaler(),
    "without mean": StandardScaler(with_mean=False),
    "without scale": make_pipeline(StandardScaler(with_std=False), StandardScaler()),
    "MinMaxScaler": MinMaxScaler((-1, 2)),
    "clipped": MinMaxScaler(clip=True),
    "MaxAbsScaler": MaxAbsScaler(),
    "RobustScaler": RobustScaler(),
    "Normalizer": make_pipeline(StandardScaler(), Normalizer()),
    "Normalizer l1": make_pipeline(StandardScaler(), Normalizer("l1")),
    "Normalizer max": make_pipeline(StandardScaler(), Normalizer("max")),
    "PCA": make_pipeline(StandardScaler(), PCA(3)),
    "whitened": PCA(4, whiten=True),
    "IncrementalPCA": make_pipeline(StandardScaler(), IncrementalPCA(3)),
    "TruncatedSVD": make_pipeline(StandardScaler(), TruncatedSVD(3)),
    "SelectKBest": make_pipeline(StandardScaler(), SelectKBest(f_classif, k=2)),
    "VarianceThreshold": make_pipeline(VarianceThreshold(0.5), StandardScaler()),
    "PolynomialFeatures": make_pipeline(StandardScaler(), PolynomialFeatures(3)),
    "interactions": make_pipeline(StandardScaler(), PolynomialFeatures(2, interaction_only=True, include_bias=False)),
    "PowerTransformer": PowerTransformer(),
    "powers alone": make_pipeline(StandardScaler(), PowerTransformer(standardize=False)),
    "box-cox": make_pipeline(MinMaxScaler((1, 2)), PowerTransformer("box-cox")),
    "SimpleImputer": make_pipeline(SimpleImputer(), StandardScaler()),
    "zeros missing": make_pipeline(SimpleImputer(missing_values=0, strategy="median"), StandardScaler()),
    "Binarizer": make_pipeline(StandardScaler(), Binarizer(threshold=0.2)),
    "union": make_union(StandardScaler(), make_pipeline(StandardScaler(), PCA(2))),
    "columns": ColumnTransformer([("a", StandardScaler(), [0, 3]), ("b", MinMaxScaler(), slice(1, 3))]),
    "some columns": make_pipeline(
        ColumnTransformer([("a", StandardScaler(), [0]), ("b", "drop", [1])], remainder="passthrough"), StandardScaler()
    ),
    "identity": make_pipeline(FunctionTransformer(), StandardScaler()),
    "kernel PCA": make_pipeline(StandardScaler(), KernelPCA(3, gamma=0.2)),
    "their kernel PCA": make_pipeline(StandardScaler(), TheirKernelPCA(3, kernel="rbf", gamma=0.2)),
}
MACHINES = {
    "SVC": (SVC(probability=True, random_state=0), NAMES),
    "SVC of two": (SVC(), THREE > 0),
    "NuSVC": (NuSVC(nu=0.2), THREE),
    "one vs rest": (OneVsRestClassifier(SVC()), NAMES),
    "calibrated": (CalibratedClassifierCV(SVC(), ensemble=False), NAMES),
    "SVR": (SVR(), Y),
    "NuSVR": (NuSVR(), Y),
    "scaled targets": (TransformedTargetRegressor(SVR(C=10), transformer=StandardScaler()), 100 * Y),
    "OneClassSVM": (OneClassSVM(nu=0.3), None),
    "KernelRidge": (KernelRidge(kernel="rbf", gamma=0.3), Y),
    "two outputs": (KernelRidge(kernel="rbf", gamma=0.3), np.c_[Y, -2 * Y]),
    "Gaussian process": (GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(), normalize_y=True), Y),
    "kernel PCA and logistic": (make_pipeline(KernelPCA(4, gamma=0.3), LogisticRegression()), NAMES),
    "Nystroem and ridge": (make_pipeline(Nystroem(gamma=0.3, n_components=20, random_state=0), Ridge()), Y),
    "map and ridge": (make_pipeline(EmpiricalKernelMap(gamma=0.3), Ridge()), Y),
    "KernelPCA": (KernelPCA(3, gamma=0.3), None),
    "OrientedKernelPCA": (OrientedKernelPCA(3, gamma=0.3), None),
    "KernelNoveltyDetector": (KernelNoveltyDetector(0.2, gamma=0.3), None),
    "KernelProjectionPursuit": (KernelProjectionPursuit(2, gamma=0.3, n_principal=3), None),
    "SparseKernelFeatureAnalysis": (SparseKernelFeatureAnalysis(9, gamma=0.3), None),
    "linear programming": (LinearProgrammingClassifier(gamma=0.3), NAMES),
    "linear programming, values": (LinearProgrammingRegressor(gamma=0.3), Y),
    "Fisher": (KernelFisherDiscriminant(gamma=0.3), NAMES),
    "sparse greedy": (SparseGreedyClassifier(gamma=0.3), NAMES),
    "sparse greedy regression": (SparseGreedyRegressor(gamma=0.3), Y),
    "sparse greedy detector": (SparseGreedyDetector(gamma=0.3, nu=0.2), None),
    "search": (GridSearchCV(SVC(), {"C": [1, 10]}, cv=2), NAMES),
}


def fitted(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def run(proto, rows=QUERIES):
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    dtype = np.float32 if session.get_inputs()[0].type == "tensor(float)" else np.float64
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.asarray(rows, dtype=dtype)})))


def assert_computes(proto, model, tolerance):
    found = run(proto)
    assert found
    for name, values in found.items():
        expected = np.asarray(getattr(model, _verify._METHODS[name])(QUERIES))
        assert values.shape == expected.shape
        if name == "label":
            assert np.mean(values == expected) > 0.97  # decisions of zero to within rounding
        else:
            wanted = 5e-3 if name == "probabilities" else tolerance * max(1, np.abs(expected).max() / 100)
            assert np.mean(np.abs(values - expected) <= wanted) > 0.97


@for_each("step", STEPS.values(), ids=STEPS)
def test_steps_before_a_machine_are_part_of_the_graph(step):
    model = fitted(make_pipeline(step, SVR(gamma=0.5)), Y)
    assert_computes(to_onnx(model), model, 2e-5)
    assert_computes(to_onnx(model, dtype="float64"), model, 1e-9)


@for_each(("machine", "y"), MACHINES.values(), ids=MACHINES)
def test_machines_after_a_scaler(machine, y):
    model = fitted(make_pipeline(StandardScaler(), machine), y)
    assert_computes(to_onnx(model), model, 2e-5)
    # Coefficients of Gaussian processes with little noise are large, and their sums cancel.
    assert_computes(to_onnx(model, dtype="float64"), model, 1e-7 if "process" in str(machine).lower() else 1e-9)


def test_compressed_pipelines_are_one_file(tmp_path):
    model = fitted(make_pipeline(StandardScaler(), PCA(3), SVC(gamma=0.3)), NAMES)
    small = compress(model, 10, X=X)
    proto = to_onnx(small, tmp_path / "small.onnx", X=X)
    assert (tmp_path / "small.onnx").read_bytes() == proto.SerializeToString()
    assert_computes(onnx.load(tmp_path / "small.onnx"), small, 2e-5)
    alone = compress(fitted(SVC(gamma=1e-5), NAMES), 10, X=X)
    assert alone.to_onnx(str(tmp_path / "alone.onnx")).SerializeToString() == (tmp_path / "alone.onnx").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.onnx", "small.onnx"]


def test_missing_values_are_filled_in_the_graph():
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), SVR()).fit(holes, Y)
    np.testing.assert_allclose(run(to_onnx(model), holes)["prediction"], model.predict(holes), atol=2e-5)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (FunctionTransformer(np.tanh), "FunctionTransformer"),
        (QuantileTransformer(n_quantiles=5), "QuantileTransformer"),
    ],
)
def test_steps_without_a_graph_are_refused_with_what_to_do(step, name, tmp_path):
    model = fitted(make_pipeline(StandardScaler(), step, SVR()), Y)
    with pytest.raises(TypeError, match=rf"no graph for the step '{name.lower()}'.*It takes StandardScaler.*\[k:\]"):
        to_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_linear_models_alone_have_no_kernel():
    with pytest.raises(TypeError, match="Only kernel machines"):
        to_onnx(fitted(make_pipeline(StandardScaler(), LogisticRegression()), NAMES))


def test_a_graph_that_computes_something_else_is_never_written(monkeypatch, tmp_path):
    model = fitted(make_pipeline(StandardScaler(), SVC()), NAMES)
    right = _verify.run_graph
    wrongs = {
        "decision": lambda found: found | {"decision": found["decision"] + 0.01},
        "label": lambda found: found | {"label": np.full(len(found["label"]), "cat", dtype=object)},
        "shape": lambda found: found | {"label": found["label"][:-1]},
    }
    for change in wrongs.values():
        monkeypatch.setattr(_verify, "run_graph", lambda proto, rows, change=change: change(right(proto, rows)))
        with pytest.raises(
            ValueError, match=r"not compute what the model does: .* of row \d+ is .* in the model|shape"
        ):
            to_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_without_onnxruntime_graphs_run_in_onnx(monkeypatch):
    model = fitted(make_pipeline(StandardScaler(), SVR()), Y)
    expected = run(to_onnx(model))["prediction"]
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    proto = to_onnx(model)
    np.testing.assert_array_equal(run_with(runtime, proto), expected)


def run_with(package, proto):
    session = package.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": QUERIES.astype(np.float32)})[0]


def test_rows_to_compare_on_have_the_columns_of_the_model():
    model = fitted(make_pipeline(StandardScaler(), SVR()), Y)
    with pytest.raises(ValueError, match=r"X with 4 columns.*got shape \(5, 3\)"):
        to_onnx(model, X=np.zeros((5, 3)))


def test_the_top_level_name_is_the_same():
    assert preimage.to_onnx is preimage.interop.to_onnx


def test_columns_of_a_frame_are_found_by_their_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    columns = ColumnTransformer([("1", StandardScaler(), ["d", "a"]), ("2", MinMaxScaler(), ["b"])])
    model = make_pipeline(columns, SVC()).fit(frame, NAMES)
    queries = pandas.DataFrame(QUERIES, columns=frame.columns)
    found = run(to_onnx(model))
    np.testing.assert_allclose(found["decision"], model.decision_function(queries), atol=2e-5)
    np.testing.assert_array_equal(run(to_onnx(model, X=queries))["label"], model.predict(queries))


def test_rows_of_words_are_refused_with_the_part_to_export():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": NAMES})
    columns = ColumnTransformer([("1", StandardScaler(), ["a", "b"]), ("2", OneHotEncoder(sparse_output=False), ["c"])])
    model = make_pipeline(columns, SVC()).fit(frame, THREE > 0)
    with pytest.raises(ValueError, match=r"one array of numbers.*could not convert.*to_onnx\(model\[1:\]"):
        to_onnx(model, X=frame)
    encoded = model[:1].transform(frame)
    proto = to_onnx(model[1:], X=encoded)
    found = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        ["label"], {"X": encoded.astype(np.float32)}
    )[0]
    np.testing.assert_array_equal(found, model.predict(frame))
