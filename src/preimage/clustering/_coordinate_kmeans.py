"""k-means on coordinates of any number of rows: runs compete on a sample, the best one goes on with all."""

import numpy as np

from preimage.clustering._coordinate_lloyd import coordinate_lloyd
from preimage.clustering._coordinate_online import coordinate_online
from preimage.clustering._kernel_kmeans import draw_seeds

# Rows on which restarts compete.
SAMPLE = 10_000
# Rows of a block of the online pass.
BLOCK = 4096


def coordinate_kmeans(data, n_clusters, *, init, n_init, algorithm, max_iter, tol, rng):
    """Clusters of the rows of a `CoordinatePass`; parameters are those of `kernel_kmeans`.

    Returns
    -------
    CoordinateClusters
    """
    if not isinstance(init, str):
        seeds = np.flatnonzero((init >= 0) & (data.weights > 0))
        Y, _ = data.take(seeds)
        sizes = np.bincount(init[seeds], data.weights[seeds], n_clusters)
        if not np.all(sizes > 0):
            raise ValueError(f"`init` has no row of positive weight for cluster {int(np.argmin(sizes))}.")
        indicator = (init[seeds] == np.arange(n_clusters)[:, None]) * data.weights[seeds]
        centers = indicator @ Y / sizes[:, None]
        if algorithm == "online":
            return _online(data, centers[None], sizes[None], seeds[None])
        return coordinate_lloyd(data, centers[None], max_iter, tol)
    candidates = np.flatnonzero(data.weights > 0)
    if candidates.size > SAMPLE:
        candidates = np.sort(rng.choice(candidates, SAMPLE, replace=False))
    sample = data.sample(candidates)
    seeds = _seeds(sample, n_clusters, init, n_init, rng)
    centers = sample.held[0][seeds]
    if algorithm == "online":
        numbers = candidates[seeds]
        return _online(data, centers, data.weights[numbers], numbers)
    if candidates.size < np.count_nonzero(data.weights):
        centers = coordinate_lloyd(sample, centers, max_iter, tol).centers[None]
    return coordinate_lloyd(data, centers, max_iter, tol)


def _seeds(sample, n_clusters, init, n_init, rng):
    (Y, _), weights = sample.held, sample.weights
    squared = np.einsum("ij,ij->i", Y, Y)
    order = np.argsort(squared - 2 * (Y @ (weights @ Y)) / weights.sum(), kind="stable")
    return draw_seeds(lambda numbers: Y[numbers] @ Y.T, squared, weights, order, n_clusters, init, n_init, rng)


def _online(data, centers, sizes, seeds):
    """One pass in the order of rows; the seeds have been counted already."""
    states = [(each, size.astype(float)) for each, size in zip(centers, sizes)]
    for start in range(0, len(data), BLOCK):
        numbers = np.arange(start, min(start + BLOCK, len(data)))
        Y, _ = data.take(numbers)
        weights = data.weights[numbers]
        states = [
            coordinate_online(*state, Y, np.where(np.isin(numbers, own), 0, weights))
            for state, own in zip(states, seeds)
        ]
    found = coordinate_lloyd(data, np.stack([center for center, _ in states]), max_iter=1)
    return type(found)(**{**found.__dict__, "converged": True})
