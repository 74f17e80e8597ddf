"""Kernel Fisher discriminants with the width of the kernel and the ridge chosen by cross-validation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import take_rows, to_dense, to_numpy
from preimage._engine.memory import memory_budget
from preimage._engine.progress import ReportsProgress, reports_progress, stage
from preimage._engine.removed import ignores_removed
from preimage._engine.rows import cut
from preimage._engine.threads import available_threads, run_parallel, within_n_jobs
from preimage._engine.typing import Array, Folds, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_labels,
    check_parameters,
    check_weights,
    count_rows,
    own_parameters,
    refuse_stream,
    require_in_memory,
)
from preimage._models.discriminants import FisherOptions, FittedDiscriminants, KernelTable, LabelledData, select_points
from preimage._models.discriminants._kernel_table import (
    cross_validated_scores,
    fits_in_memory,
    leave_one_out_scores,
    stratified_folds,
)
from preimage._models.machines import KernelMachine
from preimage.estimators._classifier import AnyDeviceClassifierMixin
from preimage.estimators._estimator import Estimator
from preimage.estimators._kernel_fisher import (
    FISHER_CONSTRAINTS,
    CheckedRows,
    KernelFisherDiscriminant,
    check_rows,
    code_rows,
    fisher_options,
    landmark_choice,
    resolve_kernel,
)
from preimage.estimators._kernel_input import repeated, with_kernel_tags
from preimage.kernels import Kernel, as_kernel, resolve_gamma
from preimage.landmarks import LandmarkSelector

# Without a grid: multiples of 1/median squared distance, from nearly linear to nearly local kernels in steps of two,
# between which accuracies hardly change, and ridges by decades, from nearly interpolating to nearly the difference of
# class means.
WIDTH_MULTIPLES = tuple(2.0**k for k in range(-4, 5))
DEFAULT_ALPHAS = tuple(10.0**k for k in range(-5, 3))
# Kernels that have no width to choose.
WITHOUT_WIDTH = ("linear", "cosine", "precomputed")


def candidate_widths(estimator: Any, rows: CheckedRows) -> list:
    """The widths that the `gammas` of an estimator mean, in ascending order where all are numbers."""
    if estimator.gammas is not None:
        values = list(estimator.gammas)
        if not values:
            raise ValueError(f"{type(estimator).__name__} needs at least one candidate in `gammas`; got none.")
        numbers = [isinstance(value, (int, float, np.number)) for value in values]
        return sorted(float(value) for value in values) if all(numbers) else values
    if not isinstance(estimator.kernel, str) or estimator.kernel in WITHOUT_WIDTH:
        return [None]
    X = rows.X if rows.weights is None else repeated(rows.X, rows.weights)
    middle = resolve_gamma("median", to_numpy(to_dense(X)))
    return [float(middle * multiple) for multiple in WIDTH_MULTIPLES]


def candidate_ridges(estimator: Any) -> Array:
    """The ridges that the `alphas` of an estimator mean, in descending order."""
    values = np.asarray(DEFAULT_ALPHAS if estimator.alphas is None else estimator.alphas, dtype=float)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)) or values.min() < 0:
        raise ValueError(
            f"`alphas` of {type(estimator).__name__} is a list of candidates that are finite and not negative; got "
            f"{values.tolist()!r}."
        )
    return np.sort(values)[::-1]


def search_folds(cv: Any, rows: CheckedRows, codes: Array) -> Folds:
    """The splits that a `cv` parameter means, of the rows that are left, with classes by number."""
    if cv is None or isinstance(cv, Integral):
        return stratified_folds(codes, 5 if cv is None else int(cv))
    # Splits are of the rows that were given, some of which may have had weight zero and are left out.
    labels = rows.given_labels
    position = np.full(labels.size, -1)
    position[rows.kept] = np.arange(rows.kept.size)
    splits = check_cv(cv, labels, classifier=True).split(np.zeros((labels.size, 1)), labels)
    folds = [tuple(part[part >= 0] for part in (position[fitted], position[held])) for fitted, held in splits]
    return [fold for fold in folds if fold[1].size]  # a fold without held-out rows has no score


# Folds that are fitted in parallel, per thread: with several, a thread that has done its own takes one of another's.
# With half as many, the nine widths of the search come in two waves on eight threads, which wait at the end of each.
FOLDS_PER_THREAD = 8


class KernelFisherDiscriminantCV(
    ReportsProgress,
    ClassNamePrefixFeaturesOutMixin,
    AnyDeviceClassifierMixin,
    TransformerMixin,
    Estimator,
):
    r"""`KernelFisherDiscriminant` with `gamma` and `alpha` chosen by cross-validation.

    Kernel values are computed once per width; all folds take their problems from them, and all ridges of a fold share
    its scatters, and eigenvectors where those save time. ``cv="loo"`` leaves each row out in closed form (F5), so that
    a width costs one eigendecomposition, and each further ridge :math:`O(n^2)`.

    Parameters
    ----------
    n_components, kernel, degree, coef0, kernel_params, landmarks, regularizer, alpha_scale, multiclass
        As in `KernelFisherDiscriminant`. Landmarks are chosen once per width, on all rows; their kernel values with
        all rows are held.
    threshold, sparsity, class_weight, invariances, invariance_weight, max_memory, verbose, random_state
        As in `KernelFisherDiscriminant`.
    gammas : list of floats and rules as for `gamma`, or None, default=None
        None is 1/16, 1/8, 1/4, …, 16 times the rule "median"; kernels without a width, and `Kernel` objects, which have
        their own, leave nothing to choose.
    alphas : list of floats or None, default=None
        None is 1e-5, 1e-4, …, 100.
    cv : int, None, splitter, list of splits, or "loo", default=5
        A number of stratified folds is reduced to the size of the smallest class; None is 5. "loo" needs all points as
        expansion points, the norm as regularizer and no sparsity; it scores decisions with the threshold of least
        squares.
    scoring : str, callable or None, default=None
        What held-out rows are scored by. None is the accuracy, weighted like rows and classes are in the fit. Otherwise
        as in scikit-learn's searches: a name ("roc_auc", "balanced_accuracy", ...), or a function of a fitted
        `KernelFisherDiscriminant`, rows and labels. Weights of rows, but not of classes, are passed on as
        `sample_weight`. ``cv="loo"`` has the accuracy alone.
    n_jobs : int or None, default=None
        Folds of all widths are fitted on so many threads, within `max_memory`; None or −1 is all cores. The result does
        not depend on it.

    Attributes
    ----------
    best_estimator_ : KernelFisherDiscriminant
        With the best parameters, fitted on all rows.
    best_params_ : dict with "gamma" and "alpha"
        Of equally good pairs the one with the smallest gamma, then the largest alpha.
    best_score_ : float
        Its mean score on held-out rows.
    best_index_ : int
        The number of the best parameters in `cv_results_`.
    cv_results_ : dict of arrays
        As in scikit-learn's searches: "params", "param_gamma", "param_alpha", "mean_test_score", "std_test_score",
        "rank_test_score" and "split<i>_test_score".
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    KernelFisherDiscriminant : The model that is fitted.
    preimage.model_selection.WidthSearch : Chooses the width for other estimators, without refitting.
    sklearn.model_selection.GridSearchCV : Searches over any other parameter.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from preimage import KernelFisherDiscriminantCV
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> search = KernelFisherDiscriminantCV(gammas=[0.1, 1, 10], alphas=[0.001, 0.1]).fit(X, y)
    >>> search.best_params_["gamma"] in (1, 10), search.best_score_ > 0.95
    (True, True)
    >>> by_area = KernelFisherDiscriminantCV(gammas=[1], alphas=[0.001, 0.1], scoring="roc_auc").fit(X, y)
    >>> by_area.best_score_ > search.best_score_
    True
    """

    _takes_objects = True
    _parameter_constraints = {
        **{name: value for name, value in FISHER_CONSTRAINTS.items() if name != "gamma"},
        "gammas": ["array-like", None],
        "alphas": ["array-like", None],
        "n_jobs": [Integral, None],
        "cv": [Interval(Integral, 2, None, closed="left"), StrOptions({"loo"}), "cv_object"],
        "scoring": [str, callable, None],
    }

    @ignores_removed
    def __init__(
        self,
        n_components: int | None = None,
        *,
        gammas: Sequence | None = None,
        alphas: Sequence[float] | None = None,
        cv: Any = 5,
        scoring: Any = None,
        kernel: str | Kernel | Any = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict | None = None,
        landmarks: int | str | LandmarkSelector | Rows | None = None,
        regularizer: str = "norm",
        alpha_scale: str = "relative",
        multiclass: str = "directions",
        threshold: str = "gaussian",
        sparsity: float | None = None,
        class_weight: dict | str | None = None,
        invariances: Any = None,
        invariance_weight: float = 1.0,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.n_components = n_components
        self.gammas = gammas
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
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
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    @within_n_jobs
    def fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> "KernelFisherDiscriminantCV":
        """Choose the parameters, and fit on all rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `KernelFisherDiscriminant.fit`; X in memory. Kernel values are computed on the device of X, and folds
            are fitted on the host. Weights count like repetitions in every fit and score;
            folds leave out a row with all of its weight.

        Returns
        -------
        self
        """
        refuse_stream(
            self, X, "fit", "Choose parameters on the first blocks in memory, then fit KernelFisherDiscriminant on all."
        )
        check_parameters(self)
        rows, kernel = check_rows(self, self._kernel(None), X, y, sample_weight)
        data, options = code_rows(self, kernel, rows), fisher_options(self)
        options.check(type(self).__name__, data.n_classes)
        self._check_search(rows, data, options)
        gammas, alphas = candidate_widths(self, rows), candidate_ridges(self)
        folds = None if isinstance(self.cv, str) else search_folds(self.cv, rows, data.codes)
        best = self._search(gammas, alphas, folds, rows, data, options)
        if best is None:
            best = self._tables([self.best_params_["gamma"]], rows, data, options)[0]
        model = self._model(**self.best_params_)
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        self.classes_ = data.classes
        self.best_estimator_ = model._store(best.problem(), options, best.data, best.points, best.landmarks)
        return self

    def transform(self, X: Rows) -> Array:
        """As `KernelFisherDiscriminant.transform`."""
        return self._fitted().transform(X)

    def decision_function(self, X: Rows) -> Array:
        """As `KernelFisherDiscriminant.decision_function`."""
        return self._fitted().decision_function(X)

    def predict(self, X: Rows) -> Array:
        """Class labels."""
        return self._fitted().predict(X)

    def predict_proba(self, X: Rows) -> Array:
        """As `KernelFisherDiscriminant.predict_proba`."""
        return self._fitted().predict_proba(X)

    def score(self, X: Rows, y: Targets, sample_weight: Targets = None) -> float:
        """The score of the best model on labelled rows: its accuracy, or what `scoring` says."""
        model = self._fitted()
        if self.scoring is None:
            return model.score(X, y, sample_weight)
        labels = check_labels(self, y, count_rows(X))
        return self._score(model, X, labels, check_weights(self, sample_weight, labels.size))

    def _score(self, model: Any, X: Rows, y: Array, weights: Array | None) -> float:
        """What `scoring` says of a model on labelled rows; weights are passed on where there are some."""
        name, scorer = type(self).__name__, check_scoring(None, self.scoring)
        if weights is None:
            score = scorer(model, X, y)
        else:
            try:
                score = scorer(model, X, y, sample_weight=weights)
            except TypeError as error:
                raise ValueError(
                    f"{name} was given weights, with which scoring={self.scoring!r} was called as scorer(model, X, y, "
                    f"sample_weight=weights): {error}. Use a score that takes weights, or fit without."
                ) from error
        number = np.asarray(score)
        if number.ndim or number.dtype.kind not in "fiub" or not np.isfinite(number):
            raise ValueError(
                f"{name} needs scores that are finite numbers; scoring={self.scoring!r} gave {score!r} for "
                f"{y.shape[0]} held-out rows of the classes {np.unique(y).tolist()!s:.100}. A score that needs all "
                "classes needs folds that have them: use an integer `cv`, or other splits."
            )
        return float(score)

    def _search(
        self,
        gammas: Sequence,
        alphas: Array,
        folds: Folds | None,
        rows: CheckedRows,
        data: LabelledData,
        options: FisherOptions,
    ) -> KernelTable | None:
        """Score all pairs of parameters and choose; the table of the best width, where it could be kept."""
        budget = memory_budget(self.max_memory, np.empty(0))
        # The kernel values of the best width so far are kept for the final fit where memory allows.
        keeps_values = rows.landmarks is not None or fits_in_memory(data.X, self.max_memory, n_more=1)
        scores, best_score, best = [], -np.inf, None
        n_points = data.X.shape[0] if rows.landmarks is None else 0
        with stage("Choosing the width", len(gammas)) as advance:
            for wave in cut(len(gammas), widths_at_once(n_points, len(folds or (0,)), budget)):
                tables = self._tables(gammas[wave], rows, data, options)
                if folds is None:
                    found = leave_one_out_scores(tables, alphas)
                else:
                    found = cross_validated_scores(tables, folds, alphas, self._judge(rows, data))
                scores.append(found)
                for table, score in zip(tables, found.mean(axis=2).max(axis=1), strict=True):
                    if keeps_values and score > best_score:
                        best_score, best = score, table
                advance(len(tables))
        self._choose(gammas, alphas, np.concatenate(scores).reshape(len(gammas) * len(alphas), -1))
        return best

    def _judge(self, rows: CheckedRows, data: LabelledData) -> Callable[..., float] | None:
        """The score of discriminants of some rows on others, as `cross_validated_scores` takes it."""
        if self.scoring is None:
            return None
        X = take_rows(data.kernel.gram, rows.kept) if data.kernel.points_are_row_numbers else rows.X

        def judge(table: KernelTable, found: FittedDiscriminants, fitted: Array, held_out: Array) -> float:
            points = table.points if table.gram is not None else take_rows(table.points, fitted)
            model = self._model()._keep(found, table.data, points, table.landmarks)
            weights = None if rows.weights is None else rows.weights[held_out]
            return self._score(model, take_rows(X, held_out), rows.labels[held_out], weights)

        return judge

    def _tables(
        self, gammas: Sequence, rows: CheckedRows, data: LabelledData, options: FisherOptions
    ) -> list[KernelTable]:
        """The kernel values of some widths, resolved on the rows, with their expansion points."""
        chosen = []
        for gamma in gammas:
            kernel = data.kernel if data.kernel.points_are_row_numbers else self._kernel(gamma)
            of_width = replace(data, kernel=resolve_kernel(self, kernel, rows, centers=options.solves_by_gram))
            # In the order of widths: selectors may draw from one generator.
            chosen.append((of_width, *select_points(of_width, *landmark_choice(rows.landmarks, self.random_state))))
        return run_parallel(lambda each: KernelTable.of(each[0], each[1], options, each[2]), chosen)

    def _model(self, **params: Any) -> KernelFisherDiscriminant:
        """A discriminant with the parameters of the search, for as many features as it has seen."""
        searched = ("gammas", "alphas", "cv", "scoring", "n_jobs")
        shared = {name: value for name, value in self.get_params(deep=False).items() if name not in searched}
        model = KernelFisherDiscriminant(**params, **shared)
        if "n_features_in_" in vars(self):
            model.n_features_in_ = self.n_features_in_
        return model

    def _kernel(self, gamma: Any) -> Kernel:
        return own_parameters(
            as_kernel(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0, kernel_params=self.kernel_params)
        )

    def _choose(self, gammas: Sequence, alphas: Array, scores: Array) -> None:
        """Keep the scores of all pairs, shape (n_gammas · n_alphas, n_folds), as scikit-learn's searches do."""
        pairs = {
            "gamma": np.repeat(np.array(gammas, dtype=object), len(alphas)),
            "alpha": np.tile(alphas, len(gammas)),
        }
        rows = zip(*(column.tolist() for column in pairs.values()), strict=True)
        means = scores.mean(axis=1)
        self.cv_results_ = {
            "params": [dict(zip(pairs, row, strict=True)) for row in rows],
            **{f"param_{name}": column for name, column in pairs.items()},
            "mean_test_score": means,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rankdata(-means, method="min").astype(int),
            **{f"split{i}_test_score": column for i, column in enumerate(scores.T)},
        }
        self.best_index_ = int(np.argmax(means))
        self.best_params_, self.best_score_ = self.cv_results_["params"][self.best_index_], float(means.max())

    def _check_search(self, rows: CheckedRows, data: LabelledData, options: FisherOptions) -> None:
        name = type(self).__name__
        advice = "Choose parameters on some rows, then fit KernelFisherDiscriminant(landmarks=...) on all of them."
        require_in_memory(data.X, f"{name} needs X", advice)
        in_closed_form = rows.landmarks is None and options.solves_by_gram and self.scoring is None
        if isinstance(self.cv, str) and not in_closed_form:
            raise ValueError(
                f"{name} with cv='loo' needs landmarks=None, regularizer='norm', scoring=None, and neither sparsity "
                "nor invariances: the closed form holds for them alone. Use cv=5."
            )

    def _fitted(self) -> KernelFisherDiscriminant:
        check_is_fitted(self)
        return self.best_estimator_

    def _kernel_machine(self) -> KernelMachine:
        return self._fitted()._kernel_machine()

    @property
    def _n_features_out(self) -> int:
        return self.best_estimator_.n_components_

    def __sklearn_tags__(self) -> Tags:
        return with_kernel_tags(super().__sklearn_tags__(), self.kernel)


def widths_at_once(n_points: int, n_folds: int, budget: int) -> int:
    """How many widths have their kernel values in memory together.

    Enough that their folds keep the threads busy, and no more than fit in half of the budget.

    Parameters
    ----------
    n_points : int
        Rows and columns of the kernel values.
    n_folds : int
    budget : int
        In bytes.
    """
    wanted = -(-FOLDS_PER_THREAD * available_threads() // n_folds)
    return max(1, min(wanted, int(budget // 2 // max(1, 8 * n_points**2))))
