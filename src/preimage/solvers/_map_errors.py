"""Regressions of inputs on coordinates, and their errors at rows that are left out, in closed form."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preimage._engine.lapack import cholesky_factor, cholesky_solve
from preimage._engine.linalg import eigh_descending, rank_tolerance
from preimage._engine.threads import large_decomposition
from preimage._engine.validation import generator
from preimage._engine.warnings import unwarned
from preimage.feature_space import Gram
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
            # The columns for all ridges side by side: products with them are two of matrices.
            scaled = inverse[..., None] * projected[..., None, :, :]  # (..., ridges, m, columns)
            weighted = _side_by_side(B, scaled) - ratio[..., None] * _side_by_side(V, scaled)
            shared = over(B, moved) - ratio * over(V, moved)
            errors = stage.errors - weighted - shared[..., None] * stage.residuals
            squares = np.sum(errors**2, axis=-1)
            sound = sound_ridges(values, np.sum(projected**2, axis=-1), ridges, largest, total=total)
            found.append(np.where(sound[..., None] & np.isfinite(squares), squares, np.inf))
        return np.stack(found, axis=-3)


def _side_by_side(A: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """A times each of several matrices, shapes (..., m, m) and (..., parts, m, columns), as one product."""
    *_, count, m, columns = parts.shape
    wide = np.moveaxis(parts, -3, -2).reshape(*parts.shape[:-3], m, count * columns)
    return np.moveaxis((A @ wide).reshape(*parts.shape[:-3], m, count, columns), -2, -3)


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


# Ridges tried by leave-one-out, relative to the largest eigenvalue of the kernel matrix. Smooth maps by wide kernels
# need very small ones; below 1e-14 only rounding errors change.
LEAVE_ONE_OUT_RIDGES = np.logspace(-14, 1, 46)


def ridge_weights(kernel: Kernel, Y: np.ndarray, X: np.ndarray, ridge: float) -> np.ndarray:
    """(L + λI)⁻¹ X for the kernel matrix L of Y, shape (n, d); the pseudo-inverse where that is singular."""
    if ridge > 0:
        raised = np.require(Gram(kernel, Y).dense(), requirements=["C", "W"])
        raised.flat[:: len(raised) + 1] += ridge
        try:
            with large_decomposition(len(raised)):
                factor = cholesky_factor(raised, overwrite=True)  # in its memory: there may be no room for another
            return cholesky_solve(factor, X)
        except np.linalg.LinAlgError:
            pass  # an indefinite kernel, or a ridge below rounding
    values, vectors = eigh_descending(Gram(kernel, Y).dense())
    raised = _without_rounding(values) + ridge
    # Eigenvalues that are rounding errors have no inverse; with a ridge, however small, that is what is inverted.
    felt = np.abs(raised) > rank_tolerance(1 if ridge > 0 else len(values), raised.dtype) * np.max(np.abs(values))
    inverse = np.where(felt, 1 / np.where(felt, raised, 1.0), 0.0)
    return vectors @ (inverse[:, None] * (vectors.T @ X))


def leave_one_out_ridge(L: np.ndarray, X: np.ndarray) -> float:
    """The ridge with the smallest exact leave-one-out error."""
    ridges = LEAVE_ONE_OUT_RIDGES * max(float(np.linalg.norm(L, 2)), np.finfo(float).tiny)
    return float(ridges[int(np.argmin(leave_one_out_errors(L, X, ridges)))])


def leave_one_out_errors(L: np.ndarray, X: np.ndarray, ridges: np.ndarray, rounding: float = ROUNDING) -> np.ndarray:
    """Mean squared errors of predicting each row of X from the others, residual/(1 − hᵢᵢ), one per ridge."""
    values, vectors = eigh_descending(L)
    values = _without_rounding(values)
    projected, squares = vectors.T @ X, vectors**2
    lengths = np.sum(projected**2, axis=1)
    errors = []
    for ridge in ridges:
        # Residual and 1 − hᵢᵢ have the factor ridge/(value + ridge); as differences from one, rounding would hide them.
        lost = ridge / (values + ridge)
        errors.append(np.mean((vectors @ (lost[:, None] * projected) / (squares @ lost)[:, None]) ** 2))
    return np.where(sound_ridges(values, lengths, ridges, np.max(np.diagonal(L)), rounding), errors, np.inf)


def _without_rounding(values: np.ndarray) -> np.ndarray:
    """Eigenvalues without signs that are rounding errors; those of indefinite kernels stay."""
    noise = rank_tolerance(len(values), values.dtype) * np.max(np.abs(values))
    return np.where(np.abs(values) <= noise, np.maximum(values, 0.0), values)


# A row whose squared distance from the subspace is smaller, relative to its squared length, lies within it.
WITHIN = 1e-10
# Newton steps for one eigenvalue per row, on a function that is nearly linear there: six suffice for all digits, the
# rest are bisections where a step leaves the interval.
STEPS = 12


@unwarned()
def left_out_coordinates(K: np.ndarray, Y: np.ndarray, n: int, about_mean: bool) -> np.ndarray:
    r"""Coordinates of each row along the axes that kernel PCA would find without it, in the frame of the given axes.

    Without row i the scatter operator C becomes :math:`C - c\,aa^\top`, where a is the row less the mean and c is
    n/(n − 1), or 1 if axes do not go through the mean. It is looked at in the space of the k axes and of the direction
    in which row i leaves it; of the k + 1 eigenvectors there, kernel PCA would leave out that of the smallest
    eigenvalue μ, :math:`w \propto (\Lambda - \mu)^{-1} a` with
    :math:`c \sum_j a_j^2 / (\lambda_j - \mu) = 1`. The projection of the row is :math:`a - w w^\top a`.

    Coordinates of training rows are longer than those of new ones, the more so the more components there are; a
    regression that is judged on them seems better than it is. Coordinates of kernel PCA that is really repeated without
    the row differ from these by a tenth to a third of the change.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel values of rows.
    Y : array of shape (m, k)
        Their coordinates along principal axes.
    n : int
        Number of rows that the axes are fitted to, m or more.
    about_mean : bool
        Whether axes go through the mean.
    """
    shift = Y.mean(axis=0) if about_mean else np.zeros(Y.shape[1])
    means = K.mean(axis=0) if about_mean else np.zeros(len(K))
    inside, factor = Y - shift, n / (n - 1) if about_mean else 1.0
    left = K - means - means[:, None] + means.mean() - inside @ inside.T  # of what the axes leave
    squares = np.maximum(np.diagonal(left), 0.0)
    leaves = squares > WITHIN * (squares + np.sum(inside**2, axis=1))
    scatter = np.maximum(np.sum(inside**2, axis=0) * (n / len(Y)), TINY)
    # The scatter of all rows in the direction in which row i leaves the subspace: no larger than along the axes.
    others = np.sum(left**2, axis=1) - squares**2
    beyond = squares + (n / len(Y)) * others / np.where(leaves, squares, 1.0)
    beyond = np.where(leaves, np.minimum(beyond, np.min(scatter)), np.inf)
    row = np.concatenate([inside, np.sqrt(np.where(leaves, squares, 0.0))[:, None]], axis=1)  # (m, k + 1)
    values = np.concatenate([np.broadcast_to(scatter, inside.shape), beyond[:, None]], axis=1)
    smallest = _smallest_eigenvalues(values, factor * row**2)
    direction = row / (values - smallest[:, None])
    direction /= np.maximum(np.linalg.norm(direction, axis=1), TINY)[:, None]
    # A row within the subspace takes an axis with it only if no other row lies along it.
    alone = factor * np.sum(inside**2 / scatter, axis=1) > 1 - WITHIN
    lost = np.where(leaves | alone, np.sum(direction * row, axis=1), 0.0)
    projected = inside - lost[:, None] * direction[:, :-1]
    # About the mean of the others, and back to the mean of all.
    return shift + factor * projected - (factor - 1) * inside


def _smallest_eigenvalues(values: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """The smallest root μ ≥ 0 of Σ squares/(values − μ) = 1 for each row, by Newton steps on its reciprocal.

    The root stays between `least` and `most`.
    """
    least, most, root = np.zeros(len(values)), np.min(values, axis=1), np.zeros(len(values))
    for _ in range(STEPS):
        gaps = np.maximum(values - root[:, None], TINY)
        parts = squares / gaps
        total, slope = np.sum(parts, axis=1), np.sum(parts / gaps, axis=1)
        most, least = np.where(total > 1, root, most), np.where(total > 1, least, root)
        step = root + (1 - total) * total / np.maximum(slope, TINY)
        root = np.where((step > least) & (step < most), step, least / 2 + most / 2)
    return root
