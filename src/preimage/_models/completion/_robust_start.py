"""Where the descent for rows with gross errors starts, and the scale of their residuals."""

from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import array_namespace, is_host, itemsize, take_rows, to_dense
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage._models.completion._neighborhoods import Neighborhoods
from preimage.descent import TILE_BYTES, spread

# Points that starts are averaged from. Every entry of each is compared with every entry of a row: ten times as many
# take longer than the descent, and on digits a thousand are as good as all.
MOST_POINTS = 1000
# The same for rows of many columns, in numbers of all points: 32 MiB in float64, of which a block holds a few copies.
MOST_NUMBERS = 2**22
# The nearest points in the sum of absolute differences, whose mean gives the first residuals.
NEAREST = 10
# The scale is that of the smaller residuals, up to this fraction of the known entries: gross errors may be the rest.
TRUSTED_FRACTION = 0.75
# Root mean square of these times this number is the scale: 1 if a quarter of the entries are gross errors, as where
# whole neighbourhoods are wrong, and 1.65 if none are and residuals are normal; in between where nothing is known.
CONSISTENCY, CONSISTENCY_OF_MEANS = 1.3, 1.0
# Averages weigh a point by exp(−number of entries that are further from it than so many scales). A single point is off
# by more than the mean of ten, which gave the scale; means over neighbourhoods are off by less. Half and twice as much
# raise errors of digits with gross errors by a tenth to a half.
START_SCALE, START_SCALE_OF_MEANS = 2.0, 1.0
# Scales are at least this fraction of the root mean squared deviation of a column: rows that repeat a point have none.
SMALLEST_SCALE = 1e-3
# Bytes of a block on a device, of rows × points × columns.
DEVICE_BYTES = 2**28


@dataclass(frozen=True)
class RobustStart:
    """Averages of points that agree with most entries of a row.

    Attributes
    ----------
    points : array of shape (m, d)
    neighborhoods : Neighborhoods
    least : float
        The smallest scale.
    """

    points: Array
    neighborhoods: Neighborhoods
    least: float

    @classmethod
    def of(cls, points: Array, neighborhoods: Neighborhoods) -> "RobustStart":
        """From at most `MOST_POINTS` of the points, evenly spaced; fewer where rows are long."""
        n = points.shape[0]
        most = max(NEAREST, min(MOST_POINTS, MOST_NUMBERS // points.shape[1]))
        if n > most:
            points = take_rows(points, np.unique(np.linspace(0, n - 1, most).astype(int)))
        points = to_dense(points)
        return cls(points, neighborhoods, SMALLEST_SCALE * spread(points) / points.shape[1] ** 0.5)

    def at(self, X: Array, known: Array, scale: float | Array | None) -> tuple[Array, Array]:
        """Starts and scales, both of shape (q, d), of rows X with `known` entries (1.0 or 0.0).

        `scale` is a number, one per column or one per entry; None finds one per row.
        """
        xp, (n, d) = array_namespace(X), self.points.shape
        size = TILE_BYTES if is_host(X) else DEVICE_BYTES
        rows = max(1, size // (itemsize(X.dtype) * n * d))
        if scale is None:
            found = map_rows(lambda block, here: self._scales(block, here), X, known, rows=rows)
        else:
            found = xp.zeros_like(X) + scale
        return map_rows(self._starts, X, known, found, rows=rows), found

    def nearest_means(self, X: Array, known: Array) -> Array:
        """Means of the points nearest to each row in the sum of absolute differences, shape (q, d)."""
        n, d = self.points.shape
        size = TILE_BYTES if is_host(X) else DEVICE_BYTES
        return map_rows(self._nearest_means, X, known, rows=max(1, size // (itemsize(X.dtype) * n * d)))

    def _differences(self, X: Array, known: Array) -> Array:
        return known[:, None, :] * (X[:, None, :] - self.points[None, :, :])

    def _nearest_means(self, X: Array, known: Array) -> Array:
        xp = array_namespace(X)
        distances = xp.sum(xp.sqrt(self.neighborhoods.averages(self._differences(X, known) ** 2)), axis=2)
        count = min(NEAREST, self.points.shape[0])
        limit = xp.sort(distances, axis=1)[:, count - 1 : count]
        nearest = xp.astype(distances <= limit, X.dtype)
        return nearest @ self.points / xp.sum(nearest, axis=1, keepdims=True)

    def _scales(self, X: Array, known: Array) -> Array:
        found = self._scale(known * (X - self._nearest_means(X, known)), known)
        return array_namespace(X).zeros_like(X) + found[:, None]

    def _starts(self, X: Array, known: Array, scale: Array) -> Array:
        xp = array_namespace(X)
        width = scale * (START_SCALE if self.neighborhoods.matrix is None else START_SCALE_OF_MEANS)
        squares = self.neighborhoods.averages((self._differences(X, known) / width[:, None, :]) ** 2)
        disagreeing = xp.sum(1 - xp.exp(-squares / 2), axis=2)
        weights = xp.exp(xp.min(disagreeing, axis=1, keepdims=True) - disagreeing)
        return weights @ self.points / xp.sum(weights, axis=1, keepdims=True)

    def _scale(self, residuals: Array, known: Array) -> Array:
        """The robust deviation of the known residuals of each row."""
        xp = array_namespace(residuals)
        unknown = xp.full_like(residuals, float(xp.finfo(residuals.dtype).max))
        squares = xp.sort(xp.where(known > 0, residuals**2, unknown), axis=1)
        kept = xp.ceil(TRUSTED_FRACTION * xp.sum(known, axis=1, keepdims=True))
        numbers = xp.cumulative_sum(xp.ones_like(squares), axis=1)
        total = xp.sum(xp.where(numbers <= kept, squares, xp.zeros_like(squares)), axis=1)
        factor = CONSISTENCY if self.neighborhoods.matrix is None else CONSISTENCY_OF_MEANS
        found = factor * xp.sqrt(total / xp.clip(kept[:, 0], min=1.0))
        return xp.clip(found, min=self.least)
