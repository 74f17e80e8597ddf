"""Online kernel k-means: points come one by one, and centres stay means of what they were given."""

import numpy as np

from preimage._arrays import to_numpy
from preimage.clustering._lloyd import lloyd
from preimage.clustering._partition import Partition, best
from preimage.clustering._products import kernel_rows

# Rows of the kernel matrix that are fetched together.
BLOCK = 256


def online(gram, starts, n_clusters, weights):
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
    >>> from preimage.clustering import online
    >>> from preimage.feature_space import Gram
    >>> from preimage.kernels import Linear
    >>> X = np.array([[0.0], [9.0], [1.0], [10.0]])
    >>> online(Gram(Linear(), X), np.array([[0, 1, -1, -1]]), 2, np.ones(4)).members
    array([0, 1, 0, 1])
    """
    diagonal = to_numpy(gram.diagonal()).astype(np.float64)
    members = np.array(starts, dtype=np.intp)
    states = [_Centers(gram, each, n_clusters, weights) for each in members]
    coming = np.flatnonzero((members < 0).any(axis=0) & (weights > 0))
    for start in range(0, coming.size, BLOCK):
        numbers = coming[start : start + BLOCK]
        for number, row in zip(numbers, kernel_rows(gram, numbers)):
            for state in states:
                if state.members[number] < 0:
                    state.take(number, row * weights, diagonal[number])
    return best([_settled(lloyd(gram, each[None, :], n_clusters, weights, max_iter=1)) for each in members])


def _settled(partition):
    return Partition(**{**partition.__dict__, "converged": True})


class _Centers:
    """Counts and squared norms of centres that follow their points."""

    def __init__(self, gram, members, n_clusters, weights):
        self.members, self.weights = members, weights  # `members` is written to
        seeds = np.flatnonzero((members >= 0) & (weights > 0))
        own = members[seeds]
        self.sizes = np.bincount(own, weights[seeds], n_clusters)
        if not np.all(self.sizes > 0):
            raise ValueError(
                f"Online k-means starts with a seed for each of {n_clusters} clusters; cluster "
                f"{int(np.argmin(self.sizes))} has none with a positive weight."
            )
        within = kernel_rows(gram, seeds)[:, seeds] * (own[:, None] == own)
        self.squared_norms = np.bincount(own, weights[seeds] * (within @ weights[seeds]), n_clusters) / self.sizes**2

    def take(self, number, weighted_row, squared_length):
        """Give a point to its nearest centre."""
        k, weight = self.sizes.size, self.weights[number]
        values = np.bincount(self.members + 1, weighted_row, k + 1)[1:] / self.sizes
        nearest = int(np.argmin(self.squared_norms - 2 * values))
        share = weight / (self.sizes[nearest] + weight)
        self.squared_norms[nearest] = (
            (1 - share) ** 2 * self.squared_norms[nearest]
            + 2 * share * (1 - share) * values[nearest]
            + share**2 * squared_length
        )
        self.sizes[nearest] += weight
        self.members[number] = nearest
