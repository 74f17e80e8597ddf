"""The width of a kernel with which rows that were left out are reconstructed best from their coordinates."""

from collections.abc import Callable
from typing import Any

import numpy as np

from preimage._engine.arrays import epsilon, itemsize, take_rows, to_dense, to_numpy
from preimage._engine.linalg import DETERMINED, numerical_rank, top_eigh
from preimage._engine.typing import Rows
from preimage._engine.warnings import unwarned
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Kernel
from preimage.kernels._bandwidth import RECONSTRUCTION, resolve_gamma
from preimage.solvers._map_choice import distinct_rows, gain_of, judge_maps, judging_rows
from preimage.solvers._map_errors import RIDGES, left_out_coordinates

# Widths that are tried, as multiples of one over the median squared distance. Narrower kernels have not been chosen for
# any of the tables and images that were looked at; of the wider ones, the widest is nearly always as good.
MULTIPLES = (0.1, 0.3, 1.0)
# And the widest kernel: γ times the largest squared distance. Kernel PCA is then PCA up to this fraction, also for new
# rows some thirty times as far out. The first with which rounding errors leave all linear components is taken.
WIDEST = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
# By how much eigenvalues must exceed rounding errors to be surely kept: three times what kernel PCA asks for.
AMPLIFICATION = 100
# Standard errors by which a narrower kernel has to be better. Its coordinates hardly distinguish rows that lie far out,
# of which few are among those that judge: with 2.5, one of 70 tables with heavy tails or curved was reconstructed worse
# than by PCA for that reason, with two, three, by 58 % at most.
SURE = 3.0
# Different rows without which nothing can be chosen: the standard errors of fewer say little.
FEWEST_ROWS = 10


@unwarned()
def with_reconstruction_width(
    kernel: Kernel, X: Rows, count: int | Callable[[np.ndarray], int], *, about_mean: bool = True
) -> Kernel:
    """A copy of a kernel with the γ that reconstructs left-out rows best from the coordinates of kernel PCA.

    Kernel PCA and a learned map of each width are judged by rows that are left out, one at a time. The first candidate
    is a kernel so wide that kernel PCA is PCA; a narrower one is taken if it is surely better, as maps are. So the
    choice is no worse than PCA but for chance.

    Parameters
    ----------
    kernel : Kernel
        With ``gamma="reconstruction"``.
    X : array, sparse matrix or lazy array of shape (n, d)
        Validated rows, of which at most 200 are looked at.
    count : int or callable
        Number of components, or what finds it from all eigenvalues, which descend.
    about_mean : bool, default=True
        Whether axes go through the mean.
    """
    _require_own_width(kernel)
    rows = np.asarray(to_numpy(to_dense(take_rows(X, judging_rows(X.shape[0])))), dtype=np.float64)
    rows = rows[distinct_rows(rows)]
    if len(rows) < FEWEST_ROWS:
        raise ValueError(
            f"gamma={RECONSTRUCTION!r} leaves out rows to choose a width and needs {FEWEST_ROWS} different ones at "
            f"least; got {len(rows)}. Give gamma as a number, or the rule 'median'."
        )
    sound = 10 * epsilon(X.dtype) <= RIDGES
    of_width = lambda gamma: _with_gamma(kernel, gamma)
    median = resolve_gamma("median", rows, kernel.metric)
    widest = _widest(of_width, rows, kernel.metric, count, about_mean, X.dtype)
    gammas = [*([] if widest is None else [widest]), *(multiple * median for multiple in MULTIPLES)]
    errors = [_left_out_errors(of_width(gamma), rows, count, about_mean, sound) for gamma in gammas]
    best = int(np.argmin([np.mean(each) for each in errors]))
    gain, deviation = gain_of(errors[best], errors[0])
    return of_width(gammas[best if gain > SURE * deviation else 0])


def _require_own_width(kernel: Kernel) -> None:
    own = getattr(kernel, "gamma", None)
    if not (isinstance(own, str) and own == RECONSTRUCTION):
        raise UnsupportedKernelError(
            f"gamma={RECONSTRUCTION!r} chooses the width of a whole kernel, such as Gaussian({RECONSTRUCTION!r}); in "
            f"{kernel!r} a part of it has it. Give the parts rules such as 'median', and search over them with "
            "GridSearchCV, which takes KernelPCA.score."
        )
    if not kernel.is_positive_semidefinite:
        raise UnsupportedKernelError(
            f"gamma={RECONSTRUCTION!r} needs a positive semidefinite kernel, such as 'rbf' or 'poly'; got {kernel!r}. "
            "Give gamma as a number, or search over numbers with GridSearchCV, which takes KernelPCA.score."
        )


def _with_gamma(kernel: Kernel, gamma: float) -> Kernel:
    return kernel.rebuilt(lambda part: part, lambda name, value: gamma if value == RECONSTRUCTION else value)


def _left_out_errors(
    kernel: Kernel, rows: np.ndarray, count: int | Callable[[np.ndarray], int], about_mean: bool, sound: np.ndarray
) -> np.ndarray:
    """Squared errors of the map that would be chosen for kernel PCA of the rows, at each row if it is left out."""
    K: np.ndarray = kernel(rows)
    values, vectors = top_eigh(_centered(K, about_mean), None if callable(count) else min(count, len(K)))
    rank = max(1, numerical_rank(values, len(K)))
    rank = min(rank, count(values)) if callable(count) else rank
    Y = vectors[:, :rank] * np.sqrt(values[:rank])
    return judge_maps(Y, left_out_coordinates(K, Y, len(K), about_mean), rows, True, sound).settled_errors()


def _centered(K: np.ndarray, about_mean: bool) -> np.ndarray:
    means = K.mean(axis=0) if about_mean else np.zeros(len(K))
    return K - means - means[:, None] + means.mean()


def _widest(
    of_width: Callable[[float], Kernel],
    rows: np.ndarray,
    metric: str,
    count: int | Callable[[np.ndarray], int],
    about_mean: bool,
    precision: Any,
) -> float | None:
    """The smallest γ of `WIDEST` with which rounding errors leave as many components as are wanted and PCA has.

    More than PCA has would give nothing back that these do not. None where rounding errors leave fewer.
    """
    largest, n = resolve_gamma("p100", rows, metric), len(rows)
    linear = np.linalg.matrix_rank(rows - rows.mean(axis=0) if about_mean else rows)
    for fraction in WIDEST:
        K: np.ndarray = of_width(fraction * largest)(rows)
        values = np.linalg.eigvalsh(_centered(K, about_mean))[::-1]
        wanted = min(count(values) if callable(count) else count, max(1, int(linear)))
        noise = epsilon(precision) * float(np.max(np.diagonal(K))) * n**0.5
        if values[wanted - 1] * DETERMINED[itemsize(precision)] > AMPLIFICATION * noise:
            return fraction * largest
    return None
