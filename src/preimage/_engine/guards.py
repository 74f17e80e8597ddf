"""Settings that are changed for the time of a `with` statement and are restored after it, wherever Ctrl-C comes."""

import weakref
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T")

SILENCE: Any = {"divide": "ignore", "over": "ignore", "under": "ignore", "invalid": "ignore"}


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
