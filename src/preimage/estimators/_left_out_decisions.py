"""Decisions of a fitted classifier for training points that had no part in fitting it."""

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, check_cv
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.utils import get_tags

from preimage._arrays import is_dask, is_dask_frame, is_foreign, take_rows, to_dense, to_numpy
from preimage.calibration import svm_leave_one_out
from preimage.estimators._fisher_left_out import fisher_left_out
from preimage.estimators._fisher_problem import solves_by_gram
from preimage.estimators._kernel_fisher import KernelFisherDiscriminant
from preimage.estimators._left_out_scores import MOST_POINTS, N_FOLDS, SCALERS, as_inputs, last_step, rows_of
from preimage.interop import machine_of

# Refits: every point in turn up to this many, then in folds.
MOST_REFITS = 200


class LeftOutValues:
    """Decisions for training points in the model of all, and in models without them.

    Attributes
    ----------
    train, left_out : arrays of shape (n, k)
        One column for two classes.
    levels : array of shape (n, k) or (k,)
        Mean decisions of the models without each row, over all rows, where they are known; else those of `train`.
    codes : integer array of shape (n,)
        Classes, as places in `classes_`.
    weights : array of shape (n,) or None
    route : {"exact leave-one-out", "refits"}
    """

    def __init__(self, train, left_out, codes, weights, route, levels=None):
        self.train = train
        self.left_out = left_out
        self.levels = train.mean(axis=0) if levels is None else levels
        self.codes = codes
        self.weights = weights
        self.route = route

    @property
    def levelled(self):
        """Left-out decisions by models that have the level of the model of all, as new points meet it.

        Free intercepts move away from the class of the row that is left out, by a share 1/n of the training decisions.
        Where left-out decisions vary less than that, they would be a matter of this alone.
        """
        return self.left_out - self.levels + self.train.mean(axis=0)


def left_out_decisions(estimator, X, y, *, cv=None, n_jobs=None, rng=None, sample_weight=None):
    """Leave-one-out decisions by the fastest way that is exact, else by refitting.

    Parameters
    ----------
    estimator : fitted classifier with decision_function
        A search (with `best_estimator_`) stands for its best model: parameters are not searched again.
    X, y : its training data
    cv : None, int, splitter or iterable
        None leaves out every point in turn: up to 2,000 points for two-class `SVC` (by `svm_leave_one_out`) and
        `KernelFisherDiscriminant` on all points (by `fisher_left_out`), also after scalers, which stay as they are; up
        to 200 points by refits; more points in 20 stratified folds. Anything else makes refits on its folds.
    n_jobs : int or None
        Refits at a time.
    rng : Generator
    sample_weight : array of shape (n,), optional

    Returns
    -------
    LeftOutValues
        Classes with one row only cannot be left out: the row keeps its decision.
    """
    if is_dask(X) or is_dask_frame(X):
        raise TypeError("Left-out decisions need arrays in memory; got a Dask collection. Pass X.compute().")
    estimator = getattr(estimator, "best_estimator_", estimator)
    codes = np.searchsorted(estimator.classes_, to_numpy(y) if is_foreign(y) else np.asarray(y))
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    train = as_columns(estimator.decision_function(X), estimator)
    if cv is None and len(codes) <= MOST_POINTS:
        exact = _exact(estimator, X, y, codes, weights, train)
        if exact is not None:
            values, levels = (each[:, None] for each in exact)
            return LeftOutValues(train, values, codes, weights, "exact leave-one-out", levels)
    values, levels = _refitted(estimator, X, y, codes, weights, train, cv, n_jobs, rng)
    return LeftOutValues(train, values, codes, weights, "refits", levels)


def as_columns(values, estimator):
    """What a classifier returns as decisions, as a float64 array of shape (n, k), with k = 1 for two classes."""
    values = np.asarray(to_numpy(values) if is_foreign(values) else values, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    n_classes = len(estimator.classes_)
    if values.shape[1] != (1 if n_classes == 2 else n_classes) or pairwise_decisions(estimator):
        raise ValueError(
            f"Correction of decisions needs one column for two classes, or one a class; {estimator!r} gives "
            f"{values.shape[1]} columns for {n_classes} classes. Set decision_function_shape='ovr' where there is one."
        )
    return values


def pairwise_decisions(estimator):
    """Whether decisions are those of pairs of classes, even where there are as many pairs as classes."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return len(estimator.classes_) > 2 and getattr(last, "decision_function_shape", "ovr") == "ovo"


def _exact(estimator, X, y, codes, weights, train):
    """Values and levels without refits, for two-class SVC and kernel Fisher discriminants; None for others."""
    last, inputs, steps = last_step(estimator, X)
    if len(last.classes_) != 2 or not all(isinstance(step, SCALERS) for step in steps):
        return None
    if type(last) is SVC:
        costs = last.C * last.class_weight_[codes] * (1.0 if weights is None else weights)
        if not costs.all():
            return None  # `support_` does not count rows of weight zero
        return _support_vector_machine(last, as_inputs(inputs), codes, costs, train[:, 0])
    return fisher_left_out(getattr(last, "best_estimator_", last), inputs, y, weights, train[:, 0])


def _support_vector_machine(svm, inputs, codes, costs, decisions):
    if isinstance(svm.kernel, str) and svm.kernel == "precomputed":
        K = to_dense(inputs)
    else:
        K = machine_of(svm).expansion.kernel(inputs, inputs)
    coefficients = np.zeros(len(codes))
    coefficients[svm.support_] = np.ravel(to_dense(svm.dual_coef_))
    result = svm_leave_one_out(K, 2.0 * codes - 1, coefficients, costs, decisions)
    return result.values, result.levels


def _refitted(estimator, X, y, codes, weights, train, cv, n_jobs, rng):
    splits = _splits(codes, cv, rng)
    work = delayed(_decisions_of_fold)
    results = Parallel(n_jobs=n_jobs)(work(estimator, X, y, weights, *split) for split in splits)
    sums, counts = np.zeros((2, *train.shape)), np.zeros(len(train))
    for (_, left), (values, levels) in zip(splits, results, strict=True):
        sums[0, left] += values
        sums[1, left] += train.mean(axis=0) if levels is None else levels
        counts[left] += 1
    alone = np.bincount(codes)[codes] == 1
    if (counts[~alone] == 0).any():
        raise ValueError(
            f"Every point must be left out once; the folds of cv leave out all but {int((counts[~alone] == 0).sum())} "
            f"of {len(train)}. Use StratifiedKFold or LeaveOneOut."
        )
    whole = np.stack([train, np.broadcast_to(train.mean(axis=0), train.shape)])
    return np.where(counts[:, None] == 0, whole, sums / np.maximum(counts, 1)[:, None])


def _splits(codes, cv, rng):
    """Pairs of rows to fit and rows to leave out, never all of a class."""
    n, sizes = len(codes), np.bincount(codes)
    if cv is None and n <= MOST_REFITS:
        cv = LeaveOneOut()
    elif cv is None:
        seed = 0 if rng is None else int(rng.integers(2**31))
        smallest = int(sizes[sizes > 1].min(initial=N_FOLDS))
        cv = StratifiedKFold(max(2, min(N_FOLDS, smallest)), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # dealt with here
        splits = list(check_cv(cv, codes, classifier=True).split(np.zeros((n, 1)), codes))
    kept = []
    for fitted, left in splits:
        missing = np.setdiff1d(codes, codes[fitted])
        if missing.size and not (sizes[missing] == 1).all():
            raise ValueError(
                f"A fold of cv leaves out all {int(sizes[missing].max())} rows of a class; decisions need models that "
                "know every class. Use StratifiedKFold, or more folds."
            )
        alone = np.isin(codes[left], missing)
        fitted, left = np.union1d(fitted, left[alone]), left[~alone]
        if left.size:
            kept.append((fitted, left))
    return kept


def _decisions_of_fold(estimator, X, y, weights, fitted, left):
    """Decisions for the rows left out by a model of the others, and its mean decisions where intercepts are free."""
    inside, outside = rows_of(X, fitted), rows_of(X, left)
    if get_tags(estimator).input_tags.pairwise:
        X, inside, outside = X[:, fitted], inside[:, fitted], outside[:, fitted]
    targets = take_rows(y, fitted) if is_foreign(y) else np.asarray(y)[fitted]
    model = clone(estimator)
    model.fit(inside, targets, **_weight_arguments(estimator, weights, fitted))
    levels = as_columns(model.decision_function(X), model).mean(axis=0) if _has_free_intercepts(model) else None
    return as_columns(model.decision_function(outside), model), levels


def _has_free_intercepts(model):
    """Whether decisions are expansions whose coefficients sum to zero, and a constant that has no penalty.

    Only then levels tell how the constant moved: without one, they would tell the classes of rows left out.
    """
    if isinstance(model, Pipeline):
        return _has_free_intercepts(model.steps[-1][1])
    if isinstance(model, OneVsRestClassifier):
        return all(_has_free_intercepts(each) for each in model.estimators_)
    if isinstance(model, KernelFisherDiscriminant):
        return model.landmarks is None and solves_by_gram(model)
    return isinstance(model, (SVC, NuSVC)) and len(model.classes_) == 2


def _weight_arguments(estimator, weights, rows):
    if weights is None:
        return {}
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    return {f"{prefix}sample_weight": weights[rows]}
