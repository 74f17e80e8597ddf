"""Does a model find signal in a table? Decisions for rows of balanced folds, by models of the other rows."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.svm import SVC

from preimage._engine.arrays import from_device
from preimage._engine.typing import Array, Folds, Rows, Targets
from preimage._engine.validation import count_rows
from preimage.calibration._guard import decisions_on_scores
from preimage.calibration._signal import Signal, balanced_folds, signal_of
from preimage.estimators._training_rows import same_rows
from preimage.interop._pipeline import final_step
from preimage.renormalization._exact import kernel_matrix
from preimage.renormalization._inputs import as_decisions, as_scores, last_step
from preimage.renormalization._left_out import MOST_POINTS, SCALERS, fitted_without, for_splits

# Models of nine tenths of the rows resemble the model of all, and the folds of 30 rows have rows of both classes.
N_FOLDS = 10
# What the choice of folds adds to the variance is a fifth of it with 1 + 1 rows per fold; four repeats leave a
# twentieth. Tables with more rows than this, repeats included, have more rows per fold, and refits take longer.
MOST_REPEATS, MOST_ROWS = 4, 1000
# No more repeats are made where chance shows as much in one of a thousand tables: the others would not change that.
CLEAR_BEYOND_DOUBT = 0.001


def balanced_signal(
    estimator: Any,
    X: Rows,
    y: Targets,
    *,
    judge: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    rng: np.random.Generator | None = None,
    sample_weight: Array | None = None,
    groups: Targets = None,
) -> Signal | None:
    """Whether models of most rows order the others by their classes; each row is compared within its fold.

    Leaving out one row at a time is biased against signal: without the row, its class is smaller, and the model decides
    against it. Folds with rows of all classes, in which rows are compared with each other only, have no such bias.

    Parameters
    ----------
    estimator : classifier with decision_function, or transformer
        Kernel values and scalers of an `SVC` that is fitted already stay as they are.
    X, y : training data
    judge : classifier or None
        For transformers: it is fitted to the scores of each fold.
    cv : None, int, splitter or iterable
        None deals out rows, of every class evenly, into ten folds (as many as the smallest class has rows, where these
        are fewer), and again up to four times. Anything else are the folds to use, if rows of two classes are in them.
    n_jobs, rng, sample_weight, groups
        As in `left_out_scores`.

    Returns
    -------
    Signal or None
        None where models cannot be fitted to the rows of folds, or there are no two classes with two rows each.
    """
    classes, codes = np.unique(np.asarray(from_device(y)), return_inverse=True)
    units = same_rows(X) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    rng = np.random.default_rng(0) if rng is None else rng
    estimator, X = _on_kernel_values(estimator, X)
    decide = _decisions_of_classifier if is_classifier(estimator) else _decisions_of_scores(judge, codes, len(classes))
    values, numbers, signal = [], [], None
    for folds in _repeats(codes, units, cv, groups, rng):
        splits = _splits(folds, codes)
        if not splits:
            break
        try:
            found = for_splits(decide, splits, n_jobs, estimator, X, y, sample_weight)
        except ValueError:  # more components than rows of a fold, say
            return None
        decisions, left_out = np.zeros((len(codes), found[0].shape[1])), np.full(len(codes), -1)
        for number, ((_, left), each) in enumerate(zip(splits, found, strict=True)):
            decisions[left], left_out[left] = each, number
        values.append(decisions)
        numbers.append(left_out)
        signal = signal_of(np.stack(values), codes, sample_weight, folds=np.stack(numbers), units=units)
        if signal.p_value < CLEAR_BEYOND_DOUBT:
            break
    return signal


def _on_kernel_values(estimator: Any, X: Rows) -> tuple[Any, Rows]:
    """A fitted SVC, also after scalers, as one of kernel values, which are computed once; others as they are.

    On wide tables most of the time of refits goes into kernel values.
    """
    inner = final_step(estimator)
    is_fitted_svc = type(inner) is SVC and isinstance(inner.kernel, str) and hasattr(inner, "support_")
    if not is_fitted_svc or count_rows(X) > MOST_POINTS:
        return estimator, X
    last, inputs, steps = last_step(estimator, X)
    if not all(isinstance(step, SCALERS) for step in steps):
        return estimator, X
    return clone(last).set_params(kernel="precomputed"), kernel_matrix(last, inputs)


def _repeats(codes: Array, units: Array, cv: Any, groups: Targets, rng: np.random.Generator) -> Iterator[Array]:
    """Numbers of folds, shape (n,), as often as they are to be dealt out."""
    if cv is not None:
        folds = np.full(len(codes), -1)
        splitter = check_cv(cv, codes, classifier=True)
        for number, (_, left) in enumerate(splitter.split(np.zeros((len(codes), 1)), codes, groups)):
            folds[left] = number
        if any(len(np.unique(codes[folds == number])) > 1 for number in np.unique(folds[folds >= 0])):
            yield folds
            return
    for _ in range(max(1, min(MOST_REPEATS, MOST_ROWS // len(codes)))):
        yield balanced_folds(codes, units, N_FOLDS, rng)


def _splits(folds: Array, codes: Array) -> Folds:
    """Pairs of rows to fit and rows to leave out; rows without which a class would be empty stay in."""
    splits = []
    for number in np.unique(folds[folds >= 0]):
        left = np.flatnonzero(folds == number)
        lost = np.setdiff1d(codes, np.delete(codes, left))
        left = left[~np.isin(codes[left], lost)]
        if left.size:
            splits.append((np.setdiff1d(np.arange(len(codes)), left), left))
    return splits


def _decisions_of_classifier(
    estimator: Any, X: Rows, y: Targets, weights: Array | None, fitted: Array, left: Array
) -> Array:
    model, _, outside = fitted_without(estimator, X, y, weights, fitted, left)
    return as_decisions(model.decision_function(outside), model)


def _decisions_of_scores(judge: Any, codes: Array, n_classes: int) -> Callable[..., Array]:
    def decide(estimator: Any, X: Rows, y: Targets, weights: Array | None, fitted: Array, left: Array) -> Array:
        model, inside, outside = fitted_without(estimator, X, y, weights, fitted, left)
        scores, queries = as_scores(model.transform(inside)), as_scores(model.transform(outside))
        mass = None if weights is None else weights[fitted]
        return decisions_on_scores(judge, scores, codes[fitted], mass, queries, n_classes)

    return decide
