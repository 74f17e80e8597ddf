"""Scores and decisions of new points, brought back to the scale of those of training points."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import describe_home, is_foreign, is_sparse
from preimage._random import generator
from preimage._validation import StrOptions, check_parameters
from preimage.calibration import predicted_codes
from preimage.estimators._corrections import METHODS
from preimage.estimators._decision_calibration import learn_decision_calibration
from preimage.estimators._left_out_scores import as_scores, rows_of
from preimage.estimators._score_calibration import learn_score_calibration
from preimage.estimators._training_rows import TrainingRows


def check_correctable(who, estimator, y):
    """Whether there is something to correct, and what is needed for it."""
    needed = "decision_function" if is_classifier(estimator) else "transform"
    if not hasattr(estimator, needed):
        raise TypeError(
            f"{who} corrects the scores of a transformer or the decision values of a classifier; {estimator!r} has no "
            f"{needed}."
        )
    if is_classifier(estimator) and y is None:
        raise ValueError(f"{who}({estimator!r}) requires y to be passed, but the target y is None.")


def _is_transformer(renormalized):
    return not is_classifier(renormalized.estimator) and hasattr(renormalized.estimator, "transform")


def _is_classifier(renormalized):
    return is_classifier(renormalized.estimator)


def _inner_has(name):
    def check(renormalized):
        getattr(getattr(renormalized, "estimator_", renormalized.estimator), name)
        return _is_transformer(renormalized)

    return check


class Renormalized(MetaEstimatorMixin, BaseEstimator):
    r"""A transformer or classifier whose values for new points follow the law of those for training points.

    With more variables than samples, principal components, kernel principal components and decision functions are
    larger on the training set than on anything else: a point takes part in finding the axes it is projected on. A
    classifier trained on such scores, or the threshold of a decision function, then meets new points near zero, and
    calls them all by the name of the largest class. This is variance inflation [1]_ [2]_. The cure is to learn how
    values shrink, from models that leave training points out, and to undo it.

    For a transformer, new scores are corrected component by component; a classifier after it in a pipeline is trained
    on training scores as they are. For a classifier, its decision values are. Rows of the training set keep their
    values: they lost nothing. Everything is learned by `fit`; only "histogram" looks at new points, all of them at
    once.

    Leaving out every point in turn costs no more than a fit for `KernelPCA` and for scikit-learn's `PCA` and
    `KernelPCA` (see `preimage.calibration.leave_one_out`), also after a scaler in a pipeline, up to 2,000 points. Other
    transformers are fitted again on folds, whose components get the signs and the order of those they resemble.

    Parameters
    ----------
    estimator : transformer or classifier
        KernelPCA, PCA, TruncatedSVD, SVC, a discriminant, or a pipeline that ends with one. What has a
        `decision_function` and is a classifier counts as one.
    method : str, default="auto"
        - "auto": for transformers, a line for each component with inflation beyond noise, "affine" with deviations that
          profit from neighbouring components (`preimage.calibration.steady_left_out`), and nothing for the others; for
          classifiers, chosen on training data.
        - "transfer": an increasing function for each component or decision, learned from left-out values; works for one
          new point at a time and any proportion of classes. "isotonic" and "affine" are this with a step-like function,
          or a line.
        - "orthogonal": for Gaussian kernels, the factor that points lose outside the span of the training set.
        - "histogram": new values, in their order, become quantiles of the training values. The whole test set is needed
          at once, with classes in the proportions of the training set.
        - "none": nothing.
    guard : classifier or None, default=None
        For transformers: a classifier, such as ``LinearDiscriminantAnalysis()``, that judges correction. Where its
        leave-one-out error with corrected scores is not below that with scores as they are, and clearly below that of
        always naming the largest class, nothing is corrected. `fit` then needs classes y.
    cv : int, splitter, iterable or None, default=None
        Folds for left-out values; None leaves out every point in turn where that is cheap, and makes 20 folds else.
    n_jobs : int or None, default=None
        Refits at a time.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the folds.

    Attributes
    ----------
    estimator_ : the fitted transformer or classifier
    method_ : str
        What is applied: "none" where nothing is wrong, or left-out values differ by rounding errors only (nothing can
        be learned from them), or a guard said so.
    calibration_ : object
        The correction, with `choice`, a record of what was compared.
    requires_batch_ : bool
        Whether values depend on all rows given together.
    inflation_ : array
        Standard deviations of training values over those of left-out values, a component or decision each: 1 is right.
    classes_ : array
        For classifiers.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.inflation_report : measures inflation and recommends.

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
    >>> plain, cured = PCA(10).fit(X), Renormalized(PCA(10)).fit(X)
    >>> bool(plain.transform(X).std() / plain.transform(X_new).std() > 3)
    True
    >>> bool(0.8 < cured.transform(X).std() / cured.transform(X_new).std() < 1.25)
    True
    """

    _parameter_constraints = {
        "estimator": [BaseEstimator],
        "method": [StrOptions(set(METHODS))],
        "guard": [BaseEstimator, None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(self, estimator, *, method="auto", guard=None, cv=None, n_jobs=None, random_state=0):
        self.estimator = estimator
        self.method = method
        self.guard = guard
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None):
        """Fit the estimator, and learn the correction from models without some of the points.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of shape (n,), optional
            Classes, for classifiers and guards.

        Returns
        -------
        self
        """
        self._fit(X, y)
        return self

    @available_if(_is_transformer)
    def transform(self, X):
        """Corrected scores of X; rows of the training set keep theirs."""
        check_is_fitted(self)
        scores = self.estimator_.transform(X)
        return self._corrected(scores, X)

    @available_if(_is_transformer)
    def fit_transform(self, X, y=None):
        """Fit, and return the scores of the training set, which need no correction."""
        self._fit(X, y)
        return self.estimator_.transform(X)

    @available_if(_inner_has("inverse_transform"))
    def inverse_transform(self, Y):
        """Inputs with scores Y, of the scale of training scores, as `transform` returns them."""
        check_is_fitted(self)
        return self.estimator_.inverse_transform(Y)

    @available_if(_is_transformer)
    def get_feature_names_out(self, input_features=None):
        """Names of the components: those of the estimator."""
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out(input_features)

    @available_if(_is_transformer)
    def set_output(self, *, transform=None):
        """As in scikit-learn: the container that `transform` returns."""
        if hasattr(self.estimator, "set_output"):
            self.estimator.set_output(transform=transform)
        if hasattr(self, "estimator_") and hasattr(self.estimator_, "set_output"):
            self.estimator_.set_output(transform=transform)
        return self

    @available_if(_is_classifier)
    def decision_function(self, X):
        """Corrected decision values of X, of the shape that the estimator gives them."""
        check_is_fitted(self)
        return self._corrected(self.estimator_.decision_function(X), X)

    @available_if(_is_classifier)
    def predict(self, X):
        """Classes by corrected decision values."""
        check_is_fitted(self)
        if self.method_ == "none":
            return self.estimator_.predict(X)
        values = self.decision_function(X)
        return self.classes_[predicted_codes(values[:, None] if values.ndim == 1 else values)]

    @available_if(_is_classifier)
    def score(self, X, y, sample_weight=None):
        """Share of X whose class is predicted right."""
        return accuracy_score(y, self.predict(X), sample_weight=sample_weight)

    def _fit(self, X, y):
        check_parameters(self)
        if is_foreign(X):
            raise TypeError(
                f"Renormalized learns on the host; got {describe_home(X)}. Pass a NumPy array; "
                "KernelPCA(device='cuda') inside sends it through a GPU."
            )
        learn = self._learner(y)
        y = column_or_1d(y, warn=True) if _is_classifier(self) else y
        self.estimator_ = clone(self.estimator)
        self.estimator_ = self.estimator_.fit(X) if y is None else self.estimator_.fit(X, y)
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            else:
                self.__dict__.pop(name, None)
        self.calibration_ = learn(
            self.estimator_, X, y, method=self.method, cv=self.cv, n_jobs=self.n_jobs, rng=generator(self.random_state)
        )
        self.method_ = self.calibration_.method
        self.requires_batch_ = self.calibration_.requires_batch
        self.inflation_ = self.calibration_.inflation
        self._training_rows = TrainingRows(X)

    def _learner(self, y):
        check_correctable("Renormalized", self.estimator, y)
        if _is_classifier(self):
            if self.guard is not None:
                raise ValueError(
                    f"guard={self.guard!r} judges scores of transformers; {self.estimator!r} is a classifier, for "
                    "which method='auto' judges by itself. Leave guard out."
                )
            return learn_decision_calibration
        if self.guard is not None:
            self._check_guard(y)
        return lambda *data, **options: learn_score_calibration(*data, guard=self.guard, **options)

    def _check_guard(self, y):
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

    def _corrected(self, values, X):
        """Values of the rows of X, corrected where they are new."""
        if self.method_ == "none":
            return values
        plain = as_scores(values) if hasattr(values, "columns") or is_sparse(values) else np.asarray(values)
        new = ~self._training_rows.contain(X)
        result = np.array(plain, copy=True)
        if new.any():
            result[new] = self.calibration_.apply(plain[new], rows_of(X, np.flatnonzero(new)))
        return _like(values, result)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False  # decisions are those of one class a sample
        tags.transformer_tags = inner.transformer_tags
        tags.input_tags = inner.input_tags
        tags.target_tags = inner.target_tags
        if self.guard is not None:
            tags.target_tags.required = True
        tags.non_deterministic = inner.non_deterministic
        return tags


def _like(values, result):
    """The corrected numbers in the container, and with the precision, of the values."""
    if hasattr(values, "columns"):
        rows = (
            {"columns": values.columns, "index": values.index}
            if hasattr(values, "index")
            else {"schema": values.schema}
        )
        return type(values)(result, **rows)
    return result
