"""Selection: keep some of the points, and let the others be expressed by them."""

import numpy as np
from scipy.linalg import lapack

from preimage._engine.arrays import take_rows, to_numpy
from preimage._engine.threads import small_matrices
from preimage._engine.typing import Array
from preimage._engine.validation import StrOptions, check_parameters
from preimage.feature_space import Expansion, Gram, GrowingSpan
from preimage.reduced_sets._reducer import NestedReducer, held_gram

# Added to the diagonal of K, relative to its mean, before it is inverted. Eigenvalues that are rounding errors (about
# 1e-13 for a thousand points) then do not dominate the inverse; the costs of removals change by this relative to the
# smallest true eigenvalue.
JITTER = 1e-10
# Removals between two updates of the whole precision matrix, which is then a product of matrices; columns that are
# needed in between are updated one by one.
BLOCK = 48


class Select(NestedReducer):
    r"""A subset of the points, chosen greedily.

    - "removal" takes away, one at a time, the point whose loss costs least when the coefficients of the others make
      up for it: :math:`\rho^*(n) = \sum_c \alpha_{nc}^2 / (K^{-1})_{nn}` (R9). Errors of the steps add up exactly.
    - "forward" starts from nothing and adds the point that takes most of what is left, (R4); it never forms K, and is
      better when few of many points remain.

    Coefficients are those of the projection (R2) in the end. The rule of [1]_, by eigenvectors of K with small
    eigenvalues, takes a decomposition for each removal and is in each step at best as good as "removal".

    Parameters
    ----------
    rule : {"removal", "forward"}, default="removal"
        How points are chosen, see above.

    See Also
    --------
    SelectL1 : A penalty on the coefficients in place of greedy steps.
    Construct : New points, fewer for the same error.

    References
    ----------
    .. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
       Networks 10, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Linear
    >>> from preimage.reduced_sets import Select
    >>> target = Expansion(Linear(), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.ones((3, 1)))
    >>> Select().reduce(target, 1).expansion.points  # one of the points says it all
    array([[1., 1.]])
    """

    _parameter_constraints = {"rule": [StrOptions({"removal", "forward"})]}

    def __init__(self, rule: str = "removal") -> None:
        self.rule = rule

    def order(self, target: Expansion, n_points: int) -> Array:
        check_parameters(self)
        if self.rule == "forward":
            return take_rows(target.points, _forward_order(target, n_points))
        gram = held_gram(target, "Select", "Select('forward') and Construct() need little memory.")
        coefficients = to_numpy(target.coefficients).astype(float)
        # Costs are squares, which overflow where coefficients do not; a power of two changes none of their digits.
        coefficients = np.ldexp(coefficients, -np.frexp(np.abs(coefficients).max(initial=0.0))[1])
        with small_matrices(gram.shape[0]):
            removed = _remove(gram, coefficients)
        return take_rows(target.points, removed[::-1].copy())


def _remove(gram: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """All points in the order of their exact greedy removal, by blocks of Schur complements (R9)–(R11).

    Removing a point from K is one step of a Cholesky factorisation of P = K⁻¹. Within a block only the columns of
    chosen points are updated, and P itself once per block, by a matrix product.
    """
    remaining, alpha = np.arange(gram.shape[0]), coefficients
    order: list[int] = []
    while remaining.size > 1:
        # A fresh inverse whenever half of the points are gone: rounding errors do not accumulate.
        precision = _inverse(gram[np.ix_(remaining, remaining)])
        alpha, gone = alpha.copy(), np.zeros(remaining.size, bool)
        half = remaining.size - max(1, remaining.size // 2)
        while gone.sum() < half:
            steps = min(BLOCK, int(half - gone.sum()))
            chosen = _remove_block(precision, alpha, gone, steps)
            order.extend(remaining[chosen])
        remaining, alpha = remaining[~gone], alpha[~gone]
    return np.asarray([*order, *remaining])


def _remove_block(precision: np.ndarray, alpha: np.ndarray, gone: np.ndarray, steps: int) -> np.ndarray:
    """Numbers of the next `steps` points to remove; updates the precision matrix, coefficients and marks in place."""
    factor = np.zeros((precision.shape[0], steps))
    diagonal = np.where(gone, 1.0, precision.diagonal())
    chosen = np.empty(steps, int)
    for step in range(steps):
        # (R9). Within a block `factor` holds the removals so far; only the columns of removed points are updated by it.
        cost = np.einsum("ij,ij->i", alpha, alpha) / diagonal
        cost[gone] = np.inf
        n = chosen[step] = np.argmin(cost)
        column = precision[:, n] - factor[:, :step] @ factor[n, :step]
        column[gone] = 0.0
        pivot = column[n]
        # (R10): the coefficients of the rest are those of the projection; alpha[n] becomes zero.
        alpha -= np.outer(column / pivot, alpha[n])
        factor[:, step] = column / np.sqrt(pivot)
        gone[n] = True
        diagonal = np.where(gone, 1.0, diagonal - factor[:, step] ** 2)
    precision -= factor @ factor.T
    return chosen


def _inverse(gram: np.ndarray) -> np.ndarray:
    if not np.all(np.isfinite(gram)):
        raise ValueError("Select needs finite kernel values; some are NaN or infinite. Check the points of the target.")
    n = gram.shape[0]
    jitter = max(JITTER * (gram.trace() / n or 1.0), np.finfo(float).tiny)
    while jitter < np.inf:
        # LAPACK's pair for symmetric matrices: half the work of a general inverse.
        factor, failed = lapack.dpotrf(gram + jitter * np.eye(n), lower=1)
        if failed:
            jitter *= 10
            continue
        lower = np.tril(lapack.dpotri(factor, lower=1)[0])
        return lower + np.tril(lower, -1).T
    raise ValueError("Select cannot invert the kernel matrix of the points: its values overflow. Scale the data.")


def _forward_order(target: Expansion, n_points: int) -> np.ndarray:
    """Numbers of the points that take most of the residual, one after the other, by (R4)."""
    gram = Gram(target.kernel, target.points)
    if not target.kernel.is_positive_semidefinite:
        held_gram(target, "Select", "Distill() needs little memory.")  # refuses kernels without distances
    span = GrowingSpan(target.kernel, target.points, values=gram @ target.coefficients, capacity=n_points)
    while len(span) < n_points:
        numbers, residuals = span.open_rows()
        if not numbers.size:
            break  # the others are combinations of the chosen ones
        values = to_numpy(span.residual_values)
        gains = np.einsum("ij,ij->i", values, values)[numbers] / residuals
        span.add_row(numbers[np.argmax(gains)])
    return span.pivots
