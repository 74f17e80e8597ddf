"""Eigensolvers of other libraries (LAPACK, ARPACK), the choice among all, and what they may take."""

from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from preimage._engine.arrays import array_namespace, epsilon, is_host, itemsize, take_rows
from preimage._engine.linalg import eigh_descending, top_eigh
from preimage._engine.progress import stage
from preimage._engine.registry import Part, Registry
from preimage._engine.threads import small_matrices
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.eigensolvers._block_krylov import BlockKrylov, block_width
from preimage.eigensolvers._eigensolver import (
    EigenResult,
    Eigensolver,
    Operator,
    leading_order,
    measured_result,
    product_rounding,
    relative_tolerance,
)
from preimage.eigensolvers._lanczos import lanczos


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


EIGENSOLVERS: Registry[Eigensolver] = Registry(
    "eigensolver",
    Part("auto", SureKrylov, "chosen by size and number of components"),
    Part("dense", Dense, "LAPACK: all digits, cubic time"),
    Part("block_krylov", BlockKrylov, "few leading pairs of a large matrix"),
    Part("arpack", Arpack, "SciPy's solver, one vector at a time"),
    also="an Eigensolver of preimage.eigensolvers",
)

# Up to this size the first block of an iteration would be the whole matrix.
TINY = 32
# Up to this size LAPACK takes two milliseconds, as long as the steps of an iteration, and gives every digit; at ten
# times the size it takes ten times as long as those.
DENSE_SIZE = 300
# Fraction of all eigenpairs beyond which the basis of an iteration is nearly the whole space: a direct method wins.
# For matrices in the cache by bytes per number: in single precision LAPACK gains more than single vectors do.
DENSE_FRACTION, CACHED_FRACTION = 0.15, {8: 0.2, 4: 0.12}
# Size up to which an iteration that converges slowly is given up for LAPACK: beyond, that would take minutes, and
# several times the memory of the matrix.
LARGEST_SURE = 5000
# Work arrays up to this size are never refused, whatever the budget: every machine that runs Python has room for them.
SMALL_BUDGET = 64 * 2**20


def is_direct(size: int, k: int, held: bool = True, n_bytes: int = 8) -> bool:
    """Whether LAPACK is expected to be faster than an iteration for k pairs of a matrix of numbers of so many bytes."""
    fraction = CACHED_FRACTION[n_bytes] if is_cached(size, n_bytes) else DENSE_FRACTION
    return held and (size <= DENSE_SIZE or k > fraction * size)


@dataclass(frozen=True)
class EigenOptions:
    """Which eigensolver to use, how far it goes, and how much memory it may take.

    Attributes
    ----------
    eigensolver : str or Eigensolver
        A name of `EIGENSOLVERS`, or a solver with parameters of its own.
    tol : float or None
        Relative residual that a named iterative solver must reach; None is its default.
    max_iter : int or None
        Iteration limit of a named iterative solver; None is its default.
    max_bytes : int or None
        Memory that the solver may use when the matrix is not held in memory; None is no limit.

    Examples
    --------
    >>> from preimage.eigensolvers import EigenOptions
    >>> EigenOptions("block_krylov").solver(size=5000, k=10)
    BlockKrylov()
    """

    eigensolver: str | Eigensolver = "auto"
    tol: float | None = None
    max_iter: int | None = None
    max_bytes: int | None = None

    def solver(self, *, size: int, k: int, held: bool = True, n_bytes: int = 8) -> Eigensolver:
        """The solver for the k leading pairs of a matrix of the given size; "auto" chooses by all arguments.

        `held` says whether the entries are in memory, `n_bytes` how many bytes each has.
        """
        if isinstance(self.eigensolver, Eigensolver):
            if hasattr(self.eigensolver, "_parameter_constraints"):
                check_parameters(self.eigensolver)
            return self.eigensolver
        part = EIGENSOLVERS[self.eigensolver]
        if part.make is SureKrylov and not (held and size <= LARGEST_SURE and self.max_iter is None):
            part = EIGENSOLVERS["block_krylov"]
        is_small = size <= TINY or (self.eigensolver == "auto" and is_direct(size, k, held, n_bytes))
        part = EIGENSOLVERS["dense"] if is_small else part
        options = {"tol": self.tol, "max_iter": self.max_iter}
        return part.made(**{name: value for name, value in options.items() if name in part.parameters})

    def require_room(self, operator: Operator, k: int) -> None:
        """Refuse k pairs of a matrix that is not held if their work arrays take more than `max_bytes`."""
        n = operator.shape[0]
        # Basis vectors and their images: at most n, and about four times as many as pairs before a restart.
        needed = 2 * n * min(n, 4 * k) * itemsize(operator.dtype)
        if getattr(operator, "is_held", True) or self.max_bytes is None or needed <= max(self.max_bytes, SMALL_BUDGET):
            return
        raise ValueError(
            f"{k} components of {n} points need about {needed / 1e9:.2g} GB, and max_memory allows "
            f"{self.max_bytes / 1e9:.2g} GB. Ask for fewer components, or raise max_memory."
        )
