"""Estimators that take arrays of other libraries say so in their tags."""

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from preimage import (
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
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
)
from preimage._engine.arrays import is_foreign, to_numpy

ESTIMATORS = [
    KernelPCA(3, gamma=0.5),
    KernelPCA(3, gamma=0.5, landmarks=15, random_state=0),
    OrientedKernelPCA(2, gamma=0.5, random_state=0),
    SemiSupervisedKernelPCA(2, gamma=0.5),
    KernelFisherDiscriminant(gamma=0.5, alpha=0.1),
    KernelFisherDiscriminantCV(gammas=[0.5]),
    KernelKMeans(3, gamma=0.5, random_state=0),
    KernelNoveltyDetector(0.1, gamma=0.5),
    SparseGreedyRegressor(10, gamma=0.5, random_state=0),
    KernelProjectionPursuit(2, gamma=0.5, n_principal=3),
    LinearProgrammingRegressor(10, gamma=0.5, max_gap=0.3),
    LinearProgrammingClassifier(10, gamma=0.5),
    SparseKernelFeatureAnalysis(10, gamma=0.5),
    SparseGreedyClassifier(10, gamma=0.5, random_state=0),
    SparseGreedyDetector(10, gamma=0.5, random_state=0),
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


@pytest.mark.parametrize(
    "estimator", [each for each in ESTIMATORS if hasattr(each, "predict")], ids=lambda e: str(e)[:50]
)
def test_labels_are_where_the_rows_are(estimator, xp, rng):
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    here, there = clone(estimator).fit(X, y), clone(estimator).fit(xp.asarray(X), xp.asarray(y, dtype=int))
    found, expected = there.predict(xp.asarray(X)), here.predict(X)
    assert is_foreign(found) == is_foreign(xp.asarray(X))
    assert to_numpy(found).dtype == expected.dtype
    assert_allclose(to_numpy(found), expected, atol=1e-6)
    if hasattr(here, "score"):  # detectors have none
        assert there.score(xp.asarray(X), xp.asarray(y, dtype=int)) == pytest.approx(here.score(X, y))


@pytest.mark.parametrize(
    "estimator", [each for each in ESTIMATORS if is_classifier(each)], ids=lambda estimator: type(estimator).__name__
)
def test_labels_that_are_text_are_numpy_everywhere(estimator, xp, rng):
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = clone(estimator).fit(xp.asarray(X), y)
    assert set(model.predict(xp.asarray(X))) <= {"yes", "no"}
    assert model.score(xp.asarray(X), y) > 0.8


@pytest.mark.parametrize("answer", ["numpy", "tensor"])
def test_transformations_may_answer_in_numpy(answer, xp, rng):
    X = rng.normal(size=(30, 3))
    function = lambda rows, t: (to_numpy(rows) if answer == "numpy" else rows) * (1 + t)
    model = OrientedKernelPCA(2, gamma=0.5, invariances=function)
    here, there = clone(model).fit(X), clone(model).fit(xp.asarray(X))
    assert_allclose(to_numpy(there.ratios_), here.ratios_, rtol=1e-6)
    assert is_foreign(there.ratios_) == is_foreign(xp.asarray(X))
