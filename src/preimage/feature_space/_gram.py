"""Gram matrices as operators, held or computed again in each product; rows of them for points that come one by one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import Any

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    copy_transposed,
    device_kwargs,
    epsilon,
    is_host,
    itemsize,
    own_copy,
    take_rows,
)
from preimage._engine.lapack import symmetric_multiplier
from preimage._engine.linalg import product, symmetric_product
from preimage._engine.progress import stage
from preimage._engine.rows import (
    PANEL_COLUMNS,
    PANEL_ROWS,
    PairSums,
    ThreadBuffer,
    Workers,
    accumulate_rows,
    block_shape,
    cut,
    for_blocks,
    is_block_shape_forced,
    map_rows,
    panel_rows,
)
from preimage._engine.threads import available_threads, run_parallel
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage.feature_space._fused import fused_column_step, fused_gram, fused_held_product, fused_product
from preimage.kernels import Kernel
from preimage.kernels._door import value_errors
from preimage.kernels._kernel import fits

# Rows on either side whose kernel values are computed twice, to measure their rounding errors: 256 pairs give the order
# of magnitude. Ten times more rows would cost as much as a product with a few thousand points.
ASYMMETRY_ROWS = 16
# Blocks of rows of a symmetric product that one thread works on, one after the other. With ten times as many, threads
# would find nothing to do on a few thousand points.
ROW_BLOCKS_PER_SUM = 8
# Entries of a matrix that are worth calling threads for: they take half a millisecond, ten times what a call takes.
WORTH_THREADS_ENTRIES = 2**17
# Threads up to which a symmetric product is faster with tiles that stay in a second-level cache. With more, threads
# wait for the interpreter more often than tiles are worth.
FEW_THREADS = 4
# Rows and columns of tiles of a kernel whose values are computed one by one in Python: 4,096 calls take some
# milliseconds at least, so that tiles cost nothing, and seconds where the function is slow, after which progress shows.
PAIR_TILE = 64, 64
# Points up to which a mean of rows takes less time than a call of BLAS with what leads to it.
FEW_POINTS = 500
# Rows whose values are copied to columns together: they stay in the first cache.
MIRRORED_ROWS = 64
# Memory for a held matrix, relative to its entries: some room for work on them.
ROOM_FOR_WORK = 1.25


# Rows of panels in which one triangle of a matrix of few rows is computed, and rows up to which one panel of all takes
# less time: a panel costs a dozen calls, and the other triangle half of all exponentials.
FEW_PANEL_ROWS = 64, 128


class Gram:
    """K with entries k(xᵢ, yⱼ), as an operator.

    Parameters
    ----------
    kernel : Kernel
        With all parameters resolved.
    X : array of shape (n, d)
        Rows.
    Y : array of shape (m, d) or None, default=None
        Columns; None stands for X, and lets products use the symmetry.
    values : array of shape (n, m) or None, default=None
        The entries, when they are held; otherwise each product computes them again.
    multiply : callable or None, default=None
        From V to K V for a symmetric K that is not held, where others than this process compute it.

    See Also
    --------
    preimage.eigensolvers.BlockKrylov : Eigenpairs of a Gram matrix that is not held.
    preimage.landmarks.RandomlyPivotedCholesky : An approximation by few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Gram
    >>> from preimage.kernels import Linear
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> Gram(Linear(), X) @ np.ones((2, 1))
    array([[1.],
           [4.]])
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        Y: Array = None,
        values: Array = None,
        multiply: Callable[[Array], Array] | None = None,
    ) -> None:
        if Y is None:  # one triangle is computed, and mirrored
            kernel.require_symmetry("A Gram matrix")
        self.kernel = kernel
        self.X = X
        self.Y = Y
        self.values = values
        self.multiply = multiply
        self._diagonal: Array | None = None
        self._largest_diagonal: float | None = None
        self._distance_errors: Callable[[], np.ndarray] | None = None

    @property
    def is_symmetric(self) -> bool:
        return self.Y is None

    @property
    def is_held(self) -> bool:
        return self.values is not None

    @property
    def device_array(self) -> Array:
        """An array on the device of the matrix."""
        return self.X

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self._right.shape[0]

    @property
    def dtype(self) -> Any:
        return self.kernel.value_type(self.X)

    def fits(self, budget: int) -> bool:
        """Whether the entries, with some room for work on them, take at most `budget` bytes."""
        n, m = self.shape
        return self.is_held or ROOM_FOR_WORK * n * m * itemsize(self.dtype) <= budget

    def held(self) -> Gram:
        """The same matrix with its entries in memory."""
        return Gram(self.kernel, self.X, self.Y, values=self.dense())

    def centered(self, weights: Array | None = None, *, about_mean: bool = True) -> CenteredGram:
        """H K H for a symmetric K, with H = I − 11ᵀ/n; for weights, and inner products about zero: `CenteredGram`."""
        return CenteredGram(self, weights, about_mean=about_mean)

    @unwarned()
    def rounding_error(self) -> float:
        """An estimate of the spectral norm of the rounding errors in a symmetric K.

        Errors of entries are nearly independent, so their matrix has a norm of about √n times their size. That size is
        at least one unit in the last place of k(x, x). Kernels that subtract large numbers lose more: those of squared
        distances by a formula (`value_errors`), others differently for k(x, y) and k(y, x), whose difference measures
        the loss.
        """
        n = self.shape[0]
        size = self.unit_error() / n**0.5
        known = None if self._distance_errors is None else self._distance_errors()
        if (errors := value_errors(self.kernel, self.X, known)) is not None:
            return max(size, errors[0]) * n**0.5
        few = np.linspace(0, n - 1, min(n, 2 * ASYMMETRY_ROWS)).astype(int)
        left, right = take_rows(self.X, few[::2]), take_rows(self.X, few[1::2])
        if right.shape[0]:
            there, back = self.kernel.prepare(right)(left), self.kernel.prepare(left)(right)
            xp = array_namespace(there)
            size = max(size, float(xp.max(xp.abs(there - back.T))))
        return size * n**0.5

    def unit_error(self) -> float:
        """That norm if errors are one unit in the last place of k(x, x)."""
        return epsilon(self.dtype) * self.largest_diagonal() * self.shape[0] ** 0.5

    def diagonal(self) -> Array:
        """k(xᵢ, xᵢ) of a symmetric matrix, computed once."""
        if self._diagonal is None:
            with unwarned():
                self._diagonal = self.kernel.diagonal(self.X)
        return (
            self._diagonal.copy()
            if isinstance(self._diagonal, np.ndarray)
            else own_copy(self._diagonal, self._diagonal)
        )

    def largest_diagonal(self) -> float:
        """The largest modulus of k(xᵢ, xᵢ)."""
        if self._largest_diagonal is None:
            diagonal = self.diagonal()
            xp = array_namespace(diagonal)
            self._largest_diagonal = float(xp.max(xp.abs(diagonal)))
        return self._largest_diagonal

    @property
    def column_step(self) -> int:
        """Products with numbers of columns up to the next multiple of this cost the same."""
        return 1 if self.is_held else fused_column_step(self.kernel, self.X)

    def columns(self, indices: Array) -> Array:
        """The columns with the given numbers, shape (n, len(indices))."""
        if self.is_held:
            return take_rows(self.values.T, indices).T
        return Gram(self.kernel, self.X, take_rows(self._right, indices)).dense()

    @unwarned()
    def __matmul__(self, V: Array) -> Array:
        if self.is_held:
            if (found := fused_held_product(self.kernel, self.values, V)) is not None:
                return found
            return symmetric_product(self.values, V) if self.is_symmetric else product(self.values, V)
        if self.multiply is not None:
            return self.multiply(V)
        if (found := fused_product(self.kernel, self.X, self._right, V)) is not None:
            return found
        return self._symmetric_product(V) if self.is_symmetric else self._product(V)

    def _product_with(self, Y: Array, V: Array) -> Array:
        """k(X, Y) V for few points Y, by those who compute products with this matrix."""
        if isinstance(self.multiply, PairSums):
            return self.multiply.images(partial(_cross, self.kernel), Y, V)
        return Gram(self.kernel, self.X, Y) @ V

    @unwarned()
    def _dense_into(self, out: Array) -> Array:
        """All entries of a symmetric matrix of few rows in NumPy: in `out`, where the kernel can write there."""
        if not (self._has_panels and fits(out, self.X)) or self.is_held or self._known_values() is not None:
            return np.array(self.dense(), order="C")
        prepared, n = self.kernel.prepare(self.X), len(out)
        tile, self._distance_errors = prepared.tiles(self.X), prepared._errors
        if n <= FEW_PANEL_ROWS[1]:
            tile(everything := slice(0, n), everything, out)
            return _mirrored(out)
        for rows in cut(n, FEW_PANEL_ROWS[0]):
            tile(rows, slice(rows.start, n), out[rows, rows.start :])
        return _mirrored(out)

    def _known_values(self) -> Array | None:
        return self.kernel.known_values(self.X, self._right)

    @unwarned()
    def dense(self) -> Array:
        """All entries as an array; a symmetric matrix computes one triangle and mirrors it."""
        if self.is_held:
            return self.values
        known = self._known_values()
        if known is not None:
            return known
        if self.is_symmetric and (found := fused_gram(self.kernel, self.X)) is not None:
            return found
        n, m = self.shape
        if self._has_panels:
            return self._filled_by_panels(panel_rows(n, m))
        row_step, column_step = block_shape(self.X, m)
        if self.kernel.evaluates_pairs and not is_block_shape_forced():
            row_step, column_step = PAIR_TILE
        if self.is_symmetric:
            # The first tile of a row of tiles then contains the square on the diagonal.
            column_step = max(row_step, column_step)
            tiles = [(rows, columns) for rows in cut(n, row_step) for columns in self._upper_columns(rows, column_step)]
        else:
            tiles = [(rows, columns) for rows in cut(n, row_step) for columns in cut(m, column_step)]
        values_of = self._tile_values(row_step, column_step)
        if self.is_symmetric and len(tiles) == 1:
            return _mean_with_transpose(values_of(*tiles[0]))
        out = array_namespace(self.X).empty((n, m), dtype=self.dtype, **device_kwargs(self.X))

        def fill(tile: tuple[slice, slice]) -> None:
            out[tile] = values_of(*tile)

        def fill_and_mirror(tile: tuple[slice, slice]) -> None:
            rows, columns = tile
            values = values_of(rows, columns)
            out[rows, columns] = values
            if columns.stop > rows.stop:
                beyond = slice(max(columns.start, rows.stop), columns.stop)
                copy_transposed(out[beyond, rows], values[:, beyond.start - columns.start :])
            if columns.start == rows.start:
                out[rows, rows] = _mean_with_transpose(out[rows, rows])

        with self._stage(len(tiles)) as advance:

            def fill_and_tell(tile: tuple[slice, slice]) -> None:
                (fill_and_mirror if self.is_symmetric else fill)(tile)
                advance()

            for_blocks(fill_and_tell, tiles, self.X, self._right)
        return out

    def _stage(self, n_tiles: int) -> AbstractContextManager[Callable[..., None]]:
        """Where functions of users are called for many pairs, their progress; nothing for other kernels."""
        if self.kernel.evaluates_pairs and n_tiles > 1:
            return stage("Kernel values of pairs", n_tiles)
        return nullcontext(lambda: None)

    @property
    def _has_panels(self) -> bool:
        """Whether large blocks are fast: the kernel writes them in place."""
        on_host = isinstance(self.X, np.ndarray) and isinstance(self._right, np.ndarray)
        return on_host and self.kernel.writes_in_place and not is_block_shape_forced()

    def _filled_by_panels(self, step: int) -> Array:
        """All entries, in panels of `step` rows that need no work space and a few calls each."""
        n, m = self.shape
        out = np.empty((n, m), self.dtype)
        tile = self.kernel.prepare(self._right).tiles(self.X)

        def fill(rows: slice) -> None:
            tile(rows, slice(0, m), out[rows])

        def fill_from_diagonal(rows: slice) -> None:
            tile(rows, slice(rows.start, n), out[rows, rows.start :])
            out[rows, rows] = _mean_with_transpose(out[rows, rows])

        def mirror(rows: slice) -> None:
            copy_transposed(out[rows, : rows.start], out[: rows.start, rows])

        panels = cut(n, step)
        if self.is_symmetric and len(panels) == 1:
            tile(*panels, slice(0, m), out)
            return _mirrored(out)
        if self.is_symmetric:
            run_parallel(fill_from_diagonal, panels)
            run_parallel(mirror, panels[::-1])  # the longest first
        else:
            run_parallel(fill, panels)
        return out

    def _tile_values(self, row_step: int, column_step: int) -> Callable[[slice, slice], Array]:
        """f with f(rows, columns) = k(X[rows], Y[columns]), valid until the same thread calls it again."""
        tile = self.kernel.prepare(self._right).tiles(self.X)
        if not (is_host(self.X) and is_host(self._right)):
            return tile
        buffer = ThreadBuffer(row_step, min(column_step, self.shape[1]), self.dtype)
        return lambda rows, columns: tile(
            rows, columns, buffer.part(rows.stop - rows.start, columns.stop - columns.start)
        )

    @property
    def _right(self) -> Array:
        return self.X if self.Y is None else self.Y

    def _product(self, V: Array) -> Array:
        n, m = self.shape
        if self._has_panels and isinstance(V, np.ndarray) and m:
            return self._product_by_panels(V)
        row_step, column_step = block_shape(self.X, m)
        block = self._tile_values(row_step, column_step)
        tiles = cut(m, column_step) or [slice(0, 0)]  # no columns: a product of zeros

        def rows_of_product(rows: slice) -> Array:
            total = block(rows, tiles[0]) @ V[tiles[0], :]
            for columns in tiles[1:]:
                total += block(rows, columns) @ V[columns, :]
            return total

        return map_rows(rows_of_product, range(n), rows=row_step, device_of=self.X)

    def _product_by_panels(self, V: Array) -> Array:
        """K V in blocks of rows that need no memory but one buffer per thread."""
        n, m = self.shape
        out = np.empty((n, V.shape[1]), np.result_type(self.dtype, V.dtype))
        first, *others = cut(m, PANEL_COLUMNS)
        block, add = self._tile_values(PANEL_ROWS, PANEL_COLUMNS), _products_added(out, PANEL_ROWS)

        def fill(rows: slice) -> None:
            np.matmul(block(rows, first), V[first, :], out=out[rows, :])
            for columns in others:
                add(out[rows, :], block(rows, columns), V[columns, :])

        panels = cut(n, PANEL_ROWS)
        if n * m < WORTH_THREADS_ENTRIES:
            for rows in panels:
                fill(rows)
        else:
            run_parallel(fill, panels)
        return out

    def _symmetric_product(self, V: Array) -> Array:
        """K V with every entry above the diagonal computed once and used twice."""
        xp = array_namespace(V)
        row_step, column_step = block_shape(self.X, self.shape[1])
        if self._has_panels and available_threads() > FEW_THREADS:
            row_step, column_step = PANEL_ROWS, PANEL_COLUMNS
        block, add = self._tile_values(row_step, column_step), _products_added(V, max(row_step, column_step))

        def contribute(super_rows: slice, total: Array) -> None:
            for start in range(super_rows.start, super_rows.stop, row_step):
                rows = slice(start, min(start + row_step, super_rows.stop))
                for columns in self._upper_columns(rows, column_step):
                    values = block(rows, columns)
                    # K_rc V_c goes to the rows r, and beyond the diagonal block its mirror K_rcᵀ V_r to the rows c.
                    add(total[rows, :], values, V[columns, :])
                    if columns.stop > rows.stop:
                        beyond = slice(max(columns.start, rows.stop), columns.stop)
                        add(total[beyond, :], values[:, beyond.start - columns.start :].T, V[rows, :])

        gathered = row_step * (ROW_BLOCKS_PER_SUM if is_host(self.X) else 1)
        return accumulate_rows(contribute, lambda: xp.zeros_like(V), self.shape[0], gathered, self.X)

    def _upper_columns(self, rows: slice, column_step: int) -> list[slice]:
        """Blocks of columns that cover those from the diagonal on."""
        starts = range(rows.start, self.shape[1], column_step)
        return [slice(start, min(start + column_step, self.shape[1])) for start in starts]


def _products_added(like: Array, n_rows: int) -> Callable[[Array, Array, Array], None]:
    """add(total, A, B), which adds A B of at most `n_rows` rows and the columns of `like` to `total`, a part of a sum.

    In NumPy the product is written to the same memory each time: new memory for thousands of products takes longer than
    the smallest of them, and one thread at a time gets it from the system.
    """
    if not isinstance(like, np.ndarray):

        def add(total: Array, A: Array, B: Array) -> None:
            total += A @ B

        return add
    buffer = ThreadBuffer(n_rows, like.shape[1], like.dtype)

    def add_in_place(total: Array, A: Array, B: Array) -> None:
        total += np.matmul(A, B, out=buffer.part(*total.shape))

    return add_in_place


def _mean_with_transpose(values: Array) -> Array:
    """A new array that is exactly symmetric, as eigensolvers need it; rounding may differ on the two sides."""
    mean = values + values.T
    mean *= 0.5
    return mean


def _mirrored(values: Array) -> Array:
    """An array of NumPy made exactly symmetric in its own memory."""
    for start in range(0, len(values), MIRRORED_ROWS):
        stop = start + MIRRORED_ROWS
        square = values[start:stop, start:stop]
        square[...] = _mean_with_transpose(square)
        values[stop:, start:stop] = values[start:stop, stop:].T
    return values


class CenteredGram:
    """H K H as an operator: inner products of φ(xᵢ) − mean, without a centred copy of K.

    With weights w the mean is Σ wᵢφ(xᵢ)/Σw, and the operator is R H K Hᵀ R with H = I − 1wᵀ/Σw and R = diag(√w): it has
    the eigenvalues of the Gram matrix in which point i is repeated wᵢ times.

    Parameters
    ----------
    gram : symmetric Gram
    weights : array of shape (n,), optional
        Positive; all one when left out.
    about_mean : bool, default=True
        With False nothing is subtracted, H is the identity: second moments about the zero of feature space.
    """

    def __init__(self, gram: Gram, weights: Array | None = None, *, about_mean: bool = True) -> None:
        self.gram = gram
        self.weights = weights
        self.about_mean = about_mean
        self._row_means: Array | None = None
        self._rounding_error: float | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.gram.shape

    @property
    def dtype(self) -> Any:
        return self.gram.dtype

    @property
    def is_held(self) -> bool:
        return self.gram.is_held

    @property
    def device_array(self) -> Array:
        """An array on the device of the matrix."""
        return self.gram.device_array

    @property
    def column_step(self) -> int:
        """Products with numbers of columns up to the next multiple of this cost the same."""
        return self.gram.column_step

    @property
    def count(self) -> float:
        """Number of points, each counted with its weight."""
        return self.shape[0] if self.weights is None else float(array_namespace(self.weights).sum(self.weights))

    @cached_property
    def mean_coefficients(self) -> Array:
        """The mean in feature space as coefficients of the points, shape (n, 1)."""
        xp = array_namespace(self.gram.X)
        if self.weights is not None:
            return (self.weights / self.count)[:, None]
        return xp.full((self.shape[0], 1), 1 / self.shape[0], dtype=self.dtype, **device_kwargs(self.gram.X))

    @property
    def row_means(self) -> Array:
        """⟨φ(xᵢ), mean⟩ for every i: (1/n) Σⱼ k(xᵢ, xⱼ) without weights."""
        if self._row_means is None:
            values = self.gram.values
            if self.weights is None and type(values) is np.ndarray and len(values) <= FEW_POINTS:
                self._set_row_means(values.mean(axis=1))
            else:
                self._set_row_means((self.gram @ self.mean_coefficients)[:, 0])
        return self._row_means

    def trace(self) -> float:
        """tr(HKH) = Σ k(xᵢ, xᵢ) − (1/n) Σ K, the total variance times n  (S8)."""
        diagonal = self.gram.diagonal()
        xp = array_namespace(diagonal)
        if not self.about_mean:
            return float(xp.sum(diagonal if self.weights is None else self.weights * diagonal))
        means = self.row_means
        if self.weights is None:
            return float(xp.sum(diagonal) - xp.sum(means))
        return float(xp.sum(self.weights * diagonal) - xp.sum(self.weights * means))

    def centered_coefficients(self, vectors: Array) -> Array:
        """Coefficients of Σ √wᵢ uᵢ (φ(xᵢ) − mean) on the points, shape (n, k); every column adds up to zero.

        In exact arithmetic eigenvectors u need no centring. Computed ones do: a remainder along the constant vector is
        multiplied by kernel values that are not centred, and divided by a small √λ.
        """
        return self._centered_sum(vectors if self.weights is None else vectors * self._roots)

    def __matmul__(self, V: Array) -> Array:
        coefficients = self.centered_coefficients(V)
        if self._row_means is None:
            # Row sums of K cost another pass when K is not held, so the first product computes them as well.
            xp = array_namespace(V)
            values = self.gram @ xp.concat([coefficients, self.mean_coefficients], axis=1)
            self._set_row_means(xp.asarray(values[:, -1], copy=True))
            return self._centered_values(values[:, :-1])
        return self._centered_values(self.gram @ coefficients)

    def multiplier(self) -> Callable[[Array, Array], None] | None:
        """multiply(vector, out), which writes the product into `out`: fast where the matrix is in the cache.

        None but for values that are held by NumPy, and points without weights.
        """
        if self.weights is not None or not isinstance(self.gram.values, np.ndarray):
            return None
        multiply = symmetric_multiplier(self.gram.values)
        if multiply is None:
            return None
        if not self.about_mean:
            return multiply
        n, centered = self.shape[0], np.empty(self.shape[0], dtype=self.dtype)

        def multiply_centered(vector: Array, out: Array) -> None:
            np.subtract(vector, np.add.reduce(vector) / n, out=centered)
            multiply(centered, out)
            out -= np.add.reduce(out) / n

        return multiply_centered

    def dense(self) -> Array:
        """The centred matrix as a new array  (S1)."""
        centered = self._centered_matrix() if self.about_mean else 1.0 * self.gram.dense()
        return centered if self.weights is None else centered * self._roots * self._roots.T

    def rounding_error(self) -> float:
        """Norm of the rounding errors, see `Gram.rounding_error`; measured once."""
        if self._rounding_error is None:
            self._rounding_error = self._heaviest * self.gram.rounding_error()
        return self._rounding_error

    def unit_error(self) -> float:
        """That norm if errors are one unit in the last place of k(x, x)."""
        return self._heaviest * self.gram.unit_error()

    @property
    def _heaviest(self) -> float:
        """The largest weight, by which errors of entries are multiplied."""
        if self.weights is None:
            return 1.0
        # A row that has nearly all of the weight is nearly the mean, and nearly vanishes when centred.
        remaining = self.weights * (1 - self.weights / self.count) if self.about_mean else self.weights
        return float(array_namespace(remaining).max(remaining))

    def sample(self, stride: int) -> CenteredGram:
        """The centred Gram matrix of every `stride`-th point, held."""
        weights = None if self.weights is None else self.weights[::stride]
        points = self.gram.X[::stride, :]
        values = self.gram.values[::stride, ::stride] if self.is_held else Gram(self.gram.kernel, points).dense()
        return Gram(self.gram.kernel, points, values=values).centered(weights, about_mean=self.about_mean)

    def sketch(self, weights: Array, stride: int) -> Array:
        """H K S weights, where S has every `stride`-th column of the identity: a product at the cost of few columns."""
        if self.is_held:
            return self._centered_values(product(self.gram.values[::stride, :].T, weights))
        return self._centered_values(self.gram._product_with(self.gram.X[::stride, :], weights))

    def _centered_matrix(self) -> Array:
        means = self.row_means
        average = array_namespace(means).mean(means) if self.weights is None else self.weights @ means / self.count
        fresh = self.gram.dense() - means[None, :]
        if isinstance(fresh, np.ndarray):
            fresh -= (means - average)[:, None]
            return fresh
        return fresh - (means - average)[:, None]

    @property
    def _roots(self) -> Array:
        return array_namespace(self.weights).sqrt(self.weights)[:, None]

    def _centered_sum(self, coefficients: Array) -> Array:
        """H acting on coefficients: they add up to zero afterwards, unless H is the identity."""
        if not self.about_mean:
            return coefficients
        xp = array_namespace(coefficients)
        if self.weights is None:
            return coefficients - xp.mean(coefficients, axis=0)
        return coefficients - self.mean_coefficients * xp.sum(coefficients, axis=0)

    def _centered_values(self, values: Array) -> Array:
        """H acting on fresh values at the points, whose weighted mean is zero afterwards; times √w."""
        if not self.about_mean:
            return values if self.weights is None else self._roots * values
        xp = array_namespace(values)
        if self.weights is None:
            values -= xp.mean(values, axis=0)
            return values
        return self._roots * (values - (self.weights / self.count) @ values)

    def _set_row_means(self, row_means: Array) -> None:
        require_finite(row_means, self.gram.kernel)
        self._row_means = row_means


def require_finite(values: Array, kernel: Any) -> None:
    """Raise when kernel values overflow or are undefined."""
    xp = array_namespace(values)
    if not bool(xp.all(xp.isfinite(values))):
        if kernel.evaluates_pairs:
            raise ValueError(
                f"The function of {kernel!r} answers NaN or infinity for some pairs of rows. A kernel is a number for "
                "any two of them: look for pairs without anything in common, and for empty ones."
            )
        raise ValueError(
            f"The kernel {kernel!r} gives NaN or infinite values on these data. Scale the data, or lower gamma or the "
            "degree (for polynomials of many variables, gamma = 1/n_features keeps values near one)."
        )


# Rows of a tile, in units of the usual block. Points are few here, and preparing a tile costs as much as the values of
# a few points: with tiles of the usual size a pivot takes longer, with much larger ones the tile leaves the cache.
TILE = 16


class KernelRows:
    """k(·, x) for all rows x, prepared once: squared norms and shifts are not computed again for each new point.

    Parameters
    ----------
    kernel : Kernel
    rows : array of shape (n, d)
    """

    def __init__(self, kernel: Kernel, rows: Array) -> None:
        self.kernel = kernel
        self.rows = rows
        step = block_shape(rows, 1)[0] * (TILE if is_host(rows) else 1)
        self._tiles = cut(rows.shape[0], step)
        self._functions = [kernel.prepare(rows[tile, :]) for tile in self._tiles]

    @property
    def dtype(self) -> Array:
        return self.kernel.value_type(self.rows)

    @unwarned()
    def __call__(self, points: Array) -> Array:
        """The values k(pᵢ, xⱼ), shape (len(points), n)."""
        if len(self._tiles) == 1:
            return self._functions[0](points)
        xp = array_namespace(self.rows)
        out = xp.empty((points.shape[0], self.rows.shape[0]), dtype=self.dtype, **device_kwargs(self.rows))

        def fill(number: int) -> None:
            out[:, self._tiles[number]] = self._functions[number](points)

        for_blocks(fill, range(len(self._tiles)), self.rows)
        return out


def worker_product(kernel: Kernel, X: Array, workers: Workers) -> PairSums:
    """A function from V to K V, for the rows X in this process, of which workers get the blocks that they need."""
    return workers.pairs(partial(_within, kernel), partial(mirrored_products, kernel), X)


def _within(kernel: Kernel, X: Array, V: Array) -> Array:
    return Gram(kernel, X) @ V


def _cross(kernel: Kernel, X: Array, Y: Array, V: Array) -> Array:
    return Gram(kernel, X, Y) @ V


def mirrored_products(kernel: Kernel, X: Array, Y: Array, V: Array, W: Array) -> tuple[Array, Array]:
    """K W and Kᵀ V for the matrix K with entries k(xᵢ, yⱼ), each of which is computed once and used twice."""
    n, (row_step, column_step) = X.shape[0], block_shape(X, Y.shape[0])
    block, add = Gram(kernel, X, Y)._tile_values(row_step, column_step), _products_added(V, max(row_step, column_step))

    def contribute(super_rows: slice, total: Array) -> None:
        upper, lower = total[:n], total[n:]
        for start in range(super_rows.start, super_rows.stop, row_step):
            rows = slice(start, min(start + row_step, super_rows.stop))
            for columns in cut(Y.shape[0], column_step):
                values = block(rows, columns)
                add(upper[rows], values, W[columns])
                add(lower[columns], values.T, V[rows])

    zeros = lambda: np.zeros((n + Y.shape[0], V.shape[1]), dtype=V.dtype)
    total = accumulate_rows(contribute, zeros, n, row_step * ROW_BLOCKS_PER_SUM, X)
    return total[:n], total[n:]
