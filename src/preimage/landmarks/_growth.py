"""Landmarks of a stream: more of them where a batch needs them, and a warning where there cannot be more."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import concat_rows, take_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import warn_user
from preimage.kernels import Kernel
from preimage.landmarks._landmarks import Landmarks
from preimage.landmarks._pivoted_cholesky import RandomlyPivotedCholesky
from preimage.landmarks._selector import LandmarkSelector

# Fraction of the kernel on a new batch that landmarks may leave before more are chosen, where the selector has no
# tolerance. Components explain at least this much of the kernel; ten times larger would show in their variances, ten
# times smaller would ask for landmarks that no component uses.
GROWTH_TOLERANCE = 1e-3
# Rows of a batch among which new landmarks are looked for: the work on a batch stays below that of learning from it.
GROWTH_CANDIDATES = 2000
# A stream has moved away from its landmarks when these leave more than this fraction of the kernel on a batch, and so
# many times the fraction that they left on the rows before, which is all that their number allows.
MUCH_LEFT = 0.05
TIMES_AS_MUCH_LEFT = 5
# Rows per landmark that a stream keeps until its landmarks are settled: as many as selectors choose among. With a tenth
# they would be gone before the first landmarks are chosen; ten times as many would be most of the memory of the model.
KEPT_PER_LANDMARK = 10
# Why the selection of landmarks that joined during a stream stopped.
GROWN = "grown with the data"


@dataclass(frozen=True)
class SeenRows:
    """Copies of all rows of a stream so far, with their weights, for landmarks that may join later.

    Attributes
    ----------
    rows : array of shape (n, d)
    weights : array of shape (n,), in NumPy
    """

    rows: Array
    weights: np.ndarray

    @classmethod
    def of(cls, X: Rows, weights: np.ndarray | None) -> SeenRows:
        n = X.shape[0]
        return cls(take_rows(X, np.arange(n)), np.ones(n) if weights is None else weights.copy())

    def __add__(self, other: SeenRows) -> SeenRows:
        return SeenRows(concat_rows(self.rows, other.rows), np.concatenate([self.weights, other.weights]))

    def __len__(self) -> int:
        return self.weights.size


def are_kept(n_rows: int, landmarks: Landmarks, selector: LandmarkSelector) -> bool:
    """Whether a stream keeps its rows, of which there are so many: while they are few and landmarks may still join."""
    most = KEPT_PER_LANDMARK * (selector.n_landmarks or len(landmarks))
    return has_room(landmarks, selector) and n_rows <= most


def has_room(landmarks: Landmarks, selector: LandmarkSelector) -> bool:
    """Whether a selector wants more landmarks than there are."""
    return selector.n_landmarks is None or selector.n_landmarks > len(landmarks)


def grown(
    landmarks: Landmarks, kernel: Kernel, X: Rows, selector: LandmarkSelector, rng: np.random.Generator
) -> Landmarks:
    """The landmarks, and after them rows of a further batch X of which they leave too much.

    At most as many as the selector wants in all, and none where what is left of the batch is at most its tolerance, or
    `GROWTH_TOLERANCE`. Traces stay those of the batches before.
    """
    landmarks = replace(landmarks, indices=None, residuals_path=None)
    if not has_room(landmarks, selector):
        return landmarks
    n_more = X.shape[0] if selector.n_landmarks is None else selector.n_landmarks - len(landmarks)
    tol = GROWTH_TOLERANCE if selector.tol is None else selector.tol
    # Rows of the batch whose images lie outside the span so far, whatever selector chose the first landmarks.
    growth = RandomlyPivotedCholesky(n_more, tol=tol, sample_size=GROWTH_CANDIDATES)
    new = growth.select_more(kernel, X, landmarks.points, rng=rng)
    if not new.shape[0]:
        return landmarks
    return replace(landmarks, points=concat_rows(landmarks.points, new), reason=GROWN)


def with_batch(landmarks: Landmarks, trace: float, inside: float) -> Landmarks:
    """The landmarks with a batch counted: the sum of k(x, x) over it, and that part of the sum within their span."""
    left = landmarks.residual_trace + max(0.0, trace - inside)
    return replace(
        landmarks, trace=landmarks.trace + trace, residual_trace=left, residual_bound=left, standard_error=0.0
    )


def warn_if_unseen(before: Landmarks, n_after: int, allowed: np.ndarray) -> None:
    """Warn where landmarks join after rows that are gone, and components may be other ones for it.

    Parameters
    ----------
    before : Landmarks
    n_after : int
        How many there are now.
    allowed : array of shape (k,)
        For each component, how much of the trace of the kernel may be missing without changing it.
    """
    n_wrong = int(np.sum(allowed < before.residual_trace))
    if n_after > len(before) and n_wrong:
        warn_user(
            f"There are {n_after} landmarks now, and {len(before)} when earlier rows came, of which they left "
            f"{before.residual_fraction:.1g} of the kernel. What the new ones would show of that is unknown and counts "
            f"as zero, so variances of the last {n_wrong} of {allowed.size} components need not be those of all rows. "
            "Begin with a larger batch, or fit all rows at once.",
            UserWarning,
        )


def warn_if_left_out(before: Landmarks, left: float) -> None:
    """Warn where landmarks that cannot become more express a batch, of which they leave a fraction, much worse."""
    if left > max(MUCH_LEFT, TIMES_AS_MUCH_LEFT * before.residual_fraction):
        warn_user(
            f"The {len(before)} landmarks, as many as were asked for, leave {left:.0%} of the kernel on this batch "
            f"and left {before.residual_fraction:.0%} on those before: the stream has moved where no landmark is. "
            "Ask for more landmarks, or begin with a batch that shows all of it.",
            UserWarning,
        )
