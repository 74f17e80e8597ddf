"""The best coefficients for given points: projection on their span."""

import numpy as np

from preimage._arrays import array_namespace, device_kwargs
from preimage._linalg import orthonormal_factor, require_semidefinite
from preimage._typing import Array
from preimage.feature_space import Expansion, Gram
from preimage.kernels import Kernel

# Smallest pivot, relative to the largest, at which a Cholesky factor still gives half of all digits (the square root of
# the machine precision). Below it the rank is in doubt, and an eigendecomposition decides.
WELL_CONDITIONED = 1e-8


def project(target: Expansion, points: Array) -> Expansion:
    """The vectors of span{φ(zⱼ)} nearest to those of `target`: K^z β = K^zx α  (R2).

    Where images of the points are linearly dependent up to rounding, the coefficients are the shortest of the best.
    """
    values = target(points)
    return Expansion(target.kernel, points, solve_gram(Gram(target.kernel, points).dense(), values))


def solve_gram(K: Array, values: Array) -> Array:
    """β of K β = values for a Gram matrix K, whose rank is decided where it is in doubt.

    Images are brought to length one first: those of polynomials differ by many orders of magnitude, and short ones
    would be mistaken for rounding errors of long ones.
    """
    xp = array_namespace(K)
    lengths = xp.sqrt(xp.abs(xp.linalg.diagonal(K)))
    lengths = xp.where(lengths > 0, lengths, xp.ones_like(lengths))[:, None]
    return _solve_scaled(K / lengths / lengths.T, values / lengths) / lengths


def _solve_scaled(K: Array, values: Array) -> Array:
    # NumPy's own solver, here and in `solve_ridge`: SciPy brings a second BLAS, whose idle threads spin in its way.
    if isinstance(K, np.ndarray) and _is_well_conditioned(K):
        return np.linalg.solve(K, values)
    factor = orthonormal_factor(K)
    return factor @ (factor.T @ values)


def solve_ridge(K: Array, ridge: float | Array, values: Array) -> Array:
    """(K + ridge)⁻¹ values for a positive semidefinite K and a ridge, one number or one per row."""
    xp = array_namespace(K)
    return xp.linalg.solve(K + ridge * xp.eye(K.shape[0], dtype=K.dtype, **device_kwargs(K)), values)


def _is_well_conditioned(K: np.ndarray) -> bool:
    try:
        pivots = np.diagonal(np.linalg.cholesky(K)) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > WELL_CONDITIONED * pivots.max())


def squared_error(target: Expansion, reduced: Expansion) -> float:
    """Σ_c ‖Ψ_c − Ψ′_c‖²  (R1)."""
    xp = array_namespace(target.coefficients)
    cross = xp.sum(reduced.coefficients * target(reduced.points))
    return max(0.0, float(xp.sum(target.squared_norms()) - 2 * cross + xp.sum(reduced.squared_norms())))


def relative_error(target: Expansion, reduced: Expansion) -> float:
    """Σ_c ‖Ψ_c − Ψ′_c‖² / Σ_c ‖Ψ_c‖²; zero for a target of length zero."""
    xp = array_namespace(target.coefficients)
    total = float(xp.sum(target.squared_norms()))
    return squared_error(target, reduced) / total if total > 0 else 0.0


def require_euclidean(kernel: Kernel, gram: np.ndarray, who: str) -> None:
    """Refuse a kernel whose values on the points of a target do not make distances."""
    advice = (
        "Distances in feature space, which it measures, do not exist then. Distill compares function values instead "
        "and works with any kernel that has a gradient."
    )
    require_semidefinite(kernel, gram, who, advice)
