"""The same model at several widths of its kernel."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from preimage._engine.typing import Rows, Targets
from preimage.estimators import CompressedTransformer, OrientedKernelPCA
from preimage.kernels import Kernel

# Names of kernels that have no width.
WITHOUT_WIDTH = ("linear", "cosine", "precomputed")


def fitted_at(estimator: Any, widths: Sequence[Any], X: Rows, y: Targets) -> list[Any]:
    """Copies of a model with these widths as γ of its kernel, fitted to X and y."""
    widths = _checked(widths)
    models = []
    for width in widths:
        copy = _unfitted(estimator)
        _set_width(copy, width)
        models.append(copy.fit(X) if y is None else copy.fit(X, y))
    return models


def _checked(widths: Any) -> list[Any]:
    if isinstance(widths, (str, Real)) or not hasattr(widths, "__iter__"):
        raise TypeError(f"explore takes widths as a list of values of gamma, such as [0.01, 0.1]; got {widths!r}.")
    widths = [width.item() if isinstance(width, np.generic) else width for width in widths]
    for width in widths:
        is_number = isinstance(width, (int, float)) and not isinstance(width, bool) and 0 < width < np.inf
        if not (is_number or isinstance(width, str)):
            raise ValueError(
                f"explore needs widths that are positive numbers, or rules such as 'median'; got {width!r}."
            )
    if not widths:
        raise ValueError("explore was given an empty list of widths. Leave it out to show the model as it is.")
    return widths


def _unfitted(estimator: Any) -> Any:
    """A copy that can be fitted: of what a search has found, and of what is frozen."""
    if isinstance(estimator, FrozenEstimator):
        return _unfitted(estimator.estimator)
    if hasattr(estimator, "best_estimator_"):
        return _unfitted(estimator.best_estimator_)
    copy = clone(estimator)
    if isinstance(copy, Pipeline):
        name, last = estimator.steps[-1]
        copy.steps[-1] = (name, _unfitted(last))
    return copy


def _set_width(estimator: Any, width: Any) -> None:
    if isinstance(estimator, Pipeline):
        return _set_width(estimator.steps[-1][1], width)
    if isinstance(estimator, CompressedTransformer):
        if estimator.estimator is None:
            estimator.estimator = type(estimator)._default()
        return _set_width(estimator.estimator, width)
    if isinstance(estimator, OrientedKernelPCA):
        raise TypeError(
            "explore cannot fit OrientedKernelPCA again for other widths: it does not know the noise that `fit` was "
            "given. Fit one model per width, and pass them as a list."
        )
    kernel = getattr(estimator, "kernel", None)
    if isinstance(kernel, str) and kernel not in WITHOUT_WIDTH:
        estimator.set_params(gamma=width)
        return
    named = kernel.get_params() if isinstance(kernel, Kernel) else {}
    found = [name for name in named if name.split("__")[-1] == "gamma"]
    if len(found) != 1:
        raise TypeError(
            f"explore changes gamma of the kernel to get other widths; {kernel!r} has {len(found) or 'none'} of it. "
            "Fit one model per width, and pass them as a list."
        )
    estimator.set_params(kernel=clone(kernel).set_params(**{found[0]: width}))
