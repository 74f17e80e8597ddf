"""Systems with a symmetric matrix and a ridge that changes."""

from functools import cached_property

import numpy as np
from scipy import linalg

from preimage.discriminants._refinement import refined_solution
from preimage.spectral import rayleigh

# One eigendecomposition takes the time of about so many Cholesky factors.
EIGEN_COST = 16

# Rows from which a factor in single precision and a few products are faster than a factor in double precision.
LARGE = 1000


class Ridged:
    r"""A + αI for a symmetric positive semidefinite A and several ridges α, in NumPy.

    One ridge is one Cholesky factor, of a large A in single precision with the digits restored; many share the
    eigenvectors of A, after which each costs :math:`O(m^2)` a right-hand side.

    Parameters
    ----------
    A : array of shape (m, m)
    n_ridges : int, default=1
        How many ridges will be asked for, on which the choice depends.
    """

    def __init__(self, A, n_ridges=1):
        self.A = A
        self.n_ridges = n_ridges

    def solve(self, alpha, B):
        """(A + αI)⁻¹ B."""
        if self._by_eigenvectors:
            values, vectors = self._eigen
            return vectors @ ((vectors.T @ B) / (values + alpha)[:, None])
        if self.A.shape[0] >= LARGE and (solution := refined_solution(self.A, alpha, B)) is not None:
            return solution
        try:
            # Its own transpose, in LAPACK's order of columns: nothing is copied.
            factor = linalg.cho_factor(self.plus(alpha).T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(
                f"A matrix of shape {self.A.shape} plus a ridge of {alpha:.2g} is not positive definite: the kernel is "
                "indefinite on these data, or the ridge too small for rounding errors. Raise alpha, choose a positive "
                "semidefinite kernel, or regularizer='identity', which works with any."
            ) from None
        return linalg.cho_solve(factor, B, check_finite=False)

    def rayleigh(self, alpha, signal_factor, n_components):
        """Ratios and directions of largest signal against the noise A + αI; see `preimage.spectral.rayleigh`."""
        if not self._by_eigenvectors:
            return rayleigh(signal_factor, self.plus(alpha), n_components)
        values, vectors = self._eigen
        root = 1 / np.sqrt(values + alpha)
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

    @cached_property
    def _eigen(self):
        values, vectors = np.linalg.eigh(self.A)
        return np.maximum(values, 0), vectors
