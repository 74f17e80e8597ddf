"""Estimators on landmarks read Dask arrays and memory maps block by block: nobody holds all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from preimage import EmpiricalKernelMap, OrientedKernelPCA, SparseGreedyClassifier, SparseGreedyRegressor
from preimage.landmarks import SparseGreedy

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

N, CHUNK = 3000, 500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
NUMBERS = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=N)
CLASSES = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])]


def shifted(X, t):
    return X + t * np.array([1.0, 0.0, 0.0])


# Landmarks among 300 rows, wherever these are.
FEW = SparseGreedy(25, sample_size=300)

MODELS = {
    "regressor": (SparseGreedyRegressor(FEW, gamma=0.5, alpha="loo"), (NUMBERS,)),
    "several targets": (SparseGreedyRegressor(FEW, gamma=0.5), (np.stack([NUMBERS, X[:, 1]], axis=1),)),
    "classifier": (SparseGreedyClassifier(FEW, gamma=0.5), (CLASSES,)),
    "oriented": (OrientedKernelPCA(2, gamma=0.5, landmarks=FEW, invariances=shifted), ()),
    "map": (EmpiricalKernelMap(gamma=0.5, landmarks=FEW), ()),
    "whitened map": (EmpiricalKernelMap(gamma=0.5, landmarks=FEW, whiten=True), ()),
    "map whitened by data": (EmpiricalKernelMap(gamma=0.5, landmarks=FEW, whiten="data"), ()),
    "map with given points": (EmpiricalKernelMap(gamma="median", landmarks=X[:30]), ()),
    "oriented on given points": (OrientedKernelPCA(2, gamma=0.5, landmarks=X[:30], invariances=[shifted]), ()),
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
    """Coordinates, up to their signs, or predictions in memory."""
    found = model.transform(rows) if hasattr(model, "transform") else model.predict(rows)
    found = np.asarray(found.compute() if hasattr(found, "compute") else found)
    return np.abs(found) if hasattr(model, "transform") else found


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
    assert source.most <= CHUNK
    call = fitted.transform if hasattr(fitted, "transform") else fitted.predict
    assert hasattr(call(rows), "dask")  # nothing is computed yet


@pytest.mark.parametrize("name", [name for name in MODELS if "map" not in name])
def test_weights_count_like_repetitions(name, rng):
    model, targets = MODELS[name]
    weights = rng.integers(1, 4, size=N).astype(float)
    expected = answer(clone(model).fit(X, *targets, sample_weight=weights), X)
    lazy = clone(model).fit(
        da.from_array(X, chunks=(CHUNK, 3)), *targets, sample_weight=da.from_array(weights, chunks=CHUNK)
    )
    assert_same(answer(lazy, X), expected)


@pytest.mark.parametrize("name", [name for name in MODELS if "given points" not in name])  # in double precision
def test_single_precision_stays(name):
    model, targets = MODELS[name]
    rows = da.from_array(X.astype(np.float32), chunks=(CHUNK, 3))
    fitted = clone(model).fit(rows, *targets)
    found = answer(fitted, rows)
    if found.dtype.kind == "f":
        assert found.dtype == np.float32
        expected = answer(clone(model).fit(X, *targets), X)
        assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("name", [name for name in MODELS if "map" not in name or "data" in name])
def test_a_late_nan_is_refused(name):
    model, targets = MODELS[name]
    spoilt = X.copy()
    spoilt[-1, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(da.from_array(spoilt, chunks=(CHUNK, 3)), *targets)


KINDS = {
    "dask": lambda rows, folder, name: da.from_array(rows, chunks=(CHUNK, 3)),
    "memory map": lambda rows, folder, name: stored(rows, folder / name),
    "memory": lambda rows, folder, name: rows,
}


def stored(rows, path):
    np.save(path, rows)
    return np.load(f"{path}.npy", mmap_mode="r")


@pytest.mark.parametrize("signal", ["dask", "memory map"])
@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("noise", ["samples", "partners", "pairs", "all"])
def test_noise_of_oriented_kernel_pca_may_be_elsewhere_too(signal, other, noise, tmp_path, rng):
    """On given points, so that nothing but the way to the rows differs."""
    samples, partners = 0.3 * rng.normal(size=(1200, 3)), X + 0.1 * rng.normal(size=X.shape) * [3, 1, 1]
    weights = rng.integers(0, 3, size=N).astype(float)
    given = {
        "samples": {"noise_samples": samples},
        "partners": {"pairs": partners, "sample_weight": weights},
        "pairs": {"pairs": (X[:900], partners[:900])},
        "all": {"pairs": partners, "noise_samples": samples, "sample_weight": weights},
    }[noise]
    lazily = lambda rows, name: KINDS[other](rows, tmp_path, name)
    lazy = {
        name: value if name == "sample_weight" else lazily(value, name)
        for name, value in given.items()
        if not isinstance(value, tuple)
    }
    lazy |= {
        name: tuple(lazily(each, f"{name}{i}") for i, each in enumerate(value))
        for name, value in given.items()
        if isinstance(value, tuple)
    }
    model = OrientedKernelPCA(3, gamma=0.5, landmarks=X[:25], alpha=0.01)
    expected = clone(model).fit(X, **given)
    found = clone(model).fit(KINDS[signal](X, tmp_path, "X"), **lazy)
    assert_allclose(found.ratios_, expected.ratios_)
    assert_allclose(found.noise_variances_, expected.noise_variances_)
    assert_same(answer(found, X), answer(expected, X))


def test_landmarks_of_oriented_kernel_pca_are_chosen_among_some_rows(monkeypatch, rng):
    """With fewer candidates than rows the features stay those of many landmarks, nearly."""
    from preimage.estimators import _oriented_kernel_pca as module

    partners = X + rng.normal(size=X.shape) * [0.5, 0.01, 0.01]
    model = OrientedKernelPCA(2, gamma=0.1, landmarks=60, alpha=0.01)
    expected = clone(model).fit(X, pairs=partners)
    monkeypatch.setattr(module, "CANDIDATE_ROWS", 400)
    lazily = lambda rows: da.from_array(rows, chunks=(CHUNK, 3))
    found = clone(model).fit(lazily(X), pairs=lazily(partners))
    assert_allclose(found.ratios_, expected.ratios_, rtol=0.02)
    assert_allclose(answer(found, X), answer(expected, X), atol=0.1 * np.abs(answer(expected, X)).max())
    back = found.inverse_transform(found.transform(X[:5]))
    assert back.shape == (5, 3) and np.isfinite(back).all()


def test_partners_must_be_as_many(rng):
    with pytest.raises(ValueError, match="a partner for each row"):
        OrientedKernelPCA(2, landmarks=20).fit(da.from_array(X, chunks=(CHUNK, 3)), pairs=X[:-1])


def test_points_of_maps_are_landmarks():
    model = EmpiricalKernelMap(gamma=0.5, landmarks=40, random_state=1).fit(X)
    assert len(model.landmarks_) == 40 == model.transform(X[:3]).shape[1]
    assert_allclose(model.transform(X[:3]), model.kernel_(X[:3], model.landmarks_.points))
    chosen = EmpiricalKernelMap(gamma=0.5, landmarks=FEW).fit(X)
    assert {tuple(row) for row in chosen.landmarks_.points} <= {tuple(row) for row in X}
    assert chosen.landmarks_.residual_fraction < 0.5
    assert EmpiricalKernelMap(gamma=0.5, landmarks=X[:4]).fit(X).landmarks_ is None
    with pytest.raises(ValueError, match="leave `landmarks` out"):
        EmpiricalKernelMap("precomputed", landmarks=5).fit(X @ X.T)
