"""Orthonormal frames of the span of landmarks, and whether rows are written in them before or after they are summed."""

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, in_double, itemsize
from preimage._engine.linalg import (
    DETERMINED,
    SCATTER_ROUNDING,
    WHITENING,
    has_long_pivots,
    orthonormal_factor,
    top_eigh,
    whitening_factor,
)
from preimage._engine.typing import Array
from preimage.feature_space._gram import Gram
from preimage.kernels import Kernel

# Fraction of the largest error with which a component counts as determined that sums of kernel values may cause. The
# estimate takes rows to be like the landmarks; where a tenth is not enough, components are left out later, and ten
# times less would whiten rows, which triples the work on them, where nobody can tell.
ALLOWED = 0.1


def landmark_gram(kernel: Kernel, points: Array) -> Array:
    """W, kernel values among landmarks in double precision, whatever the landmarks have: a small matrix."""
    return in_double(Gram(kernel, points if kernel.points_are_row_numbers else in_double(points)).dense())


def frame_of(kernel: Kernel, points: Array, gram: Array | None = None) -> Array:
    """F of shape (m, r) with Fᵀ W F = I: coefficients of an orthonormal frame of the span of the landmarks."""
    gram = landmark_gram(kernel, points) if gram is None else gram
    return whitening_factor(gram, kernel.value_type(points))


def early_frame(kernel: Kernel, points: Array, n_components: int | None = None) -> Array | None:
    r"""The frame F where rows must be whitened before they are summed; None where that can be done afterwards.

    The scatter S of kernel values has errors of about :math:`\varepsilon \operatorname{tr}(S)/m`, which
    :math:`F^\top S F` divides by eigenvalues w of W. Relative to the variance of a component with the eigenvalue w
    they are :math:`\varepsilon \operatorname{tr}(S) / (m w^2)`: much, where landmarks are ill-conditioned. Sums of
    coordinates :math:`F^\top k_P(x)` have no such errors, but cost up to three times as many operations. They are
    needed where components would be lost that rounding errors of the values leave determined, as judged on the
    landmarks.

    Parameters
    ----------
    kernel : Kernel
    points : array of shape (m, d)
    n_components : int, optional
        How many leading components are wanted; all by default.
    """
    gram = landmark_gram(kernel, points)
    if has_long_pivots(gram):
        return None
    xp, m, dtype = array_namespace(gram), gram.shape[0], kernel.value_type(points)
    most = DETERMINED[itemsize(dtype)]
    values = gram - xp.mean(gram, axis=0)  # HW: kernel values of the landmarks about their mean
    # Coordinates along a direction have rounding errors ε/√w, and the standard deviation √(w/m).
    weakest = epsilon(dtype) * m**0.5 * float(xp.max(xp.abs(gram))) / most
    if n_components is not None and n_components < m:
        centered = values - xp.mean(values, axis=1)[:, None]
        weakest = max(weakest, float(top_eigh(centered, n_components)[0][-1]))
    values = values / weakest
    error = SCATTER_ROUNDING * epsilon(gram.dtype) * float(xp.sum(values * values)) / m
    return None if error <= ALLOWED * most else frame_of(kernel, points, gram)


def longer_frame(kernel: Kernel, points: Array, frame: Array, more: Array) -> Array:
    """The frame F of the span of some points, and after it axes for what further points add to the span.

    With C = k(more, points) F the coordinates of the further images, their Gram matrix outside of the span is
    k(more, more) − CCᵀ = R, and the axes of a frame G of it, GᵀRG = I, have the coefficients −FCᵀG and G.
    """
    xp, gram = array_namespace(frame), landmark_gram(kernel, more)
    C = in_double(kernel(more, points)) @ frame
    size = frame.shape[0] + more.shape[0]
    tolerance = WHITENING[itemsize(kernel.value_type(points))]
    added = orthonormal_factor(gram - C @ C.T, size * float(xp.max(xp.abs(gram))), tolerance)
    old = xp.concat([frame, xp.zeros((more.shape[0], frame.shape[1]), dtype=frame.dtype, **device_kwargs(frame))])
    return xp.concat([old, xp.concat([-frame @ (C.T @ added), added])], axis=1)
