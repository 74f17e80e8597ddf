"""Coefficients under an L1 penalty, for one penalty, for all, or for a wanted number of points."""

import warnings

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from preimage._arrays import take_rows, to_numpy
from preimage.feature_space import Gram
from preimage.reduced_sets._projection import project, require_euclidean
from preimage.reduced_sets._reducer import Reduction
from preimage.solvers import Reason

# Ratio of neighboring penalties on the way from the largest to one with enough points, and where the way ends.
RATIO = 0.7
SMALLEST_PENALTY = 1e-7
# Tolerance on that way when only its end is wanted.
ROUGH = 1e-2
# Bisections between the two penalties that enclose the wanted number of points.
BISECTIONS = 8
# Coefficients on a path that count as zero, as a share of the largest beside them.
ROUNDING = 1e-12
# Lanczos approaches the largest eigenvalue from below; the step must not be longer than its inverse.
MARGIN = 1.01
# Below this many rows all eigenvalues cost less than a few of them.
SMALL = 32


class PenalizedProblem:
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
        # Where a coefficient reaches zero again it is a rounding error there.
        small = np.abs(coefficients) <= ROUNDING * np.abs(coefficients).max(axis=0)
        coefficients = np.where(small, 0.0, coefficients * (top / scale) / self.weights[:, None])
        return alphas * top, self._everywhere(coefficients), not caught

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
        return support, known, Reason.DIRECT if known else Reason.DEPENDENT_IMAGES, int(last)

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
        return support, converged, Reason.CONVERGED if converged else Reason.ITERATION_LIMIT, steps

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


def group_lasso(gram, inner, limits, start, tol, max_iter):
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
        Largest violation of (R16), as a share of the longest row of G in the 1-norm.
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
        excess = row_norms(inner - gram[:, rows] @ beta[rows]) - limits
        violating = (excess > threshold) & ~active
        if spent and not (converged and violating.any()):
            return beta, converged, spent
        active = active | violating
        rows, beta = np.flatnonzero(active), np.zeros_like(beta) if not spent else beta.copy()
        first = start[rows] if not spent else beta[rows]
        problem = gram[np.ix_(rows, rows)], inner[rows], limits[rows]
        beta[rows], converged, steps = _accelerated(*problem, first, threshold, max_iter - spent)
        spent += max(steps, 1)


def row_norms(A):
    """Σ_c |a_ic|, the norm dual to the maximum."""
    return np.abs(A).sum(axis=1)


def shrink_rows(V, radii):
    """prox of tᵢ‖·‖∞ in every row: v − Π(v), with Π the projection on the ℓ1 ball of radius tᵢ.

    Π lowers all moduli by θ = maxₖ (sₖ − t)/k, where sₖ is the sum of the k largest; so what stays is at most θ.
    """
    sums = np.cumsum(-np.sort(-np.abs(V), axis=1), axis=1)
    caps = ((sums - radii[:, None]) / np.arange(1, V.shape[1] + 1)).max(axis=1)
    caps = np.maximum(caps, 0.0)[:, None]
    return np.clip(V, -caps, caps)


def _accelerated(gram, inner, limits, start, threshold, max_iter):
    """FISTA, which forgets its momentum whenever that points uphill."""
    if start.shape[0] == 0:
        return start, True, 0
    step = 1 / (MARGIN * _largest_eigenvalue(gram))
    beta = ahead = start
    momentum = 1.0
    for iteration in range(1, max_iter + 1):
        new = shrink_rows(ahead + step * (inner - gram @ ahead), step * limits)
        change = new - beta
        if np.abs(new - ahead).max() <= step * threshold:
            return new, True, iteration
        if np.sum((ahead - new) * change) > 0:
            momentum, ahead = 1.0, new
        else:
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / following * change
            momentum = following
        beta = new
    return beta, False, max(max_iter, 0)


def _largest_eigenvalue(gram):
    n = gram.shape[0]
    if n <= SMALL:
        return max(float(np.linalg.eigvalsh(gram)[-1]), np.finfo(float).tiny)
    return float(eigsh(gram, k=1, which="LA", tol=1e-3, v0=np.ones(n), return_eigenvectors=False)[0])
