"""Ratios of deviations, their noise, and what neighbours say about them."""

import numpy as np
import pytest

from preimage.inflation import inflation
from preimage.inflation._inflation import is_inflated, is_resolved, steady_left_out

RNG = np.random.default_rng(0)


def test_inflation_is_the_ratio_of_deviations():
    train, left_out = RNG.normal(size=(2, 30, 3)) * [[[1.0, 5.0, 2.0]], [[1.0, 1.0, 1e-9]]]
    np.testing.assert_allclose(inflation(train, left_out), train.std(axis=0) / left_out.std(axis=0))


def test_inflation_of_constant_columns_is_one():
    assert inflation(np.zeros((4, 1)), np.ones((4, 1))) == 1
    assert 1e12 < inflation(np.arange(4.0)[:, None], np.zeros((4, 1))) < np.inf


def test_inflation_must_be_large_and_beyond_its_noise():
    train = RNG.normal(size=(100, 1))
    assert is_inflated(train, train / 2)
    assert not is_inflated(train, train / 1.05)
    noisy = RNG.normal(size=(100, 1))
    assert not is_inflated(train, 0.87 * noisy * train.std() / noisy.std())  # 1.15, but a standard error is 0.1
    assert is_inflated(train, train / 1.15)  # every point agrees
    assert is_inflated(train, np.zeros((100, 1))) and not is_inflated(np.ones((100, 1)), np.ones((100, 1)))


def test_steadied_ratios_of_equal_factors_lie_closer_together():
    train, left_out = RNG.normal(size=(2, 60, 40))
    left_out = left_out / 3
    before, after = (np.log(inflation(train, values)) for values in (left_out, steady_left_out(train, left_out)))
    assert after.std() < 0.5 * before.std() and abs(after.mean() - before.mean()) < 0.05


def test_ratios_beyond_doubt_are_kept():
    train = RNG.normal(size=(60, 10))
    factors = np.r_[1.0, np.full(9, 8.0)]
    left_out = train / factors
    steady = inflation(train, steady_left_out(train, left_out))
    np.testing.assert_allclose(steady, factors, rtol=0.02)


def test_steadying_keeps_means_and_order_and_units():
    train, left_out = RNG.normal(size=(2, 30, 6)) + 1
    steady = steady_left_out(train, left_out)
    np.testing.assert_allclose(steady.mean(axis=0), left_out.mean(axis=0))
    np.testing.assert_array_equal(steady.argsort(axis=0), left_out.argsort(axis=0))
    np.testing.assert_allclose(steady_left_out(1e9 * train, 1e-9 * left_out), 1e-9 * steady, rtol=1e-9)


@pytest.mark.parametrize("q", [0, 1, 2, 3])
def test_few_components(q):
    train, left_out = RNG.normal(size=(2, 20, q))
    steady = steady_left_out(train, left_out)
    assert steady.shape == (20, q) and np.isfinite(steady).all()
    if q == 1:
        np.testing.assert_allclose(steady, left_out)


def test_constant_columns_stay():
    train, left_out = RNG.normal(size=(2, 20, 3))
    left_out[:, 1] = 0
    assert (steady_left_out(train, left_out)[:, 1] == 0).all()


def test_rounding_errors_do_not_count_as_left_out_values():
    train = np.random.default_rng(0).normal(size=(50, 3))
    left_out = train * [1.0, 1e-12, 1e-16]
    np.testing.assert_array_equal(is_resolved(train, left_out), [True, True, False])
    np.testing.assert_array_equal(is_resolved(1e9 * train, 1e9 * left_out), [True, True, False])
