"""Decompositions of matrices, right to rounding on every device.

torch hands small matrices of single precision on CUDA to Jacobi iterations that stop early: at 500 rows, eigenvectors
are orthogonal to 3e-4 only, where rounding errors are 1e-6. Singular vectors are worse, at all sizes. Double precision
is right, and for eigenvectors of a few hundred rows it is faster as well.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from array_api_compat import is_torch_array

from preimage._arrays import array_namespace, in_double, in_precision, itemsize
from preimage._finite import NOBODY, REMEDY, current_method, is_finite
from preimage._threads import large_decomposition
from preimage._typing import Array

# Rows up to which eigenvectors on CUDA are computed in double precision. torch iterates up to 512 and takes a direct
# method, which is right, beyond. Ten times more would be slow on cards that have little double precision.
ITERATED_ROWS = 1024


def eigh(A: Array) -> tuple[Array, Array]:
    """All eigenpairs of a symmetric matrix, or of each of a stack, smallest eigenvalue first."""
    # Not SciPy's: it brings a BLAS of its own, whose idle threads spin for a while and halve the speed of NumPy's.
    in_namespace = array_namespace(A).linalg.eigh
    decompose = in_double_precision(in_namespace) if is_iterated(A) and A.shape[-1] <= ITERATED_ROWS else in_namespace
    with large_decomposition(A.shape[-1]), _explained(A):
        values, vectors = decompose(A)
    return values, vectors


def eigvalsh(A: Array) -> Array:
    """The eigenvalues alone, smallest first."""
    careful = is_iterated(A) and A.shape[-1] <= ITERATED_ROWS
    with large_decomposition(A.shape[-1]), _explained(A):
        return in_precision(array_namespace(A).linalg.eigvalsh(in_double(A) if careful else A), A.dtype)


def svd(A: Array) -> tuple[Array, Array, Array]:
    """U, the singular values, largest first, and Vᵀ; as many of each as A has rows or columns, whichever are fewer."""
    in_namespace = array_namespace(A).linalg.svd
    decompose = in_double_precision(in_namespace) if is_iterated(A) else in_namespace
    with large_decomposition(min(A.shape)), _explained(A):
        U, values, Vt = decompose(A, full_matrices=False)
    return U, values, Vt


def cholesky(A: Array) -> Array | None:
    """L of A = LLᵀ, lower triangular; None where A is not positive definite to rounding."""
    xp = array_namespace(A)
    try:
        factor = xp.linalg.cholesky(A)
    except (np.linalg.LinAlgError, RuntimeError):  # NumPy's, and that of torch
        return None
    return factor if bool(xp.all(xp.isfinite(factor))) else None


@contextmanager
def _explained(A: Array) -> Iterator[None]:
    """Say why NumPy gives a matrix up, in calls below the public ones, which say it of themselves."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        if current_method() == NOBODY and not is_finite(A):
            raise ValueError(
                "A matrix has entries that are not finite and cannot be decomposed: points have NaN or infinity, or "
                f"kernel values overflow. {REMEDY}."
            ) from error
        raise


def is_iterated(A: Array) -> bool:
    """Whether the array library iterates for vectors of A, and stops above rounding errors."""
    return is_torch_array(A) and A.device.type == "cuda" and itemsize(A.dtype) == 4


def in_double_precision(decompose: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """The same function, computing in double precision what it returns in the precision of its argument."""
    return lambda A, **options: tuple(in_precision(part, A.dtype) for part in decompose(in_double(A), **options))
