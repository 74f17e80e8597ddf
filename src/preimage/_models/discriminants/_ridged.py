"""Systems with a symmetric matrix and a ridge that changes; large ones are factorised in single precision."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from preimage._engine.arrays import epsilon
from preimage._engine.lapack import cholesky_factor, cholesky_solve, positive_solve
from preimage._engine.linalg import is_semidefinite, product, rank_tolerance
from preimage._engine.threads import large_decomposition
from preimage._engine.typing import Array
from preimage._models.components import rayleigh
from preimage.exceptions import UnsupportedKernelError

# One eigendecomposition takes about as long as this many Cholesky factors (9 of 500 rows, 24 of 1,500); with more
# ridges than that, eigenvectors are shared. Ten times larger or smaller, searches take up to ten times as long.
EIGEN_COST = 16
# Rows from which a factor in single precision and a few products are faster than a factor in double precision.
LARGE = 1000
# Ridges below this fraction of the trace are solved by eigenvectors. A Cholesky factor loses about as many digits as
# the fraction has, and it does not reveal directions without signal, whose rounding errors a small ridge amplifies. The
# second number is a fraction of the trace before centring, to which these rounding errors are relative. Ten times
# larger, ridges that a Cholesky factor solves well would pay for eigenvectors.
SMALL_RIDGE, SMALL_RIDGE_UNCENTERED = 1e-9, 1e-11
# Relative residual at which a solution is as accurate as one by a factor in double precision.
TOLERANCE = 1e-11
# After this many products the factor in double precision would have been faster: single precision is too coarse.
MAX_PRODUCTS = 8
# Kernel values are sums with errors of a few ε each; their matrix of errors has a norm of a few times √n ε.
ROUNDING_FACTOR = 4


class Ridged:
    r"""A + αI for a symmetric positive semidefinite A and several ridges α > 0, in NumPy.

    A single ridge takes one Cholesky factor, in single precision for a large A with the missing digits restored by
    iterative refinement. Many ridges share the eigenvectors of A, after which each costs :math:`O(m^2)` per right-hand
    side. Small ridges take eigenvectors as well; those with an eigenvalue within rounding of zero span the null space
    of A.

    Parameters
    ----------
    A : array of shape (m, m)
    n_ridges : int, default=1
        How many ridges will be asked for; decides between Cholesky factors and eigenvectors.
    size : float, default=0.0
        Where A is a difference of larger numbers, their largest modulus, to which rounding errors are relative.
    """

    def __init__(self, A: Array, n_ridges: int = 1, size: float = 0.0) -> None:
        self.A = A
        self.n_ridges = n_ridges
        self.size = size

    def solve(self, alpha: float, B: Array) -> Array:
        """(A + αI)⁻¹ B."""
        if not self._takes_eigenvectors(alpha):
            if self.A.shape[0] >= LARGE and (solution := refined_solution(self.A, alpha, B)) is not None:
                return solution
            try:
                with large_decomposition(len(self.A)):
                    return positive_solve(self._copied_plus(alpha), B)
            except np.linalg.LinAlgError:
                pass  # eigenvalues tell whether rounding was the reason
        values, vectors = self._eigen_with(alpha)
        along = vectors.T @ B
        return vectors @ (along / (values + alpha)[:, None]) + (B - vectors @ along) / alpha

    def parts(self, alphas: Sequence[float], B: Array) -> tuple[Array, Array, Array, Array]:
        """(A + αI)⁻¹ B without its component in the null space of A, and BᵀB divided between A and the ridge.

        Parameters
        ----------
        alphas : sequence of r floats
        B : array of shape (m, k)

        Returns
        -------
        solutions : array of shape (r, m, k)
            Equal to (A + αI)⁻¹ B up to vectors x with A x = 0, where eigenvectors identify those.
        explained, rest : arrays of shape (r, k, k)
            BᵀA(A + αI)⁻¹B and αBᵀ(A + αI)⁻¹B, whose sum is BᵀB; both accurate where they are small.
        rounding : array of shape (r,)
            What rounding errors of A alone would explain of a unit vector.
        """
        by_eigenvectors = np.array([self._takes_eigenvectors(alpha) for alpha in alphas], dtype=bool)
        of_ridges = np.asarray(alphas, dtype=float)
        solutions = np.empty((len(alphas), *B.shape), B.dtype)
        explained, rest = np.empty((2, len(alphas), B.shape[1], B.shape[1]), B.dtype)
        rounding = epsilon(self.A.dtype) * np.maximum(1.0, self.size / of_ridges)
        for number in np.flatnonzero(by_eigenvectors).tolist():
            found = self._parts_by_eigenvectors(alphas[number], B)
            solutions[number], explained[number], rest[number], rounding[number] = found
        solved = np.flatnonzero(~by_eigenvectors)
        for number in solved.tolist():
            solutions[number] = self.solve(alphas[number], B)
        if solved.size:  # products of all ridges in one call each
            some = solutions[solved]
            explained[solved] = product(self.A, B).T @ some
            rest[solved] = of_ridges[solved, None, None] * (B.T @ some)
        return solutions, explained, rest, rounding

    def _parts_by_eigenvectors(self, alpha: float, B: Array) -> tuple[Array, Array, Array, float]:
        values, vectors = self._eigen_with(alpha)
        along = vectors.T @ B
        # The part of B in the null space of A is all ridge: it is added to `rest`, and the solution leaves it out.
        outside = B - vectors @ along
        weights = 1 / (values + alpha)
        explained = along.T @ ((values * weights)[:, None] * along)
        rest = along.T @ ((alpha * weights)[:, None] * along) + outside.T @ outside
        return vectors @ (weights[:, None] * along), explained, rest, epsilon(self.A.dtype)

    def rayleigh(self, alpha: float, signal_factor: Array, n_components: int) -> tuple[Array, Array]:
        """Ratios and directions of largest signal against the noise A + αI; see `components.rayleigh`."""
        if not self._by_eigenvectors:
            try:
                return rayleigh(signal_factor, self._copied_plus(alpha), n_components)
            except np.linalg.LinAlgError:
                pass  # eigenvalues tell whether rounding was the reason
        values, vectors = self._eigen
        root = 1 / np.sqrt(np.maximum(values, 0) + alpha)
        U, singular, _ = np.linalg.svd(root[:, None] * (vectors.T @ signal_factor), full_matrices=False)
        return singular[:n_components] ** 2, vectors @ (root[:, None] * U[:, :n_components])

    def _copied_plus(self, alpha: float) -> Array:
        """A + αI in memory that is used again for the next ridge: new pages take as long as the copy."""
        np.copyto(self._copy, self.A)
        self._copy.flat[:: len(self.A) + 1] += alpha
        return self._copy

    @cached_property
    def _copy(self) -> Array:
        return np.empty(self.A.shape, self.A.dtype)

    @property
    def _by_eigenvectors(self) -> bool:
        return self.n_ridges > EIGEN_COST

    def _takes_eigenvectors(self, alpha: float) -> bool:
        return bool(self._by_eigenvectors or alpha < self._small_ridge)

    @cached_property
    def _small_ridge(self) -> float:
        trace_before_centering = self.size * self.A.shape[0]
        return float(max(SMALL_RIDGE * np.trace(self.A), SMALL_RIDGE_UNCENTERED * trace_before_centering))

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        with large_decomposition(len(self.A)):
            return np.linalg.eigh(self.A)

    def _eigen_with(self, alpha: float) -> tuple[Array, Array]:
        """Eigenpairs above rounding; a matrix with an eigenvalue below minus the rounding and the ridge is refused."""
        values, vectors = self._eigen
        rounding = ROUNDING_FACTOR * rank_tolerance(values.size, values.dtype) * max(np.max(np.abs(values)), self.size)
        if not is_semidefinite(values, allowed=max(rounding, alpha)):
            raise UnsupportedKernelError(
                "Kernel Fisher discriminants need a positive semidefinite kernel, or a ridge above its negative "
                f"eigenvalues; on these data eigenvalues are from {values[0]:.2g} to {values[-1]:.2g}, and the ridge "
                f"is {alpha:.2g}. Raise alpha, choose another kernel, or regularizer='identity', which works with any."
            )
        keep = values > rounding
        return values[keep], vectors[:, keep]


def refined_solution(A: Array, ridge: float, B: Array) -> Array | None:
    r"""(A + αI)⁻¹ B, or None where single precision is too coarse.

    A Cholesky factor in single precision takes half the time and memory of one in double precision. With it as the
    preconditioner of conjugate gradients, two to four products with A restore all digits.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric, positive semidefinite.
    ridge : float
        α > 0.
    B : array of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._models.discriminants._ridged import refined_solution
    >>> refined_solution(np.diag([1.0, 3.0]), 1.0, np.array([[2.0], [2.0]])).ravel()
    array([1. , 0.5])
    """
    precondition = _single_precision_solver(A, ridge)
    if precondition is None:
        return None
    # Preconditioned conjugate gradients for all columns of B together, each with its own step. Invariant: R is the
    # residual B − (A + αI)X, up to rounding.
    X, R = np.zeros_like(B), B.copy()
    Z = P = precondition(R)
    weight, limits = np.sum(R * Z, axis=0), TOLERANCE * np.linalg.norm(B, axis=0)
    for _ in range(MAX_PRODUCTS):
        image = product(A, P) + ridge * P
        step = _ratio(weight, np.sum(P * image, axis=0))
        X, R = X + step * P, R - step * image
        if np.all(np.linalg.norm(R, axis=0) <= limits):
            return X
        Z = precondition(R)
        previous, weight = weight, np.sum(R * Z, axis=0)
        # The next direction is conjugate to the previous ones with respect to A + αI.
        P = Z + _ratio(weight, previous) * P
    return None


def _single_precision_solver(A: Array, ridge: float) -> Callable[[Array], Array] | None:
    with np.errstate(over="ignore"):
        single = A.astype(np.float32)
    single[np.diag_indices_from(single)] += np.float32(ridge)
    try:
        with large_decomposition(len(A)):
            factor = cholesky_factor(single, overwrite=True)
    except np.linalg.LinAlgError:
        return None
    if not np.all(np.isfinite(np.diagonal(factor))):
        return None
    return lambda R: cholesky_solve(factor, R.astype(np.float32)).astype(np.float64)


def _ratio(above: Array, below: Array) -> Array:
    """above / below; zero where a column has converged exactly."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
