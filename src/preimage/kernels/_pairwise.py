"""Pairwise quantities: what profile kernels are functions of. The one file where sparse input is special."""

from abc import ABC, abstractmethod

from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from preimage._arrays import (
    array_namespace,
    clamp_at_zero,
    device_kwargs,
    inner_products,
    is_sparse,
    squared_row_norms,
    to_dense,
)


class PairwiseQuantity(ABC):
    """s(x, y) for all pairs of rows, and what the chain rule needs of it.

    A quantity has no parameters; two of the same class are the same.
    """

    #: Whether s is a distance of x and y that vanishes at x = y.
    is_distance = True

    @abstractmethod
    def blocks(self, X, Y):
        """f with f(rows, columns) = s(X[rows], Y[columns]), a fresh array for slices of rows and columns."""

    def against(self, Y):
        """f with f(Z) = s(Z, Y), for many Z against the same points."""
        return lambda Z: self.blocks(Z, Y)(slice(None), slice(None))

    @abstractmethod
    def gradient(self, Z, X, weights):
        """Σᵢ wⱼᵢ ∇₁s(zⱼ, xᵢ), shape (q, d)."""

    def diagonal(self, X):
        """s(x, x) for every row."""
        xp = array_namespace(X)
        return xp.zeros(X.shape[0], dtype=X.dtype, **device_kwargs(X))

    def diagonal_gradient(self, Z):
        """Gradient of z ↦ s(z, z) for every row."""
        return array_namespace(Z).zeros_like(to_dense(Z))

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))


class InnerProduct(PairwiseQuantity):
    """s = x·y."""

    is_distance = False

    def blocks(self, X, Y):
        return lambda rows, columns: inner_products(X[rows, :], Y[columns, :])

    def diagonal(self, X):
        return squared_row_norms(X)

    def gradient(self, Z, X, weights):
        return weights @ X  # (K0c)

    def diagonal_gradient(self, Z):
        return 2 * to_dense(Z)


class SquaredDistance(PairwiseQuantity):
    """s = ‖x − y‖², as one matrix product of lifted points.

    With both sets shifted by the mean of Y (which the distance does not notice, but its rounding does),
    s = (−2x, ‖x‖², 1)·(y, 1, ‖y‖²), clamped at zero; points compared with themselves give exactly zero.
    """

    def blocks(self, X, Y):
        distances = _sparse_distances(X, Y) if is_sparse(X) or is_sparse(Y) else _lifted_distances(X, Y)
        if X is not Y:
            return distances
        return lambda rows, columns: _without_diagonal(distances(rows, columns), rows, columns, X.shape[0])

    def against(self, Y):
        if is_sparse(Y):
            return super().against(Y)
        lifted = _Lifted(Y)
        return lambda Z: clamp_at_zero(lifted.left(Z) @ lifted.right)

    def gradient(self, Z, X, weights):
        xp = array_namespace(weights)
        return 2 * (xp.sum(weights, axis=1)[:, None] * to_dense(Z) - weights @ X)  # (K0d)


class ManhattanDistance(PairwiseQuantity):
    """s = ‖x − y‖₁ = Σ_f |x_f − y_f|."""

    def blocks(self, X, Y):
        return lambda rows, columns: _manhattan(X[rows, :], Y[columns, :])

    def gradient(self, Z, X, weights):
        xp = array_namespace(weights)
        Z, X = to_dense(Z), to_dense(X)
        # One feature at a time: never a (q, n, d) array.
        columns = [xp.sum(weights * xp.sign(Z[:, f, None] - X[None, :, f]), axis=1) for f in range(Z.shape[1])]
        return xp.stack(columns, axis=1)


class _Lifted:
    """Points y prepared for distances: (y, 1, ‖y‖²), shifted by their mean."""

    def __init__(self, Y):
        xp = array_namespace(Y)
        self.shift = xp.mean(Y, axis=0)
        centered = Y - self.shift
        self.right = xp.concat([centered, _ones(centered), squared_row_norms(centered)[:, None]], axis=1).T

    def left(self, X):
        """(−2x, ‖x‖², 1), whose inner products with the prepared points are squared distances."""
        centered = X - self.shift
        columns = [-2 * centered, squared_row_norms(centered)[:, None], _ones(centered)]
        return array_namespace(X).concat(columns, axis=1)


def _lifted_distances(X, Y):
    lifted = _Lifted(Y)
    left, right = lifted.left(X), lifted.right
    return lambda rows, columns: clamp_at_zero(left[rows, :] @ right[:, columns])


def _ones(points):
    return array_namespace(points).ones((points.shape[0], 1), dtype=points.dtype, **device_kwargs(points))


def _sparse_distances(X, Y):
    left, right = squared_row_norms(X), squared_row_norms(Y)

    def distances(rows, columns):
        s = -2 * inner_products(X[rows, :], Y[columns, :])
        s += left[rows, None]
        s += right[None, columns]
        return clamp_at_zero(s)

    return distances


def _without_diagonal(s, rows, columns, n):
    rows, columns = range(n)[rows], range(n)[columns]
    if rows.start >= columns.stop or columns.start >= rows.stop:
        return s
    xp = array_namespace(s)
    place = device_kwargs(s)
    same = xp.arange(rows.start, rows.stop, **place)[:, None] == xp.arange(columns.start, columns.stop, **place)
    return xp.where(same, xp.zeros_like(s), s)


def _manhattan(X, Y):
    if is_sparse(X) or is_sparse(Y):
        return manhattan_distances(X, Y).astype(X.dtype, copy=False)
    xp = array_namespace(X, Y)
    if xp.__name__.endswith("numpy"):
        return cdist(X, Y, "cityblock").astype(X.dtype, copy=False)
    total = xp.abs(X[:, 0, None] - Y[None, :, 0])
    for f in range(1, X.shape[1]):
        total = total + xp.abs(X[:, f, None] - Y[None, :, f])
    return total
