"""Kernel Fisher discriminants with the width of the kernel and the ridge chosen by cross-validation."""

from numbers import Integral

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import to_dense, to_numpy
from preimage._validation import Interval, StrOptions, require_in_memory
from preimage.discriminants import absolute_ridge, cross_validated_scores, leave_one_out_values
from preimage.estimators._fisher_data import LabelledData
from preimage.estimators._fisher_problem import (
    expansion_points,
    gram_matrix,
    kernel_table,
    solves_by_gram,
    stratified_folds,
)
from preimage.estimators._kernel_fisher import FISHER_CONSTRAINTS, KernelFisherDiscriminant, check_decisions
from preimage.estimators._kernel_input import repeated, with_kernel_tags
from preimage.estimators._queries import refuse_stream
from preimage.kernels import resolve_gamma
from preimage.persistence import Saved

# Without a grid: multiples of 1/median squared distance, and ridges by decades.
WIDTH_MULTIPLES = (1 / 16, 1 / 4, 1, 4, 16)
DEFAULT_ALPHAS = tuple(10.0**k for k in range(-5, 3))
# Kernels that have no width to choose.
WITHOUT_WIDTH = ("linear", "cosine", "precomputed")


class KernelFisherDiscriminantCV(
    ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, Saved, BaseEstimator
):
    r"""`KernelFisherDiscriminant` with `gamma` and `alpha` chosen by cross-validation.

    Kernel values are computed once a width; all folds cut their problems out of them, and all ridges of a fold share
    its scatters, and eigenvectors where they pay. ``cv="loo"`` leaves each row out in closed form:
    :math:`y_i - f_{-i}(x_i) = \alpha_i/(A^{-1})_{ii}` with the matrix A of the equivalent least-squares problem, so a
    width costs one eigendecomposition, and a further ridge :math:`O(n^2)`.

    Parameters
    ----------
    n_components, kernel, degree, coef0, kernel_params, landmarks, regularizer, alpha_scale, multiclass, threshold, \
    sparsity, class_weight, invariances, invariance_weight, max_memory, random_state
        As in `KernelFisherDiscriminant`. Landmarks are chosen once a width, on all rows; their kernel values with all
        rows are held.
    gammas : list of floats and rules as for `gamma`, or None, default=None
        None is 1/16, 1/4, 1, 4, 16 times the rule "median", or no choice for kernels without a width and `Kernel`
        objects, which carry their own.
    alphas : list of floats or None, default=None
        None is 1e-5, 1e-4, …, 100.
    cv : int, None, splitter, list of splits, or "loo", default=5
        A number of stratified folds is lowered to the size of the smallest class; None is 5. "loo" needs all points as
        expansion points, the norm as regularizer and no sparsity; it judges decisions by the threshold of least
        squares.

    Attributes
    ----------
    best_estimator_ : KernelFisherDiscriminant
        With the best parameters, fitted on all rows.
    best_params_ : dict with "gamma" and "alpha"
        Of equally good ones the smallest gamma, then the largest alpha.
    best_score_ : float
        Its mean accuracy on held-out rows.
    cv_results_ : dict of arrays
        As in scikit-learn's searches: "params", "param_gamma", "param_alpha", "mean_test_score", "std_test_score",
        "rank_test_score" and "split<i>_test_score".
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from preimage import KernelFisherDiscriminantCV
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> search = KernelFisherDiscriminantCV(gammas=[0.1, 1, 10], alphas=[0.001, 0.1]).fit(X, y)
    >>> search.best_params_["gamma"] in (1, 10), search.best_score_ > 0.95
    (True, True)
    """

    _parameter_constraints = {
        **{name: value for name, value in FISHER_CONSTRAINTS.items() if name != "gamma"},
        "gammas": ["array-like", None],
        "alphas": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left"), StrOptions({"loo"}), "cv_object"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        gammas=None,
        alphas=None,
        cv=5,
        kernel="rbf",
        degree=3,
        coef0=1.0,
        kernel_params=None,
        landmarks=None,
        regularizer="norm",
        alpha_scale="relative",
        multiclass="directions",
        threshold="gaussian",
        sparsity=None,
        class_weight=None,
        invariances=None,
        invariance_weight=1.0,
        max_memory=None,
        random_state=0,
    ):
        self.n_components = n_components
        self.gammas = gammas
        self.alphas = alphas
        self.cv = cv
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.regularizer = regularizer
        self.alpha_scale = alpha_scale
        self.multiclass = multiclass
        self.threshold = threshold
        self.sparsity = sparsity
        self.class_weight = class_weight
        self.invariances = invariances
        self.invariance_weight = invariance_weight
        self.max_memory = max_memory
        self.random_state = random_state

    #: What `LabelledData` resolves the kernel with, before a width is chosen.
    gamma = None

    def fit(self, X, y, sample_weight=None):
        """Choose the parameters, and fit on all rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `KernelFisherDiscriminant.fit`; X in memory. Weights count like repetitions in every fit and score;
            what folds leave out is a row with all of its weight.

        Returns
        -------
        self
        """
        refuse_stream(
            self, X, "fit", "Choose parameters on the first blocks in memory, then fit KernelFisherDiscriminant on all."
        )
        data = LabelledData.of(self, X, y, sample_weight)
        check_decisions(self, data.n_classes)
        self._check_search(data)
        alphas = _positive_numbers(self, "alphas", DEFAULT_ALPHAS if self.alphas is None else self.alphas)
        gammas = self._gammas(data)
        folds = None if isinstance(self.cv, str) else self._folds(data)
        scores = [self._scores(self._candidate(gamma, alphas[0]), data, folds, alphas) for gamma in gammas]
        self._store(gammas, alphas, np.concatenate(scores))
        self.best_estimator_ = self._candidate(**self.best_params_).fit(X, y, sample_weight)
        self.classes_ = self.best_estimator_.classes_
        return self

    def transform(self, X):
        """As `KernelFisherDiscriminant.transform`."""
        return self._fitted().transform(X)

    def decision_function(self, X):
        """As `KernelFisherDiscriminant.decision_function`."""
        return self._fitted().decision_function(X)

    def predict(self, X):
        """Class labels."""
        return self._fitted().predict(X)

    def predict_proba(self, X):
        """As `KernelFisherDiscriminant.predict_proba`."""
        return self._fitted().predict_proba(X)

    def _scores(self, candidate, data, folds, alphas):
        """Accuracies of one width, shape (n_alphas, n_folds)."""
        data = data.with_kernel_of(candidate)
        points, _ = expansion_points(self, data, self.landmarks)
        if folds is None:
            return _leave_one_out_scores(gram_matrix(data.kernel, points), data, alphas, self.alpha_scale == "relative")
        table = kernel_table(self, data, points)
        return cross_validated_scores(
            table,
            folds,
            alphas,
            self.regularizer,
            short=solves_by_gram(self),
            is_relative=self.alpha_scale == "relative",
            n_components=self.n_components,
            one_vs_rest=self.multiclass == "one_vs_rest",
            threshold=self.threshold,
            sparsity=self.sparsity,
        )

    def _store(self, gammas, alphas, scores):
        params = [{"gamma": gamma, "alpha": float(alpha)} for gamma in gammas for alpha in alphas]
        means = scores.mean(axis=1)
        self.cv_results_ = {
            "params": params,
            "param_gamma": np.array([each["gamma"] for each in params], dtype=object),
            "param_alpha": np.array([each["alpha"] for each in params]),
            "mean_test_score": means,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rankdata(-means, method="min").astype(int),
            **{f"split{i}_test_score": column for i, column in enumerate(scores.T)},
        }
        best = int(np.argmax(means))
        self.best_params_, self.best_score_ = params[best], float(means[best])

    def _candidate(self, gamma, alpha):
        shared = {
            name: value for name, value in self.get_params(deep=False).items() if name not in ("gammas", "alphas", "cv")
        }
        return KernelFisherDiscriminant(gamma=gamma, alpha=float(alpha), **shared)

    def _gammas(self, data):
        if self.gammas is not None:
            values = list(self.gammas)
            if not values:
                raise ValueError(f"{type(self).__name__} needs at least one candidate in `gammas`; got none.")
            numbers = [isinstance(value, (int, float, np.number)) for value in values]
            return sorted(float(value) for value in values) if all(numbers) else values
        if not isinstance(self.kernel, str) or self.kernel in WITHOUT_WIDTH:
            return [None]
        rows = data.X if data.row_weights is None else repeated(data.X, data.row_weights)
        middle = resolve_gamma("median", to_numpy(to_dense(rows)))
        return [float(middle * multiple) for multiple in WIDTH_MULTIPLES]

    def _folds(self, data):
        if self.cv is None or isinstance(self.cv, Integral):
            return stratified_folds(data, 5 if self.cv is None else self.cv)
        # Splits are of the rows that were given, some of which may have weight zero and be gone.
        labels = data.given_labels
        place = np.full(labels.size, -1)
        place[data.kept] = np.arange(data.kept.size)
        splits = check_cv(self.cv, labels, classifier=True).split(np.zeros((labels.size, 1)), labels)
        folds = [tuple(rows[rows >= 0] for rows in (place[fitted], place[held_out])) for fitted, held_out in splits]
        return [fold for fold in folds if fold[1].size]  # a fold without held-out rows has no score

    def _check_search(self, data):
        name = type(self).__name__
        advice = "Choose parameters on some rows, then fit KernelFisherDiscriminant(landmarks=...) on all of them."
        require_in_memory(data.X, f"{name} needs X", advice)
        if isinstance(self.cv, str) and not (self.landmarks is None and solves_by_gram(self)):
            raise ValueError(
                f"{name} with cv='loo' needs landmarks=None, regularizer='norm', and neither sparsity nor invariances: "
                "the closed form holds for them alone. Use cv=5."
            )

    def _fitted(self):
        check_is_fitted(self)
        return self.best_estimator_

    def _kernel_machine(self):
        return self._fitted()._kernel_machine()

    @property
    def _n_features_out(self):
        return self.best_estimator_.n_components_

    def __sklearn_tags__(self):
        return with_kernel_tags(super().__sklearn_tags__(), self.kernel)


def _leave_one_out_scores(gram, data, alphas, is_relative):
    """Accuracies of least squares on targets ±1, each row left out in turn; shape (n_alphas, 1)."""
    ridges = [absolute_ridge(alpha, gram, data.weights, is_relative=is_relative) for alpha in alphas]
    targets = 2.0 * np.eye(data.n_classes)[data.codes] - 1
    values = leave_one_out_values(gram, targets, ridges, data.weights)
    return np.average(np.argmax(values, axis=2) == data.codes, axis=1, weights=data.weights)[:, None]


def _positive_numbers(estimator, name, values):
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)) or values.min() < 0:
        raise ValueError(
            f"`{name}` of {type(estimator).__name__} is a list of candidates that are finite and not negative; got "
            f"{values.tolist()!r}."
        )
    return np.sort(values)[::-1]
