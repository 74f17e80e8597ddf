"""Laws that every estimator keeps on every route. A new estimator joins by one line of `CASES`."""

import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from all_estimators import public_estimators
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

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
)
from preimage._engine.arrays import to_numpy
from preimage.landmarks import Uniform
from preimage.model_selection import DenoisingSearch, WidthSearch


@dataclass(frozen=True)
class Case:
    """An estimator on one route.

    Parameters
    ----------
    estimator
        Unfitted.
    without : set
        Laws that do not apply: "order" where results depend on the order of rows (choices by chance, starts of
        iterations), "translation" where the kernel is not one of distances, "torch" where tensors are refused (with an
        error that says so, which is tested), "chunks" where Dask arrays are, "weights" where `fit` takes none.
    float32 : float
        Largest difference between results in single and in double precision, in units of the largest result.
    """

    name: str
    estimator: Any
    without: frozenset = field(default_factory=frozenset)
    float32: float = 2e-3


def case(name, estimator, *without, float32=2e-3):
    return Case(name, estimator, frozenset(without), float32)


LIBSVM = ("order", "weights")
ON_HOST = ("torch", "chunks", "weights")
FOLDED = make_pipeline(StandardScaler(), KernelPCA(4, gamma=0.3), LogisticRegression())
CASES = [
    case("KernelPCA, dense", KernelPCA(4, gamma=0.3)),
    case("KernelPCA, all components", KernelPCA(gamma=0.3)),
    case("KernelPCA, Krylov", KernelPCA(4, gamma=0.3, eigen_solver="block_krylov")),
    case("KernelPCA, ARPACK", KernelPCA(4, gamma=0.3, eigen_solver="arpack"), "torch"),
    case("KernelPCA, small memory", KernelPCA(4, gamma=0.3, max_memory=2000)),
    case("KernelPCA, linear", KernelPCA(2, kernel="linear")),
    case("KernelPCA, polynomial", KernelPCA(3, kernel="poly", degree=2), "translation"),
    case("KernelPCA, landmarks", KernelPCA(4, gamma=0.3, landmarks=Uniform(20, random_state=0)), "order"),
    case("KernelPCA, default landmarks", KernelPCA(4, gamma=0.3, landmarks=20), "order", "translation", float32=2e-2),
    case("OrientedKernelPCA", OrientedKernelPCA(3, gamma=0.3, alpha=0.1)),
    case("SemiSupervisedKernelPCA", SemiSupervisedKernelPCA(3, gamma=0.3)),
    # Imputed rows move with the data; that incomplete rows obey these laws as well is tested with the imputer.
    case("KernelImputer", KernelImputer(), "weights", "translation"),
    case("EmpiricalKernelMap", EmpiricalKernelMap(gamma=0.3), "order", "weights"),
    case(
        "EmpiricalKernelMap, whitened by data",
        EmpiricalKernelMap(gamma=0.3, whiten="data"),
        "order",
        "weights",
        float32=0.3,
    ),
    case("EmpiricalKernelMap, whitened", EmpiricalKernelMap(gamma=0.3, whiten=True), "order", "weights", float32=0.3),
    case("FeatureSpaceNeighbors", FeatureSpaceNeighbors(4, gamma=0.3), *ON_HOST),
    case("FeatureSpaceNeighbors, blocks", FeatureSpaceNeighbors(4, kernel="poly"), *ON_HOST, "translation"),
    case("FeatureSpaceNeighborsClassifier", FeatureSpaceNeighborsClassifier(4, gamma=0.3), *ON_HOST),
    case("FeatureSpaceNeighborsRegressor", FeatureSpaceNeighborsRegressor(4, weights="distance", gamma=0.3), *ON_HOST),
    case("KernelFisherDiscriminant", KernelFisherDiscriminant(gamma=0.3)),
    case("KernelFisherDiscriminant, landmarks", KernelFisherDiscriminant(gamma=0.3, landmarks=Uniform(20)), "order"),
    case("KernelFisherDiscriminantCV", KernelFisherDiscriminantCV(), "order", float32=0.05),
    case("PenalizedDiscriminant", PenalizedDiscriminant(1.0)),
    case("KernelKMeans", KernelKMeans(3, gamma=0.3, random_state=0), "order"),
    case("KernelNoveltyDetector", KernelNoveltyDetector(0.1, gamma=0.3)),
    case("SparseGreedyDetector", SparseGreedyDetector(15, gamma=0.3), "order", float32=0.02),
    case("SparseGreedyRegressor", SparseGreedyRegressor(15, gamma=0.3), "order"),
    case("SparseGreedyClassifier", SparseGreedyClassifier(15, gamma=0.3), "order"),
    *[
        case(f"SparseGreedyRegressor, {loss}", SparseGreedyRegressor(15, gamma=0.3, loss=loss), "order", float32=0.02)
        for loss in ("huber", "epsilon_insensitive", "quantile")
    ],
    *[
        case(f"SparseGreedyClassifier, {loss}", SparseGreedyClassifier(15, gamma=0.3, loss=loss), "order", float32=0.02)
        for loss in ("logistic", "hinge", "squared_hinge")
    ],
    case("KernelProjectionPursuit", KernelProjectionPursuit(2, gamma=0.3, n_principal=3, tol=1e-14), float32=0.02),
    case(
        "SparseKernelFeatureAnalysis",
        SparseKernelFeatureAnalysis(9, gamma=0.3, n_candidates=None),
        "weights",
    ),
    case("LinearProgrammingRegressor", LinearProgrammingRegressor(15, gamma=0.3), "order"),
    case("LinearProgrammingClassifier", LinearProgrammingClassifier(15, gamma=0.3), "order"),
    case("Renormalized SVC", Renormalized(SVC(gamma=0.3)), "torch", "order", float32=0.05),
    case("Renormalized KernelPCA", Renormalized(KernelPCA(3, gamma=0.3)), "torch", "order", float32=0.05),
    # Points found by descent from a start by distances: equal up to where descents stop.
    case(
        "CompressedClassifier",
        CompressedClassifier(SVC(gamma=0.3), n_points=10),
        "torch",
        "order",
        "translation",
        float32=0.1,
    ),
    # A pipeline takes weights by the name of a step, or by metadata routing.
    case(
        "CompressedClassifier, folded",
        CompressedClassifier(FOLDED, 40, method="select"),
        "torch",
        "weights",
        float32=0.02,
    ),
    # libsvm stops at a tolerance, which depends on the order of rows and shows in the constants.
    case("CompressedRegressor", CompressedRegressor(SVR(gamma=0.3), 15, method="select"), "torch", *LIBSVM),
    case("CompressedDetector", CompressedDetector(OneClassSVM(gamma=0.3), 15, method="select"), "torch", *LIBSVM),
    case("CompressedTransformer", CompressedTransformer(KernelPCA(3, gamma=0.3), 30, method="select")),
]

parametrized = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    return X, y, rng.normal(size=(17, 3))


def results(model, X):
    """What a fitted estimator says of rows: values where it has them, labels otherwise."""
    for method in ("transform", "decision_function", "predict"):
        if hasattr(model, method):
            return to_numpy(getattr(model, method)(X))
    if hasattr(model, "kneighbors"):
        return model.kneighbors(X)[0]
    raise AssertionError(f"{model} has nothing to say")


def same(A, B, tolerance):
    assert A.shape == B.shape
    assert np.isfinite(A).all()
    # Column by column: components have very different spreads, and the weakest counts as much as the first.
    largest = np.abs(B).max(axis=0) if B.ndim > 1 else np.abs(B).max()
    largest = np.where(largest > 0, largest, 1.0)
    np.testing.assert_allclose(A / largest, B / largest, rtol=0, atol=tolerance)


def requires(case, law):
    if law in case.without:
        pytest.skip(f"no such law for {case.name}")


@parametrized
def test_fit_transform_is_fit_and_transform(case, data):
    X, y, _ = data
    model = clone(case.estimator)
    if not hasattr(model, "fit_transform"):
        pytest.skip("no transformer")
    scores = model.fit_transform(X, y)
    same(np.asarray(scores), results(clone(case.estimator).fit(X, y), X), 1e-8)


@parametrized
def test_rows_one_at_a_time(case, data):
    X, y, queries = data
    model = clone(case.estimator).fit(X, y)
    single = np.concatenate([results(model, row[None]) for row in queries])
    same(single, results(model, queries), 1e-9)


@parametrized
def test_fits_repeat(case, data):
    X, y, queries = data
    first = results(clone(case.estimator).fit(X, y), queries)
    np.testing.assert_array_equal(results(clone(case.estimator).fit(X, y), queries), first)


@parametrized
def test_the_order_of_rows_does_not_matter(case, data):
    requires(case, "order")
    X, y, queries = data
    order = np.random.default_rng(0).permutation(len(X))
    same(
        results(clone(case.estimator).fit(X[order], y[order]), queries),
        results(clone(case.estimator).fit(X, y), queries),
        1e-6,
    )


@parametrized
def test_weights_are_repetitions(case, data):
    requires(case, "weights")
    requires(case, "order")  # choices by chance fall differently among more rows
    X, y, queries = data
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    copies = np.repeat(np.arange(len(X)), weights)
    weighted = clone(case.estimator).fit(X, y, sample_weight=weights)
    same(results(weighted, queries), results(clone(case.estimator).fit(X[copies], y[copies]), queries), 1e-5)


@parametrized
def test_translations_do_not_matter(case, data):
    requires(case, "translation")
    X, y, queries = data
    shift = np.array([100.0, -40.0, 7.0])
    moved = results(clone(case.estimator).fit(X + shift, y), queries + shift)
    same(moved, results(clone(case.estimator).fit(X, y), queries), 1e-5)


@parametrized
def test_the_way_back_moves_with_the_data(case, data):
    requires(case, "translation")
    if not hasattr(case.estimator, "denoise"):
        pytest.skip("no way back")
    X, y, queries = data
    shift = np.array([100.0, -40.0, 7.0])
    here, there = clone(case.estimator).fit(X, y), clone(case.estimator).fit(X + shift, y)
    Y = here.transform(queries)
    same(there.inverse_transform(Y) - shift, here.inverse_transform(Y), 1e-4)
    same(there.denoise(queries + shift) - shift, here.denoise(queries), 1e-3)


@parametrized
def test_single_precision(case, data):
    X, y, queries = data
    double = results(clone(case.estimator).fit(X, y), queries)
    model = clone(case.estimator).fit(X.astype(np.float32), y)
    single = results(model, queries.astype(np.float32))
    if hasattr(model, "transform") and not is_classifier(model) and not is_clusterer(model):
        assert single.dtype == np.float32
    columns = min(double.shape[-1], single.shape[-1]) if double.ndim == 2 else None  # fewer components are determined
    same(single[..., :columns].astype(float), double[..., :columns], case.float32)


@parametrized
def test_tensors(case, data):
    torch = pytest.importorskip("torch")
    X, y, queries = data
    model = clone(case.estimator)
    if "torch" in case.without:
        with pytest.raises((TypeError, ValueError), match=r"NumPy|numpy|array"):
            # At the latest when it is used: scikit-learn's scalers make NumPy arrays of tensors without a word.
            results(model.fit(torch.asarray(X), y), torch.asarray(queries))
        return
    same(
        results(model.fit(torch.asarray(X), y), torch.asarray(queries)), results(clone(model).fit(X, y), queries), 1e-6
    )


@parametrized
def test_pickles(case, data):
    X, y, queries = data
    model = clone(case.estimator).fit(X, y)
    np.testing.assert_array_equal(results(pickle.loads(pickle.dumps(model)), queries), results(model, queries))


@parametrized
def test_models_do_not_share_the_caller_s_memory(case, data):
    X, y, queries = data
    own, labels = X.copy(), y.copy()
    model = clone(case.estimator).fit(own, labels)
    before = results(model, queries)
    own[:] = 0.0
    labels[:] = 0
    np.testing.assert_array_equal(results(model, queries), before)


LANDMARKS = [case for case in CASES if getattr(case.estimator, "landmarks", None) is not None]


@pytest.mark.parametrize("case", LANDMARKS, ids=lambda case: case.name)
def test_chunks_are_the_array(case, data):
    dask = pytest.importorskip("dask.array")
    X, y, queries = data
    if "chunks" in case.without:
        with pytest.raises(TypeError, match="compute"):
            clone(case.estimator).fit(dask.from_array(X, chunks=(23, -1)), y)
        return
    lazy = clone(case.estimator).fit(dask.from_array(X, chunks=(23, -1)), y)
    same(results(lazy, queries), results(clone(case.estimator).fit(X, y), queries), 1e-6)


@pytest.mark.parametrize("case", LANDMARKS, ids=lambda case: case.name)
def test_memory_maps_are_the_array(case, data, tmp_path):
    X, y, queries = data
    np.save(tmp_path / "X.npy", X)
    mapped = clone(case.estimator).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    same(results(mapped, queries), results(clone(case.estimator).fit(X, y), queries), 1e-9)


def test_every_public_estimator_is_a_case():
    searches = {DenoisingSearch, KernelImputerCV, WidthSearch}  # which have the laws of what they search over
    assert {type(case.estimator) for case in CASES} == {*public_estimators()} - searches
