"""The contract of eigensolvers."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import clone

from preimage._engine.typing import Array
from preimage.eigensolvers import EigenResult, Eigensolver
from preimage.feature_space import Gram
from preimage.kernels import Gaussian

# Size of the matrices, and eigenpairs that are asked for. The spectrum falls by a tenth from each value to the next, so
# that an iteration without acceleration converges in some hundred products.
SIZE, COUNT, DECAY = 120, 4, 0.9


def check_eigensolver(solver: Eigensolver, *, tol: float = 1e-6) -> None:
    """Raise AssertionError unless `solver` keeps the contract of `Eigensolver`.

    It finds the leading pairs of a matrix and of an operator that has products alone, in descending order, by size or
    by modulus; vectors are orthonormal, residuals are what products say, and convergence is claimed only with small
    residuals. It is a value that no call changes, gives the same result for the same generator, never writes into the
    matrix, and keeps its precision.

    Parameters
    ----------
    solver : Eigensolver
        The solver to check.
    tol : float, default=1e-6
        Largest relative error of eigenvalues, and of products against eigenvalues times vectors.

    See Also
    --------
    preimage.eigensolvers.Eigensolver : The interface.
    preimage.eigensolvers.measured_result : Makes a result with residuals.

    Examples
    --------
    >>> from preimage.eigensolvers import BlockKrylov
    >>> from preimage.testing import check_eigensolver
    >>> check_eigensolver(BlockKrylov())
    """
    rng = np.random.default_rng(0)
    vectors, _ = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))
    values = 10 * DECAY ** np.arange(SIZE)
    signed = values * np.where(np.arange(SIZE) % 2, -1, 1)
    matrix, indefinite = (vectors * values) @ vectors.T, (vectors * signed) @ vectors.T
    parameters, before = repr(clone(solver).get_params()), matrix.copy()

    result = _checked(solver, matrix, values, tol)
    again = _checked(solver, matrix, values, tol)
    assert_allclose(again.vectors, result.vectors, rtol=0, atol=1e-9, err_msg="not reproducible")
    _checked(solver, indefinite, signed, tol, by_modulus=True)
    X = rng.normal(size=(SIZE, 2))
    gram = Gram(Gaussian(0.5), X).centered()
    expected = np.linalg.eigvalsh(gram.dense())[::-1]
    _checked(solver, gram, expected, tol)
    single = solver.solve(matrix.astype(np.float32), COUNT, np.random.default_rng(1))
    assert single.values.dtype == single.vectors.dtype == np.float32, "float32 stays float32"
    assert_allclose(single.values, values[:COUNT], rtol=max(tol, 1e-4), err_msg="float32 ≈ float64")

    assert (matrix == before).all(), "solve writes into the matrix"
    assert repr(solver.get_params()) == parameters, "solve changes the parameters of the solver"


def _checked(
    solver: Eigensolver, operator: Array, expected: Array, tol: float, by_modulus: bool = False
) -> EigenResult:
    """The result for an operator with the given eigenvalues, leading ones first, after all laws have been checked."""
    result = solver.solve(operator, COUNT, np.random.default_rng(1), by_modulus=by_modulus)
    scale = np.abs(expected[0])
    assert result.values.shape == (COUNT,) and result.vectors.shape == (SIZE, COUNT), "shapes"
    assert result.converged, f"not converged ({result.reason}), which the contract asks of this easy spectrum"
    assert_allclose(result.values, expected[:COUNT], atol=tol * scale, rtol=0, err_msg="leading eigenvalues in order")
    assert_allclose(result.vectors.T @ result.vectors, np.eye(COUNT), atol=1e-8, err_msg="orthonormal vectors")
    products = operator @ result.vectors
    assert_allclose(result.products, products, atol=1e-8 * scale, err_msg="products are A u")
    residuals = np.linalg.norm(products - result.vectors * result.values, axis=0)
    assert_allclose(result.residuals, residuals, atol=1e-8 * scale, err_msg="residuals are ‖A u − λ u‖")
    assert residuals.max() <= np.sqrt(tol) * scale, "converged with large residuals"
    assert result.n_products >= COUNT, "number of products"
    return result
