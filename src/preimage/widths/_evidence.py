"""The evidence for widths of single columns: the marginal likelihood of a Gaussian process, with its gradient."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from preimage.kernels._profile import ProfileKernel


@dataclass(frozen=True)
class Evidence:
    r"""Minus twice the logarithm of the evidence for weights of columns, for each target of each row.

    Targets are values of a Gaussian process with the kernel :math:`s\,f(\sum_j \omega_j (x_{ij} - x_{kj})^2)`, f a
    profile, and noise of variance :math:`s \lambda / v_i` with the weight v of the row. For the best variance s it is

    .. math:: E(\omega, \lambda) = \log \frac{\operatorname{tr} Y^\top A^{-1} Y}{nk}
        + \frac 1n \log \det A, \qquad A = K_\omega + \lambda V^{-1},

    up to a constant (K21). Several targets share A.

    Attributes
    ----------
    kernel : ProfileKernel
        Of the squared distance.
    X : array of shape (n, d)
        Columns of similar size, less their means.
    Y : array of shape (n, k)
        Targets less their means.
    noise : array of shape (n,)
        1/v: relative variances of the noise.
    """

    kernel: ProfileKernel
    X: np.ndarray
    Y: np.ndarray
    noise: np.ndarray

    def with_gradient(self, weights: np.ndarray, ridge: float) -> tuple[float, np.ndarray, float]:
        """E and its derivatives with respect to weights (d,) and to the ridge λ."""
        n, k = self.Y.shape
        values, derivatives = self._values(weights)
        inverse, log_determinant = self._inverse(values, ridge)
        along = inverse @ self.Y
        power = float(np.sum(self.Y * along)) / (n * k)
        by_values = inverse
        by_values *= 1 / n
        by_values -= (along / (n * k * power)) @ along.T
        by_ridge = float(np.diagonal(by_values) @ self.noise)
        derivatives *= by_values
        # Σ M_ik (x_ij − x_kj)² for the symmetric M of these products; infinite derivatives at distance zero are not
        # multiplied by it.
        np.fill_diagonal(derivatives, 0.0)
        by_weights = 2 * (derivatives.sum(axis=1) @ self.X**2 - np.sum(self.X * (derivatives @ self.X), axis=0))
        return np.log(power) + log_determinant / n, by_weights, by_ridge

    def at(self, weights: np.ndarray, ridge: float) -> float:
        """E alone."""
        inverse, log_determinant = self._inverse(self._values(weights)[0], ridge)
        n, k = self.Y.shape
        return float(np.log(np.sum(self.Y * (inverse @ self.Y)) / (n * k)) + log_determinant / n)

    def squared_gradients(self, weights: np.ndarray, ridge: float) -> np.ndarray:
        """Squared derivatives of the posterior means, summed over targets, mean over rows; shape (d,).

        The diagonal of the average gradient outer product of kernel ridge regression.
        """
        values, derivatives = self._values(weights)
        np.fill_diagonal(derivatives, 0.0)
        coefficients = self._inverse(values, ridge)[0] @ self.Y
        total = np.zeros(self.X.shape[1])
        for each in coefficients.T:
            along = derivatives @ each
            gradients = 2 * weights * (self.X * along[:, None] - derivatives @ (self.X * each[:, None]))
            total += np.mean(gradients**2, axis=0)
        return total

    def rows(self, count: int) -> "Evidence":
        """Of the first rows alone."""
        return Evidence(self.kernel, self.X[:count], self.Y[:count], self.noise[:count])

    def columns(self, kept: np.ndarray) -> "Evidence":
        """Of some columns alone."""
        return Evidence(self.kernel, self.X[:, kept], self.Y, self.noise)

    def _values(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kernel values and their derivatives with respect to the squared distance, in new arrays."""
        Z = self.X * np.sqrt(weights)
        lengths = np.sum(Z * Z, axis=1)
        squared = Z @ (-2 * Z.T)
        squared += lengths
        squared += lengths[:, None]
        np.maximum(squared, 0, out=squared)
        np.fill_diagonal(squared, 0.0)
        values, derivatives = self.kernel.profile_with_derivative(squared)
        return values, derivatives

    def _inverse(self, values: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
        """A⁻¹ and log det A; `values` are overwritten."""
        values[np.diag_indices(len(values))] += ridge * self.noise
        # Symmetric, so that the order of columns in memory does not matter to LAPACK.
        factor, info = lapack.dpotrf(values.T, lower=1, clean=0, overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError("The kernel matrix with its ridge is not positive definite.")
        log_determinant = 2 * float(np.sum(np.log(np.diagonal(factor))))
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        upper = np.triu(inverse.T)  # what LAPACK calls the lower triangle, by columns
        upper += np.triu(upper, 1).T
        return upper, log_determinant
