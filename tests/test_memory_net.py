"""Nothing allocates beyond `max_memory`, or half of the free memory where that is left out, by any estimator or route.

NumPy reports its arrays to `tracemalloc`. There are so many points that their Gram matrix, or the kernel values of all
queries and all points, exceed what is allowed; an estimator that needs more than that may refuse to fit, if its message
says that memory is why. One thread: each further one has small work arrays of its own.
"""

import importlib
import inspect
import os
import tracemalloc
import warnings

import numpy as np
import pytest
from all_estimators import public_estimators
from sklearn.datasets import make_blobs
from sklearn.svm import SVC, SVR, OneClassSVM
from threadpoolctl import threadpool_limits

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
)
from preimage.kernels import Gaussian, Iterated
from preimage.landmarks import KMeans, PivotedCholesky, SparseGreedy
from preimage.model_selection import DenoisingSearch, WidthSearch
from preimage.solvers import (
    ConformalMap,
    DistanceConstraint,
    FixedPoint,
    Gradient,
    LearnedMap,
    Mixtures,
    MultiStart,
    NearestRow,
    Parametrized,
    SparsePath,
    WeightedMean,
)

# Points, queries and bytes allowed; `benchmarks/faults/peak_memory.py` asks for more of each.
N_POINTS, N_QUERIES, BUDGET = map(int, os.environ.get("PREIMAGE_MEMORY_NET", "4000 3000 16000000").split())
# Work arrays that are never refused, whatever the budget: bases of eigensolvers and blocks of kernel values.
ROOM_FOR_WORK = 64 * 2**20
GAMMA = 0.01

X, CLASSES = make_blobs(N_POINTS, 8, centers=6, cluster_std=3.0, random_state=0)
QUERIES = X[:N_QUERIES] + 0.01
# Random labels, which make nearly all points support vectors.
COIN = np.random.default_rng(0).integers(2, size=N_POINTS)
TARGETS = np.random.default_rng(1).normal(size=N_POINTS)
HOLES = np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X)
SOME_LABELS = np.where(np.arange(N_POINTS) % 10 == 0, CLASSES, -1)


def test_one_array_too_many_would_be_noticed():
    assert 8 * N_POINTS**2 > BUDGET + ROOM_FOR_WORK
    assert 8 * N_POINTS * N_QUERIES > BUDGET + ROOM_FOR_WORK


def peak(function):
    """The largest number of bytes held during a call beyond those held before it, without those of its result."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tracemalloc.start()
        try:
            result = function()
            return tracemalloc.get_traced_memory()[1] - _size(result)
        finally:
            tracemalloc.stop()


def _size(result):
    return result.nbytes if isinstance(result, np.ndarray) else 0


def refuses(error):
    """Whether an error says that memory is why."""
    return isinstance(error, (MemoryError, ValueError)) and ("memory" in str(error) or " GB" in str(error))


def kernel_pca(**options):
    return KernelPCA(4, gamma=GAMMA, max_memory=BUDGET, random_state=0, **options)


def exact(preimage):
    return kernel_pca(landmarks=None, preimage=preimage)


# For each route: how the estimator is made, what it is fitted to, and what is asked of it afterwards. Iterations are
# cut short, as memory does not grow with their number.
INVERSE = ("inverse_transform",)
ROUTES = {
    "KernelPCA, exact": (lambda: exact(FixedPoint(max_iter=2)), (X,), ("transform", "score_samples", *INVERSE)),
    "KernelPCA, landmarks": (
        lambda: kernel_pca(landmarks=200, preimage=FixedPoint(max_iter=2)),
        (X,),
        ("transform", *INVERSE),
    ),
    "KernelPCA, all defaults": (lambda: KernelPCA(4), (X,), ("transform", *INVERSE)),
    "KernelPCA, fraction": (
        lambda: KernelPCA(0.6, gamma=GAMMA, max_memory=BUDGET, landmarks=None),
        (X,),
        ("transform",),
    ),
    "KernelPCA, k-means landmarks": (lambda: kernel_pca(landmarks=KMeans(100)), (X,), ()),
    "KernelPCA, greedy landmarks": (lambda: kernel_pca(landmarks=SparseGreedy(100)), (X,), ()),
    "KernelPCA, pivoted landmarks": (lambda: kernel_pca(landmarks=PivotedCholesky(100)), (X,), ()),
    "KernelPCA, denoise": (lambda: exact(FixedPoint(max_iter=2)), (X,), ("denoise",)),
    "KernelPCA, Gradient": (lambda: exact(Gradient(max_iter=2)), (X,), INVERSE),
    "KernelPCA, MultiStart": (lambda: exact(MultiStart(FixedPoint(max_iter=2))), (X,), INVERSE),
    "KernelPCA, LearnedMap": (lambda: exact(LearnedMap()), (X,), INVERSE),
    "KernelPCA, WeightedMean": (lambda: exact(WeightedMean()), (X,), INVERSE),
    "KernelPCA, DistanceConstraint": (lambda: exact(DistanceConstraint()), (X,), INVERSE),
    "KernelPCA, ConformalMap": (lambda: exact(ConformalMap()), (X,), INVERSE),
    "KernelPCA, NearestRow": (lambda: exact(NearestRow()), (X,), INVERSE),
    "KernelPCA, Parametrized": (
        lambda: exact(Parametrized(Mixtures(np.array(X[:5])), max_iter=2)),
        (X,),
        ("inverse_transform of few",),
    ),
    "KernelPCA, SparsePath": (lambda: exact(SparsePath()), (X,), ("inverse_transform of few",)),
    "KernelPCA, Iterated": (
        lambda: KernelPCA(4, kernel=Iterated(Gaussian(GAMMA)), max_memory=BUDGET, landmarks=None),
        (X,),
        ("transform", "inverse_transform of few"),
    ),
    "KernelFisherDiscriminant, exact": (
        lambda: KernelFisherDiscriminant(gamma=GAMMA, max_memory=BUDGET, landmarks=None),
        (X, CLASSES),
        (),
    ),
    "KernelFisherDiscriminant, landmarks": (
        lambda: KernelFisherDiscriminant(gamma=GAMMA, max_memory=BUDGET, landmarks=200),
        (X, CLASSES),
        ("transform", "predict"),
    ),
    "KernelFisherDiscriminant, width": (
        lambda: KernelFisherDiscriminant(gamma="enclosing_ball", max_memory=BUDGET, landmarks=200),
        (X, CLASSES),
        (),
    ),
    "KernelFisherDiscriminantCV, landmarks": (
        lambda: KernelFisherDiscriminantCV(max_memory=BUDGET, landmarks=100, cv=2),
        (X, CLASSES),
        ("predict",),
    ),
    "KernelFisherDiscriminantCV, exact": (lambda: KernelFisherDiscriminantCV(max_memory=BUDGET), (X, CLASSES), ()),
    "KernelImputer, exact": (
        lambda: KernelImputer(4, gamma=GAMMA, landmarks=None, scale=False, max_memory=BUDGET),
        (X,),
        ("transform",),
    ),
    "KernelImputer, incomplete rows": (
        lambda: KernelImputer(4, gamma=GAMMA, landmarks=200, max_iter=1, max_memory=BUDGET),
        (HOLES,),
        ("transform",),
    ),
    "KernelKMeans, exact": (
        lambda: KernelKMeans(6, gamma=GAMMA, n_init=1, max_memory=BUDGET, landmarks=None, random_state=0),
        (X,),
        ("predict", "transform"),
    ),
    "KernelKMeans, landmarks": (
        lambda: KernelKMeans(6, gamma=GAMMA, n_init=1, max_memory=BUDGET, landmarks=200, random_state=0),
        (X,),
        ("predict",),
    ),
    "KernelNoveltyDetector, exact": (
        lambda: KernelNoveltyDetector(gamma=GAMMA, max_memory=BUDGET),
        (X,),
        ("score_samples",),
    ),
    "KernelNoveltyDetector, landmarks": (
        lambda: KernelNoveltyDetector(gamma=GAMMA, max_memory=BUDGET, landmarks=200),
        (X,),
        ("score_samples",),
    ),
    "EmpiricalKernelMap": (lambda: EmpiricalKernelMap(gamma=GAMMA), (X,), ()),
    "EmpiricalKernelMap, whitened": (lambda: EmpiricalKernelMap(gamma=GAMMA, whiten=True), (X,), ()),
    "EmpiricalKernelMap, by data": (
        lambda: EmpiricalKernelMap(gamma=GAMMA, whiten="data", landmarks=X[:100]),
        (X,),
        ("transform",),
    ),
    "EmpiricalKernelMap, points": (
        lambda: EmpiricalKernelMap(gamma=GAMMA, whiten=True, landmarks=X[:100]),
        (X,),
        ("transform",),
    ),
    "KernelProjectionPursuit, exact": (lambda: KernelProjectionPursuit(2, gamma=GAMMA), (X,), ("transform",)),
    "KernelProjectionPursuit, landmarks": (
        lambda: KernelProjectionPursuit(2, gamma=GAMMA, landmarks=100, preimage=FixedPoint(max_iter=2)),
        (X,),
        ("transform", *INVERSE),
    ),
    "OrientedKernelPCA, exact": (lambda: OrientedKernelPCA(3, gamma=GAMMA), (X,), ("transform",)),
    "OrientedKernelPCA, landmarks": (
        lambda: OrientedKernelPCA(3, gamma=GAMMA, landmarks=100),
        (X,),
        ("transform",),
    ),
    "PenalizedDiscriminant": (PenalizedDiscriminant, (X, CLASSES), ("transform", "predict")),
    "SemiSupervisedKernelPCA, exact": (
        lambda: SemiSupervisedKernelPCA(2, gamma=GAMMA, preimage=FixedPoint(max_iter=2)),
        (X, SOME_LABELS),
        ("transform", *INVERSE),
    ),
    "SemiSupervisedKernelPCA, landmarks": (
        lambda: SemiSupervisedKernelPCA(2, gamma=GAMMA, landmarks=100, preimage=FixedPoint(max_iter=2)),
        (X, SOME_LABELS),
        ("transform", *INVERSE),
    ),
    "SparseGreedyClassifier": (lambda: SparseGreedyClassifier(gamma=GAMMA), (X, CLASSES), ("predict",)),
    "SparseKernelFeatureAnalysis": (
        lambda: SparseKernelFeatureAnalysis(50, gamma=GAMMA),
        (X,),
        ("transform",),
    ),
    "LinearProgrammingClassifier": (lambda: LinearProgrammingClassifier(gamma=GAMMA), (X, CLASSES), ("predict",)),
    "LinearProgrammingRegressor": (lambda: LinearProgrammingRegressor(gamma=GAMMA), (X, TARGETS), ("predict",)),
    "SparseGreedyDetector": (lambda: SparseGreedyDetector(gamma=GAMMA, max_memory="1MB"), (X,), ("predict",)),
    "SparseGreedyRegressor": (
        lambda: SparseGreedyRegressor(gamma=GAMMA),
        (X, TARGETS),
        ("predict", "predict_interval"),
    ),
    "logistic machine": (
        lambda: SparseGreedyClassifier(gamma=GAMMA, loss="logistic", max_memory="1MB"),
        (X, COIN),
        ("predict_proba",),
    ),
    "support vector machine on landmarks": (
        lambda: SparseGreedyClassifier(gamma=GAMMA, loss="hinge", max_memory="1MB"),
        (X, COIN),
        ("predict",),
    ),
    "CompressedClassifier": (lambda: CompressedClassifier(SVC(gamma=GAMMA), 3), (X, COIN), ("predict",)),
    "CompressedRegressor": (lambda: CompressedRegressor(SVR(gamma=GAMMA), 3), (X, TARGETS), ("predict",)),
    "CompressedDetector": (lambda: CompressedDetector(OneClassSVM(gamma=GAMMA), 3), (X,), ("predict",)),
    "CompressedTransformer": (lambda: CompressedTransformer(kernel_pca(landmarks=None), 3), (X,), ("transform",)),
    "Renormalized, SVC": (lambda: Renormalized(SVC(gamma=GAMMA), cv=2), (X, COIN), ("predict",)),
    "Renormalized, KernelPCA": (lambda: Renormalized(kernel_pca(landmarks=None), cv=2), (X,), ("transform",)),
    "DenoisingSearch": (
        lambda: DenoisingSearch(added_noise=0.3, gammas=[GAMMA], n_components=[2, 4], penalties=[0.0]),
        (X,),
        ("denoise",),
    ),
    "KernelImputer": (lambda: KernelImputer(4, gamma=GAMMA, max_memory=BUDGET), (X,), ("transform",)),
    "KernelImputerCV": (
        lambda: KernelImputerCV(gammas=[GAMMA], noises=[1e-2], cv=2, max_memory=BUDGET),
        (X,),
        ("transform",),
    ),
    "FeatureSpaceNeighbors": (lambda: FeatureSpaceNeighbors(gamma=GAMMA, max_memory=BUDGET), (X,), ("kneighbors",)),
    "FeatureSpaceNeighbors, blocks": (
        lambda: FeatureSpaceNeighbors(kernel="poly", exact=True, max_memory=BUDGET),
        (X,),
        ("kneighbors",),
    ),
    "FeatureSpaceNeighbors, landmarks": (
        lambda: FeatureSpaceNeighbors(kernel="poly", exact=False, max_memory=BUDGET),
        (X,),
        ("kneighbors",),
    ),
    "FeatureSpaceNeighborsClassifier": (lambda: FeatureSpaceNeighborsClassifier(), (X, CLASSES), ("predict",)),
    "FeatureSpaceNeighborsRegressor": (lambda: FeatureSpaceNeighborsRegressor(), (X, TARGETS), ("predict",)),
    "WidthSearch": (WidthSearch, (X, CLASSES), ()),
}


def test_every_estimator_is_here():
    named = {route.partition(",")[0] for route in ROUTES}
    assert {each.__name__ for each in public_estimators()} <= named


def test_every_preimage_solver_is_here():
    """Those that a model may have; the exact inverse needs as many components as columns, "auto" takes one of these."""
    solvers = importlib.import_module("preimage.solvers")
    public = {each for each in vars(solvers).values() if inspect.isclass(each) and issubclass(each, solvers.Preimage)}
    named = {solvers.FixedPoint, *(getattr(solvers, route.partition(", ")[2], None) for route in ROUTES)}
    assert {each for each in public if not inspect.isabstract(each)} - named <= {solvers.Auto, solvers.ExactInverse}


@pytest.mark.net
@pytest.mark.parametrize("route", ROUTES)
def test_memory_stays_within_the_budget(route, monkeypatch):
    # Where `max_memory` is left out, or a class does not have it, the budget is half of what is free.
    monkeypatch.setattr(preimage._engine.memory, "_free_host_memory", lambda: 2 * BUDGET)
    make, data, methods = ROUTES[route]
    model, allowed = make(), BUDGET + ROOM_FOR_WORK
    try:
        taken = {"fit": peak(lambda: model.fit(*data))}
    except (MemoryError, ValueError) as error:
        if not refuses(error):
            raise
        return
    for method in methods:
        taken[method] = peak(asked(model, method))
    beyond = {method: f"{size / 1e6:.0f} MB" for method, size in taken.items() if size > allowed}
    assert not beyond, f"allowed are {allowed / 1e6:.0f} MB"


def asked(model, method):
    """A call of a method with the queries; pre-images are those of coordinates that exist already."""
    name, _, few = method.partition(" of ")
    queries = QUERIES[:60] if few else QUERIES
    argument = model.transform(queries) if name == "inverse_transform" else queries
    return lambda: getattr(model, name)(argument)
