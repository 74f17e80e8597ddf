"""Kernels that are known through a matrix of values."""

from collections.abc import Callable
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, floating_type, from_numpy, is_sparse, to_dense
from preimage._engine.typing import Array
from preimage._engine.validation import check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._kernel import Kernel, Prepared


class Precomputed(Kernel):
    """A kernel known only through its values with the training points.

    "Inputs" of fitted models are rows of kernel values k(z, x₁) … k(z, xₙ); the training points themselves are known
    by their row numbers, a column of integers. Methods that need k(z, z) of new points raise an error.

    Parameters
    ----------
    gram : array of shape (n, n) or None, default=None
        Values among the training points; `resolve(K)` fills it in. Without them (a fitted SVC keeps none) rows of
        values can still be evaluated; methods that need values among training points raise an error.

    See Also
    --------
    CallableKernel : A function instead of values; it can be evaluated at new points.
    preimage.KernelPCA : Takes ``kernel="precomputed"``, like scikit-learn's class.

    Examples
    --------
    Components of three objects of which only similarities are known:

    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
    >>> KernelPCA(2, kernel="precomputed").fit(K).explained_variance_ratio_.round(2)
    array([0.75, 0.25])
    """

    has_gradient = False
    points_are_row_numbers = True
    _parameter_constraints = {"gram": ["array-like", None]}

    def __init__(self, gram: Array | None = None) -> None:
        self.gram = gram

    def resolve(self, X: Array) -> "Precomputed":
        """The kernel of the matrix X, square values k(X_train, X_train), whatever `gram` was before."""
        check_parameters(self)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix; got shape {tuple(X.shape)}. "
                "Fit on k(X_train, X_train), then transform k(X_new, X_train)."
            )
        return Precomputed(X)

    def inputs(self, X: Array) -> Array:
        if _are_numbers(X) and X.shape[1] == 1:
            return X
        xp = array_namespace(X)
        return from_numpy(np.arange(X.shape[0])[:, None], X, dtype=xp.int64)

    def known_values(self, X: Array, Y: Array) -> Array | None:
        if self.gram is None or X is not Y or not _are_numbers(X):
            return None
        return self.gram if _covers_all(X, self.gram.shape[0]) else None

    def value_type(self, X: Array) -> Any:
        return floating_type(X if self.gram is None else self.gram)

    def prepare(self, Y: Array) -> Prepared:
        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            values = self._values(X, Y)
            return lambda rows, columns: values[rows, columns]

        return Prepared(self, Y, tiles)

    def _values(self, X: Array, Y: Array) -> Array:
        if not _are_numbers(Y):
            if X is Y:  # all pairs of training points
                return X
            raise UnsupportedKernelError(
                "A precomputed kernel has no values between two sets of new points; one side must be training points."
            )
        values = self._gram_rows(X) if _are_numbers(X) else to_dense(X)
        n = values.shape[1] if self.gram is None else self.gram.shape[0]
        return values if _covers_all(Y, n) else array_namespace(values).take(values, Y[:, 0], axis=1)

    def diagonal(self, X: Array) -> Array:
        if not _are_numbers(X):
            raise UnsupportedKernelError(
                "A precomputed kernel does not know k(z, z) of new points. Pass them as `diagonal=`, "
                "or give the kernel itself instead of kernel='precomputed'."
            )
        gram = self._require_gram()
        xp = array_namespace(gram)
        return xp.take(xp.linalg.diagonal(gram), X[:, 0])

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        self.require_gradient("This")  # raises

    def diagonal_gradient(self, Z: Array) -> Array:
        self.require_gradient("This")  # raises

    def _gram_rows(self, numbers: Array) -> Array:
        gram = self._require_gram()
        return array_namespace(gram).take(gram, numbers[:, 0], axis=0)

    def _require_gram(self) -> Array:
        if self.gram is None:
            raise UnsupportedKernelError(
                "This precomputed kernel does not hold the values among training points, which are needed here. "
                "Give them as Precomputed(gram=k(X_train, X_train)), or fit the model with the kernel itself."
            )
        return self.gram


def _covers_all(numbers: Array, n: int) -> bool:
    """Whether `numbers` are 0 … n − 1 in this order."""
    xp = array_namespace(numbers)
    return numbers.shape[0] == n and bool(xp.all(numbers[1:, 0] - numbers[:-1, 0] == 1))


def _are_numbers(points: Array) -> bool:
    return not is_sparse(points) and bool(array_namespace(points).isdtype(points.dtype, "integral"))
