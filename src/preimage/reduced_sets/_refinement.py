"""All points and coefficients together, in the norm of feature space or by values on data; and reducers by name."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone

from preimage._engine.arrays import array_namespace, as_points, epsilon, take_rows, to_dense, to_device_of, to_numpy
from preimage._engine.rows import cut, for_blocks
from preimage._engine.threads import at_most, small_matrices
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import Reason, minimize_set
from preimage.feature_space import Expansion, Gram
from preimage.reduced_sets._construction import Construct
from preimage.reduced_sets._reducer import (
    WIDTHS,
    Reducer,
    Reduction,
    check_n_points,
    comparable,
    finite_reduction,
    project,
    solve_ridge,
    squared_error,
)


class _MovedPoints(Reducer):
    """A reducer that moves all points together, from where another reducer ends."""

    _parameter_constraints = {
        "start": [Reducer, None],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "widths": WIDTHS,
    }
    start: Reducer | None
    max_iter: int
    tol: float

    #: The start if none is given.
    _constructor: Construct

    @finite_reduction
    def reduce(
        self, target: Expansion, n_points: int, *, X: Array | None = None, rng: np.random.Generator | None = None
    ) -> Reduction:
        check_parameters(self)
        check_n_points(n_points)
        target.kernel.require_gradient(type(self).__name__)
        merged = target.merged()
        X, target = self._rows(merged, X, rng), self._prepared(merged)
        loss = self._loss(target, X)
        if self.widths == "free" and self.start is None:
            # The second begins where fixed widths end, so that free ones are never worse.
            starts = clone(self._constructor).set_params(widths="free"), clone(self).set_params(widths="fixed")
            found = [clone(self).set_params(start=each).reduce(merged, n_points, X=X, rng=rng) for each in starts]
            return min(found, key=lambda each: loss(each.expansion.points)[0])
        first = comparable(self._first(merged, n_points, X, rng), target)
        with loss.threads(first.points.shape[0]):
            points, converged, reason, steps = minimize_set(
                loss, as_points(to_dense(first.points)), target.kernel, tol=self.tol, max_iter=self.max_iter
            )
        best, shift = loss.reduced(points, first)
        return Reduction(best, shift, converged, Reason.NO_DESCENT if best is first else reason, steps)

    def _rows(self, target: Expansion, X: Array | None, rng: np.random.Generator | None) -> Array | None:
        """The data that the objective looks at."""
        return X

    def _first(self, target: Expansion, n_points: int, X: Array | None, rng: np.random.Generator | None) -> Expansion:
        start = self._constructor if self.start is None else self.start
        return start.reduce(target, n_points, X=X, rng=rng).expansion

    @abstractmethod
    def _loss(self, target: Expansion, X: Any) -> Any:
        """What is minimised: a function of points with `threads` and `reduced`."""


# Ridge on the coefficients during the descent, relative to k(z, z): it bounds them where points meet. With ten times
# more, sets of close points end with visibly larger errors; without any, the normal equations become singular.
RIDGE = 1e-8


class Refine(_MovedPoints):
    r"""All points moved at once, :math:`E = \sum_c \|\Psi_c - \sum_j \beta_{jc} \varphi(z_j)\|^2 \to \min`.

    Coefficients are eliminated by projection (R2), so that the descent is over points alone (variable projection):
    with :math:`\beta` optimal, the gradient of the rest is (R19). Starts where another reducer ends, and never ends
    with a larger error.

    Parameters
    ----------
    start : Reducer or None, default=None
        Gives the first points; None is `Construct()`. With free widths None is the better end of two descents: from
        `Construct(widths="free")`, and from what fixed widths end with.
    max_iter : int, default=150
        Steps of L-BFGS.
    tol : float, default=1e-5
        Stop when a step is shorter than this fraction of the size of the set of points.
    widths : {"fixed", "free"}, default="fixed"
        Whether each point gets a Gaussian of its own width, as in `Construct`.

    See Also
    --------
    Construct : Gives the first points.
    Distill : Looks at function values on data instead.
    relative_error : What is minimised, relative to the target.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced_sets import Refine, Select, relative_error
    >>> rng = np.random.default_rng(0)
    >>> target = Expansion(Gaussian(0.5), rng.normal(size=(50, 2)), rng.normal(size=(50, 1)))
    >>> selected, refined = Select().reduce(target, 8), Refine(Select()).reduce(target, 8)
    >>> relative_error(target, refined.expansion) < relative_error(target, selected.expansion)
    True
    """

    def __init__(
        self, start: Reducer | None = None, max_iter: int = 150, tol: float = 1e-5, widths: str = "fixed"
    ) -> None:
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.widths = widths

    _constructor = Construct()

    def _loss(self, target: Expansion, X: Any) -> "_ProjectionError":
        return _ProjectionError(target)


class _ProjectionError:
    """E(Z)/‖Ψ‖² with the best coefficients for Z, and its gradient."""

    def __init__(self, target: Expansion) -> None:
        xp = array_namespace(target.coefficients)
        self.target = target
        self.prepared = target.kernel.prepare(target.points)
        self.norm = float(xp.sum(target.squared_norms())) or 1.0

    def __call__(self, Z: Array) -> tuple[float, Array]:
        kernel, alpha = self.target.kernel, self.target.coefficients
        xp = array_namespace(Z)
        values, contracted = self.prepared.with_gradient(Z)
        inner = values @ alpha  # ⟨Ψ_c, φ(zⱼ)⟩
        gram = Gram(kernel, Z).dense()
        diagonal = xp.linalg.diagonal(gram)
        beta = solve_ridge(gram, RIDGE * xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal)), inner)
        error = 1 - float(xp.sum(beta * inner)) / self.norm
        # (R19). The error is stationary in β, so β is held fixed (the envelope theorem).
        gradient = kernel.gradient(Z, Z, beta @ beta.T) - contracted(beta @ alpha.T)
        return error, (2 / self.norm) * gradient

    def threads(self, n_points: int) -> AbstractContextManager[None]:
        """The threads that work on so many points."""
        return small_matrices()

    def reduced(self, points: Array, first: Expansion) -> tuple[Expansion, None]:
        """The expansion on the points; the first one where the ridge of the descent costs more than was gained."""
        refined = project(self.target, points)
        return first if squared_error(self.target, refined) > squared_error(self.target, first) else refined, None


# Ridge of the least squares problem, relative to its mean diagonal: points may coincide. Normal equations have squared
# singular values, so that this is the square of a rounding error of 1e-5; with ten times more, fits of many points lose
# visible accuracy.
VALUES_RIDGE = 1e-10
# Rows of data that are worked on together: a few MiB of kernel values with a thousand points. With half as many, calls
# of NumPy take as long as their work on fifty points, and two threads are no faster than one.
BLOCK = 1024
# Threads at most, and kernel values that each must have: evaluations take some milliseconds, and more threads wait for
# the interpreter lock. Measured on sixteen cores with 2,000 rows and fifty points: two threads were 1.3 times as fast
# as one in some runs and slower in others.
MOST_THREADS = 4
VALUES_PER_THREAD = 200_000


class Distill(_MovedPoints):
    r"""Points and coefficients that give the same function values on given data.

    .. math:: \frac{\sum_i \| f(x_i) - \sum_j \beta_j k(z_j, x_i) - b \|^2}{\sum_i \| f(x_i) - \bar f \|^2}
              + \mu \frac{\sum_c \|\Psi_c - \Psi'_c\|^2}{\sum_c \|\Psi_c\|^2} \;\to\; \min

    over points, coefficients and constants together, for all functions of a machine at once (R24). The norm of feature
    space, which the other reducers use, weighs all directions alike; predictions only need those where there are data
    [1]_. A small weight μ of this norm keeps the functions close between the data as well; with μ = 0 the fit on
    5,000 digits is half as good on other digits. Coefficients and constants are eliminated by least squares, points
    move by L-BFGS. The inputs need no labels.

    Parameters
    ----------
    start : Reducer or None, default=None
        Gives the first points; None is `Construct` with one quick search for each. With free widths None is the better
        end of two descents: from `Construct(widths="free")`, and from what fixed widths end with.
    penalty : float, default=0.01
        μ ≥ 0, the weight of the norm of feature space relative to function values. Indefinite kernels have no such
        norm; for them μ is zero.
    max_samples : int or None, default=20000
        Largest number of rows of X to use, drawn at random; None uses all.
    max_iter : int, default=120
        Steps of L-BFGS.
    tol : float, default=1e-5
        Stop when a step is shorter than this fraction of the size of the set of points.
    widths : {"fixed", "free"}, default="fixed"
        Whether each point gets a Gaussian of its own width, as in `Construct`.

    See Also
    --------
    Refine : Minimises the distance in feature space, without data.
    preimage.compress : Uses it where data are given.
    preimage.plotting.CompressionDisplay : Errors against the number of points.

    References
    ----------
    .. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
       Networks 10, 1999, section VII.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced_sets import Distill
    >>> rng = np.random.default_rng(0)
    >>> target = Expansion(Gaussian(0.5), rng.normal(size=(50, 2)), rng.normal(size=(50, 1)))
    >>> X = rng.normal(size=(200, 2))
    >>> small = Distill().reduce(target, 10, X=X)
    >>> error = small.expansion(X) + small.shift - target(X)
    >>> bool(np.mean(error**2) < 0.01 * np.var(target(X)))
    True
    """

    _parameter_constraints = {
        **_MovedPoints._parameter_constraints,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "max_samples": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        start: Reducer | None = None,
        penalty: float = 1e-2,
        max_samples: int | None = 20_000,
        max_iter: int = 120,
        tol: float = 1e-5,
        widths: str = "fixed",
    ) -> None:
        self.start = start
        self.penalty = penalty
        self.max_samples = max_samples
        self.max_iter = max_iter
        self.tol = tol
        self.widths = widths

    _constructor = Construct(n_starts=1)

    def _rows(self, target: Expansion, X: Array | None, rng: np.random.Generator | None) -> Array:
        X = as_points(target.inputs) if X is None else to_device_of(X, target.coefficients)
        if self.max_samples is None or X.shape[0] <= self.max_samples:
            return X
        rng = np.random.default_rng(0) if rng is None else rng
        return take_rows(X, np.sort(rng.choice(X.shape[0], self.max_samples, replace=False)))

    def _first(self, target: Expansion, n_points: int, X: Array | None, rng: np.random.Generator | None) -> Expansion:
        if self.start is not None or target.kernel.is_positive_semidefinite:
            return super()._first(target, n_points, X, rng)
        sizes = to_numpy(array_namespace(target.coefficients).sum(target.coefficients**2, axis=1))
        largest = np.argsort(-sizes, kind="stable")[:n_points]
        points, coefficients = take_rows(target.points, largest), take_rows(target.coefficients, largest)
        return Expansion(target.kernel, points, coefficients)

    def _loss(self, target: Expansion, X: Any) -> "_FunctionLoss":
        return _FunctionLoss(target, X, self.penalty)


class _FunctionLoss:
    """The objective of `Distill` with the best coefficients for given points, relative to its value without points.

    Coefficients β and constants are eliminated by least squares. With kernel values V of the points at the data,
    centred over the data, and the centred functions F, the normal equations are

        (V Vᵀ + μ K^z) β = V F + μ K^zx α,

    and the objective is 1 − tr βᵀ(V F + μ K^zx α) / tr FᵀF, up to a constant.
    """

    def __init__(self, target: Expansion, X: Array, penalty: float) -> None:
        values = target(X)
        xp = array_namespace(values)
        self.kernel = target.kernel
        self.mean = xp.mean(values, axis=0)
        self.centered = values - self.mean
        self.total = float(xp.sum(self.centered**2)) or 1.0
        norm = float(xp.sum(xp.abs(target.squared_norms()))) or 1.0
        self.penalty = float(penalty) * self.total / norm if self.kernel.is_positive_semidefinite else 0.0
        self.alpha, self.at_target = target.coefficients, self.kernel.prepare(target.points)
        self.n = X.shape[0]
        self.blocks = cut(self.n, BLOCK)
        self.prepared = [self.kernel.prepare(X[block, :]) for block in self.blocks]

    def __call__(self, Z: Array) -> tuple[float, Array]:
        """The objective and its gradient; β may be held fixed, because the objective is stationary in it."""
        fit = self._fit(Z)

        def gradient_of_block(number: int) -> Array:
            values, contracted = fit.blocks[number]
            residual = (values.T @ fit.beta) - fit.level - self.centered[self.blocks[number], :]
            return contracted(fit.beta @ residual.T)

        gradient = sum(for_blocks(gradient_of_block, range(len(self.blocks)), self.centered))
        if self.penalty:
            inside = self.kernel.gradient(Z, Z, fit.beta @ fit.beta.T) - fit.contracted(fit.beta @ self.alpha.T)
            gradient = gradient + self.penalty * inside
        return fit.value, (2 / self.total) * gradient

    def threads(self, n_points: int) -> AbstractContextManager[None]:
        """The threads that work on so many points."""
        return at_most(max(1, min(self.n * n_points // VALUES_PER_THREAD, MOST_THREADS)))

    def reduced(self, Z: Array, first: Expansion | None = None) -> tuple[Expansion, Array]:
        """The expansion on the points Z, and constants."""
        fit = self._fit(Z)
        return Expansion(self.kernel, Z, fit.beta), self.mean - fit.level

    def _fit(self, Z: Array) -> "_Fit":
        xp = array_namespace(self.centered)

        def sums_of_block(number: int) -> Any:
            values, contracted = self.prepared[number].with_gradient(Z)  # (points, rows of the block)
            products = values @ self.centered[self.blocks[number], :]
            return (values, contracted), values @ values.T, xp.sum(values, axis=1), products

        sums = for_blocks(sums_of_block, range(len(self.blocks)), self.centered)
        blocks, squares, totals, products = zip(*sums, strict=True)
        square, mean = sum(squares), sum(totals) / self.n
        # The mean is subtracted from V afterwards: V Vᵀ = Σ k kᵀ − n k̄ k̄ᵀ; F is centred, so V F = Σ k fᵀ.
        normal = square - self.n * mean[:, None] * mean[None, :]
        right_side, contracted = sum(products), None
        if self.penalty:
            values, contracted = self.at_target.with_gradient(Z)
            normal = normal + self.penalty * Gram(self.kernel, Z).dense()
            right_side = right_side + self.penalty * (values @ self.alpha)
        # Where functions hardly vary, the difference above leaves the rounding errors of the squares.
        noise = epsilon(square.dtype) * float(xp.linalg.trace(square))
        ridge = max(VALUES_RIDGE * float(xp.linalg.trace(normal)), noise) / Z.shape[0] or 1.0
        beta = solve_ridge(normal, ridge, right_side)
        value = 1 - float(xp.sum(beta * right_side)) / self.total
        return _Fit(blocks, contracted, beta, mean @ beta, value)


@dataclass(frozen=True)
class _Fit:
    """The least squares solution for given points.

    Attributes
    ----------
    blocks : kernel values and contracted gradient of each block of data
    contracted : contracted gradient at the points of the target; None without a penalty
    beta : coefficients
    level : mean value of the functions with these coefficients over the data, one per function
    value : the objective
    """

    blocks: Sequence[tuple[Array, Callable]]
    contracted: Any
    beta: Array
    level: Array
    value: float
