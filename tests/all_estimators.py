"""Every public estimator, once: the classes, and fitted models of each, for tests that try them all."""

import importlib
import inspect
from functools import cache

import numpy as np
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
    FeatureSpaceNeighbors,
    FeatureSpaceNeighborsClassifier,
    FeatureSpaceNeighborsRegressor,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelImputer,
    KernelImputerCV,
    KernelKMeans,
    KernelNoveltyDetector,
    KernelPCA,
    KernelProjectionPursuit,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    OrientedKernelPCA,
    PenalizedDiscriminant,
    Renormalized,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
    compress,
)
from preimage.kernels import Gaussian, Linear
from preimage.model_selection import DenoisingSearch, WidthSearch


def public_estimators():
    """The classes with a `fit` that the library exports."""
    modules = [preimage, *(importlib.import_module(f"preimage.{name}") for name in ("estimators", "model_selection"))]
    found = {each for module in modules for each in vars(module).values() if inspect.isclass(each)}
    found = {each for each in found if issubclass(each, BaseEstimator) and hasattr(each, "fit")}
    return sorted(found, key=lambda each: each.__name__)


X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
TWO = Y > 0

# One line for a new estimator; several where a parameter brings parts of its own.
MODELS = {
    "CompressedClassifier": lambda: CompressedClassifier(SVC(), 5).fit(X, Y),
    "CompressedDetector": lambda: CompressedDetector(OneClassSVM(), 5).fit(X),
    "CompressedRegressor": lambda: CompressedRegressor(SVR(), 5).fit(X, Y),
    "CompressedTransformer": lambda: CompressedTransformer(KernelPCA(2), 5).fit(X),
    "compressed pipeline": lambda: compress(
        make_pipeline(StandardScaler(), KernelPCA(5), LogisticRegression()).fit(X, Y), 8, X=X
    ),
    "compressed calibration": lambda: compress(
        CalibratedClassifierCV(SVC(), method="isotonic", ensemble=False).fit(X, Y), 8, X=X
    ),
    "EmpiricalKernelMap": lambda: EmpiricalKernelMap(whiten=True).fit(X),
    "EmpiricalKernelMap with landmarks": lambda: EmpiricalKernelMap(landmarks=8).fit(X),
    "map whitened by data": lambda: EmpiricalKernelMap(landmarks=X[:20], whiten="data").fit(X),
    "FeatureSpaceNeighbors": lambda: FeatureSpaceNeighbors(3).fit(X),
    "neighbors by landmarks": lambda: FeatureSpaceNeighbors(3, kernel="poly", exact=False, landmarks=20).fit(X),
    "FeatureSpaceNeighborsClassifier": lambda: FeatureSpaceNeighborsClassifier(3, kernel="poly").fit(X, Y),
    "FeatureSpaceNeighborsRegressor": lambda: FeatureSpaceNeighborsRegressor(3, weights="distance").fit(X, Y),
    "KernelFisherDiscriminant": lambda: KernelFisherDiscriminant().fit(X, Y),
    "Fisher with landmarks": lambda: KernelFisherDiscriminant(landmarks=20, random_state=0).fit(X, Y),
    "sparse Fisher": lambda: KernelFisherDiscriminant(sparsity=5).fit(X, TWO),
    "KernelFisherDiscriminantCV": lambda: KernelFisherDiscriminantCV().fit(X, Y),
    "Fisher CV with landmarks": lambda: KernelFisherDiscriminantCV(landmarks=20, random_state=0).fit(X, Y),
    "KernelImputer": lambda: KernelImputer().fit(np.where(np.arange(X.size).reshape(X.shape) % 7, X, np.nan)),
    "KernelImputer with landmarks": lambda: KernelImputer(landmarks=20, add_indicator=True).fit(X),
    "KernelImputerCV": lambda: KernelImputerCV(gammas=[0.1], noises=[1e-3, 1e-2]).fit(X),
    "KernelKMeans": lambda: KernelKMeans(3, random_state=0).fit(X),
    "k-means with landmarks": lambda: KernelKMeans(3, landmarks=20, random_state=0).fit(X),
    "KernelNoveltyDetector": lambda: KernelNoveltyDetector(0.1).fit(X),
    "detector with landmarks": lambda: KernelNoveltyDetector(landmarks=20, random_state=0).fit(X),
    "KernelPCA": lambda: KernelPCA(3).fit(X),
    "KernelPCA with landmarks": lambda: KernelPCA(3, landmarks=20, random_state=0).fit(X),
    "KernelPCA of a stream": lambda: KernelPCA(3, landmarks=20, random_state=0).partial_fit(X),
    "KernelPCA with a learned map": lambda: KernelPCA(3, preimage="learned").fit(X),
    "KernelPCA of a sum": lambda: KernelPCA(3, kernel=Gaussian(0.5) + 0.1 * Linear()).fit(X.astype("float32")),
    "KernelProjectionPursuit": lambda: KernelProjectionPursuit(2, n_principal=4).fit(X),
    "OrientedKernelPCA": lambda: OrientedKernelPCA(3).fit(X),
    "PenalizedDiscriminant": lambda: PenalizedDiscriminant().fit(X, Y),
    "Renormalized": lambda: Renormalized(SVC()).fit(X, TWO),
    "renormalized KernelPCA": lambda: Renormalized(KernelPCA(3)).fit(X, TWO),
    "SemiSupervisedKernelPCA": lambda: SemiSupervisedKernelPCA(3).fit(X, Y),
    "SparseGreedyClassifier": lambda: SparseGreedyClassifier().fit(X, Y),
    "SparseGreedyDetector": lambda: SparseGreedyDetector(20).fit(X),
    "SparseGreedyRegressor": lambda: SparseGreedyRegressor().fit(X, Y),
    "machine with automatic landmarks": lambda: SparseGreedyRegressor("auto", refine=1).fit(X, Y),
    "least squares of a stream": lambda: SparseGreedyRegressor(20).partial_fit(X, Y),
    "logistic machine of a stream": lambda: SparseGreedyClassifier(20, loss="logistic").partial_fit(X, Y),
    "logistic machine": lambda: SparseGreedyClassifier(20, loss="logistic").fit(X, Y),
    "support vector machine on landmarks": lambda: SparseGreedyClassifier(20, loss="hinge").fit(X, TWO),
    "squared hinge": lambda: SparseGreedyClassifier(20, loss="squared_hinge", class_weight="balanced").fit(X, Y),
    "regression with widths per column": lambda: SparseGreedyRegressor(20, gamma="relevance").fit(X, Y),
    "robust regression": lambda: SparseGreedyRegressor(20, loss="huber").fit(X, Y),
    "support vector regression on landmarks": lambda: SparseGreedyRegressor(20, loss="epsilon_insensitive").fit(X, Y),
    "quantile regression": lambda: SparseGreedyRegressor(20, loss="quantile", quantile=0.9, alpha="loo").fit(X, Y),
    "SparseKernelFeatureAnalysis": lambda: SparseKernelFeatureAnalysis(9).fit(X),
    "LinearProgrammingClassifier": lambda: LinearProgrammingClassifier(20).fit(X, Y),
    "LinearProgrammingRegressor": lambda: LinearProgrammingRegressor(20, max_gap=0.1).fit(X, Y),
    "DenoisingSearch": lambda: DenoisingSearch(n_components=[2, 3]).fit(X),
    "WidthSearch": lambda: WidthSearch().fit(X, Y),
}


@cache
def fitted(name):
    """One of these models, fitted once for all tests that only ask it."""
    return MODELS[name]()


METHODS = ("predict", "decision_function", "predict_proba", "transform", "denoise", "score_samples", "kneighbors")


def answers(model, inputs=X):
    """What a fitted model says of a few and of many rows, which may be computed in different ways."""
    rows = [inputs[:3], inputs]
    found = {(name, len(some)): getattr(model, name)(some) for name in METHODS if hasattr(model, name) for some in rows}
    if hasattr(model, "predict_interval") and hasattr(model, "noise_variance_"):
        found |= {("predict_interval", len(some)): model.predict_interval(some) for some in rows}
    if hasattr(model, "inverse_transform"):
        found["inverse_transform"] = model.inverse_transform(model.transform(inputs[:3]))
    return found
