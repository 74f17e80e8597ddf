"""Features that are vectors of feature space; sparse kernel feature analysis, whose features live on few points."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    device_kwargs,
    from_numpy,
    in_double,
    in_memory,
    is_lazy,
)
from preimage._engine.linalg import are_determined, leading_count, no_variance
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_finite_block
from preimage._engine.warnings import warn_user
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion, GrowingSpan, Moments, Subspace
from preimage.kernels import Kernel
from preimage.kernels._door import value_rounding
from preimage.landmarks import FeatureAnalysis, Landmarks
from preimage.landmarks._selector import EXHAUSTED

# Rows whose coordinates are computed and summed together: their kernel values with a thousand points take 8 MB.
BLOCK = 1024


@dataclass(frozen=True)
class Features:
    """Functions of rows, and what belongs to their values in an orthonormal frame.

    Attributes
    ----------
    vectors : Expansion of k vectors
        w; they need not be orthogonal.
    offset : array of shape (k,)
        Features of x are ``vectors(x) - offset``.
    subspace : Subspace
        An orthonormal frame V for pre-images.
    mixing : array of shape (k, k) or (k,)
        R, upper triangular or the diagonal of it, between features and coordinates in the frame.
    """

    vectors: Expansion
    offset: Array
    subspace: Subspace
    mixing: Array


def are_features(functions: Expansion, points: Array, deviations: Array, squared_lengths: Array | float) -> Array:
    """Which functions the data determine, booleans (k,); `points` are theirs in the precision of the data.

    See `are_determined`, which has the other parameters.
    """
    kernel, rounding = functions.kernel, value_rounding(functions.kernel, points, on_average=True)
    largest, dtype = largest_value(functions), kernel.value_type(points)
    return are_determined(functions.coefficients, deviations, squared_lengths, rounding, largest, dtype)


def largest_value(functions: Expansion) -> float:
    """The largest k(z, z) of the points of an expansion."""
    diagonal = functions.kernel.diagonal(functions.points)
    return float(array_namespace(diagonal).max(diagonal))


def coordinate_moments(space: Subspace, X: Rows, weights: np.ndarray | None = None) -> Moments:
    """Count, mean and scatter of the coordinates of the rows of X in a subspace; X may be lazy."""
    coordinates = coordinates_in(space, X)

    def moments(rows: Array, weights: np.ndarray | None) -> Moments:
        Y = coordinates(rows)
        if weights is not None and not weights.any():
            return Moments.empty(Y)
        return Moments.of(Y, None if weights is None else from_numpy(weights, Y))

    device_of = space.frame.coefficients
    return sum_rows(moments, X, weights, rows=BLOCK, device_of=device_of, message="Learning from rows")


def coordinates_in(space: Subspace, *data: Rows) -> Callable[[Rows], Array]:
    """Coordinates of blocks of data in double precision, with the points of the frame prepared once.

    Rows that were not in memory are looked at first.
    """
    kernel, factor = space.frame.kernel, space.frame.coefficients
    values = kernel.prepare(space.frame.points)
    if any(is_lazy(rows) for rows in data):
        checked = lambda rows: check_finite_block("Oriented kernel PCA", as_points(in_memory(rows)))
        return lambda rows: values(in_double(checked(rows))) @ factor
    return lambda rows: values(rows if kernel.points_are_row_numbers else in_double(rows)) @ factor


@dataclass(frozen=True)
class KernelFeatures(Features):
    """The result of sparse kernel feature analysis: `mixing` has the lengths ‖v‖, and the r-th lives on r points.

    Attributes
    ----------
    landmarks : Landmarks
        The points, in the order of the features.
    variances : array of shape (k,)
        Mean squares of the features about the offset.
    """

    landmarks: Landmarks
    variances: Array

    def first(self, count: int) -> "KernelFeatures":
        """The first so many features, on as many points."""
        kernel, points = self.vectors.kernel, self.vectors.points[:count, :]
        of_first = lambda vectors: Expansion(kernel, points, vectors.coefficients[:count, :count])
        return KernelFeatures(
            of_first(self.vectors),
            self.offset[:count],
            Subspace(of_first(self.subspace.frame)),
            self.mixing[:count],
            self.landmarks.first(count),
            self.variances[:count],
        )


def kernel_features(
    kernel: Kernel, X: Rows, selector: FeatureAnalysis, rng: np.random.Generator | None = None
) -> KernelFeatures:
    """Choose the points, and measure the features on all rows.

    Parameters
    ----------
    kernel : Kernel
        With all parameters resolved.
    X : array, sparse matrix, memory map or Dask array of shape (n, d)
    selector : FeatureAnalysis
        Its `norm` and `center` are those of the features.
    rng : numpy.random.Generator, optional
        Used instead of the seed of the selector.
    """
    landmarks = selector.select(kernel, X, rng=rng).required()
    # Gram–Schmidt in the order of the choice: row r of L⁻¹ has the coefficients of direction r on the first r points.
    span = GrowingSpan(kernel, landmarks.points, capacity=len(landmarks))
    span.add_in_order()
    space = Subspace(span.frame())
    moments = coordinate_moments(space, X)
    lengths = np.abs(span.coefficients).sum(axis=1) if selector.norm == "l1" else np.ones(len(span))
    scales = from_numpy(1 / lengths, space.frame.coefficients)
    xp = array_namespace(scales)
    means, squares = moments.mean * scales, xp.linalg.diagonal(moments.covariance()) * scales**2
    found = KernelFeatures(
        space.frame @ (xp.eye(len(span), dtype=scales.dtype, **device_kwargs(scales)) * scales),
        means if selector.center else 0 * means,
        space,
        scales,
        landmarks,
        squares if selector.center else squares + means**2,
    )
    # Features live on the first points; where rounding has left out one of the points, they end before it.
    nested = int(np.argmin(np.append(span.pivots == np.arange(len(span)), False)))
    deviations = xp.sqrt(xp.clip(found.variances, min=0.0))
    count = min(nested, leading_count(are_features(found.vectors, landmarks.points, deviations, scales**2)))
    if count == 0:
        raise no_variance(kernel)
    if count < len(landmarks) or landmarks.reason == EXHAUSTED:
        warn_user(
            f"{selector.n_landmarks} features were asked for, but the {X.shape[0]} rows determine only {count}: "
            f"further ones would consist of rounding errors. {count} are kept.",
            RankWarning,
        )
    return found.first(count)
