"""Eigensolvers by name, the choice of one, and what it may take."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from preimage._engine.arrays import itemsize
from preimage._engine.progress import stage
from preimage._engine.reduction import can_reduce
from preimage._engine.registry import Part, Registry
from preimage._engine.threads import large_decomposition
from preimage._engine.validation import Interval, check_parameters
from preimage.eigensolvers._block_krylov import BlockKrylov, block_width
from preimage.eigensolvers._eigensolver import (
    Arpack,
    Dense,
    EigenResult,
    Eigensolver,
    Operator,
    product_rounding,
    relative_tolerance,
)
from preimage.eigensolvers._lanczos import lanczos
from preimage.eigensolvers._reduced_pairs import reduced_pairs

# Bytes of a matrix that stays in the cache between products: a product with one vector then takes a fraction of its
# time in main memory, and single vectors, which need far fewer columns than blocks, win. Ten times larger is beyond
# most caches.
CACHED_BYTES = 36 * 2**20
# Relative residuals asked of single vectors by default, by bytes of a number. Four digits more than of blocks take a
# few more vectors, 6 % of a fit, and components are LAPACK's to eight digits where eigenvalues are not too close. Ten
# times smaller ones would meet rounding errors in single precision.
CACHED_TOLERANCE = {8: 1e-10, 4: 5e-6}
# Fraction of all pairs from which on the vectors of the iteration are so many that keeping them orthogonal takes longer
# than LAPACK's reduction, which may stop early.
SINGLE_FRACTION = 0.02


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
                is_reduced = k > SINGLE_FRACTION * n and not by_modulus and can_reduce(operator.dtype)
                found: EigenResult | None
                if is_reduced and hasattr(operator, "dense"):
                    with large_decomposition(n):
                        found = reduced_pairs(operator.dense(), k, tolerance, product_rounding(operator), rng)
                else:
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
# For matrices in the cache more, as LAPACK's reduction may stop early there.
DENSE_FRACTION, CACHED_FRACTION = 0.15, 0.3
# Size up to which an iteration that converges slowly is given up for LAPACK: beyond, that would take minutes, and
# several times the memory of the matrix.
LARGEST_SURE = 5000
# Work arrays up to this size are never refused, whatever the budget: every machine that runs Python has room for them.
SMALL_BUDGET = 64 * 2**20


def is_direct(size: int, k: int, held: bool = True, n_bytes: int = 8) -> bool:
    """Whether LAPACK is expected to be faster than an iteration for k pairs of a matrix of numbers of so many bytes."""
    fraction = CACHED_FRACTION if is_cached(size, n_bytes) else DENSE_FRACTION
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

    @property
    def is_automatic(self) -> bool:
        """Whether nothing is asked for that decides between solvers."""
        return isinstance(self.eigensolver, str) and self.eigensolver == "auto" and self.max_iter is None

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
