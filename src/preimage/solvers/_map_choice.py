"""Which regression of inputs on coordinates predicts new inputs best, and how far its answers may go."""

from dataclasses import dataclass
from math import isqrt

import numpy as np

from preimage._engine.arrays import epsilon, in_double, take_rows, to_numpy
from preimage._engine.memory import largest_square, work_memory
from preimage._engine.rows import cut
from preimage._engine.threads import at_most, run_parallel
from preimage._engine.typing import Array
from preimage._engine.validation import generator
from preimage._engine.warnings import unwarned
from preimage.feature_space import Subspace
from preimage.kernels import Gaussian, Kernel, Linear, SquaredDistance, squared_distance_percentile
from preimage.solvers._map_errors import (
    RIDGES,
    LeftOutRows,
    leave_one_out_errors,
    left_out_coordinates,
    mean_diagonal,
    measured_columns,
)

# Rows that judge candidates. The kernel matrix of these is decomposed for two widths, which takes fifty milliseconds, a
# fifth of that for 200 rows; those chose maps with 7 % larger errors on average of 400 training rows.
JUDGED_ROWS = 400
# Squared widths of Gaussians on coordinates, as multiples of their median squared distance: narrow ones for maps that
# are strongly curved, wide ones with a small ridge for smooth maps, which they approximate by polynomials.
WIDTHS = (0.25, 1.0, 4.0, 16.0, 64.0)
# So many of these rows choose a width, half of them if they are few but not fewer than that, with every third ridge;
# then all rows choose between it and the next narrower one, and among the ridges about the best of these.
SCREENING_ROWS, FEW_ROWS, STEP = 100, 20, 3
# Where the error is less than this fraction of that of a linear map, it is mostly one of interpolation: more rows allow
# other widths and ridges, and that coordinates of training rows are slightly too long does not matter. All are judged
# there, at the coordinates as they are. Otherwise curves with little noise had up to 200 times the error.
CURVED = 0.5
# Standard errors of a gain by which some map has to be better than a simpler one, and those that are taken away from
# gains to compare such maps. Of 360 tables of 25 to 130 rows with heavy tails or curved, five were then reconstructed
# worse than by PCA, two of them by more than 3 %. The map of the largest gain, if it is larger than 2.5 standard
# errors, is worse than PCA in ten, and errors are 2 % larger on average: it is often one that fits too closely.
SURE, CAREFUL = 2.5, 2.0
# Of ridges with the same error up to this fraction the largest is taken: with a tiny one, two rows of nearly the same
# coordinates, which may not be among those that judge, can spoil a map of all rows.
SAME = 0.01
# Below this fraction of the variance of the inputs an error is one of interpolation: it falls steeply with the number
# of rows, and the best width with it. The choice is then made again, by leave-one-out on as many rows as a second
# allows; that coordinates of training rows are slightly too long does not matter where a map is so close. Below the
# second fraction only rounding is left to improve.
INTERPOLATED, EXACT = 1e-4, 1e-12
INTERPOLATED_ROWS = 1000
INTERPOLATION_WIDTHS = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 4096.0)
# Square matrices alive at once there: kernel values and temporaries, eigenvectors, their squares.
MATRICES = 6
# Largest relative error from rounding that is allowed there: errors of interpolation are small, and a hundred times
# more than usual is still far below them.
INTERPOLATED_ROUNDING = 1e-6
# Correlation of coordinates, as a fraction of their covariance, below which the axes count as principal axes.
UNCORRELATED = 0.05


@dataclass(frozen=True)
class MapChoice:
    """A kernel on coordinates, a ridge, and the mean squared error per column that was expected of them.

    With `after_linear` the kernel regresses what a linear map leaves, and answers as within the usual range of
    coordinates if it `is_limited`.
    """

    kernel: Kernel
    ridge: float
    error: float = float("nan")
    after_linear: bool = False
    is_limited: bool = False


def choose_map(
    subspace: Subspace, rows: Array, coordinates: np.ndarray, inputs: np.ndarray, center: bool = True
) -> MapChoice:
    """The kernel and the ridge with the smallest error at rows that were left out.

    Candidates are a linear map, Gaussians, and a linear map with Gaussians on what it leaves. The last go on linearly
    where there are no training rows, as PCA does. A map has to be surely better than a simpler one to be chosen.

    Each row is predicted from all others, in closed form. Where the axes are principal axes of a positive semidefinite
    kernel, it is asked at the coordinates that it would have if kernel PCA had not seen it.

    Parameters
    ----------
    subspace : Subspace
    rows : array or sparse matrix of shape (n, d)
        Training inputs, as the kernel takes them.
    coordinates : NumPy array of shape (n, k)
        Their coordinates, in double precision.
    inputs : NumPy array of shape (n, d)
        The same inputs, dense and in double precision.
    center : bool, default=True
        Whether maps regress deviations from the mean.

    Returns
    -------
    MapChoice
    """
    few = distinct_rows(inputs)
    if few.size < 3:
        return MapChoice(Linear(), float(RIDGES[-1]))
    Y = asked = coordinates[few, :]
    if _is_principal(subspace, coordinates):
        K = np.asarray(to_numpy(subspace.frame.kernel(in_double(take_rows(rows, few)))))
        n_distinct = inputs.shape[0] * few.size // min(inputs.shape[0], JUDGED_ROWS)
        asked = left_out_coordinates(K, Y, n_distinct, subspace.origin is not None)
    # Coordinates in single precision have rounding errors that a smaller ridge would amplify.
    sound = 10 * epsilon(rows.dtype) <= RIDGES
    judged = judge_maps(Y, asked, inputs[few, :], center, sound)
    best, ridge = judged.settled()
    error = float(np.mean(judged.by_row[best, ridge])) / inputs.shape[1]
    kernel, after_linear = judged.kernels[(best + 1) // 2], best > 0 and best % 2 == 0
    if EXACT < error / max(float(np.mean(np.var(inputs, axis=0))), np.finfo(float).tiny) <= INTERPOLATED:
        kernels = candidate_kernels(coordinates, INTERPOLATION_WIDTHS)
        best, ridge, error = _best_interpolation(kernels, coordinates, inputs, center, sound)
        kernel, after_linear = kernels[best], False
    ridge_of = float(RIDGES[ridge] * mean_diagonal(kernel, coordinates))
    return MapChoice(kernel, ridge_of, error, after_linear, not judged.is_curved)


def judging_rows(n: int) -> np.ndarray:
    """Numbers of all n rows, or of a random choice of them, ascending."""
    return np.sort(generator(0).permutation(n)[:JUDGED_ROWS])


def distinct_rows(inputs: np.ndarray) -> np.ndarray:
    """Numbers of the rows that judge candidates, ascending; of equal rows one: a copy would be no test of another."""
    some = judging_rows(len(inputs))
    first = {inputs[number].tobytes(): number for number in some[::-1]}
    return np.sort(np.fromiter(first.values(), dtype=np.intp))


@dataclass(frozen=True)
class JudgedMaps:
    """Squared errors of candidates at rows that were left out.

    Attributes
    ----------
    kernels : list of Kernel
        A linear one, and Gaussians.
    by_row : array of shape (candidates, ridges, rows)
        The first candidate is linear; the others are two for each further kernel, alone and after a linear map.
        Infinite for ridges that rounding errors forbid, and for widths and ridges that were given up.
    is_curved : bool
        Whether Gaussians are much better than a linear map. If not, corrections to it are asked within the usual range
        of coordinates only.
    """

    kernels: list[Kernel]
    by_row: np.ndarray
    is_curved: bool = False

    @unwarned()
    def settled(self) -> tuple[int, int]:
        """Candidate and ridge: the plain linear map, unless another one is surely better.

        First linear maps with a ridge and with Gaussians, which go on linearly where there are no rows, then Gaussians
        alone. Among those that are surely better, the one whose gain less some standard errors is largest; with the
        largest ridge that has the same error.
        """
        chosen = (0, int(np.argmax(np.isfinite(self.by_row[0]).all(axis=1))))
        for candidates in (slice(0, None, 2), slice(None)):
            gains, deviations = gain_of(self.by_row[candidates], self.by_row[chosen])
            if np.any(gains > SURE * deviations):
                careful = gains - CAREFUL * deviations
                found = np.where(np.isfinite(careful), careful, -np.inf)
                best, ridge = (int(number) for number in np.unravel_index(np.argmax(found), found.shape))
                means = np.mean(self.by_row[candidates][best], axis=-1)
                same = np.flatnonzero(means <= (1 + SAME) * means[ridge])
                chosen = (best * (candidates.step or 1), int(same[-1]))
        return chosen

    def settled_errors(self) -> np.ndarray:
        """Errors of the map that would be chosen, by row."""
        return self.by_row[self.settled()]


@unwarned()
def gain_of(errors: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By how much errors are smaller than others of the same rows on average, and the standard error of that.

    In units of the largest of the others: squares of squared errors leave the range of numbers before inputs do.
    """
    gains = (others - errors) / max(float(np.max(others)), np.finfo(float).tiny)
    return np.mean(gains, axis=-1), np.std(gains, axis=-1) / np.sqrt(gains.shape[-1])


def judge_maps(Y: np.ndarray, asked: np.ndarray, inputs: np.ndarray, center: bool, sound: np.ndarray) -> JudgedMaps:
    """Errors of candidates at rows with coordinates Y that have the coordinates `asked` if they are left out."""
    X, n_some = measured_columns(inputs), min(SCREENING_ROWS, max(len(Y) // 2, FEW_ROWS))
    distances_of = lambda places: SquaredDistance().prepare(Y)(places)
    distances = [distances_of(Y), distances_of(asked), distances_of(np.clip(asked, *usual_range(Y)))]
    some = slice(0, None, -(-len(Y) // n_some))
    kernels = _gaussians(float(np.median(distances[0][some, some][np.triu_indices(len(Y[some]), 1)])), WIDTHS)

    def errors_of(rows: LeftOutRows, which: slice, numbers: list[int], ridges: np.ndarray) -> np.ndarray:
        values = [np.exp([-kernels[i].gamma * s[which, which] for i in numbers]) for s in distances]
        return rows.kernel_errors(values[0], values[1], values[2], ridges)

    few, rows = LeftOutRows(Y[some], asked[some], X[some], center), LeftOutRows(Y, asked, X, center)
    tried = np.mean(errors_of(few, some, list(range(len(WIDTHS))), RIDGES[::STEP]), axis=-1)  # (widths, 2, ridges)
    # The width by all ridges, so that it does not depend on the precision.
    tried = np.min(tried, axis=1)
    linear = np.min(np.mean(few.linear_errors(RIDGES * few.mean_square), axis=1))
    is_curved = bool(np.min(tried) < CURVED * linear)
    if is_curved and asked is not Y:
        del distances, few, rows  # room for those of the other coordinates
        return judge_maps(Y, Y, inputs, center, sound)
    by_row = np.full((2 * len(WIDTHS) + 1, RIDGES.size, len(Y)), np.inf)
    by_row[0] = rows.linear_errors(RIDGES * rows.mean_square)
    best = int(np.argmin(np.min(tried, axis=1)))
    if is_curved:
        distances[2] = distances[1]
    for number in range(len(WIDTHS)) if is_curved else range(max(0, best - 1), best + 1):
        place = STEP * int(np.flatnonzero(tried[number] <= (1 + SAME) * np.min(tried[number]))[-1])
        near = slice(None) if is_curved else slice(max(0, place - STEP), place + STEP + 1)
        by_row[2 * number + 1 : 2 * number + 3, near] = errors_of(rows, slice(None), [number], RIDGES[near])[0]
    by_row[:, ~sound] = np.inf
    return JudgedMaps([Linear(), *kernels], by_row, is_curved)


def _best_interpolation(
    candidates: list[Kernel], coordinates: np.ndarray, inputs: np.ndarray, center: bool, sound: np.ndarray
) -> tuple[int, int, float]:
    """Numbers of the kernel and the ridge with the smallest leave-one-out error, and that error."""
    few = generator(0).permutation(coordinates.shape[0])[: min(INTERPOLATED_ROWS, largest_square(MATRICES))]
    few = np.sort(few)
    Y, X = coordinates[few, :], inputs[few, :]
    n_columns = X.shape[1]
    X = measured_columns(X - X.mean(axis=0) if center else X)
    ridges = lambda kernel: RIDGES * mean_diagonal(kernel, Y)
    errors_of = lambda kernel: leave_one_out_errors(kernel(Y), X, ridges(kernel), INTERPOLATED_ROUNDING)
    with at_most(max(1, work_memory(Y) // (MATRICES * 8 * few.size**2))):  # as many side by side as memory allows
        found = run_parallel(errors_of, candidates)
    errors = np.where(sound & np.isfinite(found), found, np.inf)
    best, ridge = np.unravel_index(np.argmin(errors), errors.shape)
    # Errors are means over measured columns, of which there may be fewer than inputs; here, per input column.
    return int(best), int(ridge), float(errors[best, ridge]) * X.shape[1] / n_columns


def candidate_kernels(coordinates: np.ndarray, widths: tuple[float, ...] = WIDTHS) -> list[Kernel]:
    """A linear kernel, and Gaussians of several widths."""
    median = squared_distance_percentile(coordinates, 50) if np.ptp(coordinates, axis=0).any() else 0.0
    return [Linear(), *_gaussians(median, widths)]


def _gaussians(median: float, widths: tuple[float, ...]) -> list[Gaussian]:
    return [Gaussian(1 / (width * (median if median > 0 else 1.0))) for width in widths]


def _is_principal(subspace: Subspace, coordinates: np.ndarray) -> bool:
    """Whether coordinates are those of kernel PCA: uncorrelated, of falling variance, of a semidefinite kernel."""
    if not subspace.frame.kernel.is_positive_semidefinite or subspace.signature is not None or len(coordinates) < 2:
        return False
    covariance = np.atleast_2d(np.cov(coordinates, rowvar=False))
    variances = np.diagonal(covariance)
    total = np.linalg.norm(covariance)
    falls = np.all(variances[1:] <= variances[:-1] + UNCORRELATED * variances[0])
    return bool(falls and np.linalg.norm(covariance - np.diag(variances)) <= UNCORRELATED * total)


# The margin is where a new row lies once in so many training sets, if the tail of a column goes on as it ends. Ten
# times less cuts off rows of heavy tails (t with two degrees of freedom, 200 rows: squared error of reconstruction 1.6
# times that of PCA), ten times more changes nothing there and lets wrong answers go farther.
TRAINING_SETS = 1000
# Standard errors, h/√k each, that are added to an estimate, and the largest exponent: from 0.5 on a tail has no
# variance, from 1 on no mean. In 400 tables of 20 to 250 rows, t with two degrees of freedom or log-normal, bounds made
# PCA worse by 0.1 % or more in 1 %; without standard errors in 2 %. With two, bounds of few rows hardly bound.
ADDED, HEAVIEST = 1.0, 0.75
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
    found = np.sum(above, axis=1, keepdims=True) / usable * (1 + ADDED / np.sqrt(usable))
    exponents = np.clip(found, 0.0, HEAVIEST)[:, 0]
    largest = np.maximum(top[:, 0], 0.0)
    # A single value above the median has no tail to look at: once more its distance.
    margins = largest * np.where(k >= 1, TRAINING_SETS**exponents - 1, 1.0)
    return np.where(np.isfinite(margins), margins, np.finfo(float).max / 4)
