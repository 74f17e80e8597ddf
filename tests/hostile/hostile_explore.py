"""Many problems, one per number."""

import random
import time

import hostile_judge
from hostile_run import run
from hostile_shrink import shrunk
from hostile_strategies import problems
from hypothesis import HealthCheck, given, settings

# More bytes than any description is drawn from.
ENTROPY = 8000


def drawer(only=()):
    """A function from a number to the problem that Hypothesis draws from the random bytes of this number.

    Unlike a run of Hypothesis, which varies what it has drawn, numbers give problems that are independent of each
    other, and each of them can be had again without the others.
    """
    drawn = []

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(problems(tuple(only)))
    def keep(problem):
        drawn.append(problem)

    def draw(number):
        drawn.clear()
        keep.hypothesis.fuzz_one_input(random.Random(number).randbytes(ENTROPY))
        return drawn[0] if drawn else None

    return draw


def explore(draw, numbers, end, before=lambda problem: None, shrinking=10.0, known=None):
    """Run the problems of some numbers, until a moment.

    `known` holds the causes that were seen before, whose problems are not made shorter; new ones are added.

    Returns
    -------
    How many were run, with how many calls, and a list of (finding, shortest description, count), one per cause.
    """
    known = set() if known is None else known
    found, count, calls = {}, 0, hostile_judge.calls_so_far()
    for problem in filter(None, map(draw, numbers)):
        if time.monotonic() > end:
            break
        before(problem)
        count += 1
        for finding in {each.cause: each for each in run(problem)}.values():
            if finding.cause in found:
                found[finding.cause][2] += 1
                continue
            # A hang takes seconds per attempt to shorten it.
            is_short = finding.kind == "hang" or finding.cause in known
            known.add(finding.cause)
            short = (
                problem
                if is_short
                else _shortest(problem, finding.cause, min(shrinking, end - time.monotonic()), before)
            )
            found[finding.cause] = [finding, short, 1]
    return count, hostile_judge.calls_so_far() - calls, list(found.values())


def _shortest(problem, cause, seconds, before):
    def is_same(other):
        before(other)
        return any(finding.cause == cause for finding in run(other))

    return shrunk(problem, is_same, seconds)
