"""Pre-images by quasi-Newton steps, for any kernel that has a gradient."""

from numbers import Integral, Real

from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import MEMORY, Box, PreimageResult, QuasiNewton, spread
from preimage.exceptions import UnsupportedKernelError
from preimage.solvers._nearest_image import NearestImage
from preimage.solvers._preimage import DescentSolver, about_origin


class Gradient(DescentSolver):
    r"""Pre-images by L-BFGS, for every kernel that has a gradient.

    Minimises :math:`\rho(z) + \lambda \|z - x_0\|^2` over the box :math:`l \le z \le u`, with the gradient (P14). The
    first step is that of `FixedPoint` where the kernel has one. All problems run together, each with its own memory
    and step length; a step must lower the objective in proportion to what the gradient promises, so it never rises.

    Parameters
    ----------
    penalty : float, default=0.0
        λ ≥ 0, the weight of the squared distance to the start (the noisy input, in denoising).
    lower, upper : float, array of shape (d,) or None, default=None
        Bounds, for instance [0, 1] for pixels.
    tol : float, default=1e-6
        Stop when a projected gradient step is shorter than `tol` times the spread of the training points.
    max_iter : int, default=500
        Largest number of steps.
    memory : int, default=8
        Past steps that approximate the curvature.

    See Also
    --------
    FixedPoint : The iteration of the papers, for kernels that have a fixed point; without bounds.
    MultiStart : The best of several starts.
    SparsePath : A penalty that keeps coordinates at a background.

    Examples
    --------
    The point between two bumps, in a box that ends before it:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
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

    def __init__(
        self,
        penalty: float = 0.0,
        lower: float | Array | None = None,
        upper: float | Array | None = None,
        tol: float = 1e-6,
        max_iter: int = 500,
        memory: int = MEMORY,
    ) -> None:
        self.penalty = penalty
        self.lower = lower
        self.upper = upper
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory

    @about_origin
    def _descend(self, problem: NearestImage, start: Array | None, anchor: Array | None) -> PreimageResult:
        check_parameters(self)
        if not problem.kernel.has_gradient:
            raise UnsupportedKernelError(
                f"Gradient needs the gradient of the kernel; {problem.kernel!r} has none. preimage='learned' needs "
                "none, and 'auto' finds a way for every kernel; a CallableKernel takes `gradient_function=`."
            )
        problem, size = problem.starting(start, anchor, self.penalty), spread(problem.inputs)
        box = Box.of_inputs(self.lower, self.upper, problem.kernel, problem.start)
        rule = QuasiNewton(size, self.tol, self.memory)
        return problem.kept_near(problem.solve(rule, box, self.max_iter), rule, box, self.max_iter)
