"""From what `fit` of a Fisher discriminant is given to labelled data of a resolved kernel: check, resolve, code."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from preimage._engine.arrays import in_memory, is_lazy, own_copy, take_rows
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.validation import check_gram, check_labels, check_lazy_points, check_points, check_weights
from preimage._models.discriminants import LabelledData
from preimage.estimators._kernel_input import about_data, kernel_on_sample, repeated
from preimage.estimators._landmark_fit import decided_landmarks
from preimage.kernels import Kernel
from preimage.kernels._door import moderate_inputs


@dataclass(frozen=True)
class CheckedRows:
    """Validated rows with their labels and weights; rows of weight zero are left out unless X is lazy.

    Attributes
    ----------
    X : array of shape (n, d), possibly lazy; or the row numbers of a precomputed kernel
    labels : array of shape (n,)
    weights : array of shape (n,) or None
    kept : integer array of shape (n,)
        Numbers of these rows among those given.
    given_labels : array
        Labels of all rows that were given.
    landmarks : object
        The parameter of that name, or None where all rows are expansion points.
    """

    X: Array
    labels: Array
    weights: Array | None
    kept: Array
    given_labels: Array
    landmarks: Any


def check_rows(
    estimator: Any, kernel: Kernel, X: Rows, y: Targets, sample_weight: Targets
) -> tuple[CheckedRows, Kernel]:
    """Step one, check: what was given to `fit`, validated, and the kernel, which a precomputed matrix resolves.

    Where all points are expansion points, rows in memory are copied: the model keeps them.
    """
    landmarks = estimator.landmarks
    if landmarks is not None:
        landmarks = decided_landmarks("A discriminant on all points", landmarks, X, estimator.max_memory)
    keeps_all_points = landmarks is None
    if keeps_all_points and isinstance(X, np.memmap):
        X = np.asarray(X)  # all rows are needed at once
    given, X = X, _check_inputs(estimator, X, reset=True)
    y, weights = _check_targets(estimator, X, y, sample_weight)
    if kernel.points_are_row_numbers:
        kernel = kernel.resolve(check_gram(estimator, X))
        X = kernel.inputs(X)
    elif keeps_all_points and not is_lazy(X):
        X = own_copy(X, given)
    rows = CheckedRows(X, y, weights, np.arange(y.size), y, landmarks)
    if weights is None or weights.all() or is_lazy(X):
        return rows, kernel
    kept = np.flatnonzero(weights)
    return replace(rows, X=take_rows(X, kept), labels=y[kept], weights=weights[kept], kept=kept), kernel


def resolve_kernel(estimator: Any, kernel: Kernel, rows: CheckedRows, *, centers: bool) -> Kernel:
    """Step two, resolve: the kernel with the widths that its rules find on the rows.

    On all points, rules see rows as often as their weights say. Where discriminants do not depend on the origin of
    feature space (`centers`), linear kernels of rows far from zero are computed about their mean.
    """
    if kernel.points_are_row_numbers:
        return kernel  # resolved by `check_rows`
    on_all_points = rows.landmarks is None and not is_lazy(rows.X)
    X, y = rows.X, rows.labels
    if on_all_points and rows.weights is not None and not kernel.is_resolved:
        numbers = repeated(np.arange(X.shape[0]), rows.weights)
        X, y = take_rows(X, numbers), y[numbers]
    kernel = kernel_on_sample(estimator, kernel, X, y)
    return about_data(kernel, rows.X) if on_all_points and centers else kernel


def code_rows(estimator: Any, kernel: Kernel, rows: CheckedRows, classes: Targets = None) -> LabelledData:
    """Step three, code: classes by number, and weights of rows times those of their classes."""
    y, weights = rows.labels, rows.weights
    if classes is None:
        classes = y if weights is None else y[weights > 0]
    classes = np.unique(classes)
    require_classes(estimator, classes)
    X = moderate_inputs(type(estimator).__name__, kernel, rows.X) if kernel.is_resolved else rows.X
    return LabelledData(kernel, X, class_codes(y, classes), classes, with_class_weights(estimator, y, weights))


def next_batch(estimator: Any, data: LabelledData, X: Rows, y: Targets, sample_weight: Targets) -> LabelledData:
    """A further batch of a stream, for the kernel and the classes of the first one."""
    X = _check_inputs(estimator, X, reset=False)
    y, weights = _check_targets(estimator, X, y, sample_weight)
    return replace(data, X=X, codes=class_codes(y, data.classes), weights=with_class_weights(estimator, y, weights))


def class_codes(y: Array, classes: Array) -> Array:
    """Positions of labels among the classes."""
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    if np.any(unknown := classes[codes] != y):
        raise ValueError(
            f"There are labels {np.unique(y[unknown]).tolist()!r} that are not among the classes {classes.tolist()!r}; "
            "give all classes in the first call of partial_fit."
        )
    return codes


def require_classes(estimator: Any, classes: Array) -> None:
    if classes.size < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs examples of two classes or more, of positive weight; got 1 class, "
            f"{classes.tolist()[0]!r}."
        )


def _check_inputs(estimator: Any, X: Rows, *, reset: bool) -> Array:
    """Validated rows; a memory map or Dask array stays what it is."""
    if is_lazy(X):
        return check_lazy_points(estimator, X, reset=reset, min_samples=1)  # which counts the rows of unknown chunks
    return check_points(estimator, X, reset=reset)


def _check_targets(estimator: Any, X: Array, y: Targets, sample_weight: Targets) -> tuple[Array, Array | None]:
    """Labels and weights in NumPy; those of Dask are fetched."""
    y = check_labels(estimator, in_memory(y), X.shape[0])
    return y, check_weights(estimator, in_memory(sample_weight), X.shape[0])


def with_class_weights(estimator: Any, y: Array, weights: Array | None) -> Array | None:
    """Sample weights times class weights."""
    if estimator.class_weight is None:
        return weights
    by_class = compute_sample_weight(estimator.class_weight, y)
    if not np.all((by_class >= 0) & np.isfinite(by_class)):
        raise ValueError(
            f"{type(estimator).__name__} needs class weights that are finite and not negative; got class_weight="
            f"{estimator.class_weight!r}."
        )
    return by_class if weights is None else by_class * weights
