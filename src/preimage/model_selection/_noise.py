"""Noise: added to clean data, measured on noisy data."""

from numbers import Real
from typing import Any

import numpy as np

from preimage._arrays import array_namespace, as_points, from_numpy, to_dense, to_numpy
from preimage._typing import Array, Rows


def add_noise(X: Rows, noise: Any, rng: np.random.Generator) -> Array:
    """X with Gaussian noise of a given deviation, or with the noise of a function `noise(X, rng)`."""
    X = to_dense(as_points(X))
    if isinstance(noise, Real):
        return X + from_numpy(float(noise) * rng.standard_normal(X.shape), X)
    return as_points(noise(array_namespace(X).asarray(X, copy=True), rng))  # a copy: the function may work in place


def estimate_noise(X: Rows) -> float:
    """Standard deviation of independent noise of equal size in all columns, from the floor of the PCA spectrum.

    Directions without signal have the variance of the noise. The median of the lowest quarter of the eigenvalues of the
    covariance is taken for that floor, divided by what sampling makes of it when only the directions below the edge of
    the noise (Marchenko and Pastur) are noise. Signal in every direction makes the estimate too large. Needs more rows
    than columns.
    """
    X = to_numpy(X).astype(float)
    X = X[
        :, X.std(axis=0) > 1e-12 * max(float(np.abs(X).max(initial=0)), np.finfo(float).tiny)
    ]  # constants tell nothing
    n, d = X.shape
    if n <= d or d == 0:
        raise ValueError(
            f"The noise can be estimated from more rows than columns that vary; got {n} rows and {d} such columns."
        )
    values = np.linalg.eigvalsh(np.cov(X.T, ddof=1).reshape(d, d))
    lowest = max(1, d // 4)
    floor = max(float(np.median(values[:lowest])), 0.0)
    directions = d
    for _ in range(5):
        variance = floor / _floor_of_unit_noise(n, directions, lowest)
        edge = variance * (1 + np.sqrt(directions / n)) ** 2
        directions = max(int(np.sum(values <= edge)), lowest)
    return float(np.sqrt(variance))


def _floor_of_unit_noise(n: int, directions: int, lowest: int) -> float:
    """The median of the lowest eigenvalues of the covariance of n rows of unit noise."""
    sample = np.random.default_rng(0).standard_normal((n, directions))
    return float(np.median(np.linalg.eigvalsh(np.cov(sample.T).reshape(directions, directions))[:lowest]))
