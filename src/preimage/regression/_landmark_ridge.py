"""Ridge regression on the images of landmarks, for every number of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._arrays import from_numpy, to_numpy
from preimage._linalg import rank_tolerance
from preimage._rows import block_shape, sum_rows
from preimage._typing import Array
from preimage.feature_space import Expansion, Gram, GrowingSpan
from preimage.kernels import Kernel
from preimage.regression._least_squares import LeastSquares, Ridge

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
        X: Array,
        Y: np.ndarray,
        weights: np.ndarray | None,
        *,
        alpha: float | str | np.ndarray,
        intercept: bool,
    ) -> LandmarkRidge:
        """Least squares of targets Y (n, k) at the rows of X on the images of points, by QR in a nested frame  (G15).

        Parameters
        ----------
        alpha : float, "loo" or array of floats
            A penalty, or candidates of which the one with the smallest leave-one-out error is taken.
        intercept : bool
            Whether a constant is fitted, which is not penalised.
        """
        frame = nested_frame(kernel, points)
        device = frame.coefficients
        problem = _over_blocks(
            lambda rows, targets, w: LeastSquares.of(
                frame(rows),
                from_numpy(targets, device),
                None if w is None else from_numpy(w, device),
                intercept=intercept,
            ),
            frame,
            (X, Y, weights),
        )
        alphas = errors = None
        if not isinstance(alpha, float):
            # The grid is relative to the largest squared singular value, so it does not depend on the scale of the
            # kernel.
            alphas = LOO_GRID * problem.spectrum[0][0] ** 2 if isinstance(alpha, str) else alpha
            # A second pass over the data: leave-one-out residuals need the leverages, which are known when the factor
            # is.
            errors = _over_blocks(
                lambda rows, targets, w: problem.leave_one_out(
                    to_numpy(frame(rows)).astype(np.float64), targets, w, alphas
                ),
                frame,
                (X, Y, weights),
            )
            errors = errors / (Y.shape[1] * problem.count)
            alpha = float(alphas[int(np.argmin(errors))])
        ridge = problem.ridge(alpha)
        # From coordinates in the nested frame to coefficients of the images of points.
        coefficients = to_numpy(frame.coefficients).astype(np.float64) @ ridge.coefficients
        return cls(
            Expansion(kernel, points, from_numpy(coefficients, device)),
            from_numpy(ridge.intercept, device),
            ridge,
            frame @ from_numpy(ridge.directions, device),
            ridge.alpha,
            alphas,
            errors,
        )

    def staged_values(self, X: Array) -> Iterator[Array]:
        """Values (q, k) at the rows of X of the fits on the first 1, 2, …, m landmarks, one after another."""
        device = self.expansion.coefficients
        along = self.stages(X) - from_numpy(self.ridge.offsets, device)  # (q, m)
        steps = from_numpy(self.ridge.steps, device)
        values = 0 * along[:, :1] + from_numpy(self.ridge.constant, device)
        for p in range(along.shape[1]):
            values = values + along[:, p : p + 1] * steps[p : p + 1, :]
            yield values


def _over_blocks(function: Callable[..., Any], frame: Expansion, arrays: tuple) -> Any:
    """Sum function(rows, targets, weights) over blocks of rows that are tall against the frame."""
    size = max(BLOCK_ROWS * (len(frame) + 1), block_shape(frame.coefficients, len(frame))[0])
    return sum_rows(function, *arrays, rows=size, device_of=frame.coefficients)
