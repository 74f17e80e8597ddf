"""What a sample of candidates or rows promises."""

import numpy as np
import pytest

from preimage.landmarks import candidates_needed, sampling_deviation


def test_fifty_nine_candidates():
    assert candidates_needed() == 59
    assert 1 - 0.95**58 < 0.95 <= 1 - 0.95**59
    assert candidates_needed(0.01, 0.99) == 459


def test_the_best_of_59_is_in_the_top_twentieth(rng):
    values = rng.standard_cauchy(2000)
    bar = np.sort(values)[-100]
    hits = [rng.choice(values, 59, replace=False).max() >= bar for _ in range(4000)]
    assert 0.95 <= np.mean(hits) < 0.97


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
    with pytest.raises(ValueError, match="between 0 and 1"):
        candidates_needed(5)
