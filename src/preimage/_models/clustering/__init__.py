"""Clusters in feature space: kernel k-means on a Gram matrix, and on coordinates in a subspace."""

from preimage._models.clustering._clusters import (
    Clusters,
    distances_to_centers,
    exact_clusters,
    landmark_clusters,
    nearest_centers,
    pairwise_boundaries,
    rows_in_double,
)
from preimage._models.clustering._coordinate_kmeans import CoordinatePass, coordinate_kmeans
from preimage._models.clustering._gram_kmeans import runs_at_once
from preimage._models.clustering._restarts import Found, Search
