"""Random kernels on random data for all estimators: right, or a clear error."""

from hypothesis import given, settings
from hypothesis import strategies as st
from net_problem import run
from precise import needs_long_double

pytestmark = needs_long_double

# About a quarter of a minute. `benchmarks/net.py --problems 2000` runs as many as one likes.
PROBLEMS = 180


@settings(max_examples=PROBLEMS, derandomize=True, database=None)
@given(st.integers(0, 2**31 - 1))
def test_random_problems_end_right_or_in_a_clear_error(seed):
    outcome = run(seed)
    assert outcome.is_right, f"{outcome.kind}: {outcome.message}"
