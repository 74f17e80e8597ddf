"""Samples of real numbers, some with weights (weight 2 is two equal values): checks, moments and quantiles."""

import numpy as np

from preimage._engine.typing import Array


def check_sample(caller: str, name: str, values: Array, least: int = 0) -> Array:
    """Values as a float64 array of one dimension: finite, and at least `least` of them."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"{caller} needs `{name}` of shape (n,); got shape {values.shape}.")
    if values.size < least:
        raise ValueError(f"{caller} needs at least {least} value(s) in `{name}`; got {values.size}.")
    if not np.isfinite(values).all():
        count = int((~np.isfinite(values)).sum())
        raise ValueError(f"{caller} needs finite numbers; {count} of {values.size} in `{name}` are NaN or infinite.")
    return values


def check_pairs(caller: str, x: Array, y: Array) -> tuple[Array, Array]:
    """Two samples of equal size, at least one pair."""
    x, y = check_sample(caller, "x", x, least=1), check_sample(caller, "y", y, least=1)
    if x.size != y.size:
        raise ValueError(f"{caller} needs as many y as x; got {x.size} of x and {y.size} of y.")
    return x, y


def check_table(caller: str, name: str, values: Array, least: int = 1) -> Array:
    """Values as a float64 array of two dimensions: finite, with at least `least` rows."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or len(values) < least:
        raise ValueError(
            f"{caller} needs `{name}` of shape (n, q) with {least} row(s) at least; got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{caller} needs finite numbers; `{name}` has NaN or infinity.")
    return values


def check_masses(caller: str, weights: Array | None, n: int) -> Array | None:
    """Weights of n values, or None: finite, none of them negative, not all zero."""
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"{caller} needs {n} weights, one per value: finite, none negative, not all zero; got an array of shape "
            f"{weights.shape}."
        )
    return weights


def mean(values: Array, weights: Array | None = None) -> Array:
    """Means of columns, shape (q,), or of a sample."""
    return np.mean(values, axis=0) if weights is None else weights @ values / weights.sum()


def deviation(values: Array, weights: Array | None = None) -> Array:
    """Standard deviations of columns, shape (q,), or of a sample."""
    if weights is None:
        return np.std(values, axis=0)
    return np.sqrt(weights @ (values - mean(values, weights)) ** 2 / weights.sum())


def count(values: Array, weights: Array | None = None) -> float:
    """How many values there are."""
    return len(values) if weights is None else float(weights.sum())


def matched_by_rank(reference: Array, values: Array, weights: Array | None = None) -> Array:
    r"""The reference value that each value corresponds to by rank, for two samples with the same weights.

    The mean of the quantile function of `reference` over the ranks of the value; equal values share their ranks.
    """
    weights = np.ones(len(values)) if weights is None else weights
    by_size = np.argsort(reference, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(weights[by_size])])
    # The integral of the quantile function, which is a step function: piecewise linear.
    integral = np.concatenate([[0.0], np.cumsum(weights[by_size] * reference[by_size])])
    _, group = np.unique(values, return_inverse=True)
    ends = np.cumsum(np.bincount(group, weights))
    ends[-1] = edges[-1]
    starts = np.concatenate([[0.0], ends[:-1]])
    means = (np.interp(ends, edges, integral) - np.interp(starts, edges, integral)) / (ends - starts)
    return np.clip(means, reference.min(), reference.max())[group]
