"""What comes before the kernel in a pipeline: affine steps in both directions, and imputers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from preimage._engine.warnings import unwarned
from preimage.interop._affine import affine_map_of

Steps = list[tuple[str, Any]]


@dataclass(frozen=True)
class Front:
    """The map x ↦ z = xA + b of rows of a user to inputs of the kernel, and a map back, z ↦ zC + c.

    Attributes
    ----------
    matrix, back : arrays of shape (D, d) and (d, D); or (D,) for maps that scale columns
    shift, back_shift : arrays of shape (d,) and (D,)
    """

    matrix: np.ndarray
    shift: np.ndarray
    back: np.ndarray
    back_shift: np.ndarray

    @classmethod
    def identity(cls, n_features: int) -> Front:
        one, zero = np.ones(n_features), np.zeros(n_features)
        return cls(one, zero, one, zero)

    @property
    def scales(self) -> bool:
        """Whether columns are scaled and shifted, each by itself."""
        return self.matrix.ndim == 1

    @property
    def is_identity(self) -> bool:
        return self.scales and bool(np.all(self.matrix == 1) and np.all(self.shift == 0))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return _times(X, self.matrix) + self.shift

    def inverse(self, Z: np.ndarray) -> np.ndarray:
        return _times(Z, self.back) + self.back_shift

    def then(self, other: Front) -> Front:
        """This map, followed by another."""
        return Front(
            _product(self.matrix, other.matrix),
            other(self.shift),
            _product(other.back, self.back),
            self.inverse(other.back_shift),
        )

    def shifted(self, shift: np.ndarray | None) -> Front:
        """This map with a vector subtracted from its results."""
        if shift is None:
            return self
        return self.then(Front(np.ones(shift.size), -shift, np.ones(shift.size), shift))

    def record(self) -> dict[str, Any] | None:
        """As a page has it; None for the identity."""
        if self.is_identity:
            return None
        if self.scales:
            return {"scale": self.matrix, "shift": self.shift}
        return {"matrix": self.matrix, "shift": self.shift, "back": self.back, "back_shift": self.back_shift}


def _times(X: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return X * matrix if matrix.ndim == 1 else X @ matrix


def _product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if first.ndim == 1:
        return first * second if second.ndim == 1 else first[:, None] * second
    return _times(first, second)


def taken_apart(estimator: Any) -> tuple[Steps, Any]:
    """The steps of a fitted pipeline or search before its last estimator, without those that change nothing; and it."""
    if isinstance(estimator, FrozenEstimator):
        return taken_apart(estimator.estimator)
    if hasattr(estimator, "best_estimator_"):
        return taken_apart(estimator.best_estimator_)
    if not isinstance(estimator, Pipeline):
        return [], estimator
    front: Steps = []
    for name, step in estimator.steps[:-1]:
        before, last = taken_apart(step)
        front += [*before, (name, last)]
    before, last = taken_apart(estimator.steps[-1][1])
    return [(name, step) for name, step in [*front, *before] if not _changes_nothing(step)], last


def front_of(steps: Steps, X: np.ndarray) -> tuple[Front, np.ndarray]:
    """The steps as one map, and the rows X, which may have NaN, as imputers among the steps fill them.

    Raises
    ------
    TypeError
        If a step is neither affine nor an imputer.
    """
    front, filled, Z = Front.identity(X.shape[1]), X, X
    for name, step in steps:
        check_is_fitted(step)
        part = _part(step, Z)
        if part is not None:
            Z, front = part(Z), front.then(part)
        elif type(step).__name__.endswith(("Imputer", "ImputerCV")):
            complete = _imputed(name, step, Z)
            filled = np.where(np.isnan(filled), front.inverse(complete), filled)
            Z = complete
        else:
            raise TypeError(
                f"explore shows inputs in their original units, for which it needs steps that it can undo; the step "
                f"{name!r} of the pipeline, {type(step).__name__}, it cannot. Scalers, PCA, selections of columns and "
                "imputers are possible. Or transform X beforehand and pass the last step alone."
            )
    return front, filled


def _changes_nothing(step: Any) -> bool:
    if step is None or isinstance(step, str):
        return True
    return isinstance(step, FunctionTransformer) and step.func is None


def _part(step: Any, Z: np.ndarray) -> Front | None:
    """The map of one fitted step, or None if it is not known to be affine."""
    affine = affine_map_of(step)
    if affine is None:
        return None
    matrix, shift = affine.matrix, np.asarray(affine.shift, dtype=np.float64)
    if isinstance(step, SelectorMixin):
        chosen = step.get_support(indices=True)
        selection = np.asarray(matrix.toarray(), dtype=np.float64)
        # Columns that were left out are unknown on the way to inputs: their mean is the best guess without the others.
        with unwarned():
            means = np.nan_to_num(np.nanmean(Z, axis=0))
        means[chosen] = 0.0
        return Front(selection, shift, selection.T, means)
    if sparse.issparse(matrix):
        scale = np.asarray(matrix.diagonal(), dtype=np.float64)
        return Front(scale, shift, 1 / scale, -shift / scale)
    # An affine map is known by its values at zero and at the unit vectors.
    d = shift.size
    back = np.asarray(step.inverse_transform(np.vstack([np.zeros((1, d)), np.eye(d)])), dtype=np.float64)
    return Front(np.asarray(matrix, dtype=np.float64), shift, back[1:] - back[0], back[0])


def _imputed(name: str, imputer: Any, Z: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        # Columns have names in the pipeline, which scikit-learn misses here.
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        complete = np.asarray(imputer.transform(Z), dtype=np.float64)
    if complete.shape != Z.shape:
        raise TypeError(
            f"explore needs imputers that keep the columns as they are; the step {name!r} of the pipeline, "
            f"{type(imputer).__name__}, makes {complete.shape[1]} of {Z.shape[1]}. Set add_indicator=False and "
            "keep_empty_features=True, or leave empty columns out of X."
        )
    return complete
