"""Restarts of k-means: where runs start, when they stop, and which one is kept."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from preimage._engine.arrays import epsilon
from preimage._engine.finite import refuse_overflowing_fit
from preimage._engine.typing import Array

# From row numbers to rows of the kernel matrix, shape (len(numbers), n).
RowsOf = Callable[[np.ndarray], np.ndarray]

# Units of rounding, relative to k(x, x) + k(z, z), up to which squared distances count as zero. Kernel values have
# errors of a few units. Ten times larger would call points equal whose squared distance still has a digit or two.
ROUNDING = 16
# Inertias closer than this fraction of their first values are equal: sums over all rows in another order differ by
# about as much. Ten times larger, or smaller, changes which of two equally good runs is kept.
SAME_INERTIA = 1e-10


@dataclass(frozen=True)
class Search:
    """How clusters are looked for.

    Attributes
    ----------
    n_clusters : int
    init : "k-means++" or integer array of shape (n,)
        How centres start: spread out by their distances, or as means of the rows with the labels given, of which there
        is one run; −1 is a row without a label.
    n_init : int
        Runs from different seeds.
    algorithm : "lloyd" or "online"
    max_iter : int
        Iterations of Lloyd's algorithm.
    tol : float
        Stop after an iteration that lowers the objective by at most this fraction of what the run has lowered it by.
    rng : numpy.random.Generator
    runs_at_once : int
        Most runs side by side: each holds a number for every cluster and row.
    """

    n_clusters: int
    init: str | Array
    n_init: int
    algorithm: str
    max_iter: int
    tol: float
    rng: np.random.Generator
    runs_at_once: int = sys.maxsize


@dataclass(frozen=True)
class Found:
    """How a run ended.

    Attributes
    ----------
    sizes : array of shape (k,)
        Sums of weights of the clusters.
    inertia : float
        Σ wᵢ ‖φ(xᵢ) − m‖² with the nearest centres, including parts of φ(xᵢ) outside of a subspace.
    path : array of shape (n_iter,)
        The inertia at each iteration; it never increases.
    converged : bool
    """

    sizes: np.ndarray
    inertia: float
    path: np.ndarray
    converged: bool

    @property
    def n_iter(self) -> int:
        return len(self.path)


AnyRun = TypeVar("AnyRun", bound=Found)


def best(runs: Sequence[AnyRun]) -> AnyRun:
    """The first run whose inertia is the smallest up to rounding: runs with equal clusters differ in their numbers."""
    inertias = np.array([run.inertia for run in runs])
    refuse_overflowing_fit("inertia_", inertias)
    smallest = inertias.min()
    return next(run for run in runs if run.inertia <= smallest + SAME_INERTIA * max(run.path[0], 0.0))


def improves_too_little(path: Array, tol: float) -> Array:
    """Whether the last iteration lowered the inertia by at most `tol` of what all have lowered it by.

    `path` has the inertias so far in its last axis; the result has one value per run.
    """
    if path.shape[-1] < 2:
        return np.zeros(path.shape[:-1], bool)
    return path[..., -2] - path[..., -1] <= tol * (path[..., 0] - path[..., -1])


def plus_plus_seeds(rows_of: RowsOf, diagonal: Array, weights: Array, order: Array, search: Search) -> np.ndarray:
    r"""Seeds of k-means++ in feature space, shape (n_init, n_clusters), for all runs of a search together.

    Each seed is drawn with probability proportional to :math:`w_i \min_\nu \|\varphi(x_i) - \varphi(x_\nu)\|^2`; of
    2 + log k draws the one that lowers the sum most is taken [1]_.

    Parameters
    ----------
    rows_of : callable
        Row numbers to rows of the kernel matrix.
    diagonal : array of shape (n,)
        k(x, x).
    weights : array of shape (n,)
        Rows of weight zero are never drawn.
    order : integer array of shape (n,)
        The order along which draws are made. With one that depends on the data alone, a seed means the same for
        shuffled data, and a weight the same as copies.
    search : Search

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding",
       SODA 2007.
    """
    n_clusters, n_runs, rng = search.n_clusters, search.n_init, search.rng
    n_draws = 2 + int(np.log(n_clusters))
    runs = np.arange(n_runs)
    seeds = np.empty((n_runs, n_clusters), dtype=np.intp)
    mass = np.broadcast_to(weights, (n_runs, weights.size))  # probabilities of the next draw, up to a factor
    closest = np.full((n_runs, weights.size), np.inf)  # squared distances to the nearest seed
    unused = np.tile(weights, (n_runs, 1))  # weights of rows that are no seeds yet
    for step in range(n_clusters):
        u = rng.random((n_runs, 1 if step == 0 else n_draws))
        drawn = np.stack([_draw(mass[run], unused[run], order, u[run]) for run in runs])
        distances = squared_distances(rows_of, diagonal, drawn.ravel()).reshape(*drawn.shape, -1)
        closest_with = np.minimum(distances, closest[:, None, :])  # (n_runs, n_draws, n)
        chosen = np.argmin(closest_with @ weights, axis=1)
        seeds[:, step] = drawn[runs, chosen]
        closest = closest_with[runs, chosen]
        closest[runs, seeds[:, step]] = unused[runs, seeds[:, step]] = 0
        mass = closest * weights
    return seeds


def seed_labels(rows_of: RowsOf, diagonal: Array, seeds: Array) -> np.ndarray:
    """The nearest seed of every row, shape (n_runs, n); ties go to the first."""
    return np.stack([np.argmin(squared_distances(rows_of, diagonal, each), axis=0) for each in seeds])


def squared_distances(rows_of: RowsOf, diagonal: Array, numbers: Array) -> np.ndarray:
    """‖φ(x_p) − φ(x_i)‖² of some rows p to all rows i, shape (len(numbers), n)  (S22)."""
    values = rows_of(numbers) * -2.0
    values += diagonal
    values += diagonal[numbers][:, None]
    # Distances between copies of a row are rounding errors, by which no seed should be drawn.
    rounding = ROUNDING * epsilon(diagonal.dtype) * (np.abs(diagonal) + np.abs(diagonal[numbers])[:, None])
    return np.where(values > rounding, values, 0.0)


def _draw(mass: Array, unused: Array, order: Array, u: Array) -> np.ndarray:
    """Row numbers at the fractions u of the mass; where there is none, of the weights of rows that are no seeds."""
    cumulated = np.cumsum(mass[order])
    if not cumulated[-1] > 0:
        cumulated = np.cumsum(unused[order])
    places = np.searchsorted(cumulated, u * cumulated[-1], side="right")
    # u · total may round to the total, which is behind the last row; take the last row with mass instead.
    return order[np.minimum(places, np.searchsorted(cumulated, cumulated[-1]))]
