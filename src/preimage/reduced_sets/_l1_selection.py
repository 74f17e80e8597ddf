"""Selection by an L1 penalty: keep the points whose coefficients survive shrinking."""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.exceptions import ConvergenceWarning

from preimage._engine.arrays import take_rows, to_numpy
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import Reason
from preimage.feature_space import Expansion
from preimage.reduced_sets._reducer import (
    Reducer,
    Reduction,
    check_n_points,
    finite_reduction,
    held_gram,
    project,
)

# Ratio of neighbouring penalties on the way from the largest to one with enough points, and the ratio to the largest at
# which the way ends. Larger ratios cost more solutions, smaller ones start each solution farther away; below the end
# penalties have no effect beyond `tol`.
RATIO = 0.7
SMALLEST_PENALTY = 1e-7
# Tolerance on that way when only its end is wanted: intermediate solutions are starts.
ROUGH = 1e-2
# Bisections between the two penalties that enclose the wanted number of points: 0.7 becomes 0.7^(1/256).
BISECTIONS = 8
# Coefficients on a path that count as zero, relative to the largest of the same step: rounding of the path is far
# below, coefficients that matter far above.
ROUNDING = 1e-12
# Steps of a path beyond the wanted number of points: a few points leave the path again.
SPARE_STEPS = 16
# Lanczos approaches the largest eigenvalue from below, to the relative accuracy below; with the margin, the step is
# not longer than the inverse of the true one.
MARGIN, LANCZOS_TOL = 1.01, 1e-3
# Below this many rows all eigenvalues cost less than a few of them.
SMALL = 32


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
        problem = _PenalizedProblem(target, self.adaptive)
        if len(target) == 1:
            return problem.reduction(*problem.support_on_path(n_points))
        return problem.reduction(*problem.support_by_bisection(n_points, self.tol, self.max_iter))

    def select(self, target: Expansion, penalty: float) -> Reduction:
        """The points that (R12) or (R15) needs at one penalty λ, with the coefficients of the projection (R2).

        Returns
        -------
        Reduction
        """
        problem, beta, converged, n_iter = self._shrunk(target, penalty)
        reason = Reason.CONVERGED if converged else Reason.ITERATION_LIMIT
        return problem.reduction(np.flatnonzero(beta.any(axis=1)), converged, reason, n_iter)

    def _shrunk(self, target: Expansion, penalty: float) -> tuple["_PenalizedProblem", np.ndarray, bool, int]:
        """The problem, its solution at one penalty, whether it is optimal, and the number of steps."""
        check_parameters(self)
        if not penalty >= 0:
            raise ValueError(f"SelectL1 needs a penalty that is not negative; got {penalty!r}.")
        problem = _PenalizedProblem(target.merged(by_image=True), self.adaptive)
        if penalty == 0:
            return problem, to_numpy(problem.target.coefficients), True, 0
        return problem, *problem.solve(float(penalty), self.tol, self.max_iter)


class _PenalizedProblem:
    """(R12) or (R15) as arrays, on the points whose coefficient may differ from zero."""

    def __init__(self, target: Expansion, adaptive: bool) -> None:
        self.target = target
        gram = held_gram(target, "SelectL1", "Select('forward') and Construct() need little memory.")
        alpha = to_numpy(target.coefficients).astype(float)
        sizes = np.abs(alpha).max(axis=1)
        # An adaptive weight of infinity keeps a coefficient at zero; so does an image of length zero.
        self.rows = np.flatnonzero(((sizes > 0) | (not adaptive)) & (gram.diagonal() > 0))
        self.inner = (gram @ alpha)[self.rows]  # ⟨Ψ_c, φ(xᵢ)⟩
        self.gram = gram[np.ix_(self.rows, self.rows)]
        sizes = sizes[self.rows]
        self.weights = sizes.mean() / sizes if adaptive and sizes.size else np.ones(self.rows.size)
        self.m = alpha.shape[0]
        # The smallest λ without any points; and steps that no path needs: points join and leave a few times each.
        self.largest_penalty = float((row_norms(self.inner) / self.weights).max(initial=0.0))
        self.longest_path = 10 * self.rows.size + 100

    def path(self, max_iter: int | None = None, smallest: float = 0.0) -> tuple[np.ndarray, np.ndarray, bool]:
        """Penalties, coefficients (m, steps) and whether the path came to its end."""
        top = self.largest_penalty
        if top == 0:
            return np.zeros(1), np.zeros((self.m, 1)), True
        from sklearn.linear_model import lars_path_gram

        # LARS has absolute tolerances: both K and ⟨Ψ, φ⟩ get the largest entry one. The scaled lasso has wᵢ = cᵢβᵢ.
        gram = self.gram / np.outer(self.weights, self.weights)
        scale = gram.diagonal().max()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            alphas, _, coefficients = lars_path_gram(
                self.inner[:, 0] / self.weights / top,
                gram / scale,
                n_samples=1,
                max_iter=self.longest_path if max_iter is None else max_iter,
                alpha_min=smallest / top,
                method="lasso",
            )
        # Where a coefficient reaches zero again it is a rounding error there.
        small = np.abs(coefficients) <= ROUNDING * np.abs(coefficients).max(axis=0)
        coefficients = np.where(small, 0.0, coefficients * (top / scale) / self.weights[:, None])
        return alphas * top, self._everywhere(coefficients), not caught

    def support_on_path(self, n_points: int) -> tuple[np.ndarray, bool, Reason, int]:
        """The last support with at most `n_points` points before one with more."""
        # First follow the path far enough. Every step lets one point join or leave, so that few more steps than points
        # are usually needed; where many points leave again, twice as many steps are tried.
        steps = n_points + SPARE_STEPS
        while True:
            penalties, coefficients, complete = self.path(min(steps, self.longest_path))
            too_large = np.flatnonzero(np.count_nonzero(coefficients, axis=0) > n_points)
            ended = len(penalties) <= steps or steps >= self.longest_path
            if too_large.size or ended:
                break
            steps *= 2
        # Then take the step before the first one with too many points, or the end of the path.
        last = int(too_large[0]) - 1 if too_large.size else len(penalties) - 1
        following = min(last + 1, len(penalties) - 1)
        support = self.filled(coefficients[:, last, None], coefficients[:, following, None], n_points)
        known = bool(too_large.size) or complete
        return support, known, Reason.DIRECT if known else Reason.DEPENDENT_IMAGES, last

    def solve(
        self, penalty: float, tol: float, max_iter: int, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, bool, int]:
        """Coefficients (m, C) for one penalty, whether they are optimal up to `tol`, and the number of steps."""
        if start is None:
            start = self._start(penalty, tol, max_iter)
        limits = penalty * self.weights
        beta, converged, n_iter = group_lasso(self.gram, self.inner, limits, start[self.rows], tol, max_iter)
        return self._everywhere(beta), converged, n_iter

    def support_by_bisection(self, n_points: int, tol: float, max_iter: int) -> tuple[np.ndarray, bool, Reason, int]:
        """The largest support with at most `n_points` points around the penalty where supports become larger."""
        low = high = self.largest_penalty
        end, steps, bisections = SMALLEST_PENALTY * high, 0, 0
        best = larger = np.zeros((self.m, self.inner.shape[1]))
        converged = True
        # Invariant: `best` is the solution at `high` and has at most n_points points. While low = high no penalty with
        # more points is known, and the penalty falls; then `larger` is the solution at `low`, and the two are bisected.
        while low > end and bisections < BISECTIONS and _size(best) < n_points:
            enclosed = low < high
            middle = float(np.sqrt(low * high)) if enclosed else RATIO * high
            beta, fine, n_iter = self.solve(middle, tol, max_iter, best)
            steps, bisections = steps + n_iter, bisections + enclosed
            if _size(beta) > n_points:
                low, larger = middle, beta
            else:
                low, high = (low if enclosed else middle), middle
                best, converged = beta, fine
        support = self.filled(best, larger, n_points)
        return support, converged, Reason.CONVERGED if converged else Reason.ITERATION_LIMIT, steps

    def filled(self, best: np.ndarray, larger: np.ndarray, n_points: int) -> np.ndarray:
        """The support of `best`, filled up to `n_points` from a larger solution: several points may join at once."""
        sizes = np.abs(larger).max(axis=1)
        sizes[self.rows] *= self.weights
        sizes[best.any(axis=1)] = np.inf
        order = np.argsort(-sizes, kind="stable")[:n_points]
        return np.sort(order[sizes[order] > 0])

    def reduction(self, support: np.ndarray, converged: bool, reason: Reason, n_iter: int) -> Reduction:
        """The projection on the points of a support."""
        # The zero vector still needs a point.
        support = support if support.size else np.zeros(1, int)
        return Reduction(project(self.target, take_rows(self.target.points, support)), None, converged, reason, n_iter)

    def _start(self, penalty: float, tol: float, max_iter: int) -> np.ndarray:
        """Coefficients to start from at one penalty: those of a larger one."""
        if self.inner.shape[1] == 1:
            return self.path(smallest=penalty)[1][:, -1:]
        # Falling penalties keep supports, and with them the problems, small for most of the way.
        beta, larger = np.zeros((self.m, self.inner.shape[1])), RATIO * self.largest_penalty
        while larger * RATIO > penalty and larger > SMALLEST_PENALTY * self.largest_penalty:
            beta, larger = self.solve(larger, max(tol, ROUGH), max_iter, beta)[0], RATIO * larger
        return beta

    def _everywhere(self, rows: np.ndarray) -> np.ndarray:
        """Coefficients of all points, from those of `self.rows`; zeros for the others."""
        result = np.zeros((self.m, rows.shape[1]))
        result[self.rows] = rows
        return result


def _size(beta: np.ndarray) -> int:
    """The number of points with a coefficient."""
    return int(np.count_nonzero(beta.any(axis=1)))


def group_lasso(
    gram: np.ndarray, inner: np.ndarray, limits: np.ndarray, start: np.ndarray, tol: float, max_iter: int
) -> tuple[np.ndarray, bool, int]:
    r"""Minimise :math:`\frac12 \mathrm{tr}\,\beta^\top K \beta - \mathrm{tr}\,\beta^\top G + \sum_i t_i \max_c
    |\beta_{ic}|` over β of shape (m, C)  (R15).

    Accelerated proximal gradient on the rows that are not zero or should not be; rows join while (R16) is violated.

    Parameters
    ----------
    gram : array K of shape (m, m)
    inner : array G = Kα of shape (m, C)
    limits : array t of shape (m,), positive
    start : array of shape (m, C)
    tol : float
        Largest violation of (R16), relative to the longest row of G in the 1-norm.
    max_iter : int

    Returns
    -------
    beta, converged, n_iter
    """
    beta, active = start, start.any(axis=1)
    threshold = tol * row_norms(inner).max(initial=0.0)
    converged, spent = True, 0
    while True:
        rows = np.flatnonzero(active)
        # (R16) for rows that are zero: the 1-norm of the gradient must not exceed the limit.
        excess = row_norms(inner - gram[:, rows] @ beta[rows]) - limits
        violating = (excess > threshold) & ~active
        if spent and not (converged and violating.any()):
            return beta, converged, spent
        active = active | violating
        # Rows outside the active set are zero, so the problem on the active rows is the problem itself.
        rows, beta = np.flatnonzero(active), np.zeros_like(beta) if not spent else beta.copy()
        first = start[rows] if not spent else beta[rows]
        problem = gram[np.ix_(rows, rows)], inner[rows], limits[rows]
        beta[rows], converged, steps = _accelerated(*problem, first, threshold, max_iter - spent)
        spent += max(steps, 1)


def row_norms(A: np.ndarray) -> np.ndarray:
    """Σ_c |a_ic|, the norm dual to the maximum."""
    return np.abs(A).sum(axis=1)


def shrink_rows(V: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """prox of tᵢ‖·‖∞ in every row: v − Π(v), with Π the projection on the ℓ1 ball of radius tᵢ.

    Π lowers all moduli by θ = maxₖ (sₖ − t)/k, where sₖ is the sum of the k largest; so no remaining modulus exceeds θ.
    """
    sums = np.cumsum(-np.sort(-np.abs(V), axis=1), axis=1)
    caps = ((sums - radii[:, None]) / np.arange(1, V.shape[1] + 1)).max(axis=1)
    caps = np.maximum(caps, 0.0)[:, None]
    return np.clip(V, -caps, caps)


def _accelerated(
    gram: np.ndarray, inner: np.ndarray, limits: np.ndarray, start: np.ndarray, threshold: float, max_iter: int
) -> tuple[np.ndarray, bool, int]:
    """Accelerated proximal gradient (FISTA), restarted whenever its momentum points uphill."""
    if start.shape[0] == 0:
        return start, True, 0
    step = 1 / (MARGIN * _largest_eigenvalue(gram))
    beta = ahead = start
    momentum = 1.0
    for iteration in range(1, max_iter + 1):
        # A gradient step of the quadratic part, then the proximal map of the penalty; `ahead` is the extrapolated
        # point.
        new = shrink_rows(ahead + step * (inner - gram @ ahead), step * limits)
        change = new - beta
        # (ahead − new)/step is a generalised gradient, which vanishes at a minimum.
        if np.abs(new - ahead).max() <= step * threshold:
            return new, True, iteration
        # The generalised gradient has a positive product with the last change: the momentum leads uphill, so it is
        # dropped.
        if np.sum((ahead - new) * change) > 0:
            momentum, ahead = 1.0, new
        else:
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / following * change
            momentum = following
        beta = new
    return beta, False, max(max_iter, 0)


def _largest_eigenvalue(gram: np.ndarray) -> float:
    n = gram.shape[0]
    if n <= SMALL:
        return max(float(np.linalg.eigvalsh(gram)[-1]), np.finfo(float).tiny)
    return float(eigsh(gram, k=1, which="LA", tol=LANCZOS_TOL, v0=np.ones(n), return_eigenvectors=False)[0])
