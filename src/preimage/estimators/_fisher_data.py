"""Labelled data as Fisher discriminants see them: inputs, class codes, weights, expansion points."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from preimage._arrays import in_memory, is_lazy, own_copy, take_rows
from preimage._validation import (
    check_gram,
    check_labels,
    check_lazy_points,
    check_parameters,
    check_points,
    check_weights,
    generator,
)
from preimage.estimators._kernel_input import (
    about_data,
    is_precomputed,
    labelled_kernel,
    named_kernel,
    repeated,
    width_sample,
)
from preimage.kernels import Kernel


@dataclass(frozen=True)
class LabelledData:
    """A resolved kernel, inputs as it keeps them, classes by number, and weights (None is one each).

    `row_weights` are those of rows alone, without the weights of classes.
    """

    kernel: Kernel
    X: Any
    codes: Any
    classes: Any
    weights: Any
    kept: Any = None
    given_labels: Any = None
    row_weights: Any = None

    @property
    def n_classes(self):
        return self.classes.size

    @property
    def count(self):
        """The sum of weights."""
        return float(self.codes.size if self.weights is None else self.weights.sum())

    @classmethod
    def of(cls, estimator, X, y, sample_weight, classes=None):
        """Validate what was given to `fit`; rows of weight zero have no part in anything."""
        check_parameters(estimator)
        if estimator.landmarks is None and isinstance(X, np.memmap):
            X = np.asarray(X)  # all rows are wanted at once
        given, X = X, checked_inputs(estimator, X, reset=True)
        y, weights = checked_targets(estimator, X, y, sample_weight)
        given_labels = y
        kept = np.arange(y.size) if weights is None or is_lazy(X) else np.flatnonzero(weights)
        present = np.unique(y if weights is None else y[weights > 0])
        classes = present if classes is None else np.unique(classes)
        require_classes(estimator, classes)
        kernel = named_kernel(estimator)
        if is_precomputed(kernel):
            kernel = kernel.resolve(check_gram(estimator, X))
            X = kernel.inputs(X)
        elif estimator.landmarks is None and not is_lazy(X):
            X = own_copy(X, given)
        if kept.size < X.shape[0]:
            X, y, weights = take_rows(X, kept), y[kept], weights[kept]
        kernel = kernel if is_precomputed(kernel) else resolved_kernel(estimator, X, y, weights)
        codes, class_weights = class_codes(y, classes), with_class_weights(estimator, y, weights)
        return cls(kernel, X, codes, classes, class_weights, kept, given_labels, weights)

    def with_kernel_of(self, estimator):
        """The same data with the kernel of another estimator, resolved on them; a precomputed one stays."""
        if is_precomputed(self.kernel):
            return self
        return replace(self, kernel=resolved_kernel(estimator, self.X, self.classes[self.codes], self.row_weights))

    def continued(self, estimator, X, y, sample_weight):
        """A further batch for the same kernel and classes."""
        X = checked_inputs(estimator, X, reset=False)
        y, weights = checked_targets(estimator, X, y, sample_weight)
        codes, weights = class_codes(y, self.classes), with_class_weights(estimator, y, weights)
        return replace(self, X=X, codes=codes, weights=weights)

    def without_rows(self):
        """Kernel and classes alone, to keep for later batches."""
        return replace(self, X=None, codes=None, weights=None, kept=None, given_labels=None, row_weights=None)


def resolved_kernel(estimator, X, y, weights):
    """The kernel that the parameters of `estimator` name, with widths found on X.

    On all points, rules see rows as often as their weights say; and where discriminants do not depend on the origin of
    feature space, those of rows far from zero are computed about their mean.
    """
    kernel, rng = named_kernel(estimator), generator(estimator.random_state)
    exact = estimator.landmarks is None and not is_lazy(X)
    seen, labels = X, y
    if exact and weights is not None and not kernel.is_resolved:
        numbers = repeated(np.arange(X.shape[0]), weights)
        seen, labels = take_rows(X, numbers), y[numbers]
    kernel = labelled_kernel(estimator, kernel, seen, labels)
    kernel = kernel.resolve(width_sample(kernel, seen, rng))
    return about_data(kernel, X) if exact and solves_by_gram(estimator) else kernel


def solves_by_gram(estimator):
    """Whether discriminants on all points have the short form of `GramFisher`."""
    return estimator.regularizer == "norm" and estimator.sparsity is None and estimator.invariances is None


def checked_inputs(estimator, X, *, reset):
    """Validated rows; a memory map or Dask array stays what it is."""
    if is_lazy(X):
        return check_lazy_points(estimator, X, reset=reset, min_samples=1)  # which counts the rows of unknown chunks
    return check_points(estimator, X, reset=reset)


def checked_targets(estimator, X, y, sample_weight):
    """Labels and weights in NumPy; those of Dask are fetched."""
    y = check_labels(estimator, in_memory(y), X.shape[0])
    return y, check_weights(estimator, in_memory(sample_weight), X.shape[0])


def class_codes(y, classes):
    """Positions of labels among the classes."""
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    if np.any(unknown := classes[codes] != y):
        raise ValueError(
            f"There are labels {np.unique(y[unknown]).tolist()!r} that are not among the classes {classes.tolist()!r}; "
            "give all classes in the first call of partial_fit."
        )
    return codes


def with_class_weights(estimator, y, weights):
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


def require_classes(estimator, classes):
    if classes.size < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs examples of two classes or more, of positive weight; got 1 class, "
            f"{classes.tolist()[0]!r}."
        )
