"""What a search for a discriminant tries: widths, ridges, and the folds on which it compares them."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from preimage._arrays import to_dense, to_numpy
from preimage._typing import Array, Folds
from preimage.discriminants._fit import stratified_folds
from preimage.estimators._fisher_data import CheckedRows
from preimage.estimators._kernel_input import repeated
from preimage.kernels import resolve_gamma

# Without a grid: multiples of 1/median squared distance, from nearly linear to nearly local kernels in steps of two,
# between which accuracies hardly change, and ridges by decades, from nearly interpolating to nearly the difference of
# class means.
WIDTH_MULTIPLES = tuple(2.0**k for k in range(-4, 5))
DEFAULT_ALPHAS = tuple(10.0**k for k in range(-5, 3))
# Kernels that have no width to choose.
WITHOUT_WIDTH = ("linear", "cosine", "precomputed")


def candidate_widths(estimator: Any, rows: CheckedRows) -> list:
    """The widths that the `gammas` of an estimator mean, in ascending order where all are numbers."""
    if estimator.gammas is not None:
        values = list(estimator.gammas)
        if not values:
            raise ValueError(f"{type(estimator).__name__} needs at least one candidate in `gammas`; got none.")
        numbers = [isinstance(value, (int, float, np.number)) for value in values]
        return sorted(float(value) for value in values) if all(numbers) else values
    if not isinstance(estimator.kernel, str) or estimator.kernel in WITHOUT_WIDTH:
        return [None]
    X = rows.X if rows.weights is None else repeated(rows.X, rows.weights)
    middle = resolve_gamma("median", to_numpy(to_dense(X)))
    return [float(middle * multiple) for multiple in WIDTH_MULTIPLES]


def candidate_ridges(estimator: Any) -> Array:
    """The ridges that the `alphas` of an estimator mean, in descending order."""
    values = np.asarray(DEFAULT_ALPHAS if estimator.alphas is None else estimator.alphas, dtype=float)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)) or values.min() < 0:
        raise ValueError(
            f"`alphas` of {type(estimator).__name__} is a list of candidates that are finite and not negative; got "
            f"{values.tolist()!r}."
        )
    return np.sort(values)[::-1]


def search_folds(cv: Any, rows: CheckedRows, codes: Array) -> Folds:
    """The splits that a `cv` parameter means, of the rows that are left, with classes by number."""
    if cv is None or isinstance(cv, Integral):
        return stratified_folds(codes, 5 if cv is None else int(cv))
    # Splits are of the rows that were given, some of which may have had weight zero and are left out.
    labels = rows.given_labels
    position = np.full(labels.size, -1)
    position[rows.kept] = np.arange(rows.kept.size)
    splits = check_cv(cv, labels, classifier=True).split(np.zeros((labels.size, 1)), labels)
    folds = [tuple(part[part >= 0] for part in (position[fitted], position[held])) for fitted, held in splits]
    return [fold for fold in folds if fold[1].size]  # a fold without held-out rows has no score
