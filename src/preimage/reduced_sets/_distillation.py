"""Distillation: the same function values, on few points."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone

from preimage._engine.arrays import array_namespace, as_points, epsilon, take_rows, to_dense, to_device_of, to_numpy
from preimage._engine.rows import cut, for_blocks
from preimage._engine.threads import at_most
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import minimize_set
from preimage.feature_space import Expansion, Gram
from preimage.reduced_sets._construction import Construct
from preimage.reduced_sets._reducer import (
    WIDTHS,
    Reducer,
    Reduction,
    check_n_points,
    finite_reduction,
    solve_ridge,
    with_own_columns,
)

# Ridge of the least squares problem, relative to its mean diagonal: points may coincide. Normal equations have squared
# singular values, so that this is the square of a rounding error of 1e-5; with ten times more, fits of many points lose
# visible accuracy.
RIDGE = 1e-10
# Rows of data that are worked on together: a few MiB of kernel values with a thousand points. With half as many, calls
# of NumPy take as long as their work on fifty points, and two threads are no faster than one.
BLOCK = 1024
# Threads at most, and kernel values that each must have: evaluations take some milliseconds, and more threads wait for
# the interpreter lock. Measured on sixteen cores with 2,000 rows and fifty points: two threads were 1.3 times as fast
# as one in some runs and slower in others.
MOST_THREADS = 4
VALUES_PER_THREAD = 200_000
# The number of the piece of work that is no block of data.
PENALTY = -1


class Distill(Reducer):
    r"""Points and coefficients that give the same function values on given data.

    .. math:: \frac{\sum_i \| f(x_i) - \sum_j \beta_j k(z_j, x_i) - b \|^2}{\sum_i \| f(x_i) - \bar f \|^2}
              + \mu \frac{\sum_c \|\Psi_c - \Psi'_c\|^2}{\sum_c \|\Psi_c\|^2} \;\to\; \min

    over points, coefficients and constants together, for all functions of a machine at once (R24). The norm of feature
    space, which the other reducers use, weighs all directions alike; predictions only need those where there are data
    [1]_. A little of it keeps the functions together between the data as well: without it (μ = 0) the fit on 5,000
    digits was half as good on others. Coefficients and constants are eliminated by least squares, points move by
    L-BFGS. The inputs need no labels.

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
        "start": [Reducer, None],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "max_samples": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "widths": WIDTHS,
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

    @finite_reduction
    def reduce(
        self, target: Expansion, n_points: int, *, X: Array | None = None, rng: np.random.Generator | None = None
    ) -> Reduction:
        check_parameters(self)
        check_n_points(n_points)
        target.kernel.require_gradient("Distill")
        given = target.merged()
        target = self._prepared(given)
        X = as_points(given.inputs) if X is None else to_device_of(X, target.coefficients)
        if self.max_samples is not None and X.shape[0] > self.max_samples:
            rng = np.random.default_rng(0) if rng is None else rng
            X = take_rows(X, np.sort(rng.choice(X.shape[0], self.max_samples, replace=False)))
        if self.widths == "free" and self.start is None:
            return self._better_of_two(given, n_points, X, rng)
        first = self._first_points(given, min(n_points, target.points.shape[0]), X, rng)
        if first.shape[1] < target.points.shape[1]:
            first = with_own_columns(target.kernel, first)
        loss = _FunctionLoss(target, X, self.penalty)
        with at_most(max(1, min(X.shape[0] * first.shape[0] // VALUES_PER_THREAD, MOST_THREADS))):
            points, converged, reason, steps = minimize_set(
                loss, as_points(to_dense(first)), target.kernel, tol=self.tol, max_iter=self.max_iter
            )
        coefficients, shift = loss.fit(points)
        return Reduction(Expansion(target.kernel, points, coefficients), shift, converged, reason, steps)

    def _better_of_two(self, target: Expansion, n_points: int, X: Array, rng: np.random.Generator | None) -> Reduction:
        """Free widths from constructed points, or from where fixed widths end, so that free ones are never worse."""
        fixed = clone(self).set_params(widths="fixed", max_samples=None)
        starts = Construct(n_starts=1, tol=1e-2, widths="free"), fixed
        whole = clone(self).set_params(max_samples=None)
        found = [whole.set_params(start=each).reduce(target, n_points, X=X, rng=rng) for each in starts]
        loss = _FunctionLoss(self._prepared(target), X, self.penalty)
        return min(found, key=lambda each: loss(each.expansion.points)[0])

    def _first_points(self, target: Expansion, n_points: int, X: Array, rng: np.random.Generator | None) -> Array:
        if self.start is not None:
            return self.start.reduce(target, n_points, X=X, rng=rng).expansion.points
        if target.kernel.is_positive_semidefinite:
            return Construct(n_starts=1, tol=1e-2).reduce(target, n_points).expansion.points
        xp = array_namespace(target.coefficients)
        sizes = to_numpy(xp.sum(target.coefficients**2, axis=1))
        return take_rows(target.points, np.argsort(-sizes, kind="stable")[:n_points])


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
            if number == PENALTY:
                inside = self.kernel.gradient(Z, Z, fit.beta @ fit.beta.T) - fit.contracted(fit.beta @ self.alpha.T)
                return self.penalty * inside
            values, contracted = fit.blocks[number]
            residual = (values.T @ fit.beta) - fit.level - self.centered[self.blocks[number], :]
            return contracted(fit.beta @ residual.T)

        gradient = sum(for_blocks(gradient_of_block, self._pieces(), self.centered))
        return fit.value, (2 / self.total) * gradient

    def fit(self, Z: Array) -> tuple[Array, Array]:
        """Coefficients and constants for the points Z."""
        fit = self._fit(Z)
        return fit.beta, self.mean - fit.level

    def _pieces(self) -> list[int]:
        """What threads work on: blocks of data, and at last the norm of feature space."""
        return [*range(len(self.blocks)), *([PENALTY] if self.penalty else [])]

    def _fit(self, Z: Array) -> "_Fit":
        xp = array_namespace(self.centered)

        def sums_of_block(number: int) -> Any:
            if number == PENALTY:
                values, contracted = self.at_target.with_gradient(Z)
                return contracted, Gram(self.kernel, Z).dense(), values @ self.alpha
            values, contracted = self.prepared[number].with_gradient(Z)  # (points, rows of the block)
            products = values @ self.centered[self.blocks[number], :]
            return (values, contracted), values @ values.T, xp.sum(values, axis=1), products

        sums = for_blocks(sums_of_block, self._pieces(), self.centered)
        inside = sums.pop() if self.penalty else None
        blocks, squares, totals, products = zip(*sums, strict=True)
        square, mean = sum(squares), sum(totals) / self.n
        # The mean is subtracted from V afterwards: V Vᵀ = Σ k kᵀ − n k̄ k̄ᵀ; F is centred, so V F = Σ k fᵀ.
        normal = square - self.n * mean[:, None] * mean[None, :]
        right_side, contracted = sum(products), None
        if inside is not None:
            contracted, gram, values = inside
            normal, right_side = normal + self.penalty * gram, right_side + self.penalty * values
        # Where functions hardly vary, the difference above leaves the rounding errors of the squares.
        noise = epsilon(square.dtype) * float(xp.linalg.trace(square))
        ridge = max(RIDGE * float(xp.linalg.trace(normal)), noise) / Z.shape[0] or 1.0
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
