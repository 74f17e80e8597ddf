"""More landmarks for data that those so far do not express."""

from dataclasses import replace

import numpy as np

from preimage._arrays import concat_rows, take_rows
from preimage.landmarks._partial_cholesky import PartialCholesky
from preimage.landmarks._pivoted_cholesky import add_farthest
from preimage.landmarks._randomly_pivoted_cholesky import propose
from preimage.landmarks._view import View

# Rows of a batch among which new landmarks are looked for: the work on a batch stays below that of learning from it.
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
        Fraction of the trace of the kernel on X that may be left.
    rng : numpy.random.Generator

    Returns
    -------
    array of shape (at most n_more, d)
    """
    candidates = View.of(kernel, X, MOST_CANDIDATES, rng, judged=False)
    # Rows stand for themselves here: the tolerance is one on the rows that were drawn.
    candidates = replace(candidates, judged=True, weights=np.ones(candidates.rows.shape[0]))
    factor = PartialCholesky(kernel, candidates.with_candidates(points), points.shape[0] + n_more)
    while factor.open_candidates()[0].size:
        add_farthest(factor, points.shape[0], -np.inf)
    n_old, goal = len(factor), tolerance * float(factor.diagonal[points.shape[0] :].sum())
    factor.admit_all()
    while len(factor) < n_old + n_more and factor.residual_trace > goal and factor.open_candidates()[0].size:
        propose(factor, n_old + n_more - len(factor), goal, rng)
    return take_rows(concat_rows(points, candidates.rows), factor.pivots[n_old:])
