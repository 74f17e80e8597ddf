"""What discriminants on given points need to know of data, which may come in batches: scatters, and tangents."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import as_rows, concat_rows, in_double, is_lazy, take_rows
from preimage._engine.linalg import rank_tolerance
from preimage._engine.objects import refuse_objects
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array
from preimage._models.discriminants._problem import (
    BLOCK,
    FisherOptions,
    LabelledData,
    coefficients_on,
    double,
    gram_matrix,
    values_at,
)
from preimage._models.discriminants._scatter_fisher import PointCoordinates, ScatterFisher
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import ClassMoments
from preimage.feature_space._moments import extension
from preimage.kernels import Kernel
from preimage.landmarks import Landmarks, LandmarkSelector
from preimage.landmarks._growth import grown, has_room, warn_if_left_out, with_batch


@dataclass(frozen=True)
class ClassScatters:
    """What discriminants on given points need to know of labelled data; batches are added.

    Attributes
    ----------
    points : array of shape (m, d)
    coordinates : PointCoordinates
    moments : ClassMoments of the coordinates
    tangent : array of shape (r, r) or None
        λℓT in the coordinates, a sum over data like the scatters.
    """

    points: Array
    coordinates: PointCoordinates
    moments: ClassMoments
    tangent: Array | None

    @classmethod
    def of(cls, data: LabelledData, points: Array, options: FisherOptions) -> "ClassScatters":
        # Points that are the data count like these in the penalty.
        weights = data.weights if points is data.X else None
        coordinates = PointCoordinates(gram_matrix(data.kernel, points), options.regularizer, weights)
        return cls._in(coordinates, data, points, options)

    def batch(self, data: LabelledData, options: FisherOptions) -> "ClassScatters":
        """Those of a further batch of data alone, on the same points."""
        return self._in(self.coordinates, data, self.points, options)

    def __add__(self, other: "ClassScatters") -> "ClassScatters":
        tangent = None if self.tangent is None else self.tangent + other.tangent
        return replace(self, moments=self.moments + other.moments, tangent=tangent)

    def extended(self, kernel: Kernel, more: Array, options: FisherOptions) -> "ClassScatters":
        """On more points, as if images of the data so far were in the span of the present ones.

        What the new points add to the span is counted for later data only.
        """
        points = concat_rows(self.points, more)
        coordinates = PointCoordinates(gram_matrix(kernel, points), options.regularizer)
        # k_Z′ = Aᵀ k_Z = Aᵀ C g, of which the new coordinates are B′ᵀ times.
        turn = self.coordinates.lift.T @ double(extension(kernel, in_double(self.points), in_double(more)))
        turn = turn @ coordinates.basis
        tangent = None if self.tangent is None else turn.T @ self.tangent @ turn
        return ClassScatters(points, coordinates, self.moments.projected(turn), tangent)

    @property
    def inside(self) -> float:
        """Sum over data of the squared lengths of the projections of their images on the span of the points."""
        moments = self.moments
        if self.coordinates.values is not None:  # coordinates in an orthonormal frame
            about_means = float(np.einsum("cii->", moments.scatters))
            return about_means + float(moments.counts @ np.sum(moments.means**2, axis=1))
        # Kernel values k have the projections kᵀ W⁻¹ k. A diagonal of the size of rounding errors keeps W regular; it
        # takes nothing but what rounding has put there.
        gram = self.coordinates.gram
        rounding = rank_tolerance(len(gram), gram.dtype) * float(np.max(np.abs(np.diagonal(gram))))
        second = moments.within + (moments.counts * moments.means.T) @ moments.means
        return float(np.trace(np.linalg.solve(gram + rounding * np.eye(len(gram)), second)))

    @classmethod
    def _in(
        cls, coordinates: PointCoordinates, data: LabelledData, points: Array, options: FisherOptions
    ) -> "ClassScatters":
        moments = ClassMoments.of_kernel_values(
            data.kernel, points, data.X, data.codes, data.n_classes, data.weights, factor=coordinates.factor
        )
        if not np.all(np.isfinite(moments.means)):
            raise ValueError(
                "Means of kernel values are not finite: values of X are so large that the kernel overflows (scale the "
                "data), or, in lazy data, NaN or infinite (impute or drop such rows)."
            )
        return cls(points, coordinates, moments, tangent_moment(data, points, options, coordinates))

    def problem(self, data: LabelledData, options: FisherOptions) -> ScatterFisher:
        """The problem of discriminants on the points; `data` are those at which thresholds see their values."""
        return ScatterFisher(
            self.moments,
            self.coordinates,
            is_relative=options.is_relative,
            tangent=self.tangent,
            values_of=lambda A: values_at(coefficients_on(data.kernel, self.points, A), data.X),
            codes=data.codes,
            weights=data.weights,
        )


def tangent_moment(
    data: LabelledData, points: Array, options: FisherOptions, coordinates: PointCoordinates | None = None
) -> Array | None:
    """λℓT: the effect of transformations, as a sum over data like the scatters; None without invariances.

    In the coordinates of the points, or of kernel values with them where no coordinates are given.
    """
    if options.invariances is None:
        return None
    if data.kernel.points_are_row_numbers:
        raise UnsupportedKernelError(
            "`invariances` need kernel values of transformed rows, which a precomputed kernel does not have. Give the "
            "kernel itself and the inputs."
        )
    refuse_objects("A discriminant with `invariances`", points, "Add transformed objects to the training set instead.")
    basis = np.eye(points.shape[0]) if coordinates is None else coordinates.basis
    moment = double(options.invariances.moment_of(coefficients_on(data.kernel, points, basis), data.X, data.weights))
    return options.invariance_weight * data.count * moment


def after_batch(
    scatters: ClassScatters,
    landmarks: Landmarks,
    data: LabelledData,
    options: FisherOptions,
    selector: LandmarkSelector,
    rng: np.random.Generator,
) -> tuple[ClassScatters, Landmarks]:
    """Scatters and landmarks after a further batch, of which those rows may become landmarks that have weight.

    Of lazy data all rows may. Along new landmarks, the rows before count as zero. Where there cannot be more, a batch
    of which landmarks leave a large fraction causes a warning.
    """
    kernel, X = data.kernel, data.X
    used = None if data.weights is None else np.flatnonzero(data.weights)
    if used is not None and used.size == 0:  # of classes of weight zero alone
        return scatters, landmarks
    if not is_lazy(X):
        X = in_double(X if used is None or used.size == X.shape[0] else take_rows(X, used))
    more = grown(landmarks, kernel, X, selector, rng)
    if len(more) > len(landmarks):
        scatters = scatters.extended(kernel, more.points[len(landmarks) :, :], options)
    batch = scatters.batch(data, options)
    trace, inside = _trace(data), batch.inside
    if not has_room(landmarks, selector):
        warn_if_left_out(landmarks, 1 - inside / (trace or 1.0))
    return scatters + batch, with_batch(more, trace, inside)


def _trace(data: LabelledData) -> float:
    """Σ wᵢ k(xᵢ, xᵢ)."""

    def of_block(rows: Array, weights: Array | None) -> float:
        diagonal = double(data.kernel.diagonal(in_double(as_rows(rows))))
        return float(diagonal.sum() if weights is None else weights @ diagonal)

    return sum_rows(of_block, data.X, data.weights, rows=BLOCK)
