"""A short run of the fuzzer, the problems that it found before, and that it knows all there is to call."""

import inspect
import json
import time

import hostile_paths
import pytest
from hostile_calls import ARGUMENTS, ESTIMATORS, NOT_GIVEN, methods_of
from hostile_explore import drawer, explore
from hostile_functions import FUNCTIONS, MODULES, NOT_CALLED
from hostile_methods import METHODS, NOT_MADE, OWNERS, SHARING, WRITING, api, public_classes
from hostile_problem import Problem
from hostile_run import run
from hostile_strategies import KEPT, strategy_of

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


def test_every_public_function_is_called_or_left_out_for_a_reason():
    for name, module in MODULES.items():
        functions = [each for each in module.__all__ if inspect.isfunction(getattr(module, each))]
        missing = [each for each in functions if f"{name}.{each}" not in {*FUNCTIONS, *NOT_CALLED}]
        assert not missing, f"{name}: {missing}"


def test_every_public_module_has_its_functions_called():
    drawn = {"plotting", "exceptions"}  # figures are in tests/laws/test_every_callable.py, errors are no functions
    without = {"reduced_sets", "invariances"}
    modules = {each.removeprefix("preimage.") for each in api.PUBLIC}
    assert modules - drawn - without <= set(MODULES)


def test_every_public_class_is_an_estimator_or_has_an_object_or_a_reason():
    missing = set(public_classes()) - {*OWNERS, *NOT_MADE}
    assert not missing


def test_exceptions_are_of_methods_that_exist():
    names = {each for full in METHODS for each in (full.split(".")[-1], ".".join(full.split(".")[1:]))}
    assert not {*SHARING, *WRITING} - names


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_and_argument_is_varied_or_left_out_for_a_reason(name):
    cls = ESTIMATORS[name]
    for parameter in inspect.signature(cls).parameters:
        assert parameter in KEPT or strategy_of(cls, parameter) is not None, f"no values for {name}({parameter}=…)"
    for method in methods_of(cls):
        function = inspect.getattr_static(cls, method)
        signature = inspect.signature(getattr(function, "fn", function))
        for argument in list(signature.parameters)[1:]:
            assert argument in ARGUMENTS or argument in NOT_GIVEN, f"no values for {name}.{method}({argument}=…)"
