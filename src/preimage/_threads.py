"""Run independent pieces of work on all cores, each with a BLAS of one thread."""

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from threadpoolctl import ThreadpoolController

_local = threading.local()
_limit = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child must not inherit a lock that a thread it lacks will never release
    os.register_at_fork(after_in_child=lambda: globals().update(_limit=threading.Lock()))


def run_parallel(work, items):
    """Call `work(item)` for every item, in threads where that helps; return the results in order.

    NumPy releases the interpreter lock in its loops and BLAS calls, so threads over blocks also speed up what BLAS
    does not thread: exponentials, clamps, copies. Pieces that are themselves run in such a thread stay serial, and so
    does a second caller while a first one has the cores.
    """
    items = list(items)
    workers = min(len(items), available_threads())
    if workers > 1 and not getattr(_local, "inside", False):
        with single_threaded_blas() as limited:
            if limited:
                return list(_pool(os.getpid(), workers).map(lambda item: _inside(work, item), items))
    return [work(item) for item in items]


def available_threads():
    """The number of threads BLAS may use here: honours threadpoolctl, OMP_NUM_THREADS and joblib workers."""
    counts = [library["num_threads"] for library in _controller(os.getpid()).info() if library["user_api"] == "blas"]
    return max(counts, default=1)


@contextlib.contextmanager
def single_threaded_blas():
    """Limit BLAS to one thread inside a `with` statement; yields whether this caller holds the limit.

    The limit is global to the process and only the thread that sets it can lift it, so one caller at a time has it.
    """
    if not _limit.acquire(blocking=False):
        yield False
        return
    try:
        with _controller(os.getpid()).limit(limits=1, user_api="blas"):
            yield True
    finally:
        _limit.release()


@contextlib.contextmanager
def at_most(n_jobs):
    """Use at most `n_jobs` threads inside a `with` statement; negative numbers count from all cores, None is all."""
    if n_jobs is None or n_jobs == -1:
        yield
        return
    count = n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    with _controller(os.getpid()).limit(limits=min(count, available_threads()), user_api="blas"):
        yield


def _inside(work, item):
    _local.inside = True
    try:
        return work(item)
    finally:
        _local.inside = False


@cache
def _controller(process):
    return ThreadpoolController()


@cache
def _pool(process, workers):
    # Keyed by process: a forked child inherits the cache but not the threads.
    return ThreadPoolExecutor(workers, thread_name_prefix="preimage")
