"""Ctrl-C at any moment leaves nothing behind: neither limits on threads nor settings, while its traceback is kept.

Python raises KeyboardInterrupt where it looks for signals: when a function begins, and after a call. A tracing function
raises it at each of these moments in turn, and before each statement, in every file that changes and restores settings
and in those of other packages that they call.
"""

import contextlib
import dis
import sys
import warnings

import numpy as np
import pytest
import threadpoolctl
from threadpoolctl import threadpool_info, threadpool_limits

from preimage._engine import finite as _finite
from preimage._engine import memory as _memory
from preimage._engine import progress as _progress
from preimage._engine import threads as _blas
from preimage._engine import threads as _pool
from preimage._engine import threads as _threads
from preimage._engine import warnings as _guards
from preimage._engine import warnings as _warnings
from preimage._engine.finite import gives_finite_numbers, working_method
from preimage._engine.memory import limited_memory
from preimage._engine.threads import SMALL, at_most, large_decomposition, on_own_threads, run_parallel, small_matrices

OURS = (_blas, _finite, _guards, _memory, _pool, _progress, _threads, _warnings)
FILES = {module.__file__ for module in (*OURS, contextlib, threadpoolctl)}
# Instructions after which Python looks for signals.
LOOKS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD", "RESUME")
# More moments than any of the works has: a trace that never ends is a failure.
MOST = 5000


class Moments:
    """Counts the moments of a work at which an interrupt may come, and raises one at the moment `at`."""

    def __init__(self, at=None):
        self.at, self.count, self.last = at, 0, {}

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename not in FILES:
            return None
        frame.f_trace_opcodes = True
        self._pass()
        return self._inside

    def _inside(self, frame, event, argument):
        here = frame.f_lasti
        before, self.last[id(frame)] = self.last.get(id(frame)), here
        if event == "line":
            # The end of a `with` statement has the line of its beginning, and no signal comes before its `__exit__`.
            if not _line(frame).startswith("with "):
                self._pass()
        elif event == "opcode" and before is not None and _looks_after(frame.f_code, before, here):
            self._pass()
        elif event == "return":
            self.last.pop(id(frame), None)
        return self._inside

    def _pass(self):
        self.count += 1
        if self.count == self.at:
            raise KeyboardInterrupt

    def during(self, work):
        """The KeyboardInterrupt that ended `work`, with its traceback, or None."""
        sys.settrace(self)
        try:
            work()
        except KeyboardInterrupt as interrupt:
            return interrupt
        finally:
            sys.settrace(None)
        return None


def _line(frame):
    return _lines(frame.f_code.co_filename)[frame.f_lineno - 1].strip()


_texts = {}


def _lines(file):
    if file not in _texts:
        with open(file, encoding="utf-8") as opened:
            _texts[file] = opened.read().splitlines()
    return _texts[file]


_instructions = {}


def _looks_after(code, before, here):
    """Whether Python looks for signals after the instruction at `before`, where the handlers of `here` are its own.

    After the last call of a `try` statement, an interrupt is raised inside of it; a tracing function cannot do that.
    """
    if code not in _instructions:
        names = {each.offset: each.opname for each in dis.get_instructions(code)}
        _instructions[code] = names, dis._parse_exception_table(code)
    names, table = _instructions[code]
    handler = lambda place: next((each.target for each in table if each.start <= place < each.end), None)
    return names.get(before) in LOOKS and handler(before) == handler(here)


def state():
    """All that the library changes for a time and that belongs to the process, the thread or the context."""
    return {
        "BLAS": sorted(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"),
        "limits": len(_blas._limits.counts),
        "threads": _threads._caller.threads,
        "available threads": _threads.available_threads(),
        "locks": [
            repr(lock).startswith("<locked")
            for lock in (_blas._limits.lock, _pool._helpers._lock, _warnings.filters_in_use)
        ],
        "helpers that are lent": sum(_pool._helpers._loans.values()),
        "NumPy": np.geterr(),
        "filters": list(warnings.filters),
        "treatments": _warnings._treatments.get(),
        "method": _finite.current_method(),
        "memory": _memory._limit.get(),
        "listeners": _progress._listeners.get(),
    }


@pytest.fixture(autouse=True)
def _four_threads(monkeypatch):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 4)
    monkeypatch.setattr(_threads, "allowed_cores", lambda: 4)
    run_parallel(abs, range(4))  # helpers have been started
    with threadpool_limits(2, user_api="blas"):
        yield


ROWS = np.random.default_rng(0).normal(size=(12, 2))


def limits():
    with at_most(3), large_decomposition(SMALL + 1):
        with small_matrices():
            pass
        with at_most(2):
            pass


def settings():
    with (
        working_method("Nobody.works"),
        limited_memory("1 MB", ROWS),
        _warnings.ignored(UserWarning),
        _warnings.raised(RuntimeWarning),
        _progress.unreported(),
        _progress.report_progress(print),
    ):
        pass


def work_in_threads():
    run_parallel(lambda i: run_parallel(abs, range(2)), range(3))


@on_own_threads
@gives_finite_numbers()
@working_method("decorated")
def decorated():
    return 1.0


def errors():
    """Two `with` statements that an error ends."""
    with contextlib.suppress(ValueError), working_method("Nobody.fails"):
        raise np.linalg.LinAlgError("no convergence")
    with contextlib.suppress(ZeroDivisionError), at_most(2):
        raise ZeroDivisionError


@_progress.report_progress(print)
def told():
    return 1.0


# All moments of these are many.
LONG = [pytest.param(work, marks=pytest.mark.net) for work in (work_in_threads, decorated, errors)]
WORKS = [limits, settings, told, *LONG]


@pytest.mark.parametrize("work", WORKS)
def test_an_interrupt_at_any_moment_leaves_nothing_behind(work):
    work()
    before, left = state(), []
    for at in range(1, MOST):
        interrupt = Moments(at).during(work)  # kept while states are compared, as sessions keep the last traceback
        after = state()
        left += [(at, name) for name in before if after[name] != before[name]]
        if interrupt is None:
            break
    assert at > 20, "there are moments to interrupt"
    assert at < MOST - 1
    assert not left


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_two_interrupts_have_left_the_next_limit_restores(monkeypatch):
    before, leave, interrupts = state(), _blas.BlasLimit.leave, [KeyboardInterrupt, KeyboardInterrupt]

    def interrupted(limit):
        if interrupts:
            raise interrupts.pop()
        leave(limit)

    monkeypatch.setattr(_blas.BlasLimit, "leave", interrupted)
    with pytest.raises(KeyboardInterrupt), at_most(3):
        pass
    assert not interrupts and state() != before
    with at_most(2):
        assert _threads.available_threads() == 2
    assert state() == before
