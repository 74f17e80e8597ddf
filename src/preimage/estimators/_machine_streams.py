"""Machines on landmarks that learn from a stream of batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage._engine.arrays import from_numpy, in_memory, take_rows, to_numpy
from preimage._engine.finite import refuse_overflowing_fit
from preimage._engine.rows import map_rows, sum_rows
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.validation import check_weights
from preimage._engine.warnings import warn_user
from preimage._models.regression import STREAMS, LandmarkRidge, SquaredStream, StreamFit, nested_frame
from preimage.estimators._kernel_input import batch_rng, check_rows_of, is_auto, is_precomputed
from preimage.feature_space import Expansion
from preimage.kernels import Kernel
from preimage.landmarks import Landmarks, LandmarkSelector
from preimage.landmarks._growth import SeenRows, are_kept, grown, has_room, warn_if_left_out, with_batch


@dataclass(frozen=True)
class MachineStream:
    """What a machine on landmarks keeps of the batches so far.

    Attributes
    ----------
    kernel : Kernel
    landmarks : Landmarks
    frame : Expansion
        Orthonormal along the landmarks, one after another.
    fit : StreamFit
    n_rows : int
    seen : SeenRows or None
        All rows, while landmarks may still join and rows are few, with their targets.
    targets : array of shape (n, k) or None
    """

    kernel: Kernel
    landmarks: Landmarks
    frame: Expansion
    fit: StreamFit
    n_rows: int
    seen: SeenRows | None
    targets: np.ndarray | None

    @classmethod
    def begin(
        cls, kernel: Kernel, landmarks: Landmarks, batch: Batch, selector: LandmarkSelector, begin: Any
    ) -> MachineStream:
        """After the first batch; `begin` makes a `StreamFit` for a number of coordinates."""
        frame = nested_frame(kernel, landmarks.points)
        fit = begin(len(frame)).after(_coordinates(frame, batch.X), batch.targets, batch.weights)
        n = batch.targets.shape[0]
        if not are_kept(n, landmarks, selector):
            return cls(kernel, landmarks, frame, fit, n, None, None)
        return cls(kernel, landmarks, frame, fit, n, SeenRows.of(batch.X, batch.weights), batch.targets.copy())

    def after(self, batch: Batch, selector: LandmarkSelector, rng: np.random.Generator, begin: Any) -> MachineStream:
        """After a further batch, whose rows may become landmarks."""
        landmarks = grown(self.landmarks, self.kernel, batch.X, selector, rng)
        n_more, n = len(landmarks) - len(self.landmarks), self.n_rows + batch.targets.shape[0]
        frame = nested_frame(self.kernel, landmarks.points) if n_more else self.frame
        F = _coordinates(frame, batch.X)
        if self.seen is None:
            seen, targets = None, None
            if n_more:
                _warn_of_unseen(self, len(landmarks))
            fit = (self.fit.extended(n_more) if n_more else self.fit).after(F, batch.targets, batch.weights)
        else:  # while all rows are there, the fit is that of all
            seen = self.seen + SeenRows.of(batch.X, batch.weights)
            targets = np.concatenate([self.targets, batch.targets])
            fit = begin(len(frame)).after(_coordinates(frame, seen.rows), targets, seen.weights)
        weights = np.ones(F.shape[0]) if batch.weights is None else batch.weights
        inside = float(weights @ np.sum(F * F, axis=1))
        trace = sum_rows(lambda X, w: float(w @ _double(self.kernel.diagonal(X))), batch.X, weights)
        if not has_room(self.landmarks, selector):
            warn_if_left_out(self.landmarks, 1 - inside / (trace or 1.0))
        landmarks = with_batch(landmarks, trace, inside)
        if seen is not None and not are_kept(n, landmarks, selector):
            seen, targets = None, None
        return MachineStream(self.kernel, landmarks, frame, fit, n, seen, targets)

    @property
    def expansion(self) -> Expansion:
        """The functions without their constants."""
        along = _double(self.frame.coefficients) @ self.fit.coefficients
        return Expansion(self.kernel, self.frame.points, from_numpy(along, self.frame.coefficients))

    @property
    def intercept(self) -> Array:
        return from_numpy(self.fit.intercept, self.frame.coefficients)

    @property
    def regression(self) -> LandmarkRidge | None:
        """The fits on all numbers of landmarks, of the squared loss."""
        if not isinstance(self.fit, SquaredStream):
            return None
        return LandmarkRidge.along(self.frame, self.fit.ridge)


@dataclass(frozen=True)
class Batch:
    """Rows of a batch as the kernel takes them, targets (n, k), and weights, none of which is zero."""

    X: Array
    targets: np.ndarray
    weights: np.ndarray | None


def why_no_stream(estimator: Any) -> str | None:
    """Why an estimator cannot learn from streams; None where it can."""
    if is_precomputed(estimator.kernel):
        return "needs the kernel itself, not values among the rows of one batch"
    if estimator.loss not in STREAMS:
        return f"needs loss='squared' or 'logistic'; loss={estimator.loss!r} has no summary of rows that are gone"
    left_out = "as left-out errors are those of rows that a stream no longer has; `fit` on the first rows finds it"
    if is_auto(estimator.landmarks):
        return f"needs a number of landmarks or a selector, not 'auto', {left_out}"
    if isinstance(estimator.alpha, str) or np.ndim(estimator.alpha):
        return f"needs a number as alpha, {left_out}; got alpha={estimator.alpha!r}"
    return None


def learns_from_streams(estimator: Any) -> bool:
    """Whether `partial_fit` is there, for `available_if`."""
    if (reason := why_no_stream(estimator)) is not None:
        raise AttributeError(f"{type(estimator).__name__}.partial_fit {reason}.")
    return True


def check_stream_settings(estimator: Any) -> None:
    """Refuse settings that the classes of one batch cannot meet."""
    if isinstance(getattr(estimator, "class_weight", None), str):
        raise ValueError(
            f"{type(estimator).__name__}.partial_fit cannot balance classes it has not seen; give class_weight as a "
            "dict, or weights."
        )


def warn_of_fit(estimator: Any) -> None:
    """Warn that a stream begins where rows were fitted at once."""
    if hasattr(estimator, "expansion_"):
        warn_user(
            f"This {type(estimator).__name__} was fitted to all rows at once, which cannot be continued: partial_fit "
            "begins anew. Begin with partial_fit to learn from batches.",
            UserWarning,
        )


def next_batch(estimator: Any, X: Rows, y: Targets, sample_weight: Targets) -> tuple[Array, np.ndarray, Any]:
    """Rows of a further batch, labels or targets, and weights, without rows of weight zero."""
    X = check_rows_of(estimator, estimator.kernel_, in_memory(X), reset=False, like=estimator.expansion_.points)
    y = estimator._check_y(in_memory(y), X.shape[0])
    weights = estimator._row_weights(y, check_weights(estimator, in_memory(sample_weight), X.shape[0]))
    if weights is None or weights.all():
        return X, y, weights
    kept = np.flatnonzero(weights)
    return take_rows(X, kept), y[kept], weights[kept]


def learn(estimator: Any, batch: Batch, kernel: Kernel, selector: LandmarkSelector, landmarks: Any) -> None:
    """Let a machine learn from a batch, the first one or a further one; `landmarks` chooses those of the first."""
    alpha, intercept, n_functions = float(estimator.alpha), estimator.fit_intercept, batch.targets.shape[1]
    begin = lambda m: STREAMS[estimator.loss].begin(m, n_functions, alpha, intercept)
    before: MachineStream | None = getattr(estimator, "_stream", None)
    if before is None:
        stream = MachineStream.begin(kernel, landmarks(), batch, selector, begin)
    elif batch.targets.shape[0]:
        rng = batch_rng(estimator.random_state, before.n_rows)
        stream = before.after(batch, selector, rng, begin)
    else:
        stream = before
    refuse_overflowing_fit("the coefficients", stream.fit.coefficients)
    estimator._stream, estimator.landmarks_ = stream, replace(stream.landmarks, factor=None)
    estimator.expansion_, estimator.intercept_, estimator.kernel_ = stream.expansion, stream.intercept, stream.kernel
    estimator.alpha_, estimator.alphas_, estimator.loo_errors_ = alpha, None, None
    estimator.objective_, estimator.duality_gap_, estimator.n_iter_ = None, None, stream.fit.n_iter
    estimator.left_out_curve_ = estimator.refinement_losses_ = None  # those of a fit before would be of another model
    estimator.n_samples_seen_ = stream.n_rows
    estimator._regression = stream.regression


def _coordinates(frame: Expansion, X: Rows) -> np.ndarray:
    return _double(in_memory(map_rows(frame, X, device_of=frame.coefficients)))


def _double(values: Array) -> np.ndarray:
    return to_numpy(values).astype(np.float64)


def _warn_of_unseen(before: MachineStream, n_after: int) -> None:
    left = before.landmarks.residual_fraction
    warn_user(
        f"There are {n_after} landmarks now, and {len(before.landmarks)} when earlier rows came, of which they left "
        f"{left:.1g} of the kernel. What the new ones would show of these rows is unknown and counts as zero, so that "
        "the fit need not be that of all rows. Begin with a larger batch, or fit all rows at once.",
        UserWarning,
    )
