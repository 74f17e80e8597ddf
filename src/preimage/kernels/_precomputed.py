"""Kernels whose values come from elsewhere."""

import numpy as np

from preimage._arrays import array_namespace, floating_type, from_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._kernel import Kernel


class Precomputed(Kernel):
    """A kernel known only through its values with the training points.

    "Inputs" of fitted models are rows of kernel values k(z, x₁) … k(z, xₙ); the training points themselves are known
    by their numbers, a column of integers. What needs k(z, z) of new points says so.

    Parameters
    ----------
    gram : array of shape (n, n) or None
        Values among the training points; `resolve(K)` fills it in. Without them (a fitted SVC keeps none) rows of
        values can still be evaluated; what needs values among training points says so.
    """

    has_gradient = False
    _parameter_constraints = {"gram": ["array-like", None]}

    def __init__(self, gram=None):
        self.gram = gram

    def _resolve_parameter(self, name, value, X):
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix; got shape {tuple(X.shape)}. "
                "Fit on k(X_train, X_train), then transform k(X_new, X_train)."
            )
        return X

    def inputs(self, X):
        xp = array_namespace(X)
        return from_numpy(np.arange(X.shape[0])[:, None], X, dtype=xp.int64)

    def known_values(self, X, Y):
        known = self.gram is not None and X is Y and _are_numbers(X)
        return self.gram if known and _covers_all(X, self.gram.shape[0]) else None

    def value_type(self, X):
        return floating_type(X if self.gram is None else self.gram)

    def blocks(self, X, Y):
        if not _are_numbers(Y):
            if X is Y:  # all pairs of training points
                return lambda rows, columns: X[rows, columns]
            raise UnsupportedKernelError(
                "A precomputed kernel has no values between two sets of new points; one side must be training points."
            )
        values = self._gram_rows(X) if _are_numbers(X) else X
        n = values.shape[1] if self.gram is None else self.gram.shape[0]
        values = array_namespace(values).take(values, Y[:, 0], axis=1) if not _covers_all(Y, n) else values
        return lambda rows, columns: values[rows, columns]

    def diagonal(self, X):
        if not _are_numbers(X):
            raise UnsupportedKernelError(
                "A precomputed kernel does not know k(z, z) of new points. Pass them as `diagonal=`, "
                "or give the kernel itself instead of kernel='precomputed'."
            )
        gram = self._require_gram()
        xp = array_namespace(gram)
        return xp.take(xp.linalg.diagonal(gram), X[:, 0])

    def gradient(self, Z, X, weights):
        self.require_gradient("This")

    def diagonal_gradient(self, Z):
        self.require_gradient("This")

    def _gram_rows(self, numbers):
        gram = self._require_gram()
        return array_namespace(gram).take(gram, numbers[:, 0], axis=0)

    def _require_gram(self):
        if self.gram is None:
            raise UnsupportedKernelError(
                "This precomputed kernel does not hold the values among training points, which are needed here. "
                "Give them as Precomputed(gram=k(X_train, X_train)), or fit the model with the kernel itself."
            )
        return self.gram


class CallableKernel(Kernel):
    """A kernel given as a function, of two rows or of two matrices.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` → number for two rows, as in scikit-learn's KernelPCA, or ``function(X, Y)`` → matrix of
        shape (n, m), as in its SVC. Which one it is, is found out by trying it on a few rows.
    parameters : dict or None, default=None
        Further keyword arguments of `function`.
    gradient_function : callable or None, default=None
        ``gradient_function(Z, X, weights)`` → Σᵢ wⱼᵢ ∇₁k(zⱼ, xᵢ) of shape (q, d).
    positive_semidefinite : bool, default=False
        Say True to promise that no eigenvalue is negative.
    """

    _parameter_constraints = {
        "function": [callable],
        "parameters": [dict, None],
        "gradient_function": [callable, None],
        "positive_semidefinite": ["boolean"],
    }

    def __init__(self, function, parameters=None, gradient_function=None, positive_semidefinite=False):
        self.function = function
        self.parameters = parameters
        self.gradient_function = gradient_function
        self.positive_semidefinite = positive_semidefinite

    @property
    def is_positive_semidefinite(self):
        return self.positive_semidefinite

    @property
    def has_gradient(self):
        return self.gradient_function is not None

    def blocks(self, X, Y):
        evaluate = self._matrix if self._takes_matrices(X, Y) else self._pairs
        return lambda rows, columns: evaluate(X[rows, :], Y[columns, :])

    def diagonal(self, X):
        if self._takes_matrices(X, X):
            values = [self._matrix(X[i : i + 1, :], X[i : i + 1, :])[0, 0] for i in range(X.shape[0])]
        else:
            values = [self._value(X[i], X[i]) for i in range(X.shape[0])]
        return from_numpy(np.asarray([float(value) for value in values]), X)

    def gradient(self, Z, X, weights):
        self.require_gradient("This")
        return self.gradient_function(Z, X, weights)

    def diagonal_gradient(self, Z):
        # k is symmetric, so d/dz k(z, z) = 2 ∇₁k(z, z).
        xp = array_namespace(Z)
        rows = [
            self.gradient(row, row, xp.ones((1, 1), dtype=Z.dtype)) for row in (Z[i : i + 1] for i in range(len(Z)))
        ]
        return 2 * xp.concat(rows, axis=0)

    def _value(self, x, y):
        return self.function(x, y, **(self.parameters or {}))

    def _matrix(self, X, Y):
        values = self._value(X, Y)
        return array_namespace(X, Y).asarray(values, dtype=X.dtype)

    def _pairs(self, X, Y):
        values = [[float(self._value(x, y)) for y in Y] for x in X]
        return from_numpy(np.asarray(values).reshape(X.shape[0], Y.shape[0]), X)

    def _takes_matrices(self, X, Y):
        """Two rows against three: only a function of matrices answers with shape (2, 3)."""
        take = lambda array, rows: array[np.arange(rows) % array.shape[0], :]
        try:
            return tuple(self._value(take(X, 2), take(Y, 3)).shape) == (2, 3)
        except Exception:
            return False


def _covers_all(numbers, n):
    """Whether `numbers` are 0 … n − 1 in this order."""
    xp = array_namespace(numbers)
    return numbers.shape[0] == n and bool(xp.all(numbers[1:, 0] - numbers[:-1, 0] == 1))


def _are_numbers(points):
    return "int" in str(points.dtype)
