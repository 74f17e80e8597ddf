"""The empirical kernel map: kernel values with a set of points, as vectors of feature space."""

from preimage._arrays import array_namespace, device_kwargs, epsilon
from preimage._linalg import eigh_descending, numerical_rank, semidefinite_tolerance
from preimage._typing import Array
from preimage._warnings import warn_user
from preimage.exceptions import IndefiniteKernelWarning
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import Gram
from preimage.kernels import Kernel


def empirical_map(kernel: Kernel, points: Array, *, whiten: bool = False) -> Expansion:
    """The `Expansion` with values (k(z₁, x), …, k(z_m, x)) (K15), or (K⁺)^½ times that when whitened (K17).

    Of an indefinite K the whitened map has the positive part alone, and an `IndefiniteKernelWarning` says so.
    """
    gram = Gram(kernel, points)
    xp = array_namespace(points)
    if not whiten:
        identity = xp.eye(points.shape[0], dtype=gram.dtype, **device_kwargs(points))
        return Expansion(kernel, points, identity)
    values, vectors = eigh_descending(gram.dense())
    _warn_of_negative(kernel, values)
    # Leaving out eigenvalues below τλ₁ costs τλ₁ in inner products; keeping them costs ελ₁/√τ, because features along
    # them are kernel values, with rounding errors ελ₁, divided by √(τλ₁). Both are least together at τ = ε^(2/3).
    rank = numerical_rank(values, points.shape[0], tolerance=epsilon(values.dtype) ** (2 / 3))
    values, vectors = values[:rank], vectors[:, :rank]
    return Expansion(kernel, points, (vectors / xp.sqrt(values)) @ vectors.T)


def _warn_of_negative(kernel: Kernel, values: Array) -> None:
    xp = array_namespace(values)
    sizes = xp.abs(values)
    negative = values < -semidefinite_tolerance(values.dtype) * xp.max(sizes)
    count = int(xp.sum(xp.astype(negative, xp.int64)))
    if count:
        fraction = float(xp.sum(xp.where(negative, sizes, xp.zeros_like(sizes)))) / float(xp.sum(sizes))
        warn_user(
            f"{kernel!r} has {count} negative eigenvalues on the {values.shape[0]} points, {fraction:.1%} of the sum "
            "of moduli. Whitened features have inner products equal to the positive part of K; the negative part is "
            "lost. Iterated(kernel) is a positive semidefinite alternative, whiten=False keeps all values.",
            IndefiniteKernelWarning,
        )
