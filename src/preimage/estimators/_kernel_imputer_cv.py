"""Kernel imputation whose width and noise are chosen by hiding known entries."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import array_namespace, in_memory, is_lazy, take_rows, to_numpy
from preimage._engine.memory import limited_memory
from preimage._engine.progress import ReportsProgress, reports_progress, stage
from preimage._engine.removed import ignores_removed
from preimage._engine.threads import within_n_jobs
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import Interval, check_parameters, generator
from preimage._models.completion import HiddenRows, fit_incomplete, neighbor_start
from preimage.estimators._estimator import Estimator
from preimage.estimators._input_frames import WRAPPED
from preimage.estimators._kernel_imputer import CONDITIONAL, ENERGY, KernelImputer
from preimage.estimators._missing_entries import check_incomplete, known_entries
from preimage.kernels import Gaussian

# Candidates for the width c = 1/γ as multiples of the median squared distance. Narrower kernels are nearest neighbours,
# and wider ones are linear to within a per cent.
RELATIVE_WIDTHS = (1 / 2, 1, 2, 4, 16, 64, 256)
# Candidates for the noise as a fraction of the variance. Images and spectra want 1e-6 to 1e-4, tables up to 1e-2; with
# more noise fillings approach column means.
NOISES = (1e-6, 1e-5, 1e-4, 5e-4, 2e-3, 1e-2)
# Entries that are hidden to compare all candidates, and to compare the best of them; errors of the best differ by per
# cents, which takes thousands of entries to see.
FIRST_ENTRIES, MOST_ENTRIES = 600, 2400
# Fraction of the candidates that the second comparison is between.
KEPT_FRACTION = 0.25
# Rows that candidates are fitted to: fits take cubic time, and the best parameters change slowly with their number.
MOST_SEARCH_ROWS = 1500
SEARCHED = ("gammas", "noises", "cv", "hidden")


class KernelImputerCV(ReportsProgress, TransformerMixin, Estimator):
    r"""Fill missing entries by `KernelImputer` with the method, width and noise that restore hidden entries best.

    Known entries of the training rows are hidden: those that other rows miss, so that what is missing together is
    hidden together, or a fraction of them at random. Each fold is filled by models of the other folds. All candidates
    are compared by the squared errors of some hundred entries, and the best quarter of them by those of some thousand.

    The candidates are widths and noises of the energy. Conditional means, which `KernelImputer` uses by default, are
    compared with the best of them, and are chosen unless they are worse by more than two standard errors.

    Parameters
    ----------
    gammas : list of floats and rules as for `gamma` of `KernelImputer`, or None, default=None
        None is 1/c with c = 1/2, 1, 2, 4, 16, 64, 256 times the median squared distance of the rows (by their known
        entries, of scaled columns). Kernels without a width, and `Kernel` objects, leave nothing to choose.
    noises : list of floats in (0, 1) or None, default=None
        Variances of the noise as fractions of the variance in feature space. None is 1e-6, 1e-5, 1e-4, 5e-4, 2e-3,
        1e-2. The noise also decides how many components count: those with more variance.
    method : "auto", "conditional" or "energy", default="auto"
        What is compared. "auto" is candidates of the energy and conditional means, which have no part in it where
        `gammas`, `noises`, `kernel` or `landmarks` are given, or in the other two cases only one of the two.
    cv : int, default=5
        Number of folds.
    hidden : float in (0, 1) or None, default=None
        Fraction of the known entries of a row that is hidden, at random. None hides what another row misses, or 0.3
        where all rows are complete.
    kernel, degree, coef0, kernel_params, scale, landmarks, min_value, max_value
        As in `KernelImputer`.
    categorical_features, missing_values, add_indicator, keep_empty_features, tol, max_iter, max_memory, n_jobs, verbose
        As in `KernelImputer`.
    random_state : int, RandomState, Generator or None, default=0
        Seed of folds and of what is hidden, and of `KernelImputer`.

    Attributes
    ----------
    best_estimator_ : KernelImputer
        With the best parameters, fitted to all rows.
    best_params_ : dict
        With "gamma" and "noise", or with "method" for conditional means.
    best_score_ : float
        Minus the mean squared error of hidden entries, in units of scaled columns.
    cv_results_ : dict of arrays
        "params", "param_gamma" and "param_noise" (None for conditional means), "mean_test_score", "rank_test_score",
        and "n_entries", the number of hidden entries that a candidate was judged by; candidates of the second
        comparison come first in the ranks.
    n_iter_ : int
        That of `best_estimator_`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    KernelImputer : The imputer that is fitted.
    preimage.model_selection.DenoisingSearch : Chooses a width for denoising.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelImputerCV
    >>> angles = np.random.default_rng(0).uniform(0, np.pi / 2, 100)
    >>> arc = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> search = KernelImputerCV(noises=[1e-6, 1e-2]).fit(arc)
    >>> search.best_params_["noise"], search.transform([[0.6, np.nan]]).round(2)
    (1e-06, array([[0.6, 0.8]]))
    """

    _in_input_space = WRAPPED
    _completing = WRAPPED
    _parameter_constraints = {
        **{
            name: value
            for name, value in KernelImputer._parameter_constraints.items()
            if name not in ("n_components", "gamma", "noise", "sample_posterior")
        },
        "gammas": ["array-like", None],
        "noises": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "hidden": [Interval(Real, 0, 1, closed="neither"), None],
    }

    @ignores_removed
    def __init__(
        self,
        *,
        gammas: Sequence | None = None,
        noises: Sequence[float] | None = None,
        cv: int = 5,
        hidden: float | None = None,
        method: str = "auto",
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        scale: bool | str = "auto",
        landmarks: Any = "auto",
        min_value: float | Array | None = None,
        max_value: float | Array | None = None,
        categorical_features: Any = "from_dtype",
        missing_values: Any = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        tol: float = 1e-3,
        max_iter: int = 10,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.gammas = gammas
        self.noises = noises
        self.cv = cv
        self.hidden = hidden
        self.method = method
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.scale = scale
        self.landmarks = landmarks
        self.min_value = min_value
        self.max_value = max_value
        self.categorical_features = categorical_features
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    @within_n_jobs
    def fit(self, X: Rows, y: Targets = None) -> "KernelImputerCV":
        """Choose the parameters, and fit to all rows.

        Parameters
        ----------
        X, y
            As in `KernelImputer.fit`. Of more than 1,500 rows so many are drawn for the comparison.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def _fit(self, X: Rows) -> Array:
        """Fit; X filled."""
        check_parameters(self)
        noises = self._noises()
        # Scales and bounds come from a model with default parameters.
        first = self._model(method=ENERGY).fit(X)
        self._take_columns(first)
        rng = generator(self.random_state)
        with limited_memory(self.max_memory, first.center_):
            rows, observed = self._search_rows(first, X, rng)
            hidden = HiddenRows.draw(
                rows,
                observed,
                n_entries=MOST_ENTRIES,
                n_folds=self.cv,
                fraction=self.hidden,
                rng=rng,
                indicators=first._indicators(),
            )
            self._require_enough(rows, hidden)
            if not observed.all():
                hidden = self._filled_without_hidden(first, hidden, rng)
            gammas = [] if self.method == CONDITIONAL else self._gammas(first)
            self._search(first, hidden, gammas, noises, rng)
        whole = {} if "method" in self.best_params_ else {"n_components": None, "method": ENERGY}
        self.best_estimator_ = self._with_output(self._model(**whole, **self.best_params_))
        return self.best_estimator_.fit_transform(X)

    @reports_progress
    @within_n_jobs
    def fit_transform(self, X: Rows, y: Targets = None) -> Array:
        """Fit, and return X with missing entries filled, as `KernelImputer.fit_transform` does."""
        return self._fit(X)

    def transform(self, X: Rows) -> Array:
        """As `KernelImputer.transform`, with the best parameters."""
        check_is_fitted(self)
        return self._with_output(copy(self.best_estimator_)).transform(X)

    def category_probabilities(self, X: Rows) -> list[Array]:
        """As `KernelImputer.category_probabilities`, with the best parameters."""
        check_is_fitted(self)
        return self.best_estimator_.category_probabilities(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """As `KernelImputer.get_feature_names_out`."""
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)

    @property
    def n_iter_(self) -> int:
        """Fits of the chosen model to all rows, see `KernelImputer`."""
        check_is_fitted(self)
        return self.best_estimator_.n_iter_

    def _search(
        self, first: KernelImputer, hidden: HiddenRows, gammas: list, noises: list[float], rng: np.random.Generator
    ) -> None:
        """Compare all candidates on the first entries, and the best of them on all."""
        counts = hidden.hidden.sum(axis=1)
        n_first = min(counts.size, int(np.searchsorted(np.cumsum(counts), FIRST_ENTRIES)) + 1)
        errors = np.full((len(gammas), len(noises), counts.size), np.nan)
        box, seed = first._box(hidden.rows), int(rng.integers(2**32))

        def judge(width: int, which: np.ndarray, part: slice) -> None:
            model = self._model(n_components=None, gamma=gammas[width])
            model.kernel_ = model._resolved_kernel(hidden.rows, first.start_scale_)
            fit = model._subspace_fit(hidden.rows, hidden.observed, np.random.default_rng(seed))
            found = hidden.part(part).energy_errors(fit, [noises[i] for i in which], first.start_scale_, box)
            errors[width, which, part] = found

        with stage("Choosing width and noise", 2 * len(gammas)) as advance:
            for width in range(len(gammas)):
                judge(width, np.arange(len(noises)), slice(0, n_first))
                advance()
            means = errors[:, :, :n_first].sum(axis=2) / counts[:n_first].sum()
            n_kept = max(1, int(np.ceil(KEPT_FRACTION * means.size)))
            kept = means <= (np.sort(means, axis=None)[n_kept - 1] if means.size else 0.0)
            for width in range(len(gammas)):
                if kept[width].any() and n_first < counts.size:
                    judge(width, np.flatnonzero(kept[width]), slice(n_first, counts.size))
                advance()
        means = np.where(kept, errors.sum(axis=2) / counts.sum(), means)
        params: list[dict[str, Any]] = [{"gamma": gamma, "noise": noise} for gamma in gammas for noise in noises]
        scores, judged = means.ravel(), kept.ravel()
        order = np.where(judged, scores, scores.max(initial=0.0) + scores + 1)
        if self._has_conditional():
            other = hidden.conditional_errors(first.start_scale_, rng)
            own = errors.reshape(-1, counts.size)[int(np.argmin(order))] if order.size else None
            is_first = own is None or not _is_clearly_smaller(own, other, hidden.numbers)
            params.append({"method": CONDITIONAL})
            scores, judged = np.append(scores, other.sum() / counts.sum()), np.append(judged, True)
            order = np.append(order, -1.0 if is_first else scores[-1])
        self._store(params, scores, order, np.where(judged, counts.sum(), counts[:n_first].sum()).astype(int))

    def _has_conditional(self) -> bool:
        if self.method != "auto":
            return self.method == CONDITIONAL
        said = (self.gammas, self.noises)
        return said == (None, None) and self._model()._chosen_method() == CONDITIONAL

    def _store(
        self, params: list[dict[str, Any]], errors: np.ndarray, order: np.ndarray, n_entries: np.ndarray
    ) -> None:
        best = int(np.argmin(order))
        self.best_params_, self.best_score_ = params[best], -float(errors[best])
        self.cv_results_ = {
            "params": params,
            "param_gamma": np.array([each.get("gamma") for each in params], dtype=object),
            "param_noise": np.array([each.get("noise") for each in params]),
            "mean_test_score": -errors,
            "rank_test_score": rankdata(order, method="min").astype(int),
            "n_entries": n_entries,
        }

    def _search_rows(self, first: KernelImputer, X: Rows, rng: np.random.Generator) -> tuple[Array, np.ndarray]:
        """Scaled rows with their missing entries filled, and which entries are known."""
        columns = first._columns()
        X = check_incomplete(first, columns.in_numbers(X), reset=False, like=first.center_)
        if X.shape[0] > MOST_SEARCH_ROWS:
            X = take_rows(X, np.sort(rng.choice(X.shape[0], MOST_SEARCH_ROWS, replace=False)))
        if is_lazy(X):
            X = check_incomplete(first, in_memory(X), reset=False, like=first.center_)
        observed = known_entries(X, self.missing_values)
        some = np.flatnonzero(to_numpy(array_namespace(X).any(observed, axis=1)))
        X, observed = take_rows(X, some), take_rows(observed, some)
        _, observed, scaled = first._scaled_codes(columns.valid(X), columns.valid(observed))
        return scaled, to_numpy(observed)

    def _filled_without_hidden(self, first: KernelImputer, hidden: HiddenRows, rng: np.random.Generator) -> HiddenRows:
        """Missing entries filled by a model that has not seen the hidden ones.

        Candidates that follow the filled rows closely repeat the model that has filled them: if it knew the hidden
        entries, these candidates would seem to be the best.
        """
        seen = hidden.as_known(hidden.seen())
        start = neighbor_start(hidden.rows, seen, first.start_scale_)
        found = fit_incomplete(
            first._subspace_fit(start, seen, rng),
            seen,
            start,
            box=first._box(start),
            tol=self.tol,
            max_iter=self.max_iter,
            rng=rng,
        )
        xp, known = array_namespace(seen), hidden.as_known(hidden.observed)
        return replace(hidden, rows=xp.where(known, hidden.rows, found.rows))

    def _require_enough(self, rows: Array, hidden: HiddenRows) -> None:
        if hidden.numbers.size == 0 or rows.shape[0] < self.cv or rows.shape[0] <= 2:
            raise ValueError(
                f"KernelImputerCV needs at least {max(3, self.cv)} rows with known entries for cv={self.cv} folds, "
                f"some of them with two; got {rows.shape[0]} rows with n_features={rows.shape[1]}, and "
                f"{int(hidden.hidden.sum())} entries that can be hidden. KernelImputer chooses nothing and needs less."
            )

    def _gammas(self, first: KernelImputer) -> list:
        if self.gammas is not None:
            values = list(self.gammas)
            if not values:
                raise ValueError("KernelImputerCV needs at least one candidate in `gammas`; got none.")
            return values
        if not isinstance(self.kernel, str) or type(first.kernel_) is not Gaussian:
            return [None]
        return [1 / (width * first.start_scale_) for width in RELATIVE_WIDTHS]

    def _noises(self) -> list[float]:
        values = np.asarray(NOISES if self.noises is None else self.noises, dtype=float)
        if values.ndim != 1 or values.size == 0 or not np.all((values >= 0) & (values < 1)):
            raise ValueError(
                "`noises` of KernelImputerCV is a list of fractions of the variance, from 0 to less than 1; got "
                f"{values.tolist()!r}."
            )
        return [float(value) for value in values]

    def _model(self, **chosen: Any) -> KernelImputer:
        shared = {name: value for name, value in self.get_params(deep=False).items() if name not in SEARCHED}
        return KernelImputer(**{**shared, **chosen})

    def _with_output(self, model: KernelImputer) -> KernelImputer:
        """The model with what `set_output` was told here."""
        return model.set_output(**getattr(self, "_sklearn_output_config", {}))

    def _take_columns(self, model: KernelImputer) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
            elif hasattr(self, name):
                delattr(self, name)

    def __sklearn_tags__(self) -> Tags:
        return self._model().__sklearn_tags__()


def _is_clearly_smaller(errors: np.ndarray, others: np.ndarray, rows: np.ndarray) -> bool:
    """Whether errors are smaller than others on average, by more than two standard errors of the difference.

    Rows are judged several times each where there are few, and are then counted once.
    """
    _, groups = np.unique(rows, return_inverse=True)
    gain = np.bincount(groups, weights=others - errors) / np.bincount(groups)
    return bool(gain.mean() > 2 * gain.std() / np.sqrt(gain.size))
