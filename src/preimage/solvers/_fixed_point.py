"""The fixed-point iteration of Schölkopf and Mika, made safe, penalised and batched."""

from dataclasses import dataclass
from numbers import Integral, Real

from preimage._engine.arrays import array_namespace, epsilon
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.solvers._descent import Box, Evaluation, StepRule, Verdict, spread
from preimage.solvers._gradient import QuasiNewton
from preimage.solvers._nearest_image import NearestImage, has_fixed_point
from preimage.solvers._preimage import Batched, DescentSolver, PreimageResult, about_origin
from preimage.solvers._rough_steps import MOST_STEPS
from preimage.solvers._targets import Targets

# A fixed-point step divides by a sum with terms of both signs. When cancellation leaves less than this fraction of the
# sum of moduli, the step divides by the sum of moduli instead, which also points downhill. At a tenth of the fraction
# single steps leave the data by many times its size; at ten times, half of all ordinary steps would be shortened.
CANCELLATION = 0.05
# Searches end when a step was halved 24 times in a row.
SMALLEST_STEP = 2.0**-24


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
    def _descend(self, targets: Targets, start: Array | None, anchor: Array | None) -> PreimageResult:
        check_parameters(self)
        if not has_fixed_point(targets.kernel):
            raise UnsupportedKernelError(
                f"FixedPoint needs a kernel of the squared distance or of the inner product; got {targets.kernel!r}. "
                "preimage='gradient' works with any kernel that has a gradient, 'learned' with any kernel, and 'auto' "
                "finds a way for each."
            )
        problem, size = NearestImage.of(targets, start, anchor, self.penalty), spread(targets.points)
        rough = problem.rough_steps(size, self.tol) if self.max_iter > 2 * MOST_STEPS else None
        result = problem.solve(_FixedPointSteps(size, self.tol), Box(), self.max_iter, rough_steps=rough)
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
