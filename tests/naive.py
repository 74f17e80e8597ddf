"""The shortest correct version of each formula: oracles for fast code."""

from collections import Counter
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
from scipy.optimize import minimize


def gram(kernel, X, Y):
    """k of every pair, one pair at a time."""
    return np.array([[float(kernel(x[None], y[None])[0, 0]) for y in Y] for x in X])


def centered(K):
    n = len(K)
    H = np.eye(n) - 1 / n
    return H @ K @ H


def centered_test_gram(K_test, K):
    """(S4), as printed."""
    n, ones, test_ones = len(K), np.full_like(K, 1 / len(K)), np.full_like(K_test, 1 / len(K))
    assert K_test.shape[1] == n
    return K_test - test_ones @ K - K_test @ ones + test_ones @ K @ ones


def kernel_pca(K, k):
    """Eigenvalues and coefficients α of exact kernel PCA."""
    values, vectors = np.linalg.eigh(centered(K))
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    return values, vectors / np.sqrt(values)


def monomials(X, degree, constant=0.0):
    """Explicit features of (x·y + c)^d  (K10)."""
    if constant:
        X = np.hstack([X, np.full((len(X), 1), np.sqrt(constant))])
    features = []
    for index in combinations_with_replacement(range(X.shape[1]), degree):
        counts = np.bincount(index, minlength=X.shape[1])
        weight = factorial(degree) / np.prod([factorial(count) for count in counts])
        features.append(np.sqrt(weight) * np.prod(X**counts, axis=1))
    return np.array(features).T


def power_method(A, k, steps=5000):
    """Leading eigenpairs by the power method with deflation."""
    rng = np.random.default_rng(0)
    values, vectors = [], np.empty((len(A), 0))
    for _ in range(k):
        v = rng.normal(size=len(A))
        for _ in range(steps):
            v = A @ v - vectors @ (np.array(values) * (vectors.T @ v))
            v /= np.linalg.norm(v)
        values.append(v @ A @ v)
        vectors = np.column_stack([vectors, v])
    return np.array(values), vectors


def conditional_mean(X, Z, known, *, n_components, noise):
    """Missing entries of Z under a Gaussian with the leading principal variances of X and `noise` along all others."""
    mean = X.mean(axis=0)
    values, axes = np.linalg.eigh((X - mean).T @ (X - mean) / len(X))
    values[:-n_components] = noise
    covariance = axes * values @ axes.T
    Z = Z.copy()
    for row, here in zip(Z, known, strict=True):
        gain = covariance[np.ix_(~here, here)] @ np.linalg.inv(covariance[np.ix_(here, here)])
        row[~here] = mean[~here] + gain @ (row - mean)[here]
    return Z


def interval_machine(K, lower, upper, below, above, weights, alpha, intercept):
    """The minimum of Σ wᵢ·(cost of fᵢ outside of an interval) + α‖f‖² over functions of the kernel, by its dual.

    Of multipliers γ − δ of rows, 0 ≤ γᵢ ≤ below·wᵢ and 0 ≤ δᵢ ≤ above·wᵢ, by a solver that knows nothing of kernels.
    """
    n = len(K)
    ends = np.concatenate([np.where(np.isfinite(lower), lower, 0), -np.where(np.isfinite(upper), upper, 0)])
    most = np.concatenate([below * weights * np.isfinite(lower), above * weights * np.isfinite(upper)])
    difference = np.hstack([np.eye(n), -np.eye(n)])
    Q = difference.T @ K @ difference / (2 * alpha)
    sums = difference.sum(axis=0)
    constraints = [{"type": "eq", "fun": lambda g: sums @ g, "jac": lambda g: sums}] if intercept else []
    found = minimize(
        lambda g: g @ Q @ g / 2 - ends @ g,
        most / 2,
        jac=lambda g: Q @ g - ends,
        bounds=list(zip(np.zeros(2 * n), most)),
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return -found.fun


def feature_distances(kernel, Z, X):
    """‖φ(z) − φ(x)‖ of every pair, one pair at a time; negative squares count as zero."""
    value = lambda x, y: float(kernel(x[None], y[None])[0, 0])
    of_Z, of_X = ([value(row, row) for row in rows] for rows in (Z, X))
    return np.array([[max(a - 2 * value(z, x) + b, 0.0) ** 0.5 for x, b in zip(X, of_X)] for z, a in zip(Z, of_Z)])


def substring_counts(text, shortest, longest):
    """How often each substring of these lengths occurs in a text."""
    lengths = range(shortest, longest + 1)
    return Counter(text[i : i + q] for q in lengths for i in range(len(text) - q + 1))


def string_kernel(x, y, shortest, longest, *, normalize=True):
    """Σ |x|_u |y|_u over substrings u, divided by the root of that of each text with itself; 0/0 is 0."""
    counts = [substring_counts(text, shortest, longest) for text in (x, y)]
    product = lambda one, other: sum(count * other[u] for u, count in one.items())
    lengths = product(counts[0], counts[0]) * product(counts[1], counts[1])
    if not normalize:
        return float(product(*counts))
    return product(*counts) / lengths**0.5 if lengths else 0.0
