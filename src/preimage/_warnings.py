"""Warnings that point to the line of the user, however deep in the package they arise."""

import os
import sys
import warnings

import joblib
import sklearn

# Packages whose lines are not the user's: ours, and those that call our methods for the user.
_INSIDE = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep for file in (__file__, sklearn.__file__, joblib.__file__)
)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside of this package, scikit-learn and joblib on the way to the caller."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    # `level` counts this function and the first frame outside.
    warnings.warn(message, category, stacklevel=level)
