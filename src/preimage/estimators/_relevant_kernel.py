"""Kernels with a width per column that fits learn from targets: which rows decide, and which judge."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target

from preimage._engine.arrays import as_points, from_device, in_memory, is_lazy, take_rows, to_dense, to_numpy
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.validation import check_labels, check_targets
from preimage._models.regression import Judge, choose_widths
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Kernel, ScaledInputs
from preimage.kernels._bandwidth import RELEVANCE, resolve_gamma
from preimage.landmarks import SparseGreedy
from preimage.widths._class_gram import stratified_rows
from preimage.widths._relevance import learn_relevance, require_relevance, rows_for, varying_columns, with_gamma

# Rows that judge kernels, and as many for each landmark: their errors have to be known to a few per cent, and the ridge
# must not be that of few rows. Ten times more would take a minute for 500 landmarks.
JUDGING_ROWS, ROWS_PER_LANDMARK = 10_000, 5
# Entries of these rows at most, 1.6 GB, and rows that judge all the same where there are very many columns.
JUDGING_ENTRIES, FEWEST_JUDGING = 200_000_000, 500
# Of few rows, all but one of so many parts decide and the other judges, in turn; then all decide again.
FOLDS = 3
# Different rows without which nothing can be learned: a third of them judges.
FEWEST_ROWS = 10
# Rows among which different ones are counted first.
LOOKED_AT = 100
# Smallest weight of a row, relative to the mean: its target says nothing. Noise has the inverse for its variance.
LEAST_WEIGHT = 1e-9
# Landmarks of the machines that judge kernels where an estimator has none of its own.
LANDMARKS = 200
# Why detectors have no widths per column, and what to do.
WITHOUT_TARGETS = (
    "without targets nothing says which columns matter. Scale columns of different units (StandardScaler), give "
    "weights that you know, kernel=ScaledInputs(Gaussian(1.0), weights), or, with examples of outliers, those of a "
    "classifier, kernel=SparseGreedyClassifier(gamma='relevance').fit(X, y).kernel_."
)
# What a fit stores, and a fit with another rule must not leave behind.
LEARNED = ("relevance_", "has_column_widths_")


def learns_relevance(kernel: Kernel) -> bool:
    """Whether a width per column is to be learned for a kernel, or for a part of it."""
    return any(isinstance(value, str) and value == RELEVANCE for _, value, _ in kernel.open_parameters())


def without_learned(estimator: Any) -> None:
    """Take away what an earlier fit with widths per column has stored."""
    for name in LEARNED:
        vars(estimator).pop(name, None)


def refuse_relevance(estimator: Any, kernel: Kernel, why: str) -> None:
    """Raise where widths per column are asked of an estimator that does not learn them; `why` says what to do."""
    if learns_relevance(kernel):
        raise UnsupportedKernelError(f"{type(estimator).__name__} does not learn gamma={RELEVANCE!r}: {why}")


def relevant_kernel(
    estimator: Any,
    kernel: Kernel,
    X: Rows,
    y: Targets | None,
    weights: np.ndarray | None = None,
    *,
    select: Callable[[Kernel, Array], Array] | None = None,
    n_landmarks: int = LANDMARKS,
    alpha: float | str | np.ndarray = "loo",
    intercept: bool = True,
) -> Kernel:
    """`kernel` with a width for each column, or with one width where that is no worse; stores which, and relevances.

    Widths are those with the largest evidence on some rows  (K21). On others, kernel ridge regression on landmarks
    chooses a factor of all of them, and whether they are better than one width of columns as they are, or of
    standardised columns.

    Parameters
    ----------
    estimator : estimator
        Gets the attributes `relevance_` and `has_column_widths_`.
    kernel : Kernel
        With ``gamma="relevance"``.
    X : array, sparse matrix or lazy array of shape (n, d)
        Validated rows.
    y : array of shape (n,) or (n, k)
        Targets, or class labels.
    weights : array of shape (n,), optional
        Of rows; those of weight zero have no part.
    select : callable, optional
        The landmarks that an estimator chooses with a kernel among rows.
    n_landmarks : int, default=200
        About how many these are.
    alpha, intercept
        Of kernel ridge regression on them.
    """
    require_relevance(kernel)
    targets, has_classes = _targets(estimator, y, X.shape[0])
    kept = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    n_judging = _judging_rows(n_landmarks, X.shape[1])
    rows, parts, is_small = _parts(kept, targets if has_classes else None, rows_for(X.shape[1]), n_judging)
    taken = take_rows(X, rows)
    sample = as_points(in_memory(taken) if is_lazy(X) else taken)
    deciding = [np.setdiff1d(np.arange(rows.size), judging) for judging in parts]
    # All rows, or the first ones: only these need be dense.
    points = take_rows(sample, np.arange(1 + max(int(some.max()) for some in deciding)))
    points = np.asarray(to_numpy(to_dense(points)), dtype=np.float64)
    _require_rows(estimator, points)
    Y, counts = _coded(targets, rows) if has_classes else targets[rows], np.ones(rows.size)
    if not isinstance(alpha, str):  # a penalty is one of all rows, with their weights
        alpha = np.asarray(alpha) * (rows.size / kept.size)
    if weights is not None:
        counts, largest = _shares(weights[rows]), float(np.max(weights))
        mean = float(np.sum(weights / largest)) / kept.size  # sums of huge weights overflow
        alpha = alpha if isinstance(alpha, str) else alpha / mean / largest
    Y = Y[:, np.all([np.any(Y[some] != Y[some[:1]], axis=0) for some in deciding], axis=0)]
    if not Y.shape[1] or not all(varying_columns(points[some]).any() for some in deciding):  # there is nothing to learn
        estimator.relevance_, estimator.has_column_widths_ = np.full(X.shape[1], 1 / X.shape[1]), False
        return with_gamma(kernel, resolve_gamma("median", points))
    Y = Y / np.max(np.abs(Y), axis=0)  # squares of huge targets leave the range of numbers
    Y = Y / np.maximum(np.std(Y, axis=0), np.finfo(float).tiny)
    found = [learn_relevance(kernel, points[some], Y[some], counts[some]) for some in deciding]
    families = [lambda each: each.one, lambda each: each.standardized, lambda each: each.per_column]
    judge = Judge(lambda each: (select or _landmarks)(each, sample), sample, Y, counts, parts, alpha, intercept)
    kernels = lambda of, factor: [_with_widths(kernel, factor * of(each).gammas) for each in found]
    *simple, per_column = (partial(kernels, of) for of in families)
    number, factor = choose_widths(judge, simple, per_column)
    last = learn_relevance(kernel, points, Y, counts, start=found[0].per_column.gammas) if is_small else found[0]
    chosen = families[number](last)
    estimator.has_column_widths_, estimator.relevance_ = number == len(simple), chosen.shares
    return _with_widths(kernel, factor * chosen.gammas)


def _with_widths(kernel: Kernel, gammas: np.ndarray) -> Kernel:
    """The kernel itself where all widths are the same, else on scaled inputs."""
    if np.all(gammas == gammas[0]):
        return with_gamma(kernel, float(gammas[0]))
    return ScaledInputs(with_gamma(kernel, 1.0), gammas)


def _shares(weights: np.ndarray) -> np.ndarray:
    """Weights of mean one, none of them so small that its inverse is no number."""
    weights = weights / np.max(weights)
    return np.maximum(weights / np.mean(weights), LEAST_WEIGHT)


def _require_rows(estimator: Any, points: np.ndarray) -> None:
    count = len(np.unique(points[:LOOKED_AT], axis=0))
    if count < FEWEST_ROWS:  # of rows in a random order
        count = len(np.unique(points, axis=0))
    if count < FEWEST_ROWS:
        raise ValueError(
            f"gamma={RELEVANCE!r} leaves out rows to judge widths of columns and needs {FEWEST_ROWS} different ones at "
            f"least; {type(estimator).__name__} got {count}. Give gamma as a number, or the rule 'median'."
        )


def _targets(estimator: Any, y: Targets | None, n: int) -> tuple[np.ndarray, bool]:
    """Targets (n, k), or labels (n,), and whether it is these."""
    name = type(estimator).__name__
    if y is None:
        raise ValueError(
            f"{name} with gamma={RELEVANCE!r} learns a width for each column from targets or class labels y; it got "
            "none. Give them to fit(X, y) where it takes them, or a kernel that learned them: "
            "SparseGreedyClassifier(gamma='relevance').fit(X, y).kernel_. Rules without labels are 'scale', 'median' "
            "and percentiles such as 'p5'."
        )
    y = np.asarray(from_device(in_memory(y)))
    has_numbers = is_regressor(estimator)
    if not has_numbers and not is_classifier(estimator):
        has_numbers = type_of_target(y, input_name="y").startswith("continuous")
    if has_numbers:
        Y = check_targets(estimator, y, n)
        return Y[:, None] if Y.ndim == 1 else Y, False
    return check_labels(estimator, y, n), True


def _coded(labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """±1 for members and others of every class, of two classes for one; shape (number of rows, k)."""
    classes = np.unique(labels)
    return np.where(labels[rows][:, None] == (classes[1:] if classes.size == 2 else classes), 1.0, -1.0)


def _judging_rows(n_landmarks: int, d: int) -> int:
    return min(max(JUDGING_ROWS, ROWS_PER_LANDMARK * n_landmarks), max(JUDGING_ENTRIES // d, FEWEST_JUDGING))


def _parts(
    kept: np.ndarray, labels: np.ndarray | None, most: int, n_judging: int
) -> tuple[np.ndarray, list[np.ndarray], bool]:
    """Numbers of rows in a random order, the places among them of those that judge, and whether all rows do.

    Where there are many rows, some decide and others judge. Of few, each part judges what the others decide.
    """
    rng = np.random.default_rng(0)
    n = kept.size
    if n * (FOLDS - 1) <= FOLDS * most:
        return kept[rng.permutation(n)], [np.arange(part, n, FOLDS) for part in range(FOLDS)], True
    # With members of every class.
    drawn = rng.choice(n, most, replace=False) if labels is None else stratified_rows(labels[kept], most, rng)
    others = rng.permutation(np.setdiff1d(np.arange(n), drawn))[:n_judging]
    rows = np.concatenate([rng.permutation(drawn), others])
    return kept[rows], [np.arange(drawn.size, rows.size)], False


def _landmarks(kernel: Kernel, X: Array) -> Array:
    return SparseGreedy(LANDMARKS).select(kernel, X, rng=np.random.default_rng(0)).points
