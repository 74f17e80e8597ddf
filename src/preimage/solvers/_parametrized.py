"""Pre-images within a family of inputs: the parameters whose member has the nearest image."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral, Real

import numpy as np
from scipy.spatial import cKDTree

from preimage._engine.arrays import from_numpy, to_dense, to_numpy, transposed
from preimage._engine.rows import cut
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage._engine.warnings import unwarned
from preimage.descent import (
    Box,
    Evaluation,
    Objective,
    PreimageResult,
    QuasiNewton,
    Reason,
    minimize_rows,
    spread,
)
from preimage.feature_space import Expansion, Subspace
from preimage.solvers._distance import TargetObjective, distance_model
from preimage.solvers._families import MOST_SIDES, Family, check_family, difference, members
from preimage.solvers._nearest_image import nearest_points
from preimage.solvers._preimage import TargetSolver, objective_at

# Starts whose inputs are computed together: a few MiB of images of a thousand pixels.
BLOCK = 1024


@dataclass(frozen=True)
class ParametrizedResult(PreimageResult):
    """Pre-images within a family, with their parameters.

    Attributes
    ----------
    points, objective, n_iter, converged, reason
        As of `PreimageResult`.
    parameters : array of shape (q, p), in NumPy
        The t of every pre-image z = g(t).

    See Also
    --------
    Parametrized : The solver that returns it.
    PreimageResult : The result of other solvers.

    Examples
    --------
    The point of a circle whose image is nearest to that of (2, 2), and its angle:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import FunctionFamily, Parametrized
    >>> circle = FunctionFamily(lambda T: np.column_stack([np.cos(T), np.sin(T)]), 1, lower=0.0, upper=2 * np.pi)
    >>> target = Expansion(Gaussian(0.5), np.array([[2.0, 2.0]]), np.array([[1.0]]))
    >>> Parametrized(circle).solve(target).parameters.round(3)
    array([[0.785]])
    """

    parameters: np.ndarray


class Parametrized(TargetSolver):
    r"""Pre-images among the members of a family, :math:`z = g(t)`.

    Minimises :math:`\rho(g(t)) = \|\varphi(g(t)) - \Psi\|^2` over the parameters t: how far a picture is moved, weights
    of a mixture, or the arguments of any function [1]_. The result is always a member, with its parameters. The descent
    is L-BFGS in the parameters, with the chain rule of (P14) where the kernel has a gradient and differences where it
    has none. It begins at starts of the family that have nearer images than those around them, and at the
    member nearest to the training row with the nearest image. No result is farther than any of the starts, nor, for one
    or two parameters with bounds, than any member of a fine grid.

    A result has converged if all searches of its target have ended, the best of them by the stopping rule.

    Parameters
    ----------
    family : Family
        `Mixtures`, `Transformed`, or `FunctionFamily`.
    n_starts : int, default=3
        Searches for each target from the starts of the family, and one from the nearest training row.
    tol : float, default=1e-6
        Stop when a step moves the member by less than `tol` times the spread of the training points.
    max_iter : int, default=200
        Largest number of steps of a search.

    See Also
    --------
    Mixtures : Mixtures of templates.
    Transformed : Templates that are moved, turned or scaled.
    FunctionFamily : Any function of a few parameters.
    preimage.KernelPCA.find_preimages : Returns parameters together with the points.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
       Technical Report 44, Max-Planck-Institut für biologische Kybernetik, 1996, section 4.5.

    Examples
    --------
    How far a bump was moved, read off its projection on the principal components of moved bumps:

    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.solvers import FunctionFamily, Parametrized
    >>> bump = lambda T: np.exp(-((np.arange(30.0) - T) ** 2) / 10)
    >>> moved = FunctionFamily(bump, 1, lower=5.0, upper=25.0)
    >>> X = bump(np.linspace(5, 25, 40)[:, None])
    >>> kpca = KernelPCA(6, gamma=0.2, preimage=Parametrized(moved)).fit(X)
    >>> noisy = bump(np.array([[12.3]])) + 0.05 * np.random.default_rng(0).normal(size=(1, 30))
    >>> result = kpca.find_preimages(kpca.transform(noisy))
    >>> result.parameters.round(1), result.converged
    (array([[12.3]]), array([ True]))
    """

    _parameter_constraints = {
        "family": [Family],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, family: Family, n_starts: int = 3, tol: float = 1e-6, max_iter: int = 200) -> None:
        self.family = family
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, subspace: Subspace, X: Array) -> "Parametrized":
        """Itself; a family without members is refused before anything is asked of it."""
        check_family(self.family)
        return self

    @unwarned()
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> ParametrizedResult:
        """The nearest members of the family; the one nearest to a given start, in input space, is one of the starts."""
        check_parameters(self)
        check_family(self.family)
        search = _Search(self, target)
        begins = search.best_starts(self.n_starts)
        nearest = to_numpy(nearest_points(target)).astype(float)
        begins.append(search.nearest_members(nearest))
        given = nearest if start is None else to_numpy(to_dense(start)).astype(float)
        if not np.array_equal(given, nearest):
            begins.append(search.nearest_members(given))
        return _best_of([search.descend(begin) for begin in begins])


def _best_of(found: list[ParametrizedResult]) -> ParametrizedResult:
    """The nearest of several results for each target, which has converged only if no search was cut short."""
    best = reduce(lambda one, other: one.better_of(other), found)
    unfinished = np.any([each.reason == Reason.ITERATION_LIMIT for each in found], axis=0)
    reason = np.where(unfinished, Reason.array(len(unfinished), Reason.ITERATION_LIMIT), best.reason)
    return replace(best, converged=best.converged & ~unfinished, reason=reason)


class _Search:
    """The problems of all targets, in parameters that are scaled such that a step moves members by its length."""

    def __init__(self, solver: Parametrized, target: Expansion) -> None:
        self.solver, self.family, self.target = solver, solver.family, target
        self.d = target.inputs.shape[1]
        self.low, self.high = self.family.bounds()
        self.candidates = np.concatenate([self.family.starts(), self.family._fine_grid()])
        lengths = self._derivative_lengths()
        self.moves = (lengths > 0) & np.isfinite(lengths)
        self.scale = np.where(self.moves, lengths, 1.0)
        finite = lambda bound: None if np.all(np.isinf(bound)) else bound * self.scale
        self.box = Box(finite(self.low), finite(self.high))
        self.rule = QuasiNewton(spread(target.inputs), solver.tol)

    def best_starts(self, count: int) -> list[np.ndarray]:
        """For each target the starts with the nearest images, best first: arrays of shape (q, p).

        Those that are no worse than their neighbours come before all others: the best few starts of all would often
        lead to one and the same minimum.
        """
        distances = self._distances()
        is_lowest = np.ones(distances.shape, bool)
        for neighbors in self._neighbors():
            is_lowest &= distances <= distances[neighbors]
        order = np.lexsort((distances, ~is_lowest), axis=0)[:count]
        return [self.candidates[numbers] for numbers in order]

    def _distances(self) -> np.ndarray:
        """k(z, z) − 2ψ(z) of all starts for all targets, (m, q); infinity where there is no member."""
        target, values = self.target, []
        for T in self._blocks():
            Z = self.family(T)
            exists = np.isfinite(Z).all(axis=1, keepdims=True)
            rows = self._like(np.where(exists, Z, 0.0))
            here = to_numpy(target.kernel.diagonal(rows)[:, None] - 2 * target(rows))
            values.append(np.where(exists, here, np.inf))
        return np.concatenate(values)

    def _neighbors(self) -> np.ndarray:
        """Numbers of the starts next to each start, (4p + 1, m) with itself; no numbers in many dimensions."""
        varies = np.ptp(self.candidates, axis=0) > 0
        continuous = varies & self.moves
        p = int(continuous.sum())
        if not 0 < p <= MOST_SIDES:
            return np.empty((0, len(self.candidates)), int)
        places = self.candidates * self.scale
        # Numbers of templates are no distances: starts with another number are farther than all of the same.
        places[:, varies & ~self.moves] *= 1 + 10 * np.ptp(places[:, continuous], axis=0).sum()
        count = min(4 * p + 1, len(places))
        return cKDTree(places[:, varies]).query(places[:, varies], count)[1].reshape(len(places), count).T

    def nearest_members(self, X: np.ndarray) -> np.ndarray:
        """Parameters of the members nearest to the rows of X in input space, shape (q, p)."""
        squared = lambda Z: np.sum(Z**2, axis=1)[:, None] - 2 * Z @ X.T
        distances = np.concatenate([squared(members(self.family, T, self.d)) for T in self._blocks()])
        begin = self.candidates[np.argmin(np.where(np.isnan(distances), np.inf, distances), axis=0)]
        return self._minimized(begin, _InputDistance(X), np.asarray).points / self.scale

    def descend(self, begin: np.ndarray) -> ParametrizedResult:
        """The results of searches from the rows of `begin`."""
        target = self.target
        model = distance_model(target.kernel, target.points, values_alone=not target.kernel.has_gradient)
        anchor = self._like(np.zeros((len(target), self.d)))
        inner = TargetObjective.of(model, transposed(target.coefficients), anchor, 0.0)
        found = self._minimized(begin, inner, self._like)
        T = self.family.canonical(found.points / self.scale)
        points = self._like(members(self.family, T, self.d))
        # Where all kernel values vanish every step is too short to matter, and nothing was found.
        lost = to_numpy(inner.at(points).vanishes())
        reason = np.where(lost, Reason.array(len(lost), Reason.VANISHING), found.reason)
        converged = found.converged & ~lost
        return ParametrizedResult(points, objective_at(target, points), found.n_iter, converged, reason, T)

    def _minimized(self, begin: np.ndarray, inner: Objective, like: Callable[[np.ndarray], Array]) -> PreimageResult:
        objective = _InParameters(self.family, self.scale, inner, like)
        return minimize_rows(objective, begin * self.scale, self.box, self.rule, self.solver.max_iter)

    def _blocks(self) -> list[np.ndarray]:
        return [self.candidates[rows] for rows in cut(len(self.candidates), BLOCK)]

    def _like(self, values: np.ndarray) -> Array:
        """NumPy values in the library, precision and device of the target."""
        return from_numpy(values, self.target.coefficients)

    def _derivative_lengths(self) -> np.ndarray:
        """How far members move per unit of each parameter, the root mean square over some starts."""
        some = self.candidates[:: max(1, len(self.candidates) // 16)]
        members(self.family, some, self.d)  # whose shape and values are checked here
        derivatives = self.family.derivatives(some)
        for each in derivatives:
            if each.shape != (len(some), self.d) or not np.all(np.isfinite(each)):
                raise ValueError(
                    f"Derivatives of {type(self.family).__name__} must be finite numbers for each of {self.d} columns; "
                    f"at members that exist they have shape {each.shape}"
                    f"{'' if np.all(np.isfinite(each)) else ', with NaN or infinity'}. Correct `jacobian`, leave it "
                    "out, or give bounds within which the family is smooth."
                )
        return np.array([np.mean(np.sum(each**2, axis=1)) ** 0.5 for each in derivatives])


@dataclass(frozen=True)
class _InParameters(Objective):
    """An objective of members as one of scaled parameters, by the chain rule; by differences where it has no gradient.

    It works in NumPy and double precision, as families do; `like` makes arrays of the library of the objective.
    """

    family: Family
    scale: np.ndarray
    inner: Objective
    like: Callable[[np.ndarray], Array]

    def at(self, U: Array) -> Evaluation:
        T = U / self.scale
        # A long step may lead to parameters without members: infinitely bad, so that a shorter one is tried.
        exists = np.isfinite(T).all(axis=1)
        if not exists.all():
            T = np.where(exists[:, None], T, self.family.starts()[:1])
        Z = self.family(T)
        exists &= np.isfinite(Z).all(axis=1)
        here = self.inner.at(self.like(np.where(exists[:, None], Z, 0.0)))
        if here.gradient is None:
            value = lambda T: _plain(self.inner.at(self.like(self.family(T))).value)[:, None]
            family, bounds = self.family, self.family.bounds()
            parts = [difference(value, T, j, bounds, family.step) for j in range(family.n_parameters)]
            gradient = np.concatenate(parts, axis=1)
        else:
            gradient = self.family.contracted(T, _plain(here.gradient))
        gradient = np.where(np.isfinite(gradient), gradient, 0.0) / self.scale
        return Evaluation(np.where(exists, _plain(here.value), np.inf), gradient, _plain(here.noise))

    def take(self, rows: np.ndarray) -> "_InParameters":
        return replace(self, inner=self.inner.take(rows))


@dataclass(frozen=True)
class _InputDistance(Objective):
    """‖z − x‖², one x per row."""

    X: np.ndarray

    def at(self, Z: Array) -> Evaluation:
        difference = Z - self.X
        value = np.sum(difference**2, axis=1)
        return Evaluation(value, 2 * difference, 4 * np.finfo(float).eps * np.sum(Z**2 + self.X**2, axis=1))

    def take(self, rows: np.ndarray) -> "_InputDistance":
        return _InputDistance(self.X[rows])


def _plain(array: Array) -> np.ndarray:
    """A NumPy array in double precision."""
    return to_numpy(array).astype(float)
