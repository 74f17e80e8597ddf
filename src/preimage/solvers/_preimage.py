"""What every pre-image solver can do, and the distances that it reports."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import array_namespace, from_numpy, is_objects, to_dense, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage.descent import PreimageResult, Reason, target_parts
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel
from preimage.solvers._nearest_image import NearestImage, nearest_in_subspace


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

    #: Whether inputs may be objects, which cannot be moved or averaged.
    takes_objects: Any = False

    def fit(self, subspace: Subspace, X: Array) -> "Preimage":
        """The solver with what it learns from the training inputs X; itself when it learns nothing."""
        return self

    def require_inputs_like(self, points: Array) -> None:
        """Raise if the points of a model are objects and this solver moves points."""
        if is_objects(points) and not self.takes_objects:
            raise UnsupportedKernelError(
                f"{self!r} finds pre-images by arithmetic on rows of numbers; the rows are objects here. Use "
                "preimage='nearest', which 'auto' means for objects: the nearest training row. "
                "NearestRow(candidates=..., variants=...) chooses among others."
            )

    def ready(self, subspace: Subspace, *, with_start: bool) -> "Preimage":
        """A solver for coordinates in `subspace` alone, with as little data as that takes: it travels to workers."""
        return self

    def for_vectors(self, kernel: Kernel, points: Array | None = None) -> "Preimage":
        """The solver for vectors of feature space outside any subspace: itself, unless kernel or points decide."""
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

    def _reconstruct(self, subspace: Subspace, Y: Array) -> Array | None:
        """The points of ``inverse(subspace, Y)`` alone, from solvers that need nothing else for them; None from others.

        Parameters
        ----------
        subspace : Subspace
        Y : array of shape (q, k)

        Returns
        -------
        array of shape (q, d), or None
        """
        return None


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
        return self._descend(NearestImage.of_vectors(target), start, anchor)

    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        return self._descend(NearestImage.of_coordinates(subspace, Y), start, None)

    @abstractmethod
    def _descend(self, problem: NearestImage, start: Array | None, anchor: Array | None) -> PreimageResult:
        """As `solve`, for vectors of either kind."""


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
        if isinstance(target, NearestImage):
            moved: Any = target.moved(kernel, origin)
        else:
            moved = Expansion(kernel, move(target.points), target.coefficients, squared_norms=target.squared_norms())
        result = solve(self, moved, move(start), move(anchor))
        return replace(result, points=result.points + origin)

    return solve_about_origin
