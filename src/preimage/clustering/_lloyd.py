"""Batch kernel k-means: Lloyd's algorithm on a Gram matrix, all restarts together."""

import numpy as np

from preimage._arrays import to_numpy
from preimage._rows import for_blocks
from preimage._threads import run_parallel
from preimage.clustering._partition import Partition, best
from preimage.clustering._products import product, rows_product

# Copying a row of K takes as long as so many products with it.
ROWS_FOR_A_COPY = 10


def lloyd(gram, starts, n_clusters, weights, max_iter=300, tol=0.0):
    r"""Minimise :math:`\sum_i w_i \|\varphi(x_i) - m_{\nu(i)}\|^2` over partitions, from several starts.

    With :math:`S_\nu(x) = \sum_{i \in \nu} w_i k(x_i, x)` and :math:`n_\nu` the weight of a cluster, squared distances
    are :math:`k(x, x) - 2 S_\nu(x)/n_\nu + \|m_\nu\|^2` (S19); every point goes to its nearest centre, ties to the
    first, until none moves. An iteration adds to S the rows of K of the points that moved and takes them from where they
    were: O(n) a move, where a product with the indicator matrix is O(n²k). An empty cluster is given the point
    that is farthest from its centre, which lowers the objective as well.

    Parameters
    ----------
    gram : symmetric Gram
        Held, or computed again for the points that moved in any of the runs.
    starts : integer array of shape (n_runs, n)
        Labels; −1 belongs to no cluster yet.
    n_clusters : int
    weights : array of shape (n,)
    max_iter : int, default=300
    tol : float, default=0.0
        Stop after an iteration that brings at most this share of what all of them brought.

    Returns
    -------
    Partition
        Of the run with the smallest objective.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.clustering import lloyd
    >>> from preimage.feature_space import Gram
    >>> from preimage.kernels import Linear
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> result = lloyd(Gram(Linear(), X), np.array([[0, 1, 1, 1]]), 2, np.ones(4))
    >>> result.labels, result.inertia
    (array([0, 0, 1, 1]), 1.0)
    """
    diagonal = to_numpy(gram.diagonal()).astype(np.float64)
    runs = [_Run(start, n_clusters, weights, diagonal, tol) for start in starts]
    active = runs
    for _ in range(max_iter):
        _add_products(gram, active)
        run_parallel(_Run.step, active)
        active = [run for run in active if not run.is_done]
        if not active:
            break
    return best([run.result() for run in runs])


class _Run:
    """One start on its way: members, their sums S, and moves that S does not know of yet."""

    def __init__(self, members, n_clusters, weights, diagonal, tol):
        self.weights, self.diagonal, self.tol = weights, diagonal, tol
        self.counts = weights > 0
        self.n_clusters = n_clusters
        self.next_members = _without_empty(np.asarray(members, dtype=np.intp), self.counts, n_clusters, None)
        self.members = np.full_like(self.next_members, -1)
        self.sums = np.zeros((n_clusters, weights.size))
        self.path = []
        self.is_done = self.has_converged = False

    def moved(self):
        """Numbers of the points that go from one cluster to another."""
        return np.flatnonzero((self.members != self.next_members) & self.counts)

    def changes(self, rows):
        """Weights to add to the sums of each cluster, and to take from them, shape (k, len(rows))."""
        into, out = self.next_members[rows], self.members[rows]
        clusters = np.arange(self.n_clusters)[:, None]
        return ((into == clusters).astype(float) - (out == clusters)) * self.weights[rows]

    def step(self):
        """Centres from the sums, then the nearest centre of every point."""
        self.members = self.next_members
        rows, k = np.flatnonzero((self.members >= 0) & self.counts), self.n_clusters
        own = self.members[rows]
        self.sizes = np.bincount(own, self.weights[rows], k)
        inner = np.bincount(own, self.weights[rows] * self.sums[own, rows], k)  # n² ‖m‖²
        self.squared_norms = inner / self.sizes**2
        scores = self.sums * (-2 / self.sizes)[:, None]
        scores += self.squared_norms[:, None]
        self.labels = np.argmin(scores, axis=0)
        distances = self.diagonal + scores[self.labels, np.arange(self.labels.size)]
        self.path.append(max(float(self.weights @ distances), 0.0))
        self.next_members = _without_empty(self.labels, self.counts, k, distances)
        still = bool(np.all((self.next_members == self.members) | ~self.counts))
        self.has_converged = self.is_done = still or self._brings_too_little()

    def _brings_too_little(self):
        if len(self.path) < 2:
            return False
        return self.path[-2] - self.path[-1] <= self.tol * (self.path[0] - self.path[-1])

    def result(self):
        return Partition(
            members=self.members,
            sizes=self.sizes,
            squared_norms=self.squared_norms,
            labels=self.labels,
            inertia=self.path[-1],
            path=np.array(self.path),
            converged=self.has_converged,
        )


def _without_empty(labels, counts, n_clusters, distances):
    """The labels, with the farthest point of a cluster of several moved to each cluster that has none."""
    sizes = np.bincount(labels[counts] + 1, minlength=n_clusters + 1)[1:]
    if np.all(sizes > 0):
        return labels
    labels = labels.copy()
    distances = np.zeros(labels.size) if distances is None else distances
    for number in np.argsort(-distances, kind="stable"):
        empty = np.flatnonzero(sizes == 0)
        if empty.size == 0:
            break
        old = labels[number]
        if counts[number] and (old < 0 or sizes[old] > 1):
            labels[number] = empty[0]
            sizes[empty[0]] = 1
            if old >= 0:
                sizes[old] -= 1
    return labels


def _add_products(gram, runs):
    """Bring the sums of all runs up to their next members."""
    n, k = gram.shape[0], runs[0].n_clusters
    moved = [run.moved() for run in runs]
    if gram.is_held and sum(map(len, moved)) <= len(runs) * n * k / (k + ROWS_FOR_A_COPY):

        def add(number):
            run, rows = runs[number], moved[number]
            run.sums += rows_product(run.changes(rows), rows, gram)

        for_blocks(add, range(len(runs)), gram.values)
        return
    # One pass over the kernel, or one large product, for all runs.
    rows = np.unique(np.concatenate(moved))
    changes = np.concatenate([run.changes(rows) for run in runs])
    if gram.is_held:
        whole = np.zeros((n, changes.shape[0]))
        whole[rows] = changes.T
        together = product(gram, whole).T
    else:
        together = rows_product(changes, rows, gram)
    for run, part in zip(runs, np.split(together, len(runs))):
        run.sums += part
