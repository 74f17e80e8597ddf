"""Pairwise quantities: what profile kernels are functions of. The one file where sparse input is special."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from scipy.spatial.distance import cdist, pdist
from sklearn import config_context

from preimage._engine.arrays import (
    array_namespace,
    device_kwargs,
    epsilon,
    inner_products,
    is_sparse,
    itemsize,
    squared_row_norms,
    to_dense,
    to_numpy,
)
from preimage._engine.typing import Array
from preimage.kernels._kernel import Prepared, fits, written

# Most rows from which the origin of distances is found. Any point among the data serves: the median of some dozens is
# one, and sorting ten times as many would cost as much as the distances of a small block.
SAMPLE = 32
# Rows whose mutual distances show whether single precision is enough, the percentile of these that counts as short, and
# the error of a short distance that is too much. Kernel values of short distances are those that differ from each
# other; with an error of a hundredth the smallest eigenvalues of Gram matrices would change.
SHORT_SAMPLE, SHORT_PERCENTILE, LARGEST_ERROR = 50, 5, 1e-3


class PairwiseQuantity(ABC):
    """s(x, y) for all pairs of rows, and what the chain rule needs of it.

    A quantity has no parameters; two of the same class are the same.

    See Also
    --------
    SquaredDistance : Of radial kernels.
    InnerProduct : Of polynomial kernels.
    ProfileKernel : Makes a kernel of a quantity and a function of it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import PairwiseQuantity, SquaredDistance
    >>> isinstance(SquaredDistance(), PairwiseQuantity)
    True
    >>> distances_to_zero = SquaredDistance().prepare(np.array([[0.0, 0.0]]))
    >>> distances_to_zero(np.array([[3.0, 4.0], [1.0, 1.0]]))
    array([[25.],
           [ 2.]])
    """

    #: Whether values can be written to an array that exists without memory of that size.
    writes_in_place = False

    @abstractmethod
    def prepare(self, Y: Array) -> Prepared:
        """s(·, y) for the rows of Y, for many evaluations, each of which gives a fresh array."""

    @abstractmethod
    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        """Σᵢ wⱼᵢ ∇₁s(zⱼ, xᵢ), shape (q, d)."""

    def diagonal(self, X: Array) -> Array:
        """s(x, x) for every row."""
        xp = array_namespace(X)
        return xp.zeros(X.shape[0], dtype=X.dtype, **device_kwargs(X))

    def diagonal_gradient(self, Z: Array) -> Array:
        """Gradient of z ↦ s(z, z) for every row."""
        return array_namespace(Z).zeros_like(to_dense(Z))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class InnerProduct(PairwiseQuantity):
    """The inner product s = x·y.

    See Also
    --------
    Linear : The kernel that is this quantity itself.
    Polynomial : Powers of it.
    ProfileKernel : Makes a kernel of this quantity and a profile.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import InnerProduct
    >>> InnerProduct().prepare(np.array([[1.0, 2.0]]))(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[11.],
           [ 2.]])
    """

    writes_in_place = True

    def prepare(self, Y: Array) -> Prepared:
        def tiles(X: Array) -> Callable[..., Array]:
            def tile(rows: slice, columns: slice, out: Array | None = None) -> Array:
                left, right = X[rows, :], Y[columns, :]
                if fits(out, left, right):
                    return np.matmul(left, right.T, out=out)
                return written(inner_products(left, right), out)

            return tile

        return Prepared(self, Y, tiles, in_place=True)

    def diagonal(self, X: Array) -> Array:
        return squared_row_norms(X)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        return weights @ X  # (K0c)

    def diagonal_gradient(self, Z: Array) -> Array:
        return 2 * to_dense(Z)


class SquaredDistance(PairwiseQuantity):
    """s = ‖x − y‖², as one matrix product of lifted points.

    With both sets shifted by the median of Y (which changes no distance, but makes its rounding errors smaller),
    s = (−2x, ‖x‖², 1)·(y, 1, ‖y‖²). Values up to their rounding error count as zero, so that points compared with
    themselves or their copies give exactly zero; narrow kernels would magnify anything else.

    See Also
    --------
    ProfileKernel : Makes a kernel of this quantity and a profile.
    sklearn.metrics.pairwise.euclidean_distances : Distances without the square.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import SquaredDistance
    >>> SquaredDistance().prepare(np.array([[0.0, 0.0]]))(np.array([[3.0, 4.0], [1.0, 1.0]]))
    array([[25.],
           [ 2.]])
    """

    writes_in_place = True

    def prepare(self, Y: Array) -> Prepared:
        form = _SparsePoints(Y) if is_sparse(Y) else _Lifted(Y)

        def tiles(X: Array) -> Callable[..., Array]:
            mixed = is_sparse(X) and not is_sparse(Y)
            return (_SparsePoints(Y) if mixed else form).tiles(X, X is Y)

        prepared = Prepared(self, Y, tiles, in_place=True)
        prepared._errors = form.errors
        return prepared

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        _require_columns(Z, X)
        xp = array_namespace(weights)
        return 2 * (xp.sum(weights, axis=1)[:, None] * to_dense(Z) - weights @ X)  # (K0d)


class ManhattanDistance(PairwiseQuantity):
    r"""The distance :math:`s = \|x - y\|_1 = \sum_f |x_f - y_f|`.

    See Also
    --------
    Laplacian : The kernel of this distance.
    SquaredDistance : The squared Euclidean distance.
    ProfileKernel : Makes a kernel of this quantity and a profile.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import ManhattanDistance
    >>> ManhattanDistance().prepare(np.array([[0.0, 0.0]]))(np.array([[3.0, 4.0], [1.0, -1.0]]))
    array([[7.],
           [2.]])
    """

    def prepare(self, Y: Array) -> Prepared:
        return Prepared.of_function(self, Y, _manhattan)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        _require_columns(Z, X)
        xp = array_namespace(weights)
        Z, X = to_dense(Z), to_dense(X)
        # One feature at a time: never a (q, n, d) array.
        columns = [xp.sum(weights * xp.sign(Z[:, f, None] - X[None, :, f]), axis=1) for f in range(Z.shape[1])]
        return xp.stack(columns, axis=1)


class ChiSquaredDistance(PairwiseQuantity):
    r"""The distance :math:`s = \sum_f (x_f - y_f)^2/(x_f + y_f)` of non-negative inputs such as histograms.

    A term 0/0 counts as zero.

    See Also
    --------
    Chi2 : The kernel of this distance.
    ProfileKernel : Makes a kernel of this quantity and a profile.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import ChiSquaredDistance
    >>> distances = ChiSquaredDistance().prepare(np.array([[1.0, 0.0, 0.0]]))
    >>> distances(np.array([[0.0, 1.0, 0.0], [3.0, 0.0, 0.0]]))
    array([[2.],
           [1.]])
    """

    def prepare(self, Y: Array) -> Prepared:
        _require_non_negative(Y)

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            if X is not Y:
                _require_non_negative(X)
            return lambda rows, columns: _chi_squared(X[rows, :], Y[columns, :])

        return Prepared(self, Y, tiles)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        _require_columns(Z, X)
        xp = array_namespace(weights)
        Z, X = to_dense(Z), to_dense(X)
        # d/dx (x − y)²/(x + y) = 1 − (2y/(x + y))², one feature at a time; zero at the corner x = y = 0, which has a
        # derivative from one side only.
        columns = []
        for f in range(Z.shape[1]):
            total = Z[:, f, None] + X[None, :, f]
            ratio = 2 * X[None, :, f] / xp.where(total > 0, total, xp.ones_like(total))
            columns.append(xp.sum(weights * xp.where(total > 0, 1 - ratio * ratio, xp.zeros_like(total)), axis=1))
        return xp.stack(columns, axis=1)


class _Lifted:
    """Points y prepared for distances: (y, 1, ‖y‖²), shifted by their median.

    The median, not the mean: one distant row would drag the origin away from all others. In float32 the lifted points
    are float64 when norms are so large against distances that rounding would show (groups far from each other).
    """

    def __init__(self, Y: Array) -> None:
        xp = array_namespace(Y)
        self.shift = _medians(_sample(Y, SAMPLE))
        self.dtype = Y.dtype
        lifted, centered = _lifted_rows(Y, self.shift)
        norms = squared_row_norms(centered)
        self.widened = itemsize(Y.dtype) == 4 and _rounding_shows(_sample(Y, SHORT_SAMPLE) - self.shift, norms)
        if self.widened:
            lifted, centered = _lifted_rows(xp.astype(Y, xp.float64), xp.astype(self.shift, xp.float64))
            norms = squared_row_norms(centered)
        if lifted is None:
            self.right = xp.concat([centered, _ones(centered), norms[:, None]], axis=1).T
        else:
            lifted[:, -2], lifted[:, -1] = 1, norms
            self.right = lifted.T

    def left(self, X: Array) -> Array:
        """(−2x, ‖x‖², 1), whose inner products with the prepared points are squared distances."""
        xp = array_namespace(X)
        wide = lambda array: xp.astype(array, xp.float64) if self.widened else array
        if X.shape[-1] != self.shift.shape[0]:  # one column would be compared with all
            raise _different_lengths(X.shape[-1], self.shift.shape[0])
        centered = wide(X) - wide(self.shift)
        return xp.concat([-2 * centered, squared_row_norms(centered)[:, None], _ones(centered)], axis=1)

    def errors(self) -> np.ndarray:
        """Rounding errors of the squared norms from which distances are computed, in NumPy."""
        return _errors_of(self.right[-1], self.dtype, self.widened)

    def _left_of_points(self, rows: slice) -> Array:
        """`left` of some of the points themselves, of which everything is known."""
        right = self.right[:, rows]
        left = np.empty((right.shape[1], right.shape[0]), right.dtype)
        np.multiply(right[:-2, :].T, -2, out=left[:, :-2])
        left[:, -2], left[:, -1] = right[-1], 1
        return left

    def tiles(self, X: Array, are_points: bool) -> Callable[..., Array]:
        """Distances of parts of X from parts of the points, which may be X itself."""
        if are_points and isinstance(self.right, np.ndarray):
            # Made for each part: few rows at a time stay in the cache.
            left_of, norms = self._left_of_points, self.right[-1][:, None]
        else:
            left = self.left(X)
            left_of, norms = lambda rows: left[rows, :], left[:, -2:-1]
        floor = _rounding(self.right.shape[0], self.right.dtype) * norms

        def tile(rows: slice, columns: slice, out: Array | None = None) -> Array:
            some, right = left_of(rows), self.right[:, columns]
            settle = lambda s: _settled(s, floor[rows, :], (rows, columns) if are_points else None, X.shape[0])
            if fits(out, some, right):
                return settle(np.matmul(some, right, out=out))
            s = settle(some @ right)
            return written(array_namespace(s).astype(s, self.dtype) if self.widened else s, out)

        return tile


def _lifted_rows(Y: Array, shift: Array) -> tuple[Array | None, Array]:
    """Room for lifted points, of which the first columns are the shifted points; and these. No room but in NumPy."""
    if not isinstance(Y, np.ndarray):
        return None, Y - shift
    lifted = np.empty((Y.shape[0], Y.shape[1] + 2), Y.dtype)
    return lifted, np.subtract(Y, shift, out=lifted[:, :-2])


class _SparsePoints:
    """Points for distances of which one side is sparse: no shift, which would fill the zeros; float64 instead."""

    def __init__(self, Y: Array) -> None:
        self.Y = Y.astype(np.float64)
        self.norms = squared_row_norms(self.Y)

    def errors(self) -> np.ndarray:
        return _errors_of(self.norms, np.float64, False)

    def tiles(self, X: Array, are_points: bool) -> Callable[..., Array]:
        dtype, X = X.dtype, X.astype(np.float64)
        norms = squared_row_norms(X)

        def tile(rows: slice, columns: slice, out: Array | None = None) -> Array:
            s = -2 * inner_products(X[rows, :], self.Y[columns, :])
            s += norms[rows, None]
            s += self.norms[None, columns]
            floor = _rounding(X.shape[1], X.dtype) * norms[rows, None]
            s = _settled(s, floor, (rows, columns) if are_points else None, X.shape[0])
            return written(s.astype(dtype, copy=False), out)

        return tile


def distance_origin(Y: Array) -> Array | None:
    """The point about which distances to float32 points Y are computed; None where they need float64 numbers."""
    lifted = _Lifted(Y)
    return None if lifted.widened else lifted.shift


def distance_errors(Y: Array) -> np.ndarray:
    """Rounding errors of the squared norms of points from which their distances are computed, shape (n,) in NumPy."""
    if is_sparse(Y):
        return epsilon(np.float64) * to_numpy(squared_row_norms(Y.astype(np.float64)))
    shift = _medians(_sample(Y, SAMPLE))
    norms = squared_row_norms(Y - shift)
    is_widened = itemsize(Y.dtype) == 4 and _rounding_shows(_sample(Y, SHORT_SAMPLE) - shift, norms)
    return _errors_of(norms, Y.dtype, is_widened)


def _errors_of(norms: Array, dtype: Any, is_widened: bool) -> np.ndarray:
    return epsilon(np.float64 if is_widened else dtype) * to_numpy(norms).astype(np.float64)


def distance_rounding(n_features: int, dtype: Any) -> float:
    """Squared distances up to this multiple of the squared norm about that point count as zero."""
    return _rounding(n_features + 2, dtype)


def _sample(Y: Array, most: int) -> Array:
    """At most so many rows, at equal distances."""
    return Y[:: max(1, -(-Y.shape[0] // most)), :]


def _medians(sample: Array) -> Array:
    """The median of every column, the upper one of two."""
    middle = sample.shape[0] // 2
    if sample.shape[0] == 0:  # zeros
        return array_namespace(sample).sum(sample, axis=0)
    if isinstance(sample, np.ndarray):
        return np.partition(sample, middle, axis=0)[middle, :]
    return array_namespace(sample).sort(sample, axis=0)[middle, :]


def _rounding_shows(sample: Array, norms: Array) -> bool:
    """Whether rounding errors of the expanded square are too large a part of short distances."""
    largest = float(array_namespace(norms).max(norms))
    if not largest < np.inf:  # squares of single precision overflow early, and those of double precision do not
        return True
    few, error = to_numpy(sample), epsilon(norms.dtype) * largest
    if error <= LARGEST_ERROR * _shortest(few):  # the usual case, without distances to all digits
        return False
    squared = pdist(few.astype(float), "sqeuclidean")
    positive = squared[squared > 0]
    if positive.size == 0 or error <= LARGEST_ERROR * float(positive.min()):  # the usual case, without a percentile
        return False
    return error > LARGEST_ERROR * float(np.percentile(positive, SHORT_PERCENTILE))


def _shortest(points: np.ndarray) -> float:
    """A lower bound of squared distances among points: by products, which are fast, without their rounding errors."""
    squares = squared_row_norms(points)
    distances = -2 * (points @ points.T)
    distances += squares
    distances += squares[:, None]
    np.einsum("ii->i", distances)[...] = np.inf
    rounding = 2 * _rounding(points.shape[1] + 2, points.dtype) * float(squares.max())
    return float(distances.min()) - rounding


def _rounding(n_columns: int, dtype: Any) -> float:
    """Error of a squared distance relative to the squared norm: that of a sum of `n_columns` products.

    Errors of the terms are independent, so that their sum grows with √d; 4 covers the few terms of short rows, and the
    factor 2 the sums of both norms.
    """
    return 2 * (4 + n_columns**0.5) * epsilon(dtype)


def _settled(fresh: Array, floor: Array, tile: tuple[slice, slice] | None, n: int) -> Array:
    """Zero for entries up to `floor`, and for pairs of a point with itself in a `tile` of all pairs of n points."""
    if tile is None:
        return _settle(fresh, floor)
    if isinstance(fresh, np.ndarray) and fresh.dtype.kind == "f":  # most blocks have no other small entries
        _set_diagonal(fresh, *tile, n, np.inf)
    return _without_diagonal(_settle(fresh, floor), *tile, n)


def _settle(fresh: Array, floor: Array) -> Array:
    """Zero for entries up to `floor` of an array that nobody else holds."""
    if isinstance(fresh, np.ndarray):
        # Most blocks have no such entries, and the smallest one shows it in a fraction of the time.
        if fresh.size and not fresh.min() > floor.max():  # NaN is not larger either
            np.copyto(fresh, 0, where=fresh <= floor)
        return fresh
    if is_torch_array(fresh):
        return fresh.mul_(fresh > floor)  # in place: on a GPU such steps take as long as the product before them
    xp = array_namespace(fresh)
    return xp.where(fresh <= floor, xp.zeros_like(fresh), fresh)


def _ones(points: Array) -> Array:
    return array_namespace(points).ones((points.shape[0], 1), dtype=points.dtype, **device_kwargs(points))


def _without_diagonal(s: Array, rows: slice, columns: slice, n: int) -> Array:
    """Exactly zero for pairs of a point with itself, in a fresh block of all pairs of n points."""
    if isinstance(s, np.ndarray):
        _set_diagonal(s, rows, columns, n, 0.0)
        return s
    first, second = range(n)[rows], range(n)[columns]
    if first.start >= second.stop or second.start >= first.stop:
        return s
    start, stop = max(first.start, second.start), min(first.stop, second.stop)
    corner = slice(start - first.start, stop - first.start), slice(start - second.start, stop - second.start)
    xp = array_namespace(s)
    # The diagonal of all pairs is the diagonal of this square, and the rest of a wide block is not touched.
    same = xp.eye(stop - start, dtype=s.dtype, **device_kwargs(s)) > 0
    s[corner] = xp.where(same, xp.zeros_like(s[corner]), s[corner])
    return s


def _set_diagonal(s: Array, rows: slice, columns: slice, n: int, value: float) -> None:
    """Write `value` for pairs of a point with itself, in a NumPy block of all pairs of n points."""
    first, second = range(n)[rows], range(n)[columns]
    start, stop = max(first.start, second.start), min(first.stop, second.stop)
    if start < stop:
        square = s[start - first.start : stop - first.start, start - second.start : stop - second.start]
        np.einsum("ii->i", square)[...] = value  # a view of the diagonal


def _manhattan(X: Array, Y: Array) -> Array:
    if is_sparse(X) or is_sparse(Y):
        from sklearn.metrics.pairwise import manhattan_distances

        with config_context(assume_finite=True):  # inputs have been checked, and solvers throw away what overflows
            found = manhattan_distances(_with_short_indices(X), _with_short_indices(Y))
        return found.astype(X.dtype, copy=False)
    xp = array_namespace(X, Y)
    if xp.__name__.endswith("numpy"):
        return cdist(X, Y, "cityblock").astype(X.dtype, copy=False)
    total = xp.abs(X[:, 0, None] - Y[None, :, 0])
    for f in range(1, X.shape[1]):
        total = total + xp.abs(X[:, f, None] - Y[None, :, f])
    return total


def _with_short_indices(X: Any) -> Any:
    """A sparse matrix with the 32-bit indices that scikit-learn's distances need; anything else as it is.

    SciPy uses 64-bit indices for stacked, sliced or loaded matrices even where 32 bits are enough. A matrix with too
    many entries for 32 bits becomes dense: it is one block of rows, which is small enough for that.
    """
    if not is_sparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X.toarray()
    short = [part.astype(np.int32) for part in (X.indices, X.indptr)]
    return type(X)((X.data, *short), shape=X.shape)


def _chi_squared(X: Array, Y: Array) -> Array:
    X, Y = to_dense(X), to_dense(Y)
    xp = array_namespace(X, Y)
    if xp.__name__.endswith("numpy"):
        from sklearn.metrics.pairwise import additive_chi2_kernel

        X, Y = (np.require(points, requirements="W") for points in (X, Y))  # a copy of what is read-only
        with config_context(assume_finite=True):
            return -additive_chi2_kernel(X, Y).astype(X.dtype, copy=False)
    parts = None
    for f in range(X.shape[1]):
        total, difference = X[:, f, None] + Y[None, :, f], X[:, f, None] - Y[None, :, f]
        part = difference * difference / xp.where(total > 0, total, xp.ones_like(total))
        parts = part if parts is None else parts + part
    return parts


def _require_columns(Z: Array, X: Array) -> None:
    """Refuse rows of different lengths, of which some formulas would compare the first columns."""
    if Z.shape[-1] != X.shape[-1]:
        raise _different_lengths(Z.shape[-1], X.shape[-1])


def _different_lengths(n_columns: int, n_others: int) -> ValueError:
    return ValueError(f"Rows need as many columns to be compared; got {n_columns} against {n_others}.")


def _require_non_negative(X: Array) -> None:
    values = X.data if is_sparse(X) else X
    if 0 in values.shape:
        return
    lowest = float(array_namespace(values).min(values))
    if lowest < 0:
        raise ValueError(
            f"Chi-squared kernels compare non-negative values, such as counts and histograms; the smallest input is "
            f"{lowest:.3g}. Shift or rescale the columns to be non-negative, or take a kernel for any inputs, such as "
            "'laplacian' or 'rbf'."
        )
