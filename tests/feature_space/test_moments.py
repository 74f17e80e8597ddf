"""Merged moments equal moments of all rows; higher-order moments in feature space."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from preimage._engine.arrays import to_numpy
from preimage._engine.rows import sum_rows
from preimage.feature_space import KernelMoments, Moments
from preimage.feature_space import _moments as module
from preimage.kernels import Gaussian, Linear, Precomputed


def test_moments_are_numpys(xp, rng):
    Y = rng.normal(size=(20, 3))
    moments = Moments.of(xp.asarray(Y))
    assert moments.count == 20
    assert_allclose(to_numpy(moments.mean), Y.mean(axis=0))
    assert_allclose(to_numpy(moments.covariance()), np.cov(Y.T, ddof=0))
    assert_allclose(to_numpy(moments.covariance(ddof=1)), np.cov(Y.T))


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(0, 2**31))
def test_any_split_gives_the_same(sizes, seed):
    Y = np.random.default_rng(seed).normal(loc=3, size=(sum(sizes), 2))
    parts = np.split(Y, np.cumsum(sizes)[:-1])
    merged = Moments.of(parts[0])
    for part in parts[1:]:
        merged = merged + Moments.of(part)
    whole = Moments.of(Y)
    assert merged.count == whole.count
    assert_allclose(merged.mean, whole.mean)
    assert_allclose(merged.scatter, whole.scatter, atol=1e-10)


def test_weights_count_rows(rng):
    Y, weights = rng.normal(size=(6, 2)), np.array([1, 2, 3, 1, 1, 4])
    weighted, repeated = Moments.of(Y, weights.astype(float)), Moments.of(np.repeat(Y, weights, axis=0))
    assert weighted.count == repeated.count
    assert_allclose(weighted.mean, repeated.mean)
    assert_allclose(weighted.scatter, repeated.scatter)


def test_blocks_give_the_same(block_shape, rng):
    Y = rng.normal(size=(50, 3))
    assert_allclose(sum_rows(Moments.of, Y).scatter, Moments.of(Y).scatter)


def test_single_precision_survives_a_large_mean(rng):
    """Raw second moments would lose everything here."""
    Y = (1e4 + rng.normal(size=(4000, 2))).astype(np.float32)
    merged = sum_rows(Moments.of, Y)
    assert_allclose(merged.covariance(), np.cov(Y.astype(float).T, ddof=0), atol=5e-3)


def test_impossible_requests_are_refused():
    with pytest.raises(ValueError, match="ddof=1"):
        Moments.of(np.ones((1, 2))).covariance(ddof=1)
    with pytest.raises(ValueError, match="positive sum"):
        Moments.of(np.ones((2, 2)), np.zeros(2))


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
    monkeypatch.setattr(module, "TILE_BYTES", request.param[1])


def assert_same(a, b):
    assert_allclose(a.values.count, b.values.count)
    assert_allclose(to_numpy(a.values.mean), to_numpy(b.values.mean), atol=1e-12)
    assert_allclose(to_numpy(a.values.scatter), to_numpy(b.values.scatter), atol=1e-11)
    assert a.trace == pytest.approx(b.trace)


def in_kernel_values(moments):
    """Moments of projections on the span, as their kernel values with the landmarks: the same in all coordinates."""
    if moments.factor is None:
        return moments
    return replace(moments, values=moments.values.mapped((moments.kernel(moments.points) @ moments.factor).T))


@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_moments_of_the_kernel_values(X, weights, xp, weighted):
    weights = weights if weighted else None
    found = KernelMoments.of(KERNEL, xp.asarray(X[:7]), xp.asarray(X), weights=weights)
    trace, values = 60.0 if weights is None else weights.sum(), KERNEL(X, X[:7])
    # A library without a Cholesky factorisation that can fail takes all landmarks to be ill-conditioned.
    values = values if found.factor is None else values @ to_numpy(found.factor)
    assert_same(found, KernelMoments(KERNEL, X[:7], Moments.of(values, weights), trace))


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
    assert_same(in_kernel_values(grown), in_kernel_values(KernelMoments.of(Linear(), X[:3], X)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, 1e200])
def test_values_that_are_not_finite_are_refused(X, bad):
    X[33, 1] = bad
    with pytest.raises(ValueError, match="beyond the range of numbers"):
        KernelMoments.of(Linear() ** 2, X[:7], X)


def test_points_far_from_all_rows_are_no_matter_of_units(rng):
    # Squares of these kernel values, e^(−340) and so on, are near the smallest numbers; k(x, x) is one.
    X = 9.2 + 1e-3 * rng.normal(size=(60, 4))
    moments = KernelMoments.of(Gaussian(1.0), 1e-2 * rng.normal(size=(5, 4)), X)
    assert moments.trace == 60 and np.all(moments.values.mean < 1e-140)
    with pytest.raises(ValueError, match="squares are beyond the range"):
        KernelMoments.of(Linear(), 1e-75 * np.eye(4), 1e-75 * X)
