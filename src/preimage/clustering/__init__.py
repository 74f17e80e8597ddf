"""Clusters in feature space: kernel k-means on a Gram matrix, and on coordinates in a subspace."""

from preimage.clustering._coordinate_kmeans import coordinate_kmeans
from preimage.clustering._coordinate_lloyd import CoordinateClusters, coordinate_lloyd
from preimage.clustering._coordinate_online import coordinate_online
from preimage.clustering._coordinate_pass import CoordinatePass
from preimage.clustering._kernel_kmeans import kernel_kmeans
from preimage.clustering._lloyd import lloyd
from preimage.clustering._online import online
from preimage.clustering._partition import Partition

__all__ = [
    "CoordinateClusters",
    "CoordinatePass",
    "Partition",
    "coordinate_kmeans",
    "coordinate_lloyd",
    "coordinate_online",
    "kernel_kmeans",
    "lloyd",
    "online",
]
