"""Lanczos iteration with single vectors, for matrices in the cache: there blocks would gain nothing."""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import eigh_tridiagonal

from preimage._engine.arrays import epsilon, itemsize
from preimage._engine.lapack import tridiagonal_eigenpairs
from preimage._engine.linalg import DETERMINED, eigh_descending
from preimage._engine.typing import Array
from preimage.eigensolvers._eigensolver import (
    LARGE_PROJECTION,
    SOLVER_ROUNDING,
    WEAKEST,
    EigenResult,
    Operator,
    Waiting,
    allowed_residuals,
    leading_order,
    measured_result,
    product_rounding,
)

# Writes the product with a vector into another one: multiply(vector, out).
Multiply = Callable[[Array, Array], None]

# Columns before the first test of convergence: so many for every pair, and so many more. Hardly any spectrum needs
# fewer.
FIRST_LOOK_PER_PAIR, FIRST_LOOK_MORE = 1.1, 6
# Part of a vector in the basis, relative to what is left of it, from which on it is orthogonalised once more: a pass
# leaves rounding errors of the size of what it removes.
LARGE_PART = 0.1
# Random vectors that look for eigenvectors outside of the basis, how short both together must become, in units of an
# entry of such a vector, and after how many products at most. See `_missed`.
PROBES, CERTAIN, MOST_POWERS = 2, 0.05, 6
# Squared lengths of combinations of such powers that are used, by bytes per number: rounding errors of the combinations
# are ε over the length, which leaves the digits of eigenvalues that components need (`DETERMINED`).
SHORTEST = {8: 1e-12, 4: 1e-6}
# Residuals so small in exact arithmetic, relative to what is allowed, are rounding errors where measured ones are too
# large.
ROUNDING_DECIDES = 0.5
# Units of rounding errors that an eigenvalue must exceed to be kept at all; a hundredth of what components need to be
# determined.
UNDETERMINED = 100


def lanczos(
    operator: Operator,
    multiply: Multiply,
    k: int,
    capacity: int,
    tolerance: float,
    rng: np.random.Generator,
    *,
    by_modulus: bool = False,
) -> EigenResult | None:
    """The k leading eigenpairs of a symmetric matrix on the host; None where another method must find them.

    One vector at a time reaches the highest Krylov degree for a number of columns. All vectors are kept and
    orthogonalised against each other. Of an eigenvalue that the matrix has several times the space contains one
    vector; the others are looked for at the end, and where there may be some the answer is None.

    Parameters
    ----------
    operator : Operator
    multiply : callable
        Writes the product of the operator with its first argument, a vector, into its second.
    k : int
    capacity : int
        Largest number of vectors, at most n − 1.
    tolerance : float
        See `measured_result`.
    rng : numpy.random.Generator
    by_modulus : bool
    """
    basis = _LanczosBasis(multiply, operator.shape[0], np.dtype(operator.dtype), capacity, rng)
    rounding = product_rounding(operator)
    waiting, next_look = Waiting(k), int(FIRST_LOOK_PER_PAIR * k) + FIRST_LOOK_MORE
    while basis.size < capacity:
        basis.append()
        if not np.isfinite(basis.scale):
            return None
        if basis.size < next_look:
            continue
        allowed = partial(allowed_residuals, tolerance=tolerance, rounding=rounding, largest=basis.scale)
        excess = _weakest_excess(basis.projected, basis.coupling, k, by_modulus, allowed)
        if excess <= 1:
            result, exact_excess = _measured(basis, k, by_modulus, tolerance, rounding, allowed)
            if not result.converged and exact_excess <= ROUNDING_DECIDES:
                result, _ = _measured(basis, k, by_modulus, tolerance, rounding, allowed, carefully=True)
                if not result.converged:
                    return None  # what is left are rounding errors, which further vectors do not make smaller
            if result.converged:
                return result if _is_complete(result, multiply, basis, rounding, rng, by_modulus) else None
            excess = result.excess
        next_look = basis.size + waiting.columns(basis.size, excess)
    return None


class _LanczosBasis:
    """Orthonormal vectors q₁ … qⱼ as rows, their images, and the tridiagonal matrix of both, which grow one by one.

    Invariant: A qⱼ is a combination of q₁ … qⱼ and what is left, up to rounding, and that is orthogonal to them.

    Attributes
    ----------
    size : int
        Number of vectors.
    scale : float
        A lower bound of ‖A‖, from the entries of the tridiagonal matrix.
    coupling : float
        Length of what is left of the image of the last vector: its part outside of the span. Zero where the span is
        invariant, and the next vector a random one.
    """

    def __init__(self, multiply: Multiply, n: int, dtype: np.dtype, capacity: int, rng: np.random.Generator) -> None:
        self.size = 0
        self.scale = self.coupling = 0.0
        self._multiply, self._rng = multiply, rng
        self._vectors, self._images = np.empty((capacity, n), dtype), np.empty((capacity, n), dtype)
        self._projected = np.zeros((capacity, capacity), dtype)
        self._rest = np.empty(n, dtype)
        multiply(rng.standard_normal(n).astype(dtype), self._rest)  # nearer to what is looked for than a random vector
        self._length = float(self._rest @ self._rest) ** 0.5

    @property
    def vectors(self) -> Array:
        return self._vectors[: self.size]

    @property
    def images(self) -> Array:
        return self._images[: self.size]

    @property
    def projected(self) -> Array:
        """The lower triangle of QAQᵀ."""
        return self._projected[: self.size, : self.size]

    def append(self) -> None:
        """Make a vector of what is left, and keep what its image has outside of the span."""
        j, rest = self.size, self._rest
        vector, image, T = self._vectors[j], self._images[j], self._projected
        np.multiply(rest, 1 / self._length, out=vector)
        self._multiply(vector, image)
        alpha = T[j, j] = float(vector @ image)
        np.multiply(vector, -alpha, out=rest)
        rest += image
        if j:
            T[j, j - 1] = self.coupling
            rest -= self.coupling * self._vectors[j - 1]
        self.size = j + 1
        basis = self.vectors
        overlaps = basis @ rest
        rest -= overlaps @ basis
        squared = float(rest @ rest)
        if float(overlaps @ overlaps) > LARGE_PART**2 * squared:
            self._remove_span(rest)
            squared = float(rest @ rest)
        self._length = self.coupling = squared**0.5
        self.scale = max(self.scale, abs(alpha), self._length)
        if self._length <= SOLVER_ROUNDING * epsilon(rest.dtype) * self.scale:
            self._leave_span()

    def _leave_span(self) -> None:
        """Go on in the complement of an invariant subspace."""
        rest = self._rng.standard_normal(self._rest.size).astype(self._rest.dtype)
        for _ in range(2):
            self._remove_span(rest)
        self._rest, self._length, self.coupling = rest, float(rest @ rest) ** 0.5, 0.0

    def _remove_span(self, vector: Array) -> None:
        vector -= (self.vectors @ vector) @ self.vectors


def _measured(
    basis: _LanczosBasis,
    k: int,
    by_modulus: bool,
    tolerance: float,
    rounding: float,
    allowed: Callable[[Array], Array],
    carefully: bool = False,
) -> tuple[EigenResult, float]:
    """The k pairs that the basis gives, and their largest residual in exact arithmetic over what is allowed."""
    values, weights = _ritz(basis.projected, k, by_modulus, carefully)
    vectors, products = (weights.T @ basis.vectors).T, (weights.T @ basis.images).T
    result = measured_result(values, vectors, products, tolerance, basis.size, "converged", rounding)
    return result, float(np.max(basis.coupling * np.abs(weights[-1]) / allowed(values)))


def _eigh_by_rotations(T: Array) -> tuple[Array, Array]:
    """All eigenpairs of a tridiagonal matrix by the QR iteration: slower, and nearer to the rounding error.

    Divide and conquer, which `numpy.linalg.eigh` calls, has residuals of 4 ε‖T‖ in OpenBLAS 0.3.31 and of 20 to 60 in
    0.3.34, more than pairs with small eigenvalues are allowed.
    """
    return eigh_tridiagonal(np.diagonal(T), np.diagonal(T, -1), lapack_driver="stev", check_finite=False)


def _ritz(T: Array, k: int, by_modulus: bool, carefully: bool = False) -> tuple[Array, Array]:
    """The k leading eigenpairs of the symmetric matrix with the lower triangle T."""
    values, weights = _eigh_by_rotations(T) if carefully else np.linalg.eigh(T)
    if not by_modulus:
        return values[: -k - 1 : -1], weights[:, : -k - 1 : -1]
    order = leading_order(values, by_modulus)[:k]
    return values[order], weights[:, order]


def _weakest_excess(T: Array, coupling: float, k: int, by_modulus: bool, allowed: Callable[[Array], Array]) -> float:
    """The largest residual over what is allowed, where the weakest of k pairs converge last.

    The residual of a Ritz pair is the last entry of its vector in the basis, times the length of what the image of the
    last vector has outside.
    """
    size = T.shape[0]
    if by_modulus or size < LARGE_PROJECTION:
        values, weights = _ritz(T, k, by_modulus)
    else:
        last = min(size - k + WEAKEST, size) - 1
        values, weights = tridiagonal_eigenpairs(np.diagonal(T), np.diagonal(T, -1), size - k, last)
    return float(np.max(coupling * np.abs(weights[-1]) / allowed(values)))


def _is_complete(
    result: EigenResult,
    multiply: Multiply,
    basis: _LanczosBasis,
    rounding: float,
    rng: np.random.Generator,
    by_modulus: bool,
) -> bool:
    """Whether no eigenvector is missed, or none that would change eigenvalues that are determined."""
    missed = _missed(multiply, result, basis.vectors, rounding, rng)
    if missed is None:
        return True
    floor = _undetermined(result, rounding)
    return _is_unchanged(result, basis.vectors, basis.images, *missed, floor, by_modulus)


def _missed(
    multiply: Multiply, result: EigenResult, basis: Array, rounding: float, rng: np.random.Generator
) -> tuple[Array, Array] | None:
    """Directions outside of the basis that may belong to eigenvalues as large as those found; None without any.

    Products with random vectors, again and again without their part in the basis, grow like the powers of the largest
    eigenvalue that is left. Where they stay below the powers of the weakest pair that was found, times `CERTAIN`,
    nothing is missed: Gaussian numbers of which both are so small have a probability of 1/800. Otherwise the answer
    are all of these powers and their images: their span has the largest eigenvalue outside of the basis with many more
    digits than the last power, in which one missed vector may be less than what is left of all others.
    """
    weakest = max(float(np.min(np.abs(result.values))), _undetermined(result, rounding))
    vectors = rng.standard_normal((PROBES, basis.shape[1])).astype(basis.dtype)
    powers, images = [], [_images(multiply, vectors)]
    for _ in range(MOST_POWERS):
        vectors = images[-1] - (images[-1] @ basis.T) @ basis
        vectors /= weakest
        if float(np.vdot(vectors, vectors)) < CERTAIN**2:
            return None
        powers.append(vectors)
        images.append(_images(multiply, vectors))
    return np.concatenate(powers), np.concatenate(images[1:])


def _images(multiply: Multiply, vectors: Array) -> Array:
    out = np.empty_like(vectors)
    for vector, image in zip(vectors, out, strict=True):
        multiply(vector, image)
    return out


def _undetermined(result: EigenResult, rounding: float) -> float:
    """Eigenvalues below this are not determined, and it does not matter whether one of them is missed."""
    largest = float(np.max(np.abs(result.values)))
    return UNDETERMINED * (rounding + SOLVER_ROUNDING * epsilon(result.values.dtype) * largest)


def _is_unchanged(
    result: EigenResult,
    basis: Array,
    images: Array,
    missed: Array,
    missed_images: Array,
    floor: float,
    by_modulus: bool,
) -> bool:
    """Whether eigenvalues above `floor` stay the same when the directions that may be missed join the basis."""
    # Powers of a matrix become parallel: combinations of them that are too short are left out, as they consist of
    # rounding errors and would be scaled to unit length.
    lengths = np.sqrt(np.sum(missed * missed, axis=1, keepdims=True))
    missed, missed_images = missed / lengths, missed_images / lengths
    squares, combinations = np.linalg.eigh(missed @ missed.T)
    long = squares > SHORTEST[itemsize(basis.dtype)]
    combinations = (combinations[:, long] / np.sqrt(squares[long])).T
    Q, AQ = np.concatenate([basis, combinations @ missed]), np.concatenate([images, combinations @ missed_images])
    projected = Q @ AQ.T
    values, _ = eigh_descending((projected + projected.T) / 2)
    order = leading_order(values, by_modulus)[: result.values.shape[0]]
    same = np.maximum(DETERMINED[itemsize(basis.dtype)] * np.abs(result.values), floor)
    return bool(np.all(np.abs(values[order] - result.values) <= same))
