"""Walks through feature space, seen from input space."""

import numpy as np

from preimage._arrays import array_namespace
from preimage.solvers._preimage import PreimageResult


def navigate(subspace, solver, A, B, steps):
    """Pre-images along the line from the mean of φ(A) to that of φ(B), each started at the one before."""
    if steps < 2:
        raise ValueError(f"A walk needs at least its two ends; got steps={steps!r}.")
    xp = array_namespace(A)
    mean = lambda X: xp.mean(subspace.coordinates(X), axis=0)
    begin, end = mean(A), mean(B)
    # One question for all of the walk: from the first point on, each is the image nearest to the line, near the last.
    here = solver.inverse(subspace, begin[None, :], None).points
    results = []
    for share in np.linspace(0, 1, steps):
        Y = (1 - float(share)) * begin + float(share) * end
        results.append(solver.inverse(subspace, Y[None, :], here))
        here = results[-1].points
    return PreimageResult.join(results)
