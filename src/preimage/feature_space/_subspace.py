"""Subspaces of feature space, with coordinates in them, and orthonormal frames of the span of landmarks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, in_double, itemsize, take_rows
from preimage._engine.linalg import (
    DETERMINED,
    SCATTER_ROUNDING,
    WHITENING,
    has_long_pivots,
    orthonormal_factor,
    require_semidefinite,
    require_variance,
    top_eigh,
    whitening_factor,
)
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import Gram, require_finite
from preimage.kernels import Kernel


class Subspace:
    """The affine space origin + span(frame), with an orthonormal frame.

    Parameters
    ----------
    frame : Expansion of k vectors
        Orthonormal: ⟨Vᵢ, Vⱼ⟩ = δᵢⱼ; for indefinite kernels ⟨Vᵢ, Vⱼ⟩ = signature[i] δᵢⱼ.
    origin : Expansion of one vector, or None
        None is the zero vector.
    offset : array of shape (k,), optional
        ⟨Vⱼ, origin⟩; computed when left out.
    origin_squared_norm : float, optional
        ‖origin‖²; computed when left out.
    signature : array of shape (k,) with entries ±1, optional
        Signs of the squared norms of the frame; None for a Euclidean feature space.

    See Also
    --------
    Expansion : Its vectors.
    preimage.KernelPCA : Has the principal subspace as `subspace_`.
    preimage.solvers.Preimage : Inputs for points of a subspace.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Subspace
    >>> from preimage.kernels import Gaussian
    >>> points = np.array([[0.0], [1.0], [2.0]])
    >>> space = Subspace.span(Gaussian(1.0), points)
    >>> space.residuals(points).round(12)
    array([0., 0., 0.])
    """

    def __init__(
        self,
        frame: Expansion,
        origin: Expansion | None = None,
        *,
        offset: Array | None = None,
        origin_squared_norm: float | None = None,
        signature: Array | None = None,
    ) -> None:
        self.frame = frame
        self.origin = origin
        self.signature = signature
        if origin is not None and offset is None:
            offset = frame.inner(origin)[:, 0]
        if origin is not None and origin_squared_norm is None:
            origin_squared_norm = float(origin.squared_norms()[0])
        self.offset = offset
        self.origin_squared_norm = origin_squared_norm

    @classmethod
    def span(cls, kernel: Kernel, points: Array, *, gram: Array | None = None, who: str = "Subspace.span") -> Subspace:
        """The span of φ(points), through zero, in double precision.

        Directions that rounding errors of the points would fill are left out, see `whitening_factor`. Refused are a
        kernel that vanishes on the points, which has no frame, and one with negative eigenvalues, of which an
        orthonormal frame would keep the positive ones alone.

        Parameters
        ----------
        kernel : Kernel
        points : array of shape (n, d)
        gram : array of shape (n, n), optional
            Kernel values among the points in double precision, where they have been computed.
        who : str
            What needs the span, for messages.
        """
        dtype = kernel.value_type(points)
        points = points if kernel.points_are_row_numbers else in_double(points)
        gram = in_double(Gram(kernel, points).dense()) if gram is None else gram
        require_finite(gram, kernel)
        require_variance(kernel, float(array_namespace(gram).max(gram)), 0.0, dtype)
        require_semidefinite(kernel, gram, who, "Iterated(kernel) is positive semidefinite.", dtype)
        with stage("Finding an orthonormal frame", 1) as advance:
            factor = whitening_factor(gram, dtype)
            advance()
        return cls(Expansion(kernel, points, factor))

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        return f"Subspace of dimension {len(self)}, {'through zero' if self.origin is None else 'affine'}: {self.frame}"

    def leading(self, k: int) -> Subspace:
        """The subspace of the first k vectors of the frame, with the same origin."""
        cut = lambda array: None if array is None else array[:k]
        return Subspace(
            self.frame[:k],
            self.origin,
            offset=cut(self.offset),
            origin_squared_norm=self.origin_squared_norm,
            signature=cut(self.signature),
        )

    def take(self, numbers: np.ndarray) -> Subspace:
        """The subspace of the vectors of the frame with the given NumPy indices, with the same origin."""
        chosen = lambda array: None if array is None else take_rows(array, numbers)
        return Subspace(
            self.frame.take(numbers),
            self.origin,
            offset=chosen(self.offset),
            origin_squared_norm=self.origin_squared_norm,
            signature=chosen(self.signature),
        )

    def converted(self, change: Callable[[Array], Array], points: Array) -> Subspace:
        """The same subspace in another precision or on another device.

        Parameters
        ----------
        change : callable
            Converts one array; coefficients, offset and signature go through it.
        points : array of shape (n, d)
            The points of frame and origin, converted.
        """
        optional = lambda array: None if array is None else change(array)
        return Subspace(
            self.frame.converted(change, points),
            None if self.origin is None else self.origin.converted(change, points),
            offset=optional(self.offset),
            origin_squared_norm=self.origin_squared_norm,
            signature=optional(self.signature),
        )

    @cached_property
    def of_points(self) -> tuple[Array, Array]:
        """Coordinates and residuals of the points that the frame is made of, computed once."""
        residuals, coordinates = self._residuals_and_coordinates(self.frame.points, None)
        return coordinates, residuals

    @cached_property
    def remembered(self) -> dict[Any, Any]:
        """What was computed from this subspace at a first call and serves later ones, by key."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("of_points", "remembered")}

    @unwarned()
    def coordinates(self, X: Array) -> Array:
        """βⱼ(x) = ⟨Vⱼ, φ(x) − origin⟩, shape (n, k)  (S7)."""
        Y = self.frame(X)
        return Y if self.offset is None else Y - self.offset

    @unwarned()
    def embed(self, Y: Array) -> Expansion:
        """The vectors origin + Σⱼ yⱼ Vⱼ, one per row of Y, as an `Expansion`  (S9)."""
        weights = Y if self.signature is None else Y * self.signature
        # The product of rows, transposed as a view: pre-image solvers then read the coefficients of each vector in one
        # piece, without a copy.
        coefficients = (weights @ self.frame.coefficients.T).T
        inside = Expansion(self.frame.kernel, self.frame.points, coefficients)
        vectors = inside if self.origin is None else inside + self.origin
        return Expansion(vectors.kernel, vectors.points, vectors.coefficients, squared_norms=self.embedded_norms(Y))

    @unwarned()
    def embedded_norms(self, Y: Array) -> Array:
        """‖origin + Σ yⱼVⱼ‖² = ‖origin‖² + 2 Σ yⱼ⟨Vⱼ, origin⟩ + Σ yⱼ², without a pass over the kernel."""
        xp = array_namespace(Y)
        weights = Y if self.signature is None else Y * self.signature
        inside = xp.sum(Y * weights, axis=1)
        if self.origin is None:
            return inside
        return self.origin_squared_norm + 2 * (weights @ self.offset) + inside

    @unwarned()
    def residuals(self, X: Array, diagonal: Array | None = None) -> Array:
        """Squared distances ‖φ(x) − Pφ(x)‖² to the subspace, shape (n,)  (S10).

        Not clipped: rounding can make them slightly negative, an indefinite kernel more than slightly. `diagonal`
        gives k(x, x) for kernels that do not know it.
        """
        if diagonal is not None and tuple(diagonal.shape) != (X.shape[0],):
            raise ValueError(f"`diagonal` has shape {tuple(diagonal.shape)}; {X.shape[0]} points need ({X.shape[0]},).")
        return self._residuals_and_coordinates(X, diagonal)[0]

    @unwarned()
    def squared_distances(self, X: Array, Y: Array) -> Array:
        """‖φ(xⱼ) − Ψⱼ‖² for the points Ψ of the subspace with coordinates Y, the j-th row of X against the j-th of Y.

        By Pythagoras the distance of φ(x) from the subspace plus that within it, without the coefficients of Ψ. Shape
        (n,).
        """
        xp = array_namespace(Y)
        squared, coordinates = self._residuals_and_coordinates(X, None)
        shift = coordinates - Y
        lengths = shift * shift if self.signature is None else shift * shift * self.signature
        return squared + xp.sum(lengths, axis=1)

    def _residuals_and_coordinates(self, X: Array, diagonal: Array | None) -> tuple[Array, Array]:
        """Squared distances to the subspace, and coordinates in it, from one pass over the kernel."""
        xp = array_namespace(self.frame.coefficients)
        squared = self.frame.kernel.diagonal(X) if diagonal is None else diagonal
        if self.origin is None:
            Y = self.frame(X)
        else:
            both, at_origin = self._evaluate_with_origin(X, self.origin)
            Y = both - self.offset
            squared = squared - 2 * at_origin + self.origin_squared_norm  # (S11)
        lengths = Y * Y if self.signature is None else Y * Y * self.signature
        return squared - xp.sum(lengths, axis=1), Y

    def _evaluate_with_origin(self, X: Array, origin: Expansion) -> tuple[Array, Array]:
        frame = self.frame
        if frame.points is not origin.points:
            return frame(X), origin(X)[:, 0]
        # One pass over the kernel for both.
        xp = array_namespace(frame.coefficients)
        both = Expansion(frame.kernel, frame.points, xp.concat([frame.coefficients, origin.coefficients], axis=1))(X)
        return both[:, :-1], both[:, -1]


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
