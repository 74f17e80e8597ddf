"""What an eigensolver takes and returns, and those of other libraries: LAPACK, ARPACK."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh
from sklearn.base import BaseEstimator

from preimage._engine.arrays import array_namespace, epsilon, is_host, itemsize, take_rows, to_numpy
from preimage._engine.linalg import DETERMINED, eigh_descending, top_eigh
from preimage._engine.progress import stage
from preimage._engine.threads import small_matrices
from preimage._engine.typing import Array
from preimage._engine.validation import Interval

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
    >>> KernelPCA(2, eigen_solver=BlockKrylov()).fit(X).eigen_result_.converged
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


class Waiting:
    """After how many more columns to look at residuals again, by the reduction between earlier looks.

    Residuals are taken to fall by ten with every `k/16 + 4` columns where there is no earlier value: an average over
    spectra. Looks come at three quarters of the way, because convergence only gets faster, and never later than six
    columns or a sixth of all columns after the last one.
    """

    def __init__(self, k: int) -> None:
        self.columns_per_decade = k / 16 + 4
        self._before: tuple[int, float] | None = None

    def columns(self, size: int, excess: float) -> int:
        if self._before is not None:
            decades = math.log10(max(self._before[1] / excess, 1.1))
            self.columns_per_decade = min((size - self._before[0]) / decades, 4 * self.columns_per_decade)
        self._before = size, excess
        predicted = 0.75 * self.columns_per_decade * math.log10(max(excess, 1.0))
        return max(1, int(min(predicted, max(size / 6, 6))))


class Dense(Eigensolver):
    """LAPACK (or the solver of the device) on the dense matrix: full accuracy, O(n³) time, two copies of the matrix.

    See Also
    --------
    BlockKrylov : Few leading pairs of a large matrix, or without the matrix.
    Arpack : SciPy's solver of few leading pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.eigensolvers import Dense
    >>> Dense().solve(np.diag([1.0, 3.0, 2.0]), 2, np.random.default_rng(0)).values
    array([3., 2.])
    """

    def __init__(self) -> None:
        pass

    def solve(self, operator: Operator, k: int, rng: np.random.Generator, *, by_modulus: bool = False) -> EigenResult:
        matrix = operator.dense() if hasattr(operator, "dense") else operator
        with stage("Finding eigenvectors", 1) as advance, small_matrices(matrix.shape[0]):
            (values, vectors), sum_of_moduli = _leading_pairs(matrix, k, by_modulus)
            advance()
        tolerance = relative_tolerance(None, vectors.dtype)
        # Residuals by the matrix that was decomposed: products with one that is not centred have errors of their own.
        result = measured_result(values, vectors, matrix @ vectors, tolerance, matrix.shape[0], "direct method")
        products = operator @ vectors if operator is not matrix else result.products
        # As exact as the matrix allows.
        return replace(result, products=products, converged=True, is_direct=True, sum_of_moduli=sum_of_moduli)


def _leading_pairs(matrix: Array, k: int, by_modulus: bool) -> tuple[tuple[Array, Array], float | None]:
    """The leading pairs; and the sum of moduli of all eigenvalues, where these are needed to order them."""
    if not by_modulus:
        return top_eigh(matrix, k), None
    values, vectors = eigh_descending(matrix)
    order, xp = leading_order(values, by_modulus)[:k], array_namespace(values)
    return (take_rows(values, order), take_rows(vectors.T, order).T), float(xp.sum(xp.abs(values)))


class Arpack(Eigensolver):
    """SciPy's `eigsh`: one product with a single vector per step. NumPy only.

    Parameters
    ----------
    tol : float, default=0.0
        ARPACK's relative tolerance of eigenvalues; zero is machine precision.
    max_iter : int or None, default=None
        Largest number of restarts.

    See Also
    --------
    BlockKrylov : Blocks of vectors at a time, on any device.
    Dense : All eigenpairs at once, for small matrices.
    scipy.sparse.linalg.eigsh : The function that is called.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.eigensolvers import Arpack
    >>> Arpack().solve(np.diag(np.arange(100.0)), 2, np.random.default_rng(0)).values.round(6)
    array([99., 98.])
    """

    _parameter_constraints = {
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, tol: float | None = 0.0, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, operator: Operator, k: int, rng: np.random.Generator, *, by_modulus: bool = False) -> EigenResult:
        if not is_host(getattr(operator, "device_array", operator)):
            raise TypeError("Arpack works on NumPy arrays only; BlockKrylov works on every array library.")
        if k >= operator.shape[0]:  # ARPACK finds fewer eigenvectors than there are
            return Dense().solve(operator, k, rng, by_modulus=by_modulus)
        start = rng.standard_normal(operator.shape[0])
        n_products = 0

        def multiply(v: Array) -> Array:
            nonlocal n_products
            n_products += 1
            return (operator @ v.reshape(-1, 1).astype(operator.dtype, copy=False))[:, 0]

        linear = LinearOperator(operator.shape, matvec=multiply, dtype=operator.dtype)
        which = "LM" if by_modulus else "LA"
        try:
            values, vectors = eigsh(linear, k, which=which, v0=start, tol=self.tol or 0.0, maxiter=self.max_iter)
            reason = "converged"
        except ArpackNoConvergence as failure:
            values, vectors, reason = failure.eigenvalues, failure.eigenvectors, "iteration limit"
            if len(values) == 0:
                raise ArpackNoConvergence(
                    f"none of the {k} eigenpairs converged within max_iter={self.max_iter} restarts. Raise max_iter, "
                    "raise tol, or use eigensolver='block_krylov' or 'dense'.",
                    values,
                    vectors,
                ) from None
        except ArpackError:
            if np.any(multiply(start)):
                raise
            # ARPACK finds no direction in the image of a matrix of zeros, of which all vectors are eigenvectors.
            vectors = np.linalg.qr(rng.standard_normal((operator.shape[0], k)))[0].astype(operator.dtype, copy=False)
            values, reason = np.zeros(k, dtype=operator.dtype), "converged"
        order = leading_order(values, by_modulus)
        values, vectors = values[order], np.ascontiguousarray(vectors[:, order])
        # Sums of n products have rounding errors of up to nε; no residual can be asked to be smaller.
        rounding_errors = operator.shape[0] * epsilon(operator.dtype)
        tolerance = max(relative_tolerance(self.tol or None, operator.dtype), rounding_errors)
        n_products += len(values)
        rounding = product_rounding(operator)
        result = measured_result(values, vectors, operator @ vectors, tolerance, n_products, reason, rounding)
        missing = k - len(values)
        return replace(result, converged=result.converged and not missing, n_missing=missing)
