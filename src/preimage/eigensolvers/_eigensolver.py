"""What an eigensolver takes and gives."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from preimage._arrays import array_namespace, epsilon, itemsize, to_numpy
from preimage._linalg import DETERMINED

# Relative residuals ‖Au − λu‖/|λ₁| asked for by default. Errors of eigenvalues are their squares over the gaps, so
# eigenvalues come out with about twice the digits.
DEFAULT_TOLERANCE = {8: 1e-6, 4: 5e-5}
# Rounding errors of a product with a matrix, in units of ε|λ₁|: no residual can be asked to be smaller.
SOLVER_ROUNDING = 10


@dataclass(frozen=True)
class EigenResult:
    """Leading eigenpairs of a symmetric operator A, and how good they are.

    Attributes
    ----------
    values : array of shape (k,)
        Descending, by size or by modulus as asked.
    vectors : array of shape (n, k)
        Orthonormal columns u.
    products : array of shape (n, k)
        A u, as computed.
    residuals : array of shape (k,)
        ‖A u − λ u‖, measured on `products`.
    converged : bool
        Whether every residual is within the tolerance.
    n_products : int
        Columns that A was multiplied with.
    reason : str
        Why the solver stopped.
    excess : float
        Largest residual over what was allowed for its pair: at most one when converged.
    is_direct : bool
        Whether residuals are those of a direct method, rounding errors alone.
    n_missing : int
        Pairs that were asked for and not found, for a solver that keeps to itself what has not converged.
    """

    values: Any
    vectors: Any
    products: Any
    residuals: Any
    converged: bool
    n_products: int
    reason: str
    excess: float = 0.0
    is_direct: bool = False
    n_missing: int = 0

    @property
    def relative_residuals(self):
        """Residuals as shares of the largest eigenvalue in modulus."""
        xp = array_namespace(self.values)
        return self.residuals / xp.max(xp.abs(self.values))


class Eigensolver(BaseEstimator, ABC):
    """Finds the leading eigenpairs of a symmetric operator that knows `@`, `shape` and `dtype`."""

    @abstractmethod
    def solve(self, operator, k, rng, *, by_modulus=False):
        """The k leading eigenpairs: the largest, or the largest in modulus.

        Parameters
        ----------
        operator : CenteredGram, Gram, array, or anything with `@`, `shape` and `dtype`
        k : int
        rng : numpy.random.Generator
            Source of start vectors, the same on every device.
        by_modulus : bool
            Order by |λ|, for indefinite operators.

        Returns
        -------
        EigenResult
        """


def relative_tolerance(tol, dtype):
    """`tol`, or the default of the dtype."""
    return DEFAULT_TOLERANCE[itemsize(dtype)] if tol is None else max(tol, 4 * epsilon(dtype))


def product_rounding(operator):
    """Norm of the rounding errors in a product with unit vectors that the operator knows of."""
    return operator.rounding_error() if hasattr(operator, "rounding_error") else 0.0


def leading_order(values, by_modulus):
    """NumPy indices that sort eigenvalues, largest (or largest in modulus) first."""
    values = to_numpy(values)
    return (-(abs(values) if by_modulus else values)).argsort(kind="stable")


def measured_result(values, vectors, products, tolerance, n_products, reason, rounding=0.0):
    """An `EigenResult` whose residuals are measured on A u.

    A pair has converged when ‖Au − λu‖ is at most `tolerance`·|λ₁|, and small against its own λ as well: coordinates
    along u have a relative error of ‖Au − λu‖/|λ|. Rounding errors of products, `rounding` and those of the solver, are
    allowed in any case.
    """
    xp = array_namespace(vectors)
    residuals = xp.sqrt(xp.sum((products - vectors * values) ** 2, axis=0))
    if not values.shape[0]:
        return EigenResult(values, vectors, products, residuals, True, n_products, reason)
    moduli = xp.abs(values)
    scale = float(xp.max(moduli))
    floor = rounding + SOLVER_ROUNDING * epsilon(values.dtype) * scale
    own = max(tolerance, DETERMINED[itemsize(values.dtype)]) * moduli
    allowed = xp.clip(xp.clip(own, max=tolerance * scale), min=max(floor, float(np.finfo(float).tiny)))
    excess = float(xp.max(residuals / allowed))
    return EigenResult(values, vectors, products, residuals, excess <= 1, n_products, reason, excess)
