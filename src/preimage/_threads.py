"""Run independent pieces of work on all cores, each with a BLAS of one thread."""

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps

from threadpoolctl import ThreadpoolController

_local = threading.local()
_cores = threading.Lock()


class _Limits:
    """How many threads BLAS may use, as all who limit it at present agree.

    The number is global to the process. The first user remembers what it was, the smallest limit among the present
    users holds, and the last one to leave restores it, in whatever order threads come and go.
    """

    def __init__(self):
        self.lock, self.counts, self.before = threading.Lock(), [], []

    def enter(self, count):
        with self.lock:
            if not self.counts:
                libraries = _controller(os.getpid()).select(user_api="blas").lib_controllers
                self.before = [(library, library.get_num_threads()) for library in libraries]
            self.counts.append(count)
            self._apply()

    def leave(self, count):
        with self.lock:
            if count in self.counts:  # not in a process that was forked from inside
                self.counts.remove(count)
                self._apply()

    def forget(self):
        """Begin anew in a forked child: threads that it lacks would never release the lock or lift a limit."""
        limited = bool(self.counts)
        self.lock, self.counts = threading.Lock(), []
        if limited:
            self._apply()

    def _apply(self):
        for library, threads in self.before:
            library.set_num_threads(min([threads, *self.counts]))


_limits = _Limits()


def _after_fork():
    global _cores
    _cores = threading.Lock()
    _limits.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
    """Limit BLAS to one thread inside a `with` statement; yields whether this caller has the cores for itself.

    One caller at a time has them; for others BLAS has one thread as well.
    """
    cores = _cores  # another lock after a fork
    alone = cores.acquire(blocking=False)
    try:
        with _limited(1):
            yield alone
    finally:
        if alone:
            cores.release()


@contextlib.contextmanager
def at_most(n_jobs):
    """Use at most `n_jobs` threads inside a `with` statement; negative numbers count from all cores, None is all."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: give a number of threads, -1 or None for all, -2 for all but one.")
    if n_jobs is None or n_jobs == -1:
        yield
        return
    with _limited(n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)):
        yield


def within_n_jobs(method):
    """A method of an estimator that uses at most its `n_jobs` threads."""

    @wraps(method)
    def limited(self, *arguments, **options):
        with at_most(self.n_jobs):
            return method(self, *arguments, **options)

    return limited


@contextlib.contextmanager
def _limited(count):
    _limits.enter(count)
    try:
        yield
    finally:
        _limits.leave(count)


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
