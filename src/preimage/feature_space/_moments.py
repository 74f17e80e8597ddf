"""Count, mean and scatter of coordinates and of kernel values, merged without loss over any split of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, ClassVar

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    as_rows,
    concat_rows,
    device_kwargs,
    from_numpy,
    in_double,
    is_host,
    is_lazy,
)
from preimage._engine.linalg import squares
from preimage._engine.rows import ThreadBuffer, cut, sum_rows
from preimage._engine.threads import available_threads
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_finite_block
from preimage.feature_space._subspace import early_frame, frame_of, landmark_gram, longer_frame
from preimage.kernels import Kernel

# Sums of squares below this have lost digits: rounding errors of them are no normal numbers.
SMALLEST_SQUARES = float(np.finfo(float).tiny / np.finfo(float).eps)


@dataclass(frozen=True)
class Moments:
    """Weighted count, mean and scatter Σᵢ wᵢ (yᵢ − mean)(yᵢ − mean)ᵀ of rows.

    `a + b` are the moments of both sets of rows together, so a sum over blocks, streams or machines gives what one
    pass over all rows gives. Means and scatters are merged; raw second moments would cancel in single precision.

    Attributes
    ----------
    count : float
        Sum of the weights.
    mean : array of shape (d,)
        Mean of the rows.
    scatter : array of shape (d, d)
        Their scatter.

    See Also
    --------
    preimage.KernelPCA.partial_fit : Adds up moments of batches.
    Subspace : Gives the coordinates whose moments are taken.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Moments
    >>> Y = np.array([[0.0], [2.0], [4.0]])
    >>> merged = Moments.of(Y[:1]) + Moments.of(Y[1:])
    >>> merged.mean, merged.covariance()
    (array([2.]), array([[2.66666667]]))
    """

    count: float
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, Y: Array, weights: Array | None = None) -> Moments:
        """Moments of the rows of Y, each counted `weights[i]` times (once by default)."""
        xp = array_namespace(Y)
        if weights is None:
            count, mean = float(Y.shape[0]), xp.mean(Y, axis=0)
            centered = Y - mean
            return cls(count, mean, centered.T @ centered)
        count = float(xp.sum(weights))
        if not count > 0:
            raise ValueError(f"Moments need weights with a positive sum; got {count}.")
        mean = weights @ Y / count
        centered = Y - mean
        return cls(count, mean, (centered * weights[:, None]).T @ centered)

    @classmethod
    def about(cls, shift: Array, Y: Array, weights: Array | None = None) -> Moments:
        """Moments of the rows of Y + shift, for a shift close to their mean.

        Sums of squares of Y lose no digits then, and without weights no centred copy of Y is made.
        """
        if weights is not None:
            found = cls.of(Y, weights)
            return replace(found, mean=found.mean + shift)
        xp = array_namespace(Y)
        count, offset = float(Y.shape[0]), xp.mean(Y, axis=0)
        scatter = squares(Y)
        scatter -= (count * offset)[:, None] * offset[None, :]
        return cls(count, shift + offset, scatter)

    @classmethod
    def empty(cls, Y: Array) -> Moments:
        """Moments of no rows, with the columns of Y: the zero of `+`."""
        zero = array_namespace(Y).zeros_like(Y[0, :])
        return cls(0.0, zero, zero[:, None] * zero)

    def __add__(self, other: Moments) -> Moments:
        if self.count == 0 or other.count == 0:  # no mean to merge
            return self if other.count == 0 else other
        return self._joined(other, 1 * self.scatter)

    def _joined(self, other: Moments, scatter: Array) -> Moments:
        """The sum of both, with the scatter of this one in an array that becomes that of the sum."""
        count = self.count + other.count
        shift = other.mean - self.mean
        mean = self.mean + shift * (other.count / count)
        scatter += other.scatter
        # The scatter of the two means.
        scatter += shift[:, None] * (shift * (self.count * other.count / count))[None, :]
        return Moments(count, mean, scatter)

    def mapped(self, A: Array) -> Moments:
        """Moments of the rows Y A, from those of Y."""
        return Moments(self.count, self.mean @ A, A.T @ self.scatter @ A)

    def padded(self, count: int) -> Moments:
        """Moments of the rows with `count` further entries that are zero."""
        xp, (size,) = array_namespace(self.mean), self.mean.shape
        wider = xp.eye(size, size + count, dtype=self.mean.dtype, **device_kwargs(self.mean))
        return self.mapped(wider)

    def covariance(self, ddof: int = 0) -> Array:
        """Scatter over (count − ddof)."""
        if self.count <= ddof:
            raise ValueError(f"A covariance with ddof={ddof} needs a count above it; got {self.count}.")
        return self.scatter / (self.count - ddof)


# Rows whose moments are summed together. Adding up m × m matrices costs m² per block, making them m² per row: at 4096
# rows the sums cost nothing. Ten times more rows would hold 40,000 × m kernel values per thread at once.
BLOCK = 4096
# Kernel values per block, and rows at least and at most, where rows are moved to a device first: blocks are larger
# there, as each costs a transfer and a few calls. The values of a block take a gigabyte in double precision, and twice
# that while they are computed; with ten times more, common devices would run out of memory.
DEVICE_VALUES, FEWEST_DEVICE_ROWS, MOST_DEVICE_ROWS = 2**27, 2**10, 2**18
# Rows of a block on a device whose mean is the shift: it need only be close to the mean of all.
SHIFT_ROWS = 1024
# Kernel values that are computed together: 2 MiB stay in a second-level cache. Ten times more would go through main
# memory at every step of a kernel's formula; with ten times fewer, threads would wait for each other between calls.
TILE_BYTES = 2**21
# Rows that are whitened by one product: it reads the m × r factor once for so many rows. With all 4096 of a block there
# would be two matrices of its size; with ten times fewer, reading the factor takes as long as the products.
WHITENED_ROWS = 512


@dataclass(frozen=True)
class KernelMoments:
    """Moments of the vectors k_P(x) = (k(p₁, x), …, k(p_m, x)) over data, and the sum of k(x, x).

    All that kernel PCA on the landmarks P needs to know of the data; `a + b` are the moments of both sets of data.
    Sums are in double precision, whatever the precision of the data: they are divided by small eigenvalues later.
    Where even that would lose components, rows are whitened before they are summed, see `early_frame`: the moments are
    then those of the coordinates Fᵀk_P(x).

    Attributes
    ----------
    kernel : Kernel
    points : array of shape (m, d)
        The landmarks.
    values : Moments
        Of k_P(x), or of Fᵀk_P(x).
    trace : float
    factor : array of shape (m, r), or None
        F, where rows were whitened before they were summed.
    """

    kernel: Kernel
    points: Array
    values: Moments
    trace: float
    factor: Array | None = None

    @classmethod
    def nothing(cls, kernel: Kernel, points: Array, n_components: int | None = None) -> KernelMoments:
        """Moments of no data, the zero of `+`, which settle the coordinates for any number of batches.

        Parameters
        ----------
        kernel : Kernel
        points : array of shape (m, d)
        n_components : int, optional
            How many leading components the moments are for; all by default.
        """
        factor = early_frame(kernel, points, n_components)
        like = in_double(kernel.diagonal(points))[None, :] if factor is None else factor
        return cls(kernel, points, Moments.empty(like), 0.0, factor)

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        points: Array,
        X: Rows,
        *,
        weights: Array | None = None,
        n_components: int | None = None,
        to_device: Callable[[Array], Array] | None = None,
        who: str = "KernelMoments",
    ) -> KernelMoments:
        """One pass over X; see `nothing` and `batch` for the parameters."""
        return cls.nothing(kernel, points, n_components).batch(X, weights=weights, to_device=to_device, who=who)

    def batch(
        self,
        X: Rows,
        *,
        weights: Array | None = None,
        to_device: Callable[[Array], Array] | None = None,
        who: str = "KernelMoments",
    ) -> KernelMoments:
        """Those of X alone, in the same coordinates; one pass over X: an array, a memory map, a Dask array.

        Parameters
        ----------
        X : array of shape (n, d)
        weights : NumPy array of shape (n,), optional
            How often each row counts; once by default.
        to_device : callable, optional
            Moves a block of rows of X to the device of the landmarks, where the work is done.
        who : str
            What needs the moments, for messages.
        """
        kernel, points = self.kernel, self.points
        values_of, from_disk = ShiftedValues(kernel, points, self.factor), is_lazy(X)

        def block(rows: Array, weights: Array | None) -> _Sums:
            rows = check_finite_block(who, as_points(rows)) if from_disk else rows
            rows = rows if to_device is None else to_device(rows)
            return _Sums.of(kernel, values_of, rows if kernel.points_are_row_numbers else as_rows(rows), weights)

        n_rows = _even_rows(X, available_threads()) if to_device is None else _device_rows(points.shape[0])
        sums = sum_rows(block, X, weights, rows=n_rows, device_of=points, message="Learning from rows")
        # Where sums of squares on the diagonal are finite, those of products are.
        xp = array_namespace(sums.values.mean)
        if not bool(xp.all(xp.isfinite(sums.values.mean + xp.linalg.diagonal(sums.values.scatter)))):
            raise ValueError(
                f"Values of the kernel {kernel!r}, or sums of their squares, are beyond the range of numbers on these "
                "data. Scale the data, for instance with StandardScaler, or choose another kernel or gamma."
            )
        # Where points are far from all rows values vanish next to k(x, x), and nothing is lost.
        is_tiny = float(sums.trace) < SMALLEST_SQUARES**0.5 * sums.values.count
        if is_tiny and 0 < float(xp.max(xp.linalg.diagonal(sums.values.scatter))) < SMALLEST_SQUARES:
            raise ValueError(
                f"Values of the kernel {kernel!r} are so small that their squares are beyond the range of numbers. "
                "Scale the data, for instance with StandardScaler."
            )
        return replace(self, values=sums.values, trace=float(sums.trace))

    def converted(self, change: Callable[[Array], Array]) -> KernelMoments:
        """The same moments on another device; `change` converts one array."""
        values = replace(self.values, mean=change(self.values.mean), scatter=change(self.values.scatter))
        factor = None if self.factor is None else change(self.factor)
        return replace(self, points=change(self.points), values=values, factor=factor)

    def __add__(self, other: KernelMoments) -> KernelMoments:
        return replace(self, values=self.values + other.values, trace=self.trace + other.trace)

    def extended(self, points: Array, n_components: int | None = None) -> KernelMoments:
        """The moments on more landmarks, as if images of the data so far were in the span of the present ones.

        What the new landmarks add to the span is counted for later data only.
        """
        both = concat_rows(self.points, points)
        if self.factor is None and early_frame(self.kernel, both, n_components) is None:
            return replace(self, points=both, values=self.values.mapped(extension(self.kernel, self.points, points)))
        factor, values = self.factor, self.values
        if factor is None:
            factor = frame_of(self.kernel, self.points)
            values = values.mapped(factor)
        # The frame begins with the present one, so that what is known of the data stays as it is.
        longer = longer_frame(self.kernel, self.points, factor, points)
        values = values.padded(longer.shape[1] - factor.shape[1])
        return replace(self, points=both, values=values, factor=longer)

    def check_fields(self) -> None:
        """ValueError where arrays, as those of a file, do not fit each other."""
        m = self.points.shape[0]
        shape = (m, m) if self.factor is None else (m, self.factor.shape[1])
        fits = self.factor is None or self.factor.shape == shape
        if not fits or self.values.mean.shape != shape[1:] or self.values.scatter.shape != shape[1:] * 2:
            raise ValueError(
                f"Moments on {m} landmarks have a mean of shape {shape[1:]} and a square scatter; got "
                f"{self.values.mean.shape} and {self.values.scatter.shape}."
            )

    def mean_values(self) -> Array:
        """Means of k_P(x) over the data, shape (m,), in any coordinates."""
        if self.factor is None:
            return self.values.mean
        return landmark_gram(self.kernel, self.points) @ (self.factor @ self.values.mean)


def extension(kernel: Kernel, points: Array, more: Array) -> Array:
    """A of shape (m, m + p) with k(points and more, x) = Aᵀ k(points, x) for images φ(x) in the span of the points.

    For others it gives the kernel values of their projections on that span.
    """
    cross, factor = in_double(kernel(points, more)), frame_of(kernel, points)
    xp, m = array_namespace(factor), factor.shape[0]
    old = xp.eye(m, dtype=factor.dtype, **device_kwargs(factor))
    # With F Fᵀ the inverse of the Gram matrix, k̃_P'(x) = k_P(x) F Fᵀ k(P, P') for the new points P'.
    return xp.concat([old, factor @ (factor.T @ cross)], axis=1)


def _device_rows(n_points: int) -> int:
    """Rows of a block whose kernel values with so many points are computed together on a device."""
    return min(max(DEVICE_VALUES // n_points, FEWEST_DEVICE_ROWS), MOST_DEVICE_ROWS)


def _even_rows(X: Rows, threads: int) -> int:
    """Rows of at most `BLOCK` such that all threads have the same number of blocks, where there are several each."""
    if is_lazy(X) or X.shape[0] <= BLOCK * threads:
        return BLOCK
    return ceil(X.shape[0] / (threads * ceil(X.shape[0] / (BLOCK * threads))))


class ShiftedValues:
    """Kernel values of blocks of at most `BLOCK` rows in double precision, minus a shift close to their mean.

    Sums of squares of the values lose no digits to a large mean then. On the host they are written to the same memory
    for every block of a thread, and are valid until the thread asks for the next.

    Parameters
    ----------
    kernel : Kernel
    points : array of shape (m, d)
    factor : array of shape (m, r), optional
        With it, values are the coordinates Fᵀk(points, x) instead.
    """

    def __init__(self, kernel: Kernel, points: Array, factor: Array | None = None) -> None:
        self._values_of, self._factor = kernel.prepare(points), factor
        self._on_host = is_host(points)
        if self._on_host:
            self._size = points.shape[0]
            at_once = BLOCK if factor is None else WHITENED_ROWS
            self._values = ThreadBuffer(at_once, self._size, np.dtype(np.float64))
            self._rows = min(at_once, max(1, TILE_BYTES // (8 * self._size)))
            self._tile = ThreadBuffer(self._rows, self._size, kernel.value_type(points))
            if factor is not None:
                self._coordinates = ThreadBuffer(BLOCK, factor.shape[1], np.dtype(np.float64))

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        """Values of shape (b, m) or (b, r), and the shift of shape (m,) or (r,): the mean over the first rows."""
        if not (self._on_host and is_host(rows)):
            found = self._values_of(rows)
            shift = array_namespace(found).mean(in_double(found[: min(SHIFT_ROWS, rows.shape[0]), :]), axis=0)
            values = found - shift  # single minus double precision is double: one pass over the values
            return (values, shift) if self._factor is None else (values @ self._factor, shift @ self._factor)
        if self._factor is None:
            return self._shifted(rows, None)
        coordinates, shift = self._coordinates.part(rows.shape[0], self._factor.shape[1]), None
        for part in cut(rows.shape[0], WHITENED_ROWS):
            values, shift = self._shifted(rows[part, :], shift)
            np.matmul(values, self._factor, out=coordinates[part, :])
        return coordinates, shift @ self._factor

    def _shifted(self, rows: Array, shift: Array | None) -> tuple[Array, Array]:
        """Values minus the shift, which is the mean over the first tile where it is None, and the shift."""
        # Shifted while a tile is in the cache: a centred copy of the whole block would cost a third of its product.
        values = self._values.part(rows.shape[0], self._size)
        for part in cut(rows.shape[0], self._rows):
            tile = self._values_of(rows[part, :], self._tile.part(part.stop - part.start, self._size))
            shift = tile.mean(axis=0, dtype=np.float64) if shift is None else shift
            np.subtract(tile, shift, out=values[part, :])
        return values, shift


@dataclass(frozen=True)
class _Sums:
    """What a block adds to `KernelMoments`: without the points, so that little travels.

    The trace is a number on the device of the values: to ask for it would wait for all work on the block.
    """

    values: Moments
    trace: Any

    #: `+=` needs no new memory for the sum.
    adds_in_place: ClassVar[bool] = True

    @classmethod
    def of(cls, kernel: Kernel, values_of: ShiftedValues, rows: Array, weights: Array | None) -> _Sums:
        values, shift = values_of(rows)
        xp, diagonal = array_namespace(values), in_double(kernel.diagonal(rows))
        if weights is None:
            return cls(Moments.about(shift, values), xp.sum(diagonal))
        if not weights.any():
            return cls(Moments.empty(values), 0.0)
        weights = from_numpy(weights, values)
        return cls(Moments.about(shift, values, weights), xp.sum(weights * diagonal))

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self.values + other.values, self.trace + other.trace)

    def __iadd__(self, other: _Sums) -> _Sums:
        """The same sum, written to the scatter of this one where it is NumPy's."""
        mine, theirs = self.values, other.values
        if not isinstance(mine.scatter, np.ndarray) or mine.count == 0 or theirs.count == 0:
            return self + other
        return _Sums(mine._joined(theirs, mine.scatter), self.trace + other.trace)
