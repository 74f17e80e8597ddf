"""Which regression of inputs on coordinates predicts new inputs best; kernel ridge regression of several outputs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from preimage._arrays import epsilon, in_double, take_rows, to_numpy
from preimage._lapack import cholesky_factor, cholesky_solve
from preimage._linalg import eigh_descending, numerical_rank, rank_tolerance, top_eigh
from preimage._memory import largest_square, work_memory
from preimage._threads import at_most, large_decomposition, run_parallel
from preimage._typing import Array
from preimage._validation import generator
from preimage.feature_space import Gram, Subspace
from preimage.kernels import Gaussian, Kernel, Linear, squared_distance_percentile
from preimage.solvers._held_out_maps import (
    RIDGES,
    ROUNDING,
    Fold,
    LinearFit,
    mean_diagonal,
    measured_columns,
    sound_ridges,
)

# Rows that judge candidates. Their kernel matrices are decomposed for every candidate and fold; 500 rows choose no
# better, and take four times as long.
JUDGED_ROWS = 300
# Folds, and those of few rows. Ten folds learn from nine tenths of the rows: of 27 small tables, among them heavy
# tails, none was reconstructed worse than by PCA; with five folds, two were.
FOLDS, FOLDS_OF_FEW, FEW_ROWS = 5, 10, 200
# Squared widths of Gaussians on coordinates, as multiples of their median squared distance: narrow ones for maps that
# are strongly curved, wide ones with a small ridge for smooth maps, which they approximate by polynomials.
WIDTHS = (0.25, 1.0, 4.0, 16.0, 64.0)
# One of so many folds is judged with all widths, and the others with the best of them. Of three or all five, the choice
# was no better.
SCREENED, KEPT_WIDTHS = 5, 2
# Standard errors of a difference by which a map has to be better than a simpler one on held-out rows. Of 100 tables of
# 40 to 150 rows with heavy tails or curved, two were then reconstructed worse than by PCA, by 5 % at most; with two
# standard errors three, by 17 %; with three one, but errors are 2 % larger on average.
SURE = 2.5
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


# From numbers of kept and of held-out rows to the coordinates of both.
Split: TypeAlias = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class MapChoice:
    """A kernel on coordinates, a ridge, and the mean squared error per column that was expected of them.

    With `after_linear` the kernel regresses what a linear map leaves.
    """

    kernel: Kernel
    ridge: float
    error: float = float("nan")
    after_linear: bool = False


def choose_map(
    subspace: Subspace, rows: Array, coordinates: np.ndarray, inputs: np.ndarray, center: bool = True
) -> MapChoice:
    """The kernel and the ridge with the smallest error on rows that were held out.

    Candidates are a linear map, Gaussians, and a linear map with Gaussians on what it leaves. The last go on linearly
    where there are no training rows, as PCA does. A map has to be surely better than a simpler one to be chosen.

    Where the axes are principal axes of a positive semidefinite kernel, kernel PCA is repeated without the held-out
    rows. Coordinates of training rows are longer than those of new ones, the more so the more components there are; a
    regression judged on them seems better than it is, and those that fit most closely seem best.

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
    if _is_principal(subspace, coordinates):
        split = refitted(subspace.frame.kernel, rows, len(subspace), subspace.origin is not None)
    else:
        split = _as_they_are(coordinates)
    # Coordinates in single precision have rounding errors that a smaller ridge would amplify.
    sound = 10 * epsilon(rows.dtype) <= RIDGES
    kernels = candidate_kernels(coordinates)
    judged = judge_maps(split, inputs, center, sound)
    if judged is None:
        return MapChoice(kernels[0], float(RIDGES[-1]), float("nan"))
    best, ridge = judged.settled()
    error = float(np.mean(judged.by_row[best, ridge])) / inputs.shape[1]
    kernel, after_linear = kernels[(best + 1) // 2], best > 0 and best % 2 == 0
    if EXACT < error / max(float(np.mean(np.var(inputs, axis=0))), np.finfo(float).tiny) <= INTERPOLATED:
        kernels = candidate_kernels(coordinates, INTERPOLATION_WIDTHS)
        best, ridge, error = _best_interpolation(kernels, coordinates, inputs, center, sound)
        kernel, after_linear = kernels[best], False
    return MapChoice(kernel, float(RIDGES[ridge] * mean_diagonal(kernel, coordinates)), error, after_linear)


@dataclass(frozen=True)
class JudgedMaps:
    """Squared errors of candidates on held-out rows.

    Attributes
    ----------
    by_row : array of shape (candidates, ridges, rows)
        The first candidate is linear; the others are two for each further one of the `candidate_kernels`, alone and
        after a linear map. Infinite for ridges that rounding errors forbid, and for widths that were given up.
    """

    by_row: np.ndarray

    def settled(self) -> tuple[int, int]:
        """Candidate and ridge: the plain linear map, unless a ridge, or another map, is surely better."""
        chosen = (0, int(np.argmax(np.isfinite(self.by_row[0]).all(axis=1))))
        for errors in (self.by_row[:1], self.by_row):
            means = np.mean(errors, axis=2)
            best, ridge = map(int, np.unravel_index(np.argmin(means), means.shape))
            if surely_better(self.by_row[best, ridge], self.by_row[chosen]):
                chosen = (best, ridge)
        return chosen


def surely_better(errors: np.ndarray, others: np.ndarray, sure: float = SURE) -> bool:
    """Whether errors of the same rows are smaller by so many standard errors of their mean difference."""
    if not np.isfinite(others).all():
        return bool(np.isfinite(errors).all())
    # In units of the largest: squares of squared errors leave the range of numbers before inputs do.
    gain = (others - errors) / max(float(np.max(others)), np.finfo(float).tiny)
    return bool(np.mean(gain) > sure * np.std(gain) / np.sqrt(gain.size))


def judge_maps(split: Split, inputs: np.ndarray, center: bool, sound: np.ndarray) -> JudgedMaps | None:
    """Errors of candidates on some of the rows, each held out once; None where there are too few rows.

    Equal rows are judged once: a copy among the rows that are learned from would be no test.
    """
    some = generator(0).permutation(inputs.shape[0])[:JUDGED_ROWS]
    judged = np.sort(some[np.unique(inputs[some], axis=0, return_index=True)[1]])
    n_folds = min(FOLDS if judged.size > FEW_ROWS else FOLDS_OF_FEW, judged.size)
    if judged.size < 3:
        return None
    X = measured_columns(inputs[judged])
    parts = [(np.delete(judged, slice(start, None, n_folds)), judged[start::n_folds]) for start in range(n_folds)]
    numbers = np.arange(judged.size)

    def prepared(fold: int) -> tuple[Fold, LinearFit, list[Kernel]]:
        learn, ask = split(*parts[fold])
        kept, held = np.delete(numbers, slice(fold, None, n_folds)), numbers[fold::n_folds]
        part = Fold.of(learn, X[kept], ask, X[held], center)
        return part, LinearFit(part.Y, part.X), candidate_kernels(part.Y)

    folds = run_parallel(prepared, range(n_folds))
    by_row = np.full((2 * len(WIDTHS) + 1, RIDGES.size, judged.size), np.inf)

    def judge(fold_and_kernel: tuple[int, int]) -> None:
        fold, number = fold_and_kernel
        part, fit, kernels = folds[fold]
        where = (slice(None), slice(fold, None, n_folds))
        if number == 0:
            by_row[0][where] = part.linear_errors(fit)
        else:
            by_row[2 * number - 1][where], by_row[2 * number][where] = part.errors(kernels[number], fit)

    first = range(-(-n_folds // SCREENED))
    run_parallel(judge, [(fold, 0) for fold in range(n_folds)])
    run_parallel(judge, [(fold, number) for number in range(1, len(WIDTHS) + 1) for fold in first])
    by_row[:, ~sound] = np.inf
    shown = np.concatenate([numbers[fold::n_folds] for fold in first])
    means = np.mean(by_row[1:, :, shown], axis=2).reshape(len(WIDTHS), -1)
    kept = 1 + np.argsort(np.min(means, axis=1), kind="stable")[:KEPT_WIDTHS]
    run_parallel(judge, [(fold, int(number)) for number in kept for fold in range(len(first), n_folds)])
    by_row[:, ~sound] = np.inf
    return JudgedMaps(by_row)


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
    scale = median if median > 0 else 1.0
    return [Linear(), *(Gaussian(1 / (width * scale)) for width in widths)]


def held_out_errors(
    kernel: Kernel, Y: np.ndarray, X: np.ndarray, Z: np.ndarray, truth: np.ndarray, center: bool
) -> np.ndarray:
    """Squared errors at each row of (Z, truth) of the regressions of X on Y, shape (ridges, rows)."""
    fold = Fold.of(Y, X, Z, truth, center)
    fit = LinearFit(fold.Y, fold.X)
    return fold.linear_errors(fit) if isinstance(kernel, Linear) else fold.errors(kernel, fit)[0]


def _is_principal(subspace: Subspace, coordinates: np.ndarray) -> bool:
    """Whether coordinates are those of kernel PCA: uncorrelated, of falling variance, of a semidefinite kernel."""
    if not subspace.frame.kernel.is_positive_semidefinite or subspace.signature is not None or len(coordinates) < 2:
        return False
    covariance = np.atleast_2d(np.cov(coordinates, rowvar=False))
    variances = np.diagonal(covariance)
    total = np.linalg.norm(covariance)
    falls = np.all(variances[1:] <= variances[:-1] + UNCORRELATED * variances[0])
    return bool(falls and np.linalg.norm(covariance - np.diag(variances)) <= UNCORRELATED * total)


def _as_they_are(coordinates: np.ndarray) -> Split:
    """Coordinates of kept and of held-out rows in the given subspace."""
    return lambda kept, held: (coordinates[kept, :], coordinates[held, :])


def refitted(kernel: Kernel, rows: Array, count: int | Callable[[np.ndarray], int], about_mean: bool) -> Split:
    """Coordinates of kept and of held-out rows along the principal axes of the kept ones alone.

    `count` is their number, or finds it from all eigenvalues, which descend.
    """

    def split(kept: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        learn, ask = in_double(take_rows(rows, kept)), in_double(take_rows(rows, held))
        K = to_numpy(kernel(learn))
        means = K.mean(axis=0) if about_mean else np.zeros(kept.size)
        most = kept.size - int(about_mean)
        values, vectors = top_eigh(
            K - means - means[:, None] + means.mean(), most if callable(count) else min(count, most)
        )
        rank = max(1, numerical_rank(values, kept.size))
        rank = min(rank, count(values)) if callable(count) else rank
        values, vectors = values[:rank], vectors[:, :rank]
        # Columns sum to zero up to rounding, which small eigenvalues magnify: exactly, so that the means cancel.
        axes = (vectors - vectors.mean(axis=0) if about_mean else vectors) / np.sqrt(values)
        return vectors * np.sqrt(values), (to_numpy(kernel(ask, learn)) - means) @ axes

    return split


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
