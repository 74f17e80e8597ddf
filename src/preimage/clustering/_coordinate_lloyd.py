"""k-means on coordinates in a subspace of feature space, where centres are points again."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from preimage.clustering._partition import best


@dataclass(frozen=True)
class CoordinateClusters:
    """Centres in coordinates, and how they were found.

    Attributes
    ----------
    centers : array of shape (k, m)
    sizes : array of shape (k,)
        Sums of weights of the points nearest to the centres.
    inertia : float
        Σ wᵢ ‖φ(xᵢ) − m‖², with what the subspace leaves of φ(xᵢ).
    path : array of shape (n_iter,)
        The inertia at each iteration; it never increases.
    converged : bool
    """

    centers: Any
    sizes: Any
    inertia: float
    path: Any
    converged: bool

    @property
    def n_iter(self):
        return len(self.path)


def coordinate_lloyd(data, starts, max_iter=300, tol=0.0):
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
        As in `lloyd`.

    Returns
    -------
    CoordinateClusters
        Of the run with the smallest inertia.
    """
    runs = [_Run(start, tol) for start in starts]
    active = runs
    for _ in range(max_iter):
        centers = np.stack([run.next_centers for run in active])
        sums = data.sum(partial(_Sums.of, centers))
        if not np.all(np.isfinite(sums.costs)):
            raise ValueError(
                "Input X contains NaN or infinity, or values so large that the kernel overflows. Impute or drop such "
                "rows, and scale the data."
            )
        for number, run in enumerate(active):
            run.step(sums, number)
        active = [run for run in active if not run.is_done]
        if not active:
            break
    return best([run.result() for run in runs])


def nearest(centers, Y):
    """Scores ‖c‖² − 2⟨c, y⟩ of all centres, shape (k, b): distances up to what they share."""
    return np.sum(centers * centers, axis=1)[:, None] - 2 * (centers @ Y.T)


class _Run:
    def __init__(self, centers, tol):
        self.next_centers, self.tol = centers, tol
        self.path = []
        self.is_done = self.has_converged = False

    def step(self, sums, number):
        self.centers = self.next_centers
        self.sizes = sums.sizes[number]
        self.path.append(max(float(sums.costs[number]), 0.0))
        self.next_centers = sums.means(number, self.centers)
        still = np.array_equal(self.next_centers, self.centers)
        self.has_converged = self.is_done = still or self._brings_too_little()

    def _brings_too_little(self):
        if len(self.path) < 2:
            return False
        return self.path[-2] - self.path[-1] <= self.tol * (self.path[0] - self.path[-1])

    def result(self):
        return CoordinateClusters(self.centers, self.sizes, self.path[-1], np.array(self.path), self.has_converged)


@dataclass(frozen=True)
class _Sums:
    """Sums over the points nearest to each centre of each run, and the farthest point of each run."""

    sums: Any  # (n_runs, k, m)
    sizes: Any  # (n_runs, k)
    costs: Any  # (n_runs,)
    distance: Any  # (n_runs,), of the farthest point
    farthest: Any  # (n_runs, m + 2): its coordinates, weight and label

    @classmethod
    def of(cls, centers, Y, lengths, weights):
        n_runs, k, m = centers.shape
        scores = nearest(centers.reshape(-1, m), Y).reshape(n_runs, k, -1)
        labels = np.argmin(scores, axis=1)
        distances = lengths + np.take_along_axis(scores, labels[:, None, :], axis=1)[:, 0, :]
        indicator = (labels[:, None, :] == np.arange(k)[:, None]) * weights  # (n_runs, k, b)
        sums = (indicator.reshape(n_runs * k, -1) @ Y).reshape(n_runs, k, m)
        among = np.where(weights > 0, distances, -np.inf)
        far, runs = np.argmax(among, axis=1), np.arange(n_runs)
        farthest = np.column_stack([Y[far], weights[far], labels[runs, far]])
        return cls(sums, np.sum(indicator, axis=2), distances @ weights, among[runs, far], farthest)

    def __add__(self, other):
        mine = self.distance >= other.distance
        return _Sums(
            self.sums + other.sums,
            self.sizes + other.sizes,
            self.costs + other.costs,
            np.where(mine, self.distance, other.distance),
            np.where(mine[:, None], self.farthest, other.farthest),
        )

    def means(self, run, centers):
        """New centres; the farthest point becomes the centre of an empty cluster, further ones wait for their turn."""
        sums, sizes = self.sums[run].copy(), self.sizes[run].copy()
        point, weight, label = self.farthest[run, :-2], self.farthest[run, -2], int(self.farthest[run, -1])
        empty = np.flatnonzero(sizes == 0)
        if empty.size and sizes[label] > weight:
            sums[empty[0]], sizes[empty[0]] = weight * point, weight
            sums[label] -= weight * point
            sizes[label] -= weight
        filled = sizes > 0
        return np.where(filled[:, None], sums / np.where(filled, sizes, 1)[:, None], centers)
