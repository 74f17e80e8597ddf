"""Graphs of points for warped kernels: Laplacians, and what they take away from a kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._arrays import array_namespace, device_kwargs, from_numpy, in_double, to_dense, to_device_of, to_numpy
from preimage._linalg import eigh_descending, is_semidefinite, numerical_rank, semidefinite_tolerance
from preimage._typing import Array
from preimage.exceptions import UnsupportedKernelError

LAPLACIANS = ("combinatorial", "normalized", "knn")
# Largest difference of L and its transpose, relative to the largest entry: rounding errors of a Laplacian that was
# computed in double precision. A directed graph differs by as much as its entries.
SYMMETRIC = 1e-10


@dataclass(frozen=True)
class Graph:
    """A matrix G with M = GᵀG for the M of `Warped`, and K Gᵀ for the points themselves, in double precision."""

    factor: Array
    images: Array

    @classmethod
    def of(cls, warped: Any, K: Array) -> "Graph":
        """The graph of a `Warped` kernel whose kernel has the values K among the points."""
        xp = array_namespace(K)
        L, scale = _laplacian(warped, K)
        values, vectors = eigh_descending(L)
        if not is_semidefinite(values, allowed=semidefinite_tolerance(K.dtype) * scale):
            raise ValueError(
                f"Warped needs a positive semidefinite Laplacian; the given one has the eigenvalue "
                f"{float(values[-1]):.2g} (largest {float(values[0]):.2g})."
            )
        rank = 0 if warped.strength == 0 else numerical_rank(values, K.shape[0], scale)
        sizes = warped.strength * values[:rank] ** warped.power
        root = xp.sqrt(sizes)[:, None] * vectors[:, :rank].T  # ηL = RᵀR
        inner = xp.eye(rank, dtype=K.dtype, **device_kwargs(K)) + root @ K @ root.T
        if not bool(xp.all(xp.isfinite(inner))):
            raise ValueError(
                f"strength={warped.strength:.3g} and power={warped.power:.3g} of Warped make numbers too large for "
                "double precision. Lower them, or scale the Laplacian down."
            )
        _require_positive(warped, inner)
        # M = Rᵀ(I + RKRᵀ)⁻¹R with a matrix that has no eigenvalue below one; neither K nor L is inverted.
        factor = xp.linalg.solve(xp.linalg.cholesky(inner), root) if rank else root
        return cls(factor, K @ factor.T)


def require_known(laplacian: Any) -> None:
    """Raise for a name that is not among the `LAPLACIANS`."""
    if isinstance(laplacian, str) and laplacian not in LAPLACIANS:
        raise ValueError(f"Warped has the Laplacians {', '.join(LAPLACIANS)}; got {laplacian!r}.")


def _laplacian(warped: Any, K: Array) -> tuple[Array, float]:
    """L, and the size of what it was subtracted from, to which rounding errors are in proportion."""
    xp, kind = array_namespace(K), warped.laplacian
    require_known(kind)
    if not isinstance(kind, str):
        L = in_double(to_device_of(to_dense(kind), K))
        if tuple(L.shape) != tuple(K.shape):
            raise ValueError(f"Warped has {K.shape[0]} points; its Laplacian has shape {tuple(L.shape)}.")
        if not bool(xp.all(xp.isfinite(L))):
            raise ValueError("Warped needs a Laplacian of finite numbers; the given one has NaN or infinite entries.")
        if float(xp.max(xp.abs(L - L.T))) > SYMMETRIC * float(xp.max(xp.abs(L))):
            raise ValueError("Warped needs a symmetric Laplacian.")
        return (L + L.T) / 2, float(xp.max(xp.abs(L)))
    # Kernel values are the weights of the edges. A Laplacian with negative weights would not be positive semidefinite.
    W = xp.clip((K + K.T) / 2, min=0.0)
    if kind == "knn":
        W = W * _neighbors(K, warped.n_neighbors)
    degrees = xp.sum(W, axis=1)
    if kind == "normalized":
        # I − D^{−1/2}WD^{−1/2}; a point without edges has a row of zeros, not a one on the diagonal.
        safe = xp.where(degrees > 0, degrees, xp.ones_like(degrees))
        scales = xp.where(degrees > 0, 1 / xp.sqrt(safe), xp.zeros_like(degrees))
        W, degrees = W * scales[:, None] * scales[None, :], xp.astype(degrees > 0, W.dtype)
    L = degrees[:, None] * xp.eye(K.shape[0], dtype=K.dtype, **device_kwargs(K)) - W
    return L, float(xp.max(degrees))


def _neighbors(K: Array, count: int) -> Array:
    """Ones for pairs of which one is among the `count` nearest of the other in feature space, else zero."""
    values = to_numpy(K)
    lengths = np.diagonal(values)
    distances = lengths[:, None] + lengths[None, :] - 2 * values
    np.fill_diagonal(distances, np.inf)
    count = min(count, len(values) - 1)
    joined = np.zeros(values.shape)
    if count > 0:
        np.put_along_axis(joined, np.argsort(distances, axis=1, kind="stable")[:, :count], 1.0, axis=1)
    return from_numpy(np.maximum(joined, joined.T), K)


def _require_positive(warped: Any, inner: Array) -> None:
    if warped.kernel.is_positive_semidefinite or inner.shape[0] == 0:
        return
    smallest = float(array_namespace(inner).linalg.eigvalsh(inner)[0])
    # With a semidefinite kernel no eigenvalue is below one; this close to zero the Cholesky factor is all rounding.
    if smallest <= semidefinite_tolerance(inner.dtype):
        raise UnsupportedKernelError(
            f"Warped needs a kernel that is positive semidefinite on its points; with {warped.kernel!r} the matrix "
            f"I + LK has the eigenvalue {smallest:.2g}. Iterated(kernel) is a positive semidefinite alternative."
        )
