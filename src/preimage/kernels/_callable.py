"""Kernels given as functions, of two rows or of two matrices."""

import warnings
from collections.abc import Callable
from inspect import signature
from numbers import Real
from typing import Any, Self

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon, from_numpy, is_objects, take_rows, to_dense, to_numpy
from preimage._engine.objects import column_of
from preimage._engine.typing import Array
from preimage._engine.validation import StrOptions, check_parameters
from preimage._engine.warnings import unwarned
from preimage.kernels._kernel import Kernel, Prepared

# Rows on whose pairs symmetry is tried: 16² calls of a function of rows, few compared with the n² of a fit.
SYMMETRY_ROWS = 16
# Values of one pair that differ by more than this multiple of the root of the machine precision, relative to the
# largest value, are two values and not one with rounding errors (1.5e-7 in float64, 3.5e-3 in float32). Functions of
# users lose more digits than ours, but a directed similarity differs by per cents.
DIFFERENT = 10.0


class CallableKernel(Kernel):
    """A kernel given as a function, of two rows or of two matrices.

    Rows may be objects of any kind: texts, sets, graphs, arrays of different lengths. A list of them is given to an
    estimator as it is, and the function gets two of them. Rows of as many numbers each are arrays, as everywhere.

    The function must be symmetric, k(x, y) = k(y, x). `resolve`, hence every fit, tries it on pairs of a few rows
    and refuses one that is not, unless ``symmetric=False`` says that it is meant to have a direction.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` → number for two rows, as in scikit-learn's KernelPCA, or ``function(X, Y)`` → matrix of
        shape (n, m), as in its SVC. Rows of sparse matrices reach a function of rows as dense arrays. Of objects it is
        ``function(a, b)`` → number.
    parameters : dict or None, default=None
        Further keyword arguments of `function`.
    gradient_function : callable or None, default=None
        ``gradient_function(z, x)`` → ∇₁k(z, x) of shape (d,) for two rows, the derivative by the first of them; or, for
        all rows at once and faster, ``gradient_function(Z, X, weights)`` → Σᵢ wⱼᵢ ∇₁k(zⱼ, xᵢ) of shape (q, d). The
        number of arguments without a default decides. `parameters` are not passed to it.
    positive_semidefinite : bool, default=False
        Say True to promise that no eigenvalue is negative.
    takes : {"auto", "rows", "matrices"}, default="auto"
        What `function` is called with. "auto" tries it on a few rows: it takes matrices if it answers different
        numbers of rows and columns with a matrix whose entries are its values for these rows one by one, and rows
        otherwise. A function with different values for rows and for matrices is refused. A function of objects takes
        two of them; with "matrices" it gets two arrays of objects, of shapes (n,) and (m,).
    symmetric : bool, default=True
        Say False of a similarity with a direction, ``function(x, z)`` for an input x and a point z. It has no feature
        space: `EmpiricalKernelMap` makes features of its values, everything else refuses it.

    See Also
    --------
    ProfileKernel : A kernel of your own with gradients, from two short functions.
    Precomputed : Values that are known already.
    preimage.testing.check_kernel : Whether a kernel keeps its contract.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import CallableKernel
    >>> CallableKernel(np.dot)([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])

    Sets, by the fraction that two of them have in common:

    >>> jaccard = CallableKernel(lambda a, b: len(a & b) / len(a | b), positive_semidefinite=True)
    >>> jaccard([{"a", "b"}, {"b", "c"}], [{"b"}])
    array([[0.5],
           [0.5]])

    With its gradient by the first row, so that pre-images are found by descent:

    >>> from preimage import KernelPCA
    >>> kernel = CallableKernel(
    ...     lambda x, y: np.exp(-np.sum((x - y) ** 2)),
    ...     gradient_function=lambda z, x: -2 * (z - x) * np.exp(-np.sum((z - x) ** 2)),
    ... )
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> KernelPCA(5, kernel=kernel, preimage="gradient").fit(X).denoise(X[:3]).shape
    (3, 2)
    """

    takes_objects = True

    _parameter_constraints = {
        "function": [callable],
        "parameters": [dict, None],
        "gradient_function": [callable, None],
        "positive_semidefinite": ["boolean"],
        "takes": [StrOptions({"auto", "rows", "matrices"})],
        "symmetric": ["boolean"],
    }

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: dict[str, Any] | None = None,
        gradient_function: Callable[..., Array] | None = None,
        positive_semidefinite: bool = False,
        takes: str = "auto",
        symmetric: bool = True,
    ) -> None:
        self.function = function
        self.parameters = parameters
        self.gradient_function = gradient_function
        self.positive_semidefinite = positive_semidefinite
        self.takes = takes
        self.symmetric = symmetric

    @property
    def is_positive_semidefinite(self) -> bool:
        return self.positive_semidefinite and self.symmetric

    @property
    def is_symmetric(self) -> bool:
        return self.symmetric

    @property
    def has_gradient(self) -> bool:
        return self.gradient_function is not None

    @property
    def evaluates_pairs(self) -> bool:
        return self.takes != "matrices"

    @unwarned()
    def resolve(self, X: Array) -> Self:
        """The kernel that knows what its function takes; ValueError if it is not as symmetric as it should be."""
        check_parameters(self)
        takes = self._found_takes(X, X) if self.takes == "auto" else self.takes
        kernel = type(self)(**{**self.get_params(deep=False), "takes": takes})
        if kernel.symmetric:
            kernel._require_symmetric_values(X)
        return kernel

    def prepare(self, Y: Array) -> Prepared:
        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            takes = self._found_takes(X, Y) if self.takes == "auto" else self.takes
            if takes == "matrices":
                return lambda rows, columns: self._matrix(X[rows, :], Y[columns, :])
            # Of all pairs of one set, those on one side of the diagonal: functions of users may take long.
            mirrored = self.symmetric and X is Y
            meet = lambda rows, columns: mirrored and rows.start == columns.start
            return lambda rows, columns: self._pairs(X[rows, :], Y[columns, :], meet(rows, columns))

        return Prepared(self, Y, tiles)

    def diagonal(self, X: Array) -> Array:
        takes = self._found_takes(X, X) if self.takes == "auto" else self.takes
        if takes == "matrices":
            values = [self._matrix(X[i : i + 1, :], X[i : i + 1, :])[0, 0] for i in range(X.shape[0])]
        else:
            values = [self._number(x, x) for x in _one_by_one(X)]
        return from_numpy(np.asarray([float(value) for value in values]), X)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        self.require_gradient("This")
        assert self.gradient_function is not None  # which `require_gradient` has just seen to
        if _required_arguments(self.gradient_function) == 2:
            return self._summed_gradients(self.gradient_function, Z, X, weights)
        gradients = self.gradient_function(Z, X, weights)
        self._require_shape(gradients, tuple(Z.shape), "(Z, X, weights)")
        return gradients

    def _summed_gradients(self, gradient: Callable[..., Array], Z: Array, X: Array, weights: Array) -> Array:
        """Σᵢ wⱼᵢ ∇₁k(zⱼ, xᵢ) by a function of two rows."""
        xp = array_namespace(Z)
        points, factors, sums = _one_by_one(X), to_numpy(weights), []
        for z, row in zip(_one_by_one(Z), factors, strict=True):
            total = xp.zeros_like(z)
            for x, factor in zip(points, row, strict=True):
                if factor != 0:
                    found = gradient(z, x)
                    self._require_shape(found, tuple(z.shape), "(z, x)")
                    total = total + float(factor) * found
            sums.append(total)
        return xp.stack(sums) if sums else xp.zeros_like(Z)

    def _require_shape(self, gradients: Any, shape: tuple[int, ...], arguments: str) -> None:
        if tuple(getattr(gradients, "shape", ())) != shape:
            raise ValueError(
                f"gradient_function{arguments} of a CallableKernel must return the gradient by its first argument, of "
                f"shape {shape}; {self.gradient_function!r} returned {_described(gradients)}. It is "
                "gradient_function(z, x) for two rows, or gradient_function(Z, X, weights) for sums over all rows."
            )

    def diagonal_gradient(self, Z: Array) -> Array:
        # k is symmetric, so d/dz k(z, z) = 2 ∇₁k(z, z).
        xp = array_namespace(Z)
        if not len(Z):
            return xp.zeros_like(Z)
        rows = [
            self.gradient(row, row, xp.ones((1, 1), dtype=Z.dtype)) for row in (Z[i : i + 1] for i in range(len(Z)))
        ]
        return 2 * xp.concat(rows, axis=0)

    def _require_symmetric_values(self, X: Array) -> None:
        rows = take_rows(X, np.linspace(0, X.shape[0] - 1, min(SYMMETRY_ROWS, X.shape[0])).astype(int))
        # Of two arrays, so that nothing is mirrored.
        values = to_numpy(self.prepare(rows)(take_rows(rows, np.arange(rows.shape[0]))))
        with np.errstate(invalid="ignore", over="ignore"):  # functions may overflow
            differences = np.abs(values - values.T)
        if np.max(differences, initial=0.0) > _noise(values):
            i, j = np.unravel_index(np.argmax(differences), differences.shape)
            raise ValueError(
                f"A kernel is symmetric, but {self.function!r} gives k(x, y) = {values[i, j]:.6g} and k(y, x) = "
                f"{values[j, i]:.6g} for two rows of the data. Pass a symmetric function, for instance "
                "(k(x, y) + k(y, x)) / 2; a similarity that is meant to have a direction gives features: "
                "EmpiricalKernelMap(CallableKernel(function, symmetric=False), whiten='data')."
            )

    def _value(self, x: Array, y: Array) -> Any:
        return self.function(x, y, **(self.parameters or {}))

    def _matrix(self, X: Array, Y: Array) -> Array:
        values = self._value(column_of(X), column_of(Y))
        if tuple(getattr(values, "shape", ())) != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"{self.function!r} as a kernel of matrices must answer {X.shape[0]} and {Y.shape[0]} rows with a "
                f"matrix of that shape; got {_described(values)}. If it takes two rows, say "
                "CallableKernel(function, takes='rows')."
            )
        return array_namespace(X, Y).asarray(to_dense(values), dtype=self.value_type(X))

    def _pairs(self, X: Array, Y: Array, is_mirrored: bool = False) -> Array:
        """Values of all pairs; `is_mirrored` says that rows and columns begin with the same ones."""
        left, right = _one_by_one(X), _one_by_one(Y)
        values, known = np.empty((len(left), len(right))), min(len(left), len(right)) if is_mirrored else 0
        for i, x in enumerate(left):
            first = i if i < known else 0
            if first:
                values[i, :first] = values[:first, i]
            values[i, first:] = [self._number(x, y) for y in right[first:]]
        return from_numpy(values, X)

    def _number(self, x: Array, y: Array) -> float:
        value = self._value(x, y)
        if isinstance(value, Real):
            return float(value)
        if np.prod(getattr(value, "shape", (0,))) != 1:
            raise ValueError(
                f"{self.function!r} as a kernel of rows must answer two rows with a number; got {_described(value)}. "
                "If it takes matrices, say CallableKernel(function, takes='matrices')."
            )
        return float(to_numpy(to_dense(value)).reshape(()))

    def _found_takes(self, X: Array, Y: Array) -> str:
        """ "rows" or "matrices", by trying the function on a few rows of X and Y; "rows" of objects, untried.

        The numbers of rows differ from each other and from the number of columns, so that no product of matrices of
        the wrong sides fits by accident. A matrix must agree with the values of the function for single pairs of its
        rows, which fails for functions that normalise by the whole matrix.
        """
        X, Y = (X if X.shape[0] else Y), (Y if Y.shape[0] else X)
        if X.shape[0] == 0 or is_objects(X):
            return "rows"  # nothing to call the function with, or nothing that could be a matrix
        few, more = [count for count in (2, 3, 4) if count != X.shape[1]][:2]
        left = take_rows(X, np.arange(few) % X.shape[0])
        right = take_rows(Y, np.arange(more) % Y.shape[0])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            matrix, no_matrix = self._tried(self._matrix, left, right)
            single, _ = self._tried(self._matrix_by_pairs, left, right)
            pairs, no_pairs = self._tried(self._pairs, left, right)
        of_matrices = matrix is not None and single is not None and _agree(matrix, single)
        if of_matrices and (pairs is None or _agree(matrix, pairs)):
            # NaN equals NaN here, which proves nothing; calls with one pair of rows at a time are always right.
            return "matrices" if pairs is None or np.all(np.isfinite(matrix)) else "rows"
        if of_matrices:
            raise ValueError(
                f"{self.function!r} says one thing of two rows, {pairs[0, 0]:.6g}, and another of two matrices, "
                f"{matrix[0, 0]:.6g} for these rows. Say which is meant: CallableKernel(function, takes='rows') or "
                "takes='matrices'."
            )
        if pairs is not None:
            return "rows"
        raise ValueError(
            f"{self.function!r} is no kernel on these data: it takes neither two rows ({no_pairs}) nor two matrices "
            f"({no_matrix or 'values of a pair of rows depend on the other rows'})."
        ) from (no_pairs or no_matrix)

    def _matrix_by_pairs(self, X: Array, Y: Array) -> np.ndarray:
        """The matrix that the function of matrices gives, one pair at a time."""
        value = lambda i, j: float(self._matrix(X[i : i + 1, :], Y[j : j + 1, :])[0, 0])
        return np.asarray([[value(i, j) for j in range(Y.shape[0])] for i in range(X.shape[0])])

    def _tried(self, evaluate: Callable[[Array, Array], Array], X: Array, Y: Array) -> tuple[Any, Exception | None]:
        """Values in NumPy and None, or None and the error that the function ended in."""
        try:
            return to_numpy(evaluate(X, Y)), None
        except Exception as error:  # whatever a user's function raises on arguments that it was not made for
            return None, error


def _required_arguments(function: Callable[..., Any]) -> int:
    """How many arguments a function must be given; 3, those of sums over rows, where it does not say."""
    try:
        found = signature(function).parameters.values()
    except (TypeError, ValueError):  # functions of compiled code may not say
        return 3
    if any(each.kind is each.VAR_POSITIONAL for each in found):
        return 3
    return sum(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in found)


def _one_by_one(X: Array) -> list[Any]:
    """The rows of X, dense, or its objects."""
    X = to_dense(X)
    return X[:, 0].tolist() if is_objects(X) else [X[i, :] for i in range(X.shape[0])]


def _agree(matrix: np.ndarray, others: np.ndarray) -> bool:
    """Whether two matrices have the same values up to rounding errors."""
    return bool(np.allclose(matrix, others, rtol=0, atol=_noise(matrix), equal_nan=True))


def _noise(values: np.ndarray) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return DIFFERENT * np.sqrt(epsilon(values.dtype)) * np.max(finite, initial=0.0)


def _described(value: Any) -> str:
    return f"shape {tuple(value.shape)}" if hasattr(value, "shape") else repr(value)[:80]
