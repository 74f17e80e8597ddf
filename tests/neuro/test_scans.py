"""Synthetic scans have the signal that they say, in noise that is slow and smooth."""

import numpy as np
import pytest

from preimage.neuro import make_scans


def test_scans_are_signal_and_noise_of_the_stated_ratio():
    scans = make_scans(n_runs=3, n_times=30, size=14, snr=2.0, random_state=1)
    assert scans.X.shape == (90, 196) and scans.image_shape == (14, 14)
    noise = scans.X - scans.signal
    np.testing.assert_allclose(scans.signal.max(axis=1) / noise.std(axis=1), 2.0)
    np.testing.assert_array_equal(scans.signal > 0, scans.patterns[scans.y] > 0)
    np.testing.assert_array_equal(np.bincount(scans.run), [30, 30, 30])
    assert [scans.y[scans.run == run].sum() for run in range(3)] == [10, 10, 10]


def test_noise_is_slow_and_smooth():
    scans = make_scans(n_runs=1, n_times=600, snr=0.0)
    noise = scans.X - scans.X.mean(axis=0)
    lagged = np.sum(noise[1:] * noise[:-1]) / np.sum(noise**2)
    pictures = noise.reshape(-1, 16, 16)
    beside = np.sum(pictures[:, :, 1:] * pictures[:, :, :-1]) / np.sum(pictures[:, :, 1:] ** 2)
    assert lagged > 0.3 and beside > 0.3


def test_a_seed_is_a_data_set_and_noise_may_come_from_elsewhere():
    np.testing.assert_array_equal(make_scans(random_state=3).X, make_scans(random_state=3).X)
    assert not np.array_equal(make_scans(random_state=3).X, make_scans(random_state=4).X)
    noise = np.random.default_rng(0).normal(size=(20, 144))
    scans = make_scans(2, 10, 12, noise=noise)
    np.testing.assert_allclose(scans.X - scans.signal, noise, atol=1e-12)
    with pytest.raises(ValueError, match=r"shape \(20, 144\); got \(20, 100\)"):
        make_scans(2, 10, 12, noise=noise[:, :100])
    with pytest.raises(ValueError, match="size of 12 or more"):
        make_scans(size=5)
