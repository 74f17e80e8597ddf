"""Shorter descriptions with the same finding."""

import re
import time

from hostile_problem import Problem

# Fields in the order in which they are put back to what is usual.
USUAL = ("container", "query_container", "dtype", "given", "weights", "target_scale", "coordinates", "route")
USUAL += ("target", "queries", "gram", "scale", "seed", "twists", "methods")


def shrunk(problem, is_same, seconds):
    """The simplest description that `is_same` accepts, as far as a greedy search finds it in so many seconds."""
    end = time.monotonic() + seconds
    found = True
    while found:
        found = False
        for simpler in _simpler(problem):
            if time.monotonic() > end:
                return problem
            if is_same(simpler):
                problem, found = simpler, True
                break
    return problem


def _simpler(problem):
    usual = Problem(problem.name)
    for name in USUAL:
        if getattr(problem, name) != getattr(usual, name):
            yield problem.but(**{name: getattr(usual, name)})
    for name in problem.params:
        if name != "estimator":
            yield problem.but(params={key: value for key, value in problem.params.items() if key != name})
    for name in ("twists", "methods", "given"):
        values = getattr(problem, name)
        if len(values) > 1:
            for i in range(len(values)):
                yield problem.but(**{name: values[:i] + values[i + 1 :]})
    for name, least in (("n", 1), ("d", 1)):
        value = getattr(problem, name)
        for fewer in sorted({least, 2, 3, value // 2, value - 1}):
            if least <= fewer < value:
                yield problem.but(**{name: fewer})
    if abs(problem.scale) > 1:
        yield problem.but(scale=int(problem.scale / 2))
        yield problem.but(scale=problem.scale - (1 if problem.scale > 0 else -1))
    for name, value in problem.params.items():
        for simpler in _simpler_value(value):
            yield problem.but(params={**problem.params, name: simpler})


def _simpler_value(value):
    """Expressions with one operand of an operator less, or with a number replaced by one."""
    if not isinstance(value, str) or not value.startswith("="):
        return
    inside = value[1:]
    for opened in re.finditer(r"\(([^()]*(?:\([^()]*\))*[^()]*)\)", inside):
        for part in re.split(r" [+*] ", opened.group(1)):
            if part and part[0].isupper() and part != inside:
                yield "=" + part
    for number in re.finditer(r"\d+(?:\.\d+)?e[+-]?\d+", inside):
        if number.group() not in ("1.0",):
            yield "=" + inside[: number.start()] + "1.0" + inside[number.end() :]
