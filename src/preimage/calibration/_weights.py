"""Moments and quantiles of weighted samples: weight 2 is two equal values."""

import numpy as np


def mean(values, weights=None):
    """Of columns, shape (q,), or of a sample."""
    return np.mean(values, axis=0) if weights is None else weights @ values / weights.sum()


def deviation(values, weights=None):
    """Standard deviations of columns, shape (q,), or of a sample."""
    if weights is None:
        return np.std(values, axis=0)
    return np.sqrt(weights @ (values - mean(values, weights)) ** 2 / weights.sum())


def count(values, weights=None):
    """How many values there are."""
    return len(values) if weights is None else float(weights.sum())


def quantiles(values, levels, weights=None):
    """Quantiles of a sample, those of `numpy.quantile` for equal weights of one."""
    if weights is None or (weights == 1).all():
        return np.quantile(values, levels)
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    # Value i occupies the places from `starts` to `ends - 1`, of `ends[-1]` places counted from zero.
    starts = ends - weights[order]
    places = np.stack([starts, np.maximum(ends - 1, starts)], axis=1).ravel()
    return np.interp(np.asarray(levels) * max(ends[-1] - 1, 0), places, np.repeat(values[order], 2))


def matched(reference, values, weights=None):
    r"""The reference value that each value corresponds to by rank, for two samples with the same weights.

    The mean of the quantile function of `reference` over the ranks that the value has; equal values share theirs.
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
