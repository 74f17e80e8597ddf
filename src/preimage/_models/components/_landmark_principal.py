"""Kernel PCA on landmarks: select points, measure the data in their span, solve a problem of the size of the span."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon, is_foreign, itemsize, on_device, streamed_to, to_numpy
from preimage._engine.linalg import (
    DETERMINED,
    SCATTER_ROUNDING,
    determined_count,
    fix_signs,
    graded_eigh,
    no_variance,
    require_variance,
)
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import raised, warn_user
from preimage._models.components._principal import MOST_ROUNDING, PrincipalSubspace, Wanted, warn_of_rounding
from preimage.eigensolvers._eigensolver import EigenResult
from preimage.exceptions import IndefiniteKernelWarning, RankWarning, UnsupportedKernelError
from preimage.feature_space import Expansion, KernelMoments, Subspace
from preimage.feature_space._subspace import frame_of, landmark_gram
from preimage.kernels import Kernel
from preimage.kernels._door import value_rounding
from preimage.landmarks import Landmarks, LandmarkSelector
from preimage.landmarks._growth import SeenRows, are_kept, grown, has_room, warn_if_left_out, warn_if_unseen


@dataclass(frozen=True)
class LandmarkModel:
    """Landmarks, the moments of all data seen so far in terms of them, and the principal subspace.

    Attributes
    ----------
    landmarks : Landmarks
    moments : KernelMoments
    principal : PrincipalSubspace
    seen : SeenRows or None
        All rows seen so far, while landmarks may still join and they are few: their moments in terms of later
        landmarks are then known.
    """

    landmarks: Landmarks
    moments: KernelMoments
    principal: PrincipalSubspace
    seen: SeenRows | None = None

    @property
    def kernel(self) -> Kernel:
        return self.moments.kernel

    @classmethod
    def fit(
        cls,
        kernel: Kernel,
        X: Rows,
        selector: LandmarkSelector,
        wanted: Wanted,
        *,
        rng: np.random.Generator | None,
        weights: np.ndarray | None = None,
        device: str | None = None,
        begins_stream: bool = False,
    ) -> "LandmarkModel":
        """Select landmarks among the rows of X, and fit kernel PCA on them in one pass over X.

        Parameters
        ----------
        kernel : Kernel
            With all parameters resolved.
        X : array, sparse matrix, memory map or Dask array of shape (n, d)
        selector : LandmarkSelector
        wanted : Wanted
        rng : numpy.random.Generator or None
            None uses the seed of the selector.
        weights : array of shape (n,), optional
            How often each row counts in the moments; selectors do not look at them.
        device : str, optional
            Where the work on NumPy data is done; the model is in NumPy.
        begins_stream : bool, default=False
            Whether `updated` will bring more data, for which some rows are kept.
        """
        landmarks = select_landmarks(selector, kernel, X, rng, device)
        nothing = KernelMoments.nothing(kernel, landmarks.points, wanted.number)
        model = cls.of(landmarks, _batch(nothing, X, weights, device), wanted, device)
        if not begins_stream or kernel.points_are_row_numbers or not are_kept(X.shape[0], landmarks, selector):
            return model
        return replace(model, seen=SeenRows.of(X, weights))

    def updated(
        self,
        X: Rows,
        selector: LandmarkSelector,
        wanted: Wanted,
        *,
        rng: np.random.Generator,
        weights: np.ndarray | None = None,
        device: str | None = None,
    ) -> "LandmarkModel":
        """The model after a further batch of data, with more landmarks where the batch needs them."""
        landmarks = grown(self.landmarks, self.kernel, X, selector, rng)
        moments = self._moments_on(landmarks, wanted.number, device)
        batch = _batch(moments, X, weights, device)
        model = LandmarkModel.of(landmarks, moments + batch, wanted, device)
        if self.seen is None:
            # What earlier rows have along new landmarks is a part of what the earlier ones left of them.
            allowed = DETERMINED[itemsize(self.kernel.value_type(landmarks.points))]
            warn_if_unseen(self.landmarks, len(landmarks), allowed * to_numpy(model.principal.eigenvalues))
        elif are_kept(len(self.seen) + X.shape[0], landmarks, selector):
            model = replace(model, seen=self.seen + SeenRows.of(X, weights))
        if not has_room(self.landmarks, selector):
            left = model.landmarks.residual_trace - self.landmarks.residual_trace
            warn_if_left_out(self.landmarks, left / (batch.trace or 1.0))
        return model

    def of_rows(
        self, X: Rows, wanted: Wanted, *, weights: np.ndarray | None = None, device: str | None = None
    ) -> "LandmarkModel":
        """The model of other rows, or of the same ones with other weights, on the same landmarks."""
        nothing = KernelMoments.nothing(self.kernel, self.landmarks.points, wanted.number)
        return LandmarkModel.of(self.landmarks, _batch(nothing, X, weights, device), wanted, device)

    def _moments_on(self, landmarks: Landmarks, n_components: int | None, device: str | None) -> KernelMoments:
        """The moments so far in terms of landmarks of which some may be new."""
        old = len(self.landmarks)
        if len(landmarks) == old:
            return self.moments
        if self.seen is not None:
            nothing = KernelMoments.nothing(self.kernel, landmarks.points, n_components)
            return _batch(nothing, self.seen.rows, self.seen.weights, device)
        return self.moments.extended(landmarks.points[old:, :], n_components)

    @classmethod
    def of(
        cls, landmarks: Landmarks, moments: KernelMoments, wanted: Wanted, device: str | None = None
    ) -> "LandmarkModel":
        """The model of data with the given moments on the landmarks; chunks of data may have been summed before."""
        if device is None or is_foreign(moments.points) or moments.kernel.points_are_row_numbers:
            principal = landmark_subspace(moments, wanted)
        else:
            there = moments.converted(lambda array: on_device(array, device))
            principal = landmark_subspace(there, wanted).converted(to_numpy)
        # The pass over all data has measured the residual that the selector could only estimate.
        left = principal.residual
        landmarks = replace(
            landmarks, trace=moments.trace, residual_trace=left, residual_bound=left, standard_error=0.0
        )
        return cls(landmarks, moments, principal)


def landmark_subspace(moments: KernelMoments, wanted: Wanted) -> PrincipalSubspace:
    """Kernel PCA restricted to the span of the images of landmarks, from the moments of data.

    With an orthonormal frame F of the span, Fᵀ W F = I, coordinates of data are Fᵀ k_P(x); the leading eigenvectors of
    their scatter are the axes (S16). Equal to kernel PCA with the kernel K̃ of the landmarks.
    """
    span = _MeasuredSpan.of(moments, wanted.about_mean)
    rank = span.scatter.shape[0]
    values, vectors = graded_eigh(span.scatter, None if wanted.number is None else min(wanted.number, rank))
    keep = _kept(span, values, vectors, wanted)
    values, subspace = values[:keep], span.subspace(vectors[:, :keep])
    xp, dtype = array_namespace(values), moments.kernel.value_type(moments.points)
    narrow = lambda array: xp.astype(array, dtype, copy=False)
    principal = PrincipalSubspace(
        subspace.converted(narrow, moments.points),
        narrow(values),
        scores=None,
        total=span.total,
        count=moments.values.count,
        eigen=EigenResult(values, None, None, xp.zeros_like(values), True, moments.points.shape[0], "dense"),
        residual=max(0.0, span.variance - span.inside),
    )
    return wanted.padded(principal)


@dataclass(frozen=True)
class _MeasuredSpan:
    """An orthonormal frame of the span of landmarks, and the data in its coordinates, in double precision.

    Attributes
    ----------
    moments : KernelMoments
    gram : array of shape (m, m)
        W, kernel values among the landmarks.
    factor : array of shape (m, r)
        F, coefficients of the frame: Fᵀ W F = I.
    mean : array of shape (r,)
        The origin of the axes: zero unless they go through the mean.
    scatter : array of shape (r, r)
        Sum of squares of the coordinates of data about that.
    about_mean : bool
    """

    moments: KernelMoments
    gram: Array
    factor: Array
    mean: Array
    scatter: Array
    about_mean: bool

    @classmethod
    def of(cls, moments: KernelMoments, about_mean: bool = True) -> "_MeasuredSpan":
        gram, values, factor = landmark_gram(moments.kernel, moments.points), moments.values, moments.factor
        if factor is None:
            factor = frame_of(moments.kernel, moments.points, gram)
            values = values.mapped(factor)
        mean, scatter = values.mean, values.scatter
        if not about_mean:
            mean, scatter = 0 * mean, scatter + values.count * mean[:, None] * mean[None, :]
        return cls(moments, gram, factor, mean, scatter, about_mean)

    @property
    def inside(self) -> float:
        """Sum of squares of the data about their mean within the span."""
        return float(array_namespace(self.scatter).linalg.trace(self.scatter))

    @property
    def variance(self) -> float:
        """The same in all of feature space, tr(HKH); rounding errors can make it smaller than `inside`."""
        return self.moments.trace - self.moments.values.count * float(self.mean @ self.mean)

    @property
    def total(self) -> float:
        return max(self.variance, self.inside)

    def determined(self, values: Array, vectors: Array) -> int:
        """How many of the leading axes have coordinates, and variances, that the data determine."""
        xp, kernel = array_namespace(values), self.moments.kernel
        dtype = kernel.value_type(self.moments.points)
        variances = xp.clip(values, min=0.0) / self.moments.values.count
        deviations = xp.sqrt(variances)
        # Coordinates are sums of kernel values times coefficients, and have the rounding errors of these.
        coefficients = self.factor @ vectors
        lengths = xp.sqrt(xp.sum(coefficients * coefficients, axis=0))
        errors = value_rounding(kernel, self.moments.points, on_average=True)
        rounding = errors * float(xp.max(xp.abs(self.gram))) * lengths
        require_variance(kernel, float(values[0]), abs(self.moments.trace), dtype)
        if float(rounding[0]) > MOST_ROUNDING * float(deviations[0]):
            raise no_variance(kernel)
        # At least one: where rounding errors show in the first there is no better.
        by_values = determined_count(rounding, deviations, dtype)
        by_sums = determined_count(self._variance_errors(coefficients, vectors), variances, dtype)
        if (count := min(by_values, by_sums)) == 0:
            warn_of_rounding(kernel)
        return max(1, count)

    def _variance_errors(self, coefficients: Array, vectors: Array) -> Array:
        """Rounding errors of the variances, from those of the scatter of whatever was summed, see `SCATTER_ROUNDING`.

        Entries i, j of the scatter S have errors ε√(Sᵢᵢ Sⱼⱼ), so that aᵀSa has the error ε Σᵢ Sᵢᵢ aᵢ².
        """
        xp, summed = array_namespace(vectors), self.moments.values
        on_summed = coefficients if self.moments.factor is None else vectors
        squares = xp.linalg.diagonal(summed.scatter) / summed.count
        return SCATTER_ROUNDING * epsilon(vectors.dtype) * (squares @ (on_summed * on_summed))

    def subspace(self, vectors: Array) -> Subspace:
        """The mean of the data, and the axes with the given coordinates in the frame, with signs as in exact PCA."""
        kernel, points = self.moments.kernel, self.moments.points
        coefficients = self.factor @ vectors
        signs = fix_signs(self.gram @ coefficients - vectors.T @ self.mean)  # coordinates of the landmarks
        if not self.about_mean:
            return Subspace(Expansion(kernel, points, coefficients * signs))
        return Subspace(
            Expansion(kernel, points, coefficients * signs),
            Expansion(kernel, points, (self.factor @ self.mean)[:, None]),
            offset=(vectors * signs).T @ self.mean,
            origin_squared_norm=float(self.mean @ self.mean),
        )


def _kept(span: _MeasuredSpan, values: Array, vectors: Array, wanted: Wanted) -> int:
    """How many components are asked for and determined, with a warning where those are not the same."""
    n_points = span.moments.points.shape[0]
    determined, asked = span.determined(values, vectors), wanted.count(values, span.total)
    if wanted.number is not None and determined < asked:
        warn_user(
            f"{wanted.number} components were asked for, but {n_points} landmarks hold only {determined} with a "
            f"variance above rounding errors; {wanted.kept(determined)}. More landmarks, or another kernel width, give "
            "more.",
            RankWarning,
        )
    keep = min(determined, asked)
    explained = float(array_namespace(values).sum(values[:keep])) / span.total
    if wanted.is_missed_by(explained):
        warn_user(
            f"{wanted.fraction:.0%} of the variance were asked for; the {n_points} landmarks hold {explained:.0%}. "
            "Use more landmarks.",
            RankWarning,
        )
    return keep


def select_landmarks(
    selector: LandmarkSelector, kernel: Kernel, X: Rows, rng: np.random.Generator | None, device: str | None = None
) -> Landmarks:
    """Landmarks among the rows of X; an error where the kernel is not positive semidefinite on them."""
    with raised(IndefiniteKernelWarning):
        try:
            # The pass over all rows measures what is left, so that the selector need not estimate it.
            return selector.select(kernel, X, judged=False, rng=rng, device=device).required()
        except IndefiniteKernelWarning:
            raise UnsupportedKernelError(
                f"Landmarks need a positive semidefinite kernel; {kernel!r} has negative eigenvalues on these data. "
                "Use another kernel, or landmarks=None: exact kernel PCA takes indefinite ones."
            ) from None


def _batch(moments: KernelMoments, X: Rows, weights: np.ndarray | None, device: str | None) -> KernelMoments:
    """Moments of X, which is read once; NumPy data go through the device block by block, and the sums come back."""
    if device is None or is_foreign(X):
        return moments.batch(X, weights=weights, who="KernelPCA")
    there = moments.converted(lambda array: on_device(array, device))
    found = there.batch(X, weights=weights, to_device=streamed_to(device), who="KernelPCA")
    return replace(found.converted(to_numpy), points=moments.points, factor=moments.factor)
