"""Run one description, whatever it names."""

import traceback

from hostile_calls import ESTIMATORS, run_estimator
from hostile_functions import run_function
from hostile_judge import Finding
from hostile_methods import METHODS, run_method


def run(problem):
    """The findings of a problem; an error of the fuzzer itself is one too."""
    try:
        return _run(problem)
    except Exception as error:
        cause = f"broken check: {type(error).__name__}: {str(error)[:100]}"
        return [Finding("broken check", cause, problem.name, traceback.format_exc()[-1500:])]


def _run(problem):
    if problem.name in ESTIMATORS:
        return run_estimator(problem)
    return run_method(problem) if problem.name in METHODS else run_function(problem)
