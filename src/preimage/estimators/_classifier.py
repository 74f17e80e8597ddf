"""What classifiers share: scores on rows of any device, classes by number, and weights of classes."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_sample_weight

from preimage._engine.arrays import from_device, in_memory
from preimage._engine.typing import Array, Rows, Targets


class AnyDeviceClassifierMixin(ClassifierMixin):
    """A classifier whose labels may be on a device, where those that they are compared with need not be."""

    def score(self, X: Rows, y: Targets, sample_weight: Targets = None) -> float:
        """Accuracy: the fraction of rows whose labels are right, weighted by `sample_weight`; on rows of any device."""
        found, expected, weights = (from_device(in_memory(each)) for each in (self.predict(X), y, sample_weight))
        return float(accuracy_score(expected, found, sample_weight=weights))


def require_classes(estimator: Any, classes: Array) -> None:
    if classes.size < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs examples of two classes or more, of positive weight; got 1 class, "
            f"{classes.tolist()[0]!r}."
        )


def class_codes(y: Array, classes: Array) -> Array:
    """Positions of labels among the classes."""
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    if np.any(unknown := classes[codes] != y):
        raise ValueError(
            f"There are labels {np.unique(y[unknown]).tolist()!r} that are not among the classes {classes.tolist()!r}; "
            "give all classes in the first call of partial_fit."
        )
    return codes


def with_class_weights(estimator: Any, y: Array, weights: Array | None) -> Array | None:
    """Sample weights times class weights; "balanced" gives all classes the same total weight."""
    if estimator.class_weight is None:
        return weights
    is_balanced = isinstance(estimator.class_weight, str)
    by_class = _balanced(y, weights) if is_balanced else compute_sample_weight(estimator.class_weight, y)
    if not np.all((by_class >= 0) & np.isfinite(by_class)):
        raise ValueError(
            f"{type(estimator).__name__} needs class weights that are finite and not negative; got class_weight="
            f"{estimator.class_weight!r}."
        )
    return by_class if weights is None else by_class * weights


def _balanced(y: Array, weights: Array | None) -> Array:
    """For every row, the mean total weight of a class over that of its own class."""
    classes, codes = np.unique(y, return_inverse=True)
    totals = np.bincount(codes, weights=weights, minlength=classes.size).astype(np.float64)
    n_present = np.count_nonzero(totals)
    return np.divide(totals.sum() / n_present, totals, out=np.zeros_like(totals), where=totals > 0)[codes]
