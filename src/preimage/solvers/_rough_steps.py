"""First steps of the fixed point of a Gaussian, in single precision and with as few calls as possible."""

from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import epsilon
from preimage._engine.rows import ThreadBuffer, cut
from preimage.kernels import Gaussian
from preimage.solvers._blocks import tile_rows

# Steps, at most: fixed points that take more are so flat that rounding errors of single precision lead them astray.
MOST_STEPS = 30
# Fraction of the problems of a batch that must have come to rest before the others are copied to a smaller batch.
WORTH_LEAVING = 0.2
# Points × columns from which rough steps gain time, about half of it; below a fifth of this they gain nothing. The
# number of problems does not count, so that results do not depend on how many are solved together.
FEWEST_NUMBERS = 5000


@dataclass(frozen=True)
class RoughResult:
    """Points near fixed points, in double precision; steps taken; values at the starts, less their rounding errors.

    A result that a descent in double precision finds from such a point is no higher than the start if its value is
    below `safe_values`.
    """

    points: np.ndarray
    n_iter: np.ndarray
    safe_values: np.ndarray


class RoughSteps:
    r"""Plain steps :math:`z \leftarrow (\sum_i w_i k(x_i, z) x_i + \mu a) / (\sum_i w_i k(x_i, z) + \mu)`.

    Neither objectives nor signs are looked at, so that a step is a dozen calls: threads wait for each other between
    calls, and with the safeguarded descent sixteen of them were slower than four. Whoever asks compares the end with
    the start.

    Parameters
    ----------
    kernel : Gaussian
    points : NumPy array of shape (n, d)
    penalty : float
        λ; the μ of the formula is λ/(2γ).
    size, tol : float
        A problem rests when its step is shorter than `tol · size`.
    """

    def __init__(self, kernel: Gaussian, points: np.ndarray, penalty: float, size: float, tol: float) -> None:
        n = points.shape[0]
        self.gamma, self.penalty = float(kernel.gamma), float(penalty)
        self.center = points.mean(axis=0)
        centered = (points - self.center).astype(np.float32)
        # With the inputs about their mean, k(x, z) = exp(2γ z·x − γ‖x‖²) exp(−γ‖z‖²): a product and one exponential.
        self.right = np.concatenate([centered.T, -self.gamma * np.sum(centered * centered, axis=1)[None, :]])
        self.right = np.ascontiguousarray(self.right, np.float32)
        self.points_and_ones = np.concatenate([centered, np.ones((n, 1), np.float32)], axis=1)
        self.shortest = (max(tol, 16 * epsilon(np.dtype(np.float32))) * size) ** 2
        self.most = tile_rows(n, centered) or 1
        self.tile = ThreadBuffer(self.most, n, np.dtype(np.float32))

    def __call__(self, W: np.ndarray, start: np.ndarray, anchor: np.ndarray) -> RoughResult:
        """Steps of the problems with coefficients W (q, n) from their starts (q, d)."""
        moduli = np.abs(W).sum(axis=1)
        W, Z, anchor = W.astype(np.float32), self._centered(start), self._centered(anchor)
        found, steps, active = Z.copy(), np.zeros(len(Z), int), np.arange(len(Z))
        safe_values = np.full(len(Z), np.inf)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite is thrown away
            for number in range(MOST_STEPS):
                sums = self._sums(W, Z)
                if number == 0:
                    safe_values = self._values(sums[:, -1], Z, anchor) - self._rounding(moduli)
                new = self._fixed_points(sums, Z, anchor)
                move = new - Z
                moving = np.einsum("ij,ij->i", move, move) > self.shortest  # NaN moves no more
                Z = new
                steps[active] += 1
                if not moving.any():
                    break
                if np.count_nonzero(moving) <= (1 - WORTH_LEAVING) * len(active):
                    found[active] = Z
                    active, W, Z, anchor = active[moving], W[moving], Z[moving], anchor[moving]
        found[active] = Z
        found = found + self.center
        finite = np.isfinite(found).all(axis=1)
        return RoughResult(np.where(finite[:, None], found, start), np.where(finite, steps, 0), safe_values)

    def _centered(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.center).astype(np.float32)

    def _sums(self, W: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Σ wᵢ k(xᵢ, z) (xᵢ, 1) for every row z of Z, over exp(−γ‖z‖²), shape (q, d + 1)."""
        d = Z.shape[1]
        left, sums = np.ones((len(Z), d + 1), np.float32), np.empty((len(Z), d + 1), np.float32)
        np.multiply(Z, np.float32(2 * self.gamma), out=left[:, :d])
        for rows in cut(len(Z), self.most):
            values = self.tile.part(rows.stop - rows.start, W.shape[1])
            np.matmul(left[rows], self.right, out=values)
            np.exp(values, out=values)
            values *= W[rows]
            np.matmul(values, self.points_and_ones, out=sums[rows])
        return sums

    def _fixed_points(self, sums: np.ndarray, Z: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        if self.penalty == 0:
            return sums[:, :-1] / sums[:, -1:]  # exp(−γ‖z‖²) cancels
        sums = sums * self._decay(Z)[:, None]
        mu = np.float32(self.penalty / (2 * self.gamma))
        return (sums[:, :-1] + mu * anchor) / (sums[:, -1:] + mu)

    def _decay(self, Z: np.ndarray) -> np.ndarray:
        return np.exp(-self.gamma * np.einsum("ij,ij->i", Z, Z))

    def _values(self, sums: np.ndarray, Z: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """The objective k(z, z) − 2ψ(z) + λ‖z − a‖² for ψ(z) = exp(−γ‖z‖²) times the sums."""
        psi = (sums * self._decay(Z)).astype(float)
        return 1 - 2 * psi + self.penalty * np.sum((Z - anchor).astype(float) ** 2, axis=1)

    def _rounding(self, moduli: np.ndarray) -> np.ndarray:
        """Rounding errors of values: kernel values are at most one; exponents lose some digits, hence the factor."""
        return 64 * epsilon(np.dtype(np.float32)) * (1 + 2 * moduli)
