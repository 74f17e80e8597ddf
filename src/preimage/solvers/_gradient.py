"""Limited-memory quasi-Newton descent for any kernel with a gradient, batched, with box constraints."""

from numbers import Integral, Real

from preimage._arrays import array_namespace, epsilon, from_numpy, take_rows, to_dense, to_numpy
from preimage._validation import Interval, check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.solvers._batch import Batch, solve_in_blocks
from preimage.solvers._box import Box, within_reach
from preimage.solvers._distance_model import distance_model
from preimage.solvers._local_distance import LocalDistance
from preimage.solvers._preimage import TargetSolver
from preimage.solvers._shifted import about_origin
from preimage.solvers._starts import nearest_points, spread

# Share of the decrease promised by the gradient that a step must bring (Armijo).
SUFFICIENT = 1e-4
SMALLEST_STEP = 2.0**-40
# Past steps that approximate the curvature: L-BFGS gains little from more.
MEMORY = 8


class Gradient(TargetSolver):
    r"""Pre-images by L-BFGS, for every kernel that has a gradient.

    Minimises :math:`\rho(z) + \lambda \|z - x_0\|^2` over the box :math:`l \le z \le u`, with the gradient (P14). The
    first step is that of `FixedPoint` where the kernel has one. All problems run together, each with its own memory
    and step length; a step must bring a decrease in proportion to its slope, so the objective never rises.

    Parameters
    ----------
    penalty : float, default=0.0
        λ ≥ 0, the pull towards the start (the noisy input, in denoising).
    lower, upper : float, array of shape (d,) or None, default=None
        Bounds; pixels live in [0, 1], for instance.
    tol : float, default=1e-6
        Stop when a projected gradient step is shorter than `tol` times the spread of the training points.
    max_iter : int, default=500
        Largest number of steps.
    memory : int, default=8
        Past steps that approximate the curvature.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Laplacian, Gaussian
    >>> from preimage.solvers import Gradient
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> target = Expansion(Gaussian(1.0), points, np.array([[0.5], [0.5]]))
    >>> Gradient(upper=[0.2, 1.0]).solve(target).points.round(6)
    array([[0.2, 0. ]])
    """

    _parameter_constraints = {
        "penalty": [Interval(Real, 0, None, closed="left")],
        "lower": [Real, "array-like", None],
        "upper": [Real, "array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "memory": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, penalty=0.0, lower=None, upper=None, tol=1e-6, max_iter=500, memory=MEMORY):
        self.penalty = penalty
        self.lower = lower
        self.upper = upper
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory

    @about_origin
    def solve(self, target, start=None, anchor=None):
        check_parameters(self)
        if not target.kernel.has_gradient:
            raise UnsupportedKernelError(
                f"Gradient needs the gradient of the kernel; {target.kernel!r} has none. preimage='learned' needs "
                "none, and 'auto' finds a way for every kernel; a CallableKernel takes `gradient_function=`."
            )
        start = nearest_points(target) if start is None else to_dense(start)
        anchor = start if anchor is None else to_dense(anchor)
        box = Box.of_inputs(self.lower, self.upper, target.kernel, start)
        solve = lambda box, target, start, anchor: descend_in_blocks(
            target, start, anchor, box, float(self.penalty), self.tol, self.max_iter, self.memory
        )
        return within_reach(solve(box, target, start, anchor), target, start, anchor, box, solve)


def descend_in_blocks(target, start, anchor, box, penalty, tol, max_iter, memory=MEMORY):
    """Minimise ρ(z) + λ‖z − anchor‖² in a box, block by block."""
    model, size = distance_model(target.kernel, target.points), spread(target.points)
    tolerance = max(float(tol), 4 * epsilon(start.dtype)) * size
    iterate = lambda W, norms, Z, anchor: descend(
        model, W, norms, Z, anchor, box, penalty, tolerance, size, max_iter, memory
    )
    return solve_in_blocks(iterate, target, start, anchor)


def minimize_rows(evaluate, start, *, size, tol, max_iter, memory=5, lower=None):
    """Minimise one function from many starts together, with the steps of `Gradient`; no value ends above its start.

    Parameters
    ----------
    evaluate : callable
        Z of shape (q, d) → values (q,) and gradients (q, d).
    start : array of shape (q, d)
    size : float
        Length scale of the inputs: first steps are a tenth of it, and steps shorter than `tol · size` end a search.
    lower : float, optional
        The smallest value that inputs may have.

    Returns
    -------
    PreimageResult
    """
    xp = array_namespace(start)

    def local(Z):
        values, gradients = evaluate(Z)
        return LocalDistance(values, gradients, None, None, 4 * epsilon(Z.dtype) * xp.abs(values))

    nothing = xp.zeros_like(start[:, 0])
    tolerance = max(float(tol), 4 * epsilon(start.dtype)) * size
    return descend(
        lambda W: local, start, nothing, start, start, Box(lower, None, start), 0.0, tolerance, size, max_iter, memory
    )


def descend(model, W, norms, Z, anchor, box, penalty, tolerance, size, max_iter, memory):
    xp = array_namespace(Z)
    local = model(W)
    evaluate = lambda Z: local(Z).penalized(Z, anchor, penalty)
    batch = Batch(Z.shape[0], max_iter)
    Z = box.clip(Z)
    here, length = evaluate(Z), xp.ones_like(norms)
    history = _History(memory)
    frozen = xp.zeros_like(norms, dtype=xp.bool)
    inverse = _first_inverse_curvature(here, size)
    for step in range(1, max_iter + 1):
        free = box.free(Z, here.gradient)
        slope = here.gradient * free
        move = _downhill(history.direction(slope, inverse) * free, slope, inverse)
        new_Z = box.clip(Z + length[:, None] * move)
        there = evaluate(new_Z)
        promised = _rows_dot(here.gradient, new_Z - Z)
        better = (there.value <= here.value + SUFFICIENT * promised) & ~frozen
        plain = box.clip(Z - inverse[:, None] * here.gradient) - Z
        batch.note(
            step,
            vanishing_kernel_values=to_numpy(here.vanishes()),
            converged=to_numpy(
                (_rows_dot(plain, plain) <= tolerance**2) | (~better & (-promised <= here.noise) & (length < 1))
            ),
            stalled=to_numpy(length < SMALLEST_STEP),
        )
        history.add(new_Z - Z, there.gradient - here.gradient, better)
        Z = xp.where(better[:, None], new_Z, Z)
        here = there.where(better, here)
        inverse = _limited(xp.where(better, history.inverse_curvature(inverse), inverse), here)
        length = xp.where(better, xp.ones_like(length), length / 4)
        if batch.finished(step):
            break
        if batch.worth_clearing():
            stay = batch.clear(Z, here.value + norms)
            Z, W, anchor, norms, length, inverse = (
                take_rows(array, stay) for array in (Z, W, anchor, norms, length, inverse)
            )
            here, history, local = here.take(stay), history.take(stay), model(W)
        frozen = from_numpy(batch.done, Z, dtype=xp.bool)
    batch.clear(Z, here.value + norms, everything=True)
    return batch.result()


class _History:
    """The last steps s and changes of gradient y of each problem, and the inverse Hessian they imply."""

    def __init__(self, memory, pairs=()):
        self.memory = memory
        self.pairs = list(pairs)

    def add(self, s, y, accepted):
        xp = array_namespace(s)
        product = _rows_dot(s, y)
        # Only pairs with positive curvature keep the approximation positive definite; others count as none.
        useful = accepted & (product > 1e-10 * xp.sqrt(_rows_dot(s, s) * _rows_dot(y, y)))
        weight = xp.where(useful, 1 / xp.where(useful, product, xp.ones_like(product)), xp.zeros_like(product))
        self.pairs = [*self.pairs[-(self.memory - 1) :], (s, y, weight)] if self.memory > 1 else [(s, y, weight)]

    def direction(self, gradient, inverse):
        """−H gradient, by the two-loop recursion."""
        result, passed = -gradient, []
        for s, y, weight in reversed(self.pairs):
            a = weight * _rows_dot(s, result)
            result = result - a[:, None] * y
            passed.append(a)
        result = inverse[:, None] * result
        for (s, y, weight), a in zip(self.pairs, reversed(passed), strict=True):
            b = weight * _rows_dot(y, result)
            result = result + (a - b)[:, None] * s
        return result

    def inverse_curvature(self, previous):
        """sᵀy/yᵀy of the last useful pair, the usual scale of the initial inverse Hessian."""
        _, y, weight = self.pairs[-1]
        xp = array_namespace(y)
        squares = _rows_dot(y, y) * weight
        return xp.where(squares > 0, 1 / xp.where(squares > 0, squares, xp.ones_like(squares)), previous)

    def take(self, rows):
        return _History(self.memory, [tuple(take_rows(array, rows) for array in pair) for pair in self.pairs])


def _first_inverse_curvature(here, size):
    xp = array_namespace(here.value)
    if here.safe_curvature is not None:
        return 1 / xp.where(here.vanishes(), xp.ones_like(here.value), here.safe_curvature)
    lengths = xp.sqrt(_rows_dot(here.gradient, here.gradient))
    return 0.1 * size / xp.where(lengths > 0, lengths, xp.ones_like(lengths))


def _limited(inverse, here):
    """At most ten times what the kernel values here allow: far from the data curvatures change by many decades."""
    if here.safe_curvature is None:
        return inverse
    xp = array_namespace(inverse)
    limit = 10 / xp.where(here.vanishes(), xp.ones_like(inverse), here.safe_curvature)
    return xp.where(inverse > limit, limit, inverse)


def _downhill(move, slope, inverse):
    """`move` where it points downhill, else a scaled gradient."""
    xp = array_namespace(move)
    good = _rows_dot(move, slope) < 0
    return xp.where(good[:, None], move, -inverse[:, None] * slope)


def _rows_dot(A, B):
    return array_namespace(A).vecdot(A, B)
