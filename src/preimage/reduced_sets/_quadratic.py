"""Kernels of degree 2: an expansion is a symmetric matrix, and its eigenvectors are the points."""

import numpy as np

from preimage._arrays import from_numpy, is_sparse, to_numpy
from preimage._typing import Array
from preimage.feature_space import Expansion

# A unit vector with a smaller last coordinate would be a point farther out than 1e4 times the scale √(c/γ), whose image
# and coefficient lose eight digits. With ten times more, vectors that need no change are rotated as well.
SHORTEST = 1e-4
# cosh t and sinh t for t = log 2. Any t ≠ 0 would do; this one gives exact binary fractions and moves vectors by about
# their length.
COSH, SINH = 1.25, 0.75


def eigen_points(target: Expansion) -> Array:
    """Points on which a target of the kernel (γ x·y + c)² is exact, those with the largest eigenvalues first.

    φ(x) is x̂x̂ᵀ with x̂ = (x, √(c/γ)), so Ψ is S = Σ αᵢ x̂ᵢx̂ᵢᵀ = Σ_a λ_a v̂_a v̂_aᵀ (R21), and v̂ = (v, w) is the image
    of the point √(c/γ) v/w with the coefficient λ w²γ/c (R23). Several targets take their eigenvectors in turn.
    """
    points, kernel = target.points, target.kernel
    constant = float(kernel.coef0) / float(kernel.gamma)
    coefficients = to_numpy(target.coefficients).astype(float)
    found = [_of_one(points, coefficients[:, c], constant) for c in range(coefficients.shape[1])]
    strengths = np.concatenate([strength for strength, _ in found])
    order = np.argsort(-strengths, kind="stable")
    return from_numpy(np.concatenate([rows for _, rows in found])[order], target.coefficients)


def _of_one(points: Array, alpha: np.ndarray, constant: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (moduli) and points of one target."""
    X: Array = points if is_sparse(points) else to_numpy(points).astype(float)
    weighted = X.multiply(alpha[:, None]).tocsr() if is_sparse(X) else X * alpha[:, None]
    # Σ αᵢ(xᵢ·z)² = zᵀSz (R21): each eigenvector of S is a point.
    S = X.T @ weighted
    S = S.toarray() if is_sparse(S) else S
    if constant > 0:
        root = constant**0.5
        # (x·y + c)² is the homogeneous kernel of the points (x, √c)  (R23).
        edge = root * np.asarray(weighted.sum(axis=0)).reshape(-1, 1)
        S = np.block([[S, edge], [edge.T, np.asarray([[constant * alpha.sum()]])]])
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    keep = np.abs(values) > S.shape[0] * np.finfo(float).eps * np.abs(values).max(initial=np.finfo(float).tiny)
    values, vectors = values[keep], vectors[:, keep]
    if constant <= 0:
        return np.abs(values), vectors.T
    # Points need the last coordinate √c, so each vector is divided by its last entry, which must not vanish.
    strengths, vectors = _away_from_infinity(values, vectors)
    return strengths, (root * vectors[:-1] / vectors[-1]).T


def _away_from_infinity(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Other vectors v̂ with the same Σ ±v̂v̂ᵀ, none of which has a last coordinate near zero, and their strengths.

    Points at infinity are vectors whose last coordinate is zero. Three changes keep the sum as it is:

    1. A rotation among the vectors of one sign; one such rotation makes all their last coordinates equal.
    2. Where all vectors of one sign have last coordinates near zero, a hyperbolic rotation of one of them with one of
       the other sign, which keeps uuᵀ − vvᵀ.
    3. Where all vectors of both signs have, two more vectors (`_raised`).
    """
    # √|λ| is absorbed into the vectors, so that only signs remain: [vectors of +, vectors of −].
    signed = [vectors[:, sign * values > 0] * np.sqrt(np.abs(values[sign * values > 0])) for sign in (1, -1)]
    if all(_is_flat(group) for group in signed):
        signed = _raised(*signed)
    for here, there in ((0, 1), (1, 0)):
        if signed[here].shape[1] and _is_flat(signed[here]):
            signed[here], signed[there] = _boosted(signed[here], signed[there])
    scaled = np.concatenate([_with_equal_ends(group) if _has_short_ends(group) else group for group in signed], axis=1)
    return np.sum(scaled**2, axis=0), scaled


def _is_flat(group: np.ndarray) -> bool:
    """Whether the last coordinates of a group would be near zero even if they were all equal."""
    longest = np.linalg.norm(group, axis=0).max(initial=0.0)
    return bool(np.linalg.norm(group[-1]) <= SHORTEST * longest * max(group.shape[1], 1) ** 0.5)


def _has_short_ends(group: np.ndarray) -> bool:
    """Whether a vector of the group has a last coordinate near zero."""
    return bool(np.any(np.abs(group[-1]) < SHORTEST * np.linalg.norm(group, axis=0)))


def _raised(plus: np.ndarray, minus: np.ndarray) -> list[np.ndarray]:
    """Vectors with v̂v̂ᵀ replaced by ½(v̂ + e)(v̂ + e)ᵀ + ½(v̂ − e)(v̂ − e)ᵀ − eeᵀ, for the longest v̂.

    e has the length of v̂ and lies along the last axis, so that all three have long last coordinates.
    """
    if np.linalg.norm(minus, axis=0).max(initial=0.0) > np.linalg.norm(plus, axis=0).max(initial=0.0):
        return _raised(minus, plus)[::-1]
    if plus.shape[1] == 0:
        return [plus, minus]
    longest = int(np.argmax(np.linalg.norm(plus, axis=0)))
    v = plus[:, longest : longest + 1]
    e = np.zeros_like(v)
    e[-1] = np.linalg.norm(v)
    pair = np.concatenate([v + e, v - e], axis=1) / 2**0.5
    return [np.concatenate([np.delete(plus, longest, axis=1), pair], axis=1), np.concatenate([minus, e], axis=1)]


def _boosted(flat: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors with u and v replaced by cosh·u + sinh·v and sinh·u + cosh·v, for the v with the largest last coordinate.

    uuᵀ − vvᵀ stays the same, because cosh² − sinh² = 1 and the mixed terms uvᵀ + vuᵀ cancel.
    """
    i, j = int(np.argmax(np.linalg.norm(flat, axis=0))), int(np.argmax(np.abs(other[-1])))
    u, v = flat[:, i].copy(), other[:, j].copy()
    flat, other = flat.copy(), other.copy()
    flat[:, i], other[:, j] = COSH * u + SINH * v, SINH * u + COSH * v
    return flat, other


def _with_equal_ends(vectors: np.ndarray) -> np.ndarray:
    """The vectors, reflected among themselves (by a Householder matrix) so that their last coordinates are equal."""
    ends = vectors[-1]
    length = np.linalg.norm(ends)
    # Σ vvᵀ is invariant under orthogonal mixing of the vectors; the reflection that maps `ends` to `goal` is one.
    goal = np.full(ends.size, length / ends.size**0.5)
    normal = ends - goal
    size = np.linalg.norm(normal)
    if size <= np.finfo(float).eps * length:
        return vectors
    normal = normal / size
    return vectors - 2 * np.outer(vectors @ normal, normal)
