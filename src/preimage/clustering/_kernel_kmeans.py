"""Kernel k-means on a Gram matrix: starts, then Lloyd or the online pass."""

import numpy as np

from preimage._arrays import to_numpy
from preimage.clustering._lloyd import lloyd
from preimage.clustering._online import online
from preimage.clustering._products import kernel_rows
from preimage.clustering._seeding import mean_order, plus_plus_seeds, random_seeds, seed_labels
from preimage.feature_space import require_finite


def kernel_kmeans(gram, n_clusters, weights, *, init, n_init, algorithm, max_iter, tol, rng):
    """The best of several runs of kernel k-means.

    Parameters
    ----------
    gram : symmetric Gram
    n_clusters : int
    weights : array of shape (n,)
    init : "k-means++", "random" or integer array of shape (n,)
    n_init : int
        Runs; one where `init` has labels.
    algorithm : "lloyd" or "online"
    max_iter, tol
        Of Lloyd's algorithm.
    rng : numpy.random.Generator

    Returns
    -------
    Partition
    """
    diagonal = to_numpy(gram.diagonal()).astype(np.float64)
    require_finite(diagonal * weights.sum() ** 2, gram.kernel)  # no sum of kernel values is larger
    if isinstance(init, str):
        rows_of = lambda numbers: kernel_rows(gram, numbers)
        seeds = draw_seeds(rows_of, diagonal, weights, mean_order(gram, weights), n_clusters, init, n_init, rng)
        if algorithm == "online":
            return online(gram, only_seeds(seeds, weights.size), n_clusters, weights)
        starts = seed_labels(rows_of, diagonal, seeds)
    else:
        starts = init[None, :]
    if algorithm == "online":
        return online(gram, starts, n_clusters, weights)
    return lloyd(gram, starts, n_clusters, weights, max_iter=max_iter, tol=tol)


def draw_seeds(rows_of, diagonal, weights, order, n_clusters, init, n_init, rng):
    """Row numbers to start from, shape (n_init, n_clusters)."""
    if init == "random":
        return random_seeds(weights, order, n_clusters, n_init, rng)
    return plus_plus_seeds(rows_of, diagonal, weights, order, n_clusters, n_init, rng)


def only_seeds(seeds, n):
    """Labels of the seeds, −1 for all other rows, shape (n_runs, n)."""
    labels = np.full((seeds.shape[0], n), -1, dtype=np.intp)
    np.put_along_axis(labels, seeds, np.arange(seeds.shape[1])[None, :], axis=1)
    return labels
