"""Missing entries of tables and images, by conditional means and by kernel PCA."""

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
    in_memory,
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
    IncompleteFit,
    NoisySubspace,
    SubspaceEnergy,
    SubspaceFit,
    fill_near,
    fit_incomplete,
    median_distance,
    neighbor_start,
    noisy_energy,
)
from preimage._models.components import Wanted
from preimage.descent import Box
from preimage.eigensolvers._names import EigenOptions
from preimage.estimators._categorical_columns import CategoricalColumns
from preimage.estimators._conditional_imputation import CONDITIONAL, ENERGY, ConditionalImputation
from preimage.estimators._estimator import Estimator
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    as_selector,
    is_auto,
    is_precomputed,
    named_kernel,
    with_array_tag,
)
from preimage.estimators._missing_entries import ImputedColumns, check_incomplete, is_nan, known_entries, map_incomplete
from preimage.estimators._posterior_draws import PosteriorDraws
from preimage.exceptions import ConvergenceWarning, UnsupportedKernelError
from preimage.kernels import Gaussian, Kernel
from preimage.landmarks import LandmarkSelector

# Rows that a model is fitted to; of more, so many are drawn. Each round fills all of them: this many take a minute, and
# the model has at most 1,000 landmarks in any case.
MOST_ROWS = 10_000
# Rows up to which landmarks="auto" uses all of them, if they are complete and if they are not: every step of every
# filled row computes kernel values with all points of the model, and rows with missing entries are filled many times.
# Beyond, half of the rows, at most so many, are landmarks: on digits errors are larger by a fiftieth.
MOST_EXACT_ROWS, MOST_INCOMPLETE_ROWS, MOST_LANDMARKS = 2000, 700, 1000
# γ of the Gaussian kernel times the median of squared distances. Of eight data sets images of few pixels have the
# smallest errors at 0.5, larger ones and tables at 0.1, where those images have errors larger by a tenth.
GAMMA_TIMES_MEDIAN = 0.35


class KernelImputer(
    ConditionalImputation,
    PosteriorDraws,
    CategoricalColumns,
    ImputedColumns,
    ReportsProgress,
    TransformerMixin,
    Estimator,
):
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
        objects, text; at most 255 per column. "from_dtype" is the columns of a data frame with pandas' type "category".
        Filled entries are categories of the training rows, and results have text where X has it. Other categories in
        rows with missing entries are an error.
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

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither"), None],
        **KERNEL_CONSTRAINTS,
        "method": [StrOptions({"auto", "conditional", "energy"})],
        "noise": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
        "scale": [StrOptions({"auto"}), "boolean"],
        "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, None],
        "min_value": [Real, "array-like", None],
        "max_value": [Real, "array-like", None],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
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

    #: Bounds may be infinite.
    _unbounded_attributes = ("lower_", "upper_")

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
        like = self.center_
        rows = check_incomplete(self, self._in_numbers(X), reset=False, like=like)
        with limited_memory(self.max_memory, like):
            return self._in_words(map_incomplete(self, self._answer, rows, like, self.missing_values), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that come back; indicators are called ``missingindicator_`` and the name."""
        check_is_fitted(self)
        return self._names_out(feature_names_in(self, input_features))

    def _fit(self, X: Rows) -> Array | None:
        """Fit; the filled rows where all of X were filled in the fit."""
        check_parameters(self)
        self._check_kernel()
        self.method_ = self._chosen_method()
        if self.sample_posterior and self.method_ == ENERGY:
            raise ValueError(
                "KernelImputer with sample_posterior=True draws around conditional means, which have no n_components, "
                "kernel, gamma, noise and landmarks. Leave these and method='energy' out."
            )
        given = check_incomplete(self, self._in_numbers(X, reset=True), reset=True, min_samples=2)
        self._store_categories(given)
        rng = generator(self.random_state)
        rows = self._training_rows(given, rng)
        observed = known_entries(rows, self.missing_values)
        self._store_columns(observed)
        if not self._is_valid.any():
            raise ValueError("KernelImputer needs a column with known entries; all entries of X are missing.")
        valid, known = self._coded(self._valid(rows), self._valid(observed))
        self._store_scale(valid, known)
        with limited_memory(self.max_memory, valid):
            found = self._fit_scaled(self._scaling().apply(valid), known, rng)
        if rows is not given or found is None:
            return None
        filled = self._decoded(self._unscaled(found), self._valid(rows), self._valid(observed))
        return self._in_words(self._with_columns(filled, observed), X)

    def _fit_scaled(self, X: Array, observed: Array, rng: np.random.Generator) -> Array | None:
        """Fit to scaled rows; the filled rows, or None if there was nothing to fill or some rows have no entry."""
        xp = array_namespace(X)
        some = np.flatnonzero(to_numpy(xp.any(observed, axis=1)))
        if some.size < X.shape[0]:
            X, observed, is_whole = take_rows(X, some), take_rows(observed, some), False
        else:
            is_whole = True
        if some.size < 2:
            raise ValueError(f"KernelImputer needs at least 2 rows with a known entry; got {some.size}.")
        median = median_distance(X, observed)
        self.start_scale_ = median
        self._forget_other_method()
        if self.method_ == CONDITIONAL:
            rows = self._fit_conditional(X, observed, rng)
            return rows if is_whole and not bool(xp.all(observed)) else None
        start = neighbor_start(X, observed, median)
        self.kernel_ = self._resolved_kernel(start, median)
        fit = self._subspace_fit(start, observed, rng)
        found = fit_incomplete(
            fit,
            observed,
            start,
            box=self._box(start),
            tol=self.tol,
            max_iter=self.max_iter,
            rng=rng,
        )
        self._store(found)
        return found.rows if is_whole and found.n_rounds else None

    def _store(self, found: IncompleteFit) -> None:
        model: NoisySubspace = found.model
        self.subspace_ = model.principal.subspace
        self.explained_variance_ = model.principal.variances
        self.noise_variance_ = float(model.noise)
        self.n_components_ = len(self.subspace_)
        self.n_iter_ = 1 + found.n_rounds
        self.objective_path_ = np.array(found.path)
        if not found.converged:
            warn_user(
                f"KernelImputer stopped after {found.n_rounds} rounds of filling and fitting, before its tolerance. "
                "Raise max_iter, or tol.",
                ConvergenceWarning,
            )

    def _answer(self, X: Array, observed: Array) -> Array:
        """Rows with all valid columns known, and what else belongs to a result."""
        return self._with_columns(self._completed(self._valid(X), self._valid(observed)), observed)

    def _completed(self, X: Array, observed: Array) -> Array:
        """Rows of valid columns with missing entries filled."""
        open_rows = np.flatnonzero(~to_numpy(array_namespace(X).all(observed, axis=1)))
        if not open_rows.size:
            return X
        X_open, known = take_rows(X, open_rows), take_rows(observed, open_rows)
        # Imputers by energy that earlier versions fitted with `sample_posterior` fill in the most likely entries.
        is_drawn = self.sample_posterior and self.method_ == CONDITIONAL
        filled = self._drawn(X_open, known, 1)[0, :, :] if is_drawn else self._filled(X_open, known)
        return with_rows(X, open_rows, filled)

    def _filled(self, X: Array, observed: Array) -> Array:
        return self._decoded(self._filled_codes(X, observed), X, observed)

    def _filled_codes(self, X: Array, observed: Array) -> Array:
        """Coded rows without missing entries, in which indicators of missing categories are between 0 and 1."""
        xp = array_namespace(X)
        coded, known = self._coded(X, observed)
        scaled = self._scaling().apply(xp.where(known, coded, xp.zeros_like(coded)))
        if self.method_ == CONDITIONAL:
            found = self._conditional_filled(scaled, known)
        else:
            points, box = self.subspace_.frame.points, self._box(scaled)
            found = fill_near(self._energy(), scaled, known, points, self.start_scale_, box=box).points
        return xp.where(known, coded, self._unscaled(found))

    def _energy(self) -> SubspaceEnergy:
        return noisy_energy(self.subspace_, self.explained_variance_, self.noise_variance_)

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
        scaling = ColumnScale.of(X, observed, None if is_auto(self.scale) else bool(self.scale), self._groups)
        # Histograms and counts stay what they are, from zero on.
        if self.method_ == ENERGY and named_kernel(self).lowest_input is not None:
            scaling = replace(scaling, center=xp.zeros_like(scaling.center))
        self.center_, self.scale_ = scaling.center, scaling.scale
        known = lambda other: xp.where(observed, X, xp.full_like(X, other))
        bounds = xp.min(known(np.inf), axis=0), xp.max(known(-np.inf), axis=0)
        given = (self.min_value, self.max_value)
        found = [
            bound if value is None else self._valid_bound(value, X, bound)
            for value, bound in zip(given, bounds, strict=True)
        ]
        if bool(xp.any(found[0] > found[1])):
            raise ValueError("KernelImputer needs min_value ≤ max_value in every column.")
        self.lower_, self.upper_ = (to_numpy(bound) for bound in found)

    def _valid_bound(self, value: Any, X: Array, found: Array) -> Array:
        """Given bounds of columns of numbers, and those that were found of indicators."""
        d = self._is_valid.size
        bound = np.asarray(to_numpy(value) if hasattr(value, "shape") else value, dtype=float)
        if bound.shape not in ((), (1,), (d,)) or np.isnan(bound).any():
            raise ValueError(
                f"min_value and max_value of KernelImputer are a number or an array of {d} numbers, one per column; "
                f"got shape {bound.shape}."
            )
        # Numbers beyond the precision of X are its largest: no bounds at all are infinite.
        most = float(array_namespace(X).finfo(X.dtype).max)
        bound = np.where(np.isfinite(bound), np.clip(bound, -most, most), bound)
        numbers = np.broadcast_to(bound, (d,))[self._is_valid][self._numeric]
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

    def _check_kernel(self) -> None:
        if is_precomputed(self.kernel):
            raise UnsupportedKernelError(
                "A precomputed kernel has no inputs whose entries could be filled. Give KernelImputer the kernel "
                "itself and the inputs."
            )
        named_kernel(self).require_gradient("KernelImputer")
        if isinstance(self.missing_values, str):
            raise ValueError(f"KernelImputer fills numbers; missing_values={self.missing_values!r} is text.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_nan(self.missing_values)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return with_array_tag(tags)
