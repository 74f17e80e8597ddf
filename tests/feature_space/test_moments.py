"""Merged moments equal moments of all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from preimage._arrays import to_numpy
from preimage._rows import sum_rows
from preimage.feature_space import Moments


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
