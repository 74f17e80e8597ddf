"""What `landmarks` means in estimators, and the inputs of a fit on all rows or on landmarks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import in_memory, is_chunked, is_lazy
from preimage._engine.memory import memory_budget
from preimage._engine.typing import Rows, Seed, Targets
from preimage._engine.validation import (
    check_gram,
    check_lazy_points,
    check_points,
    check_weights,
    count_rows,
    generator,
    require_in_memory,
    with_weight,
)
from preimage._models.components import LandmarkModel
from preimage.estimators._kernel_input import (
    about_data,
    kernel_and_inputs,
    kernel_on_sample,
    named_kernel,
)
from preimage.kernels import Kernel
from preimage.kernels._door import moderate_inputs
from preimage.landmarks import LandmarkSelector, as_landmarks
from preimage.widths._class_width import needs_labels

# Landmarks of landmarks="auto" and of streams: their eigenproblem takes a second, and the model some megabytes. Ten
# times as many would take a thousand times as long.
DEFAULT_LANDMARKS = 1000
# Rows beyond which landmarks="auto" prefers landmarks even where the Gram matrix fits into memory: its time grows with
# the square of the rows, and is some minutes here.
MOST_EXACT_ROWS = 20_000
# A Gram matrix needs its entries, eight bytes each, and some room for work on them.
ROOM_FOR_WORK = 1.25


@dataclass(frozen=True)
class Inputs:
    """What a fit works on.

    Attributes
    ----------
    kernel : Kernel
        With all parameters resolved.
    X : array, sparse matrix, memory map or Dask array of shape (n, d)
        Validated rows, as the kernel takes them.
    weights : array of shape (n,), or None
        None counts every row once.
    """

    kernel: Kernel
    X: Rows
    weights: np.ndarray | None


def uses_landmarks(
    method: str, landmarks: Any, X: Rows, max_memory: int | str | None = None, *, takes_chunks: bool = False
) -> bool:
    """Whether a fit on X uses landmarks, the same for all estimators.

    None uses all rows; "auto" uses all rows up to 20,000 if their Gram matrix fits `max_memory` and X is no Dask
    collection; anything else uses landmarks. `method` names the fit on all rows in the error for Dask collections,
    which is raised unless that fit `takes_chunks`.
    """
    if landmarks is None and not takes_chunks:
        advice = "Give landmarks=500, say, to fit a Dask array, or pass X.compute()."
        require_in_memory(X, f"{method} needs all rows", advice)
    if not is_auto(landmarks):
        return landmarks is not None
    return is_chunked(X) or too_large_for_exact(count_rows(X), memory_budget(max_memory, X))


def decided_landmarks(method: str, landmarks: Any, X: Rows, max_memory: int | str | None = None) -> Any:
    """The `landmarks` parameter, or None where a fit on X uses all rows."""
    return landmarks if uses_landmarks(method, landmarks, X, max_memory) else None


def is_auto(landmarks: Any) -> bool:
    return isinstance(landmarks, str) and landmarks == "auto"


def too_large_for_exact(n: int, budget: int) -> bool:
    """Whether ``landmarks="auto"`` means landmarks for n rows and so many bytes."""
    return n > MOST_EXACT_ROWS or ROOM_FOR_WORK * 8 * n * n > budget


def as_selector(landmarks: Any) -> LandmarkSelector:
    """The selector that a `landmarks` parameter means where landmarks are used; None and "auto" have a default."""
    return as_landmarks(DEFAULT_LANDMARKS if landmarks is None or is_auto(landmarks) else landmarks)


def selection_rng(landmarks: Any, random_state: Seed) -> np.random.Generator | None:
    """The source of random numbers for a selection: None for a selector object, which has a seed of its own."""
    return None if isinstance(landmarks, LandmarkSelector) else generator(random_state)


def batch_rng(random_state: Seed, seen: float) -> np.random.Generator:
    """Random numbers for a further batch of a stream: another sequence for every batch.

    It is the same whenever the stream is: `seen` is the number of rows, or the sum of weights, of the batches before.
    """
    return np.random.default_rng([int(generator(random_state).integers(2**32)), int(seen)])


def exact_inputs(
    estimator: Any,
    X: Rows,
    y: Targets = None,
    sample_weight: Targets = None,
    *,
    copy: bool,
    about_mean: bool = True,
) -> Inputs:
    """Inputs of a fit on all rows of X, centred in feature space; rows of weight zero are dropped.

    Parameters
    ----------
    estimator : BaseEstimator
        Has the parameters of a kernel; validation sets its `n_features_in_` and `feature_names_in_`.
    X, y, sample_weight
        As given to `fit`.
    copy : bool
        Whether the model must not keep the array of the caller.
    about_mean : bool, default=True
        Whether the fit centres in feature space.
    """
    kernel, X = kernel_and_inputs(
        estimator, X, y, min_samples=2, sample_weight=sample_weight, centered=about_mean, copy=copy
    )
    points, weights = kernel.inputs(X), check_weights(estimator, sample_weight, X.shape[0])
    if weights is not None:
        points, weights = with_weight(estimator, points, weights)
    return Inputs(about_data(kernel, points) if about_mean else kernel, points, weights)


def landmark_inputs(
    estimator: Any,
    X: Rows,
    y: Targets = None,
    sample_weight: Targets = None,
    *,
    min_samples: int = 2,
    keep_all: bool = False,
    about_mean: bool = True,
) -> Inputs:
    """Inputs of a fit on landmarks, which reads X block by block; widths of the kernel are found on some of the rows.

    Parameters are those of `exact_inputs`. Rows of weight zero are dropped from arrays in memory unless `keep_all`.
    """
    kernel = named_kernel(estimator)
    is_precomputed = kernel.points_are_row_numbers
    if is_precomputed:
        advice = f"Give {type(estimator).__name__} the kernel itself and the inputs, or pass X.compute()."
        require_in_memory(X, "A precomputed kernel needs its matrix", advice)
        X = np.asarray(X) if isinstance(X, np.memmap) else X  # the matrix is looked at as a whole
    check = check_lazy_points if is_lazy(X) else check_points
    X = check(estimator, X, reset=True, min_samples=min_samples)  # which counts the rows of unknown chunks
    weights = check_weights(estimator, in_memory(sample_weight), X.shape[0])
    if is_precomputed:
        kernel = kernel.resolve(check_gram(estimator, X))
        X = kernel.inputs(X)
    if weights is not None and not is_lazy(X) and not keep_all:
        if needs_labels(kernel) and y is not None and count_rows(y) == weights.size:
            y = np.asarray(in_memory(y))[np.flatnonzero(weights)]
        X, weights = with_weight(estimator, X, weights)
    if is_precomputed:
        return Inputs(kernel, X, weights)
    kernel = kernel_on_sample(estimator, kernel, X, y)
    X = moderate_inputs(type(estimator).__name__, kernel, X)
    return Inputs(about_data(kernel, X) if about_mean else kernel, X, weights)


def fitted_to_moments(estimator: Any, model: LandmarkModel, n_rows: int) -> Any:
    """`estimator`, fitted to n rows of which the moments on landmarks are known: chunks of them were read before."""
    estimator._store_landmarks(model, model.landmarks.points, n_rows)
    return estimator
