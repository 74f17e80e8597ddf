"""Eigenvectors and kernel PCA in extended precision: slow, short, and independent of the library.

`np.longdouble` has 64 bits of mantissa on x86: three to four digits more than double, and on other machines as many or
more; where it is no better than double, the tests that need it are skipped.
"""

import numpy as np
import pytest

LONG = np.longdouble
LONG_EPSILON = float(np.finfo(LONG).eps)

needs_long_double = pytest.mark.skipif(
    LONG_EPSILON > 1e-18, reason="np.longdouble is no more precise than double on this machine"
)


def eigh(A, sweeps=40):
    """Eigenpairs of a symmetric matrix by Jacobi rotations, n/2 disjoint ones at a time; largest eigenvalue first."""
    A = np.array(A, dtype=LONG)
    n = len(A)
    size = n + n % 2  # an even number of rows, so that all can be paired
    B = np.zeros((size, size), LONG)
    B[:n, :n] = A
    U = np.eye(size, dtype=LONG)
    players = np.arange(size)
    scale = np.sqrt(np.sum(B * B))
    for _ in range(sweeps):
        for _ in range(size - 1):
            half = size // 2
            p, q = players[:half], players[: half - 1 : -1]
            _rotate(B, U, p, q)
            players = np.concatenate([players[:1], players[-1:], players[1:-1]])  # round robin: every pair meets once
        off = np.sqrt(np.sum(np.tril(B, -1) ** 2))
        if off <= LONG_EPSILON * scale / 64:
            break
    values, U = np.diag(B)[:], U
    # Rows that were added have eigenvectors of their own, outside of the first n coordinates.
    real = np.sum(U[:n] ** 2, axis=0) > 0.5
    values, U = values[real], U[:n, real]
    order = np.argsort(-values)
    return values[order], U[:, order]


def _rotate(B, U, p, q):
    a, b, c = B[p, p], B[q, q], B[p, q]
    theta = np.where(c == 0, LONG(0), (b - a) / (2 * np.where(c == 0, LONG(1), c)))
    t = np.where(c == 0, LONG(0), np.where(theta >= 0, LONG(1), LONG(-1)) / (np.abs(theta) + np.sqrt(theta**2 + 1)))
    cosine = 1 / np.sqrt(t * t + 1)
    sine = t * cosine
    for M in (B, U):
        left, right = M[:, p].copy(), M[:, q].copy()
        M[:, p], M[:, q] = cosine * left - sine * right, sine * left + cosine * right
    upper, lower = B[p].copy(), B[q].copy()
    B[p], B[q] = cosine[:, None] * upper - sine[:, None] * lower, sine[:, None] * upper + cosine[:, None] * lower


def squared_distances(X, Y):
    """‖x − y‖² from differences, without cancellation."""
    X, Y = np.asarray(X, LONG), np.asarray(Y, LONG)
    return np.sum((X[:, None, :] - Y[None, :, :]) ** 2, axis=2)


def gaussian(X, Y, gamma):
    return np.exp(-LONG(gamma) * squared_distances(X, Y))


def polynomial(X, Y, degree=3, gamma=1.0, coef0=1.0):
    return (LONG(gamma) * (np.asarray(X, LONG) @ np.asarray(Y, LONG).T) + LONG(coef0)) ** degree


def laplacian(X, Y, gamma):
    X, Y = np.asarray(X, LONG), np.asarray(Y, LONG)
    return np.exp(-LONG(gamma) * np.sum(np.abs(X[:, None, :] - Y[None, :, :]), axis=2))


def linear(X, Y):
    return np.asarray(X, LONG) @ np.asarray(Y, LONG).T


class KernelPCA:
    """Weighted kernel PCA by its textbook formulas, all components, in extended precision.

    Attributes
    ----------
    values : eigenvalues of the centred (and weighted) Gram matrix, descending
    coordinates(Z) : of new points, one column per eigenvalue
    residual(Z, k) : squared distance to the first k axes
    """

    def __init__(self, kernel, X, weights=None):
        X = np.asarray(X, LONG)
        w = np.ones(len(X), LONG) if weights is None else np.asarray(weights, LONG)
        self.kernel, self.X, self.w = kernel, X, w
        K = kernel(X, X)
        self.means = K @ w / w.sum()  # ⟨φ(xᵢ), φ̄⟩
        self.grand = w @ self.means / w.sum()
        centered = K - self.means[:, None] - self.means[None, :] + self.grand
        root = np.sqrt(w)
        self.values, self.vectors = eigh(root[:, None] * centered * root[None, :])

    def centered(self, Z):
        K = self.kernel(np.asarray(Z, LONG), self.X)
        at_mean = K @ self.w / self.w.sum()
        return K - at_mean[:, None] - self.means[None, :] + self.grand

    def coordinates(self, Z, k=None):
        values, vectors = np.maximum(self.values[:k], np.finfo(LONG).tiny), self.vectors[:, :k]
        return self.centered(Z) @ (np.sqrt(self.w)[:, None] * vectors) / np.sqrt(values)

    def residual(self, Z, k):
        Z = np.asarray(Z, LONG)
        own = np.array([self.kernel(z[None], z[None])[0, 0] for z in Z])
        at_mean = self.kernel(Z, self.X) @ self.w / self.w.sum()
        return own - 2 * at_mean + self.grand - np.sum(self.coordinates(Z, k) ** 2, axis=1)
