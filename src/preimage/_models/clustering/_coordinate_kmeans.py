"""k-means on coordinates of any number of rows: runs compete on a sample, the best one goes on with passes over all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from preimage._engine.arrays import in_memory, is_lazy, take_rows
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows, sum_rows
from preimage._engine.typing import Array, Rows
from preimage._models.clustering._restarts import Found, Search, best, improves_too_little, plus_plus_seeds

# Rows whose coordinates are worked on together: with a few hundred coordinates, some MiB per thread. Ten times more
# would leave threads without blocks on a few thousand rows.
BLOCK = 2048


class CoordinatePass:
    """Coordinates y, squared lengths k(x, x) and weights of the rows of X, block by block.

    Parameters
    ----------
    X : array, memory map or Dask array of shape (n, d)
    coordinates, diagonal : callables
        From rows of X to their coordinates (b, m) and to k(x, x) (b,), in NumPy and double precision.
    weights : array of shape (n,)
    held : bool
        Whether to compute all coordinates now and keep them.
    """

    def __init__(
        self,
        X: Rows,
        coordinates: Callable[[Array], np.ndarray],
        diagonal: Callable[[Array], np.ndarray],
        weights: np.ndarray,
        *,
        held: bool,
    ) -> None:
        self.X, self.weights = X, weights
        self._coordinates, self._diagonal = coordinates, diagonal
        self.held: tuple[np.ndarray, np.ndarray] | None = None
        if held:
            self.held = self._read_once() if is_lazy(X) else (coordinates(X), diagonal(X))

    def __len__(self) -> int:
        return self.weights.size

    def take(self, numbers: Array) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and k(x, x) of the rows with the given numbers."""
        if self.held is not None:
            return self.held[0][numbers], self.held[1][numbers]
        rows = take_rows(self.X, numbers)
        return self._coordinates(rows), self._diagonal(rows)

    def _read_once(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and k(x, x) of all rows in one pass over them, where they are; only the results come here."""
        coordinates, diagonal = self._coordinates, self._diagonal  # without `self`, which would travel to workers
        both = lambda rows: np.column_stack([coordinates(rows), diagonal(rows)])
        found = in_memory(map_rows(both, self.X, rows=BLOCK))
        return np.ascontiguousarray(found[:, :-1]), np.ascontiguousarray(found[:, -1])

    def sample(self, numbers: Array) -> CoordinatePass:
        """A pass over some rows only, held."""
        part = CoordinatePass(None, self._coordinates, self._diagonal, self.weights[numbers], held=False)
        part.held = self.take(numbers)
        return part

    def sum(self, function: Callable[[Array, Array, Array], Any]) -> Any:
        """Add ``function(Y, lengths, weights)`` over blocks of rows."""
        if self.held is not None:
            return sum_rows(function, *self.held, self.weights, rows=BLOCK)
        coordinates, diagonal = self._coordinates, self._diagonal  # without `self`, which would travel to workers
        of_rows = lambda rows, weights: function(coordinates(rows), diagonal(rows), weights)
        return sum_rows(of_rows, self.X, self.weights, rows=BLOCK)


# Rows on which restarts compete: with ten times as many, ten restarts would cost more than the final run on a million
# rows; with ten times fewer, rare clusters of a hundred would have a handful of rows each.
SAMPLE = 10_000
# Rows of a block of the online pass, whose coordinates are computed together.
ONLINE_BLOCK = 4096


@dataclass(frozen=True)
class CoordinateClusters(Found):
    """Centres in coordinates, shape (k, m), and how they were found."""

    centers: np.ndarray


def coordinate_kmeans(data: CoordinatePass, search: Search) -> CoordinateClusters:
    """The best of several runs of k-means on the rows of a `CoordinatePass`."""
    if not isinstance(search.init, str):
        numbers, centers, sizes = _labelled_start(data, search.init, search.n_clusters)
        if search.algorithm == "online":
            return _online_pass(data, centers[None], sizes[None], numbers[None])
        return coordinate_lloyd(data, centers[None], search.max_iter, search.tol)
    candidates = np.flatnonzero(data.weights > 0)
    if candidates.size > SAMPLE:
        candidates = np.sort(search.rng.choice(candidates, SAMPLE, replace=False))
    sample = data.sample(candidates)
    Y, _ = sample.take(slice(None))
    seeds = _seeds(Y, sample.weights, search)
    centers = Y[seeds]  # (n_init, k, m)
    if search.algorithm == "online":
        numbers = candidates[seeds]
        return _online_pass(data, centers, data.weights[numbers], numbers)
    if candidates.size < np.count_nonzero(data.weights):
        centers = coordinate_lloyd(sample, centers, search.max_iter, search.tol).centers[None]
    return coordinate_lloyd(data, centers, search.max_iter, search.tol)


def coordinate_lloyd(data: CoordinatePass, starts: Array, max_iter: int = 300, tol: float = 0.0) -> CoordinateClusters:
    r"""Lloyd's algorithm on coordinates, all runs in each pass over the data.

    In an orthonormal frame, distances of coordinates are distances in feature space of the projections, so this is
    kernel k-means with the kernel :math:`\tilde k` of the subspace; what is outside of it adds a constant to all
    distances of a point. A pass costs O(nmk), and memory for one block.

    Parameters
    ----------
    data : CoordinatePass
    starts : array of shape (n_runs, k, m)
        Centres.
    max_iter : int, default=300
    tol : float, default=0.0
        As in `Search`.

    Returns
    -------
    CoordinateClusters
        Of the run with the smallest inertia.
    """
    runs = [_Run(start, tol) for start in starts]
    active = runs
    with stage("k-means on landmarks") as advance:
        for _ in range(max_iter):
            centers = np.stack([run.next_centers for run in active])
            sums = data.sum(partial(_Sums.of, centers))
            if not np.all(np.isfinite(sums.costs)):
                raise ValueError(
                    "Distances in feature space are not finite: values of X are so large that the kernel overflows "
                    "(scale the data), or, in lazy data, NaN or infinite (impute or drop such rows)."
                )
            for number, run in enumerate(active):
                run.step(sums, number)
            # Runs that have converged take no part in later passes; the others share one pass over the data.
            active = [run for run in active if not run.has_converged]
            advance()
            if not active:
                break
    return best([run.result() for run in runs])


def coordinate_online(centers: Array, sizes: Array, Y: Array, weights: Array) -> tuple[np.ndarray, np.ndarray]:
    r"""Centres and their weights after rows Y came one by one, each to the nearest centre  (S20).

    :math:`c_\alpha \leftarrow c_\alpha + \zeta (y_t - c_\alpha)` with :math:`\zeta = w_t/(n_\alpha + w_t)`. This is
    what `partial_fit` does with each batch.

    Parameters
    ----------
    centers : array of shape (k, m)
    sizes : array of shape (k,)
    Y : array of shape (b, m)
    weights : array of shape (b,)

    Returns
    -------
    centers, sizes

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._models.clustering._coordinate_kmeans import coordinate_online
    >>> coordinate_online(np.array([[0.0], [9.0]]), np.ones(2), np.array([[1.0], [10.0]]), np.ones(2))
    (array([[0.5], [9.5]]), array([2., 2.]))
    """
    centers, sizes = centers.copy(), sizes.astype(float)
    squared_norms = np.sum(centers * centers, axis=1)
    for y, weight in zip(Y, weights, strict=True):
        if weight == 0:
            continue
        # ‖y − c‖² less ‖y‖², which is the same for all centres.
        chosen = int(np.argmin(squared_norms - 2 * (centers @ y)))
        sizes[chosen] += weight
        centers[chosen] += weight / sizes[chosen] * (y - centers[chosen])
        squared_norms[chosen] = centers[chosen] @ centers[chosen]
    return centers, sizes


def _labelled_start(data: CoordinatePass, labels: Array, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the labelled rows, their means by label, and the sums of their weights."""
    numbers = np.flatnonzero((labels >= 0) & (data.weights > 0))
    Y, _ = data.take(numbers)
    sizes = np.bincount(labels[numbers], data.weights[numbers], k)
    if not np.all(sizes > 0):
        raise ValueError(f"`init` has no row of positive weight for cluster {int(np.argmin(sizes))}.")
    indicator = (labels[numbers] == np.arange(k)[:, None]) * data.weights[numbers]
    return numbers, indicator @ Y / sizes[:, None], sizes


def _seeds(Y: Array, weights: Array, search: Search) -> np.ndarray:
    """Seeds among the rows of Y, drawn along their distance from the mean."""
    squared = np.einsum("ij,ij->i", Y, Y)
    order = np.argsort(squared - 2 * (Y @ (weights @ Y)) / weights.sum(), kind="stable")
    return plus_plus_seeds(lambda numbers: Y[numbers] @ Y.T, squared, weights, order, search)


def _online_pass(data: CoordinatePass, centers: Array, sizes: Array, seeds: Array) -> CoordinateClusters:
    """One pass in the order of rows for each run; the seeds have been counted already."""
    states = [(each, size.astype(float)) for each, size in zip(centers, sizes, strict=True)]
    for start in range(0, len(data), ONLINE_BLOCK):
        numbers = np.arange(start, min(start + ONLINE_BLOCK, len(data)))
        Y, _ = data.take(numbers)
        weights = data.weights[numbers]
        states = [
            coordinate_online(*state, Y, np.where(np.isin(numbers, counted), 0, weights))
            for state, counted in zip(states, seeds, strict=True)
        ]
    found = coordinate_lloyd(data, np.stack([center for center, _ in states]), max_iter=1)
    return replace(found, converged=True)


class _Run:
    """One run of Lloyd's algorithm: `centers` with their sizes and inertia, and the centres of the next iteration."""

    def __init__(self, centers: Array, tol: float) -> None:
        self.next_centers, self.tol = centers, tol
        self.centers, self.sizes = centers, np.zeros(len(centers))
        self.path: list[float] = []
        self.has_converged = False

    def step(self, sums: _Sums, number: int) -> None:
        """Take the sums of one pass, of which those of this run have the given number."""
        self.centers = self.next_centers
        self.sizes = sums.sizes[number]
        self.path.append(max(float(sums.costs[number]), 0.0))
        self.next_centers = sums.means(number, self.centers)
        still = np.array_equal(self.next_centers, self.centers)
        self.has_converged = still or bool(improves_too_little(np.array(self.path), self.tol))

    def result(self) -> CoordinateClusters:
        return CoordinateClusters(self.sizes, self.path[-1], np.array(self.path), self.has_converged, self.centers)


@dataclass(frozen=True)
class _Sums:
    """Sums over the points nearest to each centre of each run, and the farthest point of each run."""

    sums: np.ndarray  # (n_runs, k, m)
    sizes: np.ndarray  # (n_runs, k)
    costs: np.ndarray  # (n_runs,)
    distance: np.ndarray  # (n_runs,), of the farthest point
    farthest: np.ndarray  # (n_runs, m + 2): its coordinates, weight and label

    @classmethod
    def of(cls, centers: Array, Y: Array, lengths: Array, weights: Array) -> _Sums:
        n_runs, k, m = centers.shape
        flat = centers.reshape(-1, m)
        # ‖c‖² − 2⟨c, y⟩: squared distances up to ‖y‖², which is common to all centres.
        scores = (np.sum(flat * flat, axis=1)[:, None] - 2 * (flat @ Y.T)).reshape(n_runs, k, -1)
        labels = np.argmin(scores, axis=1)
        distances = lengths + np.take_along_axis(scores, labels[:, None, :], axis=1)[:, 0, :]
        indicator = (labels[:, None, :] == np.arange(k)[:, None]) * weights  # (n_runs, k, b)
        sums = (indicator.reshape(n_runs * k, -1) @ Y).reshape(n_runs, k, m)
        counted = np.where(weights > 0, distances, -np.inf)
        far, runs = np.argmax(counted, axis=1), np.arange(n_runs)
        farthest = np.column_stack([Y[far], weights[far], labels[runs, far]])
        return cls(sums, np.sum(indicator, axis=2), distances @ weights, counted[runs, far], farthest)

    def __add__(self, other: _Sums) -> _Sums:
        mine = self.distance >= other.distance
        return _Sums(
            self.sums + other.sums,
            self.sizes + other.sizes,
            self.costs + other.costs,
            np.where(mine, self.distance, other.distance),
            np.where(mine[:, None], self.farthest, other.farthest),
        )

    def means(self, run: int, centers: Array) -> np.ndarray:
        """New centres of a run. The farthest point becomes the centre of an empty cluster.

        Further empty clusters keep their old centres, and are filled in later iterations.
        """
        sums, sizes = self.sums[run].copy(), self.sizes[run].copy()
        point, weight, label = self.farthest[run, :-2], self.farthest[run, -2], int(self.farthest[run, -1])
        empty = np.flatnonzero(sizes == 0)
        if empty.size and sizes[label] > weight:
            sums[empty[0]], sizes[empty[0]] = weight * point, weight
            sums[label] -= weight * point
            sizes[label] -= weight
        filled = sizes > 0
        return np.where(filled[:, None], sums / np.where(filled, sizes, 1)[:, None], centers)
