"""One test that tries many cases, where one test per case would cost more than what it tests.

pytest needs some milliseconds per test in every process that shares the suite, which is more than a look at a docstring
or at the imports of a file takes. A loop tries all cases, and its message names those that fail.
"""

import functools
import inspect
import traceback

import pytest


def for_each(names, values, ids=None):
    """Arguments of a test, given as to `pytest.mark.parametrize`, that one test tries one after the other.

    Every case is tried, whatever became of those before. Fixtures are made once, so a test whose cases need fresh ones
    is parametrized instead.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [dict(zip(names, [value] if len(names) == 1 else value, strict=True)) for value in values]
    if ids is None or callable(ids):
        ids = [", ".join(_label(each, ids) for each in case.values()) for case in given]
    cases = list(zip(ids, given, strict=True))

    def loop_over(test):
        signature = inspect.signature(test)

        @functools.wraps(test)
        def try_all(*args, **fixtures):
            failed, reasons = [], []
            for label, case in cases:
                try:
                    test(*args, **fixtures, **case)
                except pytest.skip.Exception as skipped:
                    reasons.append(str(skipped))
                except (Exception, pytest.fail.Exception) as error:
                    failed.append((label, error))
            if failed:
                raise AssertionError(_report(failed, len(cases))) from failed[0][1]
            if len(reasons) == len(cases):
                pytest.skip(reasons[0] if reasons else "there are no cases")

        rest = [parameter for name, parameter in signature.parameters.items() if name not in names]
        try_all.__signature__ = signature.replace(parameters=rest)
        return try_all

    return loop_over


def _label(value, ids):
    if ids is not None and (label := ids(value)) is not None:
        return str(label)
    return getattr(value, "__name__", None) or str(value)


def _report(failed, n_cases):
    lines = [f"{len(failed)} of {n_cases} cases fail:"]
    for label, error in failed:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = str(error) or (where.line or "")
        lines.append(f"[{label}] {type(error).__name__} at {where.filename}:{where.lineno}: {text[:500]}")
    return "\n".join(lines)
