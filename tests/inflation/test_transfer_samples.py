"""Weighted moments, quantiles and matches are those of repeated values."""

import numpy as np
import pytest

from preimage._engine.linalg import quantiles
from preimage.inflation import transfer_function
from preimage.inflation._inflation import count, deviation, matched_by_rank, mean
from preimage.inflation._transfer import fit_affine, fit_increasing, fit_isotonic, specify_histogram

RNG = np.random.default_rng(0)
VALUES, OTHERS, WEIGHTS = RNG.normal(size=20), RNG.normal(size=20), RNG.integers(1, 6, size=20)


def repeated(values):
    return np.repeat(values, WEIGHTS)


def test_moments_and_quantiles():
    weights = WEIGHTS.astype(float)
    assert mean(VALUES, weights) == pytest.approx(repeated(VALUES).mean())
    assert deviation(VALUES, weights) == pytest.approx(repeated(VALUES).std())
    assert count(VALUES, weights) == len(repeated(VALUES))
    levels = np.linspace(0, 1, 37)
    np.testing.assert_allclose(quantiles(VALUES, levels, weights), np.quantile(repeated(VALUES), levels))


def test_values_are_matched_by_rank():
    weights = WEIGHTS.astype(float)
    expected = specify_histogram(repeated(VALUES), repeated(OTHERS))
    np.testing.assert_allclose(repeated(matched_by_rank(VALUES, OTHERS, weights)), expected)
    np.testing.assert_allclose(matched_by_rank(VALUES, OTHERS), specify_histogram(VALUES, OTHERS))


@pytest.mark.parametrize("kind", ["pchip", "isotonic", "affine"])
def test_functions_are_those_of_repeated_values(kind):
    weights, t = WEIGHTS.astype(float), np.linspace(-3, 3, 50)
    weighted = transfer_function(VALUES, OTHERS, kind, weights=weights)(t)
    np.testing.assert_allclose(weighted, transfer_function(repeated(VALUES), repeated(OTHERS), kind)(t), atol=1e-6)


def test_fits_take_weights():
    weights, x = WEIGHTS.astype(float), np.sort(VALUES)
    for fit in (fit_increasing, fit_isotonic):
        np.testing.assert_allclose(fit(x, OTHERS, weights=weights)(x), fit(repeated(x), repeated(OTHERS))(x), atol=1e-6)
    np.testing.assert_allclose(
        fit_affine(x, OTHERS, weights, weights)(x), fit_affine(repeated(x), repeated(OTHERS))(x), atol=1e-9
    )
