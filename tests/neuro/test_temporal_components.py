"""Temporal components take scans apart and put them together."""

import numpy as np
import pytest

from preimage.neuro import molgedey_schuster, noise_of_scans


def sources(t=2000, seed=0):
    rng = np.random.default_rng(seed)
    slow, fast = np.zeros(t), np.zeros(t)
    for i in range(1, t):
        slow[i] = 0.95 * slow[i - 1] + rng.normal()
        fast[i] = -0.8 * fast[i - 1] + rng.normal()
    return np.column_stack([slow, fast, rng.normal(size=t)])


def test_sources_of_different_autocorrelation_come_apart():
    S = sources()
    found = molgedey_schuster(S @ np.random.default_rng(1).normal(size=(3, 6)), n_components=3)
    overlap = np.abs(np.corrcoef(found.courses.T, S.T)[:3, 3:])
    np.testing.assert_array_less(0.99, np.diag(overlap))
    np.testing.assert_allclose(found.autocorrelations, [0.95, -0.8, 0], atol=0.05)
    np.testing.assert_allclose(found.courses.T @ found.courses / len(S), np.eye(3), atol=1e-10)


def test_all_components_give_the_scans_back():
    X = np.random.default_rng(0).normal(size=(40, 7)) + 3
    found = molgedey_schuster(X, n_components=7, lag=2)
    np.testing.assert_allclose(found.mean + found.reconstruction(), X, atol=1e-10)


def test_noise_is_what_slow_components_leave():
    S = sources()
    maps = np.random.default_rng(1).normal(size=(3, 6))
    noise = noise_of_scans(S @ maps, n_components=3, n_dropped=1)
    assert np.abs(np.corrcoef(noise.T, S[:, 0])[-1, :-1]).max() < 0.1
    with pytest.raises(ValueError, match="must keep a component"):
        noise_of_scans(S @ maps, n_components=3, n_dropped=3)


@pytest.mark.parametrize("options", [{"n_components": 8}, {"n_components": 0}, {"lag": 40}, {"lag": 0}])
def test_senseless_components_are_refused(options):
    with pytest.raises(ValueError, match=r"n_components must|more rows than the lag"):
        molgedey_schuster(np.random.default_rng(0).normal(size=(40, 7)), **{"n_components": 2} | options)
