"""What an eigensolver takes and returns."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import array_namespace, epsilon, itemsize, to_numpy
from preimage._engine.linalg import DETERMINED
from preimage._engine.typing import Array

# Relative residuals ‖Au − λu‖/|λ₁| asked for by default, by bytes of a number. Errors of eigenvalues are their squares
# over the gaps between eigenvalues, so eigenvalues come out with about twice the digits. Ten times larger, coordinates
# of weak components would differ visibly between solvers; ten times smaller, every fit would take more products.
DEFAULT_TOLERANCE = {8: 1e-6, 4: 5e-5}
# Rounding errors of a product with a matrix, in units of ε|λ₁|: no residual can be asked to be smaller.
SOLVER_ROUNDING = 10
# Rows of a projected matrix from which on a test of convergence computes its weakest pairs only, and how many: these
# converge last, and the others take most of the time. Below, all of them take less than a millisecond.
LARGE_PROJECTION, WEAKEST = 64, 4
# A tolerance of zero asks for all digits; this many units in the last place are all that a product has.
SMALLEST_TOLERANCE = 4
TINY = float(np.finfo(float).tiny)


class Operator(Protocol):
    """A symmetric matrix by its products.

    An operator may also have `device_array` (an array on its device), `is_held` (whether its entries are in memory;
    True where it does not say), `dense()` (its entries), `sketch(weights, stride)` (a product with every `stride`-th
    column), `sample(stride)` (the matrix of these rows and columns), `column_step` (numbers of columns up to the next
    multiple of this cost the same in a product) and `rounding_error()` (the norm of the rounding errors in a product).
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

    def __matmul__(self, V: Array, /) -> Array: ...


@dataclass(frozen=True)
class EigenResult:
    """Leading eigenpairs of a symmetric operator A, and how accurate they are.

    Attributes
    ----------
    values : array of shape (k,)
        Descending, by size or by modulus as asked.
    vectors : array of shape (n, k), or None
        Orthonormal columns u; None in reports, whose model holds the vectors.
    products : array of shape (n, k), or None
        A u, as computed.
    residuals : array of shape (k,)
        ‖A u − λ u‖, measured on `products`.
    converged : bool
        Whether every residual is within the tolerance.
    n_products : int
        Number of columns that A was multiplied with.
    reason : str
        Why the solver stopped.
    excess : float
        Largest residual over what was allowed for its pair: at most one when converged.
    is_direct : bool
        Whether residuals are those of a direct method: rounding errors alone.
    n_missing : int
        Number of pairs that were asked for and not found, for a solver that returns converged pairs only.
    sum_of_moduli : float or None
        Of all eigenvalues of A, where the solver has computed them.

    See Also
    --------
    Eigensolver : Its `solve` returns it.
    preimage.KernelPCA : Has one as `eigen_result_` after a fit.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.eigensolvers import BlockKrylov
    >>> result = BlockKrylov().solve(np.diag(np.arange(200.0)), 3, np.random.default_rng(0))
    >>> result.converged, bool((result.relative_residuals < 1e-6).all())
    (True, True)
    """

    values: Array
    vectors: Array
    products: Array
    residuals: Array
    converged: bool
    n_products: int
    reason: str
    excess: float = 0.0
    is_direct: bool = False
    n_missing: int = 0
    sum_of_moduli: float | None = None

    @property
    def relative_residuals(self) -> Array:
        """Residuals relative to the largest eigenvalue in modulus."""
        xp = array_namespace(self.values)
        return self.residuals / xp.max(xp.abs(self.values))


class Eigensolver(BaseEstimator, ABC):
    """Finds the leading eigenpairs of a symmetric operator that has `@`, `shape` and `dtype`.

    `preimage.testing.check_eigensolver` checks an implementation.

    See Also
    --------
    preimage.testing.check_eigensolver : Whether a new solver keeps the contract.
    measured_result : Makes the result of a new solver.
    BlockKrylov : The solver for large matrices.

    Examples
    --------
    Estimators take a solver:

    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.eigensolvers import BlockKrylov, Eigensolver
    >>> isinstance(BlockKrylov(), Eigensolver)
    True
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> KernelPCA(2, eigensolver=BlockKrylov()).fit(X).eigen_result_.converged
    True
    """

    @abstractmethod
    def solve(self, operator: Operator, k: int, rng: np.random.Generator, *, by_modulus: bool = False) -> EigenResult:
        r"""The k leading eigenpairs: the largest, or the largest in modulus.

        Parameters
        ----------
        operator : CenteredGram, Gram, array, or anything with `@`, `shape` and `dtype`
        k : int
            At most n − 1.
        rng : numpy.random.Generator
            Source of start vectors, the same on every device.
        by_modulus : bool
            Order by :math:`|\lambda|`, for indefinite operators.
        """


def relative_tolerance(tol: float | None, dtype: Any) -> float:
    """`tol`, or the default for the precision of `dtype`."""
    return DEFAULT_TOLERANCE[itemsize(dtype)] if tol is None else max(tol, SMALLEST_TOLERANCE * epsilon(dtype))


def product_rounding(operator: Operator) -> float:
    """Norm of the rounding errors in a product with unit vectors, where the operator can estimate it."""
    return operator.rounding_error() if hasattr(operator, "rounding_error") else 0.0


def leading_order(values: Array, by_modulus: bool) -> np.ndarray:
    """NumPy indices that sort eigenvalues, largest (or largest in modulus) first."""
    values = to_numpy(values)
    return (-(abs(values) if by_modulus else values)).argsort(kind="stable")


def measured_result(
    values: Array,
    vectors: Array,
    products: Array,
    tolerance: float,
    n_products: int,
    reason: str,
    rounding: float = 0.0,
) -> EigenResult:
    r"""An `EigenResult` whose residuals are measured on the products A u.

    A pair has converged when :math:`\|Au - \lambda u\|` is at most `tolerance` times :math:`|\lambda_1|`, and small
    relative to its own λ as well: coordinates along u have a relative error of :math:`\|Au - \lambda u\| / |\lambda|`.
    Rounding errors of products, `rounding` and those of the solver, are allowed in any case.

    Parameters
    ----------
    values : array of shape (k,)
        The eigenvalues λ.
    vectors : array of shape (n, k)
        The eigenvectors u, orthonormal.
    products : array of shape (n, k)
        A u.
    tolerance : float
        Largest relative residual.
    n_products : int
        Number of columns that A was multiplied with.
    reason : str
        Why the solver stopped.
    rounding : float, default=0.0
        Norm of the rounding errors in a product.

    Returns
    -------
    EigenResult
        With the given arrays, not copies of them, residuals, and whether these are small enough.

    See Also
    --------
    EigenResult : What is returned.
    Eigensolver : The interface of solvers.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.eigensolvers import measured_result
    >>> A, values, vectors = np.diag([3.0, 1.0]), np.array([3.0]), np.array([[1.0], [0.0]])
    >>> measured_result(values, vectors, A @ vectors, 1e-6, 1, "a guess was right").converged
    True
    """
    xp = array_namespace(vectors)
    residuals = xp.sqrt(xp.sum((products - vectors * values) ** 2, axis=0))
    if not values.shape[0]:
        return EigenResult(values, vectors, products, residuals, True, n_products, reason)
    excess = float(xp.max(residuals / allowed_residuals(values, tolerance, rounding)))
    return EigenResult(values, vectors, products, residuals, excess <= 1, n_products, reason, excess)


def allowed_residuals(values: Array, tolerance: float, rounding: float = 0.0, largest: float | None = None) -> Array:
    """The residual ‖Au − λu‖ with which each pair counts as converged, see `measured_result`.

    `largest` is |λ₁| where that is not among the values.
    """
    xp = array_namespace(values)
    moduli = xp.abs(values)
    scale = float(xp.max(moduli)) if largest is None else largest
    floor = rounding + SOLVER_ROUNDING * epsilon(values.dtype) * scale
    relative_to_own = max(tolerance, DETERMINED[itemsize(values.dtype)]) * moduli
    # The smallest positive number, so that the zero matrix has residuals of zero over something.
    least, most = max(floor, TINY), tolerance * scale
    if isinstance(values, np.ndarray):  # iterations ask often, and the functions of the standard take their time
        return np.maximum(np.minimum(relative_to_own, most), least)
    return xp.clip(xp.clip(relative_to_own, max=most), min=least)
