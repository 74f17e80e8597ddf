"""Known entries that are hidden: enough of them, and never all of a row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preimage._models.completion._partial_rows import hidden_entries


@given(
    st.integers(1, 12), st.integers(1, 8), st.floats(0, 1), st.sampled_from([None, 0.01, 0.5, 0.99]), st.integers(0, 99)
)
def test_rows_with_two_known_entries_keep_one_and_hide_one(n, d, known, fraction, seed):
    rng = np.random.default_rng(seed)
    observed = rng.random((n, d)) < known
    hidden = hidden_entries(observed, rng, fraction)
    assert not (hidden & ~observed).any()
    can_hide = observed.sum(axis=1) > 1
    assert np.array_equal(hidden.any(axis=1), can_hide)
    assert (observed & ~hidden)[can_hide].any(axis=1).all()


def test_what_is_missing_together_is_hidden_together():
    observed = np.ones((50, 6), bool)
    observed[:10, :3] = False
    hidden = hidden_entries(observed, np.random.default_rng(0))
    assert np.array_equal(hidden[10:], np.tile([True] * 3 + [False] * 3, (40, 1)))


@pytest.mark.parametrize("fraction", [0.1, 0.6])
def test_fractions_are_met(fraction):
    hidden = hidden_entries(np.ones((300, 40), bool), np.random.default_rng(0), fraction)
    assert abs(hidden.mean() - fraction) < 0.02
    assert abs(hidden_entries(np.ones((300, 40), bool), np.random.default_rng(0)).mean() - 0.3) < 0.02
