"""Orthonormal vectors one point at a time: Gram and Schmidt in feature space."""

import numpy as np
from scipy.linalg import solve_triangular

from preimage._arrays import from_numpy, to_numpy
from preimage._linalg import rank_tolerance
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import Gram


def nested_frame(kernel, points):
    """An orthonormal frame whose first p vectors span the images of the first p points, for every p.

    With W = LLᵀ the kernel matrix of the points, the coefficients are L⁻ᵀ, upper triangular; the values of the frame
    are the rows of the factor G with GGᵀ = CW⁻¹Cᵀ. `Subspace.span` is for points in any order.
    """
    values = Gram(kernel, points).dense()
    W = to_numpy(values).astype(np.float64)
    L = _cholesky(W, rank_tolerance(W.shape[0], values.dtype) * float(np.max(np.diagonal(W), initial=0.0)))
    inverse = solve_triangular(L, np.eye(W.shape[0]), lower=True)
    return Expansion(kernel, points, from_numpy(np.ascontiguousarray(inverse.T), values))


def _cholesky(W, shift):
    try:
        return np.linalg.cholesky(W)
    except np.linalg.LinAlgError:
        # Points that depend on others up to rounding: a diagonal of the size of rounding keeps the factor finite, and
        # the directions that it makes up have hardly any values.
        for step in range(8):
            try:
                return np.linalg.cholesky(W + 10.0**step * shift * np.eye(W.shape[0]))
            except np.linalg.LinAlgError:
                continue
        raise
