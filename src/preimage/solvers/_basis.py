"""Vectors of feature space, seen from the basis vectors of input space."""

import numpy as np

from preimage._arrays import from_numpy
from preimage._rows import map_rows


def values_at_basis(vectors, n_features, scale=1.0, shift=0.0):
    """⟨ψ, φ(shift + scale·eᵢ)⟩ for every axis i, shape (n_features, k); never all basis vectors at once."""
    like = vectors.coefficients

    def values(rows):
        basis = np.zeros((len(rows), n_features))
        basis[np.arange(len(rows)), rows] = scale
        return vectors(shift + from_numpy(basis, like))

    return map_rows(values, np.arange(n_features), rows=512, device_of=like)
