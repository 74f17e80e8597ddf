"""The iteration that "auto" means: Lanczos in the cache, blocks beyond, and LAPACK where these converge slowly."""

from numbers import Real

import numpy as np

from preimage._arrays import itemsize
from preimage._progress import stage
from preimage._validation import Interval
from preimage.eigensolvers._block_krylov import BlockKrylov, block_width
from preimage.eigensolvers._eigensolver import (
    EigenResult,
    Eigensolver,
    Operator,
    product_rounding,
    relative_tolerance,
)
from preimage.eigensolvers._lanczos import lanczos
from preimage.eigensolvers._libraries import Dense

# Bytes of a matrix that stays in the cache between products: a product with one vector then takes a fraction of its
# time in main memory, and single vectors, which need far fewer columns than blocks, win. Ten times larger is beyond
# most caches.
CACHED_BYTES = 36 * 2**20
# Relative residuals asked of single vectors by default, by bytes of a number. Four digits more than of blocks take a
# few more vectors, 6 % of a fit, and components are LAPACK's to eight digits where eigenvalues are not too close. Ten
# times smaller ones would meet rounding errors in single precision.
CACHED_TOLERANCE = {8: 1e-10, 4: 5e-6}


class SureKrylov(Eigensolver):
    """The fastest iteration for a matrix that is held in memory, and `Dense` where it takes longer than that.

    Parameters
    ----------
    tol : float or None, default=None
        As in `BlockKrylov`; None is 1e-10 in float64 and 5e-6 in float32 where the matrix stays in the cache.
    """

    _parameter_constraints = {"tol": [Interval(Real, 0, None, closed="left"), None]}

    def __init__(self, tol: float | None = None) -> None:
        self.tol = tol

    def solve(self, operator: Operator, k: int, rng: np.random.Generator, *, by_modulus: bool = False) -> EigenResult:
        if has_tiny_values(operator):
            return Dense().solve(operator, k, rng, by_modulus=by_modulus)
        n, affordable = operator.shape[0], affordable_columns(operator.shape[0], k)
        multiply = operator.multiplier() if hasattr(operator, "multiplier") else None
        if multiply is not None and is_cached(n, itemsize(operator.dtype)):
            default = CACHED_TOLERANCE[itemsize(operator.dtype)]
            tolerance = relative_tolerance(default if self.tol is None else self.tol, operator.dtype)
            with stage("Finding eigenvectors", 1) as advance:
                found = lanczos(operator, multiply, k, affordable, tolerance, rng, by_modulus=by_modulus)
                advance()
            return Dense().solve(operator, k, rng, by_modulus=by_modulus) if found is None else found
        width = block_width(k)
        iteration = BlockKrylov(tol=self.tol, max_iter=-(-affordable // width))
        result = iteration.solve(operator, k, rng, by_modulus=by_modulus)
        return result if result.converged else Dense().solve(operator, k, rng, by_modulus=by_modulus)


def is_cached(n: int, n_bytes: int) -> bool:
    """Whether a matrix of n rows with entries of so many bytes stays in the cache."""
    return n * n * n_bytes <= CACHED_BYTES


def has_tiny_values(operator: Operator) -> bool:
    """Whether squares of rounding errors, by which iterations see what is left of a vector, underflow."""
    smallest = float(np.finfo(f"f{itemsize(operator.dtype)}").tiny)
    return 0 < product_rounding(operator) <= smallest**0.5


def affordable_columns(n: int, k: int) -> int:
    """Columns of a Krylov basis, below n, that take about as long as LAPACK; measured for 500 to 5,000 rows."""
    return min(n // 2 + 2 * k, n - 1)
