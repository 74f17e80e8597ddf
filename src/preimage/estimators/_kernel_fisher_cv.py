"""Kernel Fisher discriminants with the width of the kernel and the ridge chosen by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.model_selection import check_cv
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import to_dense, to_numpy
from preimage._memory import memory_budget
from preimage._progress import ReportsProgress, reports_progress, stage
from preimage._rows import cut
from preimage._threads import available_threads, run_parallel, within_n_jobs
from preimage._typing import Array, Folds, Rows, Seed, Targets
from preimage._validation import Interval, StrOptions, check_parameters, refuse_stream, require_in_memory
from preimage.discriminants import FisherOptions, KernelTable, LabelledData, select_points
from preimage.discriminants._fit import cross_validated_scores, leave_one_out_scores, stratified_folds
from preimage.discriminants._problem import fits_in_memory
from preimage.estimators._finite_results import FiniteResults
from preimage.estimators._fisher_data import CheckedRows, check_rows, code_rows, resolve_kernel
from preimage.estimators._kernel_fisher import (
    FISHER_CONSTRAINTS,
    KernelFisherDiscriminant,
    fisher_options,
    landmark_choice,
)
from preimage.estimators._kernel_input import repeated, with_kernel_tags
from preimage.kernels import Kernel, as_kernel, resolve_gamma
from preimage.landmarks import Landmarks, LandmarkSelector
from preimage.machines import KernelMachine
from preimage.persistence import Saved

# Without a grid: multiples of 1/median squared distance, from nearly linear to nearly local kernels, and ridges by
# decades, from nearly interpolating to nearly the difference of class means.
WIDTH_MULTIPLES = (1 / 16, 1 / 4, 1, 4, 16)
DEFAULT_ALPHAS = tuple(10.0**k for k in range(-5, 3))
# Folds that are fitted in parallel, per thread: with several, a thread that has done its own takes one of another's.
FOLDS_PER_THREAD = 4
# Kernels that have no width to choose.
WITHOUT_WIDTH = ("linear", "cosine", "precomputed")


class KernelFisherDiscriminantCV(
    ReportsProgress,
    ClassNamePrefixFeaturesOutMixin,
    ClassifierMixin,
    TransformerMixin,
    FiniteResults,
    Saved,
    BaseEstimator,
):
    r"""`KernelFisherDiscriminant` with `gamma` and `alpha` chosen by cross-validation.

    Kernel values are computed once per width; all folds take their problems from them, and all ridges of a fold share
    its scatters, and eigenvectors where those save time. ``cv="loo"`` leaves each row out in closed form (F5), so that
    a width costs one eigendecomposition, and each further ridge :math:`O(n^2)`.

    Parameters
    ----------
    n_components, kernel, degree, coef0, kernel_params, landmarks, regularizer, alpha_scale, multiclass, threshold, \
    sparsity, class_weight, invariances, invariance_weight, max_memory, verbose, random_state
        As in `KernelFisherDiscriminant`. Landmarks are chosen once per width, on all rows; their kernel values with
        all rows are held.
    gammas : list of floats and rules as for `gamma`, or None, default=None
        None is 1/16, 1/4, 1, 4, 16 times the rule "median"; kernels without a width, and `Kernel` objects, which have
        their own, leave nothing to choose.
    alphas : list of floats or None, default=None
        None is 1e-5, 1e-4, …, 100.
    cv : int, None, splitter, list of splits, or "loo", default=5
        A number of stratified folds is reduced to the size of the smallest class; None is 5. "loo" needs all points as
        expansion points, the norm as regularizer and no sparsity; it scores decisions with the threshold of least
        squares.
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
        "n_jobs": [Integral, None],
        "cv": [Interval(Integral, 2, None, closed="left"), StrOptions({"loo"}), "cv_object"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        gammas: Sequence | None = None,
        alphas: Sequence[float] | None = None,
        cv: Any = 5,
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
        alphas = _positive_numbers(self, "alphas", DEFAULT_ALPHAS if self.alphas is None else self.alphas)
        gammas = self._gammas(rows)
        folds = None if isinstance(self.cv, str) else self._folds(rows, data)
        # The kernel values of the best width so far are kept for the final fit where memory allows.
        budget = memory_budget(self.max_memory, np.empty(0))
        keeps_values = rows.landmarks is not None or fits_in_memory(data.X, self.max_memory, n_more=1)
        scores, best_score, best = [], -np.inf, None
        n_points = data.X.shape[0] if rows.landmarks is None else 0
        with stage("Choosing the width", len(gammas)) as advance:
            for wave in cut(len(gammas), widths_at_once(n_points, len(folds or (0,)), budget)):
                candidates = self._candidates(gammas[wave], rows, data, options)
                tables = [candidate.table for candidate in candidates]
                for candidate, accuracies in zip(candidates, _accuracies(tables, folds, alphas), strict=True):
                    scores.append(accuracies)
                    if (score := accuracies.mean(axis=1).max()) > best_score:
                        best_score, best = score, candidate if keeps_values else None
                advance(len(candidates))
        self._store(gammas, alphas, np.concatenate(scores))
        best = self._candidates([self.best_params_["gamma"]], rows, data, options)[0] if best is None else best
        self.best_estimator_ = self._fitted_model(best)
        self.classes_ = self.best_estimator_.classes_
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

    def _candidates(
        self, gammas: Sequence, rows: CheckedRows, data: LabelledData, options: FisherOptions
    ) -> list["_Candidate"]:
        """The kernels of some widths, resolved on the rows, their expansion points and their kernel values."""
        chosen = []
        for gamma in gammas:
            kernel = data.kernel if data.kernel.points_are_row_numbers else self._kernel(gamma)
            of_width = replace(data, kernel=resolve_kernel(self, kernel, rows, centers=options.solves_by_gram))
            # In the order of widths: selectors may draw from one generator.
            chosen.append((of_width, *select_points(of_width, *landmark_choice(rows.landmarks, self.random_state))))
        tables = run_parallel(lambda each: KernelTable.of(each[0], each[1], options), chosen)
        return [_Candidate(table, landmarks) for table, (_, _, landmarks) in zip(tables, chosen, strict=True)]

    def _fitted_model(self, candidate: "_Candidate") -> KernelFisherDiscriminant:
        """The discriminant of a width with the best ridge, on all rows, from kernel values that are known."""
        table, searched = candidate.table, ("gammas", "alphas", "cv", "n_jobs")
        shared = {name: value for name, value in self.get_params(deep=False).items() if name not in searched}
        model = KernelFisherDiscriminant(**self.best_params_, **shared)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model._store(table.problem(), table.options, table.data, table.points, candidate.landmarks)

    def _kernel(self, gamma: Any) -> Kernel:
        return as_kernel(
            self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0, kernel_params=self.kernel_params
        )

    def _store(self, gammas: Sequence, alphas: Array, scores: Array) -> None:
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

    def _gammas(self, rows: CheckedRows) -> list:
        if self.gammas is not None:
            values = list(self.gammas)
            if not values:
                raise ValueError(f"{type(self).__name__} needs at least one candidate in `gammas`; got none.")
            numbers = [isinstance(value, (int, float, np.number)) for value in values]
            return sorted(float(value) for value in values) if all(numbers) else values
        if not isinstance(self.kernel, str) or self.kernel in WITHOUT_WIDTH:
            return [None]
        X = rows.X if rows.weights is None else repeated(rows.X, rows.weights)
        middle = resolve_gamma("median", to_numpy(to_dense(X)))
        return [float(middle * multiple) for multiple in WIDTH_MULTIPLES]

    def _folds(self, rows: CheckedRows, data: LabelledData) -> Folds:
        if self.cv is None or isinstance(self.cv, Integral):
            return stratified_folds(data.codes, 5 if self.cv is None else int(self.cv))
        # Splits are of the rows that were given, some of which may have had weight zero and are left out.
        labels = rows.given_labels
        position = np.full(labels.size, -1)
        position[rows.kept] = np.arange(rows.kept.size)
        splits = check_cv(self.cv, labels, classifier=True).split(np.zeros((labels.size, 1)), labels)
        folds = [tuple(part[part >= 0] for part in (position[fitted], position[held])) for fitted, held in splits]
        return [fold for fold in folds if fold[1].size]  # a fold without held-out rows has no score

    def _check_search(self, rows: CheckedRows, data: LabelledData, options: FisherOptions) -> None:
        name = type(self).__name__
        advice = "Choose parameters on some rows, then fit KernelFisherDiscriminant(landmarks=...) on all of them."
        require_in_memory(data.X, f"{name} needs X", advice)
        if isinstance(self.cv, str) and not (rows.landmarks is None and options.solves_by_gram):
            raise ValueError(
                f"{name} with cv='loo' needs landmarks=None, regularizer='norm', and neither sparsity nor invariances: "
                "the closed form holds for them alone. Use cv=5."
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


@dataclass(frozen=True)
class _Candidate:
    """One width: its kernel values, and the landmarks that a selector chose with it."""

    table: KernelTable
    landmarks: Landmarks | None


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


def _accuracies(tables: list[KernelTable], folds: Folds | None, alphas: Array) -> Array:
    """Of some widths, shape (n_widths, n_alphas, n_folds); without folds, each row is left out in closed form."""
    if folds is None:
        return leave_one_out_scores(tables, alphas)
    return cross_validated_scores(tables, folds, alphas)[:, 0]


def _positive_numbers(estimator: Any, name: str, values: Any) -> Array:
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)) or values.min() < 0:
        raise ValueError(
            f"`{name}` of {type(estimator).__name__} is a list of candidates that are finite and not negative; got "
            f"{values.tolist()!r}."
        )
    return np.sort(values)[::-1]
