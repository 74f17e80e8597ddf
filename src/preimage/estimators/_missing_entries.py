"""Rows with missing entries as scikit-learn's imputers take them: known entries, and the columns that come back."""

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, as_points, is_lazy, take_rows, to_numpy, with_rows
from preimage._engine.finite import current_method, working_method
from preimage._engine.frames import is_missing
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_lazy_points, check_points, check_same_device, is_stream
from preimage._models.completion import SubspaceEnergy, fill_near, median_distance, noisy_energy
from preimage.estimators._estimator import LAZY_ROWS


def is_nan(missing_values: Any) -> bool:
    """Whether a `missing_values` parameter stands for NaN: NaN itself, None, or the missing value of pandas."""
    return is_missing(missing_values)


def check_incomplete(estimator: Any, X: Rows, *, reset: bool, min_samples: int = 1, like: Array = None) -> Rows:
    """Validate rows that may have missing entries; NaN is one of them only if `missing_values` is.

    With `like`, an array of the fitted model, X gets its precision, and must be of its library and device.
    """
    name = type(estimator).__name__
    if is_stream(X):
        raise TypeError(f"{name} was given an iterator of blocks, which can be read once only. Pass its blocks.")
    if is_lazy(X):
        return check_lazy_points(estimator, X, reset=reset, min_samples=min_samples)
    X = check_points(
        estimator,
        X,
        reset=reset,
        min_samples=min_samples,
        accept_sparse=False,
        allow_missing=is_nan(getattr(estimator, "missing_values", np.nan)),
    )
    if like is None:
        return X
    check_same_device(estimator, X, like)
    return array_namespace(X).astype(X, like.dtype, copy=False)


def known_entries(X: Array, missing_values: Any) -> Array:
    """A boolean array that is True where an entry of X is known."""
    xp = array_namespace(X)
    return ~xp.isnan(X) if is_nan(missing_values) else missing_values != X


def map_incomplete(
    estimator: Any, function: Callable[[Array, Array], Array], X: Rows, like: Array, missing_values: Any
) -> Array:
    """`function` of validated rows and of their known entries, in memory or in a pass over lazy rows."""
    if not is_lazy(X):
        return function(X, known_entries(X, missing_values))
    name, dtype = type(estimator).__name__, like.dtype
    method = current_method()

    def of_block(rows: Array) -> Array:
        rows = as_points(rows).astype(dtype, copy=False)
        observed = known_entries(rows, missing_values)
        if not np.isfinite(rows[observed]).all():
            raise ValueError(f"Input X contains infinity, or NaN that is not the missing value. {name} needs numbers.")
        with working_method(method):
            return function(rows, observed)

    return map_rows(of_block, X, rows=LAZY_ROWS)


def imputed(model: Any, X: Rows, count: int, noise: float | str) -> Array:
    """Rows X with their NaN filled by the first `count` components of a kernel PCA; see `KernelPCA.impute`."""
    energy, like = principal_energy(model, count, noise), model.subspace_.frame.coefficients
    with model._working():
        rows = check_incomplete(model, X, reset=False, like=like)
        return map_incomplete(model, partial(_completed, energy), rows, like, np.nan)


def principal_energy(model: Any, count: int, noise: float | str) -> SubspaceEnergy:
    """What `imputed` minimises."""
    variances = model.explained_variance_[:count]
    total = float(model.explained_variance_[0]) / float(model.explained_variance_ratio_[0])
    if isinstance(noise, str) and noise == "auto":
        left = total - float(array_namespace(variances).sum(variances))
        sigma = max(0.0, left) / max(1, model.n_samples_seen_ - 1 - count)
    elif isinstance(noise, Real) and 0 <= noise < 1:
        sigma = float(noise) * total
    else:
        raise ValueError(f"noise must be 'auto' or a number in [0, 1), a fraction of the variance; got {noise!r}.")
    return noisy_energy(model.subspace_.leading(count), variances, sigma)


def _completed(energy: SubspaceEnergy, X: Array, observed: Array) -> Array:
    """Rows X with the entries that are not observed filled."""
    xp = array_namespace(X)
    rows = np.flatnonzero(~to_numpy(xp.all(observed, axis=1)))
    if not rows.size:
        return X
    points = energy.subspace.frame.points
    found = fill_near(energy, take_rows(X, rows), take_rows(observed, rows), points, median_distance(points))
    return with_rows(X, rows, found.points)
