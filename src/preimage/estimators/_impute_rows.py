"""Missing entries of rows, filled by a fitted kernel PCA."""

from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, take_rows, to_numpy, with_rows
from preimage._engine.typing import Array, Rows
from preimage._models.completion import SubspaceEnergy, fill_near, median_distance, noisy_energy
from preimage.estimators._missing_entries import check_incomplete, map_incomplete


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
