"""Batch kernel k-means: Lloyd's algorithm on a Gram matrix, all restarts together."""

import numpy as np

from preimage._arrays import to_numpy
from preimage._rows import for_blocks
from preimage.clustering._partition import Partition, best
from preimage.clustering._products import product, rows_product

# Copying a row of K takes as long as so many products with it.
ROWS_FOR_A_COPY = 10
# Moves in all runs together that are worth several threads.
WORTH_THREADS = 500


def lloyd(gram, starts, n_clusters, weights, max_iter=300, tol=0.0):
    r"""Minimise :math:`\sum_i w_i \|\varphi(x_i) - m_{\nu(i)}\|^2` over partitions, from several starts.

    With :math:`S_\nu(x) = \sum_{i \in \nu} w_i k(x_i, x)` and :math:`n_\nu` the weight of a cluster, squared distances
    are :math:`k(x, x) - 2 S_\nu(x)/n_\nu + \|m_\nu\|^2` (S19); every point goes to its nearest centre, ties to the
    first, until none moves. An iteration adds to S the rows of K of the points that moved, and takes them from where
    they were: O(nk) a move, where a product with the indicator matrix is O(n²k). An empty cluster is given the point
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
    runs, done = _Runs.start(gram, np.asarray(starts, dtype=np.intp), n_clusters, weights, tol), {}
    for iteration in range(max_iter):
        runs.add_products()
        runs.step()
        finished = np.ones(len(runs), bool) if iteration == max_iter - 1 else runs.converged
        done |= {runs.names[number]: runs.result(number) for number in np.flatnonzero(finished)}
        runs = runs.kept(~finished)
        if len(runs) == 0:
            break
    return best([done[name] for name in sorted(done)])


class _Runs:
    """Starts on their way together, one a row: members, their sums S, and moves that S does not know of yet."""

    def __init__(self, gram, weights, diagonal, tol, names, sums, members, next_members, path):
        self.gram, self.weights, self.diagonal, self.tol = gram, weights, diagonal, tol
        self.counts = weights > 0
        self.names, self.sums, self.members, self.next_members, self.path = names, sums, members, next_members, path

    @classmethod
    def start(cls, gram, starts, k, weights, tol):
        n_runs, n = starts.shape
        diagonal = to_numpy(gram.diagonal()).astype(np.float64)
        first = np.stack([_without_empty(start, weights > 0, k, np.zeros(n)) for start in starts])
        nobody, sums = np.full_like(first, -1), np.zeros((n_runs, k, n))
        return cls(gram, weights, diagonal, tol, np.arange(n_runs), sums, nobody, first, np.zeros((n_runs, 0)))

    def __len__(self):
        return self.members.shape[0]

    def kept(self, which):
        """The runs that go on."""
        if which.all():
            return self
        state = (self.names, self.sums, self.members, self.next_members, self.path)
        return _Runs(self.gram, self.weights, self.diagonal, self.tol, *(array[which] for array in state))

    def add_products(self):
        """Bring the sums up to the next members."""
        gram, (n_runs, k, n) = self.gram, self.sums.shape
        moves = (self.members != self.next_members) & self.counts
        if gram.is_held and np.count_nonzero(moves) <= n_runs * n * k / (k + ROWS_FOR_A_COPY):

            def add(run):
                rows = np.flatnonzero(moves[run])
                self.sums[run] += rows_product(self._changes(rows, slice(run, run + 1))[0], rows, gram)

            # Threads pay for their start with the copy of some hundred rows.
            if np.count_nonzero(moves) > WORTH_THREADS:
                for_blocks(add, range(n_runs), gram.values)
            else:
                for run in range(n_runs):
                    add(run)
            return
        # One large product, or one pass over the kernel, for all runs.
        rows = np.arange(n) if gram.is_held else np.flatnonzero(moves.any(axis=0))
        changes = self._changes(rows).reshape(n_runs * k, -1)
        together = product(gram, changes.T).T if gram.is_held else rows_product(changes, rows, gram)
        self.sums += together.reshape(self.sums.shape)

    def _changes(self, rows, runs=slice(None)):
        """Weights to add to the sums of each cluster, and to take from them, shape (number of runs, k, len(rows))."""
        into, out = self.next_members[runs][:, None, rows], self.members[runs][:, None, rows]
        clusters = np.arange(self.sums.shape[1])[:, None]
        return ((into == clusters).astype(float) - (out == clusters)) * self.weights[rows]

    def step(self):
        """Centres from the sums, then the nearest centre of every point."""
        self.members, (n_runs, k, n) = self.next_members, self.sums.shape
        self.sizes = _totals(self.members, self.weights, k)
        own = self.sums[np.arange(n_runs)[:, None], self.members, np.arange(n)]
        self.squared_norms = _totals(self.members, self.weights * own, k) / self.sizes**2
        self.labels, scores = _nearest(self.sums, -2 / self.sizes, self.squared_norms)
        distances = self.diagonal + scores
        self.path = np.concatenate([self.path, (distances @ self.weights)[:, None]], axis=1)
        self.next_members = _all_filled(self.labels, self.weights, k, distances)
        still = np.all((self.next_members == self.members) | ~self.counts, axis=1)
        self.converged = still | self._brings_too_little()

    def _brings_too_little(self):
        if self.path.shape[1] < 2:
            return np.zeros(len(self), bool)
        return self.path[:, -2] - self.path[:, -1] <= self.tol * (self.path[:, 0] - self.path[:, -1])

    def result(self, run):
        # Below zero by rounding, unless feature space is not Euclidean.
        lowest = 0.0 if self.gram.kernel.is_positive_semidefinite else -np.inf
        return Partition(
            members=self.members[run],
            sizes=self.sizes[run],
            squared_norms=self.squared_norms[run],
            labels=self.labels[run],
            inertia=max(float(self.path[run, -1]), lowest),
            path=self.path[run],
            converged=bool(self.converged[run]),
        )


def _nearest(sums, factors, constants):
    """The first cluster where factor · sum + constant is smallest, and that value; shapes (n_runs, n)."""
    best_score = sums[:, 0] * factors[:, :1] + constants[:, :1]
    labels = np.zeros(best_score.shape, dtype=np.intp)
    for cluster in range(1, sums.shape[1]):
        score = sums[:, cluster] * factors[:, cluster, None]
        score += constants[:, cluster, None]
        # Faster than argmin, which wants the clusters in the last axis.
        np.copyto(labels, cluster, where=score < best_score)
        np.minimum(best_score, score, out=best_score)
    return labels, best_score


def _totals(members, values, k):
    """Sums of values over the members of each cluster of each run, shape (n_runs, k); −1 is a member of none."""
    n_runs, n = members.shape
    bins = (members + (1 + (k + 1) * np.arange(n_runs)[:, None])).ravel()
    values = np.broadcast_to(values, (n_runs, n)).ravel()
    return np.bincount(bins, values, n_runs * (k + 1)).reshape(n_runs, k + 1)[:, 1:]


def _all_filled(labels, weights, k, distances):
    """The labels of all runs, with points moved to clusters that have none."""
    if np.all(_totals(labels, weights, k) > 0):
        return labels
    return np.stack([_without_empty(each, weights > 0, k, far) for each, far in zip(labels, distances)])


def _without_empty(labels, counts, n_clusters, distances):
    """The labels, with the farthest point of a cluster of several moved to each cluster that has none."""
    sizes = np.bincount(labels[counts] + 1, minlength=n_clusters + 1)[1:]
    if np.all(sizes > 0):
        return labels
    labels = labels.copy()
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
