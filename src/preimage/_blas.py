"""The number of threads that BLAS libraries use: what it is, and limits on it while something else uses the cores."""

import os
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from preimage._guards import Guard


class _Limits:
    """The limits on the number of BLAS threads that are in force at present.

    The number of threads is global to the process. The first who sets a limit records what it was, the smallest of the
    present limits holds, and the last to lift a limit restores the number, in whatever order threads come and go. A
    number that somebody else has set meanwhile (threadpoolctl in another thread) stays.

    Every limit has a key, so that it can be lifted twice: Ctrl-C may come at any call, also at the one that lifts it.
    While a number changes, both the old and the new one are ours.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counts: dict[object, int] = {}
        self.before: list[tuple[Any, int]] = []
        self.applied: list[set[int]] = []  # numbers that we have set for the libraries of `before`

    def enter(self, key: object, count: int) -> None:
        with self.lock:
            if not self.counts:
                self.before = [(library, library.get_num_threads()) for library in _libraries(os.getpid()).shared]
                self.applied = [{threads} for _, threads in self.before]
            self.counts[key] = count
            self._apply()

    def leave(self, key: object) -> None:
        with self.lock:
            if key in self.counts:  # it is not in a process that was forked inside the limit
                self._apply(without=key)
                del self.counts[key]

    def find(self, count: int) -> object:
        """The key of a limit of so many threads that is in force, or None."""
        with self.lock:
            return next((key for key, present in self.counts.items() if present == count), None)

    def exchange(self, key: object, count: int) -> None:
        """Let a limit that is in force be another one."""
        with self.lock:
            if key in self.counts:
                self.counts[key] = count
                self._apply()

    def unlimited(self) -> int:
        """The largest number of threads without the present limits."""
        with self.lock:
            if self.counts:
                return max((threads for _, threads in self.before), default=1)
            return max((library.get_num_threads() for library in _libraries(os.getpid()).shared), default=1)

    def forget(self) -> None:
        """Start again in a forked child: threads of the parent will never release the lock or lift a limit there."""
        limited = bool(self.counts)
        self.lock, self.counts = threading.Lock(), {}
        if limited:
            self._apply()

    def _apply(self, without: object = None) -> None:
        smallest = min((count for key, count in self.counts.items() if key is not without), default=None)
        for place, (library, threads) in enumerate(self.before):
            wanted, present = threads if smallest is None else min(threads, smallest), library.get_num_threads()
            if smallest is None and present not in self.applied[place]:
                continue
            if present != wanted:  # asking is ten times faster than setting
                self.applied[place] = {present, wanted}
                _set(library, wanted)
            self.applied[place] = {wanted}


_limits = _Limits()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limits.forget)


def blas_threads() -> int:
    """The number of threads BLAS may use, not counting limits of ours: honours threadpoolctl and OMP_NUM_THREADS.

    To be asked before the calling thread sets a limit.
    """
    return max(_limits.unlimited(), *(library.get_num_threads() for library in _libraries(os.getpid()).own), 1)


class BlasLimit(Guard):
    """At most `count` threads of BLAS inside a `with` statement, in the whole process."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.own: list[tuple[Any, int]] = []

    def enter(self) -> None:
        self.own = [(library, library.get_num_threads()) for library in _libraries(os.getpid()).own]
        _limits.enter(self, self.count)
        limit_own_threads(self.count)

    def leave(self) -> None:
        _limits.leave(self)
        for library, threads in self.own:
            _set(library, threads)


class AnotherBlasLimit(Guard):
    """`other` in the place of a limit of `count` threads inside a `with` statement."""

    def __init__(self, count: int, other: int) -> None:
        self.count, self.other = count, other
        self.key: object = None

    def enter(self) -> None:
        self.key = _limits.find(self.count)
        _limits.exchange(self.key, self.other)
        limit_own_threads(self.other)

    def leave(self) -> None:
        _limits.exchange(self.key, self.count)
        limit_own_threads(self.count)


def limit_own_threads(count: int) -> None:
    """Limit the BLAS libraries that have a number of threads for each calling thread, in this one."""
    for library in _libraries(os.getpid()).own:
        _set(library, count)


@dataclass(frozen=True)
class _Libraries:
    """BLAS libraries with one number of threads for the process, and those with one for each thread that calls them."""

    shared: list[Any]
    own: list[Any]


@cache
def _libraries(process: int) -> _Libraries:
    """The libraries that are loaded when it is first asked for, in each process: NumPy's and SciPy's."""
    loaded = ThreadpoolController().select(user_api="blas").lib_controllers
    is_own = [getattr(library, "threading_layer", None) == "openmp" for library in loaded]
    return _Libraries(
        [library for library, own in zip(loaded, is_own, strict=True) if not own],
        [library for library, own in zip(loaded, is_own, strict=True) if own],
    )


def _set(library: Any, count: int) -> None:
    # From version 3.7 on, threadpoolctl obeys one thread until that says it is done, and silently ignores all others.
    release = getattr(library, "clear_controlling_thread", _nothing)
    release(force=True)
    library.set_num_threads(count)
    release(force=True)


def _nothing(force: bool) -> None:
    pass
