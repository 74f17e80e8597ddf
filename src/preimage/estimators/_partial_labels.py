"""Class labels of a part of the rows, and the targets that they give to components."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from preimage._engine.arrays import from_device
from preimage._engine.typing import Targets

# See `SemiSupervisedKernelPCA`.
Encoding: TypeAlias = str | np.ndarray | Callable[[np.ndarray, int], np.ndarray]
ENCODINGS = ("auto", "two_class", "first", "one_vs_rest")


@dataclass(frozen=True)
class PartialLabels:
    """Which rows are labelled, and as what.

    Attributes
    ----------
    classes : array of shape (k,)
        Sorted.
    rows : integer array of shape (l,)
        Numbers of the labelled rows.
    numbers : integer array of shape (l,)
        Number of the class of each of them.
    """

    classes: np.ndarray
    rows: np.ndarray
    numbers: np.ndarray

    def among(self, kept: np.ndarray) -> "PartialLabels":
        """The labels of the rows with the given sorted numbers, which are renumbered from zero."""
        here = np.isin(self.rows, kept)
        present, numbers = np.unique(self.numbers[here], return_inverse=True)
        return PartialLabels(self.classes[present], np.searchsorted(kept, self.rows[here]), numbers.ravel())


def partial_labels(estimator: Any, y: Targets, n: int) -> PartialLabels:
    """Read labels of n rows: −1, NaN, None and "" stand for unlabelled, as does no y at all."""
    name = type(estimator).__name__
    if y is None:
        return PartialLabels(np.empty(0), np.empty(0, int), np.empty(0, int))
    if isinstance(y, (list, tuple)):  # as they are: NumPy would make strings of −1 and None among strings
        y = np.array(y, dtype=object)
    y = column_or_1d(from_device(y), warn=True)
    if y.shape[0] != n:
        raise ValueError(f"{name} got {n} rows of X but {y.shape[0]} of y; each row needs a label or a mark for none.")
    missing = _is_missing(y)
    rows = np.flatnonzero(~missing)
    given = np.array(y[rows].tolist()) if y.dtype.kind == "O" else y[rows]
    if rows.size == 0:
        return PartialLabels(given[:0], rows, rows)
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError("Input y contains infinity. Give class labels, and −1, NaN or None where there is none.")
    check_classification_targets(given)
    classes, numbers = np.unique(given, return_inverse=True)
    if classes.size == 1 and classes.dtype.kind in "if" and classes[0] == 1 and _has_minus_one(y):
        raise ValueError(
            f"{name} takes −1 as the mark of unlabelled rows, as scikit-learn does, and y has the labels −1 and 1 "
            "only. If −1 is a class, recode it: y = np.where(y == -1, 0, y). If it is not, and 1 is the only class, "
            "call that class 0, or mark unlabelled rows by NaN."
        )
    return PartialLabels(classes, rows, numbers.ravel())


def component_targets(
    labels: PartialLabels,
    encoding: Encoding,
    n_components: int,
    *,
    first_class: Any = None,
    centered: bool = False,
    weights: np.ndarray | None = None,
) -> list[np.ndarray | None]:
    """Targets of the labelled rows, an array of shape (l,) or None for each component; those left out mean None.

    Parameters
    ----------
    labels : PartialLabels
    encoding : str, callable or array
        See `SemiSupervisedKernelPCA`.
    n_components : int
    first_class : object, optional
        The class that comes first, or counts as positive.
    centered : bool, default=False
        Whether the mean over the labelled rows is subtracted.
    weights : array of shape (l,), optional
        Weights of the labelled rows in that mean.

    Returns
    -------
    list
    """
    if labels.rows.size == 0:
        return []
    codes = code_matrix(labels.classes, encoding, n_components, first_class)
    of_rows = lambda column: None if np.isnan(column).any() else column[labels.numbers]
    targets: list[np.ndarray | None] = [of_rows(column) for column in codes.T[:n_components]]
    if centered:
        targets = [None if target is None else target - np.average(target, weights=weights) for target in targets]
    return targets


def code_matrix(classes: np.ndarray, encoding: Encoding, n_components: int, first_class: Any = None) -> np.ndarray:
    """Targets of each class, one column per component, shape (k, ≤ n_components); columns of NaN are unsupervised."""
    k, order = len(classes), _order(classes, first_class)
    if isinstance(encoding, str):
        if encoding == "auto":
            encoding = "two_class" if k <= 2 else "one_vs_rest"
        one_vs_rest = np.where(np.arange(k)[:, None] == order[None, :], 1.0, -1.0)
        if encoding == "one_vs_rest":
            return one_vs_rest
        if encoding == "first":
            return one_vs_rest[:, :1]
        if encoding == "two_class" and k <= 2:
            # Without a first class the second counts as positive, as in scikit-learn's decision functions.
            positive = order[0] if first_class is not None or k == 1 else 1
            return np.repeat(one_vs_rest[:, order == positive], n_components, axis=1)
        if encoding == "two_class":
            raise ValueError(
                f"encoding='two_class' is for two classes; y has {k}. Use 'one_vs_rest', or 'first' with first_class=."
            )
        raise ValueError(f"Unknown encoding {encoding!r}; known: {', '.join(ENCODINGS)}, a function, or an array.")
    codes = np.asarray(encoding(classes, n_components) if callable(encoding) else encoding, dtype=float)
    if codes.ndim != 2 or codes.shape[0] != k:
        raise ValueError(
            f"An encoding has one row per class and one column per component; y has {k} classes, the encoding has "
            f"shape {codes.shape}."
        )
    if np.isinf(codes).any():
        raise ValueError("An encoding has finite targets, or columns of NaN for unsupervised components.")
    return codes


def _order(classes: np.ndarray, first_class: Any) -> np.ndarray:
    """Class numbers, with that of `first_class` in front."""
    order = np.arange(len(classes))
    if first_class is None:
        return order
    place = np.flatnonzero(classes == first_class)
    if place.size == 0:
        raise ValueError(f"first_class is {first_class!r}; the labelled classes are {classes.tolist()}.")
    return np.concatenate([place, np.delete(order, place)])


def _is_missing(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        return np.isnan(y) | (y == -1)
    if y.dtype.kind == "i":
        return y == -1
    if y.dtype.kind in "US":
        return y == y.dtype.type("")
    if y.dtype.kind == "O":
        return np.array([_is_missing_value(value) for value in y], dtype=bool)
    return np.zeros(y.shape, dtype=bool)


def _is_missing_value(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value == ""
    return bool(value != value) or bool(value == -1)


def _has_minus_one(y: np.ndarray) -> bool:
    return any(value is not None and not isinstance(value, str) and value == -1 for value in y.tolist())
