"""What every reduction to few points can do, and the best coefficients for given points: projection on their span."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import (
    array_namespace,
    concat_columns,
    device_kwargs,
    is_sparse,
    own_copy,
    take_rows,
    to_numpy,
)
from preimage._engine.finite import finite_result, gives_finite_numbers, is_finite, working_method
from preimage._engine.kept_memory import settle_allocator
from preimage._engine.linalg import orthonormal_factor, rank_tolerance, require_semidefinite
from preimage._engine.memory import memory_budget
from preimage._engine.typing import Array
from preimage._engine.validation import StrOptions
from preimage.descent import Reason
from preimage.feature_space import Expansion, Gram, GrowingSpan
from preimage.kernels import Kernel, free_widths

#: The constraint of a parameter `widths`.
WIDTHS = [StrOptions({"fixed", "free"})]


def with_free_widths(target: Expansion, who: str) -> Expansion:
    """The same vectors on points that may have widths of their own; `who` needs them."""
    if target.kernel.own_columns:
        return target
    kernel = free_widths(target.kernel, target.points.shape[1], who)
    return Expansion(kernel, with_own_columns(kernel, target.points), target.coefficients)


def with_own_columns(kernel: Kernel, points: Array) -> Array:
    """Inputs as points of a kernel of several widths: with that of the feature space."""
    n, own = points.shape[0], kernel.own_columns
    if is_sparse(points):
        return concat_columns(points, points[:, :own] * 0)
    xp = array_namespace(points)
    return concat_columns(points, xp.zeros((n, own), dtype=points.dtype, **device_kwargs(points)))


def comparable(vectors: Expansion, other: Expansion) -> Expansion:
    """`vectors` with the kernel of `other`, which may have free widths where the vectors have one for all."""
    free = other.kernel.own_columns and not vectors.kernel.own_columns
    return with_free_widths(vectors, "This comparison") if free else vectors


# Smallest pivot, relative to the largest, at which a Cholesky factor still gives half of all digits (the square root of
# the machine precision). Below it the rank is in doubt, and an eigendecomposition decides.
WELL_CONDITIONED = 1e-8
# Arrays of the size of a Gram matrix that exist together where one is inverted or factorised.
GRAM_COPIES = 4


@gives_finite_numbers()
def project(target: Expansion, points: Array) -> Expansion:
    """The vectors of span{φ(zⱼ)} nearest to those of `target`: K^z β = K^zx α  (R2).

    Where images of the points are linearly dependent up to rounding, the coefficients are the shortest of the best.

    Parameters
    ----------
    target : Expansion
        The vectors Ψ.
    points : array of shape (m, d)
        The points z.

    Returns
    -------
    Expansion
        The projections, on `points`.

    See Also
    --------
    Select : Chooses the points as well.
    relative_error : How far the projection is from the target.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Linear
    >>> from preimage.reduced_sets import project
    >>> target = Expansion(Linear(), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0], [3.0]]))
    >>> project(target, np.array([[1.0, 1.0]])).coefficients
    array([[2.]])
    """
    if points.shape[0] == 0 or points.shape[1:] != target.points.shape[1:]:
        raise ValueError(
            f"project needs points like those of the target, rows of shape {tuple(target.points.shape[1:])}, at least "
            f"one; got an array of shape {tuple(points.shape)}."
        )
    if not is_finite(points):
        raise ValueError(
            f"project needs points without NaN and infinity, in an array of shape {tuple(points.shape)}: fill missing "
            "entries (KernelImputer), or leave these points out."
        )
    values = target(points)
    coefficients = solve_gram(Gram(target.kernel, points).dense(), values)
    return Expansion(target.kernel, own_copy(points, points), finite_result(coefficients, points))


def solve_gram(K: Array, values: Array) -> Array:
    """β of K β = values for a Gram matrix K, whose rank is decided where it is in doubt.

    Images are brought to length one first: those of polynomials differ by many orders of magnitude, and short ones
    would be mistaken for rounding errors of long ones.
    """
    xp = array_namespace(K)
    lengths = xp.sqrt(xp.abs(xp.linalg.diagonal(K)))
    lengths = xp.where(lengths > 0, lengths, xp.ones_like(lengths))[:, None]
    return _solve_scaled(K / lengths / lengths.T, values / lengths) / lengths


def _solve_scaled(K: Array, values: Array) -> Array:
    # NumPy's own solver, here and in `solve_ridge`: SciPy brings a second BLAS, whose idle threads spin in its way.
    if isinstance(K, np.ndarray) and _is_well_conditioned(K):
        return np.linalg.solve(K, values)
    factor = orthonormal_factor(K)
    return factor @ (factor.T @ values)


def solve_ridge(K: Array, ridge: float | Array, values: Array) -> Array:
    """(K + ridge)⁻¹ values for a positive semidefinite K and a ridge, one number or one per row."""
    xp = array_namespace(K)
    return xp.linalg.solve(K + ridge * xp.eye(K.shape[0], dtype=K.dtype, **device_kwargs(K)), values)


def _is_well_conditioned(K: np.ndarray) -> bool:
    try:
        pivots = np.diagonal(np.linalg.cholesky(K)) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > WELL_CONDITIONED * pivots.max())


def squared_error(target: Expansion, reduced: Expansion) -> float:
    """Σ_c ‖Ψ_c − Ψ′_c‖²  (R1)."""
    target = comparable(target, reduced)
    xp = array_namespace(target.coefficients)
    cross = xp.sum(reduced.coefficients * target(reduced.points))
    return max(0.0, float(xp.sum(target.squared_norms()) - 2 * cross + xp.sum(reduced.squared_norms())))


@gives_finite_numbers()
def relative_error(target: Expansion, reduced: Expansion) -> float:
    r"""The squared error of a reduction, relative to the squared length of its target.

    .. math:: \frac{\sum_c \|\Psi_c - \Psi'_c\|^2}{\sum_c \|\Psi_c\|^2}

    It is zero for a target of length zero.

    Parameters
    ----------
    target : Expansion
        The vectors Ψ.
    reduced : Expansion
        The vectors Ψ′, as many.

    Returns
    -------
    float
        The relative error.

    See Also
    --------
    preimage.plotting.CompressionDisplay : Draws the error against the number of points.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Linear
    >>> from preimage.reduced_sets import project, relative_error
    >>> target = Expansion(Linear(), np.array([[3.0, 4.0]]), np.array([[1.0]]))
    >>> relative_error(target, project(target, np.array([[1.0, 0.0]])))
    0.64
    """
    xp = array_namespace(target.coefficients)
    total = float(xp.sum(target.squared_norms()))
    return squared_error(target, reduced) / total if total > 0 else 0.0


def require_euclidean(kernel: Kernel, gram: np.ndarray, who: str) -> None:
    """Refuse a kernel whose values on the points of a target do not make distances."""
    advice = (
        "Distances in feature space, which it measures, do not exist then. Distill compares function values instead "
        "and works with any kernel that has a gradient."
    )
    require_semidefinite(kernel, gram, who, advice)


def held_gram(target: Expansion, who: str, advice: str) -> np.ndarray:
    """Kernel values among all points of a target, in NumPy and double precision, where there is room for them.

    Raises
    ------
    MemoryError
        Where they, and what is computed from them, take more than half of the free memory.
    UnsupportedKernelError
        Where they do not make distances.
    """
    n, budget = target.points.shape[0], memory_budget(None, target.coefficients)
    if GRAM_COPIES * 8 * n * n > budget:
        raise MemoryError(
            f"{who} on {n} points needs {GRAM_COPIES * 8 * n * n / 1e9:.1f} GB of memory, and half of what is free is "
            f"{budget / 1e9:.1f} GB. {advice}"
        )
    gram = to_numpy(Gram(target.kernel, target.points).dense()).astype(float)
    require_euclidean(target.kernel, gram, who)
    return gram


@dataclass(frozen=True)
class Reduction:
    """A short expansion that approximates a long one.

    Attributes
    ----------
    expansion : Expansion
        The vectors on few points.
    shift : array of shape (k,), or None
        Constants to add to the functions, where the reduction fitted function values; None is zero.
    converged : bool
        Whether the stopping rule was met.
    reason : Reason
        Why the iteration stopped; also a string that says so in words.
    n_iter : int
        Steps that were taken.

    See Also
    --------
    Reducer : Its `reduce` returns it.
    relative_error : How far it is from the target.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced_sets import Select
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0], [0.1], [5.0]]), np.ones((3, 1)))
    >>> reduction = Select().reduce(target, 2)
    >>> reduction.expansion.points.shape, str(reduction.reason)
    ((2, 1), 'a closed formula gave the result')
    """

    expansion: Expansion
    shift: Array | None = None
    converged: bool = True
    reason: Reason = Reason.DIRECT
    n_iter: int = 0


def finite_reduction(reduce: Callable[..., Reduction]) -> Callable[..., Reduction]:
    """A method `reduce` whose result is finite, or refused."""

    @wraps(reduce)
    def reduced(self: Reducer, target: Expansion, n_points: int, **options: Any) -> Reduction:
        # Thousands of temporaries of some hundred kilobytes: a third of the time if each is new memory.
        settle_allocator()
        with working_method(f"{type(self).__name__}.reduce"):
            found = reduce(self, target, n_points, **options)
            finite_result(found.expansion.coefficients)
            finite_result(found.expansion.points)
            return found

    return reduced


class Reducer(BaseEstimator, ABC):
    """Replaces the vectors of an expansion by vectors on fewer shared points.

    A reducer is a value: parameters in, never changed afterwards. It never returns more points than asked, nor more
    than the target has.

    See Also
    --------
    NestedReducer : A reducer whose choices for all numbers of points are nested.
    Reduction : What `reduce` returns.
    preimage.testing.check_reducer : Whether a new reducer keeps the contract.
    preimage.compress : Takes a reducer as `method`.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced_sets import Construct, Reducer
    >>> isinstance(Construct(), Reducer)
    True
    >>> target = Expansion(Gaussian(0.1), np.array([[-0.2], [0.2]]), np.ones((2, 1)))
    >>> Construct().reduce(target, 1).expansion.coefficients.round(2)
    array([[1.99]])
    """

    _parameter_constraints: dict = {}

    #: "free" where points get widths of their own.
    widths: str = "fixed"

    @abstractmethod
    def reduce(
        self, target: Expansion, n_points: int, *, X: Array | None = None, rng: np.random.Generator | None = None
    ) -> Reduction:
        """Approximate all vectors of `target` on at most `n_points` shared points.

        Parameters
        ----------
        target : Expansion of k vectors
        n_points : int
        X : array of shape (n, d), optional
            Inputs where function values should agree; only reducers that look at function values use it.
        rng : numpy.random.Generator, optional
            For reducers that use chance.

        Returns
        -------
        Reduction
        """

    def _prepared(self, target: Expansion) -> Expansion:
        """The target with points whose widths may change, where these are free; otherwise the target itself."""
        return with_free_widths(target, type(self).__name__) if self.widths == "free" else target


def check_n_points(n_points: int) -> None:
    """Refuse numbers of points to which nothing can be reduced."""
    if not isinstance(n_points, Integral) or isinstance(n_points, bool) or n_points < 1:
        raise ValueError(f"A reduced set has at least one point: n_points must be an integer ≥ 1; got {n_points!r}.")


class NestedReducer(Reducer):
    """A reducer that puts points in an order, such that the first n of them are its choice for every n.

    See Also
    --------
    Reducer : The interface of all reducers.
    Select : Nested by greedy steps.
    Construct : Nested, each point for the residual of those before.

    Examples
    --------
    Errors with one, two and three points at the price of one reduction, and the machine with two of them:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced_sets import Select
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0], [0.5], [5.0]]), np.ones((3, 1)))
    >>> path = Select().path(target, 3)
    >>> path.errors.round(3)
    array([0.306, 0.086, 0.   ])
    >>> path[2].points
    array([[0.],
           [5.]])
    """

    @abstractmethod
    def order(self, target: Expansion, n_points: int) -> Array:
        """At least `n_points` points, best first; fewer where fewer make no error."""

    @finite_reduction
    def reduce(
        self, target: Expansion, n_points: int, *, X: Array | None = None, rng: np.random.Generator | None = None
    ) -> Reduction:
        check_n_points(n_points)
        target = self._prepared(target.merged())
        m = target.points.shape[0]
        reduced = project(target, _some(self.order(target, min(n_points, m)), target)[: min(n_points, m), :])
        if n_points >= m and relative_error(target, reduced) > rank_tolerance(m, reduced.coefficients.dtype):
            reduced = target  # as many points as before must not be worse
        return Reduction(reduced)

    def path(self, target: Expansion, n_points: int) -> ReductionPath:
        """All reductions to 1 … `n_points` points at the price of one.

        Returns
        -------
        ReductionPath
        """
        check_n_points(n_points)
        target = self._prepared(target.merged())
        n_points = min(n_points, target.points.shape[0])
        return ReductionPath(target, _some(self.order(target, n_points), target)[:n_points, :])


def _some(points: Array, target: Expansion) -> Array:
    """`points`, or one of the target where none are needed: the zero vector still needs a point."""
    return points if points.shape[0] else take_rows(target.points, np.zeros(1, int))


class ReductionPath:
    """Reductions of one target to growing numbers of points.

    Attributes
    ----------
    points : array of shape (n, d)
        In the order in which they come.
    errors : array of shape (n,), in NumPy
        Relative error Σ‖Ψ − Ψ′‖²/Σ‖Ψ‖² with the first 1 … n points.
    """

    def __init__(self, target: Expansion, points: Array) -> None:
        self.points = points
        self._kernel = target.kernel
        self._gram = Gram(target.kernel, points).dense()
        self._values = target(points)
        total = float(array_namespace(self._values).sum(target.squared_norms()))
        self.errors = _error_curve(to_numpy(self._gram), to_numpy(self._values), total)

    def __len__(self) -> int:
        return self.points.shape[0]

    def __getitem__(self, n_points: int) -> Expansion:
        """The expansion on the first `n_points` points; an IndexError where there are not as many."""
        if not 1 <= n_points <= len(self):
            raise IndexError(f"A path of {len(self)} points has expansions on 1 to {len(self)}; got {n_points}.")
        coefficients = solve_gram(self._gram[:n_points, :n_points], self._values[:n_points, :])
        return Expansion(self._kernel, self.points[:n_points, :], coefficients)

    def __iter__(self) -> Iterator[Expansion]:
        """The expansions on one point, two points, …, as `errors` has them."""
        return (self[n_points] for n_points in range(1, len(self) + 1))


def _error_curve(gram: np.ndarray, values: np.ndarray, total: float) -> np.ndarray:
    """1 − Σⱼ ⟨Ψ, qⱼ⟩²/‖Ψ‖² for growing numbers of orthonormal axes qⱼ; a point that depends on others has no axis."""
    span = GrowingSpan.nested(gram, values)
    explained = np.zeros(gram.shape[0])
    explained[span.pivots] = np.sum(span.coordinates**2, axis=1)
    return np.maximum(0.0, 1 - np.cumsum(explained) / total) if total > 0 else np.zeros(gram.shape[0])
