"""Eigensolvers of other libraries: LAPACK for matrices that fit into memory, ARPACK for hard spectra."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from preimage._engine.arrays import array_namespace, epsilon, is_host, take_rows
from preimage._engine.linalg import eigh_descending, top_eigh
from preimage._engine.progress import stage
from preimage._engine.threads import small_matrices
from preimage._engine.typing import Array
from preimage._engine.validation import Interval
from preimage.eigensolvers._eigensolver import (
    EigenResult,
    Eigensolver,
    Operator,
    leading_order,
    measured_result,
    product_rounding,
    relative_tolerance,
)


class Dense(Eigensolver):
    """LAPACK (or the solver of the device) on the dense matrix: full accuracy, O(n³) time, two copies of the matrix.

    See Also
    --------
    BlockKrylov : Few leading pairs of a large matrix, or without the matrix.
    Arpack : SciPy's solver of few leading pairs.

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
            (values, vectors), sum_of_moduli = _leading_pairs(matrix, k, by_modulus)
            advance()
        tolerance = relative_tolerance(None, vectors.dtype)
        # Residuals by the matrix that was decomposed: products with one that is not centred have errors of their own.
        result = measured_result(values, vectors, matrix @ vectors, tolerance, matrix.shape[0], "direct method")
        products = operator @ vectors if operator is not matrix else result.products
        # As exact as the matrix allows.
        return replace(result, products=products, converged=True, is_direct=True, sum_of_moduli=sum_of_moduli)


def _leading_pairs(matrix: Array, k: int, by_modulus: bool) -> tuple[tuple[Array, Array], float | None]:
    """The leading pairs; and the sum of moduli of all eigenvalues, where these are needed to order them."""
    if not by_modulus:
        return top_eigh(matrix, k), None
    values, vectors = eigh_descending(matrix)
    order, xp = leading_order(values, by_modulus)[:k], array_namespace(values)
    return (take_rows(values, order), take_rows(vectors.T, order).T), float(xp.sum(xp.abs(values)))


class Arpack(Eigensolver):
    """SciPy's `eigsh`: one product with a single vector per step. NumPy only.

    Parameters
    ----------
    tol : float, default=0.0
        ARPACK's relative tolerance of eigenvalues; zero is machine precision.
    max_iter : int or None, default=None
        Largest number of restarts.

    See Also
    --------
    BlockKrylov : Blocks of vectors at a time, on any device.
    Dense : All eigenpairs at once, for small matrices.
    scipy.sparse.linalg.eigsh : The function that is called.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.eigensolvers import Arpack
    >>> Arpack().solve(np.diag(np.arange(100.0)), 2, np.random.default_rng(0)).values.round(6)
    array([99., 98.])
    """

    _parameter_constraints = {
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, tol: float | None = 0.0, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, operator: Operator, k: int, rng: np.random.Generator, *, by_modulus: bool = False) -> EigenResult:
        if not is_host(getattr(operator, "device_array", operator)):
            raise TypeError("Arpack works on NumPy arrays only; BlockKrylov works on every array library.")
        if k >= operator.shape[0]:  # ARPACK finds fewer eigenvectors than there are
            return Dense().solve(operator, k, rng, by_modulus=by_modulus)
        start = rng.standard_normal(operator.shape[0])
        n_products = 0

        def multiply(v: Array) -> Array:
            nonlocal n_products
            n_products += 1
            return (operator @ v.reshape(-1, 1).astype(operator.dtype, copy=False))[:, 0]

        linear = LinearOperator(operator.shape, matvec=multiply, dtype=operator.dtype)
        which = "LM" if by_modulus else "LA"
        try:
            values, vectors = eigsh(linear, k, which=which, v0=start, tol=self.tol or 0.0, maxiter=self.max_iter)
            reason = "converged"
        except ArpackNoConvergence as failure:
            values, vectors, reason = failure.eigenvalues, failure.eigenvectors, "iteration limit"
            if len(values) == 0:
                raise ArpackNoConvergence(
                    f"none of the {k} eigenpairs converged within max_iter={self.max_iter} restarts. Raise max_iter, "
                    "raise tol, or use eigensolver='block_krylov' or 'dense'.",
                    values,
                    vectors,
                ) from None
        except ArpackError:
            if np.any(multiply(start)):
                raise
            # ARPACK finds no direction in the image of a matrix of zeros, of which all vectors are eigenvectors.
            vectors = np.linalg.qr(rng.standard_normal((operator.shape[0], k)))[0].astype(operator.dtype, copy=False)
            values, reason = np.zeros(k, dtype=operator.dtype), "converged"
        order = leading_order(values, by_modulus)
        values, vectors = values[order], np.ascontiguousarray(vectors[:, order])
        # Sums of n products have rounding errors of up to nε; no residual can be asked to be smaller.
        rounding_errors = operator.shape[0] * epsilon(operator.dtype)
        tolerance = max(relative_tolerance(self.tol or None, operator.dtype), rounding_errors)
        n_products += len(values)
        rounding = product_rounding(operator)
        result = measured_result(values, vectors, operator @ vectors, tolerance, n_products, reason, rounding)
        missing = k - len(values)
        return replace(result, converged=result.converged and not missing, n_missing=missing)
