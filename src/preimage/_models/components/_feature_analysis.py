"""Sparse kernel feature analysis: features on few points, each with coefficients of norm one."""

from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, from_numpy
from preimage._engine.linalg import are_determined, leading_count, no_variance
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import warn_user
from preimage._models.components._oriented import coordinate_moments
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion, GrowingSpan, Subspace
from preimage.kernels import Kernel
from preimage.kernels._door import value_rounding
from preimage.landmarks import FeatureAnalysis, Landmarks
from preimage.landmarks._selector import EXHAUSTED


@dataclass(frozen=True)
class KernelFeatures:
    """The result of sparse kernel feature analysis.

    Attributes
    ----------
    landmarks : Landmarks
        The points, in the order of the features.
    vectors : Expansion of k vectors
        The features v, orthogonal; the r-th lives on the first r points.
    offset : array of shape (k,)
        Mean values of the features on the data; zero where they are not centred.
    variances : array of shape (k,)
        Mean squares of the features about the offset.
    subspace : Subspace
        The span of the features, through zero, with the orthonormal frame of their directions.
    scales : array of shape (k,)
        Lengths ‖v‖: features are coordinates in the frame times these.
    """

    landmarks: Landmarks
    vectors: Expansion
    offset: Array
    variances: Array
    subspace: Subspace
    scales: Array

    def first(self, count: int) -> "KernelFeatures":
        """The first so many features, on as many points."""
        kernel, points = self.vectors.kernel, self.vectors.points[:count, :]
        of_first = lambda vectors: Expansion(kernel, points, vectors.coefficients[:count, :count])
        return KernelFeatures(
            self.landmarks.first(count),
            of_first(self.vectors),
            self.offset[:count],
            self.variances[:count],
            Subspace(of_first(self.subspace.frame)),
            self.scales[:count],
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
        landmarks,
        space.frame @ (xp.eye(len(span), dtype=scales.dtype, **device_kwargs(scales)) * scales),
        means if selector.center else 0 * means,
        squares if selector.center else squares + means**2,
        space,
        scales,
    )
    # Features live on the first points; where rounding has left out one of the points, they end before it.
    nested = int(np.argmin(np.append(span.pivots == np.arange(len(span)), False)))
    count = min(nested, _determined_count(found, span.largest))
    if count == 0:
        raise no_variance(kernel)
    if count < len(landmarks) or landmarks.reason == EXHAUSTED:
        warn_user(
            f"{selector.n_landmarks} features were asked for, but the {X.shape[0]} rows determine only {count}: "
            f"further ones would consist of rounding errors. {count} are kept.",
            RankWarning,
        )
    return found.first(count)


def _determined_count(found: KernelFeatures, largest: float) -> int:
    """How many leading features have values and lengths that are not rounding errors."""
    xp, kernel, points = array_namespace(found.variances), found.vectors.kernel, found.landmarks.points
    deviations, rounding = xp.sqrt(xp.clip(found.variances, min=0.0)), value_rounding(kernel, points, on_average=True)
    vectors, dtype = found.vectors.coefficients, kernel.value_type(points)
    return leading_count(are_determined(vectors, deviations, found.scales**2, rounding, largest, dtype))
