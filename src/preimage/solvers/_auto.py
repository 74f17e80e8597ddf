"""Solvers made of others: the best answer to each question, the best of several starts; and solvers by name."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from preimage._engine.arrays import is_objects, take_rows, to_dense
from preimage._engine.removed import refuse_removed
from preimage._engine.typing import Array, Seed
from preimage._engine.validation import check_parameters, generator
from preimage.descent import PreimageResult, Reason
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel, Linear, Warped
from preimage.solvers._fixed_point import FixedPoint, has_fixed_point
from preimage.solvers._gradient import Gradient
from preimage.solvers._learned import LearnedMap
from preimage.solvers._nearest_image import beyond_reach, led_away, nearest_points
from preimage.solvers._nearest_row import NearestRow
from preimage.solvers._preimage import Preimage, TargetSolver


class Auto(Preimage):
    r"""Pre-images for every kernel that has inputs, by two solvers for two different questions.

    - *Projection*, when a start is given (`denoise`): which input near x has its image nearest to
      :math:`P\varphi(x)`? Minimises :math:`\rho(z) = \|\varphi(z) - \Psi\|^2` (P1) from x: `FixedPoint` where the
      kernel has a fixed point, `Gradient` where it has a gradient.
    - *Reconstruction*, without a start (`inverse_transform`): which input had these coordinates? The answer with the
      smallest expected error in input space is a regression of inputs on coordinates: `LearnedMap`. It is learned from
      the training rows at the first call, so that models that are never asked for one cost nothing.

    Where rows are objects, such as texts, both questions are answered by the nearest training row: `NearestRow`.

    A kernel without a gradient, such as a function, has both questions answered by the learned map; so have projections
    whose nearest image would lie far outside the data, as happens with indefinite kernels (the result's reason says
    so). For the linear kernel the nearest image answers both: it is the reconstruction of PCA.

    Parameters
    ----------
    projection : TargetSolver or None, default=None
        The solver for projections, such as ``FixedPoint(penalty=0.01)`` or ``Gradient(lower=0, upper=1)``; None
        decides by the kernel.

    See Also
    --------
    FixedPoint : The solver of projections under radial kernels.
    Gradient : The solver of projections under other kernels, and of boxes.
    LearnedMap : The solver of reconstructions.
    preimage.KernelPCA.denoise : Asks for projections.
    preimage.KernelPCA.inverse_transform : Asks for reconstructions.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> KernelPCA(2, kernel="laplacian").fit(X).preimage_
    Auto: reconstruction by LearnedMap(), projection by Gradient()
    """

    learns = True
    _parameter_constraints = {"projection": [TargetSolver, None]}

    def __init__(self, projection: TargetSolver | None = None) -> None:
        self.projection = projection

    @property
    def takes_objects(self) -> bool:
        return self.projection is None

    def fit(self, subspace: Subspace, X: Array) -> Preimage:
        check_parameters(self)
        if is_objects(subspace.frame.points):
            return NearestRow().fit(subspace, X)
        kernel, _ = subspace.frame.kernel.unshifted()
        projection, learned = self._nearest_image_solver(kernel), LearnedMap().postponed(subspace, X)
        if projection is None:
            return FittedAuto(learned, learned)
        return FittedAuto(projection if type(kernel) is Linear else learned, projection)

    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        raise ValueError("Auto learns from data: call `fit(subspace, X)` and use the solver it returns.")

    def for_vectors(self, kernel: Kernel, points: Array | None = None) -> Preimage:
        if is_objects(points):
            return NearestRow()
        return self._nearest_image_solver(kernel) or LearnedMap()

    def _nearest_image_solver(self, kernel: Kernel) -> TargetSolver | None:
        """The solver of (P1) that suits a kernel, or None for a kernel without a gradient."""
        kernel, _ = kernel.unshifted()
        if not kernel.has_gradient or self.projection is not None:
            return self.projection if kernel.has_gradient else None
        # Along a graph the fixed point changes with z and needs many steps; descent is faster there.
        return FixedPoint() if has_fixed_point(kernel) and not isinstance(kernel, Warped) else Gradient()


class FittedAuto(Preimage):
    """What `Auto` became for one model.

    Attributes
    ----------
    reconstruction : Preimage
        Answers without a start: `inverse_transform`.
    projection : Preimage
        Answers with a start: `denoise`, and walks.
    """

    def __init__(self, reconstruction: Preimage, projection: Preimage) -> None:
        self.reconstruction = reconstruction
        self.projection = projection

    def __repr__(self) -> str:
        name = lambda solver: repr(getattr(solver, "settings", solver))
        return f"Auto: reconstruction by {name(self.reconstruction)}, projection by {name(self.projection)}"

    def inverse(self, subspace: Subspace, Y: Array, start: Array | None = None) -> PreimageResult:
        if start is None:
            return self.reconstruction.inverse(subspace, Y)
        result = self.projection.inverse(subspace, Y, start)
        if self.reconstruction is self.projection or _stays_near(subspace.frame.kernel, self.projection):
            return result
        # Also for definite kernels: those of directions alone may have their nearest image at infinity.
        points, kernel = subspace.frame.points, subspace.frame.kernel
        far = beyond_reach(result.points, points, start)
        if not kernel.is_positive_semidefinite:
            far = np.union1d(far, led_away(result.points, points, start))
        lost = np.union1d(np.flatnonzero(result.reason == Reason.RESTRICTED), far)
        if not lost.size:
            return result
        # The nearest image is nowhere near the data: the expected input is the better answer (wine with noise of half a
        # deviation, sigmoid kernel, five components: squared error 0.23; at the edge of the data 4.0, PCA 0.30).
        learned = self.reconstruction.inverse(subspace, take_rows(Y, lost))
        return result.replaced(lost, replace(learned, reason=Reason.array(lost.size, Reason.LEARNED)))

    def _reconstruct(self, subspace: Subspace, Y: Array) -> Array | None:
        return self.reconstruction._reconstruct(subspace, Y)

    def ready(self, subspace: Subspace, *, with_start: bool) -> Preimage:
        if not with_start:
            return self.reconstruction.ready(subspace, with_start=False)
        if self.projection is self.reconstruction or _stays_near(subspace.frame.kernel, self.projection):
            return self.projection.ready(subspace, with_start=True)
        return FittedAuto(self.reconstruction.ready(subspace, with_start=False), self.projection)

    def for_vectors(self, kernel: Kernel, points: Array | None = None) -> Preimage:
        return self.projection.for_vectors(kernel, points)


def _stays_near(kernel: Kernel, solver: Preimage) -> bool:
    """Whether answers cannot lie far outside the data: the fixed point of a radial kernel is a mean of points."""
    kernel, _ = kernel.unshifted()
    return type(solver) is FixedPoint and kernel.is_positive_semidefinite and kernel.is_radial


KINDS = ("input", "nearest", "random")


class MultiStart(TargetSolver):
    """Run another solver from several starts and keep, for each target, the result with the smallest objective.

    The nearest image is not always the best denoised input: with narrow kernels and few components it can belong to
    another cluster than the noisy point. Denoise from "input" alone then, or with a small penalty.

    Parameters
    ----------
    solver : TargetSolver
        The solver to run.
    starts : tuple of str or solvers, default=("input", "nearest")
        "input" is the given start (the noisy point, in denoising), "nearest" the training point nearest in feature
        space, "random" a random training point. A solver among the starts
        means its answer. Names may be repeated.
    random_state : int, RandomState, Generator or None, default=0
        Seed of random starts.

    See Also
    --------
    FixedPoint : A solver that ends in the minimum next to its start.
    Gradient : The same for other kernels.
    WeightedMean : A start without iterations.

    Examples
    --------
    Two bumps of different height; from between them the nearest image is not found, from the nearest point it is:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import FixedPoint, MultiStart
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0], [4.0]]), np.array([[0.4], [0.6]]))
    >>> start = np.array([[0.5]])
    >>> FixedPoint().solve(target, start).points.round(2)
    array([[0.]])
    >>> MultiStart(FixedPoint()).solve(target, start).points.round(2)
    array([[4.]])
    """

    _parameter_constraints = {
        "solver": [TargetSolver],
        "starts": [tuple, list],
        "random_state": ["random_state", object],
    }

    def __init__(
        self,
        solver: TargetSolver,
        starts: Sequence[str | TargetSolver] = ("input", "nearest"),
        random_state: Seed = 0,
    ) -> None:
        self.solver = solver
        self.starts = starts
        self.random_state = random_state

    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        check_parameters(self)
        rng = generator(self.random_state)
        best = None
        for kind in self.starts:
            begin = self._start(kind, target, start, rng)
            if begin is None:
                continue
            result = self.solver.solve(target, begin, anchor=start if anchor is None else anchor)
            best = result if best is None else best.better_of(result)
        return self.solver.solve(target) if best is None else best

    def _start(
        self, kind: str | TargetSolver, target: Expansion, start: Array | None, rng: np.random.Generator
    ) -> Array | None:
        if isinstance(kind, TargetSolver):
            return kind.solve(target, start).points
        if kind == "input":
            return start
        if kind == "nearest":
            return nearest_points(target)
        if kind == "random":
            return to_dense(take_rows(target.inputs, rng.integers(target.points.shape[0], size=len(target))))
        refuse_removed("MultiStart", "starts", kind)
        raise ValueError(f"Unknown start {kind!r}; known: {', '.join(KINDS)}, or a solver.")
