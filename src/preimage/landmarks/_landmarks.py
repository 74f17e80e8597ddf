"""The rows that a selection looks at, the landmarks that it chose, and rows expressed by them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    as_rows,
    concat_rows,
    from_numpy,
    in_double,
    in_memory,
    in_precision,
    is_lazy,
    is_sparse,
    take_rows,
    to_numpy,
)
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import numerical_rank, svd
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Gram, GrowingSpan, require_finite
from preimage.kernels import Kernel


def sampling_deviation(n_rows: int, n_sampled: int, spread: float, confidence: float = 0.95) -> float:
    r"""How much the mean of n numbers may exceed the mean of a random sample of them, without replacement.

    .. math:: \varepsilon = b \sqrt{\Bigl(1 - \frac{n' - 1}{n}\Bigr) \frac{\ln(1/\delta)}{2 n'}}

    for n′ sampled of n numbers within a range b, exceeded with probability at most δ = 1 − confidence (G12). This is
    Serfling's inequality; Hoeffding's form (G11) of the paper on sparse greedy approximation holds for independent
    draws, not for a sample of fixed numbers.
    """
    if n_sampled == n_rows:
        return 0.0  # the mean of all rows is exact; the inequality would give a positive number
    remaining = 1 - (n_sampled - 1) / n_rows
    return spread * math.sqrt(remaining * math.log(1 / (1 - confidence)) / (2 * n_sampled))


# Unseen rows on which a selection from a sample is judged: residuals vary about as much as their mean, so the mean of
# 2,000 has a standard error of some two per cent. Ten times more would cost more than the selection.
JUDGES = 2000
# Rows per block when only the diagonal of the kernel is summed: so little work per row that small blocks would be
# mostly overhead.
DIAGONAL_ROWS = 2**16


@dataclass(frozen=True)
class View:
    """Rows of data, candidates first, and what each stands for in sums over all data.

    Attributes
    ----------
    rows : array of shape (s + c, d)
        The s candidates, then c rows that only judge the residual of rows that are not here.
    numbers : integer array of shape (s + c,)
        Row numbers in the data.
    n_candidates : int
    weights : array of shape (s + c,)
        One for candidates; judges divide the number of rows that are no candidates evenly.
    trace, largest : float
        Sum and largest of k(x, x) over all data.
    judged : bool
        Whether the residual trace is wanted.
    """

    rows: Array
    numbers: np.ndarray
    n_candidates: int
    weights: np.ndarray
    trace: float
    largest: float
    judged: bool = True

    @classmethod
    def of(cls, kernel: Kernel, X: Array, size: int | None, rng: np.random.Generator, judged: bool = True) -> View:
        """All rows of X when there are at most `size` (or it is None), else a sample of them.

        Without judges, candidates represent all rows, and the estimate of what is left is too small.
        """
        n = X.shape[0]
        trace, largest = _diagonal_sums(kernel, X)
        if size is None or n <= size:
            rows = in_memory(X)
            return cls(_points(rows, kernel), np.arange(n), n, np.ones(n), trace, largest, judged)
        n_judges = min(JUDGES, n - size) if judged else 0
        numbers = rng.choice(n, size + n_judges, replace=False)  # not a permutation: n may be larger than memory
        weights = np.full(size, n / size)
        if judged:
            weights = np.concatenate([np.ones(size), np.full(n_judges, (n - size) / n_judges)])
        return cls(_points(take_rows(X, numbers), kernel), numbers, size, weights, trace, largest, judged)

    @property
    def n_rows(self) -> int:
        """Number of rows of the data that the rows here represent."""
        return round(float(self.weights.sum()))

    @property
    def is_complete(self) -> bool:
        """Whether all rows of the data are here."""
        return bool(np.all(self.weights == 1))

    def with_candidates(self, points: Array) -> View:
        """New candidates, which are no rows of the data, with the same rows as judges, or alone if not judged."""
        m = points.shape[0]
        if not self.judged:
            return replace(self, rows=points, numbers=np.full(m, -1), n_candidates=m, weights=np.zeros(m))
        rows = concat_rows(points, self.rows)
        numbers, weights = np.append(np.full(m, -1), self.numbers), np.append(np.zeros(m), self.weights)
        return replace(self, rows=rows, numbers=numbers, n_candidates=m, weights=weights)

    def span(self, kernel: Kernel, capacity: int, start: GrowingSpan | None = None) -> GrowingSpan:
        """A span that grows by candidates of this view."""
        return GrowingSpan(
            kernel,
            self.rows,
            start=start,
            weights=self.weights,
            n_candidates=self.n_candidates,
            capacity=capacity,
        )

    def uncertainty(self, residuals: np.ndarray) -> tuple[float, float]:
        """Standard error of the sum of all residuals, and how far it may lie above the estimate at 95 %."""
        heavy = self.weights > 1
        if not heavy.any():
            return 0.0, 0.0
        judged, represented = residuals[heavy], self.weights[heavy].sum()
        unseen = 1 - judged.size / represented  # a sample of all rows has no error
        error = represented * float(np.std(judged)) * np.sqrt(unseen / judged.size)
        deviation = sampling_deviation(round(represented), judged.size, self.largest)
        return float(error), float(represented * deviation)


def stored_points(kernel: Kernel, X: Rows) -> Array:
    """Rows of X as the kernel keeps them: floating, objects, or row numbers for precomputed values."""
    if is_sparse(X):
        return kernel.inputs(as_points(X.tocsr()))
    X = X if is_lazy(X) or (kernel.points_are_row_numbers and hasattr(X, "dtype")) else kernel.rows(X)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(
            f"Landmarks are chosen among the rows of a 2D array with at least one row; got shape {tuple(X.shape)}. "
            "Reshape a single feature with `X.reshape(-1, 1)`."
        )
    return kernel.inputs(X)


def _points(rows: Array, kernel: Kernel) -> Array:
    """Floating rows, checked; objects, and the row numbers of a precomputed kernel, stay what they are."""
    if kernel.points_are_row_numbers:
        return rows
    rows = as_rows(rows)
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "f" and not np.all(np.isfinite(rows)):
        raise ValueError(
            "Rows among which landmarks are chosen, those of X or transformed copies of them, have entries that are "
            "NaN or infinite. Impute or drop such rows, or scale the data."
        )
    return rows


def _diagonal_sums(kernel: Kernel, X: Array) -> tuple[float, float]:
    """Sum and largest of k(x, x); radial kernels know them without a pass over the data."""
    if kernel.is_radial:
        value = float(to_numpy(kernel.diagonal(np.zeros((1, 1))))[0])
        sums = _DiagonalSums(X.shape[0] * value, value, value)
    else:
        sums = sum_rows(lambda rows: _DiagonalSums.of(kernel, _points(rows, kernel)), X, rows=DIAGONAL_ROWS)
    require_finite(np.asarray([sums.total]), kernel)
    if sums.smallest < 0:
        raise UnsupportedKernelError(
            f"Landmarks need a positive semidefinite kernel; {kernel!r} has k(x, x) = {sums.smallest:.3g} < 0. "
            "Use a positive semidefinite kernel, or exact kernel PCA, which takes indefinite ones."
        )
    return sums.total, sums.largest


@dataclass(frozen=True)
class _DiagonalSums:
    """Sum, largest and smallest of some values of k(x, x)."""

    total: float
    largest: float
    smallest: float

    @classmethod
    def of(cls, kernel: Kernel, rows: Array) -> _DiagonalSums:
        diagonal = kernel.diagonal(rows)
        require_finite(diagonal, kernel)
        diagonal = to_numpy(diagonal).astype(np.float64)
        return cls(float(diagonal.sum()), float(diagonal.max()), float(diagonal.min()))

    def __add__(self, other: _DiagonalSums) -> _DiagonalSums:
        return _DiagonalSums(
            self.total + other.total, max(self.largest, other.largest), min(self.smallest, other.smallest)
        )


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
    points = points if kernel.points_are_row_numbers else kernel.rows(points)
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
