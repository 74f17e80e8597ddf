"""Values with one row per problem, the reasons for which problems stop, and the result of a descent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

import array_api_compat.numpy
import numpy as np

from preimage._engine.arrays import array_namespace, concat_rows, take_rows, to_numpy
from preimage._engine.typing import Array


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
