"""Fitted clusters: centres as vectors of feature space, distances to them, and boundaries between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import array_namespace, as_points, epsilon, from_numpy, in_double, take_rows, to_numpy
from preimage._engine.finite import finite_result
from preimage._engine.typing import Array
from preimage._models.clustering._coordinate_kmeans import coordinate_online
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel

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

    def after(self, Y: Array, weights: Array) -> Clusters:
        """The clusters after rows with coordinates Y have come one by one, see `coordinate_online`."""
        return Clusters(self.space, *coordinate_online(self.centers, self.sizes, Y, weights))

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


def rows_in_double(kernel: Kernel, rows: Array) -> Array:
    """A block of rows as the kernel takes it, in double precision; row numbers of a precomputed kernel stay.

    Distances in feature space are differences of kernel values. Single precision leaves nothing of these where values
    are large, as inner products far from the origin are, or nearly equal, as values of wide kernels are.
    """
    return rows if kernel.points_are_row_numbers else in_double(as_points(rows))


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
