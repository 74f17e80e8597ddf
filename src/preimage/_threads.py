"""Run independent pieces of work on all cores, each with a BLAS of one thread."""

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_local = threading.local()
_active = 0
_limit = None


def run_parallel(work, items):
    """Call `work(item)` for every item, in threads where that helps; return the results in order.

    NumPy releases the interpreter lock in its loops and BLAS calls, so threads over blocks also speed up what BLAS
    does not thread: exponentials, clamps, copies. Pieces that are themselves run in such a thread stay serial.
    """
    items = list(items)
    workers = min(len(items), available_threads())
    if workers < 2 or getattr(_local, "inside", False):
        return [work(item) for item in items]
    with single_threaded_blas():
        return list(_pool(os.getpid(), workers).map(lambda item: _inside(work, item), items))


def available_threads():
    """The number of threads BLAS may use here: honours threadpoolctl, OMP_NUM_THREADS and joblib workers."""
    if _active:
        return 1
    counts = [library["num_threads"] for library in _controller(os.getpid()).info() if library["user_api"] == "blas"]
    return max(counts, default=1)


def _inside(work, item):
    _local.inside = True
    try:
        return work(item)
    finally:
        _local.inside = False


@contextlib.contextmanager
def single_threaded_blas():
    """Limit BLAS to one thread inside a `with` statement."""
    # The limit is global to the process: only the first user sets it and the last one lifts it, so that two
    # callers in different threads cannot leave BLAS limited for ever.
    global _active, _limit
    with _lock:
        _active += 1
        if _active == 1:
            _limit = _controller(os.getpid()).limit(limits=1, user_api="blas")
            _limit.__enter__()
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if _active == 0:
                _limit.__exit__(None, None, None)


@cache
def _controller(process):
    return ThreadpoolController()


@cache
def _pool(process, workers):
    # Keyed by process: a forked child inherits the cache but not the threads.
    return ThreadPoolExecutor(workers, thread_name_prefix="preimage")
