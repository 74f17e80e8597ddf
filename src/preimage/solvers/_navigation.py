"""Walks through feature space, seen from input space."""

import numpy as np

from preimage._arrays import array_namespace


def navigate(subspace, solver, A, B, steps):
    """Pre-images along the line from the mean of φ(A) to the mean of φ(B), each started at the one before, (steps, d)."""
    if steps < 2:
        raise ValueError(f"A walk needs at least its two ends; got steps={steps!r}.")
    xp = array_namespace(A)
    mean = lambda X: xp.mean(subspace.coordinates(X), axis=0)
    begin, end = mean(A), mean(B)
    points, here = [], None
    for share in np.linspace(0, 1, steps):
        Y = (1 - float(share)) * begin + float(share) * end
        here = solver.inverse(subspace, Y[None, :], here).points
        points.append(here)
    return xp.concat(points, axis=0)
