"""Which models a page shows, and what they are called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import is_foreign
from preimage._engine.typing import Rows, Targets
from preimage.estimators import SemiSupervisedKernelPCA
from preimage.explorer._fronts import taken_apart
from preimage.explorer._models import fitted_kernel, width_of
from preimage.explorer._widths import fitted_at
from preimage.explorer._words import shown
from preimage.interop import machine_of
from preimage.persistence import on_host

# Widths that differ by less are one: rules such as "median" give the same number up to rounding.
SAME_WIDTH = 1e-9


@dataclass(frozen=True)
class NamedModels:
    """Fitted estimators with the names that a user gave them, or None, and the number of the one to show first."""

    estimators: list[Any]
    given_names: list[str] | None
    initial: int = 0

    @property
    def are_partly_labelled(self) -> bool:
        """Whether −1 among labels stands for none, as in models that learn from rows without labels."""
        return any(isinstance(taken_apart(each)[1], SemiSupervisedKernelPCA) for each in self.estimators)

    def names(self) -> list[str]:
        """Names for menus: those given, else widths where they differ, else classes."""
        if self.given_names is not None:
            return self.given_names
        last = [taken_apart(each)[1] for each in self.estimators]
        widths = [_width(each) for each in self.estimators]
        if len(last) > 1 and np.all(np.isfinite(widths)) and len(set(widths)) == len(widths):
            return [f"γ = {width:.3g}" for width in widths]
        classes = [type(each).__name__ for each in last]
        return classes if len(last) == 1 else [f"{number + 1}: {name}" for number, name in enumerate(classes)]


def named_models(model: Any, widths: Sequence[float] | None, X: Rows, y: Targets) -> NamedModels:
    """The models that a user asks for: one, several, or copies of one at several widths."""
    if isinstance(model, Mapping):
        estimators, names = list(model.values()), [shown(name) for name in model]
    elif isinstance(model, (list, tuple)):
        estimators, names = list(model), None
    else:
        estimators, names = [model], None
    if not estimators:
        raise ValueError("explore was given no model: the list is empty.")
    for each in estimators:
        fitted_kernel(taken_apart(each)[1])  # which refuses what pages cannot show
    estimators = [on_host(each) if _is_on_device(taken_apart(each)[1]) else each for each in estimators]
    if widths is None:
        return NamedModels(estimators, names)
    if len(estimators) > 1:
        raise ValueError(
            f"explore was given {len(estimators)} models and widths. Widths are for one model, of which copies are "
            "fitted; leave them out to compare the models."
        )
    return _with_widths(estimators[0], widths, X, y)


def _with_widths(estimator: Any, widths: Sequence[float], X: Rows, y: Targets) -> NamedModels:
    """The model and its copies by ascending width, each width once."""
    models = [estimator]
    for copy in fitted_at(estimator, widths, X, y):
        if not any(np.isclose(_width(copy), _width(each), rtol=SAME_WIDTH, atol=0) for each in models):
            models.append(copy)
    models.sort(key=_width)
    return NamedModels(models, None, next(i for i, each in enumerate(models) if each is estimator))


def _is_on_device(model: Any) -> bool:
    """Whether a fitted model has other arrays than NumPy's."""
    model = getattr(model, "kernel_pca_", model)
    return is_foreign((model.subspace_.frame if hasattr(model, "subspace_") else machine_of(model).expansion).points)


def _width(estimator: Any) -> float:
    """γ of the kernel of a fitted model; NaN where there is none."""
    width = width_of(fitted_kernel(taken_apart(estimator)[1]))
    return np.nan if width is None else width
