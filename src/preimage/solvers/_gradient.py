"""Pre-images by limited-memory quasi-Newton descent, for any kernel with a gradient, with bounds."""

from numbers import Integral, Real

from preimage._typing import Array
from preimage._validation import Interval, check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.solvers._descent import Box, spread
from preimage.solvers._nearest_image import NearestImage
from preimage.solvers._preimage import PreimageResult, TargetSolver, about_origin
from preimage.solvers._quasi_newton import MEMORY, QuasiNewton


class Gradient(TargetSolver):
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
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        check_parameters(self)
        if not target.kernel.has_gradient:
            raise UnsupportedKernelError(
                f"Gradient needs the gradient of the kernel; {target.kernel!r} has none. preimage='learned' needs "
                "none, and 'auto' finds a way for every kernel; a CallableKernel takes `gradient_function=`."
            )
        problem = NearestImage.of(target, start, anchor, self.penalty)
        box = Box.of_inputs(self.lower, self.upper, target.kernel, problem.start)
        rule = QuasiNewton(spread(target.points), self.tol, self.memory)
        return problem.kept_near(problem.solve(rule, box, self.max_iter), rule, box, self.max_iter)
