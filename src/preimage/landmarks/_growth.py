"""More landmarks for data that those so far do not express."""

import numpy as np

from preimage._arrays import take_rows, to_numpy
from preimage.feature_space import Gram, Subspace

# Rows of a batch among which new landmarks are looked for.
MOST_CANDIDATES = 2000


def additional_landmarks(kernel, points, X, n_more, tolerance, rng):
    """Rows of X to add to the landmarks `points`, until what they leave of X is within a tolerance.

    Random pivots (G9) of the residual K − K̃ on at most 2,000 rows of X, drawn at random.

    Parameters
    ----------
    kernel : Kernel
    points : array of shape (m, d)
    X : array of shape (n, d)
    n_more : int
        At most so many.
    tolerance : float
        Share of the trace of the kernel on X that may be left.
    rng : numpy.random.Generator

    Returns
    -------
    array of shape (at most n_more, d)
    """
    rows = np.arange(X.shape[0])
    if X.shape[0] > MOST_CANDIDATES:
        rows = np.sort(rng.choice(X.shape[0], MOST_CANDIDATES, replace=False))
    candidates = take_rows(X, rows)
    gram = to_numpy(Gram(kernel, candidates).dense()).astype(float)
    inside = to_numpy(Subspace.span(kernel, points).coordinates(candidates)).astype(float)
    residual = gram - inside @ inside.T
    left = np.clip(residual.diagonal().copy(), 0.0, None)
    goal = tolerance * gram.trace()
    floor = max(1e-6 * tolerance, 1e-12) * gram.diagonal().max(initial=0.0)
    chosen, factor = [], np.zeros((rows.size, 0))
    while len(chosen) < n_more and left.sum() > goal:
        open_ones = np.where(left > floor, left, 0.0)
        if open_ones.sum() == 0:
            break
        pivot = rng.choice(rows.size, p=open_ones / open_ones.sum())
        column = residual[:, pivot] - factor @ factor[pivot]
        column = column / np.sqrt(left[pivot])
        factor = np.column_stack([factor, column])
        left = np.clip(left - column**2, 0.0, None)
        left[pivot] = 0.0
        chosen.append(pivot)
    return take_rows(candidates, np.asarray(chosen, dtype=int))
