"""A wrapper that gives scores and decisions of new points the scale of those of training points."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import is_sparse
from preimage._engine.progress import ReportsProgress, reports_progress
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    StrOptions,
    all_rows,
    check_parameters,
    count_rows,
    generator,
    moderate_weights,
    require_on_host,
)
from preimage.estimators._estimator import Estimator
from preimage.estimators._training_rows import TrainingRows
from preimage.inflation._comparison import SCORINGS, predicted_codes
from preimage.inflation._corrections import METHODS, Calibration, Probabilities
from preimage.inflation._exact import is_multiclass_svc, one_vs_rest
from preimage.inflation._inputs import as_scores, fitted_on, rows_of
from preimage.inflation._learn import better_of, learn_decision_calibration, learn_score_calibration
from preimage.inflation._left_out import left_out_decisions
from preimage.interop._pipeline import unwrapped

DEVICE_ADVICE = "Pass a NumPy array; KernelPCA(device='cuda') inside sends it through a GPU."


def check_correctable(who: str, estimator: Any, y: Targets) -> None:
    """Whether there is something to correct, and what is needed for it."""
    needed = "decision_function" if is_classifier(estimator) else "transform"
    if not hasattr(estimator, needed):
        remedy = "Take KernelPCA or PCA for components, SVC or LogisticRegression for classes."
        if is_classifier(estimator) and hasattr(estimator, "predict_proba"):
            remedy = (
                "Probabilities alone are not corrected: scikit-learn's TunedThresholdClassifierCV moves their "
                "threshold. SVC, LogisticRegression and discriminants have decision values."
            )
        elif is_regressor(estimator):
            remedy = "Predictions of a regressor are not corrected. " + remedy
        raise TypeError(
            f"{who} corrects the scores of a transformer or the decision values of a classifier; {estimator!r} has no "
            f"{needed}. {remedy}"
        )
    if is_classifier(estimator) and y is None:
        raise ValueError(f"{who}({estimator!r}) requires y to be passed, but the target y is None.")


def _is_transformer(renormalized: "Renormalized") -> bool:
    return not is_classifier(renormalized.estimator) and hasattr(renormalized.estimator, "transform")


def _is_classifier(renormalized: "Renormalized") -> bool:
    return is_classifier(renormalized.estimator)


def _inner_has(name: str) -> Callable[["Renormalized"], bool]:
    def check(renormalized: "Renormalized") -> bool:
        getattr(getattr(renormalized, "estimator_", renormalized.estimator), name)
        return _is_transformer(renormalized)

    return check


class Renormalized(ReportsProgress, MetaEstimatorMixin, Estimator):
    r"""A transformer or classifier whose values for new points are distributed as those for training points.

    With more variables than samples, principal components, kernel principal components and decision functions are
    larger on the training set than on new data, because a point takes part in finding the axes it is projected on. A
    classifier trained on such scores, or the threshold of a decision function, then finds new points near zero, and
    predicts the majority class for nearly all of them. This is variance inflation [1]_ [2]_. The remedy is to learn how
    values shrink, from models that leave training points out, and to undo it.

    For a transformer, new scores are corrected component by component; a classifier after it in a pipeline is trained
    on unchanged training scores. For a classifier, its decision values are corrected. Rows of the training set keep
    their values, which are not shrunk. (A row belongs to the training set if it equals one of its rows up to rounding.)
    Everything is learned by `fit`; only "histogram" looks at new points, all of them at once.

    What it costs: leaving out points needs no refits for `KernelPCA`, scikit-learn's `PCA` and `KernelPCA`, `SVC` and
    the two-class `KernelFisherDiscriminant`, also after a scaler in a pipeline, up to 2,000 points. That is more than a
    fit, which needs a few components or no decomposition at all: on one core, an `SVC` of 200 points takes 0.03 s
    instead of 0.002 s, of 2,000 points 0.7 s instead of 0.04 s; ten components of `KernelPCA` take 0.03 s instead of
    0.005 s, and 3 s instead of 0.1 s, or with the guard 0.3 s and 6 s. Other estimators are fitted again: for each
    point up to 50 (transformers) or 200 (classifiers), in 20 folds beyond.

    Parameters
    ----------
    estimator : transformer or classifier
        KernelPCA, PCA, TruncatedSVD, SVC, a discriminant, or a pipeline that ends with one. What has a
        `decision_function` and is a classifier counts as one. ``SVC(class_weight="balanced")`` inside is often a little
        better than ``SVC()``. An `SVC` of more than two classes is also fitted as one machine per class against the
        rest, and the better of the two by left-out decisions is taken.
    method : str, default="auto"
        - "auto": for transformers, a line for each component with inflation beyond its standard error, as "affine" but
          with deviations smoothed over neighbouring components, and no change of the others; for classifiers,
          "threshold" unless left-out decisions are worse by that, beyond a standard error (with several classes, and
          for accuracy: where they are better), else "none".
        - "threshold": for classifiers, decisions relative to a new threshold, at which both classes have equal weight
          (V6).
        - "transfer": an increasing function for each component or decision, learned from left-out values; works for one
          new point at a time and any proportion of classes. "isotonic" and "affine" are this with a step-like function,
          or a line.
        - "orthogonal": for Gaussian kernels, the factor that points lose outside the span of the training set.
        - "histogram": new values, in their order, become quantiles of the training values. The whole test set is needed
          at once, with classes in the proportions of the training set.
        - "none": nothing.
    guard : "auto", classifier or None, default="auto"
        For transformers, when `fit` is given classes y: a classifier that judges left-out scores, plain and corrected.
        Nothing is corrected unless that is better by `scoring`, and the scores tell the classes apart at all: in
        balanced folds, 10 to 40 refits. "auto" is ``LinearDiscriminantAnalysis()``; None corrects whatever is inflated.
    scoring : {"balanced_accuracy", "geometric_mean", "accuracy"}, default="balanced_accuracy"
        What thresholds are for, and what guard and "auto" judge by. The first two count all classes alike, which may
        cost accuracy where classes are unequal.
    cv : int, splitter, iterable or None, default=None
        Folds for left-out values; None leaves out every point in turn where that is cheap, and makes 20 folds else.
        Splitters such as ``GroupKFold(5)`` get the `groups` that `fit` is given.
    n_jobs : int or None, default=None
        Refits at a time, by joblib; None makes them in threads, as many as there are cores. Models that draw from
        NumPy's global generator are repeatable with 1 only; give them a `random_state`.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the folds.

    Attributes
    ----------
    estimator_ : the fitted transformer or classifier
    method_ : str
        What is applied: "none" where nothing is wrong, or left-out values differ by rounding errors only (nothing can
        be learned from them), or correction does not help.
    calibration_ : object
        The correction, with `choice`, a record of what was compared.
    requires_batch_ : bool
        Whether values depend on all rows given together.
    inflation_ : array
        Standard deviations of training values over those of left-out values, one per component or decision: 1 is right.
        Copies of a row are left out together, and left-out decisions are counted from the mean decision of their model,
        which moves away from the class of the row that it lacks.
    classes_ : array
        For classifiers.
    probabilities_ : object
        For classifiers, the map from corrected decisions to probabilities.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    inflation_report : Measures inflation and recommends.
    preimage.inflation.leave_one_out : The values of samples that are left out.
    preimage.plotting.InflationDisplay : Draws values before and after.

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "A Cure for Variance Inflation in High Dimensional Kernel Principal Component
       Analysis", JMLR 12, 2011.
    .. [2] T. J. Abrahamsen, L. K. Hansen, "Variance Inflation in High Dimensional Support Vector Machines", Pattern
       Recognition Letters 34, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from preimage import Renormalized
    >>> rng = np.random.default_rng(0)
    >>> X, X_new = rng.normal(size=(2, 60, 1000))
    >>> plain, corrected = PCA(10).fit(X), Renormalized(PCA(10)).fit(X)
    >>> bool(plain.transform(X).std() / plain.transform(X_new).std() > 3)
    True
    >>> bool(0.8 < corrected.transform(X).std() / corrected.transform(X_new).std() < 1.25)
    True
    """

    _parameter_constraints = {
        "estimator": [BaseEstimator],
        "method": [StrOptions(set(METHODS))],
        "guard": [StrOptions({"auto"}), BaseEstimator, None],
        "scoring": [StrOptions(set(SCORINGS))],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "auto",
        guard: Any = "auto",
        scoring: str = "balanced_accuracy",
        cv: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.guard = guard
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    def fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None, groups: Targets = None) -> "Renormalized":
        """Fit the estimator, and learn the correction from models without some of the points.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of shape (n,), optional
            Classes, for classifiers and guards.
        sample_weight : array of shape (n,), optional
            Weight 2 counts as two equal rows, in the estimator (whose `fit` must take weights) and in the correction.
        groups : array of shape (n,), optional
            Runs, subjects: what belongs together and is left out together, by the folds of `cv`, or one after another.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, groups)
        return self

    @available_if(_is_transformer)
    def transform(self, X: Rows) -> Array:
        """Corrected scores of X; rows of the training set keep theirs."""
        check_is_fitted(self)
        X = self._queries(X)
        scores = self.estimator_.transform(X)
        return self._corrected(scores, X)

    @available_if(_is_transformer)
    @reports_progress
    def fit_transform(self, X: Rows, y: Targets = None, sample_weight: Targets = None, groups: Targets = None) -> Array:
        """Fit, and return the scores of the training set, which need no correction."""
        self._fit(X, y, sample_weight, groups)
        return self.estimator_.transform(all_rows("Renormalized", X, None))

    @available_if(_inner_has("inverse_transform"))
    def inverse_transform(self, Y: Array) -> Array:
        """Inputs with scores Y, of the scale of training scores, as `transform` returns them."""
        check_is_fitted(self)
        return self.estimator_.inverse_transform(Y)

    @available_if(_is_transformer)
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the components: those of the estimator."""
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out(input_features)

    @available_if(_is_transformer)
    def set_output(self, *, transform: str | None = None) -> "Renormalized":
        """As in scikit-learn: the container that `transform` returns."""
        if hasattr(self.estimator, "set_output"):
            self.estimator.set_output(transform=transform)
        if hasattr(self, "estimator_") and hasattr(self.estimator_, "set_output"):
            self.estimator_.set_output(transform=transform)
        return self

    @available_if(_is_classifier)
    def decision_function(self, X: Rows) -> Array:
        """Corrected decision values of X, of the shape that the estimator gives them."""
        check_is_fitted(self)
        X = self._queries(X)
        return self._corrected(self.estimator_.decision_function(X), X)

    @available_if(_is_classifier)
    def predict(self, X: Rows) -> Array:
        """Classes by corrected decision values, which also decide between equal votes of an `SVC`."""
        check_is_fitted(self)
        values = self.decision_function(X)
        return self.classes_[predicted_codes(values[:, None] if values.ndim == 1 else values)]

    @available_if(_is_classifier)
    def predict_proba(self, X: Rows) -> Array:
        """Probabilities of the classes, by logistic functions of corrected decisions, shape (m, n_classes).

        They are learned from left-out decisions, and the class of `predict` has the largest. So they are those of a
        population in which classes are as frequent as `scoring` counts them: equally frequent with balanced accuracy
        and the geometric mean, as in the training set with accuracy.
        """
        check_is_fitted(self)
        values = self.decision_function(X)
        return self.probabilities_(values[:, None] if values.ndim == 1 else values)

    @available_if(_is_classifier)
    def score(self, X: Rows, y: Targets, sample_weight: Targets = None) -> float:
        """Fraction of X whose class is predicted right."""
        return accuracy_score(y, self.predict(X), sample_weight=sample_weight)

    def _queries(self, X: Rows) -> Rows:
        """Rows for the fitted estimator, in memory; a table without columns is no table for anybody."""
        X = all_rows("Renormalized", X, None)
        if getattr(X, "ndim", 0) == 2 and X.shape[1] == 0:
            raise ValueError("Renormalized got rows without columns; it needs those that it was fitted to.")
        return X

    def _fit(self, X: Rows, y: Targets, sample_weight: Targets, groups: Targets) -> None:
        check_parameters(self)
        require_on_host("Renormalized", X, DEVICE_ADVICE)
        X, y, sample_weight, groups = (all_rows("Renormalized", each, None) for each in (X, y, sample_weight, groups))
        check_correctable("Renormalized", self.estimator, y)
        guard = self._guard(y)
        y = column_or_1d(y, warn=True) if _is_classifier(self) else y
        X = X if hasattr(X, "shape") else np.asarray(X)  # lists of rows
        weights = _checked_weights(sample_weight, count_rows(X))
        for name, each in (("y", y), ("groups", groups)):
            if each is not None and count_rows(each) != count_rows(X):
                raise ValueError(
                    f"Renormalized got {count_rows(X)} rows of X but {count_rows(each)} of {name}; each row needs one."
                )
        cv = self.cv
        if weights is not None and not weights.all():
            X, y, weights, groups, cv = self._without_rows_of_weight_zero(X, y, weights, groups)
        self.estimator_ = fitted_on(clone(self.estimator), X, y, weights)
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            else:
                self.__dict__.pop(name, None)
        options = {"cv": cv, "n_jobs": self.n_jobs, "sample_weight": weights, "groups": groups}
        options |= {"rng": generator(self.random_state), "scoring": self.scoring, "method": self.method}
        if _is_classifier(self):
            self.estimator_, self.calibration_ = classifier_calibration(self.estimator_, X, y, **options)
            codes = np.searchsorted(self.classes_, y)
            self.probabilities_ = Probabilities.learned(self.calibration_.corrected, codes, weights, self.scoring)
        else:
            self.calibration_ = learn_score_calibration(self.estimator_, X, y, guard=guard, **options)
        self.method_ = self.calibration_.method
        self.requires_batch_ = self.calibration_.requires_batch
        self.inflation_ = self.calibration_.inflation
        self._training_rows = TrainingRows(X)

    def _without_rows_of_weight_zero(
        self, X: Rows, y: Targets, weights: Array, groups: Targets
    ) -> tuple[Rows, Targets, Array, Targets, Any]:
        """Data and folds without these rows, which are not in the training set."""
        kept = np.flatnonzero(weights)
        if get_tags(self).input_tags.pairwise:
            raise ValueError(
                f"{len(weights) - len(kept)} rows have sample_weight zero; leave these rows and columns out of the "
                "precomputed kernel."
            )
        cv = self.cv
        if cv is not None and not isinstance(cv, Integral) and not hasattr(cv, "split"):
            position = np.full(len(weights), -1)
            position[kept] = np.arange(len(kept))
            numbers = lambda rows: position[rows][position[rows] >= 0]
            cv = [(numbers(fitted), numbers(left)) for fitted, left in cv]
        take = lambda each: None if each is None else np.asarray(each)[kept]
        return rows_of(X, kept), take(y), weights[kept], take(groups), cv

    def _guard(self, y: Targets) -> Any:
        """The classifier that judges scores of a transformer, or None."""
        named = self.guard is not None and not isinstance(self.guard, str)
        if _is_classifier(self):
            if named:
                raise ValueError(
                    f"guard={self.guard!r} judges scores of transformers; {self.estimator!r} is a classifier, for "
                    "which method='auto' judges by itself. Leave guard out."
                )
            return None
        if not named:
            return automatic_guard(y) if self.guard == "auto" else None
        if not is_classifier(self.guard):
            raise TypeError(
                f"guard must be a classifier, such as LinearDiscriminantAnalysis(), that judges scores; got "
                f"{self.guard!r}."
            )
        if y is None:
            raise ValueError(
                f"Renormalized with guard={self.guard!r} requires y to be passed, but the target y is None: a guard "
                "judges by errors of classification. Call fit(X, y), or leave guard out."
            )
        check_classification_targets(y)
        return self.guard

    def _corrected(self, values: Any, X: Rows) -> Any:
        """Values of the rows of X, corrected where they are new."""
        if self.method_ == "none":
            return values
        plain = as_scores(values) if hasattr(values, "columns") or is_sparse(values) else np.asarray(values)
        new = ~self._training_rows.contain(X)
        result = np.array(plain, copy=True)
        if new.any():
            result[new] = self.calibration_.apply(plain[new], rows_of(X, np.flatnonzero(new)))
        return _like(values, result)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False  # decisions are those of one class per sample
        tags.transformer_tags = inner.transformer_tags
        tags.input_tags = inner.input_tags
        tags.target_tags = inner.target_tags
        if self.guard is not None and not isinstance(self.guard, str):
            tags.target_tags.required = True
        tags.non_deterministic = inner.non_deterministic
        return tags


def without_correction(estimator: Any) -> Any:
    """What is inside of a fitted search or `Renormalized`: thresholds and scales have no directions."""
    estimator = unwrapped(estimator)
    return without_correction(estimator.estimator_) if isinstance(estimator, Renormalized) else estimator


def automatic_guard(y: Targets) -> LinearDiscriminantAnalysis | None:
    """A linear discriminant where y has classes that it can learn from most of their rows; else None."""
    y = None if y is None else np.asarray(y)
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        return None  # missing values are no classes
    if y is None or y.ndim != 1 or type_of_target(y) not in ("binary", "multiclass"):
        return None
    counts = np.unique(y, return_counts=True)[1]
    # Numbers that are few, such as ages, look like classes of one or two rows each.
    return LinearDiscriminantAnalysis() if len(counts) > 1 and 3 * len(counts) <= counts.sum() else None


def classifier_calibration(
    model: Any, X: Rows, y: Targets, *, method: str, scoring: str, sample_weight: Array | None = None, **folds: Any
) -> tuple[Any, Calibration]:
    """The fitted classifier to use, and the correction of its decisions.

    An SVC of several classes decides by votes of pairs of classes, which no function of one column can correct. It is
    fitted again with one machine per class against the rest, and the better of the two is used.
    """
    values = left_out_decisions(model, X, y, sample_weight=sample_weight, **folds)
    if not is_multiclass_svc(model) or method == "none":
        return model, learn_decision_calibration(model, X, y, method=method, scoring=scoring, values=values)
    votes = learn_decision_calibration(model, X, y, method="none", scoring=scoring, values=values)
    machines = fitted_on(one_vs_rest(model), X, y, sample_weight)
    calibration = learn_decision_calibration(
        machines, X, y, method=method, scoring=scoring, sample_weight=sample_weight, **folds
    )
    if method != "auto":
        return machines, calibration
    best = better_of(values, votes, calibration)
    return (model if best.method == "none" else machines), best


def _checked_weights(weights: Targets, n: int) -> Array | None:
    if weights is None:
        return None
    weights = np.array(weights, dtype=np.float64)  # a copy, which the correction keeps
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"sample_weight needs {n} finite weights, one per row, none of them negative and not all zero; got shape "
            f"{weights.shape}."
        )
    return moderate_weights(weights)


def _like(values: Any, result: Array) -> Any:
    """The corrected numbers in the container, and with the precision, of the values."""
    if hasattr(values, "columns"):
        rows = (
            {"columns": values.columns, "index": values.index}
            if hasattr(values, "index")
            else {"schema": values.schema}
        )
        return type(values)(result, **rows)
    return result
