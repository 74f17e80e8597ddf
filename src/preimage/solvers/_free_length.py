"""Pre-images up to length: the input whose image points along a vector of feature space."""

import numpy as np

from preimage._arrays import array_namespace, take_rows, to_dense
from preimage.feature_space import Expansion, Gram

ROUNDS = 20


def free_length_preimages(vectors, solver):
    """Inputs z and factors β that minimise ‖Ψ − βφ(z)‖² for each vector Ψ, of either sign  (P3).

    The best β for a given z is ψ(z)/k(z, z) (P4), and for a given β the problem is that of the pre-image of Ψ/β; the
    two are solved in turns, from the training points where ψ is largest and smallest, until β settles.

    Returns
    -------
    points : array of shape (k, d)
    factors : array of shape (k,)
    distances : array of shape (k,)
        ‖Ψ − βφ(z)‖².
    """
    xp = array_namespace(vectors.coefficients)
    values = Gram(vectors.kernel, vectors.points) @ vectors.coefficients  # (n, k)
    relative = values / xp.sqrt(xp.abs(vectors.kernel.diagonal(vectors.points)))[:, None]
    candidates = [_alternate(vectors, xp.argmax(sign * relative, axis=0), solver) for sign in (1, -1)]
    (first, beta, left), (second, other_beta, other_left) = candidates
    better = left <= other_left
    return (
        xp.where(better[:, None], first, second),
        xp.where(better, beta, other_beta),
        xp.where(better, left, other_left),
    )


def _alternate(vectors, numbers, solver):
    xp = array_namespace(vectors.coefficients)
    Z = to_dense(take_rows(vectors.points, np.asarray([int(number) for number in numbers])))
    norms = vectors.squared_norms()
    factors, distances = _factors(vectors, Z, norms)
    for _ in range(ROUNDS):
        safe = xp.where(factors == 0, xp.ones_like(factors), factors)
        scaled = Expansion(vectors.kernel, vectors.points, vectors.coefficients / safe, squared_norms=norms / safe**2)
        new_Z = solver.solve(scaled, Z).points
        new_factors, new_distances = _factors(vectors, new_Z, norms)
        better = new_distances <= distances
        settled = bool(xp.all(~better | (distances - new_distances <= 1e-9 * xp.abs(norms))))
        Z = xp.where(better[:, None], new_Z, Z)
        factors, distances = xp.where(better, new_factors, factors), xp.where(better, new_distances, distances)
        if settled:
            break
    return Z, factors, distances


def _factors(vectors, Z, norms):
    """β = ψ(z)/k(z, z) and what is left, ‖Ψ‖² − ψ(z)²/k(z, z)."""
    xp = array_namespace(Z)
    values = xp.linalg.diagonal(vectors(Z))
    lengths = vectors.kernel.diagonal(Z)
    safe = xp.where(lengths > 0, lengths, xp.ones_like(lengths))
    return values / safe, norms - values**2 / safe
