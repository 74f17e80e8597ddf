"""Systems with a symmetric matrix and a ridge that changes."""

from functools import cached_property

import numpy as np
from scipy import linalg

from preimage._arrays import epsilon
from preimage._linalg import is_semidefinite, rank_tolerance
from preimage.components import rayleigh
from preimage.discriminants._refinement import refined_solution
from preimage.exceptions import UnsupportedKernelError

# One eigendecomposition takes the time of about so many Cholesky factors.
EIGEN_COST = 16

# Rows from which a factor in single precision and a few products are faster than a factor in double precision.
LARGE = 1000

# Ridges below this fraction of the trace are left to eigenvectors: a Cholesky factor loses as many digits as this has,
# and cannot tell a direction without any signal, whose rounding errors a small ridge would blow up. The second number
# is a fraction of the trace before it was centred: these rounding errors are relative to that.
SMALL_RIDGE, SMALL_RIDGE_UNCENTERED = 1e-9, 1e-11


class Ridged:
    r"""A + αI for a symmetric positive semidefinite A and several ridges α > 0, in NumPy.

    One ridge is one Cholesky factor, of a large A in single precision with the digits restored; many share the
    eigenvectors of A, after which each costs :math:`O(m^2)` a right-hand side. Small ridges take eigenvectors as well,
    of which those with an eigenvalue within rounding of zero span the null space of A.

    Parameters
    ----------
    A : array of shape (m, m)
    n_ridges : int, default=1
        How many ridges will be asked for, on which the choice depends.
    size : float, default=0.0
        The largest modulus of numbers that A is a difference of: rounding errors are relative to it, or to A.
    """

    def __init__(self, A, n_ridges=1, size=0.0):
        self.A = A
        self.n_ridges = n_ridges
        self.size = size

    def solve(self, alpha, B):
        """(A + αI)⁻¹ B."""
        if not self._takes_eigenvectors(alpha):
            if self.A.shape[0] >= LARGE and (solution := refined_solution(self.A, alpha, B)) is not None:
                return solution
            try:
                # Its own transpose, in LAPACK's order of columns: nothing is copied.
                factor = linalg.cho_factor(self.plus(alpha).T, lower=True, overwrite_a=True, check_finite=False)
                return linalg.cho_solve(factor, B, check_finite=False)
            except np.linalg.LinAlgError:
                pass  # eigenvalues tell whether it was rounding
        values, vectors = self._eigen_with(alpha)
        along = vectors.T @ B
        return vectors @ (along / (values + alpha)[:, None]) + (B - vectors @ along) / alpha

    def parts(self, alpha, B):
        """(A + αI)⁻¹ B without its part in the null space of A, and how A and the ridge share BᵀB.

        Returns
        -------
        solution : array of shape (m, k)
            Equal to (A + αI)⁻¹ B up to vectors x with A x = 0, where those are told from others.
        explained, rest : arrays of shape (k, k)
            BᵀA(A + αI)⁻¹B and αBᵀ(A + αI)⁻¹B, whose sum is BᵀB; both accurate where they are small.
        rounding : float
            What is explained by rounding errors of A alone, of a unit vector.
        """
        if not self._takes_eigenvectors(alpha):
            solution = self.solve(alpha, B)
            rounding = epsilon(self.A.dtype) * max(1.0, self.size / alpha)
            return solution, (self.A @ B).T @ solution, alpha * B.T @ solution, rounding
        values, vectors = self._eigen_with(alpha)
        along = vectors.T @ B
        outside = B - vectors @ along
        weights = 1 / (values + alpha)
        explained = along.T @ ((values * weights)[:, None] * along)
        rest = along.T @ ((alpha * weights)[:, None] * along) + outside.T @ outside
        return vectors @ (weights[:, None] * along), explained, rest, epsilon(self.A.dtype)

    def rayleigh(self, alpha, signal_factor, n_components):
        """Ratios and directions of largest signal against the noise A + αI; see `preimage.components.rayleigh`."""
        if not self._by_eigenvectors:
            try:
                return rayleigh(signal_factor, self.plus(alpha), n_components)
            except np.linalg.LinAlgError:
                pass  # eigenvalues tell whether it was rounding
        values, vectors = self._eigen
        root = 1 / np.sqrt(np.maximum(values, 0) + alpha)
        U, singular, _ = np.linalg.svd(root[:, None] * (vectors.T @ signal_factor), full_matrices=False)
        return singular[:n_components] ** 2, vectors @ (root[:, None] * U[:, :n_components])

    def plus(self, alpha):
        """A + αI as a matrix."""
        ridged = self.A.copy()
        ridged[np.diag_indices_from(ridged)] += alpha
        return ridged

    @property
    def _by_eigenvectors(self):
        return self.n_ridges > EIGEN_COST

    def _takes_eigenvectors(self, alpha):
        before = self.size * self.A.shape[0]
        small = max(SMALL_RIDGE * np.trace(self.A), SMALL_RIDGE_UNCENTERED * before)
        return self._by_eigenvectors or alpha < small

    @cached_property
    def _eigen(self):
        return np.linalg.eigh(self.A)

    def _eigen_with(self, alpha):
        """Eigenpairs above rounding; a matrix that is indefinite beyond it and the ridge is refused."""
        values, vectors = self._eigen
        # Kernel values are sums with errors of a few ε, and a matrix of such errors has a norm of a few times √n ε.
        rounding = 4 * rank_tolerance(values.size, values.dtype) * max(np.max(np.abs(values)), self.size)
        if not is_semidefinite(values, allowed=max(rounding, alpha)):
            raise UnsupportedKernelError(
                "Kernel Fisher discriminants need a positive semidefinite kernel, or a ridge above its negative "
                f"eigenvalues; on these data eigenvalues are from {values[0]:.2g} to {values[-1]:.2g}, and the ridge "
                f"is {alpha:.2g}. Raise alpha, choose another kernel, or regularizer='identity', which works with any."
            )
        keep = values > rounding
        return values[keep], vectors[:, keep]
