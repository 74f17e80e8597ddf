"""Landmarks that are centres of clusters."""

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral

import numpy as np
from scipy import sparse

from preimage._engine.arrays import (
    array_namespace,
    device_kwargs,
    from_numpy,
    in_double,
    in_precision,
    is_host,
    is_objects,
    is_sparse,
    squared_row_norms,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._engine.finite import largest_entry
from preimage._engine.rows import cut
from preimage._engine.typing import Array, Seed
from preimage._engine.validation import Interval
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import GrowingSpan, Proposal
from preimage.kernels import (
    Kernel,
)
from preimage.landmarks._landmarks import View
from preimage.landmarks._selector import COMMON_CONSTRAINTS, LandmarkSelector

# Clusters to begin with where only the tolerance decides; doubling from here wastes at most as much as the last run.
FIRST_NUMBER = 32
# Fraction of the starting rows that is drawn with equal probability. With one half or less, outliers take so many that
# random rows do better; with all, tails are missed, and wide kernels lose ten times more of their small components.
RANDOM = 3 / 4
# The others are drawn in rounds of an eighth of all: one after another would be slow, all at once would not be spread.
ROUND = 8
# Rows that are assigned to centres together: their distances to a thousand centres stay in the cache. A device is busy
# with many more, and ten times as many would only take more of its memory.
TILE, DEVICE_TILE = 512, 2**14


class KMeans(LandmarkSelector):
    """Means of the clusters that k-means finds in input space.

    Where the kernel is smooth, k(x, ·) hardly changes inside a cluster, so its mean represents all its points; and
    there are many clusters where there are many points, which is what the leading components need. The kernel has no
    part in the clustering. Centres are no rows of the data, so `Landmarks.indices` is None. For kernels with a kink,
    such as `Laplacian`, rows are better.

    Lloyd's algorithm in single precision, where the rows are. Three quarters of the rows it starts from are random,
    the others drawn with probability proportional to their squared distance from those before (k-means++, in two
    rounds): the first go where data are dense, the others to the tails, which decide where the kernel is wide.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tol`.
    tol : float or None, default=None
        Stop when the residual trace is at most this fraction of the trace of the kernel. Without `n_landmarks`, the
        number of clusters is doubled until that is so.
    max_iter : int, default=5
        Iterations of Lloyd's algorithm. What landmarks hold of the kernel is settled long before the clusters are.
    sample_size : int or None, default=5000
        With more rows than this, a sample of so many (at least five times `n_landmarks`) is clustered, and the residual
        trace is estimated. None clusters all rows.
    random_state : int, RandomState or None, default=0
        Seed of samples and starts.

    See Also
    --------
    AutoLandmarks : Uses cluster centres where they are better than rows.
    SparseGreedy : Rows, for kernels with a kink or without inputs that can be averaged.
    sklearn.cluster.KMeans : Clusters to look at, run until they settle.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.landmarks import KMeans
    >>> X = np.array([[0.0], [0.2], [5.0], [5.4]])
    >>> np.sort(KMeans(2, random_state=1).select(Gaussian(0.1), X).points, axis=0)
    array([[0.1],
           [5.2]])
    """

    _parameter_constraints = {
        **COMMON_CONSTRAINTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    _rows_per_landmark = 5  # means need fewer rows than a choice of rows

    def __init__(
        self,
        n_landmarks: int | None = 100,
        tol: float | None = None,
        max_iter: int = 5,
        sample_size: int | None = 5_000,
        random_state: Seed = 0,
    ) -> None:
        super().__init__(n_landmarks, tol, sample_size, random_state)
        self.max_iter = max_iter

    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> Proposal:
        return span.farthest()  # all centres that differ, in an order that keeps rounding errors small

    def _span(self, kernel: Kernel, view: View, rng: np.random.Generator) -> tuple[GrowingSpan, View]:
        if kernel.points_are_row_numbers:
            raise UnsupportedKernelError(
                f"KMeans needs inputs to average; {kernel!r} knows points by number only. "
                "RandomlyPivotedCholesky works with kernel values alone."
            )
        if is_objects(view.rows):
            raise UnsupportedKernelError(
                f"KMeans needs inputs to average; {kernel!r} was given objects. RandomlyPivotedCholesky works with "
                "kernel values alone."
            )
        largest = self._limit(view)
        number = largest if self.n_landmarks else min(FIRST_NUMBER, largest)
        candidates = take_rows(view.rows, np.arange(view.n_candidates))
        while True:
            centers = view.with_candidates(_centers(candidates, number, self.max_iter, rng))
            span = centers.span(kernel, self._capacity(centers))
            self._grow(span, self._limit(centers), self._goal(view.trace), rng)
            if span.residual_trace <= self._goal(view.trace) or len(span) >= largest:
                return span, centers
            if number == largest:
                return self._with_rows(span, view, take_rows(centers.rows, span.pivots), rng)
            number = min(2 * number, largest)

    def _with_rows(
        self, span: GrowingSpan, view: View, centers: Array, rng: np.random.Generator
    ) -> tuple[GrowingSpan, View]:
        """The span of all independent centres where they are too few, and of rows that they leave."""
        both = replace(view, judged=True).with_candidates(centers)
        both = replace(both, n_candidates=centers.shape[0] + view.n_candidates)
        span = both.span(span.kernel, self._capacity(view))
        span.add_in_order(np.arange(centers.shape[0]))
        self._grow(span, self._limit(view), self._goal(view.trace), rng)
        return self._regrown(span, both), both


def _centers(rows: Array, number: int, max_iter: int, rng: np.random.Generator) -> Array:
    """Means of clusters of the rows, where the rows are."""
    single = _in_single(rows)
    start = _start(single, number, rng)
    labels, counts = _lloyd(single, start, max_iter)
    centers = to_numpy(_sums(in_double(rows), labels, start.size)) / np.maximum(counts, 1)[:, None]
    if (counts == 0).any():  # a cluster that lost all its rows keeps the one it began with
        centers[counts == 0] = to_numpy(take_rows(rows, start[counts == 0]))
    return type(rows)(centers.astype(rows.dtype)) if is_sparse(rows) else from_numpy(centers, rows)


def _lloyd(X: Array, start: np.ndarray, max_iter: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the rows after some iterations of Lloyd's algorithm from centres at the rows `start`, and counts."""
    centers = to_dense(take_rows(X, start))
    xp = array_namespace(centers)
    for _ in range(max_iter):
        labels = _nearest(X, centers)
        counts = np.bincount(labels, minlength=start.size)
        means = _sums(X, labels, start.size) / from_numpy(np.maximum(counts, 1), centers)[:, None]
        # A cluster without rows keeps its centre, whose mean is undefined.
        moved = xp.where(from_numpy(counts, centers)[:, None] > 0, means, centers)
        if bool(xp.all(moved == centers)):
            break
        centers = moved
    return labels, counts


def _nearest(X: Array, centers: Array) -> np.ndarray:
    """Number of the nearest centre of every row, in NumPy."""
    xp = array_namespace(centers)
    return np.concatenate([to_numpy(xp.argmax(values, axis=1)) for values in _closeness(X, centers)])


def _closest(X: Array, centers: Array) -> np.ndarray:
    """x·c − ‖c‖²/2 for the nearest centre c of every row x: half of ‖x‖² minus the squared distance. In NumPy."""
    xp = array_namespace(centers)
    return np.concatenate([to_numpy(xp.max(values, axis=1)) for values in _closeness(X, centers)])


def _closeness(X: Array, centers: Array) -> Iterator[Array]:
    """x·c − ‖c‖²/2 for all centres c, one tile of rows after another."""
    half_norms, size = 0.5 * squared_row_norms(centers), TILE if is_host(X) else DEVICE_TILE
    for rows in cut(X.shape[0], size):
        yield to_dense(X[rows, :] @ centers.T) - half_norms


def _sums(X: Array, labels: np.ndarray, number: int) -> Array:
    """Sum of the rows with each label, shape (number, d)."""
    n = labels.size
    if is_host(X):
        members = sparse.csr_matrix((np.ones(n, dtype=X.dtype), labels, np.arange(n + 1)), shape=(n, number)).T
        return to_dense(members @ X)
    xp, order = array_namespace(X), np.arange(number)
    numbers, order = (from_numpy(each, X, dtype=xp.int64) for each in (labels, order))
    total = xp.zeros((number, X.shape[1]), dtype=X.dtype, **device_kwargs(X))
    for rows in cut(n, DEVICE_TILE):
        total = total + xp.astype(order[:, None] == numbers[rows], X.dtype) @ X[rows, :]
    return total


def _in_single(X: Array) -> Array:
    """The rows in single precision, about their mean and of moderate size: enough to say which centre is nearest."""
    X = X.astype(np.float64) if is_sparse(X) else X - array_namespace(X).mean(X, axis=0)
    return in_precision(X / (largest_entry(X) or 1.0), np.dtype(np.float32))


def _start(X: Array, number: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of rows to start from, no two of them equal."""
    norms = to_numpy(squared_row_norms(X))
    # Squared distances of equal rows are rounding errors of a few units of ‖x‖². With this floor such rows are not
    # drawn twice, and rows that differ in their fourth digit still are.
    floor = 16 * np.finfo(np.float32).eps * norms
    chosen = recent = _distinct_rows(X, max(1, round(RANDOM * number)), rng)
    distances = np.full(X.shape[0], np.inf, dtype=np.float32)  # squared, to the nearest chosen row
    while chosen.size < number:
        distances = np.minimum(distances, norms - 2 * _closest(X, to_dense(take_rows(X, recent))))
        weights = np.where(distances > floor, distances, 0.0).astype(np.float64)
        count = min(-(-number // ROUND), number - chosen.size, int(np.count_nonzero(weights)))
        if count == 0:  # all other rows are among those chosen
            break
        recent = rng.choice(X.shape[0], count, replace=False, p=weights / weights.sum())
        chosen = np.concatenate([chosen, recent])
    return chosen


def _distinct_rows(X: Array, number: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of random rows that differ. Identical starting points create clusters without rows."""
    order = rng.permutation(X.shape[0])
    for few in (
        order[:number],
        order[: number if is_sparse(X) else None],
    ):  # sparse rows are not made dense all at once
        rows = to_numpy(take_rows(X, few))
        _, first = np.unique(rows, axis=0, return_index=True)
        if first.size >= number:
            break
    return few[np.sort(first)[:number]]
