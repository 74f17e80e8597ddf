"""Distances of training rows to the span of the others, of which the most suspicious rows take no part."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from preimage._arrays import array_namespace, in_memory, is_foreign, take_rows, to_numpy
from preimage._typing import Array, Rows
from preimage._warnings import ignored
from preimage.calibration._samples import quantiles
from preimage.components import SpanDistance, Wanted
from preimage.estimators._kernel_input import map_queries, through_device
from preimage.exceptions import RankWarning

# Copies of a row have distances that differ by rounding errors, by less than this fraction. They leave together.
SAME_DISTANCE = 1e-9
# A model of fewer rows is none.
FEWEST_ROWS = 2
# While outliers are looked for, rows leave in excess by this factor, in so many rounds. With the factor 1, or one
# round, areas under the ROC curve of training rows with 10 % of outliers are lower by 0.001 in the mean over nine sets;
# with the factor 2.5, or four rounds, they are the same, and those of sets with fewer outliers lower.
MORE, ROUNDS = 1.5, 2


def span_distance(model: Any, ridge: float) -> SpanDistance:
    """The `SpanDistance` of a `KernelPCA` with all components through zero."""
    return SpanDistance(model.subspace_, model.eigenvalues_, ridge)


def distances_by(model: Any, ridge: float) -> Callable[[Array], Array]:
    """A function from validated rows to both parts of their distance, shape (q, 2), on the device of the model."""
    distance = span_distance(model, ridge)
    coordinates: Callable[[Array], Array] = distance.subspace.coordinates
    if model.device is not None and not is_foreign(distance.subspace.frame.points):
        coordinates = through_device(distance.subspace, model.device)

    def parts(rows: Array) -> Array:
        inside, outside = distance.parts(rows, coordinates(rows))
        return array_namespace(inside).stack([inside, outside], axis=1)

    return parts


def left_out_distances(model: Any, X: Rows, weights: np.ndarray | None, ridge: float) -> np.ndarray:
    """`SpanDistance` of rows X to the others of the training set, in memory, shape (n,).

    Parameters
    ----------
    model : KernelPCA
        Fitted to the rows of X with a positive weight, through zero, with all components.
    X : array, memory map or Dask array of shape (n, d)
        Validated.
    weights : array of shape (n,) or None
        Those that the model was fitted with. Rows of weight zero are new to it.
    ridge : float
        λ.
    """
    found = map_queries(model, distances_by(model, ridge), X, model.subspace_.frame.coefficients)
    inside, outside = to_numpy(in_memory(found)).astype(np.float64, copy=False).T
    weights = np.ones(inside.size) if weights is None else weights
    return span_distance(model, ridge).left_out(inside, weights) + outside


def without_suspects(
    model: Any, X: Rows, weights: np.ndarray | None, ridge: float, contamination: float
) -> tuple[Any, np.ndarray]:
    """The model without the rows that are farthest from the others, and distances of all rows to what it keeps.

    Outliers that are near each other support each other until some have left. So half as many rows again as are
    thought to be outliers leave at first, and all are measured anew, twice; then `contamination` of them.

    Parameters
    ----------
    model, X, weights, ridge
        As in `left_out_distances`.
    contamination : float
        The fraction of rows that are thought to be outliers, at most one half.

    Returns
    -------
    model : KernelPCA
    distances : array of shape (n,)
        As `left_out_distances` has them.
    """
    distances, kept = left_out_distances(model, X, weights, ridge), weights
    counts = np.ones(distances.size) if weights is None else weights
    for fraction in (*[min(MORE * contamination, 0.5)] * ROUNDS, contamination):
        limit = weighted_quantile(distances, 1 - fraction, counts)
        next_kept = np.where(distances <= limit * (1 + SAME_DISTANCE), counts, 0.0)
        if np.count_nonzero(next_kept) < FEWEST_ROWS:
            break
        if kept is None or not np.array_equal(next_kept, kept):
            kept, model = next_kept, with_weights(model, X, next_kept)
            distances = left_out_distances(model, X, kept, ridge)
    return model, distances


def weighted_quantile(values: np.ndarray, level: float, weights: np.ndarray | None) -> float:
    """A quantile of the values with a positive weight, each counted so often."""
    if weights is None:
        return float(quantiles(values, level))
    counted = weights > 0
    return float(quantiles(values[counted], level, weights[counted]))


def with_weights(model: Any, X: Rows, weights: np.ndarray) -> Any:
    """A `KernelPCA` like `model`, with its kernel and its landmarks, of the rows of X with these weights."""
    if model.route_ == "landmarks":
        other = copy(model)
        wanted = Wanted.of(model.n_components, about_mean=model.center)
        fitted = model._landmark_model.of_rows(X, wanted, weights=weights, device=model.device)
        other._store_landmarks(fitted, fitted.landmarks.points, np.count_nonzero(weights))
        return other
    rows = np.flatnonzero(weights)
    other = clone(model).set_params(kernel=model.kernel_, gamma=None, kernel_params=None)
    some, counts = take_rows(X, rows), weights[rows]
    with ignored(RankWarning):
        return other.fit(some) if (counts == 1).all() else other.fit(some, sample_weight=counts)
