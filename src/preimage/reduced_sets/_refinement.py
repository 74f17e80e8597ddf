"""Refinement: all points and coefficients together, in the norm of feature space."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import clone

from preimage._engine.arrays import array_namespace, as_points, to_dense
from preimage._engine.threads import small_matrices
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import Reason, minimize_set
from preimage.feature_space import Expansion, Gram
from preimage.reduced_sets._construction import Construct
from preimage.reduced_sets._reducer import (
    WIDTHS,
    Reducer,
    Reduction,
    check_n_points,
    comparable,
    finite_reduction,
    project,
    solve_ridge,
    squared_error,
)

# Ridge on the coefficients during the descent, relative to k(z, z): it bounds them where points meet. With ten times
# more, sets of close points end with visibly larger errors; without any, the normal equations become singular.
RIDGE = 1e-8


class Refine(Reducer):
    r"""All points moved at once, :math:`E = \sum_c \|\Psi_c - \sum_j \beta_{jc} \varphi(z_j)\|^2 \to \min`.

    Coefficients are eliminated by projection (R2), so that the descent is over points alone (variable projection):
    with :math:`\beta` optimal, the gradient of the rest is (R19). Starts where another reducer ends, and never ends
    with a larger error.

    Parameters
    ----------
    start : Reducer or None, default=None
        Gives the first points; None is `Construct()`. With free widths None is the better end of two descents: from
        `Construct(widths="free")`, and from what fixed widths end with.
    max_iter : int, default=150
        Steps of L-BFGS.
    tol : float, default=1e-5
        Stop when a step is shorter than this fraction of the size of the set of points.
    widths : {"fixed", "free"}, default="fixed"
        Whether each point gets a Gaussian of its own width, as in `Construct`.

    See Also
    --------
    Construct : Gives the first points.
    Distill : Looks at function values on data instead.
    relative_error : What is minimised, relative to the target.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced_sets import Refine, Select, relative_error
    >>> rng = np.random.default_rng(0)
    >>> target = Expansion(Gaussian(0.5), rng.normal(size=(50, 2)), rng.normal(size=(50, 1)))
    >>> selected, refined = Select().reduce(target, 8), Refine(Select()).reduce(target, 8)
    >>> relative_error(target, refined.expansion) < relative_error(target, selected.expansion)
    True
    """

    _parameter_constraints = {
        "start": [Reducer, None],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "widths": WIDTHS,
    }

    def __init__(
        self, start: Reducer | None = None, max_iter: int = 150, tol: float = 1e-5, widths: str = "fixed"
    ) -> None:
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.widths = widths

    @finite_reduction
    def reduce(
        self, target: Expansion, n_points: int, *, X: Array | None = None, rng: np.random.Generator | None = None
    ) -> Reduction:
        check_parameters(self)
        check_n_points(n_points)
        target.kernel.require_gradient("Refine")
        if self.widths == "free" and self.start is None:
            # The second begins where fixed widths end, so that free ones are never worse.
            starts = Construct(widths="free"), Refine(None, self.max_iter, self.tol)
            found = [clone(self).set_params(start=each).reduce(target, n_points, X=X, rng=rng) for each in starts]
            return min(found, key=lambda each: squared_error(target, each.expansion))
        merged = target.merged()
        start, target = self.start or Construct(), self._prepared(merged)
        first = comparable(start.reduce(merged, n_points, X=X, rng=rng).expansion, target)
        error = _ProjectionError(target)
        with small_matrices():
            points, converged, reason, steps = minimize_set(
                error, as_points(to_dense(first.points)), target.kernel, tol=self.tol, max_iter=self.max_iter
            )
        refined = project(target, points)
        if squared_error(target, refined) > squared_error(target, first):
            refined, reason = first, Reason.NO_DESCENT  # the ridge of the descent costs more than was gained
        return Reduction(refined, None, converged, reason, steps)


class _ProjectionError:
    """E(Z)/‖Ψ‖² with the best coefficients for Z, and its gradient."""

    def __init__(self, target: Expansion) -> None:
        xp = array_namespace(target.coefficients)
        self.target = target
        self.prepared = target.kernel.prepare(target.points)
        self.norm = float(xp.sum(target.squared_norms())) or 1.0

    def __call__(self, Z: Array) -> tuple[float, Array]:
        kernel, alpha = self.target.kernel, self.target.coefficients
        xp = array_namespace(Z)
        values, contracted = self.prepared.with_gradient(Z)
        inner = values @ alpha  # ⟨Ψ_c, φ(zⱼ)⟩
        gram = Gram(kernel, Z).dense()
        diagonal = xp.linalg.diagonal(gram)
        beta = solve_ridge(gram, RIDGE * xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal)), inner)
        error = 1 - float(xp.sum(beta * inner)) / self.norm
        # (R19). The error is stationary in β, so β is held fixed (the envelope theorem).
        gradient = kernel.gradient(Z, Z, beta @ beta.T) - contracted(beta @ alpha.T)
        return error, (2 / self.norm) * gradient
