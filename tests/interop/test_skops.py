"""Every public estimator, fitted, goes through skops with the declared types alone, and answers as before."""

import importlib
import inspect

import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import preimage
from preimage import (
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    CompressedTransformer,
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelPCA,
    OrientedKernelPCA,
    PenalizedDiscriminant,
    Renormalized,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyRegressor,
    compress,
)
from preimage.interop import SKOPS_TYPES
from preimage.invariances import VirtualExamples
from preimage.model_selection import DenoisingSearch, WidthSearch

skops = pytest.importorskip("skops.io", reason="skops files need skops")

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
TWO = Y > 0
# One line for a new estimator; several where a parameter brings parts of its own.
MODELS = [
    lambda: CompressedClassifier(SVC(), 5).fit(X, Y),
    lambda: CompressedDetector(OneClassSVM(), 5).fit(X),
    lambda: CompressedRegressor(SVR(), 5).fit(X, Y),
    lambda: CompressedTransformer(KernelPCA(2), 5).fit(X),
    lambda: compress(make_pipeline(StandardScaler(), KernelPCA(5), LogisticRegression()).fit(X, Y), 8, X=X),
    lambda: compress(CalibratedClassifierCV(SVC(), method="isotonic", ensemble=False).fit(X, Y), 8, X=X),
    lambda: EmpiricalKernelMap(whiten=True).fit(X),
    lambda: KernelFisherDiscriminant().fit(X, Y),
    lambda: KernelFisherDiscriminant(landmarks=20, random_state=0).fit(X, Y),
    lambda: KernelFisherDiscriminant(sparsity=5).fit(X, TWO),
    lambda: KernelFisherDiscriminantCV().fit(X, Y),
    lambda: KernelFisherDiscriminantCV(landmarks=20, random_state=0).fit(X, Y),
    lambda: KernelKMeans(3, random_state=0).fit(X),
    lambda: KernelKMeans(3, landmarks=20, random_state=0).fit(X),
    lambda: KernelPCA(3).fit(X),
    lambda: KernelPCA(3, landmarks=20, random_state=0).fit(X),
    lambda: KernelPCA(3, landmarks=20, random_state=0).partial_fit(X),
    lambda: KernelPCA(3, preimage="learned").fit(X),
    lambda: OrientedKernelPCA(3).fit(X),
    lambda: PenalizedDiscriminant().fit(X, Y),
    lambda: Renormalized(SVC()).fit(X, TWO),
    lambda: Renormalized(KernelPCA(3)).fit(X, TWO),
    lambda: SemiSupervisedKernelPCA(3).fit(X, Y),
    lambda: SparseGreedyClassifier().fit(X, Y),
    lambda: SparseGreedyRegressor().fit(X, Y),
    lambda: DenoisingSearch(n_components=[2, 3]).fit(X),
    lambda: WidthSearch().fit(X, Y),
]
METHODS = ("predict", "decision_function", "predict_proba", "transform", "denoise")


def answers(model):
    return [getattr(model, name)(X[:20]) for name in METHODS if hasattr(model, name)]


@pytest.fixture(scope="module")
def models():
    return [make() for make in MODELS]


@pytest.mark.filterwarnings("ignore")
def test_fitted_estimators_come_back(models):
    for model in models:
        data = skops.dumps(model)
        unknown = set(skops.get_untrusted_types(data=data)) - set(SKOPS_TYPES)
        assert not unknown, model
        again = skops.loads(data, trusted=SKOPS_TYPES)
        for found, expected in zip(answers(again), answers(model), strict=True):
            assert_array_equal(found, expected)


def test_every_public_estimator_is_tried(models):
    public = {
        each
        for name in ("estimators", "model_selection", "invariances")
        for each in vars(importlib.import_module(f"preimage.{name}")).values()
        if inspect.isclass(each) and issubclass(each, BaseEstimator) and hasattr(each, "fit")
    }
    public |= {each for each in vars(preimage).values() if hasattr(each, "fit")}
    # Compressed pipelines come as pipelines; virtual examples learn nothing.
    assert {type(each) for each in models} >= public - {VirtualExamples}


def test_declared_types_exist_and_hold_no_functions():
    for name in SKOPS_TYPES:
        module, _, attribute = name.rpartition(".")
        assert inspect.isclass(getattr(importlib.import_module(module), attribute)), name
    assert not any(name.endswith(("CallableKernel", "FunctionTransformation")) for name in SKOPS_TYPES)
