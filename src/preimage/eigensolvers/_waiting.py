"""When an iteration looks at its residuals again."""

import math


class Waiting:
    """After how many more columns to look at residuals again, by the reduction between earlier looks.

    Residuals are taken to fall by ten with every `k/16 + 4` columns where there is no earlier value: an average over
    spectra. Looks come at three quarters of the way, because convergence only gets faster, and never later than six
    columns or a sixth of all columns after the last one.
    """

    def __init__(self, k: int) -> None:
        self.columns_per_decade = k / 16 + 4
        self._before: tuple[int, float] | None = None

    def columns(self, size: int, excess: float) -> int:
        if self._before is not None:
            decades = math.log10(max(self._before[1] / excess, 1.1))
            self.columns_per_decade = min((size - self._before[0]) / decades, 4 * self.columns_per_decade)
        self._before = size, excess
        predicted = 0.75 * self.columns_per_decade * math.log10(max(excess, 1.0))
        return max(1, int(min(predicted, max(size / 6, 6))))
