"""Discriminants of a stream: what a further batch of labelled rows adds, and the landmarks that it needs."""

import numpy as np

from preimage._engine.arrays import as_points, in_double, is_lazy, take_rows, to_numpy
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array
from preimage._models.discriminants._class_scatters import ClassScatters
from preimage._models.discriminants._fit import FisherOptions
from preimage._models.discriminants._kernel_values import BLOCK, LabelledData
from preimage.landmarks import Landmarks, LandmarkSelector
from preimage.landmarks._growth import grown, has_room, warn_if_left_out, with_batch


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
        diagonal = to_numpy(data.kernel.diagonal(in_double(as_points(rows)))).astype(np.float64, copy=False)
        return float(diagonal.sum() if weights is None else weights @ diagonal)

    return sum_rows(of_block, data.X, data.weights, rows=BLOCK)
