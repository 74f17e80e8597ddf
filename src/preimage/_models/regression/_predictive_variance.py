"""How far targets may be from functions fitted on landmarks: Gaussian process variances, and left-out residuals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from preimage._engine.arrays import array_namespace, from_numpy, in_double, in_precision, itemsize, to_numpy
from preimage._engine.rows import block_shape, map_rows
from preimage._engine.typing import Array
from preimage._models.regression._landmark_ridge import BLOCK_ROWS, LandmarkRidge, nested_frame
from preimage.feature_space import Expansion
from preimage.kernels import Kernel

# Rows whose left-out residuals are looked at. The fraction of targets within 90 % intervals then has a standard error
# of half a point, and a fit on many rows takes hardly longer; ten times as many would be a second fit.
MOST_ROWS = 4096
# Quantiles of residuals that are kept: those of 99.8 % intervals are among them.
MOST_QUANTILES = 999
# Rows with leverages above one minus this are fitted as they are: what is left of their residuals, and of the
# difference by which it is divided, has lost half of its digits.
DETERMINED = 1e-8
# Fraction of landmarks up to which they are left out where left-out residuals are compared with what new rows have:
# of a landmark the span has everything. Where they are more, the other rows are those that the selection found easy.
FEW_LANDMARKS = 0.1
# Log-likelihood that an amplitude may lose against the best one: half of the 95 % quantile of χ² with one degree.
TOLERANCE = 1.92
# What landmarks leave of k(x, x) counts as nothing below this fraction of it, by bytes per kernel value: a hundred
# times more than rounding errors. Without penalty the amplitude is huge, and would make deviations of them.
NOTHING_LEFT = {8: 1e-11, 4: 1e-5}
# Factor between the amplitudes that are tried, and the fraction of the noise below which they do not matter.
STEP, NEGLIGIBLE = 10**0.25, 1e-3
ROUNDING = 1e-9


@dataclass(frozen=True)
class PredictiveVariance:
    r"""Variances of functions on landmarks at new rows, and quantiles of the residuals of left-out rows.

    Ridge regression is the mean of a Gaussian process with the covariance :math:`a \tilde K`, noise of the variance
    :math:`\sigma^2` and :math:`\alpha = \sigma^2 / a`. With what landmarks leave of the kernel, its variance is

    .. math:: \operatorname{var} f(x) = \sigma^2 \bigl(1 / n + \|U^{-\top} (g(x) - \bar g)\|^2 + \varrho\, r(x)\bigr),
        \qquad r(x) = k(x, x) - \|g(x)\|^2

    (G27), with coordinates g along an orthonormal frame of the landmarks and :math:`U^\top U` their scatter plus α. All
    that a prediction needs of it is in the factor of the fit.

    Attributes
    ----------
    fitted : LandmarkRidge
    base : float
        1/n, n the sum of the weights; zero without an intercept.
    noise : array of shape (k,)
        σ² of each target.
    ratios : array of shape (k,)
        ϱ, at most 1/α.
    quantiles : array of shape (s, k)
        Of left-out residuals in units of their standard deviations: the s ones that cut s + 1 equal parts.
    """

    fitted: LandmarkRidge
    base: float
    noise: np.ndarray
    ratios: np.ndarray
    quantiles: np.ndarray

    @classmethod
    def of_left_out(
        cls,
        fitted: LandmarkRidge,
        X: Array,
        Y: np.ndarray,
        weights: np.ndarray | None,
        *,
        total: float,
        intercept: bool,
        is_landmark: np.ndarray,
    ) -> PredictiveVariance | None:
        r"""Noise, amplitude and quantiles by what rows of the fit are when they are left out.

        Without row i the residual is :math:`e_i / (1 - h_i)`, and by (G27) its variance is :math:`\sigma^2 q_i`,
        :math:`q_i = 1 + l_i / (1 - h_i) + \varrho\, r_i`, with :math:`l_i` the first two terms and
        :math:`h_i = w_i l_i` the leverage. So :math:`\sigma^2` is the mean of :math:`e_i^2 / ((1 - h_i)^2 q_i)`, for
        any ϱ. A prior of the amplitude :math:`\sigma^2 / \alpha` means ϱ = 1/α. Where few landmarks span so little that
        hardly any penalty is needed, α says nothing of the functions outside of the span, and ϱ is the largest number
        below which the likelihood of the residuals does not contradict.

        Parameters
        ----------
        fitted : LandmarkRidge
        X : array of shape (n, d)
            All rows of the fit, or a sample of them.
        Y : array of shape (n, k)
        weights : array of shape (n,) or None
            Positive.
        total : float
            Sum of the weights of all rows.
        intercept : bool
            Whether the fit has one.
        is_landmark : boolean array of shape (n,)

        Returns
        -------
        PredictiveVariance, or None where every function passes through its rows, whatever their targets.
        """
        nothing = np.zeros(Y.shape[1])
        base = 1 / total if intercept else 0.0
        unknown = cls(fitted, base, nothing, nothing, np.zeros((1, Y.shape[1])))
        along, left = unknown._terms(X).T
        weights = np.ones(len(along)) if weights is None else weights
        kept = 1 - weights * along
        known = kept > DETERMINED
        if np.count_nonzero(known) < 2:
            return None
        residuals = (Y - to_numpy(unknown.values(X)).astype(np.float64))[known] / kept[known, None]
        own, left, weights, is_landmark = 1 + (along / kept)[known], left[known], weights[known], is_landmark[known]
        others = ~is_landmark
        ratios = [
            _ratio(e[others] ** 2, own[others], left[others], weights[others], 1 / fitted.ridge.penalty)
            for e in residuals.T
        ]
        counted = others if np.mean(is_landmark) <= FEW_LANDMARKS else np.ones_like(others)
        weights = weights[counted] / np.sum(weights[counted])
        squares = own[counted, None] + left[counted, None] * ratios
        noise = weights @ (residuals[counted] ** 2 / squares)
        scales = np.sqrt(np.where(noise > 0, noise, 1) * squares)
        quantiles = _quantiles(np.where(noise > 0, residuals[counted] / scales, 0.0), weights)
        return cls(fitted, base, noise, np.asarray(ratios), quantiles)

    def check_fields(self) -> None:
        """Raise ValueError if the fields, which may come from a file, do not belong together."""
        k = len(self.fitted.expansion)
        shapes = self.noise.shape == self.ratios.shape == (k,) and self.quantiles.shape[1:] == (k,)
        numbers = np.concatenate([self.noise, self.ratios, [self.base]]) if shapes else np.zeros(1)
        is_sorted = shapes and len(self.quantiles) > 0 and bool(np.all(np.diff(self.quantiles, axis=0) >= 0))
        if not (is_sorted and np.all(np.isfinite(numbers)) and numbers.min() >= 0):
            raise ValueError(
                f"The variances of {k} functions need as many variances of noise and ratios, none negative, and rising "
                "quantiles."
            )

    def values(self, X: Array) -> Array:
        """Values of the functions at the rows of X, shape (q, k)."""
        of_block = lambda rows: self.fitted.expansion(rows) + self.fitted.intercept
        device = self.fitted.expansion.coefficients
        return map_rows(of_block, X, rows=self._block_rows, device_of=device)

    def deviations(self, X: Array, diagonal: np.ndarray | None = None, *, with_noise: bool = False) -> Array:
        """Standard deviations of the functions at the rows of X, or of new targets there; shape (q, k).

        Computed in double precision, whatever the model has: the last term of a variance is a difference. `diagonal`
        gives k(x, x) for kernels that do not know it.
        """
        device = self.fitted.expansion.coefficients
        own = float(with_noise)

        def of_block(rows: Array, diagonal: np.ndarray | None) -> Array:
            xp, terms = array_namespace(device), self._block_terms(rows, diagonal)
            inside = (terms[:, :1] + own) * from_numpy(self.noise, terms)
            squares = inside + terms[:, 1:] * from_numpy(self.noise * self.ratios, terms)
            return in_precision(xp.sqrt(squares), device.dtype)

        return map_rows(of_block, X, diagonal, rows=self._block_rows, device_of=device)

    def interval(self, coverage: float) -> np.ndarray:
        """Quantiles between which the fraction `coverage` of standardised residuals lies, as much beyond each of them.

        Shape (2, k). Of few residuals the outermost ones bound less than that; then quantiles of Student's
        distribution are taken, where they are farther away.
        """
        s, tail = len(self.quantiles), (1 - coverage) / 2
        rank = int(np.floor(tail * (s + 1) + ROUNDING))
        if rank >= 1:
            return np.stack([self.quantiles[rank - 1], self.quantiles[s - rank]])
        beyond = float(stdtrit(s, 1 - tail))
        return np.stack([np.minimum(self.quantiles[0], -beyond), np.maximum(self.quantiles[-1], beyond)])

    @cached_property
    def _vectors(self) -> Expansion:
        """Directions of the fit, and after them its frame, to be evaluated in double precision.

        The frame is made anew, which takes less time than a fit, and files need not hold it. It is that of the fit, in
        the same precision: what its directions do not contain is left of the kernel, and nothing else.
        """
        stages = self.fitted.stages
        frame = nested_frame(stages.kernel, stages.points)
        both = [in_double(stages.coefficients), in_double(frame.coefficients)]
        return Expansion(
            stages.kernel, _doubled(stages.kernel, stages.points), array_namespace(both[0]).concat(both, axis=1)
        )

    @property
    def _block_rows(self) -> int:
        device = self.fitted.expansion.coefficients
        return max(BLOCK_ROWS * (len(self.fitted.stages) + 1), block_shape(device, len(self.fitted.stages))[0])

    def _block_terms(self, rows: Array, diagonal: np.ndarray | None = None) -> Array:
        """What the directions of the fit make of the noise, and what landmarks leave of the kernel; shape (q, 2)."""
        rows = _doubled(self._vectors.kernel, rows)
        values = self._vectors(rows)
        xp, m = array_namespace(values), len(self.fitted.stages)
        along, coordinates = values[:, :m] - from_numpy(self.fitted.ridge.offsets, values), values[:, m:]
        kernel = self._vectors.kernel
        known = in_double(kernel.diagonal(rows) if diagonal is None else from_numpy(diagonal, values))
        left = known - xp.sum(coordinates * coordinates, axis=1)
        rounding = NOTHING_LEFT[itemsize(kernel.value_type(self.fitted.stages.points))] * known
        left = xp.where(left > rounding, left, xp.zeros_like(left))
        return xp.stack([xp.sum(along * along, axis=1) + self.base, left], axis=1)

    def _terms(self, X: Array) -> np.ndarray:
        device = self.fitted.expansion.coefficients
        return to_numpy(map_rows(self._block_terms, X, rows=self._block_rows, device_of=device)).astype(np.float64)


def _doubled(kernel: Kernel, X: Array) -> Array:
    return X if kernel.points_are_row_numbers else in_double(X)


def _ratio(squares: np.ndarray, own: np.ndarray, left: np.ndarray, weights: np.ndarray, largest: float) -> float:
    """The largest ϱ, at most `largest`, that the likelihood of squared left-out residuals does not contradict."""
    total = float(weights.sum())
    if not total or not weights @ squares or not weights @ left:
        return largest
    effective = total**2 / float(weights @ weights)
    smallest = NEGLIGIBLE * total / float(weights @ left)
    steps = int(max(np.ceil(np.log(largest / smallest) / np.log(STEP)), 0.0)) if largest > smallest else 0
    candidates = np.append(largest / STEP ** np.arange(steps + 1), 0.0)
    costs = []
    for ratio in candidates:
        q = own + ratio * left
        costs.append(weights @ np.log(q) / total + np.log(weights @ (squares / q) / total))
    losses = effective / 2 * (np.asarray(costs) - np.min(costs))
    return float(candidates[np.argmax(losses <= TOLERANCE)])


def _quantiles(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The s quantiles that cut s + 1 equal parts, shape (s, k): all values where they are few and have equal weights.

    Of several values that would do, the one farther away from the middle; a new value has a rank of its own.
    """
    effective = float(weights.sum()) ** 2 / float(weights @ weights)
    s = int(np.clip(np.floor(effective + ROUNDING), 1, MOST_QUANTILES))
    levels = np.arange(1, s + 1) / (s + 1)

    def upper(column: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        order = np.argsort(column, kind="stable")
        ranks = np.cumsum(weights[order]) / (weights.sum() * (1 + 1 / effective))
        return column[order][np.minimum(np.searchsorted(ranks, wanted - ROUNDING), len(order) - 1)]

    found = []
    for column in values.T:
        high = upper(column, levels)
        found.append(np.where(levels < 0.5, -upper(-column, 1 - levels), high))
    return np.stack(found, axis=1)
