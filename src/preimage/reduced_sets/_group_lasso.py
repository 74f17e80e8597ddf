"""Least squares in feature space with a penalty on whole rows of coefficients."""

import numpy as np
from scipy.sparse.linalg import eigsh

# Lanczos approaches the largest eigenvalue from below; the step must not be longer than its inverse.
MARGIN = 1.01
# Below this many rows all eigenvalues cost less than a few of them.
SMALL = 32


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
