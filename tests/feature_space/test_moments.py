"""Merged moments equal moments of all rows; higher-order moments in feature space."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage._arrays import to_numpy
from preimage._rows import sum_rows
from preimage.feature_space import Moments
from preimage.geometry import component_moments, directional_moment, excess_kurtosis
from preimage.kernels import Polynomial


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


def test_third_moments_equal_explicit_tensors(rng):
    X = rng.normal(size=(30, 2))
    model = KernelPCA(3, kernel=Polynomial(2)).fit(X)
    phi = naive.monomials(X, 2, 1.0)
    phi = phi - phi.mean(axis=0)
    axes = naive.monomials(X, 2, 1.0).T @ model.subspace_.frame.coefficients
    tensor = np.einsum("ia,ib,ic->abc", phi, phi, phi) / 30
    expected = np.einsum("abc,ai,bj,ck->ijk", tensor, axes, axes, axes)
    assert_allclose(component_moments(model.transform(X), 3), expected, atol=1e-10)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_moments_are_symmetric_and_contract_to_directions(order, xp, rng):
    Y, w = rng.normal(size=(40, 3)), rng.normal(size=3)
    moments = to_numpy(component_moments(xp.asarray(Y), order))
    assert moments.shape == (3,) * order
    assert_allclose(moments, np.swapaxes(moments, 0, -1), atol=1e-12)
    contracted = moments
    for _ in range(order):
        contracted = contracted @ w
    assert_allclose(directional_moment(xp.asarray(Y), xp.asarray(w), order), contracted, atol=1e-10)


def test_kurtosis_tells_clusters_from_heavy_tails(rng):
    clusters = np.concatenate([rng.normal(-3, 0.3, 500), rng.normal(3, 0.3, 500)])[:, None]
    assert excess_kurtosis(clusters, np.ones(1)) < -1.5
    assert excess_kurtosis(rng.standard_t(4, size=(5000, 1)), np.ones(1)) > 0.5
    assert abs(excess_kurtosis(rng.normal(size=(50000, 1)), np.ones(1))) < 0.1


def test_impossible_requests_are_refused_higher_moments():
    with pytest.raises(ValueError, match="at least 1"):
        component_moments(np.ones((3, 2)), 0)
    with pytest.raises(ValueError, match="constant"):
        excess_kurtosis(np.ones((3, 2)), np.ones(2))
