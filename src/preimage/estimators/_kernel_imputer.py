"""Missing entries of tables and images, by conditional means and by kernel PCA."""

import zlib
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import (
    array_namespace,
    from_numpy,
    in_double,
    in_memory,
    in_precision,
    is_lazy,
    take_rows,
    to_device_of,
    to_numpy,
    with_rows,
)
from preimage._engine.memory import limited_memory, memory_budget
from preimage._engine.progress import ReportsProgress, reports_progress
from preimage._engine.threads import within_n_jobs
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    MissingValues,
    StrOptions,
    check_parameters,
    feature_names_in,
    generator,
)
from preimage._engine.warnings import warn_user
from preimage._models.completion import (
    ColumnScale,
    ConditionalFit,
    ConditionalMeans,
    Indicators,
    SubspaceFit,
    Trend,
    fill_near,
    fit_conditional,
    fit_incomplete,
    median_distance,
    neighbor_start,
    noisy_energy,
)
from preimage._models.components import Wanted
from preimage.descent import Box
from preimage.eigensolvers import EigenOptions
from preimage.estimators._estimator import Estimator
from preimage.estimators._imputed_columns import Columns
from preimage.estimators._input_frames import WRAPPED
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    as_selector,
    is_auto,
    is_precomputed,
    named_kernel,
    with_array_tag,
)
from preimage.estimators._missing_entries import check_incomplete, is_nan, known_entries, map_incomplete
from preimage.estimators._relevant_kernel import refuse_relevance
from preimage.exceptions import ConvergenceWarning, UnsupportedKernelError
from preimage.kernels import Gaussian, Kernel
from preimage.landmarks import LandmarkSelector

CONDITIONAL, ENERGY = "conditional", "energy"
# Parameters that the energy alone has, with their defaults: another value asks for the energy.
OF_ENERGY = {"n_components": 0.99, "kernel": "rbf", "gamma": None, "noise": "auto", "landmarks": "auto"}
# What a fit by one method stores, and a fit by the other must not leave behind; and what draws need.
STORED = {
    CONDITIONAL: ("points_", "trend_mean_", "trend_covariance_", "relevance_", "mixture_"),
    ENERGY: ("kernel_", "subspace_", "explained_variance_", "noise_variance_", "n_components_", "objective_path_"),
}
DRAWS = ("temperature_", "draw_seed_")
# Columns by which training rows are put in order, evenly spaced: rows that agree in so many are usually equal.
ORDER_COLUMNS = 32
# Rows that a model is fitted to; of more, so many are drawn. Each round fills all of them: this many take a minute, and
# the model has at most 1,000 landmarks in any case.
MOST_ROWS = 10_000
# Rows up to which landmarks="auto" uses all of them, if they are complete and if they are not: every step of every
# filled row computes kernel values with all points of the model, and rows with missing entries are filled many times.
# Beyond, half of the rows, at most so many, are landmarks: on digits errors are larger by a fiftieth.
MOST_EXACT_ROWS, MOST_INCOMPLETE_ROWS, MOST_LANDMARKS = 2000, 700, 1000
# Why there is no width per column to learn, and what to do.
LEARNED_ALREADY = (
    "there are no targets. Conditional means, the default without `gamma`, learn from known entries that they hide how "
    "much each column counts for each other one (`relevance_`): leave `gamma` out. The energy takes weights that you "
    "know, of scaled columns: kernel=ScaledInputs(Gaussian(1.0), weights)."
)
# γ of the Gaussian kernel times the median of squared distances. Of eight data sets images of few pixels have the
# smallest errors at 0.5, larger ones and tables at 0.1, where those images have errors larger by a tenth.
GAMMA_TIMES_MEDIAN = 0.35


class KernelImputer(ReportsProgress, TransformerMixin, Estimator):
    r"""Fill missing entries by their means given the known ones, or so that rows lie near a principal subspace.

    By default missing entries are replaced by *conditional means*: a weighted mean of local averages, of kernel ridge
    regressions on the 30 training rows that are nearest by the known entries, and of both around the linear trend of
    the table. The weights are those that restore known entries best which were hidden.

    With ``method="energy"`` a row x with missing entries is completed by

    .. math:: \min_z \|\tilde\varphi(z)\|^2 - \sum_i \Bigl(1 - \frac{\sigma^2}{\lambda_i}\Bigr)
              \langle v_i, \tilde\varphi(z) \rangle^2 \quad\text{with}\quad z_j = x_j \text{ where } x_j
              \text{ is known},

    where :math:`\tilde\varphi(z) = \varphi(z) - \bar\varphi`, :math:`v_i` are principal axes in feature space,
    :math:`\lambda_i` their variances and :math:`\sigma^2` the variance of noise around the subspace: the most likely
    row under probabilistic kernel PCA. With a linear kernel this is the Gaussian conditional mean, that is, ridge
    regression of the missing on the known entries; narrow Gaussian kernels approach nearest neighbours. Without noise
    the squared distance of :math:`\varphi(z)` to the subspace is minimised.

    The training set may have missing entries itself. Known entries are never changed, no NaN comes out, and rows
    without a known entry get the mean row, or the pre-image of the mean.

    Columns of categories (`categorical_features`) are replaced by one indicator per category, whose conditional means
    are probabilities; their squared errors, by which weights are found, are Brier scores. Missing entries get the most
    likely category, and `category_probabilities` has the probabilities of all.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=0.99
        Of the energy: number of principal axes, or the fraction of the variance in feature space that they must
        explain; None is all.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`, except that ``gamma=None`` of the Gaussian kernel is 0.35 over the median of squared
        distances between training rows, by their known entries; rules for `gamma` look at rows filled by
        `neighbor_start`. The kernel compares scaled rows, (x − `center_`)/`scale_`: a number for `gamma` is in their
        units. Conditional means have a Gaussian kernel whose width follows from the neighbours of each row.
    method : "auto", "conditional" or "energy", default="auto"
        Whether missing entries are conditional means or minimise the energy. "auto" is conditional means, unless one of
        `n_components`, `kernel`, `gamma`, `noise` and `landmarks`, which the energy alone has, is not the default.
    noise : "auto" or float in [0, 1), default="auto"
        Variance σ² of the noise as a fraction of the variance in feature space. "auto" is the mean of the eigenvalues
        that are left out, the most likely value; 0 minimises the distance to the subspace.
    scale : "auto" or bool, default="auto"
        Whether columns are divided by their standard deviations, as distances between columns of unlike units need.
        "auto" does so unless standard deviations are alike, as those of pixels: the 90th percentile at most twice the
        median. Otherwise all columns are divided by one number, the root mean square of their standard deviations.
    landmarks : "auto", None, int, str or LandmarkSelector, default="auto"
        As in `KernelPCA`; "auto" uses all rows up to 2,000, or 700 if some are incomplete, and half of the rows, at
        most 1,000, as landmarks otherwise.
    min_value, max_value : float, array of shape (d,) or None, default=None
        Bounds on imputed entries, ``-np.inf`` and ``np.inf`` are none. None is the smallest and the largest known value
        of each column in the training set; conditional means may lie beyond by half of that range in columns in which
        hidden entries are restored better so, as those of few factors are.
    categorical_features : "from_dtype", list of int, bool or str, or None, default="from_dtype"
        Columns whose entries are categories: their numbers, a mask of all columns, or names in a data frame, as in
        scikit-learn's `HistGradientBoostingClassifier`. Categories are numbers or, in data frames and arrays of
        objects, text; at most 255 per column. "from_dtype" is the columns of a data frame with a type of categories,
        and those of truth values, which get one of the two. Filled entries are categories of the training rows, and
        results have text where X has it. Other categories in rows with missing entries are an error.
    sample_posterior : bool, default=False
        Whether results are drawn at random from what the missing entries may be, instead of their conditional means: as
        in scikit-learn's `IterativeImputer`, for multiple imputation with several values of `random_state`. Fits then
        find out how uncertain filled entries are, and `sample` returns several draws. Not for the energy.
    missing_values : float, int or None, default=np.nan
        What stands for a missing entry; None and pandas.NA are NaN.
    add_indicator : bool, default=False
        Whether columns that say which entries were missing are appended, as in scikit-learn's imputers.
    keep_empty_features : bool, default=False
        Whether columns without a known entry in the training set come back as zeros; otherwise they are left out.
    tol : float, default=1e-2
        Fits of the energy to incomplete rows stop when a round raises the log-likelihood per dimension of feature space
        by less than this; without noise, when it lowers the mean energy by less than this fraction.
    max_iter : int, default=10
        Rounds of filling and fitting at most.
    max_memory : int, str or None, default=None
        Memory for the Gram matrix and temporary arrays, as in `KernelPCA`.
    n_jobs : int or None, default=None
        Most threads to use; None and -1 use all that BLAS may use.
    verbose : bool, default=False
        Whether fits show their progress.
    random_state : int, RandomState, Generator or None, default=0
        Seed of folds, of landmarks, of draws, and of the choice among more than 10,000 rows.

    Attributes
    ----------
    method_ : str
        "conditional" or "energy".
    points_ : array of shape (n, d)
        Of conditional means: the scaled training rows, filled, in an order of their own.
    trend_mean_, trend_covariance_ : arrays of shape (d,) and (d, d)
        Of conditional means: the linear trend of the scaled rows.
    relevance_ : array of shape (d, d) or None
        Of conditional means: how much each column (second axis) counts in distances of rows that miss another one. None
        with more than 600 columns, which all count alike.
    mixture_ : array
        Of conditional means: weights of the members of the weighted mean.
    kernel_ : Kernel
        Of the energy, as `subspace_`, `explained_variance_`, `noise_variance_`, `n_components_` and `objective_path_`.
        The kernel with its parameters fixed, for scaled inputs.
    subspace_ : Subspace
        Axes and mean in feature space.
    explained_variance_ : array of shape (`n_components_`,)
        Variances λ along the axes.
    noise_variance_ : float
        σ².
    n_components_ : int
    center_, scale_ : arrays
        Scaled inputs are (x − center)/scale, for the columns with `valid_features_`. The center is zero for kernels of
        non-negative inputs, such as "chi2". With categories, columns of numbers come first, then the indicators of each
        categorical column, whose common scale is the root of the sum of their variances: here and in all that follows
        from them, such as `points_` and `lower_`.
    lower_, upper_ : arrays
        Bounds on imputed entries, in units of the inputs.
    is_categorical_ : boolean array of shape (`n_features_in_`,) or None
        Which columns are categorical; None if none is.
    categories_ : list of arrays
        The categories of each categorical column in the training rows, in ascending order.
    start_scale_ : float
        Median of squared distances between training rows, by their known entries, of scaled columns.
    n_iter_ : int
        How often the model was fitted to all rows: once, and again after each round of filling.
    objective_path_ : array
        What the rounds lower, before the first and after each: minus twice the log-likelihood per row up to a
        constant, or the mean energy.
    temperature_ : float
        With `sample_posterior`, the square of the factor of neighbours' departures: see `sample`.
    valid_features_ : boolean array of shape (`n_features_in_`,)
        Which columns had a known entry.
    indicator_features_ : integer array
        The columns that ``add_indicator=True`` has indicators for: those with a missing entry in the training set.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    KernelImputerCV : Chooses width and noise by entries that it hides.
    KernelPCA.impute : The same for a fitted kernel PCA.
    sklearn.impute.KNNImputer : Means of neighbours; the limit of narrow kernels is close to it.
    sklearn.impute.IterativeImputer : One regression per column.

    Examples
    --------
    Points of an arc, of which one coordinate is missing:

    >>> import numpy as np
    >>> from preimage import KernelImputer
    >>> angles = np.random.default_rng(0).uniform(0, np.pi / 2, 200)
    >>> arc = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> KernelImputer().fit(arc).transform([[0.6, np.nan]]).round(1)
    array([[0.6, 0.8]])

    A column of categories, 7 where the first coordinate is large and 3 elsewhere:

    >>> side = np.where(arc[:, 0] > 0.5, 7, 3)
    >>> imputer = KernelImputer(categorical_features=[2]).fit(np.column_stack([arc, side]))
    >>> imputer.transform([[0.8, 0.6, np.nan]])
    array([[0.8, 0.6, 7. ]])
    """

    _named_elsewhere = {
        "predict_proba": "call category_probabilities(X), one array for each column of categories.",
    }
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither"), None],
        **KERNEL_CONSTRAINTS,
        "method": [StrOptions({"auto", "conditional", "energy"})],
        "noise": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
        "scale": [StrOptions({"auto"}), "boolean"],
        "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, None],
        "min_value": [Real, "array-like", None],
        "max_value": [Real, "array-like", None],
        "categorical_features": [str, "array-like", None],
        "sample_posterior": ["boolean"],
        "missing_values": [MissingValues()],
        "add_indicator": ["boolean"],
        "keep_empty_features": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    _in_input_space = WRAPPED
    _completing = WRAPPED
    #: Bounds may be infinite.
    _unbounded_attributes = ("lower_", "upper_")
    #: Models of files that were written before there was a choice minimise the energy, and have no categories.
    method_: str = ENERGY
    is_categorical_: np.ndarray | None = None
    lower_: np.ndarray
    upper_: np.ndarray
    categories_: list[np.ndarray]

    def __init__(
        self,
        n_components: float | None = 0.99,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        method: str = "auto",
        noise: float | str = "auto",
        scale: bool | str = "auto",
        landmarks: Any = "auto",
        min_value: float | Array | None = None,
        max_value: float | Array | None = None,
        categorical_features: Any = "from_dtype",
        sample_posterior: bool = False,
        missing_values: Any = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        tol: float = 1e-2,
        max_iter: int = 10,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.method = method
        self.noise = noise
        self.scale = scale
        self.landmarks = landmarks
        self.min_value = min_value
        self.max_value = max_value
        self.categorical_features = categorical_features
        self.sample_posterior = sample_posterior
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
    def fit(self, X: Rows, y: Targets = None) -> "KernelImputer":
        """Learn from rows, of which some or all may have missing entries.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Also a memory map or Dask array; of more than 10,000 rows so many are drawn.
        y : ignored

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    @reports_progress
    @within_n_jobs
    def fit_transform(self, X: Rows, y: Targets = None) -> Array:
        """Fit, and return X with missing entries filled as the fit has found them.

        A training set with missing entries is filled in the fit, with the same subspace as by `transform`, from
        another start: results may differ a little. With `sample_posterior`, missing entries of each row are drawn by
        models of other rows.
        """
        filled = self._fit(X)
        return self.transform(X) if filled is None else filled

    @within_n_jobs
    def transform(self, X: Rows) -> Array:
        """X with missing entries filled, shape (q, number of columns with a known entry); lazy for a Dask array."""
        check_is_fitted(self)
        columns, like = self._columns().with_words_of(X), self.center_
        # Imputers by energy that earlier versions fitted with `sample_posterior` fill in the most likely entries.
        fill = self._drawn_once if self.sample_posterior and self.method_ == CONDITIONAL else self._fill
        rows = check_incomplete(self, columns.in_numbers(X), reset=False, like=like)

        def answer(rows: Array, observed: Array) -> Array:
            valid, known = columns.valid(rows), columns.valid(observed)
            open_rows = np.flatnonzero(~to_numpy(array_namespace(rows).all(known, axis=1)))
            if open_rows.size:
                filled = fill(take_rows(valid, open_rows), take_rows(known, open_rows))
                valid = with_rows(valid, open_rows, filled)
            return self._with_indicators(valid, observed)

        with limited_memory(self.max_memory, like):
            return self._in_words(map_incomplete(self, answer, rows, like, self.missing_values), columns)

    @within_n_jobs
    def sample(self, X: Rows, n_draws: int = 5) -> Array:
        r"""Several fillings of each row, drawn at random.

        To the conditional mean of the missing entries is added by how much those of a neighbour differ from the local
        average, times a factor that was fitted so that 90 % intervals contain 90 % of known entries that were hidden;
        its square is `temperature_`. The neighbour is drawn, nearer ones more often. Where entries may be at several
        places far apart, draws are at all of them, and 90 % intervals contain fewer than they should.

        Categories are drawn with the probabilities of `category_probabilities`; those of one neighbour are drawn
        together. Numbers are cut off at the bounds. Rows should not be those that the model was
        fitted to, unless they were complete then; draws of incomplete training rows are what `fit_transform` returns.

        Parameters
        ----------
        X : array or data frame of shape (q, d), in memory
        n_draws : int, default=5

        Returns
        -------
        array of shape (n_draws, q, number of columns with a known entry)
            Without indicators, and with the same values where entries are known.

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import KernelImputer
        >>> X = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=200)
        >>> imputer = KernelImputer(sample_posterior=True).fit(X)
        >>> draws = imputer.sample([[1.0, np.nan]], n_draws=20)
        >>> draws.shape, bool(draws[:, 0, 1].std() > 0.2)
        ((20, 1, 2), True)
        """
        check_is_fitted(self)
        if not hasattr(self, "temperature_") or self.method_ != CONDITIONAL:
            raise ValueError(
                "`sample` needs an imputer by conditional means that was fitted with sample_posterior=True, which also "
                "fits how uncertain filled entries are."
            )
        if isinstance(n_draws, bool) or not isinstance(n_draws, Integral) or n_draws < 1:
            raise ValueError(f"KernelImputer.sample needs n_draws to be an integer of at least 1; got {n_draws!r}.")
        rows, observed = self._checked_in_memory(X, "sample")
        with limited_memory(self.max_memory, self.center_):
            return self._in_words(self._drawn(rows, observed, int(n_draws)))

    @within_n_jobs
    def category_probabilities(self, X: Rows) -> list[Array]:
        """Probabilities of the categories of each entry in the categorical columns.

        `transform` fills in the most likely category, and `sample` draws with these probabilities. The ones of a known
        entry are one for its category and zero for the others.

        Parameters
        ----------
        X : array or data frame of shape (q, d), in memory

        Returns
        -------
        list of arrays of shape (q, number of categories)
            One per categorical column with a known entry in the training set; columns of the arrays are `categories_`.

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import KernelImputer
        >>> size = np.linspace(0, 1, 60)
        >>> kind = np.where(size < 0.5, 1, 2)
        >>> imputer = KernelImputer(categorical_features=[1]).fit(np.column_stack([size, kind]))
        >>> imputer.category_probabilities([[0.1, np.nan], [0.2, 1]])[0].round(1)
        array([[1., 0.],
               [1., 0.]])
        """
        check_is_fitted(self)
        name = type(self).__name__
        if self.is_categorical_ is None:
            raise ValueError(
                f"{name} was fitted without categories; say which columns have them: categorical_features."
            )
        rows, observed = self._checked_in_memory(X, "category_probabilities")
        with limited_memory(self.max_memory, self.center_):
            filled = self._filled_codes(rows, observed)
        return self._indicators().probabilities(self._scaling().apply(filled))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that come back; indicators are called ``missingindicator_`` and the name."""
        check_is_fitted(self)
        names = feature_names_in(self, input_features)
        kept = names if self.keep_empty_features else names[to_numpy(self.valid_features_)]
        if not self.add_indicator:
            return kept
        indicators = [f"missingindicator_{name}" for name in names[to_numpy(self.indicator_features_)]]
        return np.concatenate([kept, np.asarray(indicators, dtype=object)])

    def _fit(self, X: Rows) -> Array | None:
        """Fit; the filled rows where all of X were filled in the fit."""
        self._check_settings()
        self.method_ = self._chosen_method()
        columns = Columns.of(type(self).__name__, self.missing_values, self.categorical_features, X)
        given = check_incomplete(self, columns.in_numbers(X), reset=True, min_samples=2)
        columns = columns.with_codes(given, getattr(self, "feature_names_in_", None))
        self.is_categorical_, self.categories_ = columns.is_categorical, columns.categories
        rng = generator(self.random_state)
        rows = self._training_rows(given, rng)
        observed = known_entries(rows, self.missing_values)
        xp = array_namespace(observed)
        self.valid_features_ = to_numpy(xp.any(observed, axis=0))
        self.indicator_features_ = np.flatnonzero(~to_numpy(xp.all(observed, axis=0)))
        if not self.valid_features_.any():
            raise ValueError("KernelImputer needs a column with known entries; all entries of X are missing.")
        columns = self._columns()
        valid, known = columns.valid(rows), columns.valid(observed)
        coded, coded_known = columns.coded(valid, known)
        self._store_scale(coded, coded_known)
        with limited_memory(self.max_memory, coded):
            found = self._fit_scaled(self._scaling().apply(coded), coded_known, rng)
        if rows is not given or found is None:
            return None
        filled = columns.decoded(self._unscaled(found), valid, known)
        return self._in_words(self._with_indicators(filled, observed))

    def _fit_scaled(self, X: Array, observed: Array, rng: np.random.Generator) -> Array | None:
        """Fit to scaled rows; the filled rows, or None if there was nothing to fill or some rows have no entry."""
        xp, n = array_namespace(X), X.shape[0]
        some = np.flatnonzero(to_numpy(xp.any(observed, axis=1)))
        if some.size < n:
            X, observed = take_rows(X, some), take_rows(observed, some)
        if some.size < 2:
            raise ValueError(f"KernelImputer needs at least 2 rows with a known entry; got {some.size}.")
        self.start_scale_ = median_distance(X, observed)
        other = ENERGY if self.method_ == CONDITIONAL else CONDITIONAL
        for name in (*STORED[other], *(() if self.sample_posterior else DRAWS)):
            if hasattr(self, name):
                delattr(self, name)
        rows = (self._fit_conditional if self.method_ == CONDITIONAL else self._fit_energy)(X, observed, rng)
        return rows if some.size == n and not bool(xp.all(observed)) else None

    def _fit_conditional(self, X: Array, observed: Array, rng: np.random.Generator) -> Array:
        """Store conditional means; the filled rows, or draws of them if wanted."""
        order = _own_order(X, observed, self._indicators())
        rows, known = in_double(take_rows(X, order)), take_rows(observed, order)
        fit = fit_conditional(rows, known, self.start_scale_, rng=rng, indicators=self._indicators())
        low, high = fit.bounds(rows, known, self.lower_, self.upper_)
        self.lower_ = low if self.min_value is None else self.lower_
        self.upper_ = high if self.max_value is None else self.upper_
        xp, stored = array_namespace(X), lambda values: in_precision(values, X.dtype)
        self.points_ = xp.where(known, take_rows(X, order), self._box(rows).clip(stored(fit.model.points)))
        self.trend_mean_, self.trend_covariance_ = stored(fit.model.trend.mean), stored(fit.model.trend.covariance)
        self.relevance_ = None if fit.model.relevance is None else stored(fit.model.relevance)
        self.mixture_ = fit.model.weights
        self.n_iter_ = 1 if bool(xp.all(observed)) else 2
        filled = self._fit_draws(fit, rows, known, rng) if self.sample_posterior else self.points_
        return take_rows(filled, np.argsort(order))

    def _fit_draws(self, fit: ConditionalFit, rows: Array, known: Array, rng: np.random.Generator) -> Array:
        """Store how far draws spread, and a seed; the training rows with missing entries drawn."""
        self.temperature_ = fit.spread(rows, known) ** 2
        self.draw_seed_ = int(rng.integers(2**32))
        xp = array_namespace(rows)
        rows = xp.where(known, rows, xp.zeros_like(rows))
        return self._conditional_draws(rows, known, 1, own=np.arange(rows.shape[0]))[0, :, :]

    def _fit_energy(self, X: Array, observed: Array, rng: np.random.Generator) -> Array:
        """Store a subspace with its noise; the filled rows."""
        start = neighbor_start(X, observed, self.start_scale_)
        self.kernel_ = self._resolved_kernel(start, self.start_scale_)
        fit, box = self._subspace_fit(start, observed, rng), self._box(start)
        found = fit_incomplete(fit, observed, start, box=box, tol=self.tol, max_iter=self.max_iter, rng=rng)
        principal = found.model.principal
        self.subspace_, self.explained_variance_ = principal.subspace, principal.variances
        self.noise_variance_, self.n_components_ = float(found.model.noise), len(principal.subspace)
        self.n_iter_, self.objective_path_ = 1 + found.n_rounds, np.array(found.path)
        if not found.converged:
            warn_user(
                f"KernelImputer stopped after {found.n_rounds} rounds of filling and fitting, before its tolerance. "
                "Raise max_iter, or tol.",
                ConvergenceWarning,
            )
        return found.rows

    def _fill(self, X: Array, observed: Array) -> Array:
        """Incomplete rows of valid columns, filled."""
        return self._columns().decoded(self._filled_codes(X, observed), X, observed)

    def _filled_codes(self, X: Array, observed: Array) -> Array:
        """Coded rows without missing entries, in which indicators of missing categories are between 0 and 1."""
        coded, known, scaled = self._scaled_codes(X, observed)
        if self.method_ == CONDITIONAL:
            found = in_precision(self._conditional().fill(in_double(scaled), known), scaled.dtype)
        else:
            energy = noisy_energy(self.subspace_, self.explained_variance_, self.noise_variance_)
            points, box = self.subspace_.frame.points, self._box(scaled)
            found = fill_near(energy, scaled, known, points, self.start_scale_, box=box).points
        return array_namespace(X).where(known, coded, self._unscaled(found))

    def _scaled_codes(self, X: Array, observed: Array) -> tuple[Array, Array, Array]:
        """Coded rows, which of their columns are known, and the same scaled, with numbers where entries are missing."""
        xp, (coded, known) = array_namespace(X), self._columns().coded(X, observed)
        return coded, known, self._scaling().apply(xp.where(known, coded, xp.zeros_like(coded)))

    def _drawn_once(self, X: Array, observed: Array) -> Array:
        return self._drawn(X, observed, 1)[0, :, :]

    def _drawn(self, X: Array, observed: Array, n_draws: int) -> Array:
        """Draws of rows with valid columns, shape (n_draws, q, number of valid columns)."""
        xp, columns = array_namespace(X), self._columns()
        open_rows = np.flatnonzero(~to_numpy(xp.all(observed, axis=1)))
        if not open_rows.size:
            return xp.stack([X] * n_draws)
        some, known = take_rows(X, open_rows), take_rows(observed, open_rows)
        _, coded_known, scaled = self._scaled_codes(some, known)
        drawn = self._conditional_draws(scaled, coded_known, n_draws)
        decoded = (columns.decoded(self._unscaled(drawn[number, :, :]), some, known) for number in range(n_draws))
        return xp.stack([with_rows(X, open_rows, each) for each in decoded])

    def _conditional_draws(self, X: Array, observed: Array, n_draws: int, own: np.ndarray | None = None) -> Array:
        # Numbers of their own for blocks of rows, because a pass over chunks draws once for each.
        seed = [self.draw_seed_, zlib.crc32(np.ascontiguousarray(to_numpy(X)).tobytes())]
        spread, rng = float(np.sqrt(self.temperature_)), np.random.default_rng(seed)
        found = self._conditional().draw(in_double(X), observed, spread, n_draws=n_draws, rng=rng, own=own)
        return array_namespace(X).where(observed, X, self._box(X).clip(in_precision(found, X.dtype)))

    def _conditional(self) -> ConditionalMeans:
        trend = Trend(in_double(self.trend_mean_), in_double(self.trend_covariance_))
        relevance = None if self.relevance_ is None else in_double(self.relevance_)
        return ConditionalMeans(in_double(self.points_), trend, to_numpy(self.mixture_), relevance, self._indicators())

    def _checked_in_memory(self, X: Rows, method: str) -> tuple[Array, Array]:
        """Validated rows of valid columns, and which of their entries are known."""
        if is_lazy(X):
            raise TypeError(f"{type(self).__name__}.{method} takes rows in memory; pass parts of them.")
        columns = self._columns()
        rows = check_incomplete(self, columns.in_numbers(X), reset=False, like=self.center_)
        return columns.valid(rows), columns.valid(known_entries(rows, self.missing_values))

    def _columns(self) -> Columns:
        mask = None if self.is_categorical_ is None else to_numpy(self.is_categorical_)
        names, categories = getattr(self, "feature_names_in_", None), getattr(self, "categories_", [])
        valid = to_numpy(self.valid_features_)
        return Columns(type(self).__name__, self.missing_values, mask, categories, valid, names)

    def _indicators(self) -> Indicators:
        return self._columns().indicators(self.center_, self.scale_)

    def _in_words(self, filled: Array, columns: Columns | None = None) -> Any:
        """A result with categories as they were given."""
        if self.is_categorical_ is None:
            return filled
        return (columns or self._columns()).in_words(filled, self.keep_empty_features)

    def _with_indicators(self, filled: Array, observed: Array) -> Array:
        """Filled valid columns, with zeros for empty ones if they are kept, and indicators of missing entries."""
        xp = array_namespace(filled)
        filled = self._columns().with_empty(filled) if self.keep_empty_features else filled
        if not self.add_indicator:
            return filled
        numbers = from_numpy(to_numpy(self.indicator_features_), filled, dtype=xp.int64)
        return xp.concat([filled, xp.astype(~xp.take(observed, numbers, axis=1), filled.dtype)], axis=1)

    def _scaling(self) -> ColumnScale:
        return ColumnScale(self.center_, self.scale_)

    def _box(self, like: Array) -> Box:
        """Bounds on scaled rows."""
        scaled = lambda bound: self._scaling().apply(to_device_of(bound, self.center_))
        lower, upper = scaled(self.lower_), scaled(self.upper_)
        if self.method_ == CONDITIONAL:
            return Box(lower, upper)
        return Box.of_inputs(lower, upper, self.kernel_, like)

    def _unscaled(self, Z: Array) -> Array:
        """Rows in the units of the inputs, within the bounds: scaled ones keep them up to rounding only."""
        return Box(to_device_of(self.lower_, Z), to_device_of(self.upper_, Z)).clip(self._scaling().undo(Z))

    def _store_scale(self, X: Array, observed: Array) -> None:
        xp = array_namespace(X)
        columns = self._columns()
        groups = columns.indicators().groups if columns.codes else None
        scaling = ColumnScale.of(X, observed, None if is_auto(self.scale) else bool(self.scale), groups)
        # Histograms and counts stay what they are, from zero on.
        if self.method_ == ENERGY and named_kernel(self).lowest_input is not None:
            scaling = replace(scaling, center=xp.zeros_like(scaling.center))
        self.center_, self.scale_ = scaling.center, scaling.scale
        known = lambda other: xp.where(observed, X, xp.full_like(X, other))
        bounds = xp.min(known(np.inf), axis=0), xp.max(known(-np.inf), axis=0)
        given = zip((self.min_value, self.max_value), bounds, strict=True)
        found = [bound if value is None else self._valid_bound(value, X, bound) for value, bound in given]
        if bool(xp.any(found[0] > found[1])):
            raise ValueError("KernelImputer needs min_value ≤ max_value in every column.")
        self.lower_, self.upper_ = (to_numpy(bound) for bound in found)

    def _valid_bound(self, value: Any, X: Array, found: Array) -> Array:
        """Given bounds of columns of numbers, and those that were found of indicators."""
        columns, d = self._columns(), self.valid_features_.size
        bound = np.asarray(to_numpy(value) if hasattr(value, "shape") else value, dtype=float)
        if bound.shape not in ((), (1,), (d,)) or np.isnan(bound).any():
            raise ValueError(
                f"min_value and max_value of KernelImputer are a number or an array of {d} numbers, one per column; "
                f"got shape {bound.shape}."
            )
        # Numbers beyond the precision of X are its largest: no bounds at all are infinite.
        most = float(array_namespace(X).finfo(X.dtype).max)
        bound = np.where(np.isfinite(bound), np.clip(bound, -most, most), bound)
        numbers = np.broadcast_to(bound, (d,))[columns.is_valid][columns.numeric]
        return array_namespace(X).concat([from_numpy(numbers, X, dtype=X.dtype), found[numbers.size :]])

    def _training_rows(self, X: Rows, rng: np.random.Generator) -> Array:
        """All rows, or as many as a fit looks at, in memory."""
        n = X.shape[0]
        if n > MOST_ROWS:
            X = take_rows(X, np.sort(rng.choice(n, MOST_ROWS, replace=False)))
        if not is_lazy(X):
            return X
        rows = in_memory(X)
        return check_incomplete(self, np.asarray(rows) if isinstance(rows, np.memmap) else rows, reset=False)

    def _subspace_fit(self, Z: Array, observed: Array, rng: np.random.Generator) -> SubspaceFit:
        n, landmarks = Z.shape[0], self.landmarks
        if is_auto(landmarks):
            is_complete = bool(array_namespace(observed).all(observed))
            uses_all = n <= (MOST_EXACT_ROWS if is_complete else MOST_INCOMPLETE_ROWS)
            uses_all = uses_all or not self.kernel_.is_positive_semidefinite
            landmarks = None if uses_all else min(MOST_LANDMARKS, n // 2)
        noise = None if isinstance(self.noise, str) else float(self.noise)
        return SubspaceFit(
            self.kernel_,
            Wanted.of(self.n_components),
            noise,
            None if landmarks is None else as_selector(landmarks),
            EigenOptions(max_bytes=memory_budget(self.max_memory, Z)),
            int(rng.integers(2**32)),
        )

    def _resolved_kernel(self, Z: Array, median: float) -> Kernel:
        kernel = named_kernel(self)
        if self.gamma is None and isinstance(self.kernel, str) and type(kernel) is Gaussian:
            return Gaussian(GAMMA_TIMES_MEDIAN / median)
        return kernel.resolve(Z)

    def _chosen_method(self) -> str:
        if self.method != "auto":
            return self.method
        # Values of other types than the default, such as arrays and kernels, are not compared.
        given = ((getattr(self, name), value) for name, value in OF_ENERGY.items())
        return CONDITIONAL if all(type(own) is type(value) and own == value for own, value in given) else ENERGY

    def _check_settings(self) -> None:
        check_parameters(self)
        if is_precomputed(self.kernel):
            raise UnsupportedKernelError(
                "A precomputed kernel has no inputs whose entries could be filled. Give KernelImputer the kernel "
                "itself and the inputs."
            )
        kernel = named_kernel(self)
        kernel.require_gradient("KernelImputer")
        refuse_relevance(self, kernel, LEARNED_ALREADY)
        if isinstance(self.missing_values, str):
            raise ValueError(f"KernelImputer fills numbers; missing_values={self.missing_values!r} is text.")
        if self.sample_posterior and self._chosen_method() == ENERGY:
            raise ValueError(
                "KernelImputer with sample_posterior=True draws around conditional means, which have no n_components, "
                "kernel, gamma, noise and landmarks. Leave these and method='energy' out."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_nan(self.missing_values)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return with_array_tag(tags)


def _own_order(X: Array, observed: Array, indicators: Indicators) -> np.ndarray:
    """An order of the rows that is the same however they are given: what is hidden follows from it.

    Categories are in the order of their frequencies, whatever they are called; those of the same one, in theirs.
    """
    values = np.where(to_numpy(observed), to_numpy(X), np.inf)
    if indicators.sizes:
        first = [part.start for part in indicators.parts]
        places = np.column_stack([part.start + values[:, part].argmax(axis=1) for part in indicators.parts])
        common = np.where(np.isinf(values[:, first]), 2.0, to_numpy(indicators.center)[places])
        values = np.hstack([places, values[:, : indicators.n_numbers], common])
    columns = np.unique(np.linspace(0, values.shape[1] - 1, ORDER_COLUMNS).astype(int))
    return np.lexsort(values[:, columns].T)
