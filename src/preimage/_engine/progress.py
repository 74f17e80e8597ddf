"""Progress of long computations: one hook for bars, for functions of users and for scikit-learn's callbacks."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from contextvars import ContextVar
from functools import wraps
from threading import Lock
from typing import Any, TypeAlias, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin as ReportsProgress
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class ReportsProgress:  # type: ignore[no-redef]
        """An estimator whose fits report progress; it takes callbacks where scikit-learn has them."""

    def with_callbacks(method: Any) -> Any:
        return method


from preimage._engine.warnings import Guard, Setting

__all__ = ["Callback", "ProgressBar", "ReportsProgress", "progress_bar", "report_progress", "reports_progress", "stage"]

# Takes (done, total, message); see `report_progress`.
Callback: TypeAlias = Callable[[int, int | None, str], None]
Method = TypeVar("Method", bound=Callable[..., Any])

# Who is told at present: None where nobody asked, and () inside a stage, whose parts are not reported.
_listeners: ContextVar[tuple[Callback, ...] | None] = ContextVar("progress_listeners", default=None)

# A terminal shows ten pictures a second as movement; drawing more often would only cost time.
SECONDS_BETWEEN_DRAWINGS = 0.1
# Width in characters of the bar itself; with a message and numbers, a line stays below 80.
BAR_WIDTH = 24
# Most subtasks of a stage that scikit-learn's callbacks hear of: each is an object that they keep, and bars show
# percentages anyway.
MOST_SUBTASKS = 100


def report_progress(callback: Callback) -> "Reporting":
    """Report the progress of long computations to a function.

    The parameter `verbose` of estimators and functions shows a bar; this is for bars and logs of your own.

    Parameters
    ----------
    callback : callable
        Called as ``callback(done, total, message)``: `message` names a stage of the computation, and `done` of its
        `total` steps are finished. `total` is None while it is unknown. The first call of a stage comes before its
        first step; the last one has `done` equal to `total`. Stages follow each other: what happens inside a step of
        one is not reported. Calls may come from other threads, but never two at a time. Computations that you start in
        threads or processes of your own, such as joblib's, are heard only if they enter `report_progress` themselves.

    Returns
    -------
    context manager
        Progress is reported while it is open. As a decorator, it reports what a function does.

    See Also
    --------
    KernelPCA : Has `verbose`, as other estimators do.
    explore : A long computation for large data.

    Examples
    --------
    >>> from preimage import report_progress
    >>> from preimage.neuro import make_scans
    >>> from preimage.neuro import split_half
    >>> from preimage import PenalizedDiscriminant
    >>> scans = make_scans(n_runs=4, n_times=30, size=12, random_state=0)
    >>> with report_progress(lambda done, total, message: print(f"{message}: {done} of {total}")):
    ...     result = split_half(PenalizedDiscriminant(10.0), scans.X, scans.y, scans.run)
    Split halves: 0 of 3
    Split halves: 1 of 3
    Split halves: 2 of 3
    Split halves: 3 of 3
    """
    return Reporting(callback)


class Reporting(ContextDecorator, Guard):
    """Tells a function of progress, besides those who are told already when it is entered."""

    def __init__(self, callback: Callback) -> None:
        self.callback = callback
        self.before: tuple[tuple[Callback, ...] | None, ...] = ()

    def enter(self) -> None:
        listeners = _listeners.get()
        # Entered twice, it restores what was there before the first time.
        self.before = self.before or (listeners,)
        _listeners.set((*(listeners or ()), self.callback))

    def leave(self) -> None:
        for listeners in self.before:
            _listeners.set(listeners)
        self.before = ()

    def _recreate_cm(self) -> "Reporting":
        # `ContextDecorator` asks for one per call: a function may call itself, or run in several threads.
        return Reporting(self.callback)


@contextmanager
def stage(message: str, total: int | None = None, done: int = 0) -> Iterator[Callable[..., None]]:
    """A part of a computation that is worth reporting; yields ``advance(steps=1)``.

    Free when nobody listens. Parts of a stage that are stages themselves are not reported.

    Parameters
    ----------
    message : str
        What is done, such as "Selecting landmarks".
    total : int or None
        Number of steps, if it is known.
    done : int
        Steps that an earlier run has done.
    """
    listeners = _listeners.get()
    if not listeners:
        yield _ignore
        return
    lock = Lock()

    def tell(total: int | None) -> None:
        for listener in listeners:
            listener(done, total, message)

    def advance(steps: int = 1) -> None:
        nonlocal done
        with lock:
            done += steps
            tell(total)

    tell(total)
    with _told(()):
        yield advance
    if done != total:
        tell(done)


def unreported() -> Guard:
    """Report no stage inside the `with` statement."""
    return _told(())


def reports_progress(method: Method) -> Method:
    """A method of an estimator whose stages are shown if it is `verbose`, and told to its scikit-learn callbacks."""

    @with_callbacks
    def outermost(self: Any, *arguments: Any, **options: Any) -> Any:
        with progress_bar(self.verbose), _told_to_callbacks(self):
            return method(self, *arguments, **options)

    @wraps(method)
    def reporting(self: Any, *arguments: Any, **options: Any) -> Any:
        # `fit_transform` may call `fit`: scikit-learn's callbacks are set up and torn down once.
        is_reporting = hasattr(self, "_callback_fit_ctx")
        has_listeners = self.verbose or getattr(self, "_skl_callbacks", None) or hasattr(self, "_parent_callback_ctx")
        return (method if is_reporting or not has_listeners else outermost)(self, *arguments, **options)

    return reporting  # type: ignore[return-value]  # the same signature, which TypeVar cannot say


@contextmanager
def progress_bar(verbose: Any) -> Iterator[None]:
    """Show a bar for every stage inside the `with` statement, if `verbose` and if no other bar is shown."""
    listeners = _listeners.get()
    inside_stage = listeners == ()
    if not verbose or inside_stage or any(isinstance(listener, ProgressBar) for listener in listeners or ()):
        yield
        return
    bar = ProgressBar()
    try:
        with report_progress(bar):
            yield
    finally:
        bar.clear()


class ProgressBar:
    """Draws a line on a terminal's standard error; elsewhere it writes one line when a stage has ended."""

    def __init__(self) -> None:
        self.started: float | None = None
        self.first = 0
        self.drawn = -float("inf")
        self.length = 0

    def __call__(self, done: int, total: int | None, message: str) -> None:
        now = time.monotonic()
        if self.started is None:
            self.started, self.first = now, done
        if done == total:
            self._end(done, message, now - self.started)
        elif sys.stderr.isatty() and now >= self.drawn + SECONDS_BETWEEN_DRAWINGS:
            self._draw(self._line(done, total, message, now - self.started))
            self.drawn = now

    def clear(self) -> None:
        """Remove what is drawn."""
        if self.length:
            self._draw("")

    def _end(self, done: int, message: str, seconds: float) -> None:
        self.clear()
        if not sys.stderr.isatty():
            print(f"{message}: {done:,} in {seconds:.1f} s", file=sys.stderr)
        self.started, self.drawn = None, -float("inf")

    def _line(self, done: int, total: int | None, message: str, seconds: float) -> str:
        if total is None:
            return f"{message}: {done:,} ({_clock(seconds)})" if done else f"{message} ..."
        filled = round(BAR_WIDTH * done / total)
        new = done - self.first  # steps of an earlier run took none of our time
        left = f"  {new / max(seconds, 1e-3):,.3g}/s, {_clock(seconds * (total - done) / new)} left" if new else ""
        return f"{message} [{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done:,}/{total:,}{left}"

    def _draw(self, line: str) -> None:
        line = line[: shutil.get_terminal_size().columns - 1]  # a line that wraps cannot be drawn over
        sys.stderr.write("\r" + line.ljust(self.length) + ("" if line else "\r"))
        sys.stderr.flush()
        self.length = len(line)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _told(listeners: tuple[Callback, ...]) -> Guard:
    return Setting(_listeners, listeners)


@contextmanager
def _told_to_callbacks(estimator: Any) -> Iterator[None]:
    """Tell stages to the callbacks of `estimator.set_callbacks`, and to those that a search or pipeline hands down."""
    if not getattr(estimator, "_skl_callbacks", None) and not hasattr(estimator, "_parent_callback_ctx"):
        yield
        return
    root = estimator._init_callback_context(max_subtasks=None)
    root.call_on_fit_task_begin(estimator=estimator)
    with report_progress(_Tasks(estimator, root)):
        yield
    root.call_on_fit_task_end(estimator=estimator)


class _Tasks:
    """Stages as tasks of scikit-learn's callbacks, steps as their subtasks.

    A callback that asks to stop is not obeyed: stages have no meaning when only a part of them is done.
    """

    def __init__(self, estimator: Any, root: Any) -> None:
        self.estimator, self.root = estimator, root
        self.task: Any = None
        self.steps: int | None = None
        self.told = 0

    def __call__(self, done: int, total: int | None, message: str) -> None:
        if self.task is None:
            self.steps, self.told = None if total is None else min(total, MOST_SUBTASKS), 0
            self.task = self.root.subcontext(task_name=message, max_subtasks=self.steps)
            self.task.call_on_fit_task_begin(estimator=self.estimator)
        # Callbacks get at most `MOST_SUBTASKS` subtasks per stage: a pass over a million blocks would drown them in
        # calls.
        reached = done if self.steps is None or not total else done * self.steps // total
        reached = min(reached, self.told + 1) if self.steps is None else min(reached, self.steps)
        while self.told < reached:
            step = self.task.subcontext(task_name=message)
            step.call_on_fit_task_begin(estimator=self.estimator)
            step.call_on_fit_task_end(estimator=self.estimator)
            self.told += 1
        if done == total:
            self.task.call_on_fit_task_end(estimator=self.estimator)
            self.task = None


def _ignore(steps: int = 1) -> None:
    return None
