"""Threads that wait for work, and a job that they share with the thread that wants it done."""

import contextvars
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from preimage._blas import limit_own_threads
from preimage._guards import Guard


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


def _after_fork() -> None:
    global _helpers
    _helpers = Helpers()  # a child has no threads but the one that forked


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def run_job(work: Callable[[Any], Any], items: Sequence[Any], threads: int, most: int) -> list[Any]:
    """The results of `work` on all items, by this thread and `threads` − 1 helpers, of which there are `most` − 1."""
    return _helpers.run(Job(work, items), threads - 1, most - 1)
