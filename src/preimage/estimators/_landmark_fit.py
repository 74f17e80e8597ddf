"""Kernel PCA on landmarks, as `KernelPCA` calls it: selection, the pass over the data, growth on streams."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

from preimage._arrays import is_foreign, on_device, to_numpy
from preimage._rows import map_rows
from preimage._warnings import warn_user
from preimage.components import landmark_subspace
from preimage.exceptions import IndefiniteKernelWarning, UnsupportedKernelError
from preimage.feature_space import Expansion, KernelMoments
from preimage.kernels import Kernel
from preimage.landmarks import LandmarkSelector, RandomlyPivotedCholesky, as_landmarks

# Landmarks when nobody says how many.
DEFAULT_LANDMARKS = 1000
# Rows beyond which landmarks="auto" prefers them to exact kernel PCA even where the Gram matrix fits.
MOST_EXACT_ROWS = 20_000
# Share of the kernel on a new batch that landmarks may leave before they grow, when the selector names none.
GROWTH_TOLERANCE = 1e-3
# Rows of a batch among which new landmarks are looked for: the work on a batch stays below that of learning from it.
GROWTH_CANDIDATES = 2000
# Share of the kernel on a new batch that landmarks may leave without a warning.
MUCH_LEFT = 0.05
# Rows that stream through a device together.
DEVICE_ROWS = 2**15


@dataclass(frozen=True)
class LandmarkModel:
    """Landmarks, what was learned about data in their terms, and the principal subspace."""

    kernel: Kernel
    landmarks: Any
    moments: KernelMoments
    principal: Any


def too_large_for_exact(n, budget):
    """Whether ``landmarks="auto"`` means landmarks for n points and so many bytes."""
    return n > MOST_EXACT_ROWS or 1.25 * 8 * n * n > budget


def as_selector(landmarks):
    """The selector of a `landmarks` parameter; None and "auto" have a default."""
    if landmarks is None or (isinstance(landmarks, str) and landmarks == "auto"):
        return as_landmarks(DEFAULT_LANDMARKS)
    return as_landmarks(landmarks)


def fit_landmarks(kernel, X, landmarks, n_components, rng, device, weights=None, with_zeros=False):
    """Select landmarks among the rows of X, and fit kernel PCA on them in one pass over X."""
    selector = as_selector(landmarks)
    own_seed = isinstance(landmarks, LandmarkSelector)
    # The pass over all rows measures what is left; no estimate is needed.
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndefiniteKernelWarning)
        try:
            chosen = selector.select(kernel, X, judged=False, rng=None if own_seed else rng).required()
        except IndefiniteKernelWarning:
            raise UnsupportedKernelError(
                f"Landmarks need a positive semidefinite kernel; {kernel!r} has negative eigenvalues on these data. "
                "Use another kernel, or landmarks=None: exact kernel PCA takes indefinite ones."
            ) from None
    moments = _moments(kernel, chosen.points, X, device, weights)
    principal = landmark_subspace(moments, n_components, with_zeros=with_zeros)
    return LandmarkModel(kernel, _known(chosen, principal, moments), moments, principal)


def update_landmarks(model, X, landmarks, n_components, rng, device, weights=None, with_zeros=False):
    """The model after a further batch of data, with more landmarks where the batch calls for them."""
    selector, kernel, moments = as_selector(landmarks), model.kernel, model.moments
    most = X.shape[0] if selector.n_landmarks is None else selector.n_landmarks - moments.points.shape[0]
    tol = GROWTH_TOLERANCE if selector.tol is None else selector.tol
    chosen = replace(model.landmarks, indices=None, residuals_path=None)
    if most > 0:
        growth = RandomlyPivotedCholesky(most, tol=tol, sample_size=GROWTH_CANDIDATES)
        new = growth.select_more(kernel, X, moments.points, rng=rng)
        if new.shape[0]:
            moments = moments.extended(new)
            chosen = replace(chosen, points=moments.points, reason="grown with the data")
    batch = _moments(kernel, moments.points, X, device, weights)
    moments = moments + batch
    principal = landmark_subspace(moments, n_components, with_zeros=with_zeros)
    before = model.landmarks
    left = (principal.residual - before.residual_trace) / (batch.trace or 1.0)
    if most <= 0 and left > max(MUCH_LEFT, 5 * before.residual_share):
        warn_user(
            f"The {len(before)} landmarks, as many as were asked for, leave {left:.0%} of the kernel on this batch and "
            f"left {before.residual_share:.0%} on those before: the stream has moved where no landmark is. Ask for "
            "more landmarks, or begin with a batch that shows all of it.",
            UserWarning,
        )
    return LandmarkModel(kernel, _known(chosen, principal, moments), moments, principal)


def _known(chosen, principal, moments):
    """The landmarks with the residual that the pass over all data measured, in place of the selector's estimate."""
    left = principal.residual
    return replace(chosen, trace=moments.trace, residual_trace=left, residual_bound=left, standard_error=0.0)


def _moments(kernel, points, X, device, weights=None):
    if device is None or is_foreign(X):
        return KernelMoments.of(kernel, points, X, weights=weights)
    to_device = lambda rows: on_device(rows, device)
    there = KernelMoments.of(kernel, on_device(points, device), X, weights=weights, to_device=to_device)
    values = replace(there.values, mean=to_numpy(there.values.mean), scatter=to_numpy(there.values.scatter))
    return replace(there, points=points, values=values)


def on_host(principal):
    """A principal subspace that was computed on a device, in NumPy."""
    space = principal.subspace
    return principal.with_arrays(space.converted(to_numpy, to_numpy(space.frame.points)), to_numpy)


def through_device(subspace, device):
    """A function like ``subspace.coordinates`` that streams NumPy rows through a device and back."""
    moved = lambda array: on_device(to_numpy(array), device)
    frame = Expansion(subspace.frame.kernel, moved(subspace.frame.points), moved(subspace.frame.coefficients))
    offset = None if subspace.offset is None else moved(subspace.offset)

    def coordinates(rows):
        values = frame(moved(rows))
        return to_numpy(values if offset is None else values - offset)

    return lambda X: map_rows(coordinates, X, rows=DEVICE_ROWS, device_of=frame.points)
