"""What every pre-image solver can do and returns: many problems together, each with its reason to stop."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps
from typing import Any, Self

import array_api_compat.numpy
import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import array_namespace, concat_rows, from_numpy, take_rows, to_dense, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel
from preimage.solvers._blocks import target_parts
from preimage.solvers._starts import nearest_in_subspace
from preimage.solvers._targets import EmbeddedTargets, GivenTargets, Targets, moved_vectors


class Batched:
    """Base of frozen dataclasses with one row per problem.

    Fields are arrays, other values of this kind, tuples of such values, or None. NumPy arrays and arrays of
    another library may be mixed.
    """

    def take(self, rows: np.ndarray) -> Self:
        """The problems with the given NumPy indices."""
        try:
            return _map_arrays(lambda array: take_rows(array, rows), self)
        except IndexError as error:
            raise ValueError(
                f"{type(self).__name__}.take needs numbers of problems, an array of integers from 0 on; got a number "
                f"that no problem has ({error})."
            ) from error

    def where(self, mask: Array, other: Self) -> Self:
        """Row by row, this value where the boolean array `mask` holds and `other` elsewhere."""
        xp, columns = array_namespace(mask), mask[:, None]

        def pick(mine: Array, theirs: Array) -> Array:
            if isinstance(mine, np.ndarray) and xp is not array_api_compat.numpy:
                return np.where(to_numpy(mask if mine.ndim == 1 else columns), mine, theirs)
            return xp.where(mask if mine.ndim == 1 else columns, mine, theirs)

        return _map_arrays(pick, self, other)

    def replaced(self, rows: np.ndarray, other: Self) -> Self:
        """This value with the problems `rows` taken from `other`."""
        size = next(iter(vars(self).values())).shape[0]  # of the first field, which is an array
        order = np.arange(size)
        order[rows] = size + np.arange(len(rows))
        return self.join([self, other]).take(order)

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """One value from those of consecutive blocks of problems."""
        if not parts:
            raise ValueError(f"A {cls.__name__} is that of one or more problems; got none. Pass one row or more.")
        return parts[0] if len(parts) == 1 else _map_arrays(lambda *arrays: concat_rows(*arrays), *parts)


def _map_arrays(function: Callable, *values: Any) -> Any:
    """`function` applied to the matching arrays of values of one type."""
    first = values[0]
    if first is None:
        return None
    if isinstance(first, Batched):
        parts = zip(*(vars(value).values() for value in values), strict=True)  # a dataclass has its fields in order
        return type(first)(*[_map_arrays(function, *part) for part in parts])
    if isinstance(first, tuple):
        return tuple(_map_arrays(function, *items) for items in zip(*values, strict=True))
    return function(*values)


class Reason(StrEnum):
    """Why a problem stopped. The text of a reason, `str(reason)`, completes "it stopped because".

    See Also
    --------
    PreimageResult : Has one reason per problem.
    preimage.reduced_sets.Reduction : Has a reason, too.

    Examples
    --------
    >>> from preimage.solvers import Reason
    >>> str(Reason.ITERATION_LIMIT)
    'the iteration limit was reached'
    """

    CONVERGED = "the stopping rule was met"
    ITERATION_LIMIT = "the iteration limit was reached"
    STALLED = "no step lowered the objective"
    VANISHING = "kernel values vanish around the start"
    RESTRICTED = "the objective has no minimum; this is the best point within the range of the data"
    DIRECT = "a closed formula gave the result"
    UNDEFINED = "the closed formula has no finite value"
    NOT_EXACT = "there is no exact pre-image"
    LEARNED = "no nearest image lies near the data; the learned map answered instead"
    NO_DESCENT = "the descent did not lower the error, and its start was kept"
    DEPENDENT_IMAGES = "images of the points are linearly dependent"
    ALL_POINTS_KEPT = "all points are kept"
    NOTHING_SMALLER = "no smaller machine is within the tolerance"

    @staticmethod
    def array(size: int, reason: "Reason") -> np.ndarray:
        """An array of `size` equal reasons; NumPy's own functions would make plain strings of them."""
        reasons = np.empty(size, dtype=object)
        reasons[:] = reason
        return reasons

    @staticmethod
    def choose(mask: np.ndarray, if_true: "Reason", if_false: "Reason") -> np.ndarray:
        """One reason where the boolean array `mask` holds, the other elsewhere."""
        return np.array([if_false, if_true], dtype=object)[np.asarray(mask).astype(int)]


@dataclass(frozen=True)
class PreimageResult(Batched):
    """Pre-images of q targets, and how they were found.

    Attributes
    ----------
    points : array of shape (q, d)
        The pre-images z.
    objective : array of shape (q,)
        ρ(z) = ‖φ(z) − Ψ‖² plus the penalty of the solver. Results of estimators have the largest number instead of one
        that is beyond it.
    n_iter : integer array of shape (q,)
        Iterations of each problem, in NumPy.
    converged : boolean array of shape (q,)
        Whether each problem met its stopping rule, in NumPy.
    reason : array of q members of `Reason`
        Why each problem stopped, in NumPy. Each is also a string that says so in words.

    See Also
    --------
    Reason : The reasons for which a problem stops.
    preimage.KernelPCA.find_preimages : Returns such a result.
    ParametrizedResult : The result of a search within a family.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> kpca = KernelPCA(2, gamma=0.1).fit(X)
    >>> result = kpca.find_preimages(kpca.transform(X[:3]))
    >>> result.points.shape, str(result.reason[0])
    ((3, 2), 'a closed formula gave the result')
    """

    points: Array
    objective: Array
    n_iter: np.ndarray
    converged: np.ndarray
    reason: np.ndarray

    def within_range(self) -> Self:
        """This result with finite objectives: the largest number where they are beyond it, or were not found.

        All else is shared with this result, which is returned itself where its objectives are finite.
        """
        xp = array_namespace(self.objective)
        is_number = xp.isfinite(self.objective)
        if bool(xp.all(is_number)):
            return self
        largest = xp.full_like(self.objective, float(xp.finfo(self.objective.dtype).max))
        return replace(self, objective=xp.where(is_number, self.objective, largest))

    def better_of(self, other: Self) -> Self:
        """Problem by problem, the result with the smaller objective."""
        mine = ~(other.objective < self.objective)  # also where the other one is not a number
        return replace(self.where(mine, other), n_iter=self.n_iter + other.n_iter)


def direct_result(points: Array, objective: Array) -> PreimageResult:
    """The result of a closed formula."""
    finite = np.isfinite(to_numpy(points)).all(axis=1) & np.isfinite(to_numpy(objective))
    reason = Reason.choose(finite, Reason.DIRECT, Reason.UNDEFINED)
    return PreimageResult(points, objective, np.zeros(len(reason), int), finite, reason)


@unwarned()
def values_at(target: Expansion, Z: Array) -> Array:
    """⟨ψⱼ, φ(zⱼ)⟩, the j-th row of Z against the j-th vector of `target`, shape (q,)."""
    xp = array_namespace(Z)
    tile = target.kernel.prepare(target.points).tiles(Z)
    coefficients = target.coefficients

    def paired(rows: slice) -> Array:
        return xp.sum(tile(rows, slice(None)) * coefficients[:, rows].T, axis=1)

    return map_rows(paired, range(Z.shape[0]), device_of=Z)


@gives_finite_numbers()
def objective_at(target: Expansion, Z: Array) -> Array:
    """ρⱼ(zⱼ) = ‖φ(zⱼ) − ψⱼ‖², the j-th row of Z against the j-th vector of `target`, shape (q,).

    Parameters
    ----------
    target : Expansion
        The vectors Ψ, one per problem.
    Z : array of shape (q, d)
        One input per vector.

    Returns
    -------
    array of shape (q,)
        The squared distances, never negative for a positive semidefinite kernel.

    See Also
    --------
    PreimageResult : Has these values as `objective`.
    preimage.feature_space.Expansion.squared_distances : The distances of all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import objective_at
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0], [1.0]]), np.eye(2))
    >>> objective_at(target, np.array([[0.0], [2.0]])).round(4)
    array([0.    , 1.2642])
    """
    return target.kernel.diagonal(Z) - 2 * values_at(target, Z) + target.squared_norms()


class Preimage(BaseEstimator, ABC):
    """A solver that finds inputs for points of a subspace of feature space.

    A solver is a value: parameters in, never changed afterwards.

    Estimators call `fit` once, with the training inputs, and `inverse` for every question.

    See Also
    --------
    TargetSolver : Solvers of any vector, of which a subclass writes one method.
    preimage.testing.check_preimage_solver : Whether a new solver keeps the contract.
    Auto : The solver that estimators use unless told otherwise.

    Examples
    --------
    Every estimator with pre-images takes a solver:

    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.solvers import FixedPoint, Preimage
    >>> isinstance(FixedPoint(), Preimage)
    True
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> KernelPCA(2, gamma=0.1, preimage=FixedPoint(penalty=0.01)).fit(X).denoise(X[:3]).shape
    (3, 2)
    """

    _parameter_constraints: dict = {}

    #: Whether `fit` looks at the training inputs.
    learns = False

    def fit(self, subspace: Subspace, X: Array) -> "Preimage":
        """The solver with what it learns from the training inputs X; itself when it learns nothing."""
        return self

    def ready(self, subspace: Subspace, *, with_start: bool) -> "Preimage":
        """A solver for coordinates in `subspace` alone, with as little data as that takes: it travels to workers."""
        return self

    def for_vectors(self, kernel: Kernel) -> "Preimage":
        """The solver for vectors of feature space outside any subspace: itself, unless the kernel decides."""
        return self

    @abstractmethod
    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        """Inputs whose images are near the points of `subspace` with coordinates Y.

        Parameters
        ----------
        subspace : Subspace
        Y : array of shape (q, k)
        start : array of shape (q, d), optional
            Where to start, and the points to which penalties measure distances: the noisy inputs, in denoising.

        Returns
        -------
        PreimageResult
        """


class TargetSolver(Preimage):
    """A solver for any target Ψ = Σ αᵢ φ(xᵢ), whether or not it lies in a subspace.

    A subclass writes `solve`; questions in coordinates of a subspace follow from it.

    See Also
    --------
    Preimage : The interface in coordinates.
    minimize_rows : Minimises one objective per row, for solvers that descend.
    preimage.testing.check_preimage_solver : Whether a new solver keeps the contract.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import FixedPoint, TargetSolver
    >>> isinstance(FixedPoint(), TargetSolver)
    True
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0], [1.0]]), np.array([[0.9], [0.1]]))
    >>> FixedPoint().solve(target).points.round(3)
    array([[0.043]])
    """

    @abstractmethod
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        """Inputs whose images are near the vectors of `target`, one problem per vector.

        Parameters
        ----------
        target : Expansion of q vectors
        start : array of shape (q, d), optional
            Defaults to the point of `target` with the smallest distance ρ.
        anchor : array of shape (q, d), optional
            The points to which penalties measure distances; the start, by default.

        Returns
        -------
        PreimageResult
        """

    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        start = nearest_in_subspace(subspace, Y) if start is None else start
        # Targets have as many coefficients as there are training points: not all of them at once.
        results = []
        with stage("Finding pre-images", Y.shape[0]) as advance:
            for part in target_parts(Y, subspace.frame.points):
                results.append(self.solve(subspace.embed(Y[part, :]), start[part, :]))
                advance(part.stop - part.start)
        return PreimageResult.join(results)


class DescentSolver(TargetSolver):
    """A solver that forms the coefficients of its targets block by block, so that many targets take little memory."""

    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        return self._descend(GivenTargets(target), start, anchor)

    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        return self._descend(EmbeddedTargets.of(subspace, Y), start, None)

    @abstractmethod
    def _descend(self, targets: Targets, start: Array | None, anchor: Array | None) -> PreimageResult:
        """As `solve`, for targets of either kind."""


def about_origin(solve: Callable[..., PreimageResult]) -> Callable[..., PreimageResult]:
    """Let a solver see the kernel l on inputs x − c instead of k(x, y) = l(x − c, y − c), and move its results back.

    Decorates `TargetSolver.solve` and `DescentSolver._descend`. Distances between inputs, and penalties made of them,
    do not change with the move. Bounds would have to move as well and could be missed by a rounding error when points
    are moved back: solvers that have bounds use the kernel unchanged.
    """

    @wraps(solve)
    def solve_about_origin(
        self: TargetSolver, target: Any, start: Array | None = None, anchor: Array | None = None
    ) -> PreimageResult:
        kernel, origin = target.kernel.unshifted()
        bounded = getattr(self, "lower", None) is not None or getattr(self, "upper", None) is not None
        if origin is None or bounded:
            return solve(self, target, start, anchor)
        origin = from_numpy(origin, target.points)
        move = lambda rows: None if rows is None else to_dense(rows) - origin
        moved = target.moved(kernel, origin) if isinstance(target, Targets) else moved_vectors(target, kernel, origin)
        result = solve(self, moved, move(start), move(anchor))
        return replace(result, points=result.points + origin)

    return solve_about_origin
