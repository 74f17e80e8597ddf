"""Clipped values are told from an honest background, and the noise that is left in them is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_digits

from preimage.model_selection import estimate_noise
from preimage.model_selection._denoising_criteria import Clipping, _clipped_moments

RNG = np.random.default_rng(0)
DIGITS = load_digits().data[:600] / 16
NOISE = RNG.normal(size=DIGITS.shape)


def fraction(X):
    return Clipping.of(X, estimate_noise(X)).fraction


@pytest.mark.parametrize("deviation", [0.02, 0.1, 0.2, 0.4])
def test_clipped_noise_is_recognised_with_any_number_of_levels(deviation):
    noisy = DIGITS + deviation * NOISE
    for clipped in (np.clip(noisy, 0, 1), np.rint(np.clip(noisy, 0, 1) * 255) / 255):
        assert_allclose(fraction(clipped), np.mean((clipped == 0) | (clipped == 1)), atol=0.02)
    below = Clipping.of(np.maximum(noisy, 0), deviation)
    assert below.at_lower.mean() > 0.9 and not below.at_upper.any()


@pytest.mark.parametrize("deviation", [0.0, 0.02, 0.1, 0.2, 0.4])
def test_other_values_are_not(deviation):
    """Noise that is not clipped, rounded or not; and without noise, the zeros of a background."""
    noisy = DIGITS + deviation * NOISE
    assert fraction(noisy) == 0
    assert fraction(np.rint(noisy * 255)) == 0


@pytest.mark.parametrize(
    "X",
    [
        load_breast_cancer().data,
        RNG.poisson(5 * DIGITS).astype(float),
        RNG.integers(1, 6, size=(300, 20)).astype(float),
        (RNG.random((300, 20)) < 0.5).astype(float),
        np.hstack([RNG.normal(size=(300, 20)), np.ones((300, 3))]),
        RNG.normal(size=(300, 20)) * 1e150,
    ],
    ids=["measurements", "counts", "answers", "yes and no", "constants", "huge"],
)
def test_tables_are_not(X):
    deviation = np.median(X.std(axis=0)) if X.max() > 1e200 else estimate_noise(X)
    assert Clipping.of(X, float(deviation)).fraction == 0


@pytest.mark.parametrize("limits", [(0.0, 1.0), (0.0, 50.0), (-50.0, 1.0), (-50.0, 50.0)])
def test_moments_are_those_of_samples(limits):
    clean = np.array([0.0, 0.1, 0.5, 1.0])
    samples = np.clip(clean + 0.3 * RNG.normal(size=(200_000, 4)), *limits)
    mean, variance = _clipped_moments(clean, 0.3, *limits)
    assert_allclose(mean, samples.mean(axis=0), atol=4e-3)
    assert_allclose(variance, samples.var(axis=0), rtol=0.02)


def test_variances_are_near_those_that_clean_values_have():
    noisy = np.clip(DIGITS + 0.2 * NOISE, 0, 1)
    rows = np.arange(100, 200)
    found = Clipping.of(noisy, 0.2).variance(noisy, rows, 0.2)
    expected = _clipped_moments(DIGITS[rows], 0.2, 0.0, 1.0)[1]
    assert_allclose(found.mean(), expected.mean(), rtol=0.2)
    varies = noisy.std(axis=0) > 0
    assert np.corrcoef(found[:, varies].ravel(), expected[:, varies].ravel())[0, 1] > 0.6
