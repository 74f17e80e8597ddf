"""What a fitted model keeps is its own: arrays that a user writes into afterwards do not change it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from preimage import (
    EmpiricalKernelMap,
    FeatureSpaceNeighborsClassifier,
    FeatureSpaceNeighborsRegressor,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelNoveltyDetector,
    KernelPCA,
    KernelProjectionPursuit,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    OrientedKernelPCA,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
)
from preimage.kernels import Gaussian, Iterated, Linear, MappedInputs, Warped

KEEPERS = [
    Iterated(Gaussian(0.5)),
    Warped(Gaussian(0.5)),
    Gaussian(0.5) + Iterated(Linear()),
    MappedInputs(Iterated(Gaussian(0.5)), np.eye(3)),
]
ESTIMATORS = [
    KernelPCA(3),
    KernelPCA(3, landmarks=15),
    OrientedKernelPCA(2),
    OrientedKernelPCA(2, landmarks=15),
    SemiSupervisedKernelPCA(2),
    KernelFisherDiscriminant(alpha=0.1),
    KernelFisherDiscriminant(alpha=0.1, landmarks=15),
    KernelFisherDiscriminantCV(),
    KernelKMeans(3, random_state=0),
    KernelKMeans(3, landmarks=15, random_state=0),
    KernelNoveltyDetector(0.1),
    KernelNoveltyDetector(landmarks=15),
    SparseGreedyRegressor(10),
    SparseGreedyClassifier(10),
    SparseGreedyDetector(10),
    KernelProjectionPursuit(2),
    LinearProgrammingClassifier(10),
    LinearProgrammingRegressor(10, max_gap=0.1),
    SparseKernelFeatureAnalysis(10),
    EmpiricalKernelMap(),
    EmpiricalKernelMap(whiten=True),
    FeatureSpaceNeighborsClassifier(),
    FeatureSpaceNeighborsRegressor(exact=False, landmarks=10),
]


def outputs(model, Z):
    names = ("transform", "predict", "decision_function", "reconstruction_error")
    return [np.asarray(getattr(model, name)(Z)) for name in names if hasattr(model, name)]


@pytest.mark.parametrize("kernel", [*KEEPERS, Gaussian(0.5)], ids=lambda kernel: str(kernel)[:40])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: str(estimator)[:60])
@pytest.mark.filterwarnings("ignore")
def test_models_do_not_share_the_users_data(estimator, kernel, rng):
    X, Z = rng.normal(size=(40, 3)), rng.normal(size=(7, 3))
    model = clone(estimator).set_params(kernel=kernel).fit(X, (X[:, 0] > 0).astype(int))
    before = outputs(model, Z)
    X[...] = rng.normal(size=X.shape)
    for mine, now in zip(before, outputs(model, Z), strict=True):
        assert_array_equal(now, mine)


def test_empirical_maps_do_not_share_the_users_points(rng):
    X, points, Z = rng.normal(size=(20, 3)), rng.normal(size=(5, 3)), rng.normal(size=(7, 3))
    model = EmpiricalKernelMap(gamma=0.5, landmarks=points).fit(X)
    before = model.transform(Z)
    points[...] = 0
    assert_array_equal(model.transform(Z), before)


@pytest.mark.parametrize("kernel", KEEPERS, ids=lambda kernel: str(kernel)[:40])
def test_kernels_that_keep_data_say_that_they_wait_for_them(kernel, rng):
    X = rng.normal(size=(10, 3))
    assert kernel.keeps_data and not kernel.is_resolved
    resolved = kernel.resolve(X)
    assert resolved.is_resolved and not resolved.keeps_data
    with pytest.raises(ValueError, match=r"finds (points|reference) from data"):
        kernel(X)


@pytest.mark.parametrize("kernel", KEEPERS, ids=lambda kernel: str(kernel)[:40])
def test_kernels_that_keep_data_see_all_rows_of_a_dask_array(kernel, rng):
    da = pytest.importorskip("dask.array")
    X = rng.normal(size=(60, 3))
    here = KernelPCA(3, kernel=kernel, landmarks=60, random_state=0).fit(X)
    there = KernelPCA(3, kernel=kernel, landmarks=60, random_state=0).fit(da.from_array(X, chunks=(25, 3)))
    assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-6)
    exact = KernelPCA(3, kernel=kernel).fit(X)
    assert_allclose(there.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
