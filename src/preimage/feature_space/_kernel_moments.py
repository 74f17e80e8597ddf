"""Moments of kernel values with a few points, in one pass over any number of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from preimage._arrays import (
    array_namespace,
    as_points,
    concat_rows,
    device_kwargs,
    from_numpy,
    in_double,
    is_host,
    is_lazy,
)
from preimage._linalg import whitening_factor
from preimage._rows import cut, sum_rows
from preimage._typing import Array, Rows
from preimage._validation import check_finite_block
from preimage.feature_space._gram import Gram
from preimage.feature_space._moments import Moments
from preimage.kernels import Kernel

# Rows whose moments are summed together. Adding up m × m matrices costs m² per block, making them m² per row: at 4096
# rows the sums cost nothing. Ten times more rows would hold 40,000 × m kernel values per thread at once.
BLOCK = 4096
# The same where rows are moved to a device first: larger, as each block costs a transfer and few calls.
DEVICE_BLOCK = 8 * BLOCK
# Rows whose kernel values are computed together: with a few hundred points they stay in a second-level cache (half a
# MiB for 256 points). Ten times more would go through main memory at every step of a kernel's formula.
TILE = 256


@dataclass(frozen=True)
class KernelMoments:
    """Moments of the vectors k_P(x) = (k(p₁, x), …, k(p_m, x)) over data, and the sum of k(x, x).

    All that kernel PCA on the landmarks P needs to know of the data; `a + b` are the moments of both sets of data.
    Sums are in double precision, whatever the precision of the data: they are divided by small eigenvalues later.
    """

    kernel: Kernel
    points: Array
    values: Moments
    trace: float

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        points: Array,
        X: Rows,
        *,
        weights: Array | None = None,
        to_device: Callable[[Array], Array] | None = None,
    ) -> KernelMoments:
        """One pass over X: an array, a memory map, a Dask array.

        Parameters
        ----------
        kernel : Kernel
        points : array of shape (m, d)
            The landmarks, on the device where the work is done.
        X : array of shape (n, d)
        weights : NumPy array of shape (n,), optional
            How often each row counts; once by default.
        to_device : callable, optional
            Moves a block of rows of X to that device.
        """
        values_of, from_disk, as_numbers = kernel.against(points), is_lazy(X), kernel.points_are_row_numbers

        def block(rows: Array, weights: Array | None) -> _Sums:
            rows = check_finite_block("KernelPCA", as_points(rows)) if from_disk else rows
            rows = rows if to_device is None else to_device(rows)
            return _Sums.of(kernel, values_of, rows if as_numbers else as_points(rows), weights)

        n_rows = BLOCK if to_device is None else DEVICE_BLOCK
        sums = sum_rows(block, X, weights, rows=n_rows, device_of=points, message="Learning from rows")
        xp = array_namespace(sums.values.mean)
        if not bool(xp.all(xp.isfinite(sums.values.mean))):
            raise ValueError(
                "Input X contains NaN or infinity, or values so large that the kernel overflows. Impute or drop such "
                "rows, and scale the data."
            )
        return cls(kernel, points, sums.values, sums.trace)

    def __add__(self, other: KernelMoments) -> KernelMoments:
        return replace(self, values=self.values + other.values, trace=self.trace + other.trace)

    def extended(self, points: Array) -> KernelMoments:
        """The moments on more landmarks, as if images of the data so far were in the span of the present ones.

        What the new landmarks add to the span is counted for later data only.
        """
        xp = array_namespace(self.values.mean)
        gram = in_double(Gram(self.kernel, self.points).dense())
        cross = in_double(self.kernel(self.points, points))
        factor = whitening_factor(gram, self.kernel.value_type(self.points))
        old = xp.eye(gram.shape[0], dtype=gram.dtype, **device_kwargs(gram))
        # With F Fᵀ the inverse of the Gram matrix, k̃_P'(x) = k_P(x) F Fᵀ k(P, P') for the new landmarks P'.
        A = xp.concat([old, factor @ (factor.T @ cross)], axis=1)
        return replace(self, points=concat_rows(self.points, points), values=self.values.mapped(A))


def shifted_kernel_values(values_of: Callable[[Array], Array], rows: Array) -> tuple[Array, Array]:
    """Kernel values of rows in double precision, minus a shift close to their mean; and the shift.

    Parameters
    ----------
    values_of : callable
        From rows to kernel values with m points, as `kernel.against(points)`.
    rows : array of shape (b, d)

    Returns
    -------
    values : array of shape (b, m)
    shift : array of shape (m,)
        The mean over the first rows. Sums of squares of the values lose no digits to a large mean then.
    """
    first, *others = cut(rows.shape[0], TILE if is_host(rows) else max(1, rows.shape[0]))
    tile = in_double(values_of(rows[first, :]))
    xp = array_namespace(tile)
    shift = xp.mean(tile, axis=0)
    # Shifted while a tile is in the cache: a centred copy of the whole block would cost a third of its product.
    values = xp.empty((rows.shape[0], tile.shape[1]), dtype=tile.dtype, **device_kwargs(tile))
    values[first, :] = tile - shift
    for part in others:
        values[part, :] = in_double(values_of(rows[part, :])) - shift
    return values, shift


@dataclass(frozen=True)
class _Sums:
    """What a block adds to `KernelMoments`: without the points, so that little travels."""

    values: Moments
    trace: float

    @classmethod
    def of(cls, kernel: Kernel, values_of: Callable[[Array], Array], rows: Array, weights: Array | None) -> _Sums:
        values, shift = shifted_kernel_values(values_of, rows)
        xp, diagonal = array_namespace(values), in_double(kernel.diagonal(rows))
        if weights is None:
            return cls(Moments.about(shift, values), float(xp.sum(diagonal)))
        if not weights.any():
            return cls(Moments.empty(values), 0.0)
        weights = from_numpy(weights, values)
        return cls(Moments.about(shift, values, weights), float(xp.sum(weights * diagonal)))

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self.values + other.values, self.trace + other.trace)
