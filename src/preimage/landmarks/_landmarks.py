"""Landmarks that were chosen, and rows expressed by them: the matrix T of sparse greedy approximation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, as_points, from_numpy, in_double, in_precision
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import numerical_rank, svd
from preimage._engine.typing import Array, Rows
from preimage.feature_space import Gram, GrowingSpan, require_finite
from preimage.kernels import Kernel
from preimage.landmarks._view import stored_points


@dataclass(frozen=True)
class Landmarks:
    r"""Points that span a subspace of feature space, and the residual of the kernel matrix.

    The approximation is :math:`\tilde K = C W^{-1} C^\top = G G^\top` (G2) with C the kernel values between all rows
    and the landmarks and W those among landmarks.

    Attributes
    ----------
    points : array of shape (m, d)
        In the order in which they were chosen.
    indices : integer array of shape (m,) or None
        Their row numbers, in NumPy; None when they are no rows of the data.
    residual_trace : float
        tr(K − K̃) over all rows (G4): exact when every row was looked at, otherwise estimated from rows that had no
        part in the selection.
    trace : float
        tr K, exact.
    factor : array of shape (n, m) or None
        G, when it was asked for.
    residuals_path : array of shape (m,) or None
        The residual trace after each landmark, in NumPy; exact or estimated like `residual_trace`. None where later
        batches of data have changed it.
    standard_error : float
        Of the estimate of `residual_trace`; zero when it is exact.
    residual_bound : float
        The true residual trace exceeds it with probability at most 5 % (G12); loose, and equal to `residual_trace`
        when that is exact.
    reason : str
        Why the selection stopped.

    See Also
    --------
    LandmarkSelector : What chooses them.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.landmarks import PivotedCholesky
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> landmarks = PivotedCholesky(5).select(Gaussian(1.0), X)
    >>> landmarks.indices
    array([ 0, 99, 50, 22, 81])
    >>> bool(landmarks.residual_fraction < 1e-4), landmarks.is_exact
    (True, True)
    """

    points: Array
    indices: np.ndarray | None
    residual_trace: float
    trace: float
    factor: Array
    residuals_path: Array
    standard_error: float
    residual_bound: float
    reason: str

    def __len__(self) -> int:
        return self.points.shape[0]

    def required(self) -> Landmarks:
        """These landmarks; ValueError where there are none: the kernel vanishes on all rows, or is all rounding."""
        if len(self) == 0 and self.trace > 0:
            raise ValueError(
                "There is no landmark: rounding errors of squared distances are larger than the width of the kernel, "
                "so that its values say nothing of these rows. They lie far from the origin, or from each other, for "
                "so narrow a kernel: subtract the mean of the columns (sparse rows have to be made dense for it), pass "
                "float64 data, or choose a wider kernel."
            )
        if len(self) == 0:
            raise ValueError(
                "There is no landmark: the kernel vanishes on these data, k(x, x) = 0 for all rows. Are the rows "
                "all zero? Check them, or choose another kernel."
            )
        return self

    def first(self, count: int) -> Landmarks:
        """The first so many of these landmarks, and what they leave, exactly or estimated as before."""
        if count == len(self) or self.residuals_path is None:
            return self
        left, deviation = float(self.residuals_path[count - 1]), self.residual_bound - self.residual_trace
        return replace(
            self,
            points=self.points[:count, :],
            indices=None if self.indices is None else self.indices[:count],
            factor=None if self.factor is None else self.factor[:, :count],
            residuals_path=self.residuals_path[:count],
            residual_trace=left,
            residual_bound=left + deviation,
        )

    def measured(self, trace: float, inside: float) -> Landmarks:
        """With the trace of K over all rows, as often as these count, and the part of it in the span, measured."""
        left = max(0.0, trace - inside)
        return replace(self, trace=trace, residual_trace=left, residual_bound=left, standard_error=0.0)

    @property
    def residual_fraction(self) -> float:
        """tr(K − K̃) / tr K, the fraction of the kernel that is lost; zero for a kernel that vanishes."""
        return self.residual_trace / self.trace if self.trace > 0 else 0.0

    @property
    def is_exact(self) -> bool:
        """Whether the residual trace is computed from all rows, not estimated."""
        return self.residual_bound == self.residual_trace

    def __repr__(self) -> str:
        about = "" if self.is_exact else "about "
        return f"Landmarks: {len(self)} points, {about}{self.residual_fraction:.3g} of the trace left; {self.reason}"


SPACES = ("function", "column")


@gives_finite_numbers()
def landmark_coefficients(kernel: Kernel, points: Array, X: Rows, space: str = "function") -> Array:
    r"""The matrix T with :math:`\tilde K = C T`: how rows are expressed by landmarks.

    In function space, :math:`T = W^{-1} C^\top` (G2) has the coefficients of the projection of φ(x) on the span of the
    images of the landmarks, one column per row of X: :math:`\tilde\varphi(x_i) = \sum_j T_{ji} \varphi(z_j)`. Rows
    need not be those that landmarks were chosen among; :math:`\tilde K` is symmetric and positive semidefinite.

    In column space, :math:`T = C^+ K` has the coefficients of the projection of the columns of the kernel matrix of X
    on those of the landmarks (G1). No other :math:`C T` is nearer to K in the Frobenius norm, but :math:`\tilde K` is
    not symmetric, and all of K is evaluated.

    Either way a landmark is expressed by itself, :math:`T_{j i_j} = 1`, unless it depends on others.

    Parameters
    ----------
    kernel : Kernel
        Positive semidefinite, with all parameters resolved.
    points : array of shape (m, d)
        The landmarks, such as ``SparseGreedy(100).select(kernel, X).points``.
    X : array or CSR matrix of shape (n, d)
        For precomputed kernels the matrix K, or what ``kernel.inputs(K)`` gives.
    space : {"function", "column"}, default="function"
        The space in which rows are projected, see above.

    Returns
    -------
    array of shape (m, n)
        Computed in double precision; rows of landmarks that depend, up to rounding, on those before them are zero.

    See Also
    --------
    Landmarks : The landmarks, with their residual.
    preimage.EmpiricalKernelMap : Kernel values with landmarks as features.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear
    >>> from preimage.landmarks import landmark_coefficients
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    >>> landmark_coefficients(Linear(), X[:2], X).round(12)
    array([[1., 0., 2.],
           [0., 1., 3.]])
    """
    if space not in SPACES:
        raise ValueError(f"landmark_coefficients works in one of the spaces {', '.join(SPACES)}; got {space!r}.")
    X = stored_points(kernel, X)
    points = points if kernel.points_are_row_numbers else as_points(points)
    if points.ndim != 2 or points.shape[0] == 0 or points.shape[1] != X.shape[1]:
        raise ValueError(
            f"landmark_coefficients needs landmarks of shape (m, {X.shape[1]}), as X has columns, and at least one; "
            f"got shape {tuple(points.shape)}."
        )
    dtype = kernel.value_type(X)
    if not kernel.points_are_row_numbers:
        points, X = in_double(points), in_double(X)
    found = _of_images(kernel, points, X) if space == "function" else _of_columns(kernel, points, X)
    return in_precision(found, dtype)


def _of_images(kernel: Kernel, points: Array, X: Array) -> Array:
    span = GrowingSpan(kernel, points, capacity=points.shape[0])
    span.add_in_order()
    frame = span.frame()
    # T = L⁻ᵀ (L⁻¹ Cᵀ): coordinates along the orthonormal axes, then coefficients of the axes on the landmarks.
    T = frame.coefficients @ frame(X).T
    xp = array_namespace(T)
    if len(span) == points.shape[0]:
        return T
    nothing = xp.zeros_like(T[:1, :])
    rows = {int(number): T[i : i + 1, :] for i, number in enumerate(span.pivots)}
    return xp.concat([rows.get(i, nothing) for i in range(points.shape[0])], axis=0)


def _of_columns(kernel: Kernel, points: Array, X: Array) -> Array:
    C = Gram(kernel, X, points).dense()
    require_finite(C, kernel)
    xp = array_namespace(C)
    U, values, Vt = svd(C)
    rank = max(1, numerical_rank(values, max(C.shape)))
    columns = (Gram(kernel, X) @ U[:, :rank]).T  # UᵀK
    scale = xp.where(values[:rank] > 0, values[:rank], xp.ones_like(values[:rank]))
    return Vt[:rank, :].T @ (columns / from_numpy(scale, columns)[:, None])
