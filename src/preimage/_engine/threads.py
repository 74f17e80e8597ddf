"""How many threads may be used, and independent pieces of work on that many, each with a BLAS of one thread."""

import contextlib
import contextvars
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cache, wraps
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

from preimage._engine.kept_memory import settle_allocator
from preimage._engine.progress import unreported
from preimage._engine.warnings import Guard, Unwarned


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
                self.before = [(library, library.get_num_threads()) for library in _libraries(os.getpid())[0]]
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
            return max((library.get_num_threads() for library in _libraries(os.getpid())[0]), default=1)

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


def blas_threads() -> int:
    """The number of threads BLAS may use, not counting limits of ours: honours threadpoolctl and OMP_NUM_THREADS.

    To be asked before the calling thread sets a limit.
    """
    return max(_limits.unlimited(), *(library.get_num_threads() for library in _libraries(os.getpid())[1]), 1)


class BlasLimit(Guard):
    """At most `count` threads of BLAS inside a `with` statement, in the whole process."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.own: list[tuple[Any, int]] = []

    def enter(self) -> None:
        self.own = [(library, library.get_num_threads()) for library in _libraries(os.getpid())[1]]
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
    for library in _libraries(os.getpid())[1]:
        _set(library, count)


@cache
def _libraries(process: int) -> tuple[list[Any], list[Any]]:
    """BLAS libraries with one number of threads for the process, and those with one for each thread that calls them.

    Those that are loaded when it is first asked for, in each process: NumPy's and SciPy's.
    """
    loaded = ThreadpoolController().select(user_api="blas").lib_controllers
    own = [library for library in loaded if getattr(library, "threading_layer", None) == "openmp"]
    return [library for library in loaded if library not in own], own


def _set(library: Any, count: int) -> None:
    # From version 3.7 on, threadpoolctl obeys one thread until that says it is done, and silently ignores all others.
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(count)
    release(force=True)


class Job:
    """`work(item)` for every item, by as many threads as take part; each takes the next item that nobody has taken.

    The thread that wants the results takes part itself and never waits for a thread that has not begun. A thread that
    is held up, by another process on its core, holds up one item and no other.
    """

    def __init__(self, work: Callable[[Any], Any], items: Sequence[Any]) -> None:
        self.work = work
        self.items = items
        self.results: list[Any] = [None] * len(items)
        self._lock = threading.Lock()
        self._waiting = deque(range(len(items)))
        self._n_helping = 0  # items that helpers work on; the thread that wants the results knows of its own
        self._failures: dict[int, BaseException] = {}
        self._all_done = threading.Event()

    def take_part(self) -> None:
        """Work on items until none is left, in the thread that wants the results."""
        while (number := self._next(helping=0)) is not None:
            self._do(number)

    def help(self) -> None:
        """Work on items until none is left, in another thread."""
        while (number := self._next(helping=1)) is not None:
            self._do(number)
            self._finish()

    def _do(self, number: int) -> None:
        try:
            self.results[number] = self.work(self.items[number])
        except BaseException as error:  # the caller raises it
            self._failures[number] = error
            self.abandon()

    def abandon(self) -> None:
        """Begin no further item."""
        with self._lock:
            self._waiting.clear()

    def wait(self) -> None:
        """Until no helper works on an item, after `take_part` or `abandon`."""
        with self._lock:
            if self._n_helping == 0:
                return
        self._all_done.wait()

    def outcome(self) -> list[Any]:
        """The results in the order of items, or the error of the first item that has one, as in a loop."""
        if self._failures:
            # Items are taken in order, so that those before this one have been worked on too, and had no error.
            raise self._failures[min(self._failures)]
        return self.results

    def _next(self, helping: int) -> int | None:
        with self._lock:
            if not self._waiting:
                return None
            self._n_helping += helping
            return self._waiting.popleft()

    def _finish(self) -> None:
        with self._lock:
            self._n_helping -= 1
            if self._n_helping == 0 and not self._waiting:
                self._all_done.set()


class Helpers:
    """Threads that wait for jobs to take part in; they are started when first needed, and end with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: queue.SimpleQueue[tuple[contextvars.Context, Job]] = queue.SimpleQueue()
        self._n_threads = 0
        self._loans: dict[_Loan, int] = {}

    def run(self, job: Job, wanted: int, most: int) -> list[Any]:
        """Do a job with up to `wanted` helpers, of which there are at most `most` for all jobs at a time."""
        with _Loan(self, job, wanted, most):
            job.take_part()
            job.wait()
        return job.outcome()

    def lend(self, loan: "_Loan", wanted: int, most: int) -> None:
        """Let some helpers take part in the job of a loan."""
        with self._lock:
            n_lent = sum(self._loans.values())
            count = max(0, min(wanted, most - n_lent))
            if count and not self._n_threads:
                settle_allocator()
            while self._n_threads < n_lent + count:
                try:
                    threading.Thread(target=self._serve, name="preimage-helper", daemon=True).start()
                except RuntimeError:  # the system allows no more threads, or the interpreter is about to end
                    count = max(0, self._n_threads - n_lent)
                    break
                self._n_threads += 1
            self._loans[loan] = count
        for _ in range(count):
            # Settings that belong to a context, such as `numpy.errstate`, hold in all threads.
            self._calls.put((contextvars.copy_context(), loan.job))

    def take_back(self, loan: "_Loan") -> None:
        """Helpers of a loan have nothing left to do, even those that have not begun yet: they are free for others."""
        with self._lock:
            self._loans.pop(loan, None)

    def _serve(self) -> None:
        limit_own_threads(1)
        while True:
            context, job = self._calls.get()
            context.run(job.help)
            del context, job  # nothing is kept alive while waiting


class _Loan(Guard):
    """Helpers for a job inside a `with` statement; after it, Ctrl-C or not, none of them works on it."""

    def __init__(self, helpers: Helpers, job: Job, wanted: int, most: int) -> None:
        self.helpers, self.job = helpers, job
        self.wanted, self.most = wanted, most

    def enter(self) -> None:
        self.helpers.lend(self, self.wanted, self.most)

    def leave(self) -> None:
        self.job.abandon()
        self.job.wait()
        self.helpers.take_back(self)


_helpers = Helpers()


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
    """Forget limits, and threads, of the parent: a child has no threads but the one that forked."""
    global _helpers
    _limits.forget()
    _helpers, _caller.threads = Helpers(), None


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
        return _helpers.run(Job(work_inside, items), threads - 1, allowed - 1)


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
            if blas_threads() > 1:
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
    return at_most(1) if n_rows <= SMALL and _caller.threads != 1 else contextlib.nullcontext()


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
