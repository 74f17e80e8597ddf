"""How much one column says about another, whatever the shape of their relation."""

import numpy as np

# Bins of equal numbers of rows by one column, within which the others are averaged: a wave of two periods shows in ten.
BINS = 10
# What a column counts at least, next to one that determines the missing entry: columns that say nothing alone may say
# something together.
LEAST_RELEVANCE = 0.02
# Rows that are looked at, evenly spaced: means of bins of a hundred rows say enough.
MOST_ROWS = 1000


def relevances(points: np.ndarray) -> np.ndarray:
    """Fractions of the variance of each column (first axis) that lie between bins of each other one (second axis).

    Less what chance alone would explain, and at least 0.02.

    Parameters
    ----------
    points : array of shape (n, d)

    Returns
    -------
    array of shape (d, d)
        Ones on the diagonal.
    """
    points = points[np.unique(np.linspace(0, len(points) - 1, MOST_ROWS).astype(int))]
    n, d = points.shape
    centered = points - points.mean(axis=0)
    total = np.sum(centered**2, axis=0)
    n_bins = int(max(2, min(BINS, n // 4)))
    cuts = np.arange(n_bins) * n // n_bins
    sizes = np.diff(np.append(cuts, n))[:, None]
    found = np.empty((d, d))
    for column in range(d):
        order = np.argsort(points[:, column], kind="stable")
        sums = np.add.reduceat(centered[order], cuts, axis=0)
        between = np.sum(sums**2 / sizes, axis=0)
        found[:, column] = between / np.where(total > 0, total, 1.0)
    adjusted = 1 - (1 - found) * (n - 1) / max(1, n - n_bins)
    return np.clip(adjusted, LEAST_RELEVANCE, 1.0)
