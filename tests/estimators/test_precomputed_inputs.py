"""Kernel matrices as input: sparse ones, and in single precision, on every route."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from preimage import (
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelPCA,
    KernelProjectionPursuit,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
)
from preimage.kernels import Gaussian

ESTIMATORS = [
    KernelPCA(3, kernel="precomputed"),
    KernelPCA(3, kernel="precomputed", landmarks=15),
    SemiSupervisedKernelPCA(2, kernel="precomputed"),
    KernelFisherDiscriminant(kernel="precomputed", alpha=0.1),
    KernelFisherDiscriminant(kernel="precomputed", alpha=0.1, landmarks=15),
    KernelFisherDiscriminantCV(kernel="precomputed"),
    KernelKMeans(3, kernel="precomputed", random_state=0),
    KernelKMeans(3, kernel="precomputed", landmarks=15, random_state=0),
    SparseGreedyRegressor(10, kernel="precomputed"),
    SparseGreedyClassifier(10, kernel="precomputed"),
    SparseGreedyDetector(10, kernel="precomputed"),
    KernelProjectionPursuit(2, kernel="precomputed", n_principal=3),
    LinearProgrammingClassifier(10, kernel="precomputed"),
    LinearProgrammingRegressor(10, kernel="precomputed", max_gap=0.1),
    SparseKernelFeatureAnalysis(10, kernel="precomputed"),
    EmpiricalKernelMap("precomputed"),
    EmpiricalKernelMap("precomputed", whiten=True),
]


def problem(rng):
    X = rng.normal(size=(40, 3))
    return Gaussian(0.5)(X), Gaussian(0.5)(rng.normal(size=(7, 3)), X), (X[:, 0] > 0).astype(int)


def outputs(model, K):
    names = ("predict",) if isinstance(model, KernelKMeans) else ("transform", "predict", "decision_function")
    return [getattr(model, name)(K) for name in names if hasattr(model, name)]


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: str(estimator)[:60])
def test_sparse_matrices_are_matrices(estimator, make, rng):
    K, new, y = problem(rng)
    dense, thin = clone(estimator).fit(K, y), clone(estimator).fit(make(K), y)
    for expected, given in ((outputs(dense, new), new), (outputs(dense, K), K)):
        for model, matrix in ((thin, make(given)), (thin, given), (dense, make(given))):
            for ours, theirs in zip(outputs(model, matrix), expected, strict=True):
                assert_allclose(ours, theirs, atol=1e-10)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: str(estimator)[:60])
def test_single_precision_stays(estimator, rng):
    K, new, y = problem(rng)
    model = clone(estimator).fit(K.astype(np.float32), y.astype(np.float32))
    for values in outputs(model, new.astype(np.float32)):
        assert values.dtype.kind != "f" or values.dtype == np.float32
    for name in ("eigenvalues_", "explained_variance_", "intercept_"):
        values = getattr(model, name, None)
        assert getattr(values, "dtype", np.float32) == np.float32, name
