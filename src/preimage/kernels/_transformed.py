"""Kernels made of one other: on inputs weighted, mapped linearly or shifted; normalised; iterated over a sample."""

from abc import abstractmethod
from collections.abc import Callable
from functools import cache

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    concat_columns,
    from_numpy,
    is_objects,
    is_sparse,
    itemsize,
    to_dense,
    to_device_of,
    to_numpy,
)
from preimage._engine.memory import work_memory
from preimage._engine.rows import cut, map_rows
from preimage._engine.typing import Array, Rows
from preimage.kernels._dot_product import Linear
from preimage.kernels._kernel import KeptRows, Kernel, OfOneKernel, Prepared

# Reference points, or rows, whose kernel values are summed at a time where all of them would not fit into memory: 2 MiB
# for a block of rows. With ten times as many a block leaves the caches; with fewer, calls cost more than sums.
PART = 1024


class _TransformedInputs(OfOneKernel):
    """k(Ax, Ay) for an affine map A: transform the inputs once, then use the base kernel."""

    is_bound_to_columns = True

    def prepare(self, Y: Array) -> Prepared:
        mapped = self.mapped(Y)
        prepared = self.kernel.prepare(mapped)
        return Prepared(self, Y, lambda X: prepared.tiles(mapped if X is Y else self.mapped(X)))

    def diagonal(self, X: Array) -> Array:
        return self.kernel.diagonal(self.mapped(X))

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        return self._pulled_back(self.kernel.gradient(self.mapped(Z), self.mapped(X), weights), Z)

    def diagonal_gradient(self, Z: Array) -> Array:
        return self._pulled_back(self.kernel.diagonal_gradient(self.mapped(Z)), Z)

    def inputs_of_parts(self, X: Array) -> Array:
        return self.mapped(X)

    def mapped(self, X: Array) -> Array:
        """What the kernel inside is given for X: Ax, and the columns of points that are no inputs as they are."""
        n = X.shape[1] - self._own_columns_of(X)
        return self._map(X) if n == X.shape[1] else concat_columns(self._map(X[:, :n]), X[:, n:])

    def _pulled_back(self, gradients: Array, Z: Array) -> Array:
        n = gradients.shape[1] - self._own_columns_of(Z)
        if n == gradients.shape[1]:
            return self._pull_back(gradients)
        return concat_columns(self._pull_back(gradients[:, :n]), gradients[:, n:])

    def _own_columns_of(self, X: Array) -> int:
        return self.own_columns if self.own_columns and X.shape[1] == self._n_columns() + self.own_columns else 0

    @abstractmethod
    def _n_columns(self) -> int:
        """Columns of inputs."""

    @abstractmethod
    def _map(self, X: Array) -> Array:
        """A x for every row."""

    @abstractmethod
    def _pull_back(self, gradients: Array) -> Array:
        """The derivative of A, transposed, times g for every row: gradients with respect to the original inputs."""


class ScaledInputs(_TransformedInputs):
    """k_D(x, y) = k(D^½x, D^½y) for a diagonal D ≥ 0: variables count with their weights.

    For dot-product kernels this is k(x·Dy). A weight of zero drops a variable.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    weights : array of shape (d,)
        Diagonal of D, non-negative.

    See Also
    --------
    MappedInputs : Any matrix in place of a diagonal.
    preimage.SparseGreedyRegressor : Learns weights of columns from targets: ``gamma="relevance"``.
    sklearn.preprocessing.StandardScaler : Scales the data before any kernel.

    Examples
    --------
    The second variable is ignored:

    >>> from preimage.kernels import Gaussian, ScaledInputs
    >>> ScaledInputs(Gaussian(1.0), [1.0, 0.0])([[0.0, 0.0]], [[0.0, 9.0], [1.0, 9.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    _parameter_constraints = {"kernel": [Kernel], "weights": ["array-like"]}

    @property
    def is_bilinear(self) -> bool:
        return self.kernel.is_bilinear

    def __init__(self, kernel: Kernel, weights: Rows) -> None:
        self.kernel = kernel
        self.weights = weights

    def _map(self, X: Array) -> Array:
        roots = self._roots(X)
        if roots.shape[0] != X.shape[1]:
            raise ValueError(f"ScaledInputs has {roots.shape[0]} weights; the inputs have {X.shape[1]} columns.")
        return X.multiply(roots[None, :]).tocsr() if is_sparse(X) else X * roots

    def _pull_back(self, gradients: Array) -> Array:
        return gradients * self._roots(gradients)

    def _n_columns(self) -> int:
        return len(self.weights)

    def _roots(self, like: Array) -> Array:
        weights = np.asarray(self.weights, dtype=float)
        if weights.ndim != 1 or not np.all(weights >= 0):
            raise ValueError("ScaledInputs needs a one-dimensional array of non-negative weights.")
        return from_numpy(np.sqrt(weights), like)


class MappedInputs(_TransformedInputs):
    """k_A(x, y) = k(Ax, Ay) for a matrix A: smoothing, whitening, derivatives, projections.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    matrix : array of shape (l, d)
        The linear map A.

    See Also
    --------
    ScaledInputs : One weight per variable.
    Patches : Smooths images and looks at regions.
    preimage.invariances.TangentCovariance : Directions that a model should ignore.

    Examples
    --------
    A kernel of differences of neighbouring values does not see a constant that is added:

    >>> import numpy as np
    >>> from preimage.kernels import Gaussian, MappedInputs
    >>> differences = np.diff(np.eye(3), axis=0)
    >>> MappedInputs(Gaussian(1.0), differences)([[1.0, 2.0, 3.0]], [[6.0, 7.0, 8.0], [1.0, 2.0, 4.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    _parameter_constraints = {"kernel": [Kernel], "matrix": ["array-like"]}

    lowest_input = None  # a bound on Ax does not bound x

    @property
    def is_bilinear(self) -> bool:
        return self.kernel.is_bilinear

    def __init__(self, kernel: Kernel, matrix: Rows) -> None:
        self.kernel = kernel
        self.matrix = matrix

    def _map(self, X: Array) -> Array:
        matrix = from_numpy(self.matrix, X)
        if matrix.ndim != 2 or matrix.shape[1] != X.shape[1]:
            raise ValueError(
                f"MappedInputs has a matrix of shape {tuple(matrix.shape)}; the inputs have {X.shape[1]} columns."
            )
        return to_dense(X @ matrix.T)

    def _pull_back(self, gradients: Array) -> Array:
        return gradients @ from_numpy(self.matrix, gradients)

    def _n_columns(self) -> int:
        return int(np.shape(self.matrix)[1])


class ShiftedInputs(_TransformedInputs):
    """k(x − c, y − c): inner products about a point of the data instead of zero.

    Centring in feature space removes the effect of a shift on a linear kernel, but rounding errors get smaller: kernel
    PCA uses this kernel without being asked where rows lie far from the origin (`Kernel.recentered`).

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    origin : array of shape (d,)
        The point c.

    See Also
    --------
    Kernel.recentered : The kernel that kernel PCA uses for rows far from the origin.
    Linear : The kernel for which an origin matters most.

    Examples
    --------
    >>> from preimage.kernels import Linear, ShiftedInputs
    >>> ShiftedInputs(Linear(), [1.0, 1.0])([[1.0, 3.0]], [[2.0, 2.0]])
    array([[2.]])
    """

    _parameter_constraints = {"kernel": [Kernel], "origin": ["array-like"]}

    def __init__(self, kernel: Kernel, origin: Rows) -> None:
        self.kernel = kernel
        self.origin = origin

    def _map(self, X: Array) -> Array:
        origin = from_numpy(self.origin, X)
        if origin.shape[0] != X.shape[1]:
            raise ValueError(f"ShiftedInputs has {origin.shape[0]} columns; the inputs have {X.shape[1]}.")
        return to_dense(X) - origin

    def _pull_back(self, gradients: Array) -> Array:
        return gradients

    def _n_columns(self) -> int:
        return len(self.origin)

    def unshifted(self) -> tuple[Kernel, Array | None]:
        kernel, origin = self.kernel.unshifted()
        own = np.asarray(to_numpy(self.origin), dtype=float)
        return kernel, own if origin is None else own + origin


class Normalized(OfOneKernel):
    """k̂(x, y) = k(x, y) / √(k(x, x) k(y, y)): only the direction of φ(x) counts.

    Inputs with k(x, x) = 0 have no direction and get the value zero, as scikit-learn's cosine kernel does.

    Parameters
    ----------
    kernel : Kernel
        The kernel to normalise; `Linear()` gives the cosine kernel.

    See Also
    --------
    Cosine : The normalised linear kernel.
    ScaledInputs : Scales inputs instead of images.

    Examples
    --------
    >>> from preimage.kernels import Linear, Normalized
    >>> Normalized(Linear())([[2.0, 0.0]], [[3.0, 3.0]])
    array([[0.70710678]])
    """

    _parameter_constraints = {"kernel": [Kernel]}

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @property
    def takes_objects(self) -> bool:
        return self.kernel.takes_objects

    def prepare(self, Y: Array) -> Prepared:
        prepared, right = self.kernel.prepare(Y), self._inverse_lengths(Y)

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            part, left = prepared.tiles(X), right if X is Y else self._inverse_lengths(X)
            return lambda rows, columns: part(rows, columns) * left[rows, None] * right[None, columns]

        return Prepared(self, Y, tiles)

    def diagonal(self, X: Array) -> Array:
        return self.kernel.diagonal(X) * self._inverse_lengths(X) ** 2

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        xp = array_namespace(weights)
        left, right = self._inverse_lengths(Z), self._inverse_lengths(X)
        scaled = weights * left[:, None] * right[None, :]
        # The derivative of 1/√k(z, z) is −½ ∇k(z, z)/k(z, z)^(3/2): it takes away what only lengthens φ(z).
        along = xp.sum(scaled * self.kernel(Z, X), axis=1) * left**2 / 2
        return self.kernel.gradient(Z, X, scaled) - along[:, None] * self.kernel.diagonal_gradient(Z)

    def diagonal_gradient(self, Z: Array) -> Array:
        return 0 * self.kernel.diagonal_gradient(Z)

    def _inverse_lengths(self, X: Array) -> Array:
        squared = self.kernel.diagonal(X)
        xp = array_namespace(squared)
        safe = xp.where(squared > 0, squared, xp.ones_like(squared))
        return xp.where(squared > 0, 1 / xp.sqrt(safe), xp.zeros_like(squared))


def Cosine() -> Normalized:
    """The cosine kernel x·y / (‖x‖‖y‖), i.e. ``Normalized(Linear())``.

    Returns
    -------
    Normalized
        The kernel.

    See Also
    --------
    Normalized : The same for any kernel.
    Linear : Inner products without division by lengths.
    sklearn.metrics.pairwise.cosine_similarity : The same values.

    Examples
    --------
    Only directions count:

    >>> from preimage.kernels import Cosine
    >>> Cosine()([[1.0, 0.0]], [[5.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.7071]])
    """
    return Normalized(Linear())


class Iterated(Kernel):
    """k⁽²⁾(x, y) = (1/m) Σ_j k(x, z_j) k(z_j, y): inner products of empirical kernel maps.

    Turns any symmetric similarity, also an indefinite one such as `Sigmoid`, into an admissible kernel.

    Parameters
    ----------
    kernel : Kernel
        The similarity k.
    reference : array of shape (m, d) or None, default=None
        The points z; None takes the data on which the kernel is resolved: the training set, at most 10,000 random
        rows of it where landmarks are used, and the first batch of a stream.

    See Also
    --------
    preimage.EmpiricalKernelMap : The map whose inner products these are.
    Sigmoid : A similarity that needs this.
    CallableKernel : A similarity of your own.

    Examples
    --------
    An indefinite similarity becomes a kernel without negative eigenvalues:

    >>> import numpy as np
    >>> from preimage.kernels import Iterated, Sigmoid
    >>> X = np.linspace(-1, 1, 5)[:, None]
    >>> bool(np.linalg.eigvalsh(Sigmoid(2.0, coef0=-1.0)(X))[0] < 0)
    True
    >>> kernel = Iterated(Sigmoid(2.0, coef0=-1.0)).resolve(X)
    >>> bool(np.linalg.eigvalsh(kernel(X))[0] > -1e-12)
    True
    """

    is_positive_semidefinite = True
    data_parameters = {"reference": KeptRows()}
    _parameter_constraints = {"kernel": [Kernel], "reference": ["array-like", "sparse matrix", None]}

    def __init__(self, kernel: Kernel, reference: Rows = None) -> None:
        self.kernel = kernel
        self.reference = reference

    @property
    def has_gradient(self) -> bool:
        return self.kernel.has_gradient

    @property
    def takes_objects(self) -> bool:
        return self.kernel.takes_objects

    @property
    def evaluates_pairs(self) -> bool:
        return self.kernel.evaluates_pairs

    def prepare(self, Y: Array) -> Prepared:
        held_map = cache(lambda: self._map(Y))  # where it is small, which saves computing it in every block

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            if self._maps_fit(X, Y):
                right = held_map()
                left = right if X is Y else self._map(X)
                return lambda rows, columns: left[rows, :] @ right[columns, :].T / left.shape[1]
            reference = self._reference(X)
            values, parts = self.kernel.prepare(reference), cut(reference.shape[0], PART)
            of_rows, of_columns = values.tiles(X), values.tiles(Y)

            def tile(rows: slice, columns: slice) -> Array:
                total = of_rows(rows, parts[0]) @ of_columns(columns, parts[0]).T
                for part in parts[1:]:
                    total += of_rows(rows, part) @ of_columns(columns, part).T
                return total / reference.shape[0]

            return tile

        def with_gradient(Z: Array) -> tuple[Array, Callable[[Array], Array]]:
            if not self._maps_fit(Y, Y):
                return prepared(Z), lambda weights: self.gradient(Z, Y, weights)
            right = held_map()
            values = self._map(Z) @ right.T / right.shape[1]
            return values, lambda weights: self._contracted(Z, weights @ right)

        prepared = Prepared(self, Y, tiles, with_gradient)
        return prepared

    def diagonal(self, X: Array) -> Array:
        def squares(rows: Array) -> Array:
            values = self._map(rows)
            return array_namespace(values).sum(values * values, axis=1) / values.shape[1]

        return map_rows(squares, X)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        # Not the map of all of X at once, which may be as large as the kernel matrix.
        total = None
        for part in cut(X.shape[0], PART // 4):
            term = weights[:, part] @ self._map(X[part, :])
            total = term if total is None else total + term
        return self._contracted(Z, total)

    def diagonal_gradient(self, Z: Array) -> Array:
        return 2 * self._contracted(Z, self._map(Z))

    def _contracted(self, Z: Array, weights: Array) -> Array:
        """Gradients of (1/m) Σ_j wⱼ k(·, z_j) at the rows of Z."""
        points = self._reference(Z)
        return self.kernel.gradient(Z, points, weights / points.shape[0])

    def _map(self, X: Array) -> Array:
        return self.kernel(X, self._reference(X))

    def _maps_fit(self, X: Array, Y: Array) -> bool:
        """Whether the maps of both may be held, which saves computing them again in every block."""
        n_rows = X.shape[0] + (0 if Y is X else Y.shape[0])
        return n_rows * self._reference(X).shape[0] * itemsize(self.value_type(X)) <= work_memory(X) // 2

    def _reference(self, like: Array) -> Array:
        if self.reference is None:
            raise ValueError("Iterated needs a reference sample: give `reference`, or call `resolve(X)` first.")
        if is_objects(like):
            return self.kernel.rows(self.reference)
        return to_device_of(self.reference, like)
