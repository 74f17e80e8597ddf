"""A short run of the fuzzer, and the problems that it found before."""

import json
import time

import hostile_paths
import pytest
from hostile_explore import drawer, explore
from hostile_methods import METHODS
from hostile_problem import Problem
from hostile_run import run

# About a quarter of a minute. `make fuzz` runs as many as an hour allows.
PROBLEMS = 600


@pytest.mark.parametrize("first", range(0, PROBLEMS, 100))
def test_hostile_problems_end_in_a_finite_result_or_a_clear_error(first):
    _, _, found = explore(drawer(), range(first, first + 100), time.monotonic() + 600, shrinking=0.0)
    found = [f"{finding.cause}: {problem!r}\n{finding.message}" for finding, problem, _ in found]
    assert not found, "\n\n".join(found)


EXAMPLES = [json.loads(line) for line in hostile_paths.EXAMPLES.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["cause"] for example in EXAMPLES])
def test_what_was_found_once_stays_mended(example):
    findings = run(Problem.from_json(example["problem"]))
    assert not findings, "\n\n".join(f"{finding.cause}\n{finding.message}" for finding in findings)


@pytest.mark.parametrize("queries", ["narrow", "NaN"])
def test_every_method_of_every_class_takes_rows_of_other_lengths_and_nan(queries):
    found = [each for name in METHODS for each in run(Problem(name=name, n=6, d=3, queries=queries))]
    assert not found, "\n\n".join(f"{finding.call}: {finding.cause}\n{finding.message}" for finding in found)
