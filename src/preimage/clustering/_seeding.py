"""Where kernel k-means starts: k-means++ with distances of feature space, all restarts together."""

import numpy as np

from preimage._arrays import epsilon, to_numpy
from preimage.clustering._products import product

# Units of rounding, relative to k(x, x) + k(z, z), up to which squared distances count as zero.
ROUNDING = 16


def mean_order(gram, weights):
    """Rows by their distance from the mean in feature space: an order that does not depend on how rows were given.

    Random draws are made along it, so that a seed means the same for shuffled data, and a weight the same as copies.
    """
    values = product(gram, weights[:, None])[:, 0].astype(np.float64)
    return np.argsort(to_numpy(gram.diagonal()) - 2 * values / weights.sum(), kind="stable")


def plus_plus_seeds(rows_of, diagonal, weights, order, n_clusters, n_runs, rng):
    r"""Seeds of k-means++ in feature space, shape (n_runs, n_clusters).

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
        The order along which draws are made.
    n_clusters, n_runs : int
    rng : numpy.random.Generator

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
    """
    n_draws = 2 + int(np.log(n_clusters))
    seeds = np.empty((n_runs, n_clusters), dtype=np.intp)
    mass = np.broadcast_to(weights, (n_runs, weights.size))
    closest = np.full((n_runs, weights.size), np.inf)
    left = np.tile(weights, (n_runs, 1))  # of rows that are no seeds yet
    for step in range(n_clusters):
        draws = rng.random((n_runs, 1 if step == 0 else n_draws))
        drawn = np.stack([_draw(*masses, order, u) for *masses, u in zip(mass, left, draws)])
        distances = squared_distances(rows_of, diagonal, drawn.ravel()).reshape(*drawn.shape, -1)
        reached = np.minimum(distances, closest[:, None, :])
        chosen = np.argmin(reached @ weights, axis=1)
        runs = np.arange(n_runs)
        seeds[:, step] = drawn[runs, chosen]
        closest = reached[runs, chosen]
        closest[runs, seeds[:, step]] = left[runs, seeds[:, step]] = 0
        mass = closest * weights
    return seeds


def random_seeds(weights, order, n_clusters, n_runs, rng):
    """Distinct rows drawn with probabilities proportional to their weights, shape (n_runs, n_clusters)."""
    share = weights[order] / weights.sum()
    return np.stack([order[rng.choice(order.size, n_clusters, replace=False, p=share)] for _ in range(n_runs)])


def seed_labels(rows_of, diagonal, seeds):
    """The nearest seed of every row, shape (n_runs, n); ties go to the first."""
    return np.stack([np.argmin(squared_distances(rows_of, diagonal, each), axis=0) for each in seeds])


def squared_distances(rows_of, diagonal, numbers):
    """‖φ(x_p) − φ(x_i)‖² of some rows p to all rows i, shape (len(numbers), n)  (S22)."""
    values = rows_of(numbers) * -2.0
    values += diagonal
    values += diagonal[numbers][:, None]
    # Distances between copies of a row are rounding errors, which no seed should be drawn by.
    rounding = ROUNDING * epsilon(diagonal.dtype) * (np.abs(diagonal) + np.abs(diagonal[numbers])[:, None])
    return np.where(values > rounding, values, 0.0)


def _draw(mass, left, order, u):
    """Row numbers at the shares u of the mass; where all of it is used up, of the weights of rows that are left."""
    cumulated = np.cumsum(mass[order])
    if not cumulated[-1] > 0:
        cumulated = np.cumsum(left[order])
    places = np.searchsorted(cumulated, u * cumulated[-1], side="right")
    return order[np.minimum(places, np.searchsorted(cumulated, cumulated[-1]))]
