"""Inner products of class means in feature space, for many widths of a kernel in one pass over the pairs of points."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from preimage._arrays import array_namespace, from_numpy, is_host, take_rows, to_numpy
from preimage._progress import stage
from preimage._rows import block_shape, cut, for_blocks
from preimage._threads import available_threads
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._pairwise import InnerProduct
from preimage.kernels._profile import ProfileKernel
from preimage.kernels._radial import Gaussian, Laplacian

# Row blocks that every thread has in flight: their sums are added in the order of the rows, whatever the threads do.
BLOCKS_A_THREAD = 4


@dataclass(frozen=True)
class ClassGram:
    r"""Inner products :math:`G_{mn} = \langle m_m, m_n \rangle` of class means in feature space, for L widths.

    :math:`G_{mn} = \frac{1}{N_m N_n} \sum_{i \in m} \sum_{j \in n} k(x_i, x_j)`, which includes pairs of a point with
    itself: as the kernel narrows, these are all that remains, and :math:`\|m_m - m_n\|^2 \to 1/N_m + 1/N_n` says
    nothing but the sizes of the classes. `unbiased` leaves these pairs out.

    Parameters
    ----------
    gammas : array of shape (L,)
    values : array of shape (L, K, K)
        G for every width, in NumPy and double precision.
    counts : array of shape (K,)
        Members of the classes.
    classes : array of shape (K,)
        Their labels.
    self_similarity : array of shape (L, K)
        Means of k(x, x) over the members.
    squared_norms : array of shape (L,)
        Σᵢⱼ k(xᵢ, xⱼ)² of the whole kernel matrix.
    squared_row_sums : array of shape (L,)
        Σᵢ (Σⱼ k(xᵢ, xⱼ))², what centring takes away from it.
    """

    gammas: Any
    values: Any
    counts: Any
    classes: Any
    self_similarity: Any
    squared_norms: Any
    squared_row_sums: Any

    def __len__(self):
        return len(self.gammas)

    @cached_property
    def unbiased(self):
        """G without the pairs of a point with itself, shape (L, K, K): what infinitely large classes would have."""
        corrected = self.values.copy()
        diagonal = np.einsum("lkk->lk", corrected)  # a view
        diagonal[:] = without_self_pairs(diagonal, self.counts, self.self_similarity, self.classes)
        return corrected

    def joined(self, other):
        """The widths of both, in increasing order."""
        order = np.argsort(np.concatenate([self.gammas, other.gammas]), kind="stable")
        both = lambda name: np.concatenate([getattr(self, name), getattr(other, name)])[order]
        return ClassGram(
            both("gammas"),
            both("values"),
            self.counts,
            self.classes,
            both("self_similarity"),
            both("squared_norms"),
            both("squared_row_sums"),
        )


class ClassPairs:
    r"""Labelled points, sorted by class, and sums of kernel values over pairs of classes.

    Squared distances (or what the kernel depends on) of a tile of pairs are computed once, and the kernel values of all
    widths from them. On a doubling grid of a Gaussian or Laplacian kernel, :math:`k_{2\gamma} = k_\gamma^2`: one
    exponential, then squarings. The symmetric half of the tiles is enough. Time O(N²d + LN²), memory O(LK²) and a few
    tiles a thread.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, d)
    y : array of shape (N,)
        Class labels, in NumPy.
    gammas : array of shape (L,)
        Widths, increasing.
    kernel : Kernel, default=Gaussian()
        Any kernel of a distance with a parameter `gamma`, whose value does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.widths import ClassPairs
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> ClassPairs(X, np.array([0, 0, 1]), [1.0]).gram().values[0].round(4)
    array([[0.6839, 0.    ],
           [0.    , 1.    ]])
    """

    def __init__(self, X, y, gammas, kernel=None):
        kernel = Gaussian() if kernel is None else kernel
        require_width(kernel)
        self.gammas = np.asarray(gammas, dtype=float)
        if self.gammas.ndim != 1 or not self.gammas.size or not np.all(np.isfinite(self.gammas) & (self.gammas > 0)):
            raise ValueError(f"Widths must be positive finite numbers, at least one; got {gammas!r}.")
        self.classes, codes, self.counts = np.unique(np.asarray(y), return_inverse=True, return_counts=True)
        if codes.size != X.shape[0]:
            raise ValueError(f"There are {X.shape[0]} points but {codes.size} labels; each point needs one.")
        self.X = take_rows(X, np.argsort(codes, kind="stable"))
        self.codes = np.sort(codes)
        self.ends = np.cumsum(self.counts)
        self._kernels = [clone(kernel).set_params(gamma=float(gamma)) for gamma in self.gammas]
        self._quantity = kernel.pairwise.blocks(self.X, self.X)
        ratios = self.gammas[1:] / self.gammas[:-1]
        self._doubles = type(kernel) in (Gaussian, Laplacian) and np.allclose(ratios, 2, rtol=1e-12, atol=0)

    def gram(self):
        """Inner products of all class means, from half of all pairs of points.

        Returns
        -------
        ClassGram
        """
        n, n_classes, n_widths = self.X.shape[0], self.counts.size, self.gammas.size
        sums = np.zeros((n_widths, n_classes, n_classes))
        row_sums = np.zeros((n_widths, n))
        squares = np.zeros(n_widths)
        row_step, column_step = block_shape(self.X, n)
        blocks = cut(n, row_step)
        wave = BLOCKS_A_THREAD * available_threads() if is_host(self.X) else 1
        with stage("Pairs of points", n * (n + 1) // 2) as advance:
            for part in cut(len(blocks), wave):
                strips = for_blocks(lambda rows: self._strip(rows, column_step), blocks[part], self.X)
                for rows, (strip, along, power) in zip(blocks[part], strips, strict=True):
                    sums[:, self._classes_of(rows), :] += strip
                    row_sums[:, rows.start :] += along
                    squares += power
                    # Each row is paired with itself and all later ones: an arithmetic series.
                    advance((rows.stop - rows.start) * (2 * n + 1 - rows.start - rows.stop) // 2)
        # Strips hold the tiles on and right of the diagonal; those on it have both of their halves.
        sums = sums + np.swapaxes(sums, 1, 2)
        sizes = self.counts.astype(float)
        return ClassGram(
            self.gammas,
            sums / (sizes[:, None] * sizes[None, :]),
            self.counts,
            self.classes,
            self._self_similarity(),
            squares,
            np.einsum("ln,ln->l", row_sums, row_sums),
        )

    def row(self, number):
        """Inner products of one class mean with all others, shape (L, K): N_j N pairs of points."""
        members = slice(int(self.ends[number] - self.counts[number]), int(self.ends[number]))
        n, n_classes, n_widths = self.X.shape[0], self.counts.size, self.gammas.size
        row_step, column_step = block_shape(self.X, n)
        tiles = [
            (slice(members.start + rows.start, members.start + rows.stop), columns)
            for rows in cut(members.stop - members.start, row_step)
            for columns in cut(n, column_step)
        ]

        def tile_sums(tile):
            rows, columns = tile
            of_columns = self._indicator(columns)
            return [to_numpy(_column_sums(values) @ of_columns) for values in self._values(rows, columns)]

        total = np.zeros((n_widths, n_classes))
        for (_, columns), sums in zip(tiles, for_blocks(tile_sums, tiles, self.X), strict=True):
            total[:, self._classes_of(columns)] += np.asarray(sums, dtype=float)
        return total / (self.counts[number] * self.counts[None, :].astype(float))

    def diagonal(self, unbiased=False):
        """‖m_j‖² of all class means, shape (L, K): Σ N_j² pairs of points."""
        row_step, column_step = block_shape(self.X, self.X.shape[0])

        def norms(number):
            start, stop = int(self.ends[number] - self.counts[number]), int(self.ends[number])
            tiles = [
                (slice(start + rows.start, start + rows.stop), slice(start + columns.start, start + columns.stop))
                for rows in cut(stop - start, row_step)
                for columns in cut(stop - start, column_step)
            ]
            total = np.zeros(self.gammas.size)
            for tile in tiles:
                total += [_total(values) for values in self._values(*tile)]
            return total / self.counts[number] ** 2

        values = np.stack(for_blocks(norms, range(self.counts.size), self.X), axis=1)
        if not unbiased:
            return values
        return without_self_pairs(values, self.counts, self._self_similarity(), self.classes)

    def _strip(self, rows, column_step):
        """Sums over the tiles of some rows on and right of the diagonal, half of those on it.

        By class of row and column, shape (L, kr, K); over the points from `rows` on, that is row sums of the rows and,
        mirrored, of the columns beyond, shape (L, N − start); of squares, both halves, shape (L,).
        """
        n = self.X.shape[0]
        classes = self._classes_of(rows)
        strip = np.zeros((self.gammas.size, classes.stop - classes.start, self.counts.size))
        along = np.zeros((self.gammas.size, n - rows.start))
        power = np.zeros(self.gammas.size)
        height = rows.stop - rows.start
        of_rows = self._indicator(rows)
        beyond = [slice(start, min(start + column_step, n)) for start in range(rows.stop, n, column_step)]
        for columns in [rows, *beyond]:
            share = 0.5 if columns is rows else 1.0
            of_columns = self._indicator(columns)
            there = slice(columns.start - rows.start, columns.stop - rows.start)
            for level, values in enumerate(self._values(rows, columns)):
                by_class = of_rows.T @ values  # (kr, columns)
                strip[level, :, self._classes_of(columns)] += share * to_numpy(by_class @ of_columns)
                along[level, there] += to_numpy(_column_sums(by_class))
                if columns is not rows:
                    along[level, :height] += to_numpy(_row_sums(values))
                power[level] += 2 * share * _sum_of_squares(values)
        return strip, along, power

    def _values(self, rows, columns):
        """Kernel values of a tile, one width after another; each array lives until the next is asked for."""
        quantity = self._quantity(rows, columns)
        if not self._doubles:
            yield from (kernel.profile(quantity) for kernel in self._kernels)
            return
        values = self._kernels[0].profile(quantity)
        yield values
        for _ in self._kernels[1:]:
            values *= values
            yield values

    def _indicator(self, points):
        """Ones where a point is of a class, for the classes of consecutive points alone."""
        codes = self.codes[points]
        return from_numpy((codes[:, None] == np.arange(codes[0], codes[-1] + 1)).astype(np.float64), self._dense_like)

    def _classes_of(self, points):
        return slice(int(self.codes[points.start]), int(self.codes[points.stop - 1]) + 1)

    @cached_property
    def _dense_like(self):
        """An array of the library, device and precision of kernel values."""
        return self._kernels[0].profile(self._quantity(slice(0, 1), slice(0, 1)))

    def _self_similarity(self):
        """k(x, x), which is the same for all points of a kernel of a distance."""
        at_zero = np.array([float(kernel.profile(0 * self._dense_like)[0, 0]) for kernel in self._kernels])
        return np.broadcast_to(at_zero[:, None], (self.gammas.size, self.counts.size))


def class_gram(X, y, gammas, kernel=None):
    """Inner products of class means in feature space for several widths: `ClassPairs(X, y, gammas, kernel).gram()`."""
    return ClassPairs(X, y, gammas, kernel).gram()


def without_self_pairs(squared_norms, counts, self_similarity, classes):
    """‖m_j‖² as means over pairs of different points, from means over all pairs; arrays of shape (L, K)."""
    if counts.min() < 2:
        lonely = classes.tolist()[int(np.argmin(counts))]
        raise ValueError(
            f"A class mean of one point has no pairs of different points: class {lonely!r} has one member. Give it "
            "more, or leave it out; means with pairs of a point with itself, unbiased=False, take any."
        )
    return (counts * squared_norms - self_similarity) / (counts - 1)


def stratified_rows(y, n_samples, rng):
    """Row numbers of at most about n_samples points, every class in proportion and with two members at least.

    Classes of fewer members come whole; None, or a number that is not below the rows there are, takes all.
    """
    y = np.asarray(y)
    if n_samples is None or n_samples >= y.size:
        return np.arange(y.size)
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    wanted = np.minimum(np.maximum(np.floor(counts * (n_samples / y.size)), 2), counts)
    # A random order of all points; the rank of a point within its class says whether it is among those wanted.
    order = rng.permutation(y.size)
    order = order[np.argsort(codes[order], kind="stable")]
    starts = np.cumsum(counts) - counts
    rank = np.arange(y.size) - starts[codes[order]]
    return np.sort(order[rank < wanted[codes[order]]])


def has_width(kernel):
    """Whether `gamma` of a kernel is the width of a bump, so that class means have a width where they are far apart."""
    return (
        isinstance(kernel, ProfileKernel)
        and "gamma" in kernel.get_params(deep=False)
        and kernel.is_positive_semidefinite
        and kernel.pairwise != InnerProduct()
    )


def require_width(kernel):
    """Refuse kernels that have none."""
    if not has_width(kernel):
        raise UnsupportedKernelError(
            f"Widths from class means need a positive semidefinite kernel of a distance with a `gamma`; got {kernel!r}."
            " Gaussian, Laplacian, Matern, RationalQuadratic and InverseMultiquadric are such kernels. In a combination"
            " of kernels, give the rule to one of these as its gamma."
        )


def _column_sums(values):
    """1ᵀV, on the host by BLAS, which is several times faster than NumPy's sum on a tile in the cache."""
    if isinstance(values, np.ndarray):
        return np.ones(values.shape[0], values.dtype) @ values
    return array_namespace(values).sum(values, axis=0)


def _row_sums(values):
    if isinstance(values, np.ndarray):
        return values @ np.ones(values.shape[1], values.dtype)
    return array_namespace(values).sum(values, axis=1)


def _total(values):
    xp = array_namespace(values)
    return float(xp.sum(values, dtype=xp.float64))


def _sum_of_squares(values):
    if isinstance(values, np.ndarray):
        flat = values.ravel()
        return float(flat @ flat)
    xp = array_namespace(values)
    return float(xp.sum(values * values, dtype=xp.float64))
