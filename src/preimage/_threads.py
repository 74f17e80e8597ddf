"""How many threads may be used, and independent pieces of work on that many, each with a BLAS of one thread."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache, wraps
from typing import Any

import joblib

from preimage._blas import AnotherBlasLimit, BlasLimit, blas_threads
from preimage._guards import Guard, Unwarned
from preimage._pool import run_job
from preimage._progress import unreported

# Rows of matrices up to which one thread is about as fast as several: threads gain a few milliseconds on an eigenvalue
# problem of this size. With a limit ten times larger, problems that take seconds would have one thread.
SMALL = 1000


class _Caller(threading.local):
    """The number of threads that a thread may use, or None where nobody has decided yet; and that of the process."""

    threads: int | None = None
    allowed = 1
    limit: "_Threads | None" = None  # the outermost one


_caller = _Caller()


def _after_fork() -> None:
    _caller.threads = None  # limits of the parent are lifted in a child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def run_parallel(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Call `work(item)` for every item, in threads where that helps; return the results in order.

    NumPy releases the interpreter lock in its loops and BLAS calls, so threads over blocks also speed up what BLAS
    does not thread: exponentials, clamps, copies. Each thread takes the next item when it has done one: with several
    items per thread, a slow one holds up nobody. Where there are fewer items than threads, calls from inside `work`
    share the others; otherwise they run serially. All callers of a process share one set of threads.
    """
    items = list(items)
    available = available_threads()
    threads = min(len(items), available)
    if threads <= 1:
        return [work(item) for item in items]
    if _caller.threads is None:
        with _Threads(None):
            return run_parallel(work, items)
    inner, allowed = available // threads, _caller.allowed

    def work_inside(item: Any) -> Any:
        outer = _caller.threads
        try:
            _caller.threads, _caller.allowed = inner, allowed
            return work(item)
        finally:
            _caller.threads = outer

    with unreported():  # progress of pieces that run side by side would be shown mixed up
        return run_job(work_inside, items, threads, allowed)


def run_several(work: Callable[[Any], Any], items: Iterable[Any], most: int) -> list[Any]:
    """As `run_parallel`, with at most so many items at a time, for work that takes memory.

    Where those are fewer than the threads, calls from inside `work` share the others.
    """
    items = list(items)
    if most >= min(len(items), available_threads()):
        return run_parallel(work, items)
    # Each of so many workers takes every so-many-th item, one after the other.
    parts = run_parallel(lambda first: [work(item) for item in items[first::most]], range(most))
    results = [None] * len(items)
    for first, part in enumerate(parts):
        results[first::most] = part
    return results


def available_threads() -> int:
    """The number of threads that the calling thread may use here."""
    return allowed_threads() if _caller.threads is None else _caller.threads


def allowed_threads() -> int:
    """The number of threads that the process may use.

    The smallest of what BLAS may use (OMP_NUM_THREADS, threadpoolctl, the limit that joblib gives its worker processes)
    and of the cores that the process may run on.
    """
    return min(blas_threads(), allowed_cores())


def allowed_cores() -> int:
    """Cores that the process may use: those it may be scheduled on, and no more than the CPU quota of its container."""
    scheduled = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return _cores_within_quota(os.getpid(), scheduled)


def at_most(n_jobs: int | None) -> Guard:
    """Use at most `n_jobs` threads inside a `with` statement, all of them by `run_parallel`: BLAS has one thread.

    −1 or None is all cores, −2 all but one. Enter it once for a whole fit: pools of BLAS libraries spin while they wait
    and take cores from each other and from threads of ours, and on a busy machine all of them wait for the one thread
    that has no core. What only BLAS and LAPACK can do in parallel is in `large_decomposition`.

    NumPy does not warn inside: methods of estimators check their results instead.
    """
    return _Threads(n_jobs, Unwarned())


class _Threads(Guard):
    """At most `n_jobs` threads inside a `with` statement; the outermost one lets BLAS have one thread."""

    def __init__(self, n_jobs: int | None, *others: Guard) -> None:
        self.n_jobs = n_jobs
        self.others = list(others)
        self.outer: tuple[int | None, ...] = ()

    def enter(self) -> None:
        if self.n_jobs == 0:
            raise ValueError(
                "n_jobs=0 has no meaning: give a number of threads, -1 or None for all, -2 for all but one."
            )
        if _caller.limit is not None and _caller.limit.is_over:  # a second Ctrl-C came while it was lifted
            _caller.limit.leave()
        outer, count = _caller.threads, available_threads()
        self.outer = (outer,)
        if outer is None:
            _caller.allowed, _caller.limit = count, self
            self.others.append(BlasLimit(1))
        if self.n_jobs is not None:
            count = min(count, self.n_jobs if self.n_jobs > 0 else max(1, allowed_cores() + 1 + self.n_jobs))
        _caller.threads = count
        for other in self.others:
            other.enter()

    def leave(self) -> None:
        for outer in self.outer:
            _caller.threads = outer
        for other in self.others:
            other.leave()


def within_n_jobs(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an estimator that uses at most its `n_jobs` threads."""

    @wraps(method)
    def limited(self: Any, *arguments: Any, **options: Any) -> Any:
        with at_most(self.n_jobs):
            return method(self, *arguments, **options)

    return limited


def on_own_threads(method: Callable[..., Any]) -> Callable[..., Any]:
    """A function or method inside which BLAS has one thread, and `run_parallel` all that are available."""

    @wraps(method)
    def limited(*arguments: Any, **options: Any) -> Any:
        with at_most(None):
            return method(*arguments, **options)

    return limited


def small_matrices(n_rows: int = 0) -> AbstractContextManager[None]:
    """Work with one thread inside a `with` statement if matrices have at most `SMALL` rows.

    Starting and joining threads takes longer than a product of small matrices, and much longer when other processes
    keep the cores busy and a thread waits for one.
    """
    return at_most(1) if n_rows <= SMALL else contextlib.nullcontext()


def large_decomposition(n_rows: int) -> AbstractContextManager[None]:
    """Give BLAS the threads of the caller inside a `with` statement if matrices have more than `SMALL` rows.

    For eigenvectors and triangular factors, which cannot be cut into independent pieces. Up to `SMALL` rows BLAS keeps
    the one thread that it has in `at_most`.
    """
    threads = _caller.threads
    if threads is None or threads == 1 or n_rows <= SMALL:
        return contextlib.nullcontext()
    return AnotherBlasLimit(1, threads)


@cache
def _cores_within_quota(process: int, scheduled: int) -> int:
    # joblib reads the quota of control groups (both versions) and LOKY_MAX_CPU_COUNT; files, so once is enough.
    return max(1, min(scheduled, joblib.cpu_count()))
