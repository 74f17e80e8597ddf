"""Clusters of rows: fits, centres as vectors of feature space, distances to them, and boundaries between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    as_rows,
    epsilon,
    from_numpy,
    in_double,
    is_foreign,
    is_host,
    is_lazy,
    itemsize,
    on_device,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._engine.finite import finite_result
from preimage._engine.memory import memory_budget
from preimage._engine.typing import Array, Rows
from preimage._models.clustering._coordinate_kmeans import (
    CoordinateClusters,
    CoordinatePass,
    coordinate_kmeans,
    coordinate_online,
)
from preimage._models.clustering._gram_kmeans import Partition, gram_kmeans, runs_at_once
from preimage._models.clustering._restarts import Search
from preimage.feature_space import Expansion, Gram, Subspace
from preimage.kernels import Kernel
from preimage.landmarks import Landmarks, LandmarkSelector
from preimage.landmarks._growth import grown, has_room, warn_if_left_out, with_batch

# From a subspace to a function from rows to their coordinates in it, in NumPy and double precision.
CoordinatesIn = Callable[[Subspace], Callable[[Array], np.ndarray]]

# Most bytes of coordinates of a memory map or Dask array that are kept here, so that its rows are read once and not in
# each of some hundred iterations. Ten times as many take minutes to arrive from a cluster, whose workers then have the
# shorter passes.
MOST_HELD_OF_LAZY = 2**28
# Units of rounding up to which squared distances count as zero, and as equal. They are differences of kernel values
# with errors of a few units; ten times larger would tie centres whose distances still differ in a digit.
ROUNDING = 16


@dataclass(frozen=True)
class Clusters:
    """Centres in the coordinates of a subspace, which learn from further rows.

    Attributes
    ----------
    space : Subspace
    centers : NumPy array of shape (k, m)
    sizes : NumPy array of shape (k,)
        Sums of weights of the rows that the centres are means of.
    """

    space: Subspace
    centers: np.ndarray
    sizes: np.ndarray

    def after(
        self,
        X: Rows,
        weights: np.ndarray,
        before: Landmarks,
        selector: LandmarkSelector,
        rng: np.random.Generator,
        coordinates_in: CoordinatesIn,
    ) -> tuple[Clusters, Landmarks]:
        """Clusters and landmarks after a further batch, whose rows come one by one, see `coordinate_online`.

        Those rows may become landmarks that have weight; of lazy data all rows may.
        """
        clusters, kernel, rows, used = self, self.space.frame.kernel, X, np.flatnonzero(weights > 0)
        if not is_lazy(X):
            rows = rows_in_double(kernel, X if used.size == weights.size else take_rows(X, used))
        landmarks = grown(before, kernel, rows, selector, rng)
        if len(landmarks) > len(before):
            clusters = self.within(Subspace.span(kernel, rows_in_double(kernel, landmarks.points)))
        Y = coordinates_in(clusters.space)(X)
        trace, inside = float(weights @ squared_lengths(kernel, X)), float(weights @ np.sum(Y * Y, axis=1))
        if not has_room(before, selector):
            warn_if_left_out(before, 1 - inside / (trace or 1.0))
        moved = Clusters(clusters.space, *coordinate_online(clusters.centers, clusters.sizes, Y, weights))
        return moved, with_batch(landmarks, trace, inside)

    def within(self, space: Subspace) -> Clusters:
        """The same centres in the coordinates of a subspace that contains this one."""
        turned = to_numpy(self.space.frame.inner(space.frame)).astype(np.float64, copy=False)
        return Clusters(space, self.centers @ turned, self.sizes)

    @property
    def vectors(self) -> Expansion:
        """The centres as vectors of feature space."""
        frame = self.space.frame
        squared_norms = from_numpy(np.sum(self.centers * self.centers, axis=1), frame.coefficients)
        turned = from_numpy(np.ascontiguousarray(self.centers.T), frame.coefficients)
        return Expansion(frame.kernel, frame.points, frame.coefficients @ turned, squared_norms=squared_norms)


def exact_clusters(
    kernel: Kernel, X: Array, weights: np.ndarray, search: Search, max_memory: int | str | None, device: str | None
) -> tuple[Expansion, Partition]:
    """Centres of the best partition of all rows X, in double precision; kernel values are computed on `device`."""
    moved = on_device(to_dense(X), device) if device is not None and not is_foreign(X) else X
    gram = Gram(kernel, kernel.inputs(moved))
    budget = memory_budget(max_memory, weights)
    if gram.fits(memory_budget(max_memory, moved)):
        gram = gram.held()
        budget -= itemsize(gram.dtype) * weights.size**2 if is_host(moved) else 0
    search = replace(search, runs_at_once=runs_at_once(weights.size, search.n_clusters, budget))
    found = gram_kmeans(gram, weights, search)
    points, dtype = kernel.inputs(X), Gram(kernel, X).dtype
    # Rows of weight zero have coefficient zero in every centre, and are not stored.
    rows = np.flatnonzero((weights > 0) & (found.members >= 0))
    centers = Expansion(
        kernel,
        take_rows(points, rows),
        from_numpy(found.coefficients(weights)[rows], X, dtype=dtype),
        squared_norms=from_numpy(found.squared_norms, X, dtype=dtype),
    )
    return centers, found


def landmark_clusters(
    kernel: Kernel,
    points: Array,
    X: Rows,
    weights: np.ndarray,
    search: Search,
    max_memory: int | str | None,
    coordinates_in: CoordinatesIn,
) -> tuple[Clusters, CoordinateClusters]:
    """Clusters of the rows X, possibly lazy, in the span of the images of points."""
    space = Subspace.span(kernel, rows_in_double(kernel, points))
    room = memory_budget(max_memory, np.empty(0))
    held = 8 * X.shape[0] * len(space) <= (min(room, MOST_HELD_OF_LAZY) if is_lazy(X) else room)
    data = CoordinatePass(X, coordinates_in(space), partial(squared_lengths, kernel), weights, held=held)
    found = coordinate_kmeans(data, search)
    return Clusters(space, found.centers, found.sizes), found


def squared_lengths(kernel: Kernel, rows: Array) -> np.ndarray:
    """k(x, x) in NumPy and double precision."""
    return to_numpy(kernel.diagonal(rows_in_double(kernel, rows))).astype(np.float64, copy=False)


def rows_in_double(kernel: Kernel, rows: Array) -> Array:
    """A block of rows as the kernel takes it, in double precision; row numbers of a precomputed kernel stay.

    Distances in feature space are differences of kernel values. Single precision leaves nothing of these where values
    are large, as inner products far from the origin are, or nearly equal, as values of wide kernels are.
    """
    return rows if kernel.points_are_row_numbers else in_double(as_rows(rows))


def nearest_centers(centers: Expansion, rows: Array) -> np.ndarray:
    """The number of the nearest centre of each row, shape (q,), in NumPy.

    Centres that are equally near up to rounding, such as those of clusters of copies, give way to the first.
    """
    norms, values = centers.squared_norms(), finite_result(centers(rows_in_double(centers.kernel, rows)), rows)
    xp = array_namespace(values)
    scores = norms - 2 * values  # squared distances up to k(x, x)
    rounding = ROUNDING * epsilon(scores.dtype) * xp.max(xp.abs(norms) + 2 * xp.abs(values), axis=1)
    nearest = scores <= (xp.min(scores, axis=1) + rounding)[:, None]
    return to_numpy(xp.argmax(xp.astype(nearest, xp.int8), axis=1)).astype(np.intp, copy=False)


def distances_to_centers(centers: Expansion, rows: Array) -> Array:
    """‖φ(x) − m_ν‖ of each row and centre, shape (q, k)  (S19)."""
    rows = rows_in_double(centers.kernel, rows)
    squared, norms = centers.squared_distances(rows), centers.squared_norms()
    xp = array_namespace(squared)
    # A centre that is the image of a point has distance zero to it, not the square root of a rounding error.
    rounding = ROUNDING * epsilon(squared.dtype) * (xp.abs(centers.kernel.diagonal(rows))[:, None] + norms)
    return xp.sqrt(xp.where(squared > rounding, squared, xp.zeros_like(squared)))


def pairwise_boundaries(centers: Expansion, first: Array, second: Array) -> tuple[Expansion, Array]:
    r"""Functions that are positive where the first centre of a pair is nearer than the second, and intercepts.

    :math:`\langle m_i - m_j, \varphi(x) \rangle - (\|m_i\|^2 - \|m_j\|^2)/2`: half the difference of the squared
    distances, without k(x, x), which is common to both.

    Parameters
    ----------
    centers : Expansion of k vectors
    first, second : integer arrays of shape (p,)
        Numbers of centres.
    """
    difference = lambda array: take_rows(array, first) - take_rows(array, second)
    vectors = Expansion(centers.kernel, centers.points, difference(centers.coefficients.T).T)
    return vectors, -difference(centers.squared_norms()) / 2
