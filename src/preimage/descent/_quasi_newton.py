"""Quasi-Newton steps for the batched descent, and the descent of a whole set of points."""

from collections.abc import Callable
from dataclasses import dataclass

from preimage._engine.arrays import array_namespace, epsilon
from preimage._engine.typing import Array
from preimage.descent._minimize import (
    Batched,
    Box,
    Evaluation,
    Reason,
    SameFunction,
    StepRule,
    Verdict,
    minimize_rows,
    spread,
)
from preimage.kernels import Kernel

# Fraction of the decrease promised by the gradient that a step must bring (Armijo's rule, with the usual constant).
# Near one hardly any step would be accepted; at zero a sequence of steps may stop short of a minimum.
SUFFICIENT = 1e-4
# A step that was refused is divided by this. Kernels decay like exponentials, so a step that is too long is often far
# too long, and halving would cost twice as many evaluations.
SHORTENING = 4
# Searches end when a step was shortened below this fraction of the full one, after twenty refusals in a row: the
# gradient is then no gradient of the values (at a kink, for instance). More refusals would only cost evaluations.
SMALLEST_STEP = 2.0**-40
# Past steps that approximate the curvature of one problem: L-BFGS gains little from more.
MEMORY = 8
# The same for a whole set of points, which has more directions than one point.
SET_MEMORY = 10
# The first step of an objective without a known curvature, as a fraction of the size of the data. Ten times longer ones
# leave the neighbourhood of the start; shorter ones cost a few more steps.
FIRST_STEP = 0.1
# Largest step, as a multiple of the one that the kernel values at the point allow. Far from the data curvatures change
# by many orders of magnitude, and an estimate from the last step would jump across all of the data.
LONGEST_STEP = 10
# Pairs (s, y) with a smaller cosine have no curvature beyond rounding; their 1/sᵀy would swamp the approximation.
SMALLEST_COSINE = 1e-10


@dataclass(frozen=True)
class QuasiNewton(StepRule):
    """L-BFGS with projected steps and Armijo's rule.

    Parameters
    ----------
    size : float
        Length scale of the inputs.
    tol : float
        A row converges when a projected gradient step is shorter than `tol · size`.
    memory : int, default=8
        Past steps that approximate the curvature.

    See Also
    --------
    minimize_rows : Takes the steps of this rule; its page has a complete example.
    Gradient : The solver made of these parts.

    Examples
    --------
    >>> from preimage.solvers import QuasiNewton
    >>> QuasiNewton(size=1.0, tol=1e-6)
    QuasiNewton(size=1.0, tol=1e-06, memory=8)
    """

    size: float
    tol: float
    memory: int = MEMORY

    def begin(self, here: Evaluation) -> "_State":
        xp = array_namespace(here.value)
        return _State(xp.ones_like(here.value), _first_inverse_curvature(here, self.size), ())

    def propose(self, state: "_State", Z: Array, here: Evaluation, box: Box) -> Array:
        free = box.free(Z, here.gradient)
        gradient = here.gradient * free  # zero along bounds that it would cross
        move = state.downhill(state.direction(gradient) * free, gradient)
        return box.clip(Z + state.length[:, None] * move)

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
        move = trial - Z
        promised = xp.vecdot(here.gradient, move)
        better = (there.value <= here.value + SUFFICIENT * promised) & open_rows
        plain = box.clip(Z - state.inverse[:, None] * here.gradient) - Z
        tolerance = max(float(self.tol), 4 * epsilon(Z.dtype)) * self.size
        short = xp.vecdot(plain, plain) <= tolerance**2
        # Where rounding hides the promised decrease, a refused step says nothing, and there is nothing left to gain.
        hidden = ~better & (-promised <= here.noise) & (state.length < 1)

        pair = _Pair.of(move, there.gradient - here.gradient, better)
        inverse = xp.where(better, pair.inverse_curvature(state.inverse), state.inverse)
        if here.safe_curvature is not None:
            limit = xp.where(better, _safe_step(there, LONGEST_STEP), _safe_step(here, LONGEST_STEP))
            inverse = xp.where(inverse > limit, limit, inverse)
        length = xp.where(better, xp.ones_like(state.length), state.length / SHORTENING)
        known = state.pairs[-(self.memory - 1) :] if self.memory > 1 else ()
        return Verdict(better, short | hidden, state.length < SMALLEST_STEP, _State(length, inverse, (*known, pair)))


def minimize_set(
    function: Callable[[Array], tuple[float, Array]], points: Array, kernel: Kernel, *, tol: float, max_iter: int
) -> tuple[Array, bool, Reason, int]:
    """A set of points with a smaller value of `function`, which maps (n, d) points to a value and its gradient.

    The whole set is one row of `minimize_rows`, so the value never ends above that of `points`. The search stops when a
    step is shorter than `tol` times the size of the set. Points stay where the kernel is defined.

    Returns
    -------
    points, converged, reason, n_iter
    """
    if max_iter == 0:
        return points, False, Reason.ITERATION_LIMIT, 0
    xp = array_namespace(points)
    shape = tuple(points.shape)

    def flat(rows: Array) -> tuple[Array, Array]:
        value, gradient = function(xp.reshape(rows, shape))
        return xp.full_like(rows[:, 0], float(value)), xp.reshape(gradient, (1, -1))

    start = xp.reshape(points, (1, -1))
    rule = QuasiNewton(spread(points) * shape[0] ** 0.5, tol, SET_MEMORY)
    result = minimize_rows(SameFunction(flat), start, Box.of_inputs(None, None, kernel, start), rule, max_iter)
    return xp.reshape(result.points, shape), bool(result.converged[0]), result.reason[0], int(result.n_iter[0])


@dataclass(frozen=True)
class _Pair(Batched):
    """A step s and the change of the gradient y along it, with the weight 1/sᵀy; zero where the pair is of no use."""

    s: Array
    y: Array
    weight: Array

    @classmethod
    def of(cls, s: Array, y: Array, accepted: Array) -> "_Pair":
        xp = array_namespace(s)
        product = xp.vecdot(s, y)
        # Only pairs with positive curvature keep the approximation positive definite.
        useful = accepted & (product > SMALLEST_COSINE * xp.sqrt(xp.vecdot(s, s) * xp.vecdot(y, y)))
        weight = xp.where(useful, 1 / xp.where(useful, product, xp.ones_like(product)), xp.zeros_like(product))
        return cls(s, y, weight)

    def inverse_curvature(self, previous: Array) -> Array:
        """sᵀy/yᵀy, the usual scale of the initial inverse Hessian; `previous` where the pair is of no use."""
        xp = array_namespace(self.y)
        squares = xp.vecdot(self.y, self.y) * self.weight
        return xp.where(squares > 0, 1 / xp.where(squares > 0, squares, xp.ones_like(squares)), previous)


@dataclass(frozen=True)
class _State(Batched):
    """The fraction of the full step to try, the scale of the inverse Hessian, and the last pairs that refine it."""

    length: Array
    inverse: Array
    pairs: tuple[_Pair, ...]

    def direction(self, gradient: Array) -> Array:
        """−H gradient with the inverse Hessian H of the pairs, by the two-loop recursion."""
        xp = array_namespace(gradient)
        result, passed = -gradient, []
        for pair in reversed(self.pairs):
            # Nocedal's two loops: from the newest pair to the oldest, the initial inverse Hessian, and back.
            a = pair.weight * xp.vecdot(pair.s, result)
            result = result - a[:, None] * pair.y
            passed.append(a)
        result = self.inverse[:, None] * result
        for pair, a in zip(self.pairs, reversed(passed), strict=True):
            b = pair.weight * xp.vecdot(pair.y, result)
            result = result + (a - b)[:, None] * pair.s
        return result

    def downhill(self, move: Array, gradient: Array) -> Array:
        """`move` where it points downhill, else a scaled gradient."""
        xp = array_namespace(move)
        good = xp.vecdot(move, gradient) < 0
        return xp.where(good[:, None], move, -self.inverse[:, None] * gradient)


def _first_inverse_curvature(here: Evaluation, size: float) -> Array:
    if here.safe_curvature is not None:
        return _safe_step(here, 1)
    xp = array_namespace(here.value)
    lengths = xp.sqrt(xp.vecdot(here.gradient, here.gradient))
    return FIRST_STEP * size / xp.where(lengths > 0, lengths, xp.ones_like(lengths))


def _safe_step(here: Evaluation, multiple: float) -> Array:
    """`multiple` times the step that the kernel values at the point allow; one where they vanish."""
    xp = array_namespace(here.value)
    return multiple / xp.where(here.vanishes(), xp.ones_like(here.value), here.safe_curvature)
