"""Thresholds of reduced machines, from data."""

import numpy as np

from preimage._typing import Array, Targets


def best_threshold(scores: Array, labels: Targets, threshold: float) -> float:
    """The constant b for which sign(score + b) makes fewest errors on labels ±1.

    All cuts between sorted scores are tried. The given `threshold` stays when none is better; else the best cut nearest
    to it is taken.

    Parameters
    ----------
    scores : array of shape (n,)
    labels : array of shape (n,), entries ±1
    threshold : float
        The present b.

    Returns
    -------
    float

    Examples
    --------
    >>> from preimage.machines import best_threshold
    >>> best_threshold([-2.0, -1.0, 3.0], [-1, 1, 1], 0.0)
    1.5
    """
    scores, labels = np.asarray(scores, dtype=float), np.asarray(labels)
    if scores.size == 0:
        return float(threshold)
    order = np.argsort(scores, kind="stable")
    ranked, positive = scores[order], labels[order] > 0
    # Errors when the first j scores are called negative: the positives among them, and the negatives after them.
    errors = np.concatenate([[0], np.cumsum(positive)]) + np.concatenate([np.cumsum(~positive[::-1])[::-1], [0]])
    cuts = np.concatenate([[ranked[0] - 1], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1] + 1]])
    # Between equal scores there is no cut.
    possible = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])
    fewest = errors[possible].min()
    if np.sum((scores + threshold > 0) != (labels > 0)) <= fewest:
        return float(threshold)
    best = cuts[possible & (errors == fewest)]
    return float(-best[np.argmin(np.abs(best + threshold))])


def shift_keeping_decisions(before: np.ndarray, after: np.ndarray, relevant: np.ndarray | None = None) -> np.ndarray:
    """Constants for functions `after` that change the fewest signs of the functions `before`; arrays of shape (n, k).

    Not the fewest errors on labels: weights of classes and examples have moved the original's thresholds for a reason.

    Parameters
    ----------
    before, after : arrays of shape (n, k)
    relevant : boolean array of shape (n, k), optional
        Which signs count; all by default.

    Returns
    -------
    array of shape (k,)
    """
    counts = np.ones(before.shape, dtype=bool) if relevant is None else relevant
    columns = zip(before.T, after.T, counts.T, strict=True)
    return np.array([best_threshold(new[rows], np.where(old[rows] > 0, 1, -1), 0.0) for old, new, rows in columns])
