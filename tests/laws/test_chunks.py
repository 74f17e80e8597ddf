"""Every estimator on Dask collections, however they are cut: the result in memory, or at once an error that helps."""

import numpy as np
import pytest
from for_each import for_each
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from preimage import (
    CompressedClassifier,
    CompressedTransformer,
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
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
from preimage.model_selection import DenoisingSearch, WidthSearch

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")

ROWS, CLASSES = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(ROWS))[:90]
ROWS, CLASSES = ROWS[ORDER], CLASSES[ORDER]

# Estimators and whether they need classes.
ON_CHUNKS = {
    "KernelPCA": (KernelPCA(3, gamma=0.3), False),
    "KernelPCA, landmarks": (KernelPCA(3, gamma=0.3, landmarks=20, random_state=0), False),
    "KernelPCA, auto": (KernelPCA(3, landmarks="auto", random_state=0), False),
    "KernelFisherDiscriminant, landmarks": (
        KernelFisherDiscriminant(gamma=0.3, landmarks=20, random_state=0),
        True,
    ),
    "KernelKMeans, landmarks": (KernelKMeans(3, gamma=0.3, landmarks=20, random_state=0), False),
    "KernelNoveltyDetector": (KernelNoveltyDetector(gamma=0.3), False),
    "KernelNoveltyDetector, landmarks": (KernelNoveltyDetector(0.1, gamma=0.3, landmarks=20), False),
    "OrientedKernelPCA": (OrientedKernelPCA(2, gamma=0.3), False),
    "OrientedKernelPCA, landmarks": (OrientedKernelPCA(2, gamma=0.3, landmarks=20, random_state=0), False),
    "SemiSupervisedKernelPCA": (SemiSupervisedKernelPCA(2, gamma=0.3), True),
    "EmpiricalKernelMap": (EmpiricalKernelMap(gamma=0.3), False),
    "EmpiricalKernelMap, landmarks": (EmpiricalKernelMap(gamma=0.3, landmarks=20, whiten="data"), False),
    "SparseGreedyRegressor, on landmarks": (SparseGreedyRegressor(20, gamma=0.3, alpha="loo", random_state=0), True),
    "SparseGreedyClassifier, on landmarks": (SparseGreedyClassifier(20, gamma=0.3, random_state=0), True),
    "SparseGreedyDetector, on landmarks": (SparseGreedyDetector(20, gamma=0.3, max_memory=100), False),
    "SparseGreedyClassifier, logistic on landmarks": (
        SparseGreedyClassifier(20, gamma=0.3, loss="logistic", max_memory=100),
        True,
    ),
    "SparseGreedyClassifier, hinge on landmarks": (
        SparseGreedyClassifier(20, gamma=0.3, loss="hinge", alpha="loo"),
        True,
    ),
    "SparseGreedyRegressor, widths per column, on landmarks": (
        SparseGreedyRegressor(20, gamma="relevance", alpha="loo"),
        True,
    ),
    "SparseGreedyRegressor, huber on landmarks": (SparseGreedyRegressor(20, gamma=0.3, loss="huber"), True),
    "SparseGreedyRegressor, quantile on landmarks": (
        SparseGreedyRegressor(20, gamma=0.3, loss="quantile", max_memory=100),
        True,
    ),
    "KernelProjectionPursuit, landmarks": (KernelProjectionPursuit(2, gamma=0.3, n_principal=3, landmarks=20), False),
    "SparseKernelFeatureAnalysis, by landmarks": (SparseKernelFeatureAnalysis(9, gamma=0.3), False),
    "LinearProgrammingClassifier, by landmarks": (LinearProgrammingClassifier(20, gamma=0.3, C=3), True),
    "LinearProgrammingRegressor, by landmarks": (LinearProgrammingRegressor(20, gamma=0.3, max_gap=0.1), True),
    "PenalizedDiscriminant": (PenalizedDiscriminant(), True),
    "Renormalized": (Renormalized(KernelPCA(2, gamma=0.3)), False),
    "Renormalized, classifier": (Renormalized(SVC(gamma=0.3)), True),
    "CompressedClassifier": (CompressedClassifier(SVC(), 5), True),
    "CompressedTransformer": (CompressedTransformer(KernelPCA(2, gamma=0.3), 5), False),
    "DenoisingSearch": (DenoisingSearch(gammas=[0.3], n_components=[2, 3], random_state=0), False),
    "WidthSearch": (WidthSearch(KernelPCA(2), gammas=[0.1, 0.3, 1.0]), True),
}
# Where all rows must be in this process, and nobody brings them unasked: what to do is said.
REFUSED = {
    "KernelFisherDiscriminant": KernelFisherDiscriminant(gamma=0.3),
    "KernelFisherDiscriminantCV": KernelFisherDiscriminantCV(),
    "KernelKMeans": KernelKMeans(3, gamma=0.3),
    "KernelProjectionPursuit": KernelProjectionPursuit(2, gamma=0.3),
}


def cut(array, sizes):
    return da.from_array(array, chunks=(sizes, *[(length,) for length in array.shape[1:]]))


def of_unknown_lengths(array):
    lazy = cut(array, (40, 40, 10))
    lazy._chunks = ((np.nan,) * 3, *lazy.chunks[1:])
    return lazy


def with_an_empty_chunk(array):
    return da.concatenate([cut(array[:40], (40,)), cut(array[:1], (1,))[:0], cut(array[40:], (50,))])


def frame(array):
    if array.ndim == 1:
        return dd.from_pandas(pd.Series(array), npartitions=3)
    return dd.from_pandas(pd.DataFrame(array, columns=list("abcd")), npartitions=3)


CUTS = {
    "unknown lengths": of_unknown_lengths,
    "one row": lambda array: cut(array, (1, 60, 1, 28)),
    "empty": with_an_empty_chunk,
    "columns": lambda array: da.from_array(array, chunks=(30, 2)[: array.ndim]),
    "frame": frame,
}


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def values(model, X):
    """Coordinates up to their signs, decisions or predictions."""
    call = next(getattr(model, name) for name in ("transform", "decision_function", "predict") if hasattr(model, name))
    found = call(X)
    found = np.asarray(found.compute() if hasattr(found, "compute") else found)
    return np.abs(found) if found.dtype.kind == "f" else found


@for_each("cutting", CUTS)
@pytest.mark.parametrize("name", ON_CHUNKS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:X has feature names")
def test_cuts_do_not_matter(name, cutting):
    estimator, has_classes = ON_CHUNKS[name]
    targets = (CLASSES,) if has_classes else ()
    expected = values(clone(estimator).fit(ROWS, *targets), ROWS)
    cut_up = CUTS[cutting]
    model = clone(estimator).fit(cut_up(ROWS), *map(cut_up, targets))
    # Distillation ends after some steps, not at a minimum: rounding (frames are in columns) shows in its result.
    tol = 1e-3 if "Compressed" in name else 1e-6
    np.testing.assert_allclose(values(model, cut_up(ROWS)), expected, rtol=tol, atol=tol * np.abs(expected).max())


@for_each("name", [*ON_CHUNKS, *REFUSED])
def test_a_late_nan_is_refused(name):
    estimator, has_classes = ON_CHUNKS[name] if name in ON_CHUNKS else (REFUSED[name], True)
    X = ROWS.copy()
    X[-1, 2] = np.nan
    targets = (cut(CLASSES, (60, 30)),) if has_classes else ()
    with pytest.raises((ValueError, TypeError), match=r"NaN|in memory"):
        clone(estimator).fit(cut(X, (60, 30)), *targets)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_to_do(name):
    with pytest.raises(TypeError, match=r"landmarks=|X\.compute\(\)"):
        clone(REFUSED[name]).fit(cut(ROWS, (60, 30)), cut(CLASSES, (60, 30)))


@pytest.mark.parametrize("name", [name for name in ON_CHUNKS if "landmarks" not in name and "auto" not in name])
def test_rows_that_would_not_fit_do_not_come(name):
    """Two terabytes, of which no chunk may be computed."""
    estimator, has_classes = ON_CHUNKS[name]

    def computed(block):
        if block.size:
            raise AssertionError("computed a chunk")
        return block

    X = da.zeros((2**36, 4), chunks=(2**26, 4), dtype=float).map_blocks(computed, dtype=float, meta=np.empty((0, 4)))
    targets = (np.zeros(4, dtype=int),) if has_classes else ()
    with pytest.raises(ValueError, match=r"GB|landmarks"):
        clone(estimator).fit(X, *targets)
