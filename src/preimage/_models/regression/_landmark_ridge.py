"""Ridge regression on the images of landmarks, for every number of them at once, from one triangular factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    device_kwargs,
    from_numpy,
    in_precision,
    is_foreign,
    is_lazy,
    to_numpy,
)
from preimage._engine.linalg import rank_tolerance
from preimage._engine.rows import block_shape, sum_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import check_finite_block
from preimage._models.regression._left_out_curve import LeftOutCurve
from preimage.feature_space import Expansion, Gram, GrowingSpan, require_finite
from preimage.kernels import Kernel

# The smallest penalty is the square of this many rounding errors of the features. Directions of feature space whose
# length is rounding then get coefficients near zero, while those with ten correct digits are not touched.
ABOVE_ROUNDING = 1e3


@dataclass(frozen=True)
class LeastSquares:
    r"""The triangular factor of rows :math:`\sqrt{w_i}\,(1, f_i, y_i)`, all that least squares needs of them.

    `a + b` is the factor of both sets of rows, so a sum over blocks gives what one pass over all rows gives. Unlike
    normal equations it keeps the condition number of the features, not its square; single precision stays usable.

    Attributes
    ----------
    triangle : array of shape (c, c)
        R with RᵀR = ZᵀZ for the weighted rows Z.
    count : float
        Sum of the weights.
    n_targets : int
    intercept : bool
        Whether rows begin with a one.
    """

    triangle: Array
    count: float
    n_targets: int
    intercept: bool

    @classmethod
    def of(cls, F: Array, Y: Array, weights: Array | None = None, *, intercept: bool = True) -> LeastSquares:
        """Of features F (n, m) and targets Y (n, k), each row counted `weights[i]` times."""
        xp = array_namespace(F)
        columns = [F, Y]
        if intercept:
            columns.insert(0, xp.ones((F.shape[0], 1), dtype=F.dtype, **device_kwargs(F)))
        Z = xp.concat(columns, axis=1)
        if weights is not None:
            Z = Z * xp.sqrt(weights)[:, None]
        count = float(F.shape[0]) if weights is None else float(xp.sum(weights))
        return cls(_triangle(Z), count, Y.shape[1], intercept)

    def __add__(self, other: LeastSquares) -> LeastSquares:
        xp = array_namespace(self.triangle)
        merged = _triangle(xp.concat([self.triangle, other.triangle], axis=0))
        return LeastSquares(merged, self.count + other.count, self.n_targets, self.intercept)

    def extended(self, count: int) -> LeastSquares:
        """With so many more features, which are zero for all rows."""
        xp, before = array_namespace(self.triangle), self.triangle.shape[1] - self.n_targets
        zeros = xp.zeros((self.triangle.shape[0], count), dtype=self.triangle.dtype, **device_kwargs(self.triangle))
        merged = xp.concat([self.triangle[:, :before], zeros, self.triangle[:, before:]], axis=1)
        return LeastSquares(_triangle(merged), self.count, self.n_targets, self.intercept)

    def ridge(self, alpha: float) -> Ridge:
        """The minimum of Σ wᵢ‖yᵢ − b − Wᵀfᵢ‖² + α‖W‖² over W and b, for every number of leading features."""
        return Ridge(self, alpha)

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Singular values σ and right singular vectors of the features (less their mean with an intercept)."""
        _, values, Vt = np.linalg.svd(self.parts[0])
        return values, Vt.T

    def leave_one_out(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray | None, alphas: np.ndarray) -> np.ndarray:
        r"""Squared errors Σ wᵢ‖yᵢ − f₍₋ᵢ₎(xᵢ)‖² of predictions for rows by all other rows, one per α.

        In NumPy; rows may come in blocks, whose results add up.
        """
        weights = np.ones(F.shape[0]) if weights is None else weights
        return np.array([weights @ errors for errors in self.left_out_squares(F, Y, weights, alphas)])

    def left_out_squares(
        self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray, alphas: np.ndarray
    ) -> Iterator[np.ndarray]:
        r"""‖yᵢ − f₍₋ᵢ₎(xᵢ)‖² for every row i, one array per α.

        Leaving row i out changes its residual eᵢ to :math:`e_i / (1 - h_i)`, with the leverage
        :math:`h_i = w_i (1/\sum w + \sum_j p_{ij}^2 / (\sigma_j^2 + \alpha))` and p the features along the singular
        vectors.
        """
        (values, V), (features, along, _) = self.spectrum, self.parts
        feature_means, target_means = self.means
        P, targets = (F - feature_means) @ V, Y - target_means
        shrunk = 1 / (values[:, None] ** 2 + np.maximum(alphas, self.smallest_alpha))  # (m, number of α)
        leverages = weights[:, None] * (self.intercept / self.count + (P * P) @ shrunk)
        projected = V.T @ (features.T @ along)
        kept = np.maximum(1 - leverages, np.finfo(float).eps)
        for j in range(len(alphas)):
            yield np.sum(((targets - P @ (shrunk[:, [j]] * projected)) / kept[:, [j]]) ** 2, axis=1)

    def penalties(self, alpha: float | str | np.ndarray) -> np.ndarray:
        """Candidates for α: those given, or with "loo" a grid relative to the largest squared singular value.

        So it does not depend on the scale of the kernel.
        """
        if isinstance(alpha, str):
            return LOO_GRID * self.spectrum[0].max(initial=0.0) ** 2
        return np.atleast_1d(alpha)

    @property
    def smallest_alpha(self) -> float:
        """A penalty of the size of rounding errors, used instead of zero where features depend on each other.

        The square of a length that is large against the rounding errors of features, and small against the features.
        Rounding errors are those of the features before their mean was subtracted: centred features of rows that are
        all equal consist of nothing else.
        """
        means = self.means[0]
        size = float(np.sqrt(np.linalg.norm(self.parts[0]) ** 2 + self.count * (means @ means)))
        return max((ABOVE_ROUNDING * np.finfo(float).eps * size) ** 2, np.finfo(float).tiny)

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray, float]:
        """R of the features (m, m), targets along them (m, k), and the sum of squares that nothing explains."""
        R, start, end = self._R, int(self.intercept), self._R.shape[1] - self.n_targets
        return R[start:end, start:end], R[start:end, end:], float(np.sum(R[end:, end:] ** 2))

    @property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the features and of the targets; zeros without an intercept."""
        m = self._R.shape[1] - self.n_targets - self.intercept
        first = self._R[0, 1:] / self._R[0, 0] if self.intercept else np.zeros(self._R.shape[1])
        return first[:m], first[m:]

    @cached_property
    def _R(self) -> np.ndarray:
        return to_numpy(self.triangle).astype(np.float64)


class Ridge:
    r"""Ridge solutions on the first p features, for every p, from one factorisation.

    With the QR factorisation :math:`\binom{R}{\sqrt\alpha I} = Q U` the leading p × p block of U serves the first p
    features, and of :math:`U^{-1}` as well. So the columns of :math:`U^{-1}` are directions, one more for every
    feature, along which solutions are sums: :math:`w_p = \sum_{j \le p} U^{-1}_{:j} c_j` with
    :math:`c = Q^\top \binom{z}{0}`.

    Attributes
    ----------
    alpha, penalty : float
        The penalty that was asked for, and the one that was used, which is no rounding error.
    directions : array of shape (m, m)
        :math:`U^{-1}`, upper triangular.
    steps : array of shape (m, k)
        c.
    offsets : array of shape (m,)
        Means of the features along the directions.
    constant : array of shape (k,)
        The intercept without any feature.
    """

    def __init__(self, problem: LeastSquares, alpha: float) -> None:
        features, targets, rest = problem.parts
        feature_means, target_means = problem.means
        m = features.shape[0]
        self.alpha, self.penalty = alpha, max(alpha, problem.smallest_alpha)
        root = np.sqrt(self.penalty)
        Q, U = np.linalg.qr(np.vstack([features, root * np.eye(m)]))
        if not np.isfinite(U).all():
            raise ValueError(
                "Least squares on landmarks overflow: kernel values, or alpha, are too large for their squares. Scale "
                "the kernel."
            )
        self.directions = solve_triangular(U, np.eye(m)) if m else np.eye(0)  # SciPy 1.13 refuses empty matrices
        self.steps = Q[:m].T @ targets
        self.offsets = feature_means @ self.directions
        self.constant = target_means
        self._along = features @ self.directions
        self._targets, self._rest, self._count = targets, rest, problem.count

    @property
    def coefficients(self) -> np.ndarray:
        """W for all features, shape (m, k)."""
        return self.directions @ self.steps

    @property
    def intercept(self) -> np.ndarray:
        return self.constant - self.offsets @ self.steps

    def errors(self) -> np.ndarray:
        """Mean squared errors Σ wᵢ‖yᵢ − f(xᵢ)‖²/(k Σ wᵢ) on 1, …, m features, shape (m,)."""
        m, k = self.steps.shape
        total = np.full(m, self._rest)
        for target in range(k):
            fits = np.cumsum(self._along * self.steps[:, target], axis=1)  # column p: the fit with p + 1 features
            total += np.sum((self._targets[:, [target]] - fits) ** 2, axis=0)
        return total / (k * self._count)


def _triangle(Z: Array) -> Array:
    """R of a QR factorisation, square whatever the number of rows."""
    xp = array_namespace(Z)
    n, c = Z.shape
    if n < c:
        Z = xp.concat([Z, xp.zeros((c - n, c), dtype=Z.dtype, **device_kwargs(Z))], axis=0)
    return np.linalg.qr(Z, mode="r") if isinstance(Z, np.ndarray) else xp.linalg.qr(Z)[1]


# Penalties that "loo" tries, relative to the largest squared singular value of the features. The smallest is far below
# what noise in targets asks for, with the largest hardly anything is fitted; four per decade find the best to a factor
# that leave-one-out errors do not distinguish.
LOO_GRID = np.geomspace(1e-10, 1, 41)
# Rows per block, relative to the number of columns. A QR factorisation of r rows and c columns costs 2rc², merging two
# triangles 4c³/3: with four times more rows than columns merging is a sixth of the work.
BLOCK_ROWS = 4


def nested_frame(kernel: Kernel, points: Array) -> Expansion:
    """An orthonormal frame whose first p vectors span the images of the first p points, for every p.

    With W = LLᵀ the kernel matrix of the points, the coefficients are L⁻ᵀ, upper triangular; the values of the frame
    are the rows of the factor G with GGᵀ = CW⁻¹Cᵀ.
    """
    gram = Gram(kernel, points).dense()
    if is_foreign(gram) and (inverse := GrowingSpan.nested_coefficients(gram)) is not None:
        return Expansion(kernel, points, in_precision(inverse.T, gram.dtype))
    W = to_numpy(gram)
    rounding = rank_tolerance(W.shape[0], W.dtype) * float(np.max(np.diagonal(W), initial=0.0))
    # In single precision some landmarks of a wide kernel depend on others up to rounding. A diagonal of the size of
    # rounding keeps their vectors finite and averages errors: without these vectors, mean squared errors of unpenalised
    # fits were up to a half larger. A kernel that vanishes has no vectors, whatever is added.
    for ridge in (0.0, *(10.0**step * rounding for step in range(8))):
        span = GrowingSpan.nested(W + ridge * np.eye(W.shape[0], dtype=W.dtype))
        if len(span) == W.shape[0]:
            break
    coefficients = np.zeros(W.shape)
    coefficients[np.ix_(span.pivots, span.pivots)] = span.coefficients.T
    return Expansion(kernel, points, from_numpy(coefficients, gram))


@dataclass(frozen=True)
class LandmarkRidge:
    """Functions fitted on landmarks, and their fits on fewer landmarks.

    Attributes
    ----------
    expansion : Expansion of k functions
        Without their intercepts.
    intercept : array of shape (k,)
    ridge : Ridge
        Solutions in the nested frame.
    stages : Expansion of m functions
        Directions along which the fits on 1, …, m landmarks are sums.
    alpha : float
        The penalty.
    alphas, loo_errors : arrays or None
        The candidates and their mean squared leave-one-out errors, when the penalty was chosen. In NumPy.
    """

    expansion: Expansion
    intercept: Array
    ridge: Ridge
    stages: Expansion
    alpha: float
    alphas: np.ndarray | None
    loo_errors: np.ndarray | None

    @classmethod
    def fit(
        cls,
        kernel: Kernel,
        points: Array,
        X: Rows,
        Y: np.ndarray,
        weights: np.ndarray | None,
        *,
        alpha: float | str | np.ndarray,
        intercept: bool,
    ) -> LandmarkRidge:
        """Least squares of targets Y (n, k) at the rows of X on the images of points, by QR in a nested frame  (G15).

        Parameters
        ----------
        X : array, sparse matrix, memory map or Dask array of shape (n, d)
        alpha : float, "loo" or array of floats
            A penalty, or candidates of which the one with the smallest leave-one-out error is taken.
        intercept : bool
            Whether a constant is fitted, which is not penalised.
        """
        frame = nested_frame(kernel, points)
        device, features = frame.coefficients, _features(frame, X)
        problem = _over_blocks(
            lambda rows, targets, w: LeastSquares.of(
                features(rows),
                from_numpy(targets, device),
                None if w is None else from_numpy(w, device),
                intercept=intercept,
            ),
            frame,
            (X, Y, weights),
        )
        require_finite(problem.triangle, kernel)
        alphas = errors = None
        if not isinstance(alpha, float):
            alphas = problem.penalties(alpha)
            # A second pass over the data: leave-one-out residuals need the leverages, which are known when the factor
            # is.
            errors = _over_blocks(
                lambda rows, targets, w: problem.leave_one_out(
                    to_numpy(features(rows)).astype(np.float64), targets, w, alphas
                ),
                frame,
                (X, Y, weights),
            )
            errors = errors / (Y.shape[1] * problem.count)
            alpha = float(alphas[int(np.argmin(errors))])
        return cls.along(frame, problem.ridge(alpha), alphas, errors)

    @classmethod
    def along(
        cls, frame: Expansion, ridge: Ridge, alphas: np.ndarray | None = None, errors: np.ndarray | None = None
    ) -> LandmarkRidge:
        """Solutions in a nested frame, as functions."""
        device = frame.coefficients
        # From coordinates in the nested frame to coefficients of the images of points.
        coefficients = to_numpy(device).astype(np.float64) @ ridge.coefficients
        return cls(
            Expansion(frame.kernel, frame.points, from_numpy(coefficients, device)),
            from_numpy(ridge.intercept, device),
            ridge,
            frame @ from_numpy(ridge.directions, device),
            ridge.alpha,
            alphas,
            errors,
        )

    def left_out_curve(self, X: Rows, Y: np.ndarray, weights: np.ndarray | None, *, intercept: bool) -> LeftOutCurve:
        r"""Mean squared errors of rows that were left out, for every number of landmarks, in one pass.

        With :math:`U^{-1}` of `Ridge`, the leverage of a row on the first p features is a sum of p squares, as its
        value is a sum of p terms; so all numbers of landmarks together take no longer than all landmarks.
        """
        features, all_weights = _features(self.stages, X), np.ones(Y.shape[0]) if weights is None else weights
        total = float(all_weights.sum())
        unit = float(np.abs(Y).max(initial=0.0)) or 1.0  # fourth powers of errors are numbers in this unit

        def sums(rows: Array, targets: np.ndarray, w: np.ndarray) -> np.ndarray:
            along = to_numpy(features(rows)).astype(np.float64) - self.ridge.offsets
            leverages = w[:, None] * (intercept / total + np.cumsum(along * along, axis=1))
            kept = np.maximum(1 - leverages, np.finfo(float).eps)
            found = np.zeros(along.shape)
            for c in range(targets.shape[1]):
                fits = self.ridge.constant[c] + np.cumsum(along * self.ridge.steps[:, c], axis=1)
                found += ((targets[:, [c]] - fits) / unit / kept) ** 2 / targets.shape[1]
            return np.stack([w @ found, w**2 @ found, w**2 @ found**2])

        found = _over_blocks(sums, self.stages, (X, Y, all_weights))
        curve = LeftOutCurve.of_sums(np.arange(1, found.shape[1] + 1), found[0], found[1], found[2], all_weights)
        return replace(curve, loss=curve.loss * unit**2, standard_error=curve.standard_error * unit**2)

    def staged_values(self, X: Array) -> Iterator[Array]:
        """Values (q, k) at the rows of X of the fits on the first 1, 2, …, m landmarks, one after another."""
        device = self.expansion.coefficients
        along = self.stages(X) - from_numpy(self.ridge.offsets, device)  # (q, m)
        steps = from_numpy(self.ridge.steps, device)
        constant = from_numpy(self.ridge.constant, device)
        values = array_namespace(along).zeros((along.shape[0], 1), dtype=along.dtype, **device_kwargs(along)) + constant
        for p in range(along.shape[1]):
            values = values + along[:, p : p + 1] * steps[p : p + 1, :]
            yield values


def _features(frame: Expansion, X: Rows) -> Callable[[Array], Array]:
    """Values of the frame at blocks of rows of X, which are looked at first where X is not in memory."""
    if not is_lazy(X):
        return frame
    dtype = frame.coefficients.dtype
    return lambda rows: frame(
        check_finite_block("Least squares on landmarks", as_points(rows).astype(dtype, copy=False))
    )


def _over_blocks(function: Callable[..., Any], frame: Expansion, arrays: tuple) -> Any:
    """Sum function(rows, targets, weights) over blocks of rows that are tall against the frame."""
    size = max(BLOCK_ROWS * (len(frame) + 1), block_shape(frame.coefficients, len(frame))[0])
    return sum_rows(function, *arrays, rows=size, device_of=frame.coefficients)
