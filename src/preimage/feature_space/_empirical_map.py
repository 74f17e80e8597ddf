"""The empirical kernel map: kernel values with some points, plain or whitened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, as_points, concat_rows, device_kwargs, epsilon, is_host, is_lazy
from preimage._engine.linalg import (
    eigh_descending,
    low_rank_eigenpairs,
    numerical_rank,
    product,
    semidefinite_tolerance,
    svd,
    triangular_factor,
)
from preimage._engine.memory import require_square_matrices
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_finite_block
from preimage._engine.warnings import warn_user
from preimage.exceptions import IndefiniteKernelWarning
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import Gram, require_finite
from preimage.kernels import Kernel

# Matrices of the size of the kernel matrix that whitening holds at once: the matrix, its eigenvectors and work space of
# LAPACK, and the result.
WHITENING_MATRICES = 5
# Rows, per point, of the blocks whose triangular factors are merged where two sets are on the two sides: merging costs
# as much as the factor of one row per point more, a quarter of the work here. Larger blocks only take more memory.
ROWS_PER_POINT = 4
# Rows of such a block at least: with fewer, calls take longer than the work.
FEWEST_ROWS = 1024


def empirical_map(kernel: Kernel, points: Array, *, whiten: bool = False, against: Rows = None) -> Expansion:
    r"""The vectors with values (k(x, z₁), …, k(x, z_m)) at x, as an `Expansion`, plain (K15) or whitened.

    Whitening multiplies by :math:`(K_{ZZ}^+)^{1/2}` (K17): inner products of features are then those of the kernel. Of
    an indefinite K the whitened map has the positive part alone, and an `IndefiniteKernelWarning` says so.

    With other points on the other side, ``against=X``, it multiplies by :math:`((F^\top F)^+)^{1/4}` with the values
    F = k(X, Z) (K19): inner products of the features of X are :math:`(F F^\top)^{1/2}`. F need be neither square nor
    symmetric nor definite. It is read block by block and never held.

    Parameters
    ----------
    kernel : Kernel
        With all parameters resolved.
    points : array of shape (m, d)
        The points z.
    whiten : bool, default=False
    against : array, sparse matrix, memory map or Dask array of shape (n, d), optional
        The rows X whose values with the points are whitened; None whitens values among the points.

    Returns
    -------
    Expansion of m vectors

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import empirical_map
    >>> from preimage.kernels import Linear
    >>> X, Z = np.array([[1.0, 0.0], [0.0, 2.0], [2.0, 1.0]]), np.array([[1.0, 1.0], [0.0, 3.0]])
    >>> features = empirical_map(Linear(), Z, whiten=True, against=X)(X)
    >>> root, values = features @ features.T, Linear()(X, Z)
    >>> np.allclose(root @ root, values @ values.T)
    True
    """
    if not whiten:
        return Expansion(kernel, points, _identity(points.shape[0], kernel.value_type(points), points))
    advice = "Give `points`, some of the rows: a thousand, for instance."
    require_square_matrices("A whitened map", points.shape[0], WHITENING_MATRICES, points, advice)
    if against is None:
        gram = Gram(kernel, points).dense()
        require_finite(gram, kernel)
        values, vectors = _positive_eigenpairs(kernel, gram)
    else:
        values, vectors = _right_singular_pairs(kernel, against, points)
    # In units of k(x, x): leaving out a value λ costs λ/m in inner products, the share of one row. Keeping it costs at
    # most ε/√λ, because features along it are kernel values, with rounding errors ε, divided by √λ. Both are equal at
    # λ = (mε)^(2/3), relative to a λ₁ of about m. The number of rows of F has no part in it.
    tolerance = epsilon(values.dtype) ** (2 / 3) / points.shape[0] ** (1 / 3)
    rank = numerical_rank(values, 1, tolerance=tolerance)
    # A product of a matrix with its own transpose, which costs half of one with another.
    scaled = vectors[:, :rank] / values[:rank] ** 0.25
    return Expansion(kernel, points, product(scaled, scaled.T))


@dataclass(frozen=True)
class _TriangularFactor:
    """R with RᵀR = FᵀF for some rows F; those of two sets of rows add up.

    FᵀF itself would square the condition of F, and lose half of the digits of its singular values.
    """

    R: Array

    @classmethod
    def of_values(cls, kernel: Kernel, rows: Array, points: Array) -> _TriangularFactor:
        values = Gram(kernel, rows, points).dense()
        require_finite(values, kernel)
        return cls(triangular_factor(values))

    def __add__(self, other: _TriangularFactor) -> _TriangularFactor:
        return _TriangularFactor(triangular_factor(concat_rows(self.R, other.R)))


def _right_singular_pairs(kernel: Kernel, X: Rows, points: Array) -> tuple[Array, Array]:
    """Singular values, descending, and right singular vectors of k(X, points), in one pass over X."""
    rows = max(ROWS_PER_POINT * points.shape[0], FEWEST_ROWS)
    from_disk, dtype = is_lazy(X), points.dtype

    def factor_of(block: Array) -> _TriangularFactor:
        if from_disk:
            block = check_finite_block("A map that is whitened by data", as_points(block).astype(dtype, copy=False))
        return _TriangularFactor.of_values(kernel, block, points)

    factor = sum_rows(factor_of, X, rows=rows)
    _, values, vectors = svd(factor.R)
    return values, vectors.T


def _identity(n: int, dtype: Any, like: Array) -> Array:
    """The identity matrix; of NumPy a view of 2n − 1 numbers, which nobody may change."""
    if not is_host(like):
        return array_namespace(like).eye(n, dtype=dtype, **device_kwargs(like))
    row = np.zeros(2 * n - 1, dtype)
    row[n - 1] = 1
    step = row.itemsize
    return np.lib.stride_tricks.as_strided(row[n - 1 :], (n, n), (-step, step), writeable=False)


def _positive_eigenpairs(kernel: Kernel, gram: Array) -> tuple[Array, Array]:
    """Eigenvalues, descending, and eigenvectors; a warning says how much of an indefinite matrix they are not."""
    found = low_rank_eigenpairs(gram) if kernel.is_positive_semidefinite else None
    values, vectors = eigh_descending(gram) if found is None else found
    _warn_of_negative(kernel, values)
    return values, vectors


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
