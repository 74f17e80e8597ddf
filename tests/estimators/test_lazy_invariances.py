"""Known invariances of discriminants on rows that are not in memory: memory maps, Dask arrays and streams."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_digits

from preimage import KernelFisherDiscriminant
from preimage.invariances import Rotate, TangentCovariance, TranslateX

da = pytest.importorskip("dask.array")

X, y = load_digits(n_class=4, return_X_y=True)
X, y = X[:240] / 16, y[:240]
SHAPE = (8, 8)


INVARIANCES = {
    "list": [TranslateX(SHAPE), Rotate(SHAPE)],
    "analytic": TangentCovariance([TranslateX(SHAPE)], method="analytic"),
}


def on_disk(rows, folder):
    np.save(folder / "rows.npy", rows)
    return np.load(folder / "rows.npy", mmap_mode="r")


def model_with(invariances):
    return KernelFisherDiscriminant(
        gamma=0.02, landmarks=X[:40], alpha=0.01, invariances=invariances, invariance_weight=3.0
    )


@pytest.mark.parametrize("name", INVARIANCES)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_need_not_be_in_memory(name, weighted, tmp_path, rng):
    weights = rng.integers(0, 3, len(y)).astype(float) if weighted else None
    model = model_with(INVARIANCES[name])
    expected = clone(model).fit(X, y, weights).decision_function(X)
    plain = clone(model).set_params(invariances=None).fit(X, y, weights).decision_function(X)
    assert np.abs(expected - plain).max() > 1e-3  # they matter
    for lazy in (on_disk(X, tmp_path), da.from_array(X, chunks=(100, 64)), da.from_array(X, chunks=(37, 16))):
        found = clone(model).fit(lazy, y, weights)
        assert_allclose(found.decision_function(X), expected, atol=1e-6)


def test_integers_on_disk_are_images(tmp_path):
    images = (16 * X).astype(np.uint8)
    model = model_with(INVARIANCES["list"]).set_params(gamma=0.02 / 256, landmarks=16 * X[:40])
    expected = clone(model).fit(16 * X, y).decision_function(16 * X)
    assert_allclose(clone(model).fit(on_disk(images, tmp_path), y).decision_function(16 * X), expected, atol=1e-6)


@pytest.mark.parametrize("name", INVARIANCES)
def test_streams_add_up_what_transformations_change(name):
    model = model_with(INVARIANCES[name])
    expected = clone(model).fit(X, y).decision_function(X)
    blocks = ((X[start : start + 100], y[start : start + 100]) for start in range(0, len(y), 100))
    assert_allclose(clone(model).fit(blocks).decision_function(X), expected, atol=1e-6)


def test_moments_of_lazy_rows_are_those_of_the_rows(tmp_path, rng):
    from preimage.kernels import Gaussian

    tangents, kernel, weights = TangentCovariance(INVARIANCES["list"]), Gaussian(0.02), rng.uniform(size=len(y))
    expected = tangents.tangent_moment(kernel, X[:20], X, weights)
    for lazy in (on_disk(X, tmp_path), da.from_array(X, chunks=(77, 20))):
        assert_allclose(tangents.tangent_moment(kernel, X[:20], lazy, weights), expected, atol=1e-12)


@pytest.mark.parametrize("name", INVARIANCES)
def test_a_late_nan_is_refused(name):
    spoilt = X.copy()
    spoilt[-1, 5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model_with(INVARIANCES[name]).fit(da.from_array(spoilt, chunks=(100, 64)), y)
