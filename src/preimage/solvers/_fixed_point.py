"""The fixed-point iteration of Schölkopf and Mika, made safe, penalised and batched."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from preimage._arrays import array_namespace, epsilon, from_numpy, take_rows, to_dense, to_numpy
from preimage._validation import Interval, check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.solvers._batch import Batch, solve_in_blocks
from preimage.solvers._box import Box, within_reach
from preimage.solvers._distance_model import distance_model, has_fixed_point
from preimage.solvers._gradient import descend_in_blocks
from preimage.solvers._preimage import TargetSolver
from preimage.solvers._shifted import about_origin
from preimage.solvers._starts import nearest_points, spread

# A fixed-point step divides by a sum of both signs; when less than this share of it survives, the step of the same
# sum of moduli is taken instead, which points downhill as well.
CANCELLATION = 0.05
SMALLEST_STEP = 2.0**-24


class FixedPoint(TargetSolver):
    r"""Pre-images as fixed points, safeguarded.

    Minimises :math:`\rho(z) + \lambda \|z - x_0\|^2` with :math:`\rho(z) = k(z, z) - 2\psi(z) + \|\Psi\|^2` (P1). For
    radial kernels the iteration is a weighted mean of the training points [1]_, pulled towards the input :math:`x_0`
    by the penalty [2]_,

    .. math:: z \leftarrow \frac{-2\sum_i \alpha_i f'(\|x_i - z\|^2) x_i + \lambda x_0}
                                {-2\sum_i \alpha_i f'(\|x_i - z\|^2) + \lambda},

    and for dot-product kernels :math:`z \leftarrow (\sum_i \alpha_i f'(x_i \cdot z) x_i + \lambda x_0) /
    (f'(\|z\|^2) + \lambda)`. With coefficients of both signs the denominator can vanish and the plain iteration can
    diverge. Here a step is taken only if it lowers the objective, is halved otherwise, and follows the gradient where
    the denominator cancels; problems that start where the kernel vanishes start again from the nearest training
    point. All problems are iterated together, two matrix products a step, and leave the batch when they are done.

    Under a kernel that `Warped` bends along a graph the weights :math:`\alpha` are those of (W4), which change with z
    and have both signs: many steps are needed, and `Gradient` is faster.

    Parameters
    ----------
    penalty : float, default=0.0
        λ ≥ 0, the pull towards the start (the noisy input, in denoising).
    tol : float, default=1e-6
        Stop when a step is shorter than `tol` times the spread of the training points.
    max_iter : int, default=500
        Largest number of steps.

    References
    ----------
    .. [1] S. Mika et al., "Kernel PCA and de-noising in feature spaces", NIPS 11, 1999.
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

    def __init__(self, penalty=0.0, tol=1e-6, max_iter=500):
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter

    @about_origin
    def solve(self, target, start=None, anchor=None):
        check_parameters(self)
        if not has_fixed_point(target.kernel):
            raise UnsupportedKernelError(
                f"FixedPoint needs a kernel of the squared distance or of the inner product; got {target.kernel!r}. "
                "preimage='gradient' works with any kernel that has a gradient, 'learned' with any kernel, and 'auto' "
                "finds a way for each."
            )
        start = nearest_points(target) if start is None else to_dense(start)
        anchor = start if anchor is None else to_dense(anchor)
        model = distance_model(target.kernel, target.points)
        tolerance = max(float(self.tol), 16 * epsilon(start.dtype)) * spread(target.points)
        iterate = lambda W, norms, Z, anchor: _iterate(
            model, W, norms, Z, anchor, float(self.penalty), tolerance, self.max_iter
        )
        inside = lambda box, target, start, anchor: descend_in_blocks(
            target, start, anchor, box, float(self.penalty), self.tol, self.max_iter
        )
        result = solve_in_blocks(iterate, target, start, anchor)
        return within_reach(result, target, start, anchor, Box(None, None, start), inside)


def _iterate(model, W, norms, Z, anchor, penalty, tolerance, max_iter):
    """Run the iteration on a block of problems; those that are done leave the batch."""
    xp = array_namespace(Z)
    local = model(W)
    evaluate = lambda Z: local(Z).penalized(Z, anchor, penalty)
    batch = Batch(Z.shape[0], max_iter)
    here, length = evaluate(Z), xp.ones_like(norms)
    step = _FullStep.at(here)
    frozen = xp.zeros_like(norms, dtype=xp.bool)
    for count in range(1, max_iter + 1):
        new_Z = Z + length[:, None] * step.move
        there = evaluate(new_Z)
        new_step = _FullStep.at(there)
        # Near the minimum differences of the objective drown in rounding long before steps do; then shorter steps
        # count.
        drowning = (there.value <= here.value + here.noise) & (new_step.squared < step.squared)
        better = ((there.value < here.value) | drowning) & ~frozen
        batch.note(
            count,
            vanishing_kernel_values=to_numpy(here.vanishes()),
            converged=to_numpy((step.squared <= tolerance**2) | (~better & (step.gain <= here.noise))),
            stalled=to_numpy(length < SMALLEST_STEP),
        )
        Z = xp.where(better[:, None], new_Z, Z)
        here, step = there.where(better, here), new_step.where(better, step)
        length = xp.where(better, xp.clip(2 * length, max=1.0), length / 2)
        if batch.finished(count):
            break
        if batch.worth_clearing():
            stay = batch.clear(Z, here.value + norms)
            Z, W, anchor, norms, length = (take_rows(array, stay) for array in (Z, W, anchor, norms, length))
            here, step, local = here.take(stay), step.take(stay), model(W)
        frozen = from_numpy(batch.done, Z, dtype=xp.bool)
    batch.clear(Z, here.value + norms, everything=True)
    return batch.result()


@dataclass(frozen=True)
class _FullStep:
    """The step to the fixed point, its squared length, and the decrease of the objective that it promises."""

    move: Any
    squared: Any
    gain: Any

    @classmethod
    def at(cls, here):
        """−gradient/D, or with the sum of moduli for D where the terms of D cancel."""
        xp = array_namespace(here.value)
        sound = here.curvature > CANCELLATION * here.safe_curvature
        denominator = xp.where(sound, here.curvature, here.safe_curvature)
        safe = xp.where(denominator > 0, denominator, xp.ones_like(denominator))
        move = -here.gradient / safe[:, None]
        squared = xp.vecdot(move, move)
        return cls(move, squared, denominator * squared)

    def where(self, mask, other):
        xp = array_namespace(mask)
        return _FullStep(
            xp.where(mask[:, None], self.move, other.move),
            xp.where(mask, self.squared, other.squared),
            xp.where(mask, self.gain, other.gain),
        )

    def take(self, rows):
        return _FullStep(take_rows(self.move, rows), take_rows(self.squared, rows), take_rows(self.gain, rows))
