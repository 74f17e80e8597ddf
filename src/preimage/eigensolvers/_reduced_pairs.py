"""Leading pairs by LAPACK's reduction to a tridiagonal matrix, which stops when they have converged."""

import math

import numpy as np

from preimage._engine.arrays import epsilon
from preimage._engine.lapack import (
    bisected_tridiagonal,
    leading_tridiagonal,
    tridiagonal_eigenpairs,
)
from preimage._engine.linalg import top_eigh
from preimage._engine.reduction import Reduction, can_reduce
from preimage._engine.typing import Array, Seed
from preimage._engine.validation import generator
from preimage.eigensolvers._block_krylov import BlockKrylov, block_width
from preimage.eigensolvers._eigensolver import (
    SOLVER_ROUNDING,
    EigenResult,
    allowed_residuals,
    measured_result,
)
from preimage.eigensolvers._lanczos import CERTAIN, PROBES, ROUNDING_DECIDES, UNDETERMINED, Multiply

# Columns before the first look at residuals: so many for every pair, and so many more; and fewest between two looks, as
# each has a call of LAPACK and an update of what is left.
FIRST_LOOK_PER_PAIR, FIRST_LOOK_MORE, FEWEST_STEPS = 1.1, 14, 8
# Rows of the matrix for each step between two looks, where that is more: an update of a large matrix reads and writes
# all of it.
ROWS_PER_STEP = 60
# Steps between two looks, relative to those after which residuals fall to what is allowed if they go on as before, and
# most of them relative to the columns that there are: convergence only gets faster.
CAUTION, MOST_STEPS = 0.6, 1 / 3
# Pairs that a look computes: the weakest ones, which converge last. The others are seen when they are measured.
WEAKEST = 2
# Part of all columns from which on the whole reduction takes less time than further looks.
NEARLY_ALL = 0.6
# Powers of what is left on random vectors, and steps of a Lanczos iteration with it, that look for missed eigenvalues.
POWERS, SEARCH = 3, 12
# Steps before the trace of what is left is looked at for the first time, where the rank may be low.
FEWEST_BEFORE_LOOK = 32
# Parts of all pairs, by bytes per number, beyond which LAPACK's own ways are faster, unless the rank is low: then
# little of the trace is left after the first steps. With few rows they are faster in either precision, and in single
# precision even than these steps.
MANY, SLOW, FEW_ROWS = {8: 0.3, 4: 0.12}, 0.1, 300
# The same in single precision where most of the trace is left: the spectrum is flat, and nothing stops early.
SOME, FLAT = 0.06, 0.7
# Steps of an iteration for k pairs of a matrix of effective rank r are about (a k + b) rᶜ: within a fifth of it for
# five spectra, 100 to 2,000 rows and 2 to 200 pairs.
STEPS_PER_PAIR, STEPS_MORE, STEPS_POWER = 0.65, 7.0, 0.36
# Most steps that take less time than the whole reduction of n rows, p n + q k − s: the fewer rows, the more a look
# takes; and the more pairs, the longer the vectors of the whole take.
AFFORDABLE, MORE_PER_PAIR, LESS = 0.3, 2.0, 20
# Effective rank below which pairs may be fewer than are asked for, in matrices of more rows than so many.
LOW_RANK, FEWEST_LOW_RANK = 8.0, 140
# Rows from which on, and part of all pairs up to which, blocks of vectors find pairs of a slowly falling spectrum in
# less time than the whole reduction, half of whose work reads the matrix once per vector: with 2,000 rows and 200 pairs
# in half of it, with 1,000 in as much.
FEWEST_BLOCKED, BLOCKED_FRACTION = 1500, 0.125
# Rows up to which a driver of LAPACK, which is one call, takes no more time than three routines.
DRIVER_ROWS = 64
TINY = float(np.finfo(float).tiny)
# Residuals of pairs of a whole reduction, in units of ε‖C‖, above which another method finds them again: they are below
# ten with most spectra, and those of LAPACK's drivers reach sixty.
LARGE_RESIDUAL = 100


def reduced_pairs(
    C: Array, k: int, tolerance: float, rounding: float, random_state: Seed, floor: float = 0.0
) -> EigenResult:
    """The k largest eigenpairs of a symmetric matrix of NumPy, or those above a floor where these are fewer.

    The first vectors of the reduction are those of a Lanczos iteration, so that it can stop early, and where it does
    not, nothing was in vain. Residuals are measured on products with C.

    Parameters
    ----------
    C : NumPy array of shape (n, n)
        In C order; overwritten. Positive semidefinite to rounding if there is a floor.
    k : int
        At most n − 1.
    tolerance, rounding : float
        See `measured_result`.
    random_state : int, RandomState, Generator or None
    floor : float, default=0.0
        Pairs with smaller eigenvalues, but for the first one, are of no use. The trace of what is left of the matrix
        says when there are no others, long before there are k columns where the rank is low.
    """
    n, trace = len(C), float(np.trace(C))
    if floor > 0 and _is_slow(C, trace, k):
        if n >= FEWEST_BLOCKED and k <= BLOCKED_FRACTION * n:
            iteration = BlockKrylov(tol=tolerance, max_iter=-(-n // (2 * block_width(k))))
            found = iteration.solve(C, k, generator(random_state))
            if found.converged:
                return found
        return direct_pairs(C, k)
    is_many = k > MANY[C.itemsize if n > FEW_ROWS else 4] * n
    if is_many and floor > 0 and n <= FEW_ROWS and C.itemsize == 4:
        return direct_pairs(C, k)
    rng = generator(random_state)  # which takes as long as a matrix of thirty rows
    reduction = Reduction(C, C @ rng.standard_normal(n).astype(C.dtype))
    if floor > 0 and (is_many or (C.itemsize == 4 and k > SOME * n)):
        reduction.advance(FEWEST_BEFORE_LOOK)
        if reduction.rest_trace() > (SLOW if is_many else FLAT) * trace:
            return _whole(reduction, k)
    _begin(reduction, min(int(FIRST_LOOK_PER_PAIR * k) + FIRST_LOOK_MORE, int(NEARLY_ALL * n)), floor)
    fewest, steps, before = max(FEWEST_STEPS, n // ROWS_PER_STEP), reduction.size, None
    while True:
        wanted, excess = _weakest(reduction, min(k, reduction.size - 1), tolerance, rounding, floor)
        if excess <= 1:
            result = _measured(reduction, wanted, tolerance, rounding)
            if result.converged:
                if _is_complete(reduction, result, rounding, rng, floor if wanted < k else 0.0):
                    return result
                break
            if excess <= ROUNDING_DECIDES:
                break  # what is left are rounding errors, which LAPACK makes as small as they can be
            excess = result.excess
        steps, before = _steps(excess, steps, before, reduction.size, wanted, fewest), excess
        if not (excess < np.inf and reduction.size + steps < NEARLY_ALL * n):
            break
        reduction.advance(steps)
    return _whole(reduction, k, floor)


def _is_slow(C: Array, trace: float, k: int) -> bool:
    """Whether an iteration is expected to need so many steps that the whole reduction takes less time.

    The effective rank (Σλ)²/Σλ² says how fast eigenvalues fall. Where it is small, so may be the number of pairs that
    are worth anything, and the first steps show it.
    """
    n = len(C)
    rank = trace**2 / max(float(np.vdot(C, C)), TINY)
    if rank < LOW_RANK and n > FEWEST_LOW_RANK:
        return False
    steps = (STEPS_PER_PAIR * k + STEPS_MORE) * rank**STEPS_POWER
    return steps > min(AFFORDABLE * n + MORE_PER_PAIR * k - LESS, NEARLY_ALL * n)


def _begin(reduction: Reduction, steps: int, floor: float) -> None:
    """Make the steps before the first look, or as many as leave nothing above the floor."""
    some = FEWEST_BEFORE_LOOK if floor > 0 else steps
    while reduction.size < steps:
        reduction.advance(min(some, steps - reduction.size))
        if reduction.rest_trace() < floor:
            break
        some = reduction.size


def _count_above(reduction: Reduction, floor: float) -> int:
    """How many eigenvalues of the tridiagonal matrix are at least so large, one of them in any case; by Sturm."""
    if floor <= 0:
        return reduction.size
    diagonal, beside = (array.tolist() for array in _in_double(reduction))
    pivot, count = diagonal[0] - floor, 0
    for entry, between in zip(diagonal[1:], beside, strict=True):
        count += pivot >= 0
        pivot = entry - floor - between * between / (pivot or TINY)
    return max(1, count + (pivot >= 0))


def _steps(excess: float, steps: int, before: float | None, size: int, k: int, fewest: int) -> int:
    """How many steps to make before the next look, by the residuals of this one and of that before."""
    per_decade = k / 16 + 4
    if before is not None:
        per_decade = min(steps / math.log10(max(before / excess, 1.1)), 4 * per_decade)
    predicted = CAUTION * per_decade * math.log10(max(excess, 1.0))
    return max(fewest, int(min(predicted, max(2 * fewest, MOST_STEPS * size))))


def direct_pairs(C: Array, k: int) -> EigenResult:
    """The k largest eigenpairs of a symmetric matrix in C order, which is overwritten, by the whole reduction.

    LAPACK's drivers take more time from about a hundred rows on: the one for some pairs finds them by bisection, which
    is slow in double precision, and the one for all pairs transforms all of them back.
    """
    return _whole(Reduction(C), k) if len(C) > DRIVER_ROWS and can_reduce(C.dtype) else _by_driver(C, k)


def _whole(reduction: Reduction, k: int, floor: float = 0.0) -> EigenResult:
    """The k largest pairs of a reduction that goes on to its end, or those above a floor; with LAPACK's accuracy.

    Where a method for the tridiagonal matrix leaves larger residuals, the next one finds the pairs.
    """
    reduction.finish()
    (diagonal, beside), limit = reduction.tridiagonal, LARGE_RESIDUAL * epsilon(reduction.dtype)
    k = min(k, _count_above(reduction, floor))
    for find in (leading_tridiagonal, bisected_tridiagonal):
        values, weights = find(diagonal, beside, k)
        vectors = reduction.expanded(weights)
        result = _direct_result(values, vectors, reduction.product(vectors))
        if float(result.residuals.max()) <= limit * float(np.abs(values).max()):
            return result
    return _by_driver(reduction.restored(), k)


def _by_driver(C: Array, k: int) -> EigenResult:
    values, vectors = top_eigh(C, k)
    return _direct_result(values, vectors, C @ vectors)


def _direct_result(values: Array, vectors: Array, products: Array) -> EigenResult:
    rest = products - vectors * values
    residuals = np.sqrt(np.einsum("ij,ij->j", rest, rest))
    return EigenResult(values, vectors, products, residuals, True, len(vectors), "direct method", is_direct=True)


def _weakest(reduction: Reduction, k: int, tolerance: float, rounding: float, floor: float) -> tuple[int, float]:
    """How many pairs are wanted, and the largest residual over what is allowed: the weakest of them converge last."""
    (diagonal, beside), size, dtype = _in_double(reduction), reduction.size, reduction.dtype
    largest = float(np.abs(diagonal).max())
    if not largest < np.inf:
        return k, np.inf
    while True:
        values, weights = tridiagonal_eigenpairs(diagonal, beside, size - k, min(size - k + WEAKEST, size) - 1)
        if values[0] >= floor or k == 1 or (above := _count_above(reduction, floor)) >= k:
            break
        k = above
    allowed = allowed_residuals(values.astype(dtype), tolerance, rounding, largest)
    return k, float((reduction.coupling * np.abs(weights[-1]) / allowed).max())


def _in_double(reduction: Reduction) -> tuple[Array, Array]:
    """The tridiagonal matrix in double precision: its eigenvectors have errors of many units of single precision."""
    diagonal, beside = reduction.tridiagonal
    return diagonal.astype(np.float64), beside.astype(np.float64)


def _measured(reduction: Reduction, k: int, tolerance: float, rounding: float) -> EigenResult:
    """The k leading pairs of the reduction; those of the small matrix by the method that is right, if another is not.

    Divide and conquer, the fastest for many pairs, has residuals of 20 to 60 ε‖T‖ in some versions of LAPACK, and
    robust representations have thousands of ε‖T‖ with some matrices.
    """
    (diagonal, beside), size, dtype = _in_double(reduction), reduction.size, reduction.dtype
    for is_fast in (True, False):
        if is_fast:
            values, weights = leading_tridiagonal(diagonal, beside, k)
        else:
            values, weights = bisected_tridiagonal(diagonal, beside, k)
        vectors, found = reduction.expanded(weights), values.astype(dtype)
        products = reduction.product(vectors)
        result = measured_result(found, vectors, products, tolerance, size, "converged", rounding)
        if result.converged:
            break
    return result


def _is_complete(
    reduction: Reduction, result: EigenResult, rounding: float, rng: np.random.Generator, least: float
) -> bool:
    """Whether what is left of the matrix has no eigenvalue as large as those found, or as `least` if that is positive.

    It has one where an eigenvalue occurs several times: the reduction finds one vector of it before it comes to the
    end. Powers on random vectors show it where all eigenvalues that are left are small, and where they are not much
    smaller the largest that a short Lanczos iteration finds; see `_missed` there.
    """
    values = result.values
    floor = UNDETERMINED * (rounding + SOLVER_ROUNDING * epsilon(values.dtype) * float(values[0]))
    weakest = max(least or float(values[-1]), floor)
    if least and reduction.rest_trace() < weakest:
        return True
    multiply = reduction.rest_multiplier()
    vectors = rng.standard_normal((PROBES, reduction.n_left)).astype(values.dtype)
    for _ in range(POWERS):
        images = np.empty_like(vectors)
        for vector, image in zip(vectors, images, strict=True):
            multiply(vector, image)
        vectors = images / weakest
        if float(np.vdot(vectors, vectors)) < CERTAIN**2:
            return True
    return _largest_of(multiply, vectors[0], min(SEARCH, reduction.n_left)) < weakest


def _largest_of(multiply: Multiply, start: Array, steps: int) -> float:
    """The largest eigenvalue that a Lanczos iteration finds, without vectors: rounding makes copies, none too large."""
    T, old, vector, length = np.zeros((steps, steps)), np.zeros_like(start), start, float(start @ start) ** 0.5
    image = np.empty_like(start)
    for step in range(steps):
        if not length > 0:
            break
        vector = vector / length
        multiply(vector, image)
        T[step, step] = alpha = float(vector @ image)
        rest = image - alpha * vector
        if step:
            T[step, step - 1] = length
            rest -= length * old
        old, vector, length = vector, rest, float(rest @ rest) ** 0.5
    return float(np.linalg.eigvalsh(T)[-1])
