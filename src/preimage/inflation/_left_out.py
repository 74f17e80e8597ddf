"""Scores and decisions of a fitted model for training rows that had no part in fitting it."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, StratifiedGroupKFold, check_cv
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import get_tags

from preimage._engine.arrays import from_device, is_foreign, is_sparse, take_rows
from preimage._engine.linalg import match, matched
from preimage._engine.progress import stage
from preimage._engine.threads import at_most, run_parallel
from preimage._engine.typing import Array, Folds, Rows, Targets
from preimage._engine.validation import count_rows, require_in_memory
from preimage.estimators._kernel_fisher import KernelFisherDiscriminant
from preimage.estimators._training_rows import same_rows
from preimage.inflation._exact import TrainingSet, exact_decisions, exact_scores, has_free_intercepts
from preimage.inflation._inflation import mean
from preimage.inflation._inputs import as_decisions, as_inputs, as_scores, fitted_on, last_step, rows_of
from preimage.inflation._leave_one_out import LeaveOneOut

EXACT, REFITS = "exact leave-one-out", "refits"
# All points are left out in turn at once up to this many. The cost grows with the third power: 3 s for kernel PCA of
# 2,000 points on one core, an hour for ten times as many.
MOST_POINTS = 2000
# Every point is left out in turn by refits up to this many rows of a transformer, and of a classifier, whose fit is
# usually cheaper; beyond, in as many folds as the last number says: models of 95 % of the rows resemble the model of
# all, and twenty fits are affordable.
MOST_REFITS_OF_TRANSFORMERS, MOST_REFITS_OF_CLASSIFIERS, N_FOLDS = 50, 200, 20
# Fraction of training scores in which a fitted model may differ from the decomposition here: iterative solvers leave
# components with nearly equal eigenvalues a little rotated. Beyond it, refits repeat whatever the model does.
AGREEMENT = 0.1
# Fraction of the iterations that the model of all rows may take, for each of at most 200 models without some of them.
# What needs more has no sensible solution, and ten times more would take ten minutes.
REFIT_ITERATIONS = 0.05
# Steps that scale columns or rows learn little from a single point: they stay as they are when it is left out.
SCALERS = (FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler)


@dataclass(frozen=True)
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

    train: Array
    left_out: Array
    route: str
    folds: Callable[..., Iterable[tuple[Array, Array, Array]]]
    weights: Array | None = None
    codes: Array | None = None

    @property
    def leveled(self) -> Array:
        """Scores have no intercept that moves."""
        return self.left_out


@dataclass(frozen=True)
class LeftOutDecisions:
    """Decisions for training points in the model of all, and in models without them.

    Attributes
    ----------
    train, left_out : arrays of shape (n, k)
        One column for two classes.
    codes : integer array of shape (n,)
        Classes, as positions in `classes_`.
    weights : array of shape (n,) or None
    route : {"exact leave-one-out", "refits"}
    levels : array of shape (n, k) or None
        Mean decisions of the models without each row, over all rows; None where they are not known.
    """

    train: Array
    left_out: Array
    codes: Array
    weights: Array | None
    route: str
    levels: Array | None = None

    @property
    def leveled(self) -> Array:
        """Left-out decisions, shifted by what the mean decision of their model differs from that of the model of all.

        Free intercepts move away from the class of the row that is left out, by 1/n of the training decisions. Where
        left-out decisions vary less than that, they would depend on this shift alone; new points do not meet it.
        """
        return self.left_out if self.levels is None else self.left_out - self.levels + mean(self.train, self.weights)


@dataclass(frozen=True)
class Study:
    """A fitted estimator with its training data, and how rows are left out of them.

    Attributes
    ----------
    estimator : fitted transformer, or classifier with decision_function
    X, y : its training data; y is None for transformers without targets
    cv : None, int, splitter or iterable
        None leaves out every point in turn where that is cheap, and takes folds otherwise. Copies of a row are left out
        together. Anything else makes refits on its folds.
    n_jobs : int or None
        Refits at a time; None makes them in threads of this process.
    rng : Generator or None
    sample_weight : array of shape (n,), optional
        Positive; for estimators whose `fit` takes them.
    groups : array of shape (n,), optional
        For `cv`; without one, each group is left out in turn, by refits.
    """

    estimator: Any
    X: Rows
    y: Targets = None
    cv: Any = None
    n_jobs: int | None = None
    rng: np.random.Generator | None = None
    sample_weight: Targets = None
    groups: Targets = None

    @cached_property
    def weights(self) -> Array | None:
        return None if self.sample_weight is None else np.asarray(self.sample_weight, dtype=np.float64)

    @cached_property
    def units(self) -> Array:
        """Numbers of rows, the same for copies, shape (n,)."""
        return same_rows(self.X)

    @property
    def is_automatic(self) -> bool:
        return self.cv is None and self.groups is None

    @property
    def seed(self) -> int:
        return 0 if self.rng is None else int(self.rng.integers(2**31))

    def for_splits(self, work: Callable[..., Any], splits: Folds) -> list[Any]:
        """`work(self, fitted, left)` for each split, `n_jobs` at a time."""
        with stage("Leaving out samples", len(splits)) as advance:
            if self.n_jobs is None and effective_n_jobs(None) == 1:
                config = get_config()  # scikit-learn has one for each thread

                def work_here(split: tuple[Array, Array]) -> Any:
                    with config_context(**config):
                        found = work(self, *split)
                    advance()
                    return found

                # Models of any package may set filters of warnings while they fit; those of the caller are restored.
                with warnings.catch_warnings():
                    return run_parallel(work_here, splits)
            results = []
            jobs = (delayed(work)(self, *split) for split in splits)
            for found in Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs):
                results.append(found)
                advance()
        return results

    def fitted_without(self, fitted: Array, left: Array) -> tuple[Any, Rows, Rows]:
        """A model of the `fitted` rows, and these rows and those left out as it takes them."""
        inside, y = self.columns(rows_of(self.X, fitted), fitted), self.y
        targets = None if y is None else take_rows(y, fitted) if is_foreign(y) else np.asarray(y)[fitted]
        weights = None if self.weights is None else self.weights[fitted]
        model = fitted_on(clone(self.estimator), inside, targets, weights, REFIT_ITERATIONS)
        return model, inside, self.columns(rows_of(self.X, left), fitted)

    def columns(self, rows: Rows, fitted: Array) -> Rows:
        """Rows as a model of the `fitted` rows takes them: of kernel matrices, the columns of these rows."""
        return rows[:, fitted] if get_tags(self.estimator).input_tags.pairwise else rows


def left_out_scores(estimator: Any, X: Rows, y: Targets = None, **options: Any) -> LeftOutScores:
    """Leave-one-out scores: exact where one decomposition serves all points, otherwise by refitting on folds.

    Exact for `KernelPCA` and scikit-learn's `PCA` and `KernelPCA`, also after scalers, up to 2,000 points. Options are
    those of `Study`.
    """
    require_in_memory(X, "Left-out scores need arrays")
    study, n = Study(estimator, X, y, **options), count_rows(X)
    if n < 3:
        raise ValueError(f"Left-out scores need at least 3 rows; got n_samples={n}.")
    train = as_scores(estimator.transform(X))
    if study.is_automatic and n <= MOST_POINTS:
        exact = _exact_scores(study, train)
        if exact is not None:
            return exact
    cv, groups = study.cv, study.groups
    if study.is_automatic:
        # If all rows are copies of one, leaving out its copies would leave nothing.
        groups = study.units if study.units.any() else np.arange(n)
        n_units = int(groups.max()) + 1
        few = n_units <= MOST_REFITS_OF_TRANSFORMERS or n_units < N_FOLDS
        cv = LeaveOneGroupOut() if few else GroupKFold(N_FOLDS, shuffle=True, random_state=study.seed)
    splits = list(check_cv(LeaveOneGroupOut() if cv is None else cv, y).split(np.zeros(n), y, groups))
    _require_all(splits, n, "KFold")
    if type(estimator) is PCA and estimator.n_features_in_ > n and not is_sparse(X):
        study = replace(study, X=_in_own_span(as_inputs(X)))
    return _refitted_scores(study, train, splits)


def left_out_decisions(estimator: Any, X: Rows, y: Targets, **options: Any) -> LeftOutDecisions:
    """Leave-one-out decisions: exact where changes of one solution serve all points, otherwise by refitting.

    Exact up to 2,000 points for `SVC` (by `svm_leave_one_out`, also one against the rest) and two-class
    `KernelFisherDiscriminant` on all points (in closed form), also after scalers, which stay as they are; by refits of
    every point up to 200, of 20 stratified folds beyond. A search (with `best_estimator_`) stands for its best model:
    parameters are not searched again. Rows without which a class would be empty cannot be left out: they keep their
    decisions. Options are those of `Study`.
    """
    require_in_memory(X, "Left-out decisions need arrays")
    estimator = getattr(estimator, "best_estimator_", estimator)
    study = Study(estimator, X, y, **options)
    codes = np.searchsorted(estimator.classes_, np.asarray(from_device(y)))
    if study.is_automatic and len(codes) <= MOST_POINTS:
        last, inputs, steps = last_step(estimator, X)
        best = getattr(last, "best_estimator_", last)
        last = best if isinstance(best, KernelFisherDiscriminant) else last
        # Scalers hardly change when one point is left out; steps that learn more would have to be fitted again.
        if all(isinstance(step, SCALERS) for step in steps):
            with at_most(study.n_jobs):
                exact = exact_decisions(last, TrainingSet(inputs, study.units, study.weights, codes))
            if exact is not None:
                return LeftOutDecisions(exact.train, exact.left_out, codes, study.weights, EXACT, exact.levels)
    train = as_decisions(estimator.decision_function(X), estimator)
    return _refitted_decisions(study, codes, train)


def _exact_scores(study: Study, train: Array) -> LeftOutScores | None:
    """By `exact_scores`, with the signs and the scale of the fitted model; None where that is not possible."""
    last, inputs, steps = last_step(study.estimator, study.X)
    units = study.units
    rows = TrainingSet(inputs, units, study.weights)
    if not all(isinstance(step, SCALERS) for step in steps) or len(rows.first) < 3:
        return None
    scores = exact_scores(last, rows, train.shape[1])
    if scores is None:
        return None
    found = scores.train.shape[1]
    sizes, left_sizes = np.ones(found), np.ones(scores.left_out.shape)
    if getattr(last, "whiten", False):
        sizes, left_sizes = _whitening_sizes(scores)
    known = train[rows.first, :found]
    signs = np.where((scores.train * known).sum(axis=0) < 0, -1.0, 1.0)
    if np.linalg.norm(signs * scores.train / sizes - known) > AGREEMENT * np.linalg.norm(known):
        return None  # ranks or axes are not those of the model
    # Components beyond the rank stay zero.
    left_out = np.zeros_like(train)
    left_out[:, :found] = (signs * scores.left_out / left_sizes)[units]

    def folds(chosen: Array | None = None) -> Iterable[tuple[Array, Array, Array]]:
        for unit in range(len(rows.first)) if chosen is None else np.unique(units[chosen]):
            # Scores of the other units in the model without this one.
            fold = np.zeros((len(rows.first), train.shape[1]))
            fold[np.arange(len(rows.first)) != unit, :found] = signs * scores.fold(unit) / left_sizes[unit]
            others = np.flatnonzero(units != unit)
            yield others, fold[units[others]], np.flatnonzero(units == unit)

    return LeftOutScores(train, left_out, EXACT, folds, study.weights)


def _whitening_sizes(scores: LeaveOneOut) -> tuple[Array, Array]:
    """Standard deviations by which a whitening PCA divides scores: of all points (q,), and without each (n, q)."""
    mass = np.ones(len(scores.train)) if scores.weights is None else scores.weights
    sizes = np.sqrt(scores.eigenvalues / (mass.sum() - 1))
    left_sizes = np.sqrt(scores.left_out_eigenvalues / np.maximum(mass.sum() - mass - 1, 1)[:, None])
    left_sizes[left_sizes == 0] = np.inf  # an axis that the others do not have: its score is zero
    return sizes, left_sizes


def _refitted_scores(study: Study, train: Array, splits: Folds) -> LeftOutScores:
    def scores_of_fold(study: Study, others: Array, test: Array) -> tuple[Array, Array]:
        """Scores of the points of a fold and of those left out, in its model, aligned with the model of all."""
        model, inside, outside = study.fitted_without(others, test)
        fold, left = as_scores(model.transform(inside)), as_scores(model.transform(outside))
        order, signs = match(_correlations(fold, train[others]))
        return matched(fold, order, signs), matched(left, order, signs)

    results = study.for_splits(scores_of_fold, splits)
    left_out = np.zeros_like(train)
    for (_, test), (_, scores) in zip(splits, results, strict=True):
        left_out[test] = scores

    def folds(chosen: Array | None = None) -> Iterable[tuple[Array, Array, Array]]:
        for (others, test), (fold, _) in zip(splits, results, strict=True):
            test = test if chosen is None else np.intersect1d(test, chosen)
            if test.size:
                yield others, fold, test

    return LeftOutScores(train, left_out, REFITS, folds, study.weights)


def _refitted_decisions(study: Study, codes: Array, train: Array) -> LeftOutDecisions:
    """Decisions of models without each row, their mean over the folds that leave it out."""
    splits = _splits_with_all_classes(study, codes)
    results = study.for_splits(_decisions_of_fold, splits)
    level = mean(train, study.weights)
    decisions, levels, counts = np.zeros(train.shape), np.zeros(train.shape), np.zeros((len(train), 1))
    for (_, left), (values, of_model) in zip(splits, results, strict=True):
        decisions[left] += values
        levels[left] += level if of_model is None else of_model
        counts[left] += 1
    never, counts = counts == 0, np.maximum(counts, 1)
    left_out, levels = np.where(never, train, decisions / counts), np.where(never, level, levels / counts)
    return LeftOutDecisions(train, left_out, codes, study.weights, REFITS, levels)


def _decisions_of_fold(study: Study, fitted: Array, left: Array) -> tuple[Array, Array | None]:
    """Decisions for the rows left out by a model of the others, and its mean decisions where intercepts are free."""
    model, _, outside = study.fitted_without(fitted, left)
    levels = None
    if has_free_intercepts(model):
        rows = study.columns(study.X, fitted)
        levels = mean(as_decisions(model.decision_function(rows), model), study.weights)
    return as_decisions(model.decision_function(outside), model), levels


def _splits_with_all_classes(study: Study, codes: Array) -> Folds:
    """Pairs of rows to fit and rows to leave out; rows without which a class would be empty stay in."""
    n, sizes = len(codes), np.bincount(codes)
    cv, groups = study.cv, study.groups
    if study.is_automatic:
        groups = study.units
        if n > MOST_REFITS_OF_CLASSIFIERS:
            n_folds = max(2, min(N_FOLDS, int(sizes[sizes > 1].min(initial=N_FOLDS))))
            cv = StratifiedGroupKFold(n_folds, shuffle=True, random_state=study.seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # such rows are dealt with below
        splitter = check_cv(LeaveOneGroupOut() if cv is None else cv, codes, classifier=True)
        splits = list(splitter.split(np.zeros((n, 1)), codes, groups))
    _require_all(splits, n, "StratifiedKFold")
    kept = []
    for fitted, left in splits:
        missing = np.setdiff1d(codes, codes[fitted])
        if missing.size and not study.is_automatic and not (sizes[missing] == 1).all():
            raise ValueError(
                f"A fold of cv leaves out all {int(sizes[missing].max())} rows of a class; decisions need models that "
                "know every class. Use StratifiedKFold (StratifiedGroupKFold with groups), or more folds."
            )
        alone = np.isin(codes[left], missing)
        fitted, left = np.union1d(fitted, left[alone]), left[~alone]
        if left.size:
            kept.append((fitted, left))
    return kept


def _require_all(splits: Folds, n: int, splitter: str) -> None:
    seen = np.zeros(n, dtype=bool)
    for _, left in splits:
        seen[left] = True
    if not seen.all():
        raise ValueError(
            f"Every point must be left out once; the folds of cv leave out all but {int((~seen).sum())} of {n}. Use "
            f"{splitter}, GroupKFold or LeaveOneOut."
        )


def _in_own_span(X: Array) -> Array:
    """Rows in a basis of their span, shape (n, n): scores of PCA do not depend on the basis, their cost does."""
    R: Array = np.linalg.qr((X - X.mean(axis=0)).T, mode="r")
    return R.T


def _correlations(A: Array, B: Array) -> Array:
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    sizes = np.outer(np.linalg.norm(A, axis=0), np.linalg.norm(B, axis=0))
    return np.divide(A.T @ B, sizes, out=np.zeros_like(sizes), where=sizes > 0)
