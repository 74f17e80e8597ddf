"""What a model says of itself holds on rows: every estimator, by every route, in both precisions, at any width.

A new estimator joins by one line of `LINES`; `claims_search.py` runs as many random problems as one likes.
"""

import zlib

import pytest
from all_estimators import public_estimators
from claims_lines import LINES
from claims_problem import DATA, Problem
from claims_search import judge, random_problem
from precise import needs_long_double

pytestmark = needs_long_double

# γ in units of 1/median(d²), as powers of ten: the ends of eight decades first, which any five problems then have.
WIDTHS = (-4, 4, 0, -2, 2)
# Problems of a line over all of its routes, and of each route, at least.
PER_LINE, PER_ROUTE = 16, 4


def sample(line, route):
    """Problems in which all data sets, both precisions and all widths meet, other pairs of them on other routes."""
    start = zlib.crc32(f"{line.name}, {route}".encode())
    data = [each for each in DATA if each not in line.without]
    for number in range(start, start + max(PER_ROUTE, -(-PER_LINE // len(line.routes)))):
        kernel = line.kernels[number // 2 % len(line.kernels)]
        dtype = ("float64", "float64", "float32")[number % 3]
        yield Problem(data[number % len(data)], WIDTHS[number % 5], dtype, route, number % 1000, kernel)


@pytest.mark.parametrize(
    ("line", "route"),
    [pytest.param(line, route, id=f"{line.name}, {route}") for line in LINES for route in line.routes],
)
def test_claims_hold_on_rows(line, route):
    outcomes = [judge(line, problem) for problem in sample(line, route)]
    false = [str(outcome) for outcome in outcomes if outcome.false]
    assert not false, "\n".join(false)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_claims_hold_on_random_problems(line):
    outcomes = [judge(line, random_problem(line, seed)) for seed in range(3)]
    false = [str(outcome) for outcome in outcomes if outcome.false]
    assert not false, "\n".join(false)


def test_every_public_estimator_has_a_line():
    names = {line.name.split(",")[0] for line in LINES}
    assert names == {each.__name__ for each in public_estimators()}
