"""All of LAPACK's accuracy, for matrices that fit into memory."""

from dataclasses import replace

import numpy as np

from preimage._arrays import take_rows
from preimage._linalg import eigh_descending, top_eigh
from preimage._progress import stage
from preimage._threads import small_matrices
from preimage._typing import Array
from preimage.eigensolvers._eigensolver import (
    EigenResult,
    Eigensolver,
    Operator,
    leading_order,
    measured_result,
    relative_tolerance,
)


class Dense(Eigensolver):
    """LAPACK (or the solver of the device) on the dense matrix: full accuracy, O(n³) time, two copies of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.eigensolvers import Dense
    >>> Dense().solve(np.diag([1.0, 3.0, 2.0]), 2, np.random.default_rng(0)).values
    array([3., 2.])
    """

    def __init__(self) -> None:
        pass

    def solve(self, operator: Operator, k: int, rng: np.random.Generator, *, by_modulus: bool = False) -> EigenResult:
        matrix = operator.dense() if hasattr(operator, "dense") else operator
        with stage("Finding eigenvectors", 1) as advance, small_matrices(matrix.shape[0]):
            values, vectors = _leading_pairs(matrix, k, by_modulus)
            advance()
        tolerance = relative_tolerance(None, vectors.dtype)
        # Residuals by the matrix that was decomposed: products with one that is not centred have errors of their own.
        result = measured_result(values, vectors, matrix @ vectors, tolerance, matrix.shape[0], "direct method")
        products = operator @ vectors if operator is not matrix else result.products
        return replace(result, products=products, converged=True, is_direct=True)  # as exact as the matrix allows


def _leading_pairs(matrix: Array, k: int, by_modulus: bool) -> tuple[Array, Array]:
    if not by_modulus:
        return top_eigh(matrix, k)
    values, vectors = eigh_descending(matrix)
    order = leading_order(values, by_modulus)[:k]
    return take_rows(values, order), take_rows(vectors.T, order).T
