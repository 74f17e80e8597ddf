"""Inner products of class means in feature space, for many widths of a kernel in one pass over the pairs of points."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from preimage._engine.arrays import array_namespace, as_points, from_numpy, in_double, is_host, take_rows, to_numpy
from preimage._engine.finite import gives_finite_numbers, is_finite
from preimage._engine.progress import stage
from preimage._engine.rows import HOST_COLUMNS, HOST_ROWS, block_shape, cut, for_blocks
from preimage._engine.threads import available_threads
from preimage._engine.typing import Array, Targets
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._kernel import Kernel
from preimage.kernels._pairwise import InnerProduct
from preimage.kernels._profile import ProfileKernel
from preimage.kernels._radial import Gaussian, Laplacian

# Row blocks per thread that are computed before their sums are added, in the order of the rows whatever the threads do,
# so that results do not depend on threads. Fewer leave threads waiting for the slowest block; each holds a few
# megabytes of sums for a thousand classes.
BLOCKS_PER_THREAD = 4
# Points up to which rows are in double precision, whatever they came in: of so few nobody waits for the sums, and
# rounding errors of single precision do not average out. Ten times as many would take a second more.
FEW_POINTS = 1000
# Panels of pairs on the host: 4 MiB of kernel values stay between the cache of a core and the shared cache. At least so
# many panels, so that threads end at about the same time: the first is twice as long as panels are on average. Fewer
# rows than `FEWEST_ROWS` use BLAS badly; more columns than `MOST_COLUMNS` take memory and save no calls.
PANEL, PANELS, FEWEST_ROWS, MOST_COLUMNS = 2**19, 32, 16, 2**14


@dataclass(frozen=True)
class ClassGram:
    r"""Inner products :math:`G_{mn} = \langle m_m, m_n \rangle` of class means in feature space, for L widths.

    :math:`G_{mn} = \frac{1}{N_m N_n} \sum_{i \in m} \sum_{j \in n} k(x_i, x_j)`, which includes pairs of a point with
    itself: as the kernel narrows, these are all that remains, and :math:`\|m_m - m_n\|^2 \to 1/N_m + 1/N_n` depends on
    the sizes of the classes alone. `unbiased` leaves these pairs out.

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

    gammas: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    classes: np.ndarray
    self_similarity: np.ndarray
    squared_norms: np.ndarray
    squared_row_sums: np.ndarray

    def __len__(self) -> int:
        return len(self.gammas)

    @cached_property
    def unbiased(self) -> np.ndarray:
        """G without the pairs of a point with itself, shape (L, K, K): what infinitely large classes would have."""
        if self.counts.min() < 2:
            lonely = self.classes.tolist()[int(np.argmin(self.counts))]
            raise ValueError(
                f"A class mean of one point has no pairs of different points: class {lonely!r} has one member. Give it "
                "more, or leave it out; means with pairs of a point with itself, unbiased=False, take any."
            )
        corrected = self.values.copy()
        diagonal = np.einsum("lkk->lk", corrected)  # a view
        diagonal[:] = (self.counts * diagonal - self.self_similarity) / (self.counts - 1)
        return corrected

    def means(self, unbiased: bool) -> np.ndarray:
        """G with or without the pairs of a point with itself."""
        return self.unbiased if unbiased else self.values

    def joined(self, other: "ClassGram") -> "ClassGram":
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


class _Buffer(threading.local):
    """Memory for the kernel values of a panel, the same each time a thread asks: new pages cost as much as the work."""

    def __init__(self, size: int, dtype: Any) -> None:
        self._values = np.empty(size, dtype)

    def part(self, shape: tuple[int, int]) -> np.ndarray:
        return self._values[: shape[0] * shape[1]].reshape(shape)


class ClassPairs:
    r"""Labelled points, sorted by class, and sums of kernel values over pairs of classes.

    Squared distances (or what the kernel depends on) of a tile of pairs are computed once, and the kernel values of all
    widths from them. On a doubling grid of a Gaussian or Laplacian kernel, :math:`k_{2\gamma} = k_\gamma^2`: one
    exponential, then squarings. The symmetric half of the tiles is enough. Time O(N²d + LN²), memory O(LK²) and a few
    tiles per thread.

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
    >>> from preimage.widths._class_gram import ClassPairs
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> ClassPairs(X, np.array([0, 0, 1]), [1.0]).gram().values[0].round(4)
    array([[0.6839, 0.    ],
           [0.    , 1.    ]])
    """

    def __init__(self, X: Array, y: Targets, gammas: ArrayLike, kernel: Kernel | None = None) -> None:
        kernel = Gaussian() if kernel is None else kernel
        require_width(kernel)
        self.gammas = np.asarray(gammas, dtype=float)
        if self.gammas.ndim != 1 or not self.gammas.size or not np.all(np.isfinite(self.gammas) & (self.gammas > 0)):
            raise ValueError(f"Widths must be positive finite numbers, at least one; got {gammas!r}.")
        if y is None:
            raise ValueError("Class means need `y`, the label of each point; got None.")
        X = as_points(X)
        if X.ndim != 2 or not is_finite(X):
            raise ValueError(f"Class means need finite points, in an array of shape (n, d); got shape {X.shape}.")
        self.classes, codes, self.counts = np.unique(np.asarray(y), return_inverse=True, return_counts=True)
        if codes.size != X.shape[0]:
            raise ValueError(f"There are {X.shape[0]} points but {codes.size} labels; each point needs one.")
        if X.shape[0] <= FEW_POINTS:
            X = in_double(X)
        # Sorted by class, so that sums over pairs of classes are sums over rectangles of the kernel matrix.
        self.X = take_rows(X, np.argsort(codes, kind="stable"))
        self.codes = np.sort(codes)
        self.ends = np.cumsum(self.counts)
        self._kernels = [clone(kernel).set_params(gamma=float(gamma)) for gamma in self.gammas]
        self._quantity = kernel.pairwise.prepare(self.X).tiles(self.X)
        # exp(−2γs) = exp(−γs)²: widths that double need one exponential and squares.
        ratios = self.gammas[1:] / self.gammas[:-1]
        self._doubles = type(kernel) in (Gaussian, Laplacian) and np.allclose(ratios, 2, rtol=1e-12, atol=0)

    def gram(self) -> ClassGram:
        """Inner products of all class means, from half of all pairs of points."""
        n, n_classes, n_widths = self.X.shape[0], self.counts.size, self.gammas.size
        by_class, row_sums, squares = (
            np.zeros((n_widths, n_classes, n_classes)),
            np.zeros((n_widths, n)),
            np.zeros(n_widths),
        )
        row_step, column_step = self._panel_shape()
        size, blocks = min(row_step * max(row_step, column_step), n * n), cut(n, row_step)
        buffer = _Buffer(size, self.X.dtype) if isinstance(self.X, np.ndarray) else None
        wave = BLOCKS_PER_THREAD * available_threads() if is_host(self.X) else 1
        with stage("Pairs of points", n * (n + 1) // 2) as advance:
            for part in cut(len(blocks), wave):
                sums_of_blocks = for_blocks(
                    lambda rows: self._block_sums(rows, column_step, buffer), blocks[part], self.X
                )
                for rows, sums in zip(blocks[part], sums_of_blocks, strict=True):
                    by_class[:, self._classes_of(rows)] += sums[0]
                    row_sums[:, rows.start :] += sums[1]
                    squares += sums[2]
                    # Each row is paired with itself and all later ones: an arithmetic series.
                    advance((rows.stop - rows.start) * (2 * n + 1 - rows.start - rows.stop) // 2)
        sizes = self.counts.astype(float)
        return ClassGram(
            self.gammas,
            # Pairs within a block of rows count half so far: adding the transpose, which counts all other pairs a
            # second time, makes them whole.
            (by_class + np.swapaxes(by_class, 1, 2)) / (sizes[:, None] * sizes[None, :]),
            self.counts,
            self.classes,
            self._self_similarity(),
            squares,
            np.einsum("ln,ln->l", row_sums, row_sums),
        )

    def _panel_shape(self) -> tuple[int, int]:
        """Rows and columns whose pairs are worked on together.

        Long panels on the host: of each width a thread makes a handful of calls for a panel, between which it waits for
        the interpreter; of tiles it would make a hundred times as many.
        """
        shape, n = block_shape(self.X, self.X.shape[0]), self.X.shape[0]
        if not is_host(self.X) or shape != (HOST_ROWS, HOST_COLUMNS):
            return shape
        return max(FEWEST_ROWS, min(PANEL // min(n, MOST_COLUMNS), n // PANELS, HOST_ROWS)), MOST_COLUMNS

    def _block_sums(
        self, rows: slice, column_step: int, buffer: _Buffer | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums over pairs (i, j ≥ i) of points for all widths, i from some rows and j to the last point.

        Of kernel values by the classes of i and of j; over j for points from the first row on, those of j included; and
        of squares, with mirror images.
        """
        n, size, n_widths = self.X.shape[0], rows.stop - rows.start, self.gammas.size
        of_rows = self._indicator(rows).T
        by_class, all_row_sums = (
            np.zeros((n_widths, of_rows.shape[0], self.counts.size)),
            np.zeros((n_widths, n - rows.start)),
        )
        all_squares = np.zeros(n_widths)
        # The first columns are those of the rows themselves, and symmetric.
        for start in range(rows.start, n, max(size, column_step)):
            columns = slice(start, min(start + max(size, column_step), n))
            own = size if start == rows.start else 0
            by_row_class, row_sums, squares = [], [], np.zeros(n_widths)
            for level, values in enumerate(self._values(rows, columns, buffer)):
                by_row_class.append(of_rows @ values)  # (classes of the rows, columns)
                row_sums.append(_row_sums(values))
                if not self._doubles or level == n_widths - 1:
                    squares[level] = 2 * _sum_of_squares(values) - _sum_of_squares(values[:, :own])
            together = array_namespace(by_row_class[0]).stack(by_row_class)
            column_sums = to_numpy(_sum_of_rows(together))
            by_class[:, :, self._classes_of(columns)] += self._sums_by_class(together, columns)
            if own:  # half, because pairs within the rows are there in both orders
                by_class[:, :, self._classes_of(rows)] -= 0.5 * self._sums_by_class(together[:, :, :own], rows)
            all_row_sums[:, :size] += np.stack([to_numpy(each) for each in row_sums])
            all_row_sums[:, start - rows.start + own : columns.stop - rows.start] += column_sums[:, own:]
            if self._doubles:  # squares of one width are the values of the next
                squares[:-1] = 2 * column_sums.sum(axis=1)[1:] - column_sums[:, :own].sum(axis=1)[1:]
            all_squares += squares
        return by_class, all_row_sums, all_squares

    def _sums_by_class(self, values: Array, columns: slice) -> np.ndarray:
        """Sums over the columns of each class, in the last axis; points are sorted by class."""
        if not isinstance(values, np.ndarray):
            return to_numpy(values @ self._indicator(columns))
        firsts = np.flatnonzero(np.diff(self.codes[columns], prepend=-1))
        return np.add.reduceat(values, firsts, axis=-1, dtype=np.float64)

    def _values(self, rows: slice, columns: slice, buffer: _Buffer | None = None) -> Iterator[Array]:
        """Kernel values of a tile, one width after another; each array lives until the next is asked for."""
        quantity = self._tile(rows, columns, buffer)
        if not self._doubles:
            yield from (kernel.profile(quantity) for kernel in self._kernels)
            return
        self._kernels[0].apply_profile(quantity)
        yield quantity
        for _ in self._kernels[1:]:
            quantity *= quantity
            yield quantity

    def _tile(self, rows: slice, columns: slice, buffer: _Buffer | None) -> Array:
        """What the kernel depends on, for the pairs of a tile, in an array that may be written to."""
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        return self._quantity(rows, columns, None if buffer is None else buffer.part(shape))

    def _indicator(self, points: slice) -> Array:
        """Ones where a point is of a class, for the classes of consecutive points alone."""
        codes = self.codes[points]
        return from_numpy((codes[:, None] == np.arange(codes[0], codes[-1] + 1)).astype(np.float64), self._dense_like)

    def _classes_of(self, points: slice) -> slice:
        return slice(int(self.codes[points.start]), int(self.codes[points.stop - 1]) + 1)

    @cached_property
    def _dense_like(self) -> Array:
        """An array of the library, device and precision of kernel values."""
        return self._kernels[0].profile(self._tile(slice(0, 1), slice(0, 1), None))

    def _self_similarity(self) -> np.ndarray:
        """k(x, x), which is the same for all points of a kernel of a distance."""
        at_zero = np.array([float(kernel.profile(0 * self._dense_like)[0, 0]) for kernel in self._kernels])
        return np.broadcast_to(at_zero[:, None], (self.gammas.size, self.counts.size))


@gives_finite_numbers()
def class_gram(X: Array, y: Targets, gammas: ArrayLike, kernel: Kernel | None = None) -> ClassGram:
    r"""Inner products of class means in feature space, for several widths at once.

    .. math:: G_{mn} = \frac{1}{N_m N_n} \sum_{i \in m} \sum_{j \in n} k(x_i, x_j)

    Squared distances are computed once for all widths.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The data.
    y : array of shape (n,)
        Class labels.
    gammas : array of shape (L,)
        Widths γ.
    kernel : Kernel or None, default=None
        A kernel of a distance with a parameter `gamma`; None is Gaussian.

    Returns
    -------
    ClassGram
        The matrices; its attributes are listed below.

    See Also
    --------
    class_width : The width at which class means are most dispersed.
    preimage.model_selection.WidthSearch : Chooses a width by these matrices.

    Examples
    --------
    In a narrow kernel the means of different classes become orthogonal:

    >>> from sklearn.datasets import load_iris
    >>> from preimage.widths import class_gram
    >>> X, y = load_iris(return_X_y=True)
    >>> wide, narrow = class_gram(X, y, [0.1, 10.0]).values
    >>> wide.round(2)
    array([[0.94, 0.35, 0.11],
           [0.35, 0.89, 0.7 ],
           [0.11, 0.7 , 0.85]])
    >>> narrow.round(2)
    array([[0.14, 0.  , 0.  ],
           [0.  , 0.07, 0.  ],
           [0.  , 0.  , 0.05]])
    """
    return ClassPairs(X, y, gammas, kernel).gram()


def stratified_rows(y: Targets, n_samples: int | None, rng: np.random.Generator) -> np.ndarray:
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


def has_width(kernel: Kernel) -> bool:
    """Whether `gamma` of a kernel is the width of a bump, so that class means have a width where they are far apart."""
    return (
        isinstance(kernel, ProfileKernel)
        and "gamma" in kernel.get_params(deep=False)
        and kernel.is_positive_semidefinite
        and kernel.pairwise != InnerProduct()
    )


def require_width(kernel: Kernel) -> None:
    """Raise for kernels without such a width."""
    if not has_width(kernel):
        raise UnsupportedKernelError(
            f"Widths from class means need a positive semidefinite kernel of a distance with a `gamma`; got {kernel!r}."
            " Gaussian, Laplacian, Matern, RationalQuadratic and InverseMultiquadric are such kernels. In a combination"
            " of kernels, give the rule to one of these as its gamma."
        )


def _sum_of_rows(stack: Array) -> Array:
    """The rows of each matrix of a stack added up, shape (number of matrices, columns)."""
    return array_namespace(stack).sum(stack, axis=1)


def _row_sums(values: Array) -> Array:
    if isinstance(values, np.ndarray):
        return values @ np.ones(values.shape[1], values.dtype)
    return array_namespace(values).sum(values, axis=1)


def _sum_of_squares(values: Array) -> float:
    if isinstance(values, np.ndarray):
        flat = values.ravel()
        return float(flat @ flat)
    xp = array_namespace(values)
    return float(xp.sum(values * values, dtype=xp.float64))
