"""Kernel k-means on a Gram matrix: Lloyd's algorithm and the online pass, all restarts together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import from_numpy, is_host, itemsize, take_rows, to_numpy
from preimage._engine.progress import stage
from preimage._engine.rows import cut, for_blocks
from preimage._engine.typing import Array
from preimage._models.clustering._restarts import Found, Search, best, improves_too_little, plus_plus_seeds, seed_labels
from preimage.feature_space import Gram, require_finite

# Fraction of rows with entries above which a matrix that is not held is multiplied as a whole: by symmetry each entry
# is computed once for two uses, so half of the rows cost as much as all.
FEW_ROWS = 0.5


def kernel_rows(gram: Gram, numbers: Array) -> np.ndarray:
    """The rows of a symmetric Gram matrix with the given numbers, shape (len(numbers), n)."""
    if gram.is_held:
        return to_numpy(take_rows(gram.values, numbers))
    return to_numpy(gram.columns(numbers)).T


def product(gram: Gram, V: Array) -> np.ndarray:
    """K V for a dense V of shape (n, k)."""
    return to_numpy(gram @ _on_device(V, gram))


def rows_product(V: Array, numbers: Array, gram: Gram) -> np.ndarray:
    """V K_numbers for the rows of K with the given numbers; V of shape (k, len(numbers)), the result (k, n)."""
    if gram.is_held:
        rows = take_rows(gram.values, numbers)
        return to_numpy(_on_device(V.T, gram).T @ rows)
    if numbers.size > FEW_ROWS * gram.shape[0]:
        whole = np.zeros((gram.shape[0], V.shape[0]))
        whole[numbers] = V.T
        return product(gram, whole).T
    return to_numpy(Gram(gram.kernel, gram.X, take_rows(gram.X, numbers)) @ _on_device(V.T, gram)).T


def _on_device(V: Array, gram: Gram) -> Array:
    """V in the precision of the matrix and on its device."""
    V = np.ascontiguousarray(V, dtype=np.float32 if itemsize(gram.dtype) == 4 else np.float64)
    return V if is_host(gram.device_array) else from_numpy(V, gram.device_array, dtype=gram.dtype)


# Products with a row of K that take as long as copying the row. Up to n·k/(k + 10) moved points, adding their rows is
# faster than a product with all of K; ten times larger, or smaller, takes the slower of the two now and then.
ROWS_FOR_A_COPY = 10
# Moved points in all runs together above which threads pay for their start, which takes as long as copying some hundred
# rows. Ten times larger leaves cores idle, ten times smaller wakes them for nothing.
WORTH_THREADS = 500
# Arrays of the size of clusters × points that a run holds: sums of kernel values, the changes to them, and those of the
# product that makes them.
RUN_ARRAYS = 4
# Rows of the kernel matrix that the online pass fetches together: half a MiB for a thousand points.
BLOCK = 256


@dataclass(frozen=True)
class Partition(Found):
    r"""Clusters of n points in feature space.

    Centres are the weighted means :math:`m_\nu = \sum_{i \in \nu} w_i \varphi(x_i) / n_\nu` of `members`; `labels` are
    the nearest centres, which at convergence are the same.

    Attributes
    ----------
    sizes, inertia, path, converged
        As in `Found`.
    members : integer array of shape (n,)
        The partition whose means are the centres; −1 belongs to none.
    squared_norms : array of shape (k,)
        ‖m‖² of the centres.
    labels : integer array of shape (n,)
        The nearest centre of every point.
    """

    members: np.ndarray
    squared_norms: np.ndarray
    labels: np.ndarray

    def coefficients(self, weights: Array) -> np.ndarray:
        """Γ with centres m_ν = Σᵢ γᵢν φ(xᵢ), shape (n, k)."""
        gamma = np.zeros((self.members.size, self.sizes.size))
        rows = np.flatnonzero(self.members >= 0)
        columns = self.members[rows]
        gamma[rows, columns] = weights[rows] / self.sizes[columns]
        return gamma


def gram_kmeans(gram: Gram, weights: Array, search: Search) -> Partition:
    """The best of several runs of kernel k-means on the points of a symmetric `Gram`."""
    diagonal = to_numpy(gram.diagonal()).astype(np.float64)
    require_finite(diagonal * weights.sum() ** 2, gram.kernel)  # no sum of kernel values is larger
    k, online = search.n_clusters, search.algorithm == "online"
    if isinstance(search.init, str):
        rows_of = lambda numbers: kernel_rows(gram, numbers)
        seeds = plus_plus_seeds(rows_of, diagonal, weights, mean_order(gram, weights), search)
        starts = _only_seeds(seeds, weights.size) if online else seed_labels(rows_of, diagonal, seeds)
    else:
        starts = search.init[None, :]
    if online:
        return gram_online(gram, starts, k, weights)
    waves = [starts[part] for part in cut(len(starts), min(search.runs_at_once, len(starts)))]
    return best([gram_lloyd(gram, wave, k, weights, search.max_iter, search.tol) for wave in waves])


def runs_at_once(n: int, n_clusters: int, budget: int) -> int:
    """How many runs of Lloyd's algorithm on n points fit in so many bytes, at least one."""
    return max(1, budget // (RUN_ARRAYS * 8 * n * n_clusters))


def gram_lloyd(
    gram: Gram, starts: Array, n_clusters: int, weights: Array, max_iter: int = 300, tol: float = 0.0
) -> Partition:
    r"""Minimise :math:`\sum_i w_i \|\varphi(x_i) - m_{\nu(i)}\|^2` over partitions, from several starts.

    With :math:`S_\nu(x) = \sum_{i \in \nu} w_i k(x_i, x)` and :math:`n_\nu` the weight of a cluster, squared distances
    are :math:`k(x, x) - 2 S_\nu(x)/n_\nu + \|m_\nu\|^2` (S19); every point goes to its nearest centre, ties to the
    first, until none moves. An iteration adds to S the rows of K of the points that moved, and subtracts them from the
    sums of the clusters that they left: O(nk) per move, where a product with the indicator matrix is O(n²k). An empty
    cluster is given the point that is farthest from its centre, which lowers the objective as well.

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
        As in `Search`.

    Returns
    -------
    Partition
        Of the run with the smallest objective.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._models.clustering._gram_kmeans import gram_lloyd
    >>> from preimage.feature_space import Gram
    >>> from preimage.kernels import Linear
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> result = gram_lloyd(Gram(Linear(), X), np.array([[0, 1, 1, 1]]), 2, np.ones(4))
    >>> result.labels, result.inertia
    (array([0, 0, 1, 1]), 1.0)
    """
    runs = _Runs.start(gram, np.asarray(starts, dtype=np.intp), n_clusters, weights, tol)
    done: dict[int, Partition] = {}
    with stage("Kernel k-means") as advance:
        for iteration in range(max_iter):
            runs.add_products()
            runs.step()
            finished = np.ones(len(runs), bool) if iteration == max_iter - 1 else runs.converged
            done |= {runs.names[number]: runs.result(int(number)) for number in np.flatnonzero(finished)}
            runs = runs.kept(~finished)
            advance()
            if len(runs) == 0:
                break
    return best([done[name] for name in sorted(done)])


def gram_online(gram: Gram, starts: Array, n_clusters: int, weights: Array) -> Partition:
    r"""One pass over the points that have no label yet, each to the centre that is nearest when it comes [1]_.

    The centre moves to it, :math:`m_\alpha \leftarrow (1 - \zeta) m_\alpha + \zeta \varphi(x_t)` with
    :math:`\zeta = w_t / (n_\alpha + w_t)` (S20), and :math:`\|m_\alpha\|^2` is carried along (S21). After the pass
    every centre is the mean of the points it was given, its seeds included.

    Parameters
    ----------
    gram : symmetric Gram
    starts : integer array of shape (n_runs, n)
        Labels of the seeds, and −1 for points to come, in the order of their numbers.
    n_clusters : int
    weights : array of shape (n,)

    Returns
    -------
    Partition
        Of the run with the smallest objective.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
       Neural Computation 10, 1998, (36)-(43).

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._models.clustering._gram_kmeans import gram_online
    >>> from preimage.feature_space import Gram
    >>> from preimage.kernels import Linear
    >>> X = np.array([[0.0], [9.0], [1.0], [10.0]])
    >>> gram_online(Gram(Linear(), X), np.array([[0, 1, -1, -1]]), 2, np.ones(4)).members
    array([0, 1, 0, 1])
    """
    diagonal = to_numpy(gram.diagonal()).astype(np.float64)
    members = np.array(starts, dtype=np.intp)
    states = [_OnlineCenters(gram, each, n_clusters, weights) for each in members]
    coming = np.flatnonzero((members < 0).any(axis=0) & (weights > 0))
    for start in range(0, coming.size, BLOCK):
        numbers = coming[start : start + BLOCK]
        for number, row in zip(numbers, kernel_rows(gram, numbers), strict=True):
            for state in states:
                if state.members[number] < 0:
                    state.take(number, row * weights, diagonal[number])
    # One iteration of Lloyd's algorithm from the final partition gives labels and inertia.
    return replace(gram_lloyd(gram, members, n_clusters, weights, max_iter=1), converged=True)


def mean_order(gram: Gram, weights: Array) -> np.ndarray:
    """Rows by their distance from the mean in feature space: an order that does not depend on how rows were given."""
    values = product(gram, weights[:, None])[:, 0].astype(np.float64)
    return np.argsort(to_numpy(gram.diagonal()) - 2 * values / weights.sum(), kind="stable")


def _only_seeds(seeds: Array, n: int) -> np.ndarray:
    """Labels of the seeds, −1 for all other rows, shape (n_runs, n)."""
    labels = np.full((seeds.shape[0], n), -1, dtype=np.intp)
    np.put_along_axis(labels, seeds, np.arange(seeds.shape[1])[None, :], axis=1)
    return labels


@dataclass
class _Runs:
    """Runs of Lloyd's algorithm side by side, one per row of the arrays.

    Invariant between iterations: `sums` has S_ν(x_j) = Σᵢ wᵢ k(xᵢ, x_j) over the `members` i of cluster ν, shape
    (n_runs, k, n). `next_members` are the points' clusters after the moves that `sums` does not have yet.
    """

    gram: Gram
    weights: Array
    diagonal: Array
    tol: float
    names: Array
    sums: Array
    members: Array
    next_members: Array
    path: Array

    @classmethod
    def start(cls, gram: Gram, starts: Array, k: int, weights: Array, tol: float) -> _Runs:
        n_runs, n = starts.shape
        diagonal = to_numpy(gram.diagonal()).astype(np.float64)
        first = _all_filled(starts, weights > 0, k, np.zeros((n_runs, n)))
        nobody, sums = np.full_like(first, -1), np.zeros((n_runs, k, n))
        return cls(gram, weights, diagonal, tol, np.arange(n_runs), sums, nobody, first, np.zeros((n_runs, 0)))

    def __len__(self) -> int:
        return self.members.shape[0]

    def kept(self, which: Array) -> _Runs:
        """The runs that go on."""
        if which.all():
            return self
        state = ("names", "sums", "members", "next_members", "path")
        return replace(self, **{name: getattr(self, name)[which] for name in state})

    def add_products(self) -> None:
        """Bring the sums up to the next members."""
        gram, (n_runs, k, n) = self.gram, self.sums.shape
        moves = (self.members != self.next_members) & (self.weights > 0)
        n_moves = np.count_nonzero(moves)
        if gram.is_held and n_moves <= n_runs * n * k / (k + ROWS_FOR_A_COPY):

            def add(run: int) -> None:
                rows = np.flatnonzero(moves[run])
                self.sums[run] += rows_product(self._changes(rows, slice(run, run + 1))[0], rows, gram)

            if n_moves > WORTH_THREADS:
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

    def _changes(self, rows: Array, runs: slice = slice(None)) -> np.ndarray:
        """Weights to add to the sums of each cluster, or to subtract, shape (number of runs, k, len(rows))."""
        into, out = self.next_members[runs][:, None, rows], self.members[runs][:, None, rows]
        clusters = np.arange(self.sums.shape[1])[:, None]
        return ((into == clusters).astype(float) - (out == clusters)) * self.weights[rows]

    def step(self) -> None:
        """Take the next members as clusters, and find the nearest centre of every point."""
        self.members, (n_runs, k, n) = self.next_members, self.sums.shape
        self.sizes = _totals(self.members, self.weights, k)
        # sums[r, ν, i] = Σⱼ wⱼ k(xᵢ, xⱼ) over cluster ν; the weighted sum over its own members is ‖m_ν‖² times its
        # squared size (S19).
        in_own_cluster = self.sums[np.arange(n_runs)[:, None], self.members, np.arange(n)]
        self.squared_norms = _totals(self.members, self.weights * in_own_cluster, k) / self.sizes**2
        self.labels, scores = _nearest(self.sums, -2 / self.sizes, self.squared_norms)
        distances = self.diagonal + scores
        self.path = np.concatenate([self.path, (distances @ self.weights)[:, None]], axis=1)
        self.next_members = _all_filled(self.labels, self.weights > 0, k, distances)
        still = np.all((self.next_members == self.members) | (self.weights == 0), axis=1)
        self.converged = still | improves_too_little(self.path, self.tol)

    def result(self, run: int) -> Partition:
        # Inertias below zero are rounding errors, unless feature space is not Euclidean.
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


class _OnlineCenters:
    """Weights and squared norms of centres that move to the points they are given."""

    def __init__(self, gram: Gram, members: Array, n_clusters: int, weights: Array) -> None:
        self.members, self.weights = members, weights  # `members` is written to
        seeds = np.flatnonzero((members >= 0) & (weights > 0))
        labels = members[seeds]
        self.sizes = np.bincount(labels, weights[seeds], n_clusters)
        if not np.all(self.sizes > 0):
            raise ValueError(
                f"Online k-means starts with a seed for each of {n_clusters} clusters; cluster "
                f"{int(np.argmin(self.sizes))} has none with a positive weight."
            )
        within = kernel_rows(gram, seeds)[:, seeds] * (labels[:, None] == labels)
        self.squared_norms = np.bincount(labels, weights[seeds] * (within @ weights[seeds]), n_clusters) / self.sizes**2

    def take(self, number: int, weighted_row: Array, squared_length: float) -> None:
        """Give a point to its nearest centre."""
        k, weight = self.sizes.size, self.weights[number]
        values = np.bincount(self.members + 1, weighted_row, k + 1)[1:] / self.sizes  # ⟨m_ν, φ(x)⟩
        nearest = int(np.argmin(self.squared_norms - 2 * values))
        zeta = weight / (self.sizes[nearest] + weight)
        self.squared_norms[nearest] = (
            (1 - zeta) ** 2 * self.squared_norms[nearest]
            + 2 * zeta * (1 - zeta) * values[nearest]
            + zeta**2 * squared_length
        )
        self.sizes[nearest] += weight
        self.members[number] = nearest


def _nearest(sums: Array, factors: Array, constants: Array) -> tuple[np.ndarray, np.ndarray]:
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


def _totals(members: Array, values: Array, k: int) -> np.ndarray:
    """Sums of values over the members of each cluster of each run, shape (n_runs, k); −1 is a member of none."""
    n_runs, n = members.shape
    # Run r has the bins r(k + 1) … r(k + 1) + k, the first of which is for members of none.
    bins = (members + (1 + (k + 1) * np.arange(n_runs)[:, None])).ravel()
    values = np.broadcast_to(values, (n_runs, n)).ravel()
    return np.bincount(bins, values, n_runs * (k + 1)).reshape(n_runs, k + 1)[:, 1:]


def _all_filled(labels: Array, counts: Array, k: int, distances: Array) -> np.ndarray:
    """The labels of all runs, with the farthest point of a cluster of several moved to each cluster that has none."""
    return np.stack([_without_empty(each, counts, k, far) for each, far in zip(labels, distances, strict=True)])


def _without_empty(labels: Array, counts: Array, k: int, distances: Array) -> np.ndarray:
    sizes = np.bincount(labels[counts] + 1, minlength=k + 1)  # the first is of points in no cluster
    sizes[0] = labels.size + 1  # from which points may always leave
    if np.all(sizes > 0):
        return labels
    labels = labels.copy()
    # Farthest points first; a point that is alone in its cluster stays, or its cluster would become the empty one.
    for number in np.argsort(-distances, kind="stable"):
        empty = np.flatnonzero(sizes == 0)
        if empty.size == 0:
            break
        old = labels[number] + 1
        if counts[number] and sizes[old] > 1:
            labels[number], sizes[empty[0]] = empty[0] - 1, 1
            sizes[old] -= 1
    return labels
