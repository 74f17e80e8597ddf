"""Landmarks that are rows have their numbers in `component_indices_`, whatever was left out of a fit."""

import inspect

import numpy as np
import pytest
from all_estimators import MODELS, fitted, public_estimators
from for_each import for_each
from sklearn.datasets import load_iris

import preimage
from preimage._engine.arrays import to_numpy
from preimage.estimators._has_landmarks import HasLandmarks
from preimage.landmarks import KMeans, PivotedCholesky, RandomlyPivotedCholesky, SparseGreedy, Uniform

ROWS, CLASSES = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(ROWS))
ROWS, CLASSES = ROWS[ORDER], CLASSES[ORDER]
SELECTORS = {
    "PivotedCholesky": PivotedCholesky(9),
    "RandomlyPivotedCholesky": RandomlyPivotedCholesky(9, random_state=0),
    "SparseGreedy": SparseGreedy(9, random_state=0),
    "Uniform": Uniform(9, random_state=0),
}
# By their parameters, so that a new estimator is among them. Others that have landmarks keep them in another estimator
# (searches, imputers), or choose them among rows that are not those of X (oriented kernel PCA: also its noise).
ESTIMATORS = [
    each
    for each in public_estimators()
    if issubclass(each, HasLandmarks) and "landmarks" in inspect.signature(each).parameters
]
WITHIN = {"KernelFisherDiscriminantCV", "KernelImputer", "KernelImputerCV", "OrientedKernelPCA"}
# What makes of some estimators one with landmarks.
PARAMETERS = {name: {"exact": False, "kernel": "poly"} for name in dir(preimage) if name.startswith("FeatureSpaceNei")}


def made(cls, landmarks):
    return cls(landmarks=landmarks, **{"gamma": 0.3, **PARAMETERS.get(cls.__name__, {})})


def assert_rows(model, X):
    indices = model.component_indices_
    assert indices.shape == (len(model.landmarks_),) and indices.dtype.kind == "i"
    np.testing.assert_allclose(X[indices], to_numpy(model.landmarks_.points), rtol=1e-6)
    indices[:] = 0
    assert model.component_indices_.any()  # a copy


@for_each("name", SELECTORS)
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_they_are_rows_of_the_training_set(cls, name):
    assert_rows(made(cls, SELECTORS[name]).fit(ROWS, CLASSES), ROWS)
    assert_rows(made(cls, SELECTORS[name]).fit(ROWS.astype(np.float32), CLASSES), ROWS)


@for_each("name", SELECTORS)
@pytest.mark.parametrize(
    "cls", [each for each in ESTIMATORS if "sample_weight" in inspect.signature(each.fit).parameters]
)
def test_they_are_numbers_of_all_rows_where_weights_leave_some_out(cls, name):
    weights = np.tile([0.0, 1.0, 2.0], 50)
    model = made(cls, SELECTORS[name]).fit(ROWS, CLASSES, sample_weight=weights)
    assert_rows(model, ROWS)
    assert weights[model.component_indices_].all()


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_rows_of_dask_and_of_tensors(cls):
    for library in ("dask.array", "torch"):
        module = pytest.importorskip(library)
        rows = module.from_array(ROWS, chunks=40) if library == "dask.array" else module.asarray(ROWS)
        try:
            model = made(cls, SELECTORS["PivotedCholesky"]).fit(rows, CLASSES)
        except TypeError:  # those that need all rows in memory say so, which other laws look at
            continue
        assert_rows(model, ROWS)


def test_centres_and_all_rows_have_none():
    for cls in ESTIMATORS:
        model = made(cls, KMeans(9, random_state=0))
        assert not hasattr(model, "component_indices_")
        model.fit(ROWS, CLASSES)
        with pytest.raises(AttributeError, match=rf"{cls.__name__} has no `component_indices_`.*RandomlyPivoted"):
            model.component_indices_  # noqa: B018
    assert not hasattr(preimage.KernelPCA(2).fit(ROWS), "component_indices_")


def test_landmarks_that_a_stream_has_added_are_no_rows():
    model = preimage.KernelPCA(3, gamma=3.0, landmarks=PivotedCholesky(60)).partial_fit(ROWS[:40])
    assert_rows(model, ROWS[:40])
    model.partial_fit(ROWS[40:])
    assert len(model.landmarks_) > 40
    assert not hasattr(model, "component_indices_")


@for_each("name", MODELS)
def test_every_model_with_landmarks_has_them(name):
    model = fitted(name)
    assert isinstance(model, HasLandmarks) or "landmarks_" not in vars(model)


def test_every_estimator_with_the_parameter_is_here():
    named = {each.__name__ for each in public_estimators() if "landmarks" in inspect.signature(each).parameters}
    assert named == {each.__name__ for each in ESTIMATORS} | WITHIN
