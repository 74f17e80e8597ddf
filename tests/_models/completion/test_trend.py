"""The linear trend of a table, and what it says about missing entries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage._models.completion import Trend
from preimage._models.completion._trend import Gaps, conditional_means, fit_trend

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + 0.1 * rng.normal(size=(60, 5))
KNOWN = rng.random(ROWS.shape) > 0.3
KNOWN[:, 0] |= ~KNOWN.any(axis=1)


def naive_means(mean, covariance, row, known):
    """Of a normal distribution, by the block of the known entries."""
    found = mean.copy()
    if known.any():
        weights = np.linalg.solve(covariance[np.ix_(known, known)], covariance[known])
        found = mean + (row - mean)[known] @ weights
    return found


def test_means_given_known_entries_are_those_of_the_block_formula(xp):
    trend = Trend.of(xp.asarray(ROWS))
    found = to_numpy(conditional_means(trend.precision(1e-2), xp.asarray(ROWS), xp.asarray(KNOWN, bool)))
    covariance = np.cov(ROWS.T, bias=True)
    covariance += 1e-2 * np.trace(covariance) / 5 * np.eye(5)
    for row, known, means in zip(ROWS, KNOWN, found, strict=True):
        expected = naive_means(ROWS.mean(axis=0), covariance, row, known)
        assert_allclose(means[~known], expected[~known], atol=1e-9)


def test_gaps_come_back_where_they_were():
    gaps = Gaps.of(KNOWN, ROWS)
    assert_allclose(gaps.put(gaps.take(ROWS)), np.where(KNOWN, 0.0, ROWS))
    matrix = rng.normal(size=(5, 5))
    blocks = gaps.blocks_of(matrix)
    for number in range(8):
        missing = np.flatnonzero(~KNOWN[number])
        assert_allclose(blocks[number][: missing.size, : missing.size], matrix[np.ix_(missing, missing)])
        assert_allclose(blocks[number][missing.size :, missing.size :], np.eye(blocks.shape[1] - missing.size))


def log_likelihood(trend, ridge=1e-9):
    covariance = trend.covariance + ridge * np.eye(5)
    total = 0.0
    for row, known in zip(ROWS, KNOWN, strict=True):
        block, off = covariance[np.ix_(known, known)], (row - trend.mean)[known]
        total -= off @ np.linalg.solve(block, off) + np.linalg.slogdet(block)[1]
    return total


def test_rounds_raise_the_likelihood_of_known_entries(monkeypatch):
    monkeypatch.setattr("preimage._models.completion._trend.ROUND_RIDGE", 1e-9)
    start = np.where(KNOWN, ROWS, np.nanmean(np.where(KNOWN, ROWS, np.nan), axis=0))
    path = [log_likelihood(fit_trend(ROWS, KNOWN, start, n)) for n in range(1, 6)]
    assert np.all(np.diff(path) > 0)


def test_filled_entries_count_with_their_variance():
    # Independent columns: filled entries are all means, but the variance of a column is that of its known entries.
    noise = np.random.default_rng(1).normal(size=(2000, 3))
    known = np.random.default_rng(2).random(noise.shape) > 0.4
    trend = fit_trend(noise, known, np.where(known, noise, 0.0), 20)
    assert_allclose(np.diag(trend.covariance), 1.0, atol=0.12)


@pytest.mark.parametrize("rows", [np.ones((4, 3)), np.ones((1, 2))])
def test_rows_without_variance_have_a_precision(rows):
    assert np.isfinite(Trend.of(rows).precision(1e-3).matrix).all()
