"""How much one column says about another, whatever the shape of their relation."""

import numpy as np

# Bins of equal numbers of rows by one column, within which the others are averaged: a wave of two periods shows in ten.
BINS = 10
# What a column counts at least, next to one that determines the missing entry: columns that say nothing alone may say
# something together.
LEAST_RELEVANCE = 0.02
# Rows that are looked at, evenly spaced: means of bins of a hundred rows say enough.
MOST_ROWS = 1000


def relevances(points: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Fractions of the variance of each column (first axis) that lie between bins of each other one (second axis).

    Less what chance alone would explain, and at least 0.02. Indicators of a category are one column here: their bins
    are the categories, and their variances are added. As missing ones they count as much together as a number does.

    Parameters
    ----------
    points : array of shape (n, d)
    groups : integer array of shape (d,), optional
        Columns with the same number are indicators of the same entry.

    Returns
    -------
    array of shape (d, d)
        Ones on the diagonal, divided by the number of indicators.
    """
    points = points[np.unique(np.linspace(0, len(points) - 1, MOST_ROWS).astype(int))]
    n, d = points.shape
    groups = np.arange(d) if groups is None else groups
    counts = np.bincount(groups)
    first = np.cumsum(counts) - counts
    centered = points - points.mean(axis=0)
    total = np.add.reduceat(np.sum(centered**2, axis=0), first)
    found = np.empty((counts.size, counts.size))
    for group, (start, count) in enumerate(zip(first, counts, strict=True)):
        order, cuts = _bins(points[:, start : start + count])
        sizes = np.diff(np.append(cuts, n))[:, None]
        sums = np.add.reduceat(centered[order], cuts, axis=0)
        between = np.add.reduceat(np.sum(sums**2 / sizes, axis=0), first)
        explained = between / np.where(total > 0, total, 1.0)
        found[:, group] = 1 - (1 - explained) * (n - 1) / max(1, n - cuts.size)
    return (np.clip(found, LEAST_RELEVANCE, 1.0) / counts[:, None])[np.ix_(groups, groups)]


def _bins(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of the rows, and where bins begin in it: as many rows in each, or those of one category."""
    n = columns.shape[0]
    if columns.shape[1] > 1:
        labels = columns.argmax(axis=1)
        order = np.argsort(labels, kind="stable")
        return order, np.flatnonzero(np.diff(labels[order], prepend=-1))
    n_bins = int(max(2, min(BINS, n // 4)))
    return np.argsort(columns[:, 0], kind="stable"), np.arange(n_bins) * n // n_bins
