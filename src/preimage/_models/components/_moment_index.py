"""Moments of projections, and how they change along great circles of directions."""

from dataclasses import dataclass
from functools import cache
from math import comb, prod

import numpy as np

from preimage._engine.arrays import integer_power

# Angles on a great circle at which a moment is looked at first. It has at most 2p extremes there, so that for moments
# of order eight they are four steps apart; with half as many angles, a lower one of two neighbours may be taken.
ANGLES = 64
# Newton steps from the best of these: each doubles the digits, of which the first two are there.
NEWTON_STEPS = 5


@dataclass(frozen=True)
class MomentIndex:
    """How far the moment of order p of a variable of variance one is from that of a Gaussian.

    Parameters
    ----------
    order : int ≥ 3
        Three is skewness, four is kurtosis.
    extreme : {"both", "largest", "smallest"}
        What is to be large: the modulus of the difference, the difference, or minus the difference.
    """

    order: int = 4
    extreme: str = "both"

    @property
    def gaussian(self) -> float:
        """The moment of a Gaussian variable of variance one: (p − 1)!! for an even order."""
        return 0.0 if self.order % 2 else float(prod(range(1, self.order, 2)))

    def objective(self, moments: np.ndarray) -> np.ndarray:
        """What is to be maximised, from moments E[yᵖ]."""
        difference = moments - self.gaussian
        return np.abs(difference) if self.extreme == "both" else self._sign * difference

    def signs(self, moments: np.ndarray) -> np.ndarray:
        """The sign with which the moment itself should grow."""
        if self.extreme != "both":
            return np.full_like(moments, self._sign)
        return np.where(moments >= self.gaussian, 1.0, -1.0)

    def score(self, Y: np.ndarray, signs: np.ndarray) -> float:
        """The mean over columns, scaled to variance one, of the moment less that of a Gaussian, with given signs."""
        Y = Y - Y.mean(axis=0)
        deviations = np.sqrt(np.mean(Y * Y, axis=0))
        if not np.all(deviations > 0):
            raise ValueError(
                f"Moments of {len(Y)} rows that have the same feature values are undefined; give two different rows at "
                "least, better some hundreds."
            )
        moments = np.mean(integer_power(Y / deviations, self.order), axis=0)
        return float(np.mean(signs * (moments - self.gaussian)))

    @property
    def _sign(self) -> float:
        return -1.0 if self.extreme == "smallest" else 1.0


class GreatCircles:
    """Objectives along great circles cos θ·w + sin θ·d, one per column of mixed moments.

    Where `both`, the objective is the sum of those of this direction and of the one a right angle further. The moment
    is a trigonometric polynomial of degree p in θ, which its values on a grid determine.

    Parameters
    ----------
    index : MomentIndex
    mixed : array of shape (p + 1, S)
        E[(w·z)^{p−a} (d·z)^a] for a = 0 … p.
    both : boolean array of shape (S,), optional
        None is False for all.
    """

    def __init__(self, index: MomentIndex, mixed: np.ndarray, both: np.ndarray | None = None) -> None:
        self.index = index
        self.both = None if both is None or not both.any() else both.astype(float)
        self.grid, terms, waves = _grid(index.order)
        values = terms @ mixed  # (ANGLES, S)
        # Coefficients of exp(ikθ) for k = 0 … p; the real part of their sum is the moment.
        self.coefficients = waves @ values
        self.frequencies = np.arange(index.order + 1)[:, None]
        objective = index.objective(values)
        self.on_grid = objective if self.both is None else objective + self.both * np.roll(objective, -ANGLES // 4, 0)

    def objective(self, angles: np.ndarray) -> np.ndarray:
        """The objective at one angle per circle."""
        value = self.index.objective(self._derivatives(angles)[0])
        if self.both is None:
            return value
        return value + self.both * self.index.objective(self._derivatives(angles + np.pi / 2)[0])

    def refined(self, angles: np.ndarray) -> np.ndarray:
        """Newton steps to the top near one angle per circle, at most a step of the grid away."""
        start, reach = angles, 2 * np.pi / ANGLES
        for _ in range(NEWTON_STEPS):
            first, second = self._of_objective(angles)
            if self.both is not None:
                of_other = self._of_objective(angles + np.pi / 2)
                first, second = first + self.both * of_other[0], second + self.both * of_other[1]
            is_top = second < 0
            step = np.where(is_top, -first / np.where(is_top, second, -1.0), 0.0)
            angles = np.clip(angles + step, start - reach, start + reach)
        return angles

    def _of_objective(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivative of the objective of one direction."""
        value, first, second = self._derivatives(angles)
        signs = self.index.signs(value)
        return signs * first, signs * second

    def _derivatives(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The moment, its first and its second derivative."""
        waves = np.exp(1j * self.frequencies * angles) * self.coefficients
        first = 1j * self.frequencies * waves
        return waves.sum(axis=0).real, first.sum(axis=0).real, -(self.frequencies**2 * waves).sum(axis=0).real


@cache
def _grid(order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles, powers of their cosines and sines with binomials, and the waves that find Fourier coefficients."""
    grid = -np.pi + 2 * np.pi / ANGLES * np.arange(1, ANGLES + 1)
    cosine, sine = np.cos(grid), np.sin(grid)
    terms = np.stack([comb(order, a) * cosine ** (order - a) * sine**a for a in range(order + 1)], axis=1)
    frequencies = np.arange(order + 1)[:, None]
    return grid, terms, np.where(frequencies == 0, 1.0, 2.0) / ANGLES * np.exp(-1j * frequencies * grid)


def mixed_moments(Y: np.ndarray, V: np.ndarray, omega: np.ndarray, order: int) -> np.ndarray:
    """Weighted sums of Y^{p−a} V^a for a = 0 … p, shape (p + 1, columns)."""
    powers_of_y, powers_of_v = _powers(Y, order), _powers(V, order)
    return np.stack([omega @ (powers_of_y[order - a] * powers_of_v[a]) for a in range(order + 1)])


def _powers(Y: np.ndarray, order: int) -> list[np.ndarray]:
    """Y⁰ … Yᵖ by products, which are many times faster than powers."""
    powers = [np.ones_like(Y), Y]
    while len(powers) <= order:
        powers.append(powers[-1] * Y)
    return powers
