"""Errors of regressions of inputs on coordinates, each row predicted from all others, in closed form."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preimage._engine.validation import generator
from preimage.kernels import Kernel

# Ridges as multiples of the mean of l(β, β). A wide Gaussian carries its curvature in eigenvalues of (1/width)², far
# below one; below 1e-15 nothing is left of the ridge in double precision.
RIDGES = np.logspace(-15, 1, 17)
# Largest relative error of predictions that rounding may cause, so that data in memory, in chunks and on devices give
# the same map. It is an upper bound; errors that were observed are a thirtieth of it. With ten times more, maps of the
# same data in chunks differ visibly.
ROUNDING = 1e-8
# Directions of coordinates that are shorter than this fraction of the longest are rounding errors.
SHORTEST = 1e-10
# Columns in which errors are measured: that many random combinations of the inputs have the same squared lengths on
# average, and sums over some hundred rows agree to 3 %; differences between candidates agree better still.
MEASURED_COLUMNS = 16
EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


class LinearFit:
    """The linear regression of X on Y by a thin singular value decomposition; both of n rows, without their means.

    With a ridge λ the map is A = V diag(s/(s² + λ)) Uᵀ X. Directions of rounding errors are left out.
    """

    def __init__(self, Y: np.ndarray, X: np.ndarray) -> None:
        left, lengths, right = np.linalg.svd(Y, full_matrices=False)
        kept = lengths > SHORTEST * max(float(lengths[0]), TINY)
        self.left, self.lengths, self.right = left[:, kept], lengths[kept], right[kept]
        self.projected = self.left.T @ X

    def map(self, ridge: float = 0.0) -> np.ndarray:
        """A, shape (k, d)."""
        return self.right.T @ ((self.lengths / (self.lengths**2 + ridge))[:, None] * self.projected)

    def weights(self, ridge: float = 0.0) -> np.ndarray:
        """W with A = Yᵀ W, shape (n, d): those of kernel ridge regression with the linear kernel, less null vectors."""
        return self.left @ ((1 / (self.lengths**2 + ridge))[:, None] * self.projected)


@dataclass(frozen=True)
class _Projection:
    """A regression on orthonormal columns Q, and what it leaves of X. `asked` has the columns at other coordinates.

    Without row i, residuals ρᵢ = rᵢ/(1 − hᵢᵢ) of that row are those of a regression that has not seen it.
    """

    Q: np.ndarray
    asked: np.ndarray
    X: np.ndarray

    @cached_property
    def left(self) -> np.ndarray:
        return self.X - self.Q @ (self.Q.T @ self.X)

    @cached_property
    def residuals(self) -> np.ndarray:
        return self.left / np.maximum(1 - np.sum(self.Q**2, axis=1), EPS)[:, None]

    @cached_property
    def errors(self) -> np.ndarray:
        """xᵢ less the prediction at the coordinates that are asked for."""
        seen = np.sum(self.Q * self.asked, axis=1)[:, None]
        return self.X - self.asked @ (self.Q.T @ self.X) + seen * self.residuals


class LeftOutRows:
    """Squared errors at each of m rows of regressions of X on Y that are learned from the other rows.

    They are asked at coordinates Z, which may differ from Y: those that the rows have if they are new. With `center`
    deviations from means are regressed, each mean without the row that is left out.
    """

    def __init__(self, Y: np.ndarray, Z: np.ndarray, X: np.ndarray, center: bool) -> None:
        m = len(Y)
        shift = Y.mean(axis=0) if center else np.zeros(Y.shape[1])
        self.X, self.fit = X, LinearFit(Y - shift, X)
        self.mean_square = max(float(np.mean(np.sum((Y - shift) ** 2, axis=1))), TINY)
        ones = np.full((m, 1 if center else 0), m**-0.5)
        self.asked = (Z - shift) @ self.fit.right.T / self.fit.lengths
        self.mean = _Projection(ones, ones, X)
        self.linear = _Projection(np.hstack([ones, self.fit.left]), np.hstack([ones, self.asked]), X)

    def linear_errors(self, ridges: np.ndarray) -> np.ndarray:
        """Of linear maps, shape (ridges, rows)."""
        left, ones = self.fit.left, self.mean.Q
        gains = self.fit.lengths**2 / (self.fit.lengths**2 + ridges[:, None])
        about = np.sum(ones**2, axis=1)
        levers, seen = about + gains @ (left**2).T, about + gains @ (left * self.asked).T
        deviations = self.mean.left
        residuals = deviations - (left * gains[:, None, :]) @ self.fit.projected
        residuals *= (seen / np.maximum(1 - levers, EPS))[:, :, None]
        return np.sum((deviations - (self.asked * gains[:, None, :]) @ self.fit.projected + residuals) ** 2, axis=2)

    def kernel_errors(self, L: np.ndarray, alone: np.ndarray, after: np.ndarray, ridges: np.ndarray) -> np.ndarray:
        r"""Of kernel ridge regressions, alone and after a linear map, shape (..., 2, ridges, rows).

        With :math:`G = (L + \lambda I)^{-1}`, weights without row i are :math:`G - G e_i e_i^\top G / G_{ii}` times
        what a projection Q without that row leaves, :math:`R + Q Q^\top e_i \rho_i^\top`. All ridges have the
        eigenvectors of L in common. Infinite for ridges whose weights would amplify rounding errors.

        Parameters
        ----------
        L : array of shape (..., m, m)
            Kernel values of the rows, of one or several kernels.
        alone, after : arrays of shape (..., m, m)
            Those of the coordinates at which each row is asked, with the rows, for either regression.
        ridges : array of shape (ridges,)
        """
        values, V = np.linalg.eigh(L)
        # Eigenvalues below zero are rounding errors of a semidefinite matrix.
        inverse = 1 / (np.maximum(values, 0.0)[..., None, :] + ridges[:, None])  # (..., ridges, m)
        over = lambda left, right: inverse @ np.swapaxes(left * right, -1, -2)  # diagonals of left diag(inverse) rightᵀ
        largest, total = float(np.max(np.diagonal(L, axis1=-2, axis2=-1))), float(np.sum(self.X**2))
        own, found = over(V, V), []
        for stage, at_asked in ((self.mean, alone), (self.linear, after)):
            B = at_asked @ V
            ratio, moved = over(B, V) / own, stage.Q @ (stage.Q.T @ V)
            projected = np.swapaxes(V, -1, -2) @ stage.left
            # One ridge at a time: square matrices for all of them together would take tens of megabytes.
            weighted = [
                ((B - ratio[..., r, :, None] * V) * inverse[..., r, None, :]) @ projected for r in range(ridges.size)
            ]
            shared = over(B, moved) - ratio * over(V, moved)
            errors = stage.errors - np.stack(weighted, axis=-3) - shared[..., None] * stage.residuals
            squares = np.sum(errors**2, axis=-1)
            sound = sound_ridges(values, np.sum(projected**2, axis=-1), ridges, largest, total=total)
            found.append(np.where(sound[..., None] & np.isfinite(squares), squares, np.inf))
        return np.stack(found, axis=-3)


def measured_columns(X: np.ndarray) -> np.ndarray:
    """X, or random combinations of its columns where they are many: squared lengths of differences agree on average."""
    if X.shape[1] <= 2 * MEASURED_COLUMNS:
        return X
    mixing = generator(0).normal(scale=MEASURED_COLUMNS**-0.5, size=(X.shape[1], MEASURED_COLUMNS))
    return X @ mixing


def mean_diagonal(kernel: Kernel, coordinates: np.ndarray) -> float:
    """The mean of l(β, β), in which ridges are measured."""
    return max(float(np.mean(kernel.diagonal(coordinates))), TINY)


def sound_ridges(
    values: np.ndarray,
    lengths: np.ndarray,
    ridges: np.ndarray,
    largest: float,
    rounding: float = ROUNDING,
    total: float | None = None,
) -> np.ndarray:
    """Which ridges give weights whose cancellation does not amplify rounding errors beyond `rounding`.

    Rounding errors of coordinates and of kernel values are multiplied by the size of the weights. `values` are
    eigenvalues of the kernel matrix, `lengths` the squared lengths of the outputs along its eigenvectors, of one or
    several matrices; `largest` the largest kernel value, `rounding` the largest error relative to √`total`, by default
    √Σ lengths.
    """
    raised = np.maximum(values, 0.0)[..., None, :] + ridges[:, None]
    weights = np.sqrt(np.sum(lengths[..., None, :] / raised**2, axis=-1))
    noise = EPS * values.shape[-1] * largest * weights
    return noise <= rounding * np.sqrt(np.sum(lengths) if total is None else total)
