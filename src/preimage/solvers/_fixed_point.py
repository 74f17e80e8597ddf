"""The fixed-point iteration of Schölkopf and Mika, made safe, penalised and batched."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon
from preimage._engine.rows import ThreadBuffer, cut
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import (
    WORK_OF_A_ROUGH_STEP,
    Batched,
    Box,
    Evaluation,
    Objective,
    PreimageResult,
    QuasiNewton,
    StepRule,
    Verdict,
    minimize_rows,
    spread,
    tile_rows,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Kernel, Warped
from preimage.kernels._profile import is_euclidean_profile
from preimage.solvers._nearest_image import NearestImage
from preimage.solvers._preimage import DescentSolver, about_origin

# A fixed-point step divides by a sum with terms of both signs. When cancellation leaves less than this fraction of the
# sum of moduli, the step divides by the sum of moduli instead, which also points downhill. At a tenth of the fraction
# single steps leave the data by many times its size; at ten times, half of all ordinary steps would be shortened.
CANCELLATION = 0.05
# Searches end when a step was halved 24 times in a row.
SMALLEST_STEP = 2.0**-24


def has_fixed_point(kernel: Kernel) -> bool:
    """Whether the papers' fixed points exist: profiles of the squared distance or inner product, warped or not."""
    return is_euclidean_profile(kernel.kernel if isinstance(kernel, Warped) else kernel)


class FixedPoint(DescentSolver):
    r"""Pre-images by a safeguarded fixed-point iteration.

    Minimises :math:`\rho(z) + \lambda \|z - x_0\|^2` with :math:`\rho(z) = k(z, z) - 2\psi(z) + \|\Psi\|^2` (P1). For
    radial kernels the iteration is a weighted mean of the training points [1]_, pulled towards the input :math:`x_0`
    by the penalty [2]_,

    .. math:: z \leftarrow \frac{-2\sum_i \alpha_i f'(\|x_i - z\|^2) x_i + \lambda x_0}
                                {-2\sum_i \alpha_i f'(\|x_i - z\|^2) + \lambda},

    and for dot-product kernels :math:`z \leftarrow (\sum_i \alpha_i f'(x_i \cdot z) x_i + \lambda x_0) /
    (f'(\|z\|^2) + \lambda)`. With coefficients of both signs the denominator can vanish and the plain iteration can
    diverge. Here a step is taken only if it lowers the objective, is halved otherwise, and follows the gradient where
    the denominator cancels; problems that start where the kernel vanishes start again from the nearest training
    point. All problems are iterated together, with two matrix products per step, and leave the batch when finished.

    Under a kernel that `Warped` fits to a graph the weights :math:`\alpha` are those of (W4), which change with z
    and have both signs: many steps are needed, and `Gradient` is faster.

    Parameters
    ----------
    penalty : float, default=0.0
        λ ≥ 0, the weight of the squared distance to the start (the noisy input, in denoising).
    tol : float, default=1e-6
        Stop when a step is shorter than `tol` times the spread of the training points.
    max_iter : int, default=500
        Largest number of steps.

    See Also
    --------
    Gradient : Any kernel with a gradient, and bounds on the inputs.
    MultiStart : The best of several starts.
    LearnedMap : A regression, faster, for reconstruction.
    preimage.KernelPCA.denoise : Uses this solver under a Gaussian kernel.

    References
    ----------
    .. [1] S. Mika et al., "Kernel PCA and de-noising in feature spaces",
       NIPS 11, 1999.
    .. [2] T. J. Abrahamsen, L. K. Hansen, "Regularized pre-image estimation for kernel PCA de-noising", J. Signal
       Processing Systems 65, 2011. Their λ and ours are the same.

    Examples
    --------
    The point between two equal Gaussian bumps that are close together:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import FixedPoint
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.5], [0.5]]))
    >>> FixedPoint(tol=1e-9).solve(target).points.round(6)
    array([[0.5, 0. ]])
    """

    _parameter_constraints = {
        "penalty": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, penalty: float = 0.0, tol: float = 1e-6, max_iter: int = 500) -> None:
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter

    @about_origin
    def _descend(self, problem: NearestImage, start: Array | None, anchor: Array | None) -> PreimageResult:
        check_parameters(self)
        if not has_fixed_point(problem.kernel):
            raise UnsupportedKernelError(
                f"FixedPoint needs a kernel of the squared distance or of the inner product; got {problem.kernel!r}. "
                "preimage='gradient' works with any kernel that has a gradient, 'learned' with any kernel, and 'auto' "
                "finds a way for each."
            )
        problem, size = problem.starting(start, anchor, self.penalty), spread(problem.points)
        rough = rough_steps(problem, size, self.tol) if self.max_iter > 2 * MOST_STEPS else None
        result = problem.solve(_FixedPointSteps(size, self.tol), Box(), self.max_iter, rough=rough)
        return problem.kept_near(result, QuasiNewton(size, self.tol), Box(), self.max_iter)


@dataclass(frozen=True)
class _FixedPointSteps(StepRule):
    """Steps to the fixed point, halved where they do not lower the objective and doubled again where they do.

    A row converges when the step to its fixed point is shorter than `tol · size`.
    """

    size: float
    tol: float

    def begin(self, here: Evaluation) -> "_State":
        return _State(array_namespace(here.value).ones_like(here.value), _FullStep.at(here))

    def propose(self, state: "_State", Z: Array, here: Evaluation, box: Box) -> Array:
        return box.clip(Z + state.length[:, None] * state.step.move)

    def judge(
        self,
        state: "_State",
        Z: Array,
        here: Evaluation,
        trial: Array,
        there: Evaluation,
        box: Box,
        open_rows: Array,
    ) -> Verdict:
        xp = array_namespace(Z)
        step, new_step = state.step, _FullStep.at(there)
        # Near the minimum, differences of the objective are lost in rounding long before differences of steps are: a
        # value that is no higher than rounding explains counts as better when the step became shorter.
        shorter = (there.value <= here.value + here.noise) & (new_step.squared < step.squared)
        better = ((there.value < here.value) | shorter) & open_rows
        converged = ~better & (step.gain <= here.noise)
        length = xp.where(better, xp.clip(2 * state.length, max=1.0), state.length / 2)
        following = _State(length, new_step.where(better, step))
        return Verdict(better, converged, state.length < SMALLEST_STEP, following)

    def at_rest(self, state: "_State", Z: Array) -> Array:
        return state.step.squared <= (max(float(self.tol), 16 * epsilon(Z.dtype)) * self.size) ** 2

    def settled(self, state: "_State", Z: Array, box: Box) -> Array:
        # The steps of a row at rest shorten by a constant factor: the last one improves it as those before did.
        xp = array_namespace(Z)
        last = xp.where(self.at_rest(state, Z), state.length, xp.zeros_like(state.length))
        return box.clip(Z + last[:, None] * state.step.move)


@dataclass(frozen=True)
class _FullStep(Batched):
    """The step to the fixed point, its squared length, and the decrease of the objective that it promises."""

    move: Array
    squared: Array
    gain: Array

    @classmethod
    def at(cls, here: Evaluation) -> "_FullStep":
        """−gradient/D, or with the sum of moduli for D where the terms of D cancel."""
        xp = array_namespace(here.value)
        sound = here.curvature > CANCELLATION * here.safe_curvature
        denominator = xp.where(sound, here.curvature, here.safe_curvature)
        safe = xp.where(denominator > 0, denominator, xp.ones_like(denominator))
        move = -here.gradient / safe[:, None]
        squared = xp.vecdot(move, move)
        return cls(move, squared, denominator * squared)


@dataclass(frozen=True)
class _State(Batched):
    """The fraction of the full step to try, and the full step."""

    length: Array
    step: _FullStep


# Steps, at most: fixed points that take more are so flat that rounding errors of single precision lead them astray.
MOST_STEPS = 30
# Fraction of the problems of a batch that must have come to rest before the others are copied to a smaller batch.
WORTH_LEAVING = 0.2
# Points × columns from which rough steps gain time, about half of it; below a fifth of this they gain nothing. The
# number of problems does not count, so that results do not depend on how many are solved together.
FEWEST_NUMBERS = 5000
# Every so many rough steps it is looked at which problems have come to rest. Looking takes as many calls as a step.
LOOKED_AT = 2
# Steps in double precision after rough ones, at least. One leaves differences of 2e-8 between the same rows in other
# blocks, two leave 7e-9 and four leave 4e-10, on digits.
STEPS_AFTER_ROUGH = 3
# A tolerance from which on no step need follow rough ones: rounding errors of single precision are below a thousandth
# of it. A row that rests in double precision too takes its last step there, as after any other descent.
COARSE = 1e-4
# Rough steps with such a tolerance, at most: all but a few of the pre-images that move after thirty rest by then.
MOST_COARSE_STEPS = 90


def rough_steps(problem: NearestImage, size: float, tol: float) -> "RoughSteps | None":
    """First steps to the fixed points of these problems; None where there are none that gain time."""
    kernel, points = problem.kernel, problem.points
    is_double = isinstance(points, np.ndarray) and points.dtype == np.float64
    if type(kernel) is not Gaussian or not is_double or points.size < FEWEST_NUMBERS:
        return None
    return RoughSteps(kernel, points, problem.penalty, size, tol)


class RoughSteps:
    r"""Plain steps :math:`z \leftarrow (\sum_i w_i k(x_i, z) x_i + \mu a) / (\sum_i w_i k(x_i, z) + \mu)`.

    Neither objectives nor signs are looked at, so that a step is a dozen calls: threads wait for each other between
    calls, and with the safeguarded descent sixteen of them were slower than four. Whoever asks compares the end with
    the start.

    Parameters
    ----------
    kernel : Gaussian
    points : NumPy array of shape (n, d)
    penalty : float
        λ; the μ of the formula is λ/(2γ).
    size, tol : float
        A problem rests when its step is shorter than `tol · size`.
    """

    work_of_a_step = WORK_OF_A_ROUGH_STEP

    def __init__(self, kernel: Gaussian, points: np.ndarray, penalty: float, size: float, tol: float) -> None:
        n = points.shape[0]
        self.gamma, self.penalty = float(kernel.gamma), float(penalty)
        self.center = points.mean(axis=0)
        centered = (points - self.center).astype(np.float32)
        # With the inputs about their mean, k(x, z) = exp(2γ z·x − γ‖x‖²) exp(−γ‖z‖²): a product and one exponential.
        # The second factor cancels where there is no penalty; otherwise it is one more term of the product.
        right = [2 * self.gamma * centered.T, -self.gamma * np.sum(centered * centered, axis=1)[None, :]]
        right += [np.ones((1, n), np.float32)] if self.penalty else []
        self.right = np.ascontiguousarray(np.concatenate(right), np.float32)
        self.points_and_ones = np.concatenate([centered, np.ones((n, 1), np.float32)], axis=1)
        self.least, self.most_steps = (STEPS_AFTER_ROUGH, MOST_STEPS) if tol < COARSE else (0, MOST_COARSE_STEPS)
        self.shortest = (max(tol, 16 * epsilon(np.dtype(np.float32))) * size) ** 2
        self.most = tile_rows(n, centered) or 1
        self.tile = ThreadBuffer(self.most, n, np.dtype(np.float32))

    def of(self, W: np.ndarray, anchor: np.ndarray) -> Callable[..., PreimageResult]:
        """`minimize_rows` for the problems with coefficients W (q, n), after rough steps."""

        def minimize(
            objective: Objective, start: np.ndarray, box: Box, rule: StepRule, max_iter: int
        ) -> PreimageResult:
            points, steps, safe_values = self.taken(W, start, anchor, max_iter)
            # Rounding errors of single precision, which depend on the block, are below the tolerance, and each step
            # leaves a fraction of them.
            left = max_iter - int(steps.max(initial=0))
            found = minimize_rows(objective, points, box, rule, left, least=self.least)
            found = replace(found, n_iter=found.n_iter + steps)
            # From the start again where the result may be no lower than that.
            doubtful = np.flatnonzero(~(found.objective < safe_values))
            if not doubtful.size:
                return found
            return found.replaced(
                doubtful, minimize_rows(objective.take(doubtful), start[doubtful], box, rule, max_iter)
            )

        return minimize

    def taken(
        self, W: np.ndarray, start: np.ndarray, anchor: np.ndarray, max_iter: int = MOST_COARSE_STEPS
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points near fixed points, in double precision; steps taken; values at the starts less rounding errors.

        A result that a descent in double precision finds from such a point is no higher than the start if its value is
        below the last.
        """
        moduli, d, most_steps = np.abs(W).sum(axis=1), start.shape[1], min(self.most_steps, max_iter)
        W, start32, anchor = W.astype(np.float32), self._centered(start), self._centered(anchor)
        found, steps, active = start32.copy(), np.zeros(len(W), int), np.arange(len(W))
        safe_values, pull = np.full(len(W), np.inf), self._pull(anchor)
        here = self._rows(start32)
        # Each call of NumPy costs a thread its turn at the interpreter: a step makes few of them, in the same memory.
        there, sums, move = here.copy(), np.empty((len(W), d + 1), np.float32), np.empty_like(start32)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite is thrown away
            for number in range(1, most_steps + 1):
                self._sum(W, here, sums)
                if number == 1:
                    safe_values = self._values(sums[:, -1], start32, anchor) - self._rounding(moduli)
                if pull is not None:
                    np.add(sums, pull, out=sums)
                np.divide(sums[:, :-1], sums[:, -1:], out=there[:, :d])
                if number % LOOKED_AT and number < most_steps:
                    here, there = there, here
                    continue
                np.subtract(there[:, :d], here[:, :d], out=move)
                here, there = there, here
                moving = np.einsum("ij,ij->i", move, move) > self.shortest  # NaN moves no more
                n_moving = np.count_nonzero(moving)
                if n_moving == 0 or number == most_steps:
                    break
                if n_moving <= (1 - WORTH_LEAVING) * len(active):
                    found[active], steps[active] = here[:, :d], number
                    active, W, here = active[moving], W[moving], here[moving]
                    pull = None if pull is None else pull[moving]
                    there, sums, move = here.copy(), sums[: len(active)], move[: len(active)]
        found[active], steps[active] = here[:, :d], number
        found = found + self.center
        finite = np.isfinite(found).all(axis=1)
        return np.where(finite[:, None], found, start), np.where(finite, steps, 0), safe_values

    def _centered(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.center).astype(np.float32)

    def _rows(self, Z: np.ndarray) -> np.ndarray:
        """Z as the left side of the product that makes exponents: with a column of ones, and one for −γ‖z‖²."""
        return np.concatenate([Z, np.ones((len(Z), len(self.right) - Z.shape[1]), np.float32)], axis=1)

    def _pull(self, anchor: np.ndarray) -> np.ndarray | None:
        """μ(a, 1), what the penalty adds to the sums of a step; None without one."""
        mu = np.float32(self.penalty / (2 * self.gamma))
        return mu * self._rows(anchor)[:, : anchor.shape[1] + 1] if self.penalty else None

    def _sum(self, W: np.ndarray, rows: np.ndarray, sums: np.ndarray) -> None:
        """Σ wᵢ k(xᵢ, z) (xᵢ, 1) for every row z, in `sums`; over exp(−γ‖z‖²) where there is no penalty."""
        if self.penalty:
            Z = rows[:, :-2]
            np.multiply(np.einsum("ij,ij->i", Z, Z), np.float32(-self.gamma), out=rows[:, -1])
        for part in cut(len(W), self.most):
            values = self.tile.part(part.stop - part.start, W.shape[1])
            np.matmul(rows[part], self.right, out=values)
            np.exp(values, out=values)
            values *= W[part]
            np.matmul(values, self.points_and_ones, out=sums[part])

    def _values(self, sums: np.ndarray, Z: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """The objective k(z, z) − 2ψ(z) + λ‖z − a‖², for the last of the sums that `_sum` makes."""
        decay = 1.0 if self.penalty else np.exp(-self.gamma * np.einsum("ij,ij->i", Z, Z))
        psi = (sums * decay).astype(float)
        return 1 - 2 * psi + self.penalty * np.sum((Z - anchor).astype(float) ** 2, axis=1)

    def _rounding(self, moduli: np.ndarray) -> np.ndarray:
        """Rounding errors of values: kernel values are at most one; exponents lose some digits, hence the factor."""
        return 64 * epsilon(np.dtype(np.float32)) * (1 + 2 * moduli)
