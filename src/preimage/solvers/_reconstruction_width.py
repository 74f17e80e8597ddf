"""The width of a kernel with which rows that were left out are reconstructed best from their coordinates."""

from collections.abc import Callable
from typing import Any

import numpy as np

from preimage._arrays import epsilon, itemsize, take_rows, to_dense, to_numpy
from preimage._linalg import DETERMINED
from preimage._typing import Array, Rows
from preimage._validation import generator
from preimage._warnings import unwarned
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Kernel
from preimage.kernels._bandwidth import RECONSTRUCTION, resolve_gamma
from preimage.solvers._held_out_maps import RIDGES
from preimage.solvers._map_choice import JUDGED_ROWS, JudgedMaps, judge_maps, refitted, surely_better

# Widths that are tried, as multiples of one over the median squared distance. Narrower kernels have not been chosen for
# any of the tables and images that were looked at; of the wider ones, the widest is nearly always as good.
MULTIPLES = (0.1, 0.3, 1.0)
# And the widest kernel: γ times the largest squared distance. Kernel PCA is then PCA up to this fraction, also for new
# rows some thirty times as far out. The first with which rounding errors leave all components is taken.
WIDEST = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
# The same where more components are wanted than any of these leaves, more than there are columns: all linear ones and
# many others. Ten times wider kernels leave half as many or fewer, and the error is below 1e-5 of the variance here.
MANY_COMPONENTS = 1e-2
# By how much eigenvalues must exceed rounding errors to be surely kept: three times what kernel PCA asks for.
AMPLIFICATION = 100
# Standard errors by which a narrower kernel has to be better. Its coordinates hardly distinguish rows that lie far out,
# of which few are among those that judge: with 2.5, one of 70 tables with heavy tails or curved was reconstructed worse
# than by PCA for that reason, with two, three, by 58 % at most.
SURE = 3.0
# Different rows without which nothing can be left out: one in each of ten folds.
FEWEST_ROWS = 10


def has_reconstruction_width(kernel: Kernel) -> bool:
    """Whether the width of a kernel, or of a part of it, is to be chosen by reconstruction."""
    return any(isinstance(value, str) and value == RECONSTRUCTION for _, value, _ in kernel.open_parameters())


@unwarned()
def with_reconstruction_width(
    kernel: Kernel, X: Rows, count: int | Callable[[np.ndarray], int], *, about_mean: bool = True
) -> Kernel:
    """A copy of a kernel with the γ that reconstructs left-out rows best from the coordinates of kernel PCA.

    Kernel PCA and a learned map of each width are fitted without the rows that judge them, in folds. The first
    candidate is a kernel so wide that kernel PCA is PCA; a narrower one is taken if it is surely better, as maps are.
    So the choice is no worse than PCA but for chance.

    Parameters
    ----------
    kernel : Kernel
        With ``gamma="reconstruction"``.
    X : array, sparse matrix or lazy array of shape (n, d)
        Validated rows, of which at most 300 are looked at.
    count : int or callable
        Number of components, or what finds it from all eigenvalues, which descend.
    about_mean : bool, default=True
        Whether axes go through the mean.
    """
    _require_own_width(kernel)
    precision, n = X.dtype, X.shape[0]
    few = np.sort(generator(0).permutation(n)[:JUDGED_ROWS])
    rows = np.asarray(to_numpy(to_dense(take_rows(X, few))), dtype=np.float64)
    n_distinct = len(np.unique(rows, axis=0))
    if n_distinct < FEWEST_ROWS:
        raise ValueError(
            f"gamma={RECONSTRUCTION!r} leaves out rows to choose a width and needs {FEWEST_ROWS} different ones at "
            f"least; got {n_distinct}. Give gamma as a number, or the rule 'median'."
        )
    sound = 10 * epsilon(precision) <= RIDGES
    of_width = lambda gamma: _with_gamma(kernel, gamma)
    judge = lambda gamma: judge_maps(refitted(of_width(gamma), rows, count, about_mean), rows, True, sound)
    median = resolve_gamma("median", rows, kernel.metric)
    widest = _widest(of_width, rows, kernel.metric, count, about_mean, precision)
    gammas = [*([] if widest is None else [widest]), *(multiple * median for multiple in MULTIPLES)]
    errors = [_settled_errors(judge(gamma)) for gamma in gammas]
    best = int(np.argmin([np.mean(each) for each in errors]))
    return of_width(gammas[best if surely_better(errors[best], errors[0], SURE) else 0])


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


def _settled_errors(judged: JudgedMaps | None) -> np.ndarray:
    """Errors of the map that would be chosen, by row."""
    assert judged is not None  # there are rows enough
    return judged.by_row[judged.settled()]


def _widest(
    of_width: Callable[[float], Kernel],
    rows: np.ndarray,
    metric: str,
    count: int | Callable[[np.ndarray], int],
    about_mean: bool,
    precision: Any,
) -> float | None:
    """The smallest γ of `WIDEST` with which rounding errors leave all components.

    Where more are wanted than any of them leaves, all linear ones and many others; None where that fails as well.
    """
    largest, n = resolve_gamma("p100", rows, metric), rows.shape[0]
    for fraction, is_last in (*((each, False) for each in WIDEST), (MANY_COMPONENTS, True)):
        K: Array = of_width(fraction * largest)(rows)
        means = K.mean(axis=0) if about_mean else np.zeros(n)
        values = np.linalg.eigvalsh(K - means - means[:, None] + means.mean())[::-1]
        wanted = count(values) if callable(count) else count
        wanted = min(wanted, *rows.shape) if is_last else wanted
        noise = epsilon(precision) * float(np.max(np.diagonal(K))) * n**0.5
        if wanted <= n and values[wanted - 1] * DETERMINED[itemsize(precision)] > AMPLIFICATION * noise:
            return fraction * largest
    return None
