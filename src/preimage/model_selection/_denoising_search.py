"""The width, number of components and penalty with which kernel PCA denoises best."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import is_lazy, take_rows, to_numpy
from preimage._rows import for_blocks
from preimage._validation import Interval, StrOptions, check_parameters, check_points, generator
from preimage.estimators import KernelPCA
from preimage.estimators._cross_fit import FOLDS, needs_folds, with_own_model
from preimage.estimators._preimages import points_of
from preimage.estimators._queries import check_queries
from preimage.estimators._training_rows import TrainingRows
from preimage.exceptions import RankWarning
from preimage.kernels import squared_distance_percentile
from preimage.model_selection._denoising_criteria import AddedNoise, JointStein, MaskedColumns, SteinEstimate
from preimage.model_selection._noise import add_noise, estimate_noise
from preimage.persistence import Saved
from preimage.solvers import FixedPoint, Gradient

# Widths are multiples of the median squared distance, penalties multiples of γ: both are then free of the data's scale.
WIDTHS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
PENALTIES = (0.0, 0.03, 0.1, 0.3)
MOST_COMPONENTS = 512
# With fewer columns every direction may carry signal, and there is no floor to read the noise off.
FEWEST_COLUMNS = 16
# Pre-images need not be better than the differences between candidates.
SEARCH_TOLERANCE = 1e-4
SEARCH_STEPS = 100


class DenoisingSearch(OneToOneFeatureMixin, TransformerMixin, Saved, BaseEstimator):
    r"""Choose kernel PCA for denoising, with or without clean data.

    A part of the rows is held out; models of every width are fitted on the rest and denoise the held-out rows with
    every number of components and every penalty. The smallest estimated error wins, and a model with these parameters
    is fitted on all rows. Where the error comes from:

    - Clean data and known noise (`noise` given): noise is added to held-out rows and the error measured.
    - Noisy data, "sure": Stein's unbiased estimate for Gaussian noise of deviation σ, :math:`\frac1d \|f(x) - x\|^2 -
      \sigma^2 + \frac{2\sigma^2}{d} \operatorname{div} f(x)`, with the divergence by a random probe and σ from the
      floor of the PCA spectrum.
    - Noisy data, "masked": some columns of a held-out row are replaced by their means, and the denoised row
      must predict their noisy values. Right for any noise that is independent between columns; blind to penalties,
      which stay zero.

    Noisy rows of the training set have their own noise in the model, so what is best for new rows is not best for them:
    they need fewer components, or models that have not seen them. With "sure" the error on rows of the training set is
    estimated too: Stein's formula with the change of the model in the divergence. `denoise` recognises these rows and
    uses what has the smaller estimate: a model of all rows with parameters of their own, or cross-fitting, in which
    models with the best parameters for new rows are fitted to the other folds.

    Parameters
    ----------
    noise : float, callable or None, default=None
        None: the data are noisy. A number or a function ``noise(X, rng)``: the data are clean, and the noise to expect
        is Gaussian of this deviation, or what the function returns.
    criterion : {"auto", "sure", "masked"}, default="auto"
        For noisy data. "auto" is "sure" when σ is given or can be seen: with at least 16 columns, and more than twice
        as many rows as columns; else "masked".
    deviation : float or None, default=None
        σ of the noise in noisy data, where it is known ("sure"); None estimates it.
    widths : sequence of float, default=(1/16, ..., 4)
        Candidates for c in exp(−‖x − y‖²/c), as multiples of the median squared distance.
    n_components : sequence of int or None, default=None
        Candidates; None is powers of two up to 512 or to the rows that models are fitted on.
    penalties : sequence of float, default=(0, 0.03, 0.1, 0.3)
        Candidates for the pull towards the noisy input, as multiples of γ = 1/c.
    bounds : (float, float) or None, default=None
        Range of clean values, such as (0, 1) for pixels; pre-images then stay within it (`Gradient` instead of
        `FixedPoint`), which helps most when the training data are noisy.
    held_out : float, default=0.2
        Fraction of the rows that judge.
    max_queries : int, default=300
        Most rows that judge.
    cross_fit : "auto", int or None, default="auto"
        Folds in which noisy rows of the training set are denoised. "auto" with "sure" is what has the smaller estimated
        error: five folds, for which the parameters were chosen, or none and `training_params_`. "auto" with "masked",
        which has no such estimate, or with groups is five folds when there are more components than a twelfth of the
        rows, and none otherwise. None uses the best model for all rows. With clean data (`noise`) there are no folds:
        the model has no noise in it.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the split, of added noise, of probes and of folds.

    Attributes
    ----------
    best_estimator_ : KernelPCA
        Fitted on all rows.
    best_params_ : dict
        "gamma", "n_components" and "penalty".
    best_error_ : float
        Estimated mean squared error per column ("masked": plus the variance of the noise).
    best_score_ : float
        Minus `best_error_`: higher is better, as in scikit-learn's searches.
    best_index_ : int
        Of the best candidate in `cv_results_`.
    cv_results_ : dict of arrays
        "gamma", "n_components", "penalty", "error" and "mean_test_score", minus the error, of every candidate; and
        "training_error", the estimated error on rows of the training set in a model of all rows, where it was
        estimated: for components up to a twelfth of the rows. NaN elsewhere.
    training_params_ : dict
        Parameters of the models that denoise rows of the training set; often those of `best_params_`.
    training_estimator_ : KernelPCA
        Fitted on all rows with these parameters.
    cross_fit_ : int, array of shape (n,) or None
        Folds in which rows of the training set are denoised, or the group of each.
    criterion_ : str
    noise_ : float or None
        Deviation of the noise that "sure" worked with.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.model_selection import DenoisingSearch
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, np.pi, size=300)
    >>> curve = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> noisy = curve + 0.1 * rng.normal(size=curve.shape)
    >>> search = DenoisingSearch(noise=0.1).fit(curve)
    >>> bool(np.mean((search.denoise(noisy) - curve) ** 2) < 0.6 * np.mean((noisy - curve) ** 2))
    True

    It is a transformer too: ``DenoisingSearch().set_output(transform="pandas").fit_transform(frame)`` is a data frame.
    """

    _parameter_constraints = {
        "noise": [Interval(Real, 0, None, closed="neither"), callable, None],
        "criterion": [StrOptions({"auto", "sure", "masked"})],
        "deviation": [Interval(Real, 0, None, closed="neither"), None],
        "widths": ["array-like"],
        "n_components": ["array-like", None],
        "penalties": ["array-like"],
        "bounds": [tuple, list, None],
        "held_out": [Interval(Real, 0, 1, closed="neither")],
        "max_queries": [Interval(Integral, 1, None, closed="left")],
        "cross_fit": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left"), None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        noise=None,
        *,
        criterion="auto",
        deviation=None,
        widths=WIDTHS,
        n_components=None,
        penalties=PENALTIES,
        bounds=None,
        held_out=0.2,
        max_queries=300,
        cross_fit="auto",
        random_state=0,
    ):
        self.noise = noise
        self.criterion = criterion
        self.deviation = deviation
        self.widths = widths
        self.n_components = n_components
        self.penalties = penalties
        self.bounds = bounds
        self.held_out = held_out
        self.max_queries = max_queries
        self.cross_fit = cross_fit
        self.random_state = random_state

    def fit(self, X, y=None, *, groups=None):
        """Choose parameters on X, clean or noisy as `noise` says, and fit the best model on all of it.

        Parameters
        ----------
        X : array of shape (n, d)
        y : ignored
        groups : array of shape (n,), optional
            Groups of rows whose noise may be alike, such as the runs of scans. Whole groups judge, and are the folds of
            `cross_fit`.
        """
        check_parameters(self)
        X = check_points(self, X, reset=True, min_samples=8, accept_sparse=False)
        self._check_candidates()
        groups = None if groups is None else _group_codes(groups, X.shape[0])
        rng = generator(self.random_state)
        rest, judge = self._split(X.shape[0], groups, rng)
        rest, judging = take_rows(X, rest), take_rows(X, judge)
        error = self._criterion(X, judging, rest, rng)
        joint = JointStein(X, judge, error) if self._judges_training_rows(groups) else None
        # Widths in parallel, each on one core: better than threads inside many small problems.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)  # more components than there are make no candidate
            rows = for_blocks(lambda gamma: self._errors(X, rest, gamma, error, joint), self._gammas(rest), X)
        self._keep_best(X, [row for part in rows for row in part])
        self._keep_for_training_rows(X, groups)
        return self

    def denoise(self, X):
        """Denoise X with the best model; noisy rows of the training set with what is better for them.

        Parameters
        ----------
        X : array of shape (q, d)

        Returns
        -------
        array of shape (q, d)
            Lazy for a Dask array.
        """
        check_is_fitted(self)
        model = self.best_estimator_
        X = check_queries(self, X, model.subspace_.frame.coefficients)
        if not is_lazy(X) and not self._training_rows.contain(to_numpy(X)).any():  # no folds to draw, nothing to fit
            return model.denoise(X)
        if self.training_params_ == self.best_params_:
            return model.denoise(X, cross_fit=self.cross_fit_)
        models = with_own_model(model, self.training_estimator_)
        return model._map(lambda rows: models.solve(rows).points, X) if is_lazy(X) else points_of(models.solve(X))

    def transform(self, X):
        """The same as `denoise`: for pipelines, and for data frames with ``set_output(transform="pandas")``."""
        return self.denoise(X)

    def _errors(self, X, rest, gamma, error, joint):
        """(gamma, n_components, penalty, error, training_error) of all candidates of one width, from three fits."""
        counts = self._counts(rest)
        model = KernelPCA(counts[-1], gamma=gamma).fit(rest)
        few = [count for count in counts if joint is not None and not needs_folds(count, X.shape[0])]
        pair = [KernelPCA(few[-1], gamma=gamma).fit(rows) for rows in (X, joint.moved_training_set)] if few else []
        rows = []
        for count in sorted({min(count, model.n_components_) for count in counts}):
            subspace = model.subspace_.leading(count)
            has_pair = count in few and all(count <= both.n_components_ for both in pair)
            for penalty in gamma * np.asarray(self._penalties(), dtype=float):
                solver = self._solver(float(penalty), tol=SEARCH_TOLERANCE, max_iter=SEARCH_STEPS)
                inside = joint(*(both.subspace_.leading(count) for both in pair), solver) if has_pair else np.nan
                rows.append((gamma, count, float(penalty), error(subspace, solver), inside))
        return rows

    def _solver(self, penalty, **options):
        if self.bounds is None:
            return FixedPoint(penalty, **options)
        lower, upper = self.bounds
        return Gradient(penalty, lower=lower, upper=upper, **options)

    def _check_candidates(self):
        for name, least in (("widths", 0), ("n_components", 0), ("penalties", -np.finfo(float).tiny)):
            values = getattr(self, name)
            if values is not None and not all(value > least for value in values):
                bound = "not be negative" if name == "penalties" else "be positive"
                raise ValueError(f"DenoisingSearch: every candidate in {name} must {bound}; got {tuple(values)!r}.")

    def _split(self, n, groups, rng):
        """Numbers of the rows to fit to, and of those that judge."""
        order = rng.permutation(n)
        held = min(max(int(self.held_out * n), 1), self.max_queries, n - 4)
        if groups is None:
            return np.sort(order[held:]), np.sort(order[:held])
        # Whole groups, as many as it takes and at least one; of them, as many rows as may judge.
        shuffled = rng.permutation(groups.max() + 1)
        sizes = np.cumsum(np.bincount(groups)[shuffled])
        judging = shuffled[: max(1, int(np.searchsorted(sizes, self.held_out * n, side="right")))]
        apart = np.isin(groups, judging)
        return np.flatnonzero(~apart), np.sort(order[apart[order]][: self.max_queries])

    def _judges_training_rows(self, groups):
        """Whether the error on rows of the training set is estimated: not where rows of a group share noise."""
        return self.criterion_ == "sure" and self.cross_fit == "auto" and groups is None

    def _keep_for_training_rows(self, X, groups):
        self.cross_fit_, self._training_rows = None, TrainingRows(to_numpy(X))
        self.training_params_, self.training_estimator_ = self.best_params_, self.best_estimator_
        if self.noise is not None or self.cross_fit is None:
            return
        inside = self.cv_results_["training_error"]
        if np.isfinite(inside).any() and np.nanmin(inside) <= self.best_error_:
            self.training_params_ = self._params(int(np.nanargmin(inside)))
            if self.training_params_ != self.best_params_:
                self.training_estimator_ = self._model(self.training_params_).fit(X)
            return
        count, n = self.best_estimator_.n_components_, X.shape[0]
        if self.cross_fit != "auto" or np.isfinite(inside).any() or needs_folds(count, n):
            number = FOLDS if self.cross_fit == "auto" else int(self.cross_fit)
            self.cross_fit_ = number if groups is None else groups

    def _gammas(self, X):
        median = squared_distance_percentile(X, 50)
        return [1 / (float(width) * median) for width in self.widths]

    def _counts(self, X):
        most = X.shape[0] - 1
        if self.n_components is not None:
            return sorted({min(int(count), most) for count in self.n_components})
        powers = [2**j for j in range(1, 10) if 2**j <= min(most, MOST_COMPONENTS)]
        return powers or [most]

    def _penalties(self):
        return (0.0,) if self.criterion_ == "masked" else self.penalties

    def _criterion(self, X, judge, rest, rng):
        """A function (subspace, solver) → estimated error, and which one it is."""
        self.noise_ = None
        if self.noise is not None:
            self.criterion_ = "added noise"
            return AddedNoise(judge, add_noise(judge, self.noise, rng))
        visible = X.shape[1] >= FEWEST_COLUMNS and X.shape[0] > 2 * X.shape[1]
        known = self.deviation is not None
        self.criterion_ = ("sure" if known or visible else "masked") if self.criterion == "auto" else self.criterion
        if self.criterion_ == "masked":
            return MaskedColumns(judge, rest, rng)
        self.noise_ = float(self.deviation) if known else estimate_noise(X)
        return SteinEstimate(judge, self.noise_, rng)

    def _keep_best(self, X, rows):
        if not rows:
            raise ValueError("DenoisingSearch has no candidates: widths, n_components and penalties must not be empty.")
        gamma, count, penalty, error, training_error = (np.array(column) for column in zip(*rows, strict=True))
        if not np.isfinite(error).any():
            raise ValueError("No candidate has a finite error; does the noise function return finite values?")
        best = int(np.nanargmin(error))
        self.cv_results_ = {
            "gamma": gamma,
            "n_components": count,
            "penalty": penalty,
            "error": error,
            "mean_test_score": -error,
            "training_error": training_error,
        }
        self.best_index_, self.best_error_ = best, float(error[best])
        self.best_score_ = -self.best_error_
        self.best_params_ = self._params(best)
        self.best_estimator_ = self._model(self.best_params_).fit(X)

    def _params(self, index):
        gamma, count, penalty = (self.cv_results_[name][index] for name in ("gamma", "n_components", "penalty"))
        return {"gamma": float(gamma), "n_components": int(count), "penalty": float(penalty)}

    def _model(self, params):
        solver = self._solver(params["penalty"])
        seed = self.random_state if isinstance(self.random_state, Integral) else 0  # folds are the same at each call
        return KernelPCA(params["n_components"], gamma=params["gamma"], preimage=solver, random_state=seed)


def _group_codes(groups, n):
    """Groups as numbers from 0."""
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"There are {n} rows and groups of shape {groups.shape}; each row needs one.")
    codes = np.unique(groups, return_inverse=True)[1]
    if codes.max() == 0:
        raise ValueError("All rows are of one group; some must judge what is learned from others. Leave groups out.")
    return codes
