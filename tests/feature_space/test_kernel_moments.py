"""Moments of kernel values: a monoid, one pass over any kind of data, and more points later."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage._arrays import to_numpy
from preimage.feature_space import KernelMoments, Moments
from preimage.feature_space import _kernel_moments as module
from preimage.kernels import Gaussian, Linear, Precomputed

KERNEL = Gaussian(0.4)


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 3))


@pytest.fixture
def weights(rng):
    weights = rng.uniform(0.5, 2, size=60)
    weights[:20] = 0  # blocks without any weight
    return weights


@pytest.fixture(params=[(4096, 256), (17, 5)], ids=["one block", "ragged blocks"], autouse=True)
def blocks(request, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", request.param[0])
    monkeypatch.setattr(module, "TILE", request.param[1])


def assert_same(a, b):
    assert_allclose(a.values.count, b.values.count)
    assert_allclose(to_numpy(a.values.mean), to_numpy(b.values.mean), atol=1e-12)
    assert_allclose(to_numpy(a.values.scatter), to_numpy(b.values.scatter), atol=1e-11)
    assert a.trace == pytest.approx(b.trace)


@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_moments_of_the_kernel_values(X, weights, xp, weighted):
    weights = weights if weighted else None
    found = KernelMoments.of(KERNEL, xp.asarray(X[:7]), xp.asarray(X), weights=weights)
    trace = 60.0 if weights is None else weights.sum()
    assert_same(found, KernelMoments(KERNEL, X[:7], Moments.of(KERNEL(X, X[:7]), weights), trace))


@pytest.mark.parametrize("weighted", [False, True])
def test_any_kind_and_split_of_the_data_gives_the_same(X, weights, tmp_path, weighted):
    da = pytest.importorskip("dask.array")
    weights = weights if weighted else np.ones(60)
    whole = KernelMoments.of(KERNEL, X[:7], X, weights=weights)
    X.tofile(tmp_path / "X")
    mapped = np.memmap(tmp_path / "X", dtype=float, shape=X.shape, mode="r")
    for data in (mapped, da.from_array(X, chunks=(13, 2)), sparse.csr_matrix(X)):
        assert_same(KernelMoments.of(KERNEL, X[:7], data, weights=weights), whole)
    parts = [KernelMoments.of(KERNEL, X[:7], X[part], weights=weights[part]) for part in (slice(45), slice(45, 60))]
    assert_same(parts[0] + parts[1], whole)


def test_row_numbers_stand_for_points_of_a_precomputed_kernel(X):
    kernel = Precomputed().resolve(KERNEL(X))
    numbers = kernel.inputs(KERNEL(X))
    assert_same(KernelMoments.of(kernel, numbers[:7], numbers), KernelMoments.of(KERNEL, X[:7], X))


def test_sums_are_in_double_precision(X):
    single = X.astype(np.float32)
    found = KernelMoments.of(KERNEL, single[:7], single)
    assert found.values.scatter.dtype == np.float64
    assert_allclose(found.values.scatter, KernelMoments.of(KERNEL, X[:7], X).values.scatter, atol=1e-5)


def test_a_large_mean_costs_no_digits(rng):
    """Raw second moments of values near 1e6 would lose twelve of sixteen digits of a scatter near one."""
    X = np.column_stack([np.full(60, 1e3), rng.normal(size=60) / 1e3])
    found = KernelMoments.of(Linear(), np.array([[1e3, 1.0]]), X)
    assert_allclose(found.values.scatter[0, 0], Moments.of(X[:, 1:]).scatter[0, 0], rtol=1e-6)


def test_more_points_know_what_the_span_of_the_first_knows(rng):
    """With a linear kernel two points span the plane: a third adds nothing that they did not know."""
    X = rng.normal(size=(60, 2))
    grown = KernelMoments.of(Linear(), X[:2], X).extended(X[2:3])
    assert_same(grown, KernelMoments.of(Linear(), X[:3], X))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, 1e200])
def test_values_that_are_not_finite_are_refused(X, bad):
    X[33, 1] = bad
    with pytest.raises(ValueError, match="NaN or infinity"):
        KernelMoments.of(Linear() ** 2, X[:7], X)
