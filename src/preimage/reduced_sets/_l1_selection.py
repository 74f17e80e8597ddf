"""Selection by an L1 penalty: keep the points whose coefficients survive shrinking."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from preimage._engine.arrays import from_numpy, to_numpy
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import Reason
from preimage.feature_space import Expansion
from preimage.reduced_sets._penalized_problem import PenalizedProblem
from preimage.reduced_sets._reducer import Reducer, Reduction, check_n_points, finite_reduction, project


class SelectL1(Reducer):
    r"""A subset of the points, chosen by a penalty on the coefficients.

    For one target the penalised problem of [1]_,

    .. math:: \min_\beta \tfrac12 \Big\| \sum_i (\alpha_i - \beta_i) \varphi(x_i) \Big\|^2
              + \lambda \sum_i c_i |\beta_i|,

    (R12), is a lasso whose solutions for all λ are found together (least angle regression). Several targets share
    their points: :math:`|\beta_i|` becomes :math:`\max_c |\beta_{ic}|` (R15), solved by accelerated proximal gradient
    for one λ after the other. The penalty serves to select; coefficients are those of the projection (R2) in the end.

    Larger subsets need not contain smaller ones.

    Parameters
    ----------
    adaptive : bool, default=True
        Take :math:`c_i` inversely proportional to :math:`\max_c |\alpha_{ic}|`, with :math:`c_i = 1` where that is
        the mean: small coefficients are shrunk more. Otherwise all :math:`c_i = 1`.
    tol : float, default=1e-4
        Largest violation of the conditions of optimality (R14), (R16), relative to :math:`\max_i \sum_c |(K
        \alpha)_{ic}|`. Paths of one target are exact up to rounding.
    max_iter : int, default=2000
        Largest number of proximal gradient steps for one λ.

    See Also
    --------
    Select : Greedy steps in place of a penalty.
    Construct : New points in place of a subset.
    preimage.LinearProgrammingRegressor : Machines that are trained with such a penalty.

    References
    ----------
    .. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
       Networks 10, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced_sets import SelectL1
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0], [0.1], [5.0]]), np.array([[1.0], [0.1], [-1.0]]))
    >>> SelectL1().reduce(target, 2).expansion.points
    array([[0.],
           [5.]])
    """

    _parameter_constraints = {
        "adaptive": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, adaptive: bool = True, tol: float = 1e-4, max_iter: int = 2000) -> None:
        self.adaptive = adaptive
        self.tol = tol
        self.max_iter = max_iter

    @finite_reduction
    def reduce(
        self, target: Expansion, n_points: int, *, X: Array | None = None, rng: np.random.Generator | None = None
    ) -> Reduction:
        """Approximate all vectors of `target` on at most `n_points` of its points.

        Takes the last support before the first one with more points, as the penalty falls.
        """
        check_parameters(self)
        check_n_points(n_points)
        target = target.merged(by_image=True)
        if n_points >= target.points.shape[0]:
            return Reduction(project(target, target.points))
        problem = PenalizedProblem(target, self.adaptive)
        if len(target) == 1:
            return problem.reduction(*problem.support_on_path(n_points))
        return problem.reduction(*problem.support_by_bisection(n_points, self.tol, self.max_iter))

    def penalty_path(self, target: Expansion) -> "PenaltyPath":
        """Solutions of (R12) for all penalties, of one target.

        Between neighboring penalties of the path, coefficients are linear in the penalty. Where images of points are
        linearly dependent up to rounding, the path ends before the penalty is zero.

        Returns
        -------
        PenaltyPath
        """
        check_parameters(self)
        if len(target) != 1:
            raise ValueError(
                f"SelectL1.penalty_path follows one target; got {len(target)}, whose solutions are not linear in the "
                "penalty. SelectL1.shrink solves for one penalty."
            )
        target = target.merged(by_image=True)
        penalties, coefficients, _ = PenalizedProblem(target, self.adaptive).path()
        return PenaltyPath(target.points, penalties, coefficients, np.count_nonzero(coefficients, axis=0))

    def shrink(self, target: Expansion, penalty: float) -> Expansion:
        """The solution of (R12), or of (R15) for several targets, at one penalty λ.

        Returns
        -------
        Expansion
            On all points of the target with distinct images, with zero coefficients where a point is not needed.
        """
        target, (beta, _, _) = self._solve(target, penalty)
        return Expansion(target.kernel, target.points, from_numpy(beta, target.coefficients))

    def select(self, target: Expansion, penalty: float) -> Reduction:
        """The points that (R12) or (R15) needs at one penalty λ, with the coefficients of the projection (R2).

        Returns
        -------
        Reduction
        """
        target, (beta, converged, n_iter) = self._solve(target, penalty)
        reason = Reason.CONVERGED if converged else Reason.ITERATION_LIMIT
        return PenalizedProblem(target, self.adaptive).reduction(
            np.flatnonzero(beta.any(axis=1)), converged, reason, n_iter
        )

    def _solve(self, target: Expansion, penalty: float) -> tuple[Expansion, tuple[np.ndarray, bool, int]]:
        check_parameters(self)
        if not penalty >= 0:
            raise ValueError(f"SelectL1 needs a penalty that is not negative; got {penalty!r}.")
        target = target.merged(by_image=True)
        if penalty == 0:
            return target, (to_numpy(target.coefficients), True, 0)
        problem = PenalizedProblem(target, self.adaptive)
        return target, problem.solve(float(penalty), self.tol, self.max_iter)


@dataclass(frozen=True)
class PenaltyPath:
    """Solutions of a penalised problem for all penalties.

    Attributes
    ----------
    points : array of shape (m, d)
    penalties : array of shape (s,), in NumPy, descending
    coefficients : array of shape (m, s), in NumPy
    n_nonzero : array of shape (s,), in NumPy
        How many points each solution needs.
    """

    points: Array
    penalties: np.ndarray
    coefficients: np.ndarray
    n_nonzero: np.ndarray
