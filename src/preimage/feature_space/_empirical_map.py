"""The empirical kernel map: kernel values with a set of points, as vectors of feature space."""

from preimage._arrays import array_namespace, device_kwargs
from preimage._linalg import orthonormal_factor
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import Gram


def empirical_map(kernel, points, *, whiten=False):
    """The `Expansion` with values (k(z₁, x), …, k(z_m, x)) (K15), or (K⁺)^½ times that when whitened (K17)."""
    gram = Gram(kernel, points)
    xp = array_namespace(points)
    if not whiten:
        identity = xp.eye(points.shape[0], dtype=gram.dtype, **device_kwargs(points))
        return Expansion(kernel, points, identity)
    K = gram.dense()
    factor = orthonormal_factor(K)
    # Columns of the factor are u/√λ, so F Fᵀ = K⁺ and its root is F (FᵀF)^(−½) Fᵀ = Σ u uᵀ/√λ.
    lengths = xp.sqrt(xp.sum(factor * factor, axis=0))
    return Expansion(kernel, points, (factor / lengths) @ factor.T)
