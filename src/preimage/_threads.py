"""Run independent pieces of work on all cores, each with a BLAS of one thread."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from typing import Any

from threadpoolctl import ThreadpoolController

# Rows of matrices up to which one thread is about as fast as several: threads gain a few milliseconds on an eigenvalue
# problem of this size. With a limit ten times larger, problems that take seconds would have one thread.
SMALL = 1000

_local = threading.local()
_cores = threading.Lock()


class _Limits:
    """The limits on the number of BLAS threads that are in force at present.

    The number of threads is global to the process. The first who sets a limit records what it was, the smallest of the
    present limits holds, and the last to lift a limit restores the number, in whatever order threads come and go.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counts: list[int] = []
        self.before: list[tuple[Any, int]] = []

    def enter(self, count: int) -> None:
        with self.lock:
            if not self.counts:
                libraries = _controller(os.getpid()).select(user_api="blas").lib_controllers
                self.before = [(library, library.get_num_threads()) for library in libraries]
            self.counts.append(count)
            self._apply()

    def leave(self, count: int) -> None:
        with self.lock:
            if count in self.counts:  # it is not in a process that was forked inside the limit
                self.counts.remove(count)
                self._apply()

    def forget(self) -> None:
        """Start again in a forked child: threads of the parent will never release the lock or lift a limit there."""
        limited = bool(self.counts)
        self.lock, self.counts = threading.Lock(), []
        if limited:
            self._apply()

    def _apply(self) -> None:
        for library, threads in self.before:
            library.set_num_threads(min([threads, *self.counts]))


_limits = _Limits()


def _after_fork() -> None:
    global _cores
    _cores = threading.Lock()
    _limits.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def run_parallel(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Call `work(item)` for every item, in threads where that helps; return the results in order.

    NumPy releases the interpreter lock in its loops and BLAS calls, so threads over blocks also speed up what BLAS
    does not thread: exponentials, clamps, copies. Calls from inside such a thread run serially, and so does a second
    caller while a first one uses the cores.
    """
    items = list(items)
    workers = min(len(items), available_threads())
    if workers > 1 and not getattr(_local, "inside", False):
        with single_threaded_blas() as limited:
            if limited:
                return list(_pool(os.getpid(), workers).map(lambda item: _inside(work, item), items))
    return [work(item) for item in items]


def available_threads() -> int:
    """The number of threads BLAS may use here: honours threadpoolctl, OMP_NUM_THREADS and joblib workers."""
    counts = [library["num_threads"] for library in _controller(os.getpid()).info() if library["user_api"] == "blas"]
    return max(counts, default=1)


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[bool]:
    """Limit BLAS to one thread inside a `with` statement; yields whether this caller may start threads of its own.

    One caller at a time may; for the others BLAS has one thread as well.
    """
    cores = _cores  # held by name: a fork replaces the global one
    alone = cores.acquire(blocking=False)
    try:
        with _limited(1):
            yield alone
    finally:
        if alone:
            cores.release()


@contextlib.contextmanager
def small_matrices(n_rows: int = 0) -> Iterator[None]:
    """Work with one thread inside a `with` statement if matrices have at most `SMALL` rows.

    Starting and joining threads takes longer than a product of small matrices, and much longer when other processes
    keep the cores busy and a thread waits for one.
    """
    with single_threaded_blas() if n_rows <= SMALL else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def at_most(n_jobs: int | None) -> Iterator[None]:
    """Use at most `n_jobs` threads inside a `with` statement; −1 or None is all cores, −2 all but one."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: give a number of threads, -1 or None for all, -2 for all but one.")
    if n_jobs is None or n_jobs == -1:
        yield
        return
    with _limited(n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)):
        yield


def within_n_jobs(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an estimator that uses at most its `n_jobs` threads."""

    @wraps(method)
    def limited(self: Any, *arguments: Any, **options: Any) -> Any:
        with at_most(self.n_jobs):
            return method(self, *arguments, **options)

    return limited


@contextlib.contextmanager
def _limited(count: int) -> Iterator[None]:
    _limits.enter(count)
    try:
        yield
    finally:
        _limits.leave(count)


def _inside(work: Callable[[Any], Any], item: Any) -> Any:
    _local.inside = True
    try:
        return work(item)
    finally:
        _local.inside = False


@cache
def _controller(process: int) -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    # Cached per process, as a forked child inherits the cache but not the threads.
    return ThreadPoolExecutor(workers, thread_name_prefix="preimage")
