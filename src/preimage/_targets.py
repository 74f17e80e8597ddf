"""Checks of what estimators learn besides inputs: targets, class labels, weights."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from preimage._arrays import is_foreign, take_rows, to_numpy


def check_targets(estimator, y, n):
    """Validate targets of a regression: finite numbers in NumPy, shape (n,) or (n, k)."""
    y = check_array(_given(estimator, y), dtype=np.float64, ensure_2d=False, allow_nd=True, input_name="y")
    if y.ndim not in (1, 2):
        raise ValueError(f"{type(estimator).__name__} needs targets of shape (n,) or (n, k); got shape {y.shape}.")
    return _of_length(estimator, "y", y, n)


def check_labels(estimator, y, n):
    """Validate class labels: shape (n,), in NumPy."""
    y = check_array(_given(estimator, y), dtype=None, ensure_2d=False, input_name="y")
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    return _of_length(estimator, "y", y, n)


def check_weights(estimator, weights, n):
    """Validate sample weights: finite, not negative, not all zero, in NumPy; a number stands for all, None for none."""
    if weights is None:
        return None
    weights = to_numpy(weights) if is_foreign(weights) else weights
    weights = np.full(n, float(weights)) if np.isscalar(weights) or getattr(weights, "ndim", 1) == 0 else weights
    weights = check_array(weights, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name="sample_weight")
    name = type(estimator).__name__
    if weights.ndim != 1:
        raise ValueError(f"{name} needs sample weights of shape ({n},); got shape {weights.shape}.")
    if weights.min() < 0 or not weights.any():
        raise ValueError(
            f"{name} needs sample weights that are not negative and not all zero; the smallest is "
            f"{weights.min():.3g}, the largest {weights.max():.3g}."
        )
    return _of_length(estimator, "sample_weight", weights, n)


def _given(estimator, y):
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    return to_numpy(y) if is_foreign(y) else y


def _of_length(estimator, what, values, n):
    if values.shape[0] != n:
        name = type(estimator).__name__
        raise ValueError(f"{name} got {n} rows of X but {values.shape[0]} of {what}; each row needs one.")
    return values


def fetched(values):
    """Labels or weights of Dask as arrays in memory; anything else as it is."""
    return values.compute() if hasattr(values, "compute") else values


def with_weight(estimator, X, weights, least=2):
    """The rows of positive weight, at least so many, and their weights: others have no part in anything."""
    rows = np.flatnonzero(weights)
    if rows.size < least:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two rows of positive sample_weight; got {rows.size}."
        )
    return (X, weights) if rows.size == weights.size else (take_rows(X, rows), weights[rows])
