"""What a sample of candidates or rows promises."""

import numpy as np
import pytest

from preimage.landmarks._view import sampling_deviation


@pytest.mark.parametrize(("n", "sampled"), [(2, 1), (50, 10), (50, 45), (1000, 30)])
def test_deviations_are_as_rare_as_promised(n, sampled, rng):
    values = (rng.random(n) < 0.3).astype(float)
    if n == 2:
        values = np.array([0.0, 1.0])  # where the form for independent draws is false
    for confidence in (0.6, 0.9):
        allowed = sampling_deviation(n, sampled, 1.0, confidence)
        means = np.array([values[rng.permutation(n)[:sampled]].mean() for _ in range(2000)])
        assert np.mean(values.mean() - means >= allowed) <= 1 - confidence + 0.03


def test_all_rows_leave_no_doubt():
    assert sampling_deviation(10, 10, 3.0) == 0
    assert sampling_deviation(100, 10, 2.0) == 2 * sampling_deviation(100, 10, 1.0)
