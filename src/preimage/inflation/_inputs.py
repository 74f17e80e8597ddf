"""What estimators take and return: steps of pipelines, rows of any container, weights, tables of scores."""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from preimage._engine.arrays import from_device, is_sparse, take_rows
from preimage._engine.frames import frame_library
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.validation import count_rows
from preimage.estimators._bounded_fit import bounded_iterations
from preimage.interop._pipeline import final_step, taken_apart, transformed


def last_step(estimator: Any, X: Rows) -> tuple[Any, Rows, list]:
    """The last step of a fitted pipeline, what it is given for X, and the steps before it; or the estimator itself."""
    steps, last = taken_apart(estimator, opened=lambda model: model)
    return last, transformed(steps, X), [step for _, step in steps]


def fitted_on(
    model: Any, X: Rows, y: Targets = None, weights: Array | None = None, fraction_of_iterations: float = 1.0
) -> Any:
    """The model, fitted to data, with or without targets and weights; see `bounded_iterations`."""
    arguments = weight_arguments(model, weights)
    with bounded_iterations(model, count_rows(X), fraction_of_iterations):
        return model.fit(X, **arguments) if y is None else model.fit(X, y, **arguments)


def weight_arguments(estimator: Any, weights: Array | None) -> dict[str, Array]:
    """Arguments of `fit` that bring weights to an estimator, or to the last step of a pipeline.

    Raises
    ------
    TypeError
        Where its `fit` takes none.
    """
    if weights is None:
        return {}
    inner, prefix = estimator, ""
    if isinstance(inner, (GridSearchCV, RandomizedSearchCV)):
        inner = inner.estimator
    while isinstance(inner, Pipeline):
        name, inner = inner.steps[-1]
        prefix += f"{name}__"
    if not has_fit_parameter(inner, "sample_weight"):
        raise TypeError(
            f"sample_weight needs an estimator whose fit takes weights; that of {type(inner).__name__} does not. Leave "
            "sample_weight out, or repeat rows."
        )
    # With metadata routing, pipelines pass on what their steps have requested.
    return {"sample_weight" if get_config()["enable_metadata_routing"] else f"{prefix}sample_weight": weights}


def as_inputs(X: Rows) -> Array:
    """What an estimator has accepted, as a float64 array or a CSR matrix."""
    if is_sparse(X):
        return X.tocsr().astype(np.float64)
    return np.asarray(from_device(X), dtype=np.float64)


def rows_of(X: Rows, indices: Array) -> Rows:
    """The rows of an array, sparse matrix, data frame or list with these indices."""
    library = frame_library(X)
    if library is not None:
        return library.rows(X, indices)
    X = X.tocsr() if is_sparse(X) else X
    return take_rows(X if hasattr(X, "shape") else np.asarray(X), indices)


def as_scores(scores: Any) -> Array:
    """What a transformer returns, as a float64 array of shape (n, q)."""
    scores = scores.toarray() if hasattr(scores, "toarray") else scores
    scores = np.asarray(from_device(scores), dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(f"Correction needs transformers that return tables of scores; got shape {scores.shape}.")
    return scores


def as_decisions(values: Any, estimator: Any) -> Array:
    """What a classifier returns as decisions, as a float64 array of shape (n, k), with k = 1 for two classes."""
    values = np.asarray(from_device(values), dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    n_classes = len(estimator.classes_)
    if values.shape[1] != (1 if n_classes == 2 else n_classes) or decides_by_pairs(estimator):
        raise ValueError(
            f"Correction of decisions needs one column for two classes, or one per class; {estimator!r} gives "
            f"{values.shape[1]} columns for {n_classes} classes. Set decision_function_shape='ovr' where there is one."
        )
    return values


def decides_by_pairs(estimator: Any) -> bool:
    """Whether decisions are those of pairs of classes, even where there are as many pairs as classes."""
    return len(estimator.classes_) > 2 and getattr(final_step(estimator), "decision_function_shape", "ovr") == "ovo"
