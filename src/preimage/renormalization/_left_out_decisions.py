"""Decisions of a fitted classifier for training points that had no part in fitting it."""

import warnings
from itertools import combinations

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import LeaveOneGroupOut, StratifiedGroupKFold, check_cv
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.utils import get_tags

from preimage._arrays import is_foreign, take_rows, to_dense, to_numpy
from preimage._validation import require_in_memory
from preimage.calibration import svm_leave_one_out
from preimage.calibration._weights import mean
from preimage.discriminants import GramFisher
from preimage.discriminants._problem import gram_matrix
from preimage.estimators._fisher_data import with_class_weights
from preimage.estimators._kernel_fisher import KernelFisherDiscriminant, fisher_options
from preimage.estimators._training_rows import same_rows
from preimage.interop import machine_of
from preimage.machines import OneVsOne
from preimage.renormalization._left_out_scores import (
    MOST_POINTS,
    N_FOLDS,
    SCALERS,
    as_inputs,
    distinct,
    fitted_on,
    last_step,
    rows_of,
)
from preimage.renormalization._one_vs_rest import OneVsRestSVC

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
    units : integer array of shape (n,)
        Equal rows, which were left out together, have the same number.
    """

    def __init__(self, train, left_out, codes, weights, route, levels=None, units=None):
        self.units = np.arange(len(codes)) if units is None else units
        self.train = train
        self.left_out = left_out
        self.codes = codes
        self.weights = weights
        self.levels = self.train_level if levels is None else levels
        self.route = route

    @property
    def train_level(self):
        """Mean decision of the model of all rows, shape (k,)."""
        return mean(self.train, self.weights)

    @property
    def levelled(self):
        """Left-out decisions by models that have the level of the model of all, as new points meet it.

        Free intercepts move away from the class of the row that is left out, by 1/n of the training decisions.
        Where left-out decisions vary less than that, they would be a matter of this alone.
        """
        return self.left_out - self.levels + self.train_level


def left_out_decisions(estimator, X, y, *, cv=None, n_jobs=None, rng=None, sample_weight=None, groups=None):
    """Leave-one-out decisions by the fastest way that is exact, else by refitting.

    Parameters
    ----------
    estimator : fitted classifier with decision_function
        A search (with `best_estimator_`) stands for its best model: parameters are not searched again.
    X, y : its training data
    cv : None, int, splitter or iterable
        None leaves out every point in turn: up to 2,000 points for `SVC` (by `svm_leave_one_out`, also one against the
        rest) and two-class `KernelFisherDiscriminant` on all points (by `fisher_left_out`), also after scalers, which
        stay as they are; up to 200 points by refits; more points in 20 stratified folds. Copies of a row are left out
        together. Anything else makes refits on its folds.
    n_jobs : int or None
        Refits at a time.
    rng : Generator
    sample_weight : array of shape (n,), optional
        Positive.
    groups : array of shape (n,), optional
        For `cv`; without one, each group is left out in turn, by refits.

    Returns
    -------
    LeftOutValues
        Rows without which a class would be empty cannot be left out: they keep their decisions.
    """
    require_in_memory(X, "Left-out decisions need arrays")
    estimator = getattr(estimator, "best_estimator_", estimator)
    codes = np.searchsorted(estimator.classes_, to_numpy(y) if is_foreign(y) else np.asarray(y))
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    units = same_rows(X)
    if cv is None and groups is None and len(codes) <= MOST_POINTS:
        exact = _exact(estimator, X, y, codes, weights, units)
        if exact is not None:
            train, values, levels = exact
            return LeftOutValues(train, values, codes, weights, "exact leave-one-out", levels, units)
    train = as_columns(estimator.decision_function(X), estimator)
    splits = _splits(codes, cv, rng, groups, units)
    values, levels = _refitted(estimator, X, y, codes, weights, train, splits, n_jobs)
    return LeftOutValues(train, values, codes, weights, "refits", levels, units)


def as_columns(values, estimator):
    """What a classifier returns as decisions, as a float64 array of shape (n, k), with k = 1 for two classes."""
    values = np.asarray(to_numpy(values) if is_foreign(values) else values, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    n_classes = len(estimator.classes_)
    if values.shape[1] != (1 if n_classes == 2 else n_classes) or pairwise_decisions(estimator):
        raise ValueError(
            f"Correction of decisions needs one column for two classes, or one per class; {estimator!r} gives "
            f"{values.shape[1]} columns for {n_classes} classes. Set decision_function_shape='ovr' where there is one."
        )
    return values


def pairwise_decisions(estimator):
    """Whether decisions are those of pairs of classes, even where there are as many pairs as classes."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return len(estimator.classes_) > 2 and getattr(last, "decision_function_shape", "ovr") == "ovo"


def _exact(estimator, X, y, codes, weights, units):
    """Training values, left-out values and levels, (n, k) each, for models that need no refits; None for others."""
    last, inputs, steps = last_step(estimator, X)
    if not all(isinstance(step, SCALERS) for step in steps):
        return None
    if type(last) is SVC and not pairwise_decisions(last):
        return _support_vector_machines(last, inputs, codes, weights, units)
    if type(last) in (OneVsRestClassifier, OneVsRestSVC):
        return _one_vs_rest_machines(last, inputs, y, codes, weights, units)
    last = getattr(last, "best_estimator_", last)
    if type(last) is not KernelFisherDiscriminant or not _has_free_intercepts(last) or is_foreign(inputs):
        return None
    return _fisher_discriminant(last, estimator, X, y, inputs, codes, weights, units)


def _fisher_discriminant(model, estimator, X, y, inputs, codes, weights, units):
    """Of two classes on all points with a penalty on the norm, in closed form; None for others."""
    first, _ = distinct(units, weights)
    if len(model.classes_) != 2 or (codes != codes[first][units]).any():
        return None
    # The closed form leaves out one row at a time: copies of a row are one row with their weights together.
    weights = with_class_weights(model, np.asarray(y), weights)
    mass = None if weights is None and len(first) == len(units) else np.bincount(units, weights)
    if mass is not None and not mass.all():
        return None
    kernel, rows = model.kernel_, rows_of(inputs, first)
    if kernel.points_are_row_numbers:
        K = to_dense(rows)[:, first]
    else:
        K = gram_matrix(kernel, as_inputs(rows))
    train = as_columns(estimator.decision_function(X), estimator)
    problem = GramFisher(K, codes[first], 2, mass, is_relative=model.alpha_scale == "relative")
    exact = problem.left_out_decisions(model.alpha, train[first, 0])
    return None if exact is None else (train, *(each[units, None] for each in exact))


def _kernel_matrix(svm, inputs):
    if isinstance(svm.kernel, str) and svm.kernel == "precomputed":
        return to_dense(inputs)
    return machine_of(svm).expansion.kernel(inputs, inputs)


def _support_vector_machines(svm, inputs, codes, weights, units):
    """Of two classes; or votes of pairs of classes, where leaving out a row changes the machines of its class alone."""
    costs = svm.C * svm.class_weight_[codes] * (1.0 if weights is None else weights)
    if not costs.all() or svm.fit_status_:
        return None  # `support_` does not count rows of weight zero, and machines that did not converge are others
    K = _kernel_matrix(svm, as_inputs(inputs))
    if len(svm.classes_) == 2:
        return tuple(each[:, None] for each in _two_class_machine(svm, K, codes, costs, units, weights))
    dual = to_dense(svm.dual_coef_)
    pairs = list(combinations(range(len(svm.classes_)), 2))
    F, left_out = np.empty((2, len(codes), len(pairs)))
    for column, (first, second) in enumerate(pairs):
        # Row `second - 1` of `dual_coef_` has the coefficients of class `first` against `second`, and row `first` those
        # of class `second` against `first`.
        coefficients = np.zeros(len(codes))
        support = codes[svm.support_]
        for own, other in ((first, second - 1), (second, first)):
            coefficients[svm.support_[support == own]] = dual[other, support == own]
        F[:, column] = K @ coefficients + svm.intercept_[column]
        rows = np.flatnonzero((codes == first) | (codes == second))
        signs = np.where(codes[rows] == first, 1.0, -1.0)
        own = svm_leave_one_out(
            K[np.ix_(rows, rows)], signs, coefficients[rows], costs[rows], F[rows, column], units[rows]
        )
        left_out[:, column] = F[:, column]
        left_out[rows, column] = own.values
    votes = OneVsOne(svm.classes_).decision
    train, left_out = votes(F), votes(left_out)
    return train, left_out, np.broadcast_to(mean(train, weights), train.shape)


def _one_vs_rest_machines(model, inputs, y, codes, weights, units):
    machines = model.estimators_
    if not all(type(each) is SVC and not each.fit_status_ for each in machines):
        return None
    rows = model.row_weights(y, weights) if type(model) is OneVsRestSVC else weights
    K, columns = _kernel_matrix(machines[0], as_inputs(inputs)), []
    for k, svm in enumerate(machines):
        own = (codes == (1 if len(machines) == 1 else k)).astype(int)
        costs = svm.C * svm.class_weight_[own] * (1.0 if rows is None else rows)
        if not costs.all():
            return None
        columns.append(_two_class_machine(svm, K, own, costs, units, weights))
    return tuple(np.stack(each, axis=1) for each in zip(*columns, strict=True))


def _two_class_machine(svm, K, codes, costs, units, weights):
    """Training values, left-out values and levels, (n,) each."""
    coefficients = np.zeros(len(codes))
    coefficients[svm.support_] = np.ravel(to_dense(svm.dual_coef_))
    decisions = K @ coefficients + svm.intercept_[0]
    result = svm_leave_one_out(K, 2.0 * codes - 1, coefficients, costs, decisions, units, weights)
    return decisions, result.values, result.levels


def _refitted(estimator, X, y, codes, weights, train, splits, n_jobs):
    work = delayed(_decisions_of_fold)
    results = Parallel(n_jobs=n_jobs)(work(estimator, X, y, weights, *split) for split in splits)
    sums, counts = np.zeros((2, *train.shape)), np.zeros(len(train))
    for (_, left), (values, levels) in zip(splits, results, strict=True):
        sums[0, left] += values
        sums[1, left] += mean(train, weights) if levels is None else levels
        counts[left] += 1
    whole = np.stack([train, np.broadcast_to(mean(train, weights), train.shape)])
    return np.where(counts[:, None] == 0, whole, sums / np.maximum(counts, 1)[:, None])


def _splits(codes, cv, rng, groups, units):
    """Pairs of rows to fit and rows to leave out; rows without which a class would be empty stay in."""
    n, sizes = len(codes), np.bincount(codes)
    automatic = cv is None and groups is None
    if cv is None and groups is not None:
        cv = LeaveOneGroupOut()
    elif automatic and n <= MOST_REFITS:
        cv, groups = LeaveOneGroupOut(), units
    elif automatic:
        seed = 0 if rng is None else int(rng.integers(2**31))
        smallest = int(sizes[sizes > 1].min(initial=N_FOLDS))
        cv = StratifiedGroupKFold(max(2, min(N_FOLDS, smallest)), shuffle=True, random_state=seed)
        groups = units
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # dealt with here
        splits = list(check_cv(cv, codes, classifier=True).split(np.zeros((n, 1)), codes, groups))
    kept, seen = [], np.zeros(n, dtype=bool)
    for fitted, left in splits:
        missing = np.setdiff1d(codes, codes[fitted])
        if missing.size and not automatic and not (sizes[missing] == 1).all():
            raise ValueError(
                f"A fold of cv leaves out all {int(sizes[missing].max())} rows of a class; decisions need models that "
                "know every class. Use StratifiedKFold (StratifiedGroupKFold with groups), or more folds."
            )
        seen[left] = True
        alone = np.isin(codes[left], missing)
        fitted, left = np.union1d(fitted, left[alone]), left[~alone]
        if left.size:
            kept.append((fitted, left))
    if not seen.all():
        raise ValueError(
            f"Every point must be left out once; the folds of cv leave out all but {int((~seen).sum())} of {n}. Use "
            "StratifiedKFold, GroupKFold or LeaveOneOut."
        )
    return kept


def _decisions_of_fold(estimator, X, y, weights, fitted, left):
    """Decisions for the rows left out by a model of the others, and its mean decisions where intercepts are free."""
    inside, outside = rows_of(X, fitted), rows_of(X, left)
    if get_tags(estimator).input_tags.pairwise:
        X, inside, outside = X[:, fitted], inside[:, fitted], outside[:, fitted]
    targets = take_rows(y, fitted) if is_foreign(y) else np.asarray(y)[fitted]
    model = fitted_on(clone(estimator), inside, targets, None if weights is None else weights[fitted])
    levels = mean(as_columns(model.decision_function(X), model), weights) if _has_free_intercepts(model) else None
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
        return model.landmarks is None and fisher_options(model).solves_by_gram
    return isinstance(model, (SVC, NuSVC)) and len(model.classes_) == 2
