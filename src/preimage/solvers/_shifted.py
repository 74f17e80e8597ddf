"""Problems under a kernel of shifted inputs, solved where the kernel has its origin."""

from dataclasses import replace
from functools import wraps

from preimage._arrays import from_numpy, to_dense
from preimage.feature_space import Expansion
from preimage.kernels import Scaled, Sum


def about_origin(solve):
    """Let a solver see the kernel l on inputs x − c instead of k(x, y) = l(x − c, y − c), and move its results back.

    Decorates `TargetSolver.solve`. Distances between inputs, and penalties that are made of them, do not notice the
    move. Bounds would have to move as well and could be missed by a rounding error on the way back: solvers that have
    bounds see the kernel as it is.
    """

    @wraps(solve)
    def solve_about_origin(self, target, start=None, anchor=None):
        kernel, origin = target.kernel.unshifted()
        if origin is None or _has_bounds(self):
            return solve(self, target, start, anchor)
        origin = from_numpy(origin, target.coefficients)
        move = lambda rows: None if rows is None else to_dense(rows) - origin
        norms = target.squared_norms()
        moved = Expansion(kernel, move(target.points), target.coefficients, squared_norms=norms)
        result = solve(self, moved, move(start), move(anchor))
        return replace(result, points=result.points + origin)

    return solve_about_origin


def as_linear_functions(vectors):
    """Vectors under a linear kernel that was recentred, as the linear functions z ↦ w·z that they are.

    With k(x, y) = (x − c)·(y − c) the vector w = Σ αᵢ (xᵢ − c) has the value w·(z − c) at z. Seen from the zero of
    the inputs it is Σ αᵢ φ(xᵢ − c) under the kernel x·y. Vectors under other kernels are returned as they are.
    """
    kernel, origin = vectors.kernel.unshifted()
    if origin is None or not kernel.is_bilinear:
        return vectors
    return Expansion(kernel, to_dense(vectors.points) - from_numpy(origin, vectors.coefficients), vectors.coefficients)


def terms_of(vectors):
    """Expansions that add up to `vectors`, one for each term of a sum of kernels: their values add up as well."""
    kernel, points, coefficients = vectors.kernel, vectors.points, vectors.coefficients
    if isinstance(kernel, Sum):
        return [
            term for part in (kernel.left, kernel.right) for term in terms_of(Expansion(part, points, coefficients))
        ]
    if isinstance(kernel, Scaled):
        return terms_of(Expansion(kernel.kernel, points, kernel.factor * coefficients))
    return [vectors]


def _has_bounds(solver):
    return getattr(solver, "lower", None) is not None or getattr(solver, "upper", None) is not None
