"""Features of extreme higher moments as vectors of feature space."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import from_numpy
from preimage._engine.linalg import orthonormal_factor
from preimage._engine.typing import Array
from preimage._models.components._projection_pursuit import Pursuit
from preimage.feature_space import Expansion, Subspace


@dataclass(frozen=True)
class PursuitFeatures:
    """Features of mean zero, variance one and no correlations, made of principal components.

    Attributes
    ----------
    vectors : Expansion of r vectors
        The directions w; they are not orthogonal.
    offset : array of shape (r,)
        ⟨w, mean⟩: features of x are ``vectors(x) - offset``.
    subspace : Subspace
        The mean, and an orthonormal frame V of the span of the patterns: of the covariances of φ(x) with the features.
    mixing : array of shape (r, r)
        Upper triangular R: the patterns are V R, so that features Y have the coordinates Y Rᵀ.
    pursuit : Pursuit
    """

    vectors: Expansion
    offset: Array
    subspace: Subspace
    mixing: Array
    pursuit: Pursuit


def pursuit_features(
    subspace: Subspace,
    coordinates: np.ndarray,
    search: Callable[[np.ndarray], Pursuit],
    weights: np.ndarray | None = None,
) -> PursuitFeatures:
    r"""Whiten principal coordinates, search, and express what was found in feature space.

    With the covariance C of the coordinates β and F such that :math:`F^\top C F = I`, a direction w of white
    coordinates gives the feature :math:`(\beta - \bar\beta)^\top F w`. The pattern :math:`C F w` is the regression of β
    on it: given some features, the others being at their mean, β is their sum of patterns.

    Parameters
    ----------
    subspace : Subspace
        Principal axes, of which `coordinates` are coordinates.
    coordinates : array of shape (n, q)
    search : callable
        From white coordinates to directions, which it may be less of than columns.
    weights : array of shape (n,), optional
        How often each row counts.
    """
    mean = np.average(coordinates, axis=0, weights=weights)
    centered = coordinates - mean
    omega = np.full(len(centered), 1 / len(centered)) if weights is None else weights / weights.sum()
    covariance = centered.T @ (omega[:, None] * centered)
    factor = orthonormal_factor(covariance)
    pursuit = search(centered @ factor)
    unmixing = factor @ pursuit.directions
    Q, R = np.linalg.qr(covariance @ unmixing)
    frame = subspace.frame
    here = lambda values: from_numpy(np.ascontiguousarray(values), frame.coefficients, dtype=frame.coefficients.dtype)
    M, turn = here(unmixing), here(Q)
    return PursuitFeatures(
        frame @ M,
        (subspace.offset + here(mean)) @ M,
        Subspace(
            frame @ turn,
            subspace.origin,
            offset=subspace.offset @ turn,
            origin_squared_norm=subspace.origin_squared_norm,
        ),
        here(R),
        pursuit,
    )
