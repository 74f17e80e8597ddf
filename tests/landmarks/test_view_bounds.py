"""What a sample of candidates or rows promises."""

import numpy as np
import pytest

from preimage.landmarks import candidates_needed, sampling_deviation


def test_fifty_nine_candidates():
    assert candidates_needed() == 59
    assert 1 - 0.95**58 < 0.95 <= 1 - 0.95**59
    assert candidates_needed(0.01, 0.99) == 459


@pytest.mark.parametrize(("fraction", "confidence"), [(0.05, 0.95), (0.1, 0.9), (0.02, 0.6)])
def test_so_many_candidates_contain_one_of_the_best(fraction, confidence, rng):
    """The top fraction is met as often as promised, and less often with one candidate fewer."""
    count = candidates_needed(fraction, confidence)
    draws = rng.random((20_000, count))
    hits = [np.mean(draws[:, :number].max(axis=1) > 1 - fraction) for number in (count, count - 1)]
    spread = 4 * np.sqrt(confidence * (1 - confidence) / 20_000)
    assert hits[0] >= confidence - spread
    assert hits[1] < confidence + spread


@pytest.mark.parametrize(("n", "sampled"), [(2, 1), (50, 10), (50, 45), (1000, 30)])
def test_deviations_are_as_rare_as_promised(n, sampled, rng):
    values = (rng.random(n) < 0.3).astype(float)
    if n == 2:
        values = np.array([0.0, 1.0])  # where the form for independent draws is false
    for confidence in (0.6, 0.9):
        allowed = sampling_deviation(n, sampled, 1.0, confidence)
        means = np.array([values[rng.permutation(n)[:sampled]].mean() for _ in range(2000)])
        assert np.mean(values.mean() - means >= allowed) <= 1 - confidence + 0.03


def test_all_rows_leave_no_doubt_and_nonsense_is_refused():
    assert sampling_deviation(10, 10, 3.0) == 0
    assert sampling_deviation(100, 10, 2.0) == 2 * sampling_deviation(100, 10, 1.0)
    with pytest.raises(ValueError, match="n_sampled"):
        sampling_deviation(10, 11, 1.0)
    with pytest.raises(ValueError, match="not finite"):
        sampling_deviation(10, 1, 1.7e308)
    with pytest.raises(ValueError, match="between 0 and 1"):
        candidates_needed(5)
