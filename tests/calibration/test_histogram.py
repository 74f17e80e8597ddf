"""Histogram specification: ranks stay, the distribution becomes that of training."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from preimage.calibration import renormalize
from preimage.calibration._histogram import specify_histogram

rng = np.random.default_rng(0)
finite = st.floats(-1e6, 1e6, width=32)
samples = arrays(float, st.integers(1, 30), elements=finite)
tied = arrays(float, st.integers(1, 30), elements=st.integers(-3, 3).map(float))


def naive_specification(train, test):
    """Ranks, quantiles and means of ties, one value at a time."""
    reference, n, m = sorted(train), len(train), len(test)

    def quantile(rank):
        place = (n - 1) * (rank / (m - 1) if m > 1 else 0.5)
        low = min(int(place), n - 1)
        high = min(low + 1, n - 1)
        return reference[low] + (place - low) * (reference[high] - reference[low])

    out = []
    for value in test:
        below = sum(other < value for other in test)
        equal = sum(other == value for other in test)
        out.append(np.mean([quantile(below + i) for i in range(equal)]))
    return np.array(out)


@given(samples | tied, samples | tied)
def test_it_equals_the_naive_version(train, test):
    np.testing.assert_allclose(specify_histogram(train, test), naive_specification(train, test), rtol=1e-9, atol=1e-6)


def test_the_result_is_a_permutation_of_training_values_for_equal_sizes():
    train, test = rng.normal(size=40), rng.exponential(size=40)
    out = specify_histogram(train, test)
    np.testing.assert_array_equal(np.sort(out), np.sort(train))


def test_argsort_and_rank_forms_agree():
    train, test = rng.normal(size=25), rng.normal(size=25)
    by_argsort = np.empty(25)
    by_argsort[np.argsort(test)] = np.sort(train)
    by_rank = np.sort(train)[np.argsort(np.argsort(test))]
    np.testing.assert_array_equal(specify_histogram(train, test), by_argsort)
    np.testing.assert_array_equal(specify_histogram(train, test), by_rank)


@given(samples | tied)
def test_identity_when_test_is_train(train):
    np.testing.assert_array_equal(specify_histogram(train, train), train)


@given(samples | tied, samples | tied)
def test_idempotent(train, test):
    once = specify_histogram(train, test)
    np.testing.assert_allclose(specify_histogram(train, once), once, rtol=1e-9, atol=1e-6)


@given(samples | tied, samples | tied)
def test_order_is_kept_and_equal_values_stay_equal(train, test):
    out = specify_histogram(train, test)
    order = np.argsort(test, kind="stable")
    assert (np.diff(out[order]) >= -1e-9 * np.abs(train).max()).all()
    for value in np.unique(test):
        assert np.unique(out[test == value]).size == 1


@given(samples, samples)
def test_results_stay_within_the_training_range(train, test):
    out = specify_histogram(train, test)
    assert (out >= train.min() - 1e-9).all() and (out <= train.max() + 1e-9).all()


def test_only_ranks_of_test_values_matter():
    train, test = rng.normal(size=30), rng.normal(size=17)
    np.testing.assert_array_equal(specify_histogram(train, np.exp(3 * test)), specify_histogram(train, test))


def test_scales_of_training_values_are_carried_over():
    train, test = rng.normal(size=30), rng.normal(size=17)
    np.testing.assert_allclose(specify_histogram(3e-200 * train, test), 3e-200 * specify_histogram(train, test))


def test_extremes_go_to_extremes_for_unequal_sizes():
    train, test = rng.normal(size=100), rng.normal(size=7)
    out = specify_histogram(train, test)
    assert out[test.argmax()] == train.max()
    assert out[test.argmin()] == train.min()


def test_one_point_becomes_the_median_and_no_point_nothing():
    assert specify_histogram([4.0, 1.0, 2.0], [99.0]).tolist() == [2.0]
    assert specify_histogram([4.0, 1.0, 2.0], []).shape == (0,)
    assert specify_histogram([4.0], [9.0, 8.0]).tolist() == [4.0, 4.0]


def test_all_ties_become_the_mean():
    np.testing.assert_allclose(specify_histogram([1.0, 2.0, 6.0], [5.0, 5.0, 5.0]), 3.0)


def test_columns_are_independent():
    train, test = rng.normal(size=(20, 3)), rng.normal(size=(11, 3))
    out = renormalize(train, test)
    for k in range(3):
        np.testing.assert_array_equal(out[:, k], specify_histogram(train[:, k], test[:, k]))
    assert renormalize(np.empty((4, 0)), np.empty((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="1 of 2 in `train`"):
        specify_histogram([0.0, bad], [1.0])
    with pytest.raises(ValueError, match="1 of 1 in `test`"):
        specify_histogram([0.0, 1.0], [bad])


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        specify_histogram([], [1.0])
    with pytest.raises(ValueError, match="shape"):
        specify_histogram([[1.0]], [1.0])
    with pytest.raises(ValueError, match="same columns"):
        renormalize(np.ones((2, 2)), np.ones((2, 3)))
