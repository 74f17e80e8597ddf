"""Selection by an L1 penalty: keep the points whose coefficients survive shrinking."""

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from preimage._arrays import from_numpy, take_rows, to_numpy
from preimage._validation import Interval, check_parameters
from preimage.feature_space import Expansion, Gram
from preimage.reduced_sets._group_lasso import group_lasso, row_norms
from preimage.reduced_sets._projection import merged, project, require_euclidean
from preimage.reduced_sets._reducer import Reducer, Reduction, check_n_points

# Ratio of neighboring penalties on the way from the largest to one with enough points, and where the way ends.
RATIO = 0.7
SMALLEST_PENALTY = 1e-7
# Tolerance on that way when only its end is wanted.
ROUGH = 1e-2
# Bisections between the two penalties that enclose the wanted number of points.
BISECTIONS = 8


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
        the mean: what is small already is shrunk more. Otherwise all :math:`c_i = 1`.
    tol : float, default=1e-4
        Largest violation of the conditions of optimality (R14), (R16), as a share of :math:`\max_i \sum_c |(K
        \alpha)_{ic}|`. Paths of one target are exact up to rounding.
    max_iter : int, default=2000
        Largest number of proximal gradient steps for one λ.

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

    def __init__(self, adaptive=True, tol=1e-4, max_iter=2000):
        self.adaptive = adaptive
        self.tol = tol
        self.max_iter = max_iter

    def reduce(self, target, n_points, *, X=None, rng=None):
        """Approximate all vectors of `target` on at most `n_points` of its points.

        Takes the last support before the first one with more points, as the penalty falls.
        """
        check_parameters(self)
        check_n_points(n_points)
        target = merged(target)
        if n_points >= target.points.shape[0]:
            return Reduction(project(target, target.points))
        problem = _Problem(target, self.adaptive)
        if len(target) == 1:
            return problem.reduction(*problem.support_on_path(n_points))
        return problem.reduction(*problem.support_by_bisection(n_points, self.tol, self.max_iter))

    def penalty_path(self, target):
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
        target = merged(target)
        penalties, coefficients, _ = _Problem(target, self.adaptive).path()
        return PenaltyPath(target.points, penalties, coefficients, np.count_nonzero(coefficients, axis=0))

    def shrink(self, target, penalty):
        """The solution of (R12), or of (R15) for several targets, at one penalty λ.

        Returns
        -------
        Expansion
            On all points of the target, each once, with zero coefficients where a point is not needed.
        """
        target, (beta, _, _) = self._solve(target, penalty)
        return Expansion(target.kernel, target.points, from_numpy(beta, target.coefficients))

    def select(self, target, penalty):
        """The points that (R12) or (R15) needs at one penalty λ, with the coefficients of the projection (R2).

        Returns
        -------
        Reduction
        """
        target, (beta, converged, n_iter) = self._solve(target, penalty)
        reason = "converged" if converged else "iteration limit"
        return _Problem(target, self.adaptive).reduction(np.flatnonzero(beta.any(axis=1)), converged, reason, n_iter)

    def _solve(self, target, penalty):
        check_parameters(self)
        if not penalty >= 0:
            raise ValueError(f"SelectL1 needs a penalty that is not negative; got {penalty!r}.")
        target = merged(target)
        if penalty == 0:
            return target, (to_numpy(target.coefficients), True, 0)
        problem = _Problem(target, self.adaptive)
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

    points: Any
    penalties: np.ndarray
    coefficients: np.ndarray
    n_nonzero: np.ndarray


class _Problem:
    """(R12) or (R15) in numbers, on the points that may have a coefficient at all."""

    def __init__(self, target, adaptive):
        self.target = target
        gram = to_numpy(Gram(target.kernel, target.points).dense()).astype(float)
        require_euclidean(target.kernel, gram, "SelectL1")
        alpha = to_numpy(target.coefficients).astype(float)
        sizes = np.abs(alpha).max(axis=1)
        # An adaptive weight of infinity keeps a coefficient at zero; so does an image of length zero.
        self.rows = np.flatnonzero(((sizes > 0) | (not adaptive)) & (gram.diagonal() > 0))
        self.inner = (gram @ alpha)[self.rows]  # ⟨Ψ_c, φ(xᵢ)⟩
        self.gram = gram[np.ix_(self.rows, self.rows)]
        sizes = sizes[self.rows]
        self.weights = sizes.mean() / sizes if adaptive and sizes.size else np.ones(self.rows.size)
        self.m = alpha.shape[0]

    @property
    def largest_penalty(self):
        """The smallest λ without any points."""
        return (row_norms(self.inner) / self.weights).max(initial=0.0)

    def path(self, max_iter=np.inf, smallest=0.0):
        """Penalties, coefficients (m, steps) and whether the path came to its end."""
        top = self.largest_penalty
        if top == 0:
            return np.zeros(1), np.zeros((self.m, 1)), True
        # LARS has absolute tolerances: both K and ⟨Ψ, φ⟩ get the largest entry one. The scaled lasso has wᵢ = cᵢβᵢ.
        gram = self.gram / np.outer(self.weights, self.weights)
        scale = gram.diagonal().max()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            alphas, _, coefficients = lars_path_gram(
                self.inner[:, 0] / self.weights / top,
                gram / scale,
                n_samples=1,
                max_iter=max_iter if max_iter < np.inf else 10 * self.rows.size + 100,
                alpha_min=smallest / top,
                method="lasso",
            )
        return alphas * top, self._everywhere(coefficients * (top / scale) / self.weights[:, None]), not caught

    def support_on_path(self, n_points):
        """The last support with at most `n_points` points before one with more."""
        steps, limit = n_points + 16, 10 * self.rows.size + 100
        while True:
            penalties, coefficients, complete = self.path(min(steps, limit))
            sizes = np.count_nonzero(coefficients, axis=0)
            reached = np.flatnonzero(sizes > n_points)
            if reached.size or len(penalties) <= steps or steps >= limit:
                break
            steps *= 2
        last = reached[0] - 1 if reached.size else len(penalties) - 1
        larger = coefficients[:, min(last + 1, len(penalties) - 1), None]
        known = bool(reached.size) or complete
        support = self.filled(coefficients[:, last, None], larger, n_points)
        return support, known, "direct" if known else "dependent images", int(last)

    def solve(self, penalty, tol, max_iter, start=None):
        """Coefficients (m, C) for one penalty, whether they are optimal up to `tol`, and the number of steps."""
        if start is None:
            start = self._start(penalty, tol, max_iter)
        limits = penalty * self.weights
        beta, converged, n_iter = group_lasso(self.gram, self.inner, limits, start[self.rows], tol, max_iter)
        return self._everywhere(beta), converged, n_iter

    def support_by_bisection(self, n_points, tol, max_iter):
        """The largest support with at most `n_points` points around the penalty where supports become larger."""
        high = self.largest_penalty
        low, end, steps = high, SMALLEST_PENALTY * high, 0
        best = larger = np.zeros((self.m, self.inner.shape[1]))
        converged, bisections = True, 0
        while low > end and bisections < BISECTIONS and _size(best) < n_points:
            enclosed = low < high
            middle = np.sqrt(low * high) if enclosed else RATIO * high
            beta, fine, n_iter = self.solve(middle, tol, max_iter, best)
            steps, bisections = steps + n_iter, bisections + enclosed
            if _size(beta) > n_points:
                low, larger = middle, beta
            else:
                low, high = (low if enclosed else middle), middle
                best, converged = beta, fine
        support = self.filled(best, larger, n_points)
        return support, converged, "converged" if converged else "iteration limit", steps

    def filled(self, best, larger, n_points):
        """The support of `best`, with points of a larger one up to `n_points`: several may come at the same penalty."""
        sizes = np.abs(larger).max(axis=1)
        sizes[self.rows] *= self.weights
        sizes[best.any(axis=1)] = np.inf
        order = np.argsort(-sizes, kind="stable")[:n_points]
        return np.sort(order[sizes[order] > 0])

    def reduction(self, support, converged, reason, n_iter):
        """The projection on the points of a support."""
        # The zero vector still needs a point.
        support = support if support.size else np.zeros(1, int)
        return Reduction(project(self.target, take_rows(self.target.points, support)), None, converged, reason, n_iter)

    def _start(self, penalty, tol, max_iter):
        if self.inner.shape[1] == 1:
            return self.path(smallest=penalty)[1][:, -1:]
        # From one larger penalty to the next supports stay small for long, and so do the problems.
        beta, larger = np.zeros((self.m, self.inner.shape[1])), RATIO * self.largest_penalty
        while larger * RATIO > penalty and larger > SMALLEST_PENALTY * self.largest_penalty:
            beta, larger = self.solve(larger, max(tol, ROUGH), max_iter, beta)[0], RATIO * larger
        return beta

    def _everywhere(self, rows):
        """Zeros for the points left out."""
        result = np.zeros((self.m, rows.shape[1]))
        result[self.rows] = rows
        return result


def _size(beta):
    return int(np.count_nonzero(beta.any(axis=1)))
