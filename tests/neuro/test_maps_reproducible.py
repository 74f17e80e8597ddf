"""Laws of reproducible maps, thresholds and alignment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, norm

from preimage.neuro._maps import align_maps, fdr_threshold, map_correlation, reproducible_map

seeds = st.integers(0, 10**6)
scales = st.floats(1e-6, 1e6)


def two_maps(seed, d=60):
    rng = np.random.default_rng(seed)
    return rng.normal(size=d), rng.normal(size=d) + rng.normal() * rng.normal(size=d) + rng.normal()


@given(seed=seeds)
def test_the_size_of_the_map_is_a_function_of_r(seed):
    first, second = two_maps(seed)
    r = map_correlation(first, second)
    assert r == pytest.approx(np.corrcoef(first, second)[0, 1], abs=1e-10)
    assert reproducible_map(first, second).std() == pytest.approx(np.sqrt((1 + r) / (1 - r)), rel=1e-8)


@given(seed=seeds)
def test_signal_and_noise_share_the_variance(seed):
    first, second = (w / w.std() for w in two_maps(seed))
    r = map_correlation(first, second)
    assert ((first + second) / np.sqrt(2)).var() == pytest.approx(1 + r)
    assert ((first - second) / np.sqrt(2)).var() == pytest.approx(1 - r)


@given(seed=seeds, a=scales, b=scales)
def test_scale_and_order_of_the_halves_do_not_matter(seed, a, b):
    first, second = two_maps(seed)
    expected = reproducible_map(first, second)
    np.testing.assert_allclose(reproducible_map(b * second, a * first), expected, rtol=1e-7, atol=1e-9)
    assert map_correlation(a * first, b * second) == pytest.approx(map_correlation(second, first), abs=1e-10)


@given(seed=seeds, scale=scales)
def test_maps_without_noise_are_perfectly_reproducible(seed, scale):
    first, _ = two_maps(seed)
    assert map_correlation(first, first) == 1.0
    assert map_correlation(first, scale * first) == pytest.approx(1, abs=1e-12)
    z = reproducible_map(first, scale * first)
    assert np.isfinite(z).all() and np.corrcoef(z, first)[0, 1] == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_maps_of_any_size_have_a_correlation(scale):
    first, second = two_maps(0)
    assert map_correlation(scale * first, second) == pytest.approx(np.corrcoef(first, second)[0, 1])
    np.testing.assert_allclose(reproducible_map(scale * first, second), reproducible_map(first, second))


@pytest.mark.parametrize("constant", [0.0, 1 / 3, 1e9])
def test_a_constant_map_reproduces_nothing(constant):
    flat, other = np.full(9, constant), np.arange(9.0)
    assert map_correlation(flat, other) == map_correlation(flat, flat) == 0.0
    assert not reproducible_map(flat, other).any()


def test_what_is_no_map_is_refused():
    with pytest.raises(ValueError, match="one per variable"):
        map_correlation(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="finite"):
        reproducible_map(np.array([1.0, np.nan]), np.ones(2))


@given(seed=seeds, level=st.floats(0.001, 0.5))
def test_the_threshold_is_that_of_benjamini_and_hochberg(seed, level):
    z = np.random.default_rng(seed).normal(size=80) * np.where(np.arange(80) < 10, 4, 1)
    found = np.abs(z) >= fdr_threshold(z, level)
    np.testing.assert_array_equal(found, false_discovery_control(2 * norm.sf(np.abs(z))) <= level)


def test_nothing_counts_where_there_is_nothing():
    assert fdr_threshold(np.zeros(5)) == np.inf
    with pytest.raises(ValueError, match="between 0 and 1"):
        fdr_threshold(np.zeros(5), 1.5)
    with pytest.raises(ValueError, match="NaN"):
        fdr_threshold(np.array([np.nan]))


@given(seed=seeds, k=st.integers(1, 6))
def test_a_signed_permutation_is_undone(seed, k):
    rng = np.random.default_rng(seed)
    reference = rng.normal(size=(k, 50))
    changed = (rng.choice([-1, 1], size=k)[:, None] * reference)[rng.permutation(k)]
    np.testing.assert_array_equal(align_maps(changed, reference), reference)


def test_assignment_beats_greedy_matching():
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 3)) - 0.0)[0].T
    axes = np.linalg.qr((axes - axes.mean(axis=1, keepdims=True)).T)[0].T[:2]
    at = lambda degrees: np.array([np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))]) @ axes
    reference, maps = np.stack([at(0), at(40)]), np.stack([at(15), at(-25)])
    # The nearest pair is 0° and 15°, but it would leave 40° to -25°.
    np.testing.assert_array_equal(align_maps(maps, reference), maps[::-1])


def test_missing_maps_are_zero_and_surplus_ones_are_left_out():
    reference = np.random.default_rng(0).normal(size=(3, 20))
    aligned = align_maps(-reference[[2]], reference)
    np.testing.assert_array_equal(aligned, [np.zeros(20), np.zeros(20), reference[2]])
    np.testing.assert_array_equal(align_maps(reference, reference[[1]]), reference[[1]])
    np.testing.assert_array_equal(align_maps(np.zeros((1, 20)), reference), np.zeros((3, 20)))
    with pytest.raises(ValueError, match="19 and 20 columns"):
        align_maps(reference[:, :19], reference)
