"""Leading pairs by LAPACK's reduction to a tridiagonal matrix, which stops when they have converged."""

from functools import partial

import numpy as np

from preimage._engine.arrays import epsilon
from preimage._engine.lapack import tridiagonal_eigenpairs
from preimage._engine.linalg import top_eigh
from preimage._engine.reduction import Reduction
from preimage._engine.typing import Array
from preimage.eigensolvers._eigensolver import (
    SOLVER_ROUNDING,
    WEAKEST,
    EigenResult,
    Waiting,
    allowed_residuals,
    measured_result,
)
from preimage.eigensolvers._lanczos import CERTAIN, MOST_POWERS, PROBES, UNDETERMINED

# Columns before the first look at residuals: so many for every pair, and so many more; and fewest between two looks, as
# each has a call of LAPACK and an update of what is left.
FIRST_LOOK_PER_PAIR, FIRST_LOOK_MORE, FEWEST_STEPS = 1.1, 10, 5
# Part of all columns from which on the whole reduction takes less time than further looks.
NEARLY_ALL = 0.6
# Columns of the search for a missed eigenvalue in what is left.
SEARCH = 20
# Rows of a tridiagonal matrix, for each wanted pair, from which on these pairs take less time than all.
FEW_PAIRS = 8


def reduced_pairs(
    C: Array, k: int, tolerance: float, rounding: float, rng: np.random.Generator
) -> EigenResult:
    """The k largest eigenpairs of a symmetric matrix of NumPy.

    The first vectors of the reduction are those of a Lanczos iteration, so that it can stop early, and where it does
    not, nothing was in vain. Residuals are measured on products with C.

    Parameters
    ----------
    C : NumPy array of shape (n, n)
    k : int
        At most n − 1.
    tolerance, rounding : float
        See `measured_result`.
    rng : numpy.random.Generator
    """
    n = len(C)
    reduction = Reduction(C, C @ rng.standard_normal(n).astype(C.dtype))
    waiting, steps = Waiting(k), int(FIRST_LOOK_PER_PAIR * k) + FIRST_LOOK_MORE
    while reduction.size + steps < NEARLY_ALL * n:
        reduction.advance(steps)
        excess = _weakest_excess(reduction, k, tolerance, rounding)
        if not excess < np.inf:
            break
        if excess <= 1:
            result = _measured(C, reduction, k, tolerance, rounding)
            if not result.converged:
                break  # what is left are rounding errors, which LAPACK makes as small as they can be
            if _is_complete(reduction, result, rounding, rng):
                return result
            break
        steps = max(FEWEST_STEPS, waiting.columns(reduction.size, excess))
    return direct_pairs(C, k)


def direct_pairs(C: Array, k: int) -> EigenResult:
    """The k largest eigenpairs by LAPACK."""
    values, vectors = top_eigh(C, k)
    products = C @ vectors
    rest = products - vectors * values
    residuals = np.sqrt(np.einsum("ij,ij->j", rest, rest))
    return EigenResult(values, vectors, products, residuals, True, len(C), "direct method", is_direct=True)


def _weakest_excess(reduction: Reduction, k: int, tolerance: float, rounding: float) -> float:
    """The largest residual over what is allowed, where the weakest of k pairs converge last."""
    (diagonal, beside), size = reduction.tridiagonal, reduction.size
    largest = float(np.abs(diagonal).max())
    if not np.isfinite(largest):
        return np.inf
    values, weights = tridiagonal_eigenpairs(diagonal, beside, size - k, min(size - k + WEAKEST, size) - 1)
    allowed = allowed_residuals(values, tolerance, rounding, largest)
    return float((reduction.coupling * np.abs(weights[-1]) / allowed).max())


def _measured(C: Array, reduction: Reduction, k: int, tolerance: float, rounding: float) -> EigenResult:
    diagonal, beside = reduction.tridiagonal
    size = reduction.size
    if size > FEW_PAIRS * k:
        values, weights = tridiagonal_eigenpairs(diagonal, beside, size - k, size - 1)
    else:
        values, weights = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, -1))
    vectors = reduction.expanded(weights[:, : -k - 1 : -1])
    return measured_result(values[: -k - 1 : -1], vectors, C @ vectors, tolerance, size, "converged", rounding)


def _is_complete(reduction: Reduction, result: EigenResult, rounding: float, rng: np.random.Generator) -> bool:
    """Whether what is left of the matrix has no eigenvalue as large as those found.

    It has one where an eigenvalue occurs several times: the reduction finds one vector of it before it comes to the
    end. Powers on random vectors show that all eigenvalues that are left are small, and the largest that a short
    reduction from another start finds shows it where they are not much smaller; see `_missed` of the Lanczos iteration.
    """
    values = result.values
    floor = UNDETERMINED * (rounding + SOLVER_ROUNDING * epsilon(values.dtype) * float(values[0]))
    weakest = max(float(values[-1]), floor)
    multiply, rest = reduction.rest_multiplier(), reduction.rest()
    vectors = rng.standard_normal((PROBES, len(rest))).astype(rest.dtype)
    for _ in range(MOST_POWERS):
        images = np.empty_like(vectors)
        for vector, image in zip(vectors, images, strict=True):
            multiply(vector, image)
        vectors = images / weakest
        if float(np.vdot(vectors, vectors)) < CERTAIN**2:
            return True
    search = Reduction(rest, vectors[0])
    search.advance(min(SEARCH, len(rest) - 1))
    last = search.size - 1
    largest, _ = tridiagonal_eigenpairs(*search.tridiagonal, last, last)
    return bool(largest[0] < weakest)
