"""Settings that hold inside a `with` statement, wherever Ctrl-C comes; and warnings that point to the user's line."""

import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from enum import Enum
from functools import partial
from typing import Any, Generic, TypeVar

import joblib
import numpy as np
import sklearn

T = TypeVar("T")

SILENCE: Any = {"divide": "ignore", "over": "ignore", "under": "ignore", "invalid": "ignore"}
# Packages whose lines are not the user's: ours, and those that call our methods for the user. NumPy does so in
# functions that `unwarned` decorates.
_INSIDE = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep
    for file in (os.path.dirname(__file__), sklearn.__file__, joblib.__file__, np.__file__)
)


class _Exit:
    """`__exit__` of a guard: a function of its own for each `with` statement, and one for all on the class.

    `with` asks the guard for it. `contextlib.ExitStack` and `unittest` ask its class and pass the guard, as if
    `__exit__` were a method; for them it is one.
    """

    def __get__(self, guard: "Guard | None", owner: type | None = None) -> Callable[..., None]:
        if guard is None:
            return _end
        # Python asks for it before it calls `__enter__`. A partial function leaves no frame of its own in tracebacks.
        ending = partial(_end, guard)
        guard._ending = weakref.ref(ending, guard._leave_again)
        return ending


class Guard:
    """A context manager of which `leave` runs to its end once, even if Ctrl-C comes at any call in it or before it.

    Python raises KeyboardInterrupt between two instructions: in `__enter__` when half of it is done, or in `__exit__`
    before its first line. A generator with `try` and `finally` is not left then, as long as somebody keeps the
    traceback, which interactive sessions do. So the `with` statement gets a function as its `__exit__` that nobody
    else refers to. When that function is gone, the statement is over. If `leave` has not come to its end by then, it is
    called again; so it restores what it finds changed, and may be called twice.
    """

    _ending: "weakref.ref[Any] | None" = None

    def enter(self) -> None:
        """Note what is there, then change it."""
        raise NotImplementedError

    def leave(self) -> None:
        """Restore what `enter` has changed, all or a part of it; nothing if there is nothing to restore."""
        raise NotImplementedError

    def explain(self, error: BaseException | None) -> None:
        """May raise another error for the one that ends the `with` statement, after `leave`."""

    @property
    def is_over(self) -> bool:
        """Whether the `with` statement has ended, and `leave` has not."""
        return self._ending is not None and self._ending() is None

    def __enter__(self) -> None:
        self.enter()

    __exit__ = _Exit()

    def _leave_again(self, ending: Any) -> None:
        self.leave()


def _end(guard: Guard, kind: Any = None, error: BaseException | None = None, traceback: Any = None) -> None:
    guard.leave()
    guard._ending = None
    guard.explain(error)


class Setting(Guard, Generic[T]):
    """The value of a context variable inside a `with` statement, in this thread and in those that work for it."""

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self.variable, self.value = variable, value
        self.before: tuple[T, ...] = ()

    def enter(self) -> None:
        self.before = (self.variable.get(),)
        self.variable.set(self.value)

    def leave(self) -> None:
        for value in self.before:
            self.variable.set(value)


class Unwarned(Guard):
    """No warnings of NumPy's inside a `with` statement; they are as before even if NumPy itself is interrupted."""

    def __init__(self) -> None:
        self.before: Any = None
        self.state: np.errstate | None = None

    def enter(self) -> None:
        before = np.geterr()
        if before == SILENCE:
            return
        self.before, state = before, np.errstate(**SILENCE)
        state.__enter__()
        self.state = state

    def leave(self) -> None:
        if self.before is None:
            return
        state, self.state = self.state, None  # NumPy restores a state once, and faster than `seterr` sets it
        if state is None:
            np.seterr(**self.before)
        else:
            state.__exit__(None, None, None)
        self.before = None


class _Treatment(Enum):
    IGNORE = "ignore"
    RAISE = "raise"


# What becomes of our warnings in this thread and in those that work for it; the last that fits counts. Python's own
# filters belong to the whole process: threads that set and restore them side by side leave some of them behind. Whoever
# catches warnings of other packages holds `filters_in_use` meanwhile, also within such work, and needs no other threads
# of ours.
_treatments: ContextVar[tuple[tuple[type[Warning], _Treatment], ...]] = ContextVar("treatments", default=())
filters_in_use = threading.RLock()


def unwarned() -> np.errstate:
    """No warnings of NumPy's inside a `with` statement, or a function that this decorates.

    For work on values that may leave the range of numbers, where infinity is the right limit or results are checked.
    """
    return np.errstate(**SILENCE)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside of this package, scikit-learn, joblib and NumPy on the way to the caller."""
    treatment = next((how for of, how in reversed(_treatments.get()) if issubclass(category, of)), None)
    if treatment is _Treatment.RAISE:
        raise category(message)
    if treatment is _Treatment.IGNORE:
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    # `level` counts this function and the first frame outside.
    warnings.warn(message, category, stacklevel=level)


def _treated(category: type[Warning], treatment: _Treatment) -> Guard:
    return Setting(_treatments, (*_treatments.get(), (category, treatment)))


def ignored(category: type[Warning]) -> Guard:
    """Let `warn_user` not warn of `category` inside a `with` statement."""
    return _treated(category, _Treatment.IGNORE)


def raised(category: type[Warning]) -> Guard:
    """Let `warn_user` raise warnings of `category` inside a `with` statement."""
    return _treated(category, _Treatment.RAISE)
