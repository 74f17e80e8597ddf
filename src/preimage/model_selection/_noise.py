"""Noise: added to clean data, measured on noisy data."""

from numbers import Real

import numpy as np

from preimage._arrays import from_numpy, to_numpy


def add_noise(X, noise, rng):
    """X with Gaussian noise of a given deviation, or with the noise of a function `noise(X, rng)`."""
    if isinstance(noise, Real):
        return X + from_numpy(float(noise) * rng.standard_normal(X.shape), X)
    return noise(X, rng)


def estimate_noise(X):
    """Standard deviation of independent noise of equal size in all columns, from the floor of the PCA spectrum.

    Directions without signal have the variance of the noise. The median of the lowest quarter of the eigenvalues of the
    covariance is taken for that floor, divided by what sampling makes of it when only the directions below the edge of
    the noise (Marchenko and Pastur) are noise. Signal in every direction makes the estimate too large. Needs more rows
    than columns.
    """
    X = to_numpy(X).astype(float)
    n, d = X.shape
    if n <= d:
        raise ValueError(f"The noise can be estimated from more rows than columns; got {n} rows and {d} columns.")
    values = np.linalg.eigvalsh(np.cov(X.T, ddof=1).reshape(d, d))
    lowest = max(1, d // 4)
    floor = max(float(np.median(values[:lowest])), 0.0)
    directions = d
    for _ in range(5):
        variance = floor / _floor_of_unit_noise(n, directions, lowest)
        edge = variance * (1 + np.sqrt(directions / n)) ** 2
        directions = max(int(np.sum(values <= edge)), lowest)
    return float(np.sqrt(variance))


def _floor_of_unit_noise(n, directions, lowest):
    """The median of the lowest eigenvalues of the covariance of n rows of unit noise."""
    sample = np.random.default_rng(0).standard_normal((n, directions))
    return float(np.median(np.linalg.eigvalsh(np.cov(sample.T).reshape(directions, directions))[:lowest]))
