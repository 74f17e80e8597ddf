"""How far new rows may lie outside the range of the training rows, and where most of them lie."""

from math import isqrt

import numpy as np

from preimage._engine.rows import cut
from preimage._engine.warnings import unwarned

# The margin is where a new row lies once in so many training sets, if the tail of a column goes on as it ends. Ten
# times less cuts off rows of heavy tails (t with two degrees of freedom, 200 rows: squared error of reconstruction 1.6
# times that of PCA), ten times more changes nothing there and lets wrong answers go farther.
TRAINING_SETS = 1000
# Standard errors, h/√k each, that are added to an estimate, and the largest exponent: from 0.5 on a tail has no
# variance, from 1 on no mean. In 400 tables of 20 to 250 rows, t with two degrees of freedom or log-normal, bounds made
# PCA worse by 0.1 % or more in 1 %; without standard errors in 2 %. With two, bounds of few rows hardly bound.
SURE, HEAVIEST = 1.0, 0.75
# The tail is a sixth of few rows at most: nearer to the median, columns of any shape seem to have heavy tails.
PART = 6
# How far beyond all rows but one at either end the usual range goes, as a fraction of the range of the middle 80 %.
# Corrections to a linear map that went on farther out made one of 120 tables with heavy tails 1.6 times worse than PCA;
# within this range the worst is 1.04 times worse.
BEYOND, MIDDLE = 0.2, 0.8
# Entries that are sorted together: 32 MiB.
MOST_ENTRIES = 2**22


@unwarned()
def range_with_margin(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""The smallest and the largest value of each column, with a margin for new rows, each of shape (d,).

    Distances :math:`u_{(1)} \ge u_{(2)} \ge \dots` above the median have a tail :math:`P(u > t) \sim t^{-1/h}` with
    Hill's estimate :math:`h = \frac1k \sum_{i \le k} \log(u_{(i)} / u_{(k+1)})`, where k is √n, or n/6 if that is
    less, and a standard error :math:`h/\sqrt k` added. A new row exceeds :math:`u_{(1)} T^h` once in T training sets,
    and the margin is :math:`u_{(1)} (T^h - 1)`. It is zero for columns with many equal largest values, such as
    pixels; likewise below the median.
    """
    parts = [_ranges(np.sort(X.T[part], axis=1)) for part in cut(X.shape[1], max(1, MOST_ENTRIES // X.shape[0]))]
    lower, upper = zip(*parts, strict=True)
    return np.concatenate(lower), np.concatenate(upper)


def usual_range(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where most rows lie: from the second smallest to the second largest value of each column, and a little beyond."""
    ordered, end = np.sort(Y, axis=0), int((1 - MIDDLE) / 2 * len(Y))
    room = BEYOND * (ordered[-1 - end] - ordered[end])
    second = min(1, len(Y) - 1)
    return ordered[second] - room, np.maximum(ordered[second], ordered[-1 - second]) + room


def _ranges(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends for columns whose values are given in ascending order, shape (d, n)."""
    n = ordered.shape[1]
    median = (ordered[:, (n - 1) // 2] / 2 + ordered[:, n // 2] / 2)[:, None]
    most = max(1, min(isqrt(n), n // PART)) + 1
    below, above = median - ordered[:, :most], ordered[:, ::-1][:, :most] - median
    return ordered[:, 0] - _margins(below), ordered[:, -1] + _margins(above)


def _margins(top: np.ndarray) -> np.ndarray:
    """The margins of columns, given their largest distances from the median, descending, of shape (d, k + 1)."""
    logs = np.log(np.maximum(top, np.finfo(float).tiny))
    # Of columns that are zero nearly always, fewer values: those that lie above the median.
    k = np.minimum(top.shape[1], np.sum(top > 0, axis=1)) - 1
    usable = np.clip(k, 1, top.shape[1] - 1)[:, None]
    above = np.where(np.arange(top.shape[1]) < usable, logs - np.take_along_axis(logs, usable, axis=1), 0.0)
    found = np.sum(above, axis=1, keepdims=True) / usable * (1 + SURE / np.sqrt(usable))
    exponents = np.clip(found, 0.0, HEAVIEST)[:, 0]
    largest = np.maximum(top[:, 0], 0.0)
    # A single value above the median has no tail to look at: once more its distance.
    margins = largest * np.where(k >= 1, TRAINING_SETS**exponents - 1, 1.0)
    return np.where(np.isfinite(margins), margins, np.finfo(float).max / 4)
