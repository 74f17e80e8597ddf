"""Which regression of inputs on coordinates predicts new inputs best; kernel ridge regression of several outputs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from preimage._arrays import epsilon, in_double, take_rows, to_numpy
from preimage._lapack import cholesky_factor, cholesky_solve
from preimage._linalg import eigh_descending, numerical_rank, rank_tolerance, top_eigh
from preimage._memory import largest_square, work_memory
from preimage._rows import cut
from preimage._threads import at_most, large_decomposition, run_parallel
from preimage._typing import Array
from preimage._validation import generator
from preimage.feature_space import Gram, Subspace
from preimage.kernels import Gaussian, Kernel, Linear, ProfileKernel, squared_distance_percentile

# Rows that judge candidates, and folds. Five folds of 500 rows choose as well as all of 800, and take a second.
JUDGED_ROWS = 500
FOLDS = 5
# Squared widths of Gaussians on coordinates, as multiples of their median squared distance: narrow ones for maps that
# are strongly curved, wide ones with a small ridge for smooth maps, which they approximate by polynomials.
WIDTHS = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 4096.0)
# Ridges as multiples of the mean of l(β, β). A wide Gaussian carries its curvature in eigenvalues of (1/width)², far
# below one; below 1e-15 nothing is left of the ridge in double precision.
RIDGES = np.logspace(-15, 1, 33)
# Entries of the arrays in which several ridges are tried at once: 8 MiB. Ten times more would not fit into caches, and
# the memory of sixteen threads would show.
MOST_ENTRIES = 2**20
# Fraction of the rows, those with the largest errors, that are left out of the comparison: a few outliers, which no map
# predicts, would decide for the largest ridge.
TRIMMED = 0.01
# Below this fraction of the variance of the inputs an error is one of interpolation: it falls steeply with the number
# of rows, and the best width with it. The choice is then made again, by leave-one-out on as many rows as a second
# allows; that coordinates of training rows are slightly too long does not matter where a map is so close.
INTERPOLATED = 1e-4
INTERPOLATED_ROWS = 1000
# Square matrices alive at once there: kernel values and temporaries, eigenvectors, their squares.
MATRICES = 6
# Largest relative error from rounding that is allowed there: errors of interpolation are small, and a hundred times
# more than usual is still far below them.
INTERPOLATED_ROUNDING = 1e-6
# Correlation of coordinates, as a fraction of their covariance, below which the axes count as principal axes.
UNCORRELATED = 0.05


# From numbers of kept and of held-out rows to the coordinates of both.
_Split: TypeAlias = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class MapChoice:
    """A kernel on coordinates, a ridge, and the mean squared error per column that was expected of them."""

    kernel: Kernel
    ridge: float
    error: float


def choose_map(
    subspace: Subspace, rows: Array, coordinates: np.ndarray, inputs: np.ndarray, center: bool = True
) -> MapChoice:
    """The kernel and the ridge with the smallest error on rows that were held out.

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
    n = coordinates.shape[0]
    judged = np.sort(generator(0).permutation(n)[:JUDGED_ROWS])
    folds = [judged[start::FOLDS] for start in range(min(FOLDS, judged.size))]
    candidates = candidate_kernels(coordinates, subspace.frame.kernel.unshifted()[0])
    X = _rotated(inputs[judged, :])
    by_row = np.zeros((len(candidates), RIDGES.size, judged.size))
    position = np.full(n, -1)
    position[judged] = np.arange(judged.size)
    split = _refitted(subspace, rows) if _is_principal(subspace, coordinates) else _as_they_are(coordinates)
    parts = [(np.setdiff1d(judged, held), held) for held in folds]
    if min(kept.size for kept, _ in parts) < 2:
        return MapChoice(candidates[0], float(RIDGES[-1]), float("nan"))
    splits = run_parallel(lambda part: split(*part), parts)

    def judge(fold_and_number: tuple[int, int]) -> None:
        fold, number = fold_and_number
        (kept, held), (learn, ask) = parts[fold], splits[fold]
        truth = X[position[held]]
        errors = held_out_errors(candidates[number], learn, X[position[kept]], ask, truth, center)
        by_row[number][:, position[held]] = errors

    run_parallel(judge, [(fold, number) for number in range(len(candidates)) for fold in range(len(folds))])
    # Coordinates in single precision have rounding errors that a smaller ridge would amplify.
    sound = 10 * epsilon(rows.dtype) <= RIDGES
    errors = _trimmed_means(by_row)
    errors = np.where(np.isfinite(errors) & sound, errors, np.inf)
    best, ridge = map(int, np.unravel_index(np.argmin(errors), errors.shape))
    error = float(np.mean(by_row[best, ridge])) / inputs.shape[1]
    if error <= INTERPOLATED * float(np.mean(np.var(inputs, axis=0))):
        best, ridge, error = _best_interpolation(candidates, coordinates, inputs, center, sound)
    kernel = candidates[best]
    return MapChoice(kernel, float(RIDGES[ridge] * mean_diagonal(kernel, coordinates)), error)


def _best_interpolation(
    candidates: list[Kernel], coordinates: np.ndarray, inputs: np.ndarray, center: bool, sound: np.ndarray
) -> tuple[int, int, float]:
    """Numbers of the kernel and the ridge with the smallest leave-one-out error, and that error."""
    few = generator(0).permutation(coordinates.shape[0])[: min(INTERPOLATED_ROWS, largest_square(MATRICES))]
    few = np.sort(few)
    Y, X = coordinates[few, :], inputs[few, :]
    X = _rotated(X - X.mean(axis=0) if center else X)
    ridges = lambda kernel: RIDGES * mean_diagonal(kernel, Y)
    errors_of = lambda kernel: leave_one_out_errors(kernel(Y), X, ridges(kernel), INTERPOLATED_ROUNDING)
    with at_most(max(1, work_memory(Y) // (MATRICES * 8 * few.size**2))):  # as many side by side as memory allows
        found = run_parallel(errors_of, candidates)
    errors = np.where(sound & np.isfinite(found), found, np.inf)
    best, ridge = np.unravel_index(np.argmin(errors), errors.shape)
    # Errors are means over the rotated columns, of which there may be fewer than inputs; here, per input column.
    return int(best), int(ridge), float(errors[best, ridge]) * X.shape[1] / inputs.shape[1]


def candidate_kernels(coordinates: np.ndarray, kernel: Kernel) -> list[Kernel]:
    """A linear kernel, Gaussians, and the kernel of the model where it takes inputs of any dimension and sign."""
    median = squared_distance_percentile(coordinates, 50) if coordinates.shape[0] > 1 else 0.0
    scale = median if median > 0 else 1.0
    fits = isinstance(kernel, ProfileKernel) and kernel.is_positive_semidefinite and kernel.lowest_input is None
    # Coordinates are larger than inputs where the kernel grows; its values on them may be too large for a number.
    fits = fits and bool(np.all(np.isfinite(kernel.diagonal(coordinates))))
    return [Linear(), *(Gaussian(1 / (width * scale)) for width in WIDTHS), *([kernel] if fits else [])]


def held_out_errors(
    kernel: Kernel, Y: np.ndarray, X: np.ndarray, Z: np.ndarray, truth: np.ndarray, center: bool
) -> np.ndarray:
    """Squared errors at each row of (Z, truth) of the regressions of X on Y, shape (ridges, rows)."""
    mean = X.mean(axis=0) if center else np.zeros(X.shape[1])
    values, vectors = np.linalg.eigh(kernel(Y))
    projected, across = vectors.T @ (X - mean), kernel(Z, Y) @ vectors

    def errors_of(ridges: np.ndarray) -> np.ndarray:
        # Eigenvalues below zero are rounding errors of a semidefinite matrix.
        inverse = 1 / (np.maximum(values, 0) + ridges[:, None])
        residual = across @ (inverse[:, :, None] * projected)
        residual += mean - truth
        return np.sum(np.square(residual, out=residual), axis=2)

    ridges = RIDGES * mean_diagonal(kernel, Y)
    # Several ridges in one call: threads would wait for each other between calls.
    together = max(1, MOST_ENTRIES // projected.size)
    totals = np.concatenate([errors_of(ridges[part]) for part in cut(ridges.size, together)])
    sound = sound_ridges(values, np.sum(projected**2, axis=1), ridges, float(np.max(kernel.diagonal(Y))))
    return np.where(sound[:, None] & np.isfinite(totals), totals, np.inf)


def _trimmed_means(errors: np.ndarray) -> np.ndarray:
    """Means over all but the largest of the errors of the last axis."""
    kept = max(1, int(np.ceil((1 - TRIMMED) * errors.shape[-1])))
    return np.mean(np.sort(errors, axis=-1)[..., :kept], axis=-1)


def mean_diagonal(kernel: Kernel, coordinates: np.ndarray) -> float:
    """The mean of l(β, β), in which ridges are measured."""
    return max(float(np.mean(kernel.diagonal(coordinates))), np.finfo(float).tiny)


def _rotated(X: np.ndarray) -> np.ndarray:
    """X in coordinates of its row space: the same distances with no more columns than rows."""
    if X.shape[1] <= X.shape[0]:
        return X
    values, vectors = np.linalg.eigh(X @ X.T)
    return vectors * np.sqrt(np.maximum(values, 0))


def _is_principal(subspace: Subspace, coordinates: np.ndarray) -> bool:
    """Whether coordinates are those of kernel PCA: uncorrelated, of falling variance, of a semidefinite kernel."""
    if not subspace.frame.kernel.is_positive_semidefinite or subspace.signature is not None or len(coordinates) < 2:
        return False
    covariance = np.atleast_2d(np.cov(coordinates, rowvar=False))
    variances = np.diagonal(covariance)
    total = np.linalg.norm(covariance)
    falls = np.all(variances[1:] <= variances[:-1] + UNCORRELATED * variances[0])
    return bool(falls and np.linalg.norm(covariance - np.diag(variances)) <= UNCORRELATED * total)


def _as_they_are(coordinates: np.ndarray) -> _Split:
    """Coordinates of kept and of held-out rows in the given subspace."""
    return lambda kept, held: (coordinates[kept, :], coordinates[held, :])


def _refitted(subspace: Subspace, rows: Array) -> _Split:
    """Coordinates of kept and of held-out rows along the principal axes of the kept ones alone."""
    kernel, k = subspace.frame.kernel, len(subspace)

    def split(kept: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        learn, ask = in_double(take_rows(rows, kept)), in_double(take_rows(rows, held))
        K = to_numpy(kernel(learn))
        means = K.mean(axis=0)
        centered = K - means - means[:, None] + means.mean()
        values, vectors = top_eigh(centered, min(k, kept.size - 1))
        rank = max(1, numerical_rank(values, kept.size))
        values, vectors = values[:rank], vectors[:, :rank]
        # Columns sum to zero up to rounding, which small eigenvalues magnify: exactly, so that the means cancel.
        axes = (vectors - vectors.mean(axis=0)) / np.sqrt(values)
        return vectors * np.sqrt(values), (to_numpy(kernel(ask, learn)) - means) @ axes

    return split


# Ridges tried by leave-one-out, relative to the largest eigenvalue of the kernel matrix. Smooth maps by wide kernels
# need very small ones; below 1e-14 only rounding errors change.
LEAVE_ONE_OUT_RIDGES = np.logspace(-14, 1, 46)
# Largest relative error of predictions that rounding may cause, so that data in memory, in chunks and on devices give
# the same map. It is an upper bound; errors that were observed are a thirtieth of it. With ten times more, maps of the
# same data in chunks differ visibly.
ROUNDING = 1e-8


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


def sound_ridges(
    values: np.ndarray, lengths: np.ndarray, ridges: np.ndarray, largest: float, rounding: float = ROUNDING
) -> np.ndarray:
    """Which ridges give weights whose cancellation does not amplify rounding errors beyond `rounding`.

    Rounding errors of coordinates and of kernel values are multiplied by the size of the weights. `values` are
    eigenvalues of the kernel matrix, `lengths` the squared lengths of the outputs along its eigenvectors, `largest` the
    largest kernel value, `rounding` the largest relative error.
    """
    weights = np.sqrt(np.sum(lengths / (np.maximum(values, 0) + ridges[:, None]) ** 2, axis=1))
    noise = np.finfo(float).eps * len(values) * largest * weights
    return noise <= rounding * np.sqrt(np.sum(lengths))


def _without_rounding(values: np.ndarray) -> np.ndarray:
    """Eigenvalues without signs that are rounding errors; those of indefinite kernels stay."""
    noise = rank_tolerance(len(values), values.dtype) * np.max(np.abs(values))
    return np.where(np.abs(values) <= noise, np.maximum(values, 0.0), values)
