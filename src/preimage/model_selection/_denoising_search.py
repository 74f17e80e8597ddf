"""The width, number of components and penalty with which kernel PCA denoises best."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import take_rows
from preimage._random import generator
from preimage._rows import for_blocks
from preimage._validation import Interval, StrOptions, check_parameters, check_points
from preimage.estimators import KernelPCA
from preimage.exceptions import RankWarning
from preimage.kernels import squared_distance_percentile
from preimage.model_selection._denoising_criteria import AddedNoise, MaskedColumns, SteinEstimate
from preimage.model_selection._noise import add_noise, estimate_noise
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


class DenoisingSearch(BaseEstimator):
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
        Share of the rows that judge.
    max_queries : int, default=300
        Most rows that judge.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the split, of added noise and of probes.

    Attributes
    ----------
    best_estimator_ : KernelPCA
        Fitted on all rows.
    best_params_ : dict
        "gamma", "n_components" and "penalty".
    best_score_ : float
        Estimated mean squared error a column ("masked": plus the variance of the noise).
    cv_results_ : dict of arrays
        "gamma", "n_components", "penalty" and "error" of every candidate.
    criterion_ : str
    noise_ : float or None
        Deviation of the noise that "sure" worked with.

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
        self.random_state = random_state

    def fit(self, X, y=None):
        """Choose parameters on X, clean or noisy as `noise` says, and fit the best model on all of it."""
        check_parameters(self)
        X = check_points(self, X, reset=True, min_samples=8, accept_sparse=False)
        self._check_candidates()
        rng = generator(self.random_state)
        rest, judge = self._split(X, rng)
        error = self._criterion(X, judge, rest, rng)
        # Widths in parallel, each on one core: better than threads inside many small problems.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)  # more components than there are make no candidate
            rows = for_blocks(lambda gamma: self._errors(rest, gamma, error), self._gammas(rest), X)
        self._keep_best(X, [row for part in rows for row in part])
        return self

    def denoise(self, X):
        """Denoise X with the best model."""
        check_is_fitted(self)
        return self.best_estimator_.denoise(X)

    def _errors(self, rest, gamma, error):
        """(gamma, n_components, penalty, error) of all candidates of one width, from one fit."""
        counts = self._counts(rest)
        model = KernelPCA(counts[-1], gamma=gamma).fit(rest)
        rows = []
        for count in sorted({min(count, model.n_components_) for count in counts}):
            subspace = model.subspace_.leading(count)
            for penalty in gamma * np.asarray(self._penalties(), dtype=float):
                solver = self._solver(float(penalty), tol=SEARCH_TOLERANCE, max_iter=SEARCH_STEPS)
                rows.append((gamma, count, float(penalty), error(subspace, solver)))
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

    def _split(self, X, rng):
        n = X.shape[0]
        order = rng.permutation(n)
        held = min(max(int(self.held_out * n), 1), self.max_queries, n - 4)
        return take_rows(X, np.sort(order[held:])), take_rows(X, np.sort(order[:held]))

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
        gamma, count, penalty, error = (np.array(column) for column in zip(*rows, strict=True))
        if not np.isfinite(error).any():
            raise ValueError("No candidate has a finite error; does the noise function return finite values?")
        best = int(np.nanargmin(error))
        self.cv_results_ = {"gamma": gamma, "n_components": count, "penalty": penalty, "error": error}
        self.best_score_ = float(error[best])
        self.best_params_ = {
            "gamma": float(gamma[best]),
            "n_components": int(count[best]),
            "penalty": float(penalty[best]),
        }
        solver = self._solver(self.best_params_["penalty"])
        self.best_estimator_ = KernelPCA(int(count[best]), gamma=float(gamma[best]), preimage=solver).fit(X)
