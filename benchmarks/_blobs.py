"""Rows in clusters, for measurements of speed."""

import numpy as np
from sklearn.datasets import make_blobs

from preimage._engine.rows import cut
from preimage.kernels import squared_distance_percentile

N_CLUSTERS = 30


def blobs(n, d, dtype=np.float64):
    """Rows in clusters that touch, and the inverse width γ of which the median of squared distances is 1/(2γ)."""
    X, _ = make_blobs(n, d, centers=N_CLUSTERS, cluster_std=3, random_state=0)
    return X.astype(dtype, copy=False), 1 / (2 * squared_distance_percentile(X, 50))


def large_blobs(n, d, seed=0):
    """Rows of single precision in clusters, made without a second copy."""
    rng = np.random.default_rng(seed)
    centers = 3 * rng.standard_normal((N_CLUSTERS, d), dtype=np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32)
    for part in cut(n, 2**16):
        X[part] += centers[rng.integers(N_CLUSTERS, size=part.stop - part.start)]
    return X
