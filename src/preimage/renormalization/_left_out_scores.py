"""Scores of a fitted transformer for training points that had no part in fitting it."""

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneGroupOut, RandomizedSearchCV, check_cv
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from preimage._arrays import is_foreign, is_sparse, take_rows, to_dense, to_numpy
from preimage._linalg import match, matched
from preimage._validation import count_rows, require_in_memory
from preimage.calibration import leave_one_out, linear_leave_one_out
from preimage.estimators._kernel_pca import KernelPCA
from preimage.estimators._training_rows import same_rows
from preimage.feature_space import Gram

# All points are left out in turn at once up to this many; the cost grows with the third power.
MOST_POINTS = 2000
# Refits: every point in turn up to this many, then as many folds as this.
MOST_REFITS = 50
N_FOLDS = 20
# Share of training scores in which a fitted model may differ from the decomposition here; iterative solvers leave
# components with nearly equal eigenvalues a little rotated. Beyond, refits repeat whatever the model does.
AGREEMENT = 0.1
# Steps that scale columns or rows learn little from a point: they stay as they are when it is left out.
SCALERS = (FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler)


class LeftOutScores:
    """Scores of training points in the model of all, and in models without them.

    Attributes
    ----------
    train, left_out : arrays of shape (n, q)
    route : {"exact leave-one-out", "refits"}
    folds : callable
        Takes the rows that are to be left out, or None for all, and returns an iterable of (train indices, training
        scores in the fold, test indices).
    weights : array of shape (n,) or None
    """

    def __init__(self, train, left_out, route, folds, weights=None):
        self.weights = weights
        self.train = train
        self.left_out = left_out
        self.route = route
        self.folds = folds


def left_out_scores(estimator, X, y=None, *, cv=None, n_jobs=None, rng=None, sample_weight=None, groups=None):
    """Leave-one-out scores by the fastest way that is exact, else by refitting on folds.

    Parameters
    ----------
    estimator : fitted transformer
    X : its training inputs
    y : its training targets, if it has any
    cv : None, int, splitter or iterable
        None leaves out every point in turn where one decomposition serves all of them (`KernelPCA` and scikit-learn's
        `PCA` and `KernelPCA`, also after scalers, up to 2,000 points) or where points are few, and takes folds
        otherwise. Copies of a row are left out together. Anything else makes refits on its folds.
    n_jobs : int or None
        Refits at a time.
    rng : Generator
    sample_weight : array of shape (n,), optional
        Positive; for estimators whose `fit` takes them.
    groups : array of shape (n,), optional
        For `cv`; without one, each group is left out in turn, by refits.

    Returns
    -------
    LeftOutScores
    """
    require_in_memory(X, "Left-out scores need arrays")
    n = count_rows(X)
    if n < 3:
        raise ValueError(f"Left-out scores need at least 3 rows; got n_samples={n}.")
    train = as_scores(estimator.transform(X))
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    units = same_rows(X)
    if cv is None and groups is None and n <= MOST_POINTS:
        exact = _exact(estimator, X, train, weights, units)
        if exact is not None:
            return exact
    splits = _splits(n, y, cv, rng, groups, units)
    if type(estimator) is PCA and estimator.n_features_in_ > n and not is_sparse(X):
        X = _turned(as_inputs(X))
    return _refitted(estimator, X, y, train, weights, splits, n_jobs)


def _turned(X):
    """Rows in a basis of their own span, shape (n, n): scores of PCA do not depend on the basis, their price does."""
    return np.linalg.qr((X - X.mean(axis=0)).T, mode="r").T


def fitted_on(model, X, y=None, weights=None):
    """The model, fitted to data, with or without targets and weights."""
    arguments = weight_arguments(model, weights)
    return model.fit(X, **arguments) if y is None else model.fit(X, y, **arguments)


def weight_arguments(estimator, weights):
    """Arguments of `fit` that bring weights to an estimator, or to the last step of a pipeline.

    Raises
    ------
    TypeError
        Where its `fit` takes none.
    """
    if weights is None:
        return {}
    inner, prefix = estimator, ""
    if isinstance(inner, (GridSearchCV, RandomizedSearchCV)):
        inner = inner.estimator
    while isinstance(inner, Pipeline):
        name, inner = inner.steps[-1]
        prefix += f"{name}__"
    if not has_fit_parameter(inner, "sample_weight"):
        raise TypeError(
            f"sample_weight needs an estimator whose fit takes weights; that of {type(inner).__name__} does not. Leave "
            "sample_weight out, or repeat rows."
        )
    # With metadata routing, pipelines pass on what their steps have requested.
    return {"sample_weight" if get_config()["enable_metadata_routing"] else f"{prefix}sample_weight": weights}


def as_scores(scores):
    """What a transformer returns, as a float64 array of shape (n, q)."""
    scores = scores.toarray() if hasattr(scores, "toarray") else scores
    scores = np.asarray(to_numpy(scores) if is_foreign(scores) else scores, dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(f"Correction needs transformers that return tables of scores; got shape {scores.shape}.")
    return scores


def last_step(estimator, X):
    """The last step of a fitted pipeline, what it is given for X, and the steps before it; or the estimator itself."""
    if not isinstance(estimator, Pipeline):
        return estimator, X, []
    steps = [step for _, step in estimator.steps[:-1] if step is not None and step != "passthrough"]
    for step in steps:
        X = step.transform(X)
    last = estimator.steps[-1][1]
    if isinstance(last, Pipeline):
        last, X, inner = last_step(last, X)
        steps = steps + inner
    return last, X, steps


def _exact(estimator, X, train, weights, units):
    """By `leave_one_out`, for estimators it describes; None for others."""
    last, inputs, steps = last_step(estimator, X)
    if not all(isinstance(step, SCALERS) for step in steps):
        return None
    count = train.shape[1]
    # Copies of a row are one row with their weights together: they are left out together.
    first, mass = distinct(units, weights)
    if len(first) < 3:
        return None
    inputs = rows_of(inputs, first) if len(first) < len(units) else inputs
    if isinstance(last, KernelPCA) and last.route_ == "exact" and last.subspace_.signature is None:
        if get_tags(last).input_tags.pairwise and len(first) < len(units):
            inputs = inputs[:, first]
        gram = Gram(last.kernel_, last.kernel_.inputs(as_inputs(inputs))).dense()
        scores = leave_one_out(gram, count, sample_weight=mass)
    elif type(last) is PCA and weights is None:
        if mass is None:
            scores = linear_leave_one_out(as_inputs(inputs), count)
        else:
            dense = to_dense(as_inputs(inputs))
            dense = dense - mass @ dense / mass.sum()
            scores = leave_one_out(dense @ dense.T, count, sample_weight=mass)
    elif type(last) is SklearnKernelPCA and weights is None:
        if last.kernel == "precomputed" and len(first) < len(units):
            inputs = inputs[:, first]
        scores = leave_one_out(_sklearn_gram(last, as_inputs(inputs)), count, sample_weight=mass)
    else:
        return None
    return _aligned(scores, train, first, units, weights, whiten=getattr(last, "whiten", False))


def distinct(units, weights):
    """The first of equal rows, and what they weigh together; None where nothing weighs more than one row."""
    _, first = np.unique(units, return_index=True)
    if weights is None and len(first) == len(units):
        return first, None
    return first, np.bincount(units, weights)


def as_inputs(X):
    """What an estimator has accepted, as a float64 array or a CSR matrix."""
    if is_sparse(X):
        return X.tocsr().astype(np.float64)
    return np.asarray(to_numpy(X) if is_foreign(X) else X, dtype=np.float64)


def rows_of(X, indices):
    """The rows of an array, sparse matrix, data frame or list with these numbers."""
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    X = X.tocsr() if is_sparse(X) else X
    return take_rows(X if hasattr(X, "shape") else np.asarray(X), indices)


def _sklearn_gram(model, X):
    if callable(model.kernel):
        return pairwise_kernels(X, metric=model.kernel, **(model.kernel_params or {}))
    gamma = getattr(model, "gamma_", model.gamma)
    parameters = {"gamma": gamma, "degree": model.degree, "coef0": model.coef0}
    return pairwise_kernels(X, metric=model.kernel, filter_params=True, **parameters)


def _aligned(scores, train, first, units, weights, whiten):
    """With the signs of the fitted model, and its scale; None where ranks are not what the model makes of them.

    `scores` are of the rows `first`, which stand for all rows of their units.
    """
    found = scores.train.shape[1]
    mass = np.ones(len(first)) if scores.weights is None else scores.weights
    sizes, left_sizes = np.ones(found), np.ones(scores.left_out.shape)
    if whiten:
        sizes = np.sqrt(scores.eigenvalues / (mass.sum() - 1))
        left_sizes = np.sqrt(scores.left_out_eigenvalues / np.maximum(mass.sum() - mass - 1, 1)[:, None])
        left_sizes[left_sizes == 0] = np.inf  # an axis that the others do not have: its score is zero
    known = train[first, :found]
    signs = np.where((scores.train * known).sum(axis=0) < 0, -1.0, 1.0)
    expected = signs * scores.train / sizes
    if np.linalg.norm(expected - known) > AGREEMENT * np.linalg.norm(known):
        return None
    left_out = np.zeros_like(train)
    left_out[:, :found] = (signs * scores.left_out / left_sizes)[units]

    def folds(chosen=None):
        wanted = range(len(first)) if chosen is None else np.unique(units[chosen])
        for unit in wanted:
            fold = np.zeros((len(first), train.shape[1]))
            fold[np.arange(len(first)) != unit, :found] = signs * scores.fold(unit) / left_sizes[unit]
            others = np.flatnonzero(units != unit)
            yield others, fold[units[others]], np.flatnonzero(units == unit)

    return LeftOutScores(train, left_out, "exact leave-one-out", folds, weights)


def _refitted(estimator, X, y, train, weights, splits, n_jobs):
    work = delayed(_scores_of_fold)
    results = Parallel(n_jobs=n_jobs)(work(estimator, X, y, train, weights, *split) for split in splits)
    left_out = np.full(train.shape, np.nan)
    for (_, test), (_, scores) in zip(splits, results, strict=True):
        left_out[test] = scores
    missing = np.isnan(left_out).any(axis=1)
    if missing.any():
        raise ValueError(
            f"Every point must be left out once; the folds of cv leave out all but {int(missing.sum())} of "
            f"{len(train)}. Use KFold, GroupKFold or LeaveOneOut."
        )

    def folds(chosen=None):
        for (others, test), (fold, _) in zip(splits, results, strict=True):
            test = test if chosen is None else np.intersect1d(test, chosen)
            if test.size:
                yield others, fold, test

    return LeftOutScores(train, left_out, "refits", folds, weights)


def _splits(n, y, cv, rng, groups, units):
    if cv is None and groups is not None:
        cv = LeaveOneGroupOut()
    elif cv is None:
        units = units if units.any() else np.arange(n)  # all rows are copies of one: nothing would be left
        count = int(units.max()) + 1
        few = count <= MOST_REFITS or count < N_FOLDS
        seed = 0 if rng is None else int(rng.integers(2**31))
        cv = LeaveOneGroupOut() if few else GroupKFold(N_FOLDS, shuffle=True, random_state=seed)
        groups = units
    return list(check_cv(cv, y).split(np.zeros(n), y, groups))


def _scores_of_fold(estimator, X, y, train, weights, others, test):
    """Scores of the points of a fold and of those left out, in a model of the fold, aligned with the model of all."""
    inside, outside = rows_of(X, others), rows_of(X, test)
    if get_tags(estimator).input_tags.pairwise:
        inside, outside = inside[:, others], outside[:, others]
    model = clone(estimator)
    targets, mass = (None if each is None else np.asarray(each)[others] for each in (y, weights))
    model = fitted_on(model, inside, targets, mass)
    fold, left = as_scores(model.transform(inside)), as_scores(model.transform(outside))
    order, signs = match(_correlations(fold, train[others]))
    return matched(fold, order, signs), matched(left, order, signs)


def _correlations(A, B):
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    sizes = np.outer(np.linalg.norm(A, axis=0), np.linalg.norm(B, axis=0))
    return np.divide(A.T @ B, sizes, out=np.zeros_like(sizes), where=sizes > 0)
