"""Warnings that point to the line of the user, however deep in the package they arise."""

import os
import sys
import threading
import warnings
from contextvars import ContextVar
from enum import Enum

import joblib
import numpy as np
import sklearn

from preimage._engine.guards import Guard, Setting

# Packages whose lines are not the user's: ours, and those that call our methods for the user. NumPy does so in
# functions that `unwarned` decorates.
_INSIDE = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep
    for file in (os.path.dirname(__file__), sklearn.__file__, joblib.__file__, np.__file__)
)


class _Treatment(Enum):
    IGNORE = "ignore"
    RAISE = "raise"


# What becomes of our warnings in this thread and in those that work for it; the last that fits counts. Python's own
# filters belong to the whole process: threads that set and restore them side by side leave some of them behind. Whoever
# catches warnings of other packages holds `filters_in_use` meanwhile, and needs no other threads of ours.
_treatments: ContextVar[tuple[tuple[type[Warning], _Treatment], ...]] = ContextVar("treatments", default=())
filters_in_use = threading.Lock()


def unwarned() -> np.errstate:
    """No warnings of NumPy's inside a `with` statement, or a function that this decorates.

    For work on values that may leave the range of numbers, where infinity is the right limit or results are checked.
    """
    return np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")


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
