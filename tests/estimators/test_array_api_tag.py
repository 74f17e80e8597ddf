"""Estimators that take arrays of other libraries say so in their tags."""

import pytest
import scipy
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.utils import get_tags

from preimage import (
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelPCA,
    KernelProjectionPursuit,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    OrientedKernelPCA,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
)
from preimage._arrays import is_foreign, to_numpy

ESTIMATORS = [
    KernelPCA(3, gamma=0.5),
    KernelPCA(3, gamma=0.5, landmarks=15, random_state=0),
    OrientedKernelPCA(2, gamma=0.5, random_state=0),
    SemiSupervisedKernelPCA(2, gamma=0.5),
    KernelFisherDiscriminant(gamma=0.5, alpha=0.1),
    KernelFisherDiscriminantCV(gammas=[0.5]),
    KernelKMeans(3, gamma=0.5, random_state=0),
    SparseGreedyRegressor(10, gamma=0.5, random_state=0),
    KernelProjectionPursuit(2, gamma=0.5, n_principal=3),
    LinearProgrammingRegressor(10, gamma=0.5, max_gap=0.3),
    LinearProgrammingClassifier(10, gamma=0.5),
    SparseKernelFeatureAnalysis(10, gamma=0.5),
    SparseGreedyClassifier(10, gamma=0.5, random_state=0),
    EmpiricalKernelMap(gamma=0.5, whiten=True),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: str(estimator)[:50])
def test_estimators_that_take_arrays_of_other_libraries_say_so(estimator, xp, rng):
    assert get_tags(estimator).array_api_support == (tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 14))
    X, Z = rng.normal(size=(40, 3)), rng.normal(size=(7, 3))
    y = (X[:, 0] > 0).astype(int)
    here, there = clone(estimator).fit(X, y), clone(estimator).fit(xp.asarray(X), y)
    name = next(name for name in ("transform", "decision_function", "predict") if hasattr(there, name))
    values = getattr(there, name)(xp.asarray(Z))
    assert is_foreign(values) == is_foreign(xp.asarray(Z))
    assert_allclose(to_numpy(values), getattr(here, name)(Z), atol=1e-6)
