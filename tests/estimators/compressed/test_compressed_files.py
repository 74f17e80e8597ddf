"""Compressed models survive files of every kind, with the same predictions to the last bit."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, OneClassSVM

import preimage
from preimage import KernelPCA, compress
from preimage._models.machines import Regression
from preimage.interop import SKOPS_TYPES
from preimage.kernels import Gaussian, Laplacian, ScaledInputs
from preimage.reduced_sets import Construct
from preimage.solvers import FixedPoint

pytest.importorskip("safetensors", reason="files are safetensors")

X, Y = load_digits(return_X_y=True)
X, Y = X[:150] / 16, Y[:150]
NAMES = np.array(["zero", "one", "two"])[Y % 3]


def small(estimator, y=None, **options):
    return compress(estimator.fit(X, y), 8, X=X, **options)


MODELS = {
    "classifier": lambda: small(SVC(gamma=0.05), Y),
    "strings": lambda: small(SVC(gamma=0.05), NAMES, dtype="float32"),
    "one vs rest": lambda: small(OneVsRestClassifier(SVC(gamma=0.05)), NAMES),
    "regressor": lambda: small(KernelRidge(kernel="laplacian"), np.stack([Y, X[:, 20]], axis=1)),
    "combined kernel": lambda: small(
        SVR(kernel=ScaledInputs(Gaussian(0.05), np.linspace(0, 1, 64)) + Laplacian(0.01)), Y
    ),
    "process": lambda: small(GaussianProcessRegressor(RBF() * 2.0 + WhiteKernel(), optimizer=None), Y),
    "detector": lambda: small(OneClassSVM(gamma=0.05), method=Construct(n_starts=2)),
    "transformer": lambda: small(KernelPCA(3, gamma=0.05)),
    "solver": lambda: small(KernelPCA(3, gamma=0.05, preimage=FixedPoint(penalty=0.01))),
    "folded": lambda: small(make_pipeline(KernelPCA(5, gamma=0.05), LogisticRegression()), NAMES),
    "outputs": lambda: small(make_pipeline(KernelPCA(5, gamma=0.05), Ridge()), X[:, 20:23]),
    "calibrated": lambda: small(CalibratedClassifierCV(SVC(gamma=0.05), ensemble=False, cv=2), NAMES, dtype="float32"),
    "isotonic": lambda: small(
        CalibratedClassifierCV(OneVsRestClassifier(SVC()), method="isotonic", ensemble=False, cv=2), Y
    ),
    "sparse": lambda: compress(SVC(gamma=0.05).fit(sparse.csr_matrix(X), Y), 8, method="select"),
    "precomputed": lambda: compress(SVC(kernel="precomputed").fit(X @ X.T, Y), 8, X=X @ X.T),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS, scope="module")
def model(request):
    return request.param()


def answers(model):
    inputs = X @ X.T if model.n_features_in_ == len(X) else X
    methods = ("predict", "decision_function", "predict_proba", "transform", "denoise", "score_samples")
    # Few queries and many go different ways.
    sets = [np.concatenate([inputs] * 4), inputs[:3]]
    return {(name, len(rows)): getattr(model, name)(rows) for name in methods if hasattr(model, name) for rows in sets}


def assert_same(loaded, model):
    assert type(loaded) is type(model) and repr(loaded) == repr(model)
    for (name, found), expected in zip(answers(loaded).items(), answers(model).values(), strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=str(name))
    facts = ("n_points_", "n_original_points_", "error_", "scores_", "is_scored_by_original_", "work_ratio_")
    for name in (*facts, "converged_", "n_features_in_"):
        np.testing.assert_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.reason_ == model.reason_


def test_saved_models_come_back(model, tmp_path):
    model.save(tmp_path / "small.safetensors")
    loaded = preimage.load(str(tmp_path / "small.safetensors"))
    assert loaded.estimator is None
    assert_same(loaded, model)
    assert [path.name for path in tmp_path.iterdir()] == ["small.safetensors"]


def test_skops_needs_only_the_declared_types(model):
    skops = pytest.importorskip("skops.io", reason="skops files need skops")
    data = skops.dumps(model)
    assert set(skops.get_untrusted_types(data=data)) <= set(SKOPS_TYPES)
    assert_same(skops.loads(data, trusted=SKOPS_TYPES), model)


def test_pickling_and_cloning_work(model):
    assert_same(pickle.loads(pickle.dumps(model)), model)
    assert not hasattr(clone(model), "compression_")


def test_a_failing_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "small.safetensors"
    path.write_text("precious")
    model = MODELS["regressor"]()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="full"):
        model.save(path)
    assert path.read_text() == "precious" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"error": "small"},
        {"scores": (1.0,)},
        {"converged": 1},
        {"is_scored_by_original": 0},
        {"work_ratio": -2.0},
        {"reason": None},
        {"n_original_points": 0},
        {"machine": None},
    ],
    ids=str,
)
def test_wrong_facts_are_refused(change, tmp_path):
    model = MODELS["transformer"]()
    model.compression_ = replace(model.compression_, **change)
    model.save(tmp_path / "wrong.safetensors")
    with pytest.raises(ValueError, match=r"wrong\.safetensors cannot be loaded"):
        preimage.load(tmp_path / "wrong.safetensors")


@pytest.mark.parametrize(
    ("name", "value"), [("n_features_in_", 3), ("compression_", None), ("method", "magic"), ("preimage", 3)]
)
def test_wrong_attributes_are_refused(name, value, tmp_path):
    model = MODELS["transformer"]()
    setattr(model, name, value)
    model.save(tmp_path / "wrong.safetensors")
    with pytest.raises(ValueError, match=r"wrong\.safetensors cannot be loaded"):
        preimage.load(tmp_path / "wrong.safetensors")


def test_a_machine_of_another_kind_is_refused(tmp_path):
    model = MODELS["transformer"]()
    machine = replace(model.machine_, output=Regression(4))
    model.compression_ = replace(model.compression_, machine=machine)
    model.save(tmp_path / "wrong.safetensors")
    with pytest.raises(ValueError, match="a transformer; got a regressor"):
        preimage.load(tmp_path / "wrong.safetensors")


def test_a_pickle_is_not_opened(tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(SVC()))
    with pytest.raises(ValueError, match="a pickle, which may hold code"):
        preimage.load(tmp_path / "model.pkl")
