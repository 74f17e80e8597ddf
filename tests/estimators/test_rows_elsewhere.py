"""Estimators on landmarks read Dask arrays and memory maps block by block: nobody holds all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from preimage import SparseGreedyClassifier, SparseGreedyRegressor
from preimage.landmarks import SparseGreedy

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

N, CHUNK = 3000, 500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
NUMBERS = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=N)
CLASSES = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])]
# Landmarks among 300 rows, wherever these are.
FEW = SparseGreedy(25, sample_size=300)

MODELS = {
    "regressor": (SparseGreedyRegressor(FEW, gamma=0.5, alpha="loo"), (NUMBERS,)),
    "several targets": (SparseGreedyRegressor(FEW, gamma=0.5), (np.stack([NUMBERS, X[:, 1]], axis=1),)),
    "classifier": (SparseGreedyClassifier(FEW, gamma=0.5), (CLASSES,)),
}


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def on_disk(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


class Guarded:
    """An array for Dask that refuses to be read as a whole."""

    shape, dtype, ndim = X.shape, X.dtype, 2

    def __init__(self):
        self.most = 0

    def __getitem__(self, key):
        found = X[key]
        self.most = max(self.most, len(found))
        assert len(found) <= CHUNK
        return found


def answer(model, rows):
    """Coordinates or predictions in memory."""
    found = model.transform(rows) if hasattr(model, "transform") else model.predict(rows)
    return np.asarray(found.compute() if hasattr(found, "compute") else found)


def assert_same(found, expected, tol=1e-6):
    if found.dtype.kind == "f":
        assert_allclose(found, expected, atol=tol * np.abs(expected).max())
    else:
        assert_array_equal(found, expected)


@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_rows_in_memory(name, on_disk):
    model, targets = MODELS[name]
    expected = answer(clone(model).fit(X, *targets), X)
    for rows in (on_disk, da.from_array(X, chunks=(CHUNK, 3)), da.from_array(X, chunks=(700, 2))):
        fitted = clone(model).fit(rows, *targets)
        assert_same(answer(fitted, X), expected)
        assert_same(answer(fitted, rows), expected)


@pytest.mark.parametrize("name", MODELS)
def test_no_pass_holds_all_rows(name, monkeypatch):
    model, targets = MODELS[name]
    source = Guarded()
    rows = da.from_array(source, chunks=(CHUNK, 3), asarray=False)

    def refuse(self, *arguments, **options):
        raise AssertionError("all rows were asked for")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    fitted = clone(model).fit(rows, *targets)
    assert source.most == CHUNK
    call = fitted.transform if hasattr(fitted, "transform") else fitted.predict
    assert hasattr(call(rows), "dask")  # nothing is computed yet


@pytest.mark.parametrize("name", MODELS)
def test_weights_count_like_repetitions(name, rng):
    model, targets = MODELS[name]
    weights = rng.integers(1, 4, size=N).astype(float)
    expected = answer(clone(model).fit(X, *targets, sample_weight=weights), X)
    lazy = clone(model).fit(
        da.from_array(X, chunks=(CHUNK, 3)), *targets, sample_weight=da.from_array(weights, chunks=CHUNK)
    )
    assert_same(answer(lazy, X), expected)


@pytest.mark.parametrize("name", MODELS)
def test_single_precision_stays(name):
    model, targets = MODELS[name]
    rows = da.from_array(X.astype(np.float32), chunks=(CHUNK, 3))
    fitted = clone(model).fit(rows, *targets)
    found = answer(fitted, rows)
    if found.dtype.kind == "f":
        assert found.dtype == np.float32
        assert_allclose(found, answer(clone(model).fit(X, *targets), X), atol=0.02)


@pytest.mark.parametrize("name", MODELS)
def test_a_late_nan_is_refused(name):
    model, targets = MODELS[name]
    spoilt = X.copy()
    spoilt[-1, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(da.from_array(spoilt, chunks=(CHUNK, 3)), *targets)
