"""Distances of training rows to the span of the others, of which the most suspicious rows take no part."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    as_rows,
    from_numpy,
    in_memory,
    is_foreign,
    is_objects,
    is_sparse,
    on_device,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._engine.linalg import quantiles
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import ignored
from preimage._models.components import SpanDistance, Wanted, robust_mean_distances
from preimage.estimators._cross_fit import clone_with_kernel
from preimage.estimators._estimator import LAZY_ROWS, map_queries, through_device
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion

# Copies of a row have distances that differ by rounding errors, by less than this fraction. They leave together.
SAME_DISTANCE = 1e-9
# A model of fewer rows is none.
FEWEST_ROWS = 2
# λ in units of the mean of k(x, x). Where all rows count as normal, a small one follows the shape of the data: areas
# under the ROC curve hardly change from 0.001 to 0.1.
PLAIN_RIDGE = 0.01
# Where a fraction c of n rows are outliers, these may be one group. The distance of cn copies of a row is λ/(λ + cn) of
# k(x, x): three quarters of it with this factor times cn as λ. Over 32 development sets with and without groups, the
# mean area is lower by 0.002 with the factor 1, by 0.01 with 0, and higher by 0.002 with 10, lower on curved data.
GROUP_RIDGE = 3.0
# While outliers are looked for, rows leave in excess by this factor, in so many rounds. With the factor 1, areas are
# lower by 0.005 in the mean over these sets; more rounds change nothing.
MORE, ROUNDS = 1.5, 2


def ridge_of(model: Any, ridge: float | None, contamination: float | None) -> float:
    """λ for a `KernelPCA` through zero: a multiple of the mean of k(x, x), which is its whole variance.

    `ridge` is that multiple; None depends on the fraction of outliers, of which None is that it is not known.
    """
    variance = float(model.explained_variance_[0])
    if ridge is None:
        n_rows = float(model.eigenvalues_[0]) / variance
        ridge = max(PLAIN_RIDGE, GROUP_RIDGE * (contamination or 0.0) * n_rows)
    return float(ridge) * variance / float(model.explained_variance_ratio_[0])


def span_distance(model: Any, ridge: float) -> SpanDistance:
    """The `SpanDistance` of a `KernelPCA` with all components through zero."""
    return SpanDistance(model.subspace_, model.eigenvalues_, ridge)


def distances_by(model: Any, ridge: float) -> Callable[[Array], Array]:
    """A function from validated rows to both parts of their distance, shape (q, 2), on the device of the model."""
    distance = span_distance(model, ridge)
    coordinates: Callable[[Array], Array] = distance.subspace.coordinates
    if _streams_through_device(model):
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
    """The model without the most suspicious rows, and distances of all rows to what it keeps.

    Outliers that are near each other support each other as long as they are in the model. So suspicious are rows that
    are far from the mean in feature space, where few rows are around. Half as many again as are thought to be outliers
    leave at first, and all are measured anew, twice; then `contamination` of them.

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
    counts = np.ones(X.shape[0]) if weights is None else weights
    evaluate, diagonal = _sums_over_rows(model, X)
    same, kept = SAME_DISTANCE * float(diagonal.max()), counts
    for fraction in (*[min(MORE * contamination, 0.5)] * ROUNDS, contamination):
        distances = robust_mean_distances(evaluate, diagonal, kept)
        next_kept = np.where(distances <= weighted_quantile(distances, 1 - fraction, counts) + same, counts, 0.0)
        if np.count_nonzero(next_kept) < FEWEST_ROWS:
            break
        kept = next_kept
    if not np.array_equal(kept, counts):
        model = with_weights(model, X, kept)
    return model, left_out_distances(model, X, kept, ridge)


def _sums_over_rows(model: Any, X: Rows) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """A function from masses mⱼ to Σⱼ mⱼ k(xᵢ, xⱼ) for all rows i of X, two passes over X each; and k(xᵢ, xᵢ).

    Sums are projected to the span of the axes of the model, without loss where it is that of X.
    """
    frame = model.subspace_.frame
    moved: Callable[[Rows], Array] = as_rows
    if _streams_through_device(model):
        moved = lambda rows: on_device(to_numpy(to_dense(as_rows(rows))), model.device)
        frame = frame.converted(lambda array: on_device(to_numpy(array), model.device))
    kernel, axes = frame.kernel, frame.coefficients

    def here(rows: Rows) -> Array:
        if is_sparse(rows) or is_objects(rows):
            return moved(rows)
        return array_namespace(axes).astype(moved(rows), axes.dtype)

    def on_points(rows: Array, masses: np.ndarray) -> Array:
        return Expansion(kernel, here(rows), from_numpy(masses[:, None], axes))(frame.points)

    def passed(function: Callable[[Array], Array]) -> np.ndarray:
        found = map_queries(model, lambda rows: to_numpy(function(here(rows))), X, model.subspace_.frame.coefficients)
        return np.asarray(in_memory(found), dtype=np.float64)

    def evaluate(masses: np.ndarray) -> np.ndarray:
        sums = sum_rows(on_points, X, masses, rows=LAZY_ROWS, device_of=axes)
        mean = Expansion(kernel, frame.points, axes @ (axes.T @ sums))
        return passed(lambda rows: mean(rows)[:, 0])

    return evaluate, passed(kernel.diagonal)


def _streams_through_device(model: Any) -> bool:
    """Whether rows of a model in NumPy are worked on elsewhere."""
    return model.device is not None and not is_foreign(model.subspace_.frame.points)


def threshold(scores: np.ndarray, fraction: float, weights: np.ndarray | None) -> float:
    """Such that a fraction of the scores is below.

    Rows that are far from everything have the same score, minus k(x, x). Where these are more than the fraction, no
    score would be below the quantile: the threshold is then above all of them.
    """
    offset = weighted_quantile(scores, fraction, weights)
    above = scores[scores > offset + abs(offset) * SAME_DISTANCE]
    if (scores < offset - abs(offset) * SAME_DISTANCE).any() or above.size == 0:
        return offset
    return (offset + float(above.min())) / 2


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
    other = clone_with_kernel(model)
    some, counts = take_rows(X, rows), weights[rows]
    with ignored(RankWarning):
        return other.fit(some) if (counts == 1).all() else other.fit(some, sample_weight=counts)
