"""Which nearest images a page looks for: the solver of a model, as its modules read it."""

from typing import Any

import numpy as np

from preimage._engine.arrays import to_dense, to_numpy
from preimage._engine.typing import Array
from preimage.descent import Box, spread
from preimage.kernels import Kernel, Warped
from preimage.solvers import FixedPoint, Gradient, Preimage
from preimage.solvers._auto import Auto, FittedAuto
from preimage.solvers._distance import has_fixed_point
from preimage.solvers._nearest_image import enclosing_sphere


def page_solver(preimage: Preimage, kernel: Kernel) -> FixedPoint | Gradient:
    """The solver of nearest images that stands for the solver of a model on its page.

    A page has the fixed point and descent. Solvers that learn or use a closed formula answer another question; the
    default for the kernel takes their place.
    """
    solver = preimage.projection if isinstance(preimage, FittedAuto) else preimage
    if type(solver) not in (FixedPoint, Gradient):
        solver = Auto().for_vectors(kernel)
    if type(solver) is FixedPoint and has_fixed_point(kernel) and not isinstance(kernel, Warped):
        return solver
    if type(solver) is Gradient:
        return solver
    # A program of the page differentiates itself, also where a kernel of the library has no gradient.
    return Gradient(**{name: getattr(solver, name) for name in ("penalty", "tol", "max_iter") if hasattr(solver, name)})


def solver_record(solver: FixedPoint | Gradient, kernel: Kernel, points: Array, origin: Array = None) -> dict[str, Any]:
    """The part of a model's record that `nearest_image.js` reads.

    Parameters
    ----------
    solver : FixedPoint or Gradient
    kernel : Kernel
        As the page has it, not recentred.
    points : array of shape (n, d)
        The points of frame and origin, as the page has them.
    origin : array of shape (d,), optional
        What was subtracted from the inputs, and is from bounds.

    Returns
    -------
    dict
        "solver", "spread", "middle", "radius" and "positive_semidefinite".
    """
    is_fixed_point = type(solver) is FixedPoint
    inputs = to_numpy(to_dense(points)).astype(np.float64)
    middle, radius = enclosing_sphere(inputs)
    return {
        "solver": {
            "name": "fixed_point" if is_fixed_point else "gradient",
            "penalty": float(solver.penalty),
            "tol": float(solver.tol),
            "max_iter": int(solver.max_iter),
            "memory": None if is_fixed_point else int(solver.memory),
            **_bounds(solver, kernel, inputs, origin),
        },
        "spread": spread(inputs),
        "middle": middle,
        "radius": radius,
        "positive_semidefinite": bool(kernel.is_positive_semidefinite),
    }


def _bounds(solver: FixedPoint | Gradient, kernel: Kernel, points: np.ndarray, origin: Array) -> dict[str, Any]:
    """Bounds on the inputs of the kernel, two arrays of shape (d,), or None where there are none at all."""
    lower, upper = getattr(solver, "lower", None), getattr(solver, "upper", None)
    moved = lambda bound: bound if bound is None or origin is None else np.asarray(bound) - to_numpy(origin)
    box = Box() if type(solver) is FixedPoint else Box.of_inputs(moved(lower), moved(upper), kernel, points)
    return {"lower": box.lower, "upper": box.upper}
