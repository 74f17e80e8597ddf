"""The matrix T of sparse greedy approximation: rows expressed by landmarks."""

from preimage._engine.arrays import array_namespace, as_points, from_numpy, in_double, in_precision
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import numerical_rank, svd
from preimage._engine.typing import Array, Rows
from preimage.feature_space import Gram, GrowingSpan, require_finite
from preimage.kernels import Kernel
from preimage.landmarks._view import stored_points

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
