"""The width, number of components and penalty with which kernel PCA denoises best."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import array_namespace, concat_rows, is_host, is_lazy, itemsize, take_rows, to_numpy
from preimage._engine.finite import finite_result
from preimage._engine.memory import memory_budget
from preimage._engine.progress import ReportsProgress, reports_progress, stage
from preimage._engine.removed import ignores_removed
from preimage._engine.rows import cut, for_blocks
from preimage._engine.threads import at_most, run_several, within_n_jobs
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import Interval, StrOptions, check_parameters, check_points, generator
from preimage._engine.warnings import ignored
from preimage._models.completion import LOSSES
from preimage.estimators import KernelPCA
from preimage.estimators._cross_fit import FOLDS, automatic_folds, needs_folds, with_own_model
from preimage.estimators._estimator import Estimator, check_queries
from preimage.estimators._input_frames import IN_INPUT_SPACE, WRAPPED
from preimage.estimators._robust_denoise import RobustOptions, all_denoised
from preimage.estimators._training_rows import TrainingRows
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import resolve_gamma
from preimage.model_selection._denoising_criteria import (
    AddedNoise,
    Clipping,
    ErrorEstimate,
    JointStein,
    MaskedColumns,
    SteinEstimate,
    add_noise,
    estimate_noise,
)
from preimage.solvers import FixedPoint, Gradient, TargetSolver

# Candidates for the width c = 1/γ as multiples of the median squared distance, which frees them of the data's scale.
# In much narrower kernels every row is far from all others, and much wider ones are nearly linear.
RELATIVE_WIDTHS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
# Candidates for the penalty as multiples of γ, the order of the second derivatives of distances in feature space. Ten
# times the largest would leave rows nearly as they are.
RELATIVE_PENALTIES = (0.0, 0.03, 0.1, 0.3)
# Largest number of components among the candidates: the cost of pre-images and of orthogonalisation grows with it.
MOST_COMPONENTS = 512
# With fewer columns every direction may carry signal, and there is no floor of the spectrum that shows the noise.
FEWEST_COLUMNS = 16
# With so many columns fewer rows show that floor as well, 1.5 per column in place of two: on pictures with 64 to 256
# columns "masked" made up to 1.9 times the error. Tables of 20 columns go both ways.
MANY_COLUMNS = 64
# Tolerance and steps of pre-images in the search: errors are means over a few hundred rows and random by some per cent,
# so pre-images need no more digits than this.
SEARCH_TOLERANCE = 1e-4
SEARCH_STEPS = 100
# Coefficients of the targets whose pre-images are sought together: 32 MiB for each thread. With ten times fewer, steps
# of the search on a few hundred rows are so small that threads wait for the interpreter.
TARGET_ENTRIES = 2**22
# Multiplications of the first step of a solve for each thread that is used. Later steps have a fraction of that, and a
# part of each is the interpreter's, which one thread has at a time: 500 digits have eight threads, 2.4 times as fast as
# one, and four are nearly as fast. With ten times less, sixteen threads would wait for the interpreter.
WORK_PER_THREAD = 10**7
# Models of the widths that are fitted at a time, at least, and entries of a Gram matrix for each more: a step of their
# eigensolvers takes a tenth of a millisecond on 400 rows. Sixteen such fits at a time took longer than eight.
FEWEST_FITS, ENTRIES_PER_FIT = 4, 10**5
# Matrices of the size of the Gram matrix that a fit holds: itself, and temporaries of a dense decomposition.
GRAM_COPIES = 3
# Rows that are always left to fit to, however many judge.
FEWEST_FITTED = 4


class Candidate(NamedTuple):
    """Parameters, and the estimated errors on new rows and on rows of the training set (NaN where not estimated)."""

    gamma: float
    n_components: int
    penalty: float
    error: float
    training_error: float


@dataclass(frozen=True)
class _Denoiser:
    """A fitted subspace, and rows to denoise with the coordinates that they have in it."""

    subspace: Subspace
    queries: Array
    coordinates: Array
    loss: str | None = None
    repaired: dict[int, Array] = field(default_factory=dict)

    @property
    def counts_at_once(self) -> int:
        """Numbers of components whose pre-images are sought together: many make few, large steps."""
        return (
            1
            if self.loss is not None
            else max(1, TARGET_ENTRIES // (self.queries.shape[0] * self.subspace.frame.points.shape[0]))
        )

    def outputs(self, counts: Sequence[int], solver: TargetSolver) -> list[Array]:
        """The rows denoised with each number of components."""
        if self.loss is not None:
            return [self._robust_output(count, solver) for count in counts]
        q, xp = self.queries.shape[0], array_namespace(self.queries)
        targets = [self.subspace.leading(count).embed(self.coordinates[:, :count]) for count in counts]
        together = Expansion(
            targets[0].kernel,
            targets[0].points,
            concat_rows(*[each.coefficients.T for each in targets]).T,
            squared_norms=xp.concat([each.squared_norms() for each in targets]),
        )
        found = solver.solve(together, concat_rows(*[self.queries] * len(counts))).points
        return [found[number * q : (number + 1) * q, :] for number in range(len(counts))]

    def _robust_output(self, count: int, solver: TargetSolver) -> Array:
        """The rows denoised with a loss: their gross errors are the same whatever the penalty, and repaired once."""
        subspace = self.subspace.leading(count)
        if count not in self.repaired:
            repair = RobustOptions(self.loss).repair(self.subspace, count)
            assert repair is not None
            self.repaired[count] = repair(subspace, self.queries).rows
        rows = self.repaired[count]
        return solver.inverse(subspace, subspace.coordinates(rows), rows).points


@dataclass(frozen=True)
class _Width:
    """The models of one width: for new rows, and with the few components that may suit rows of the training set."""

    gamma: float
    model: _Denoiser
    counts: list[int]
    training_models: list[_Denoiser]
    few: list[int]

    @property
    def useful_threads(self) -> int:
        """How many solves at a time leave each other enough of the interpreter."""
        q = self.model.queries.shape[0] * min(len(self.counts), self.model.counts_at_once)
        n, d = self.model.subspace.frame.points.shape
        return max(1, 2 * q * n * d // WORK_PER_THREAD)


class DenoisingSearch(ReportsProgress, OneToOneFeatureMixin, TransformerMixin, Estimator):
    r"""Choose kernel PCA for denoising, with or without clean data.

    A part of the rows is held out; models of every width are fitted on the rest and denoise the held-out rows with
    every number of components and every penalty. The smallest estimated error wins, and a model with these parameters
    is fitted on all rows. Where the error comes from:

    - Clean data and known noise (`added_noise` given): noise is added to held-out rows and the error measured.
    - Noisy data, "sure": Stein's unbiased estimate for Gaussian noise of deviation σ, :math:`\frac1d \|f(x) - x\|^2 -
      \sigma^2 + \frac{2\sigma^2}{d} \operatorname{div} f(x)`, with the divergence by a random probe and σ from the
      floor of the PCA spectrum.
    - Noisy data, "masked": some columns of a held-out row are replaced by their means, and the denoised row
      must predict their noisy values. Right for any noise that is independent between columns; blind to penalties,
      which stay zero.

    Values that were clipped to a range, such as saturated pixels, have noise that is not Gaussian. They are recognised
    (`clipped_`); "sure" remains the better choice for them: on digits, USPS and patches of a photograph with 12 to 46 %
    of the values clipped, the error of its choice was within 5 % (in one draw 15 %) of that of a choice with clean data
    in hand, and "masked" made up to 2.8 times that error. A given σ is corrected for what clipping has removed, but an
    estimated one chooses better: the error with a given one was up to 14 % larger.

    Noisy rows of the training set have their noise in the model, so what is best for new rows is not best for them:
    they need fewer components, or models that have not seen them. With "sure" the error on rows of the training set is
    estimated too, by Stein's formula with the change of the model in the divergence. `denoise` recognises these rows
    and uses what has the smaller estimated error: a model of all rows with other parameters, or cross-fitting, in which
    models with the best parameters for new rows are fitted to the other folds.

    Candidates are given in the units of `best_params_`; where they are None, the grid follows the scale of the data.

    Parameters
    ----------
    added_noise : float, callable or None, default=None
        None: the data are noisy. A number or a function ``added_noise(X, rng)``: the data are clean, and the noise to
        expect is Gaussian of this deviation, or what the function returns.
    criterion : {"auto", "sure", "masked"}, default="auto"
        For noisy data. "auto" is "sure" when σ is given or can be seen: with at least 16 columns and more than twice as
        many rows, or at least 64 columns and more than one and a half times as many rows; else "masked".
    sigma : float or None, default=None
        σ of the noise in noisy data, where it is known ("sure"); None estimates it. For clipped data, it is that of the
        noise before clipping.
    gammas : sequence of float or None, default=None
        Candidates for γ in exp(−γ‖x − y‖²); None is one over 1/16, 1/8, …, 4 times the median squared distance.
    n_components : sequence of int or None, default=None
        Candidates; None is powers of two up to 512 or to the number of rows that models are fitted on.
    penalties : sequence of float or None, default=None
        Candidates for the penalty of the distance to the noisy input; None is 0, 0.03, 0.1 and 0.3 times γ.
    bounds : (float, float) or None, default=None
        Range of clean values, such as (0, 1) for pixels; pre-images then stay within it (`Gradient` instead of
        `FixedPoint`), which helps most when the training data are noisy.
    held_out : float, default=0.2
        Fraction of the rows that are held out and judge the candidates.
    max_queries : int, default=300
        Largest number of such rows.
    loss : {"huber", "l1", "cauchy", "tukey"} or None, default=None
        Robust loss of `KernelPCA.denoise`, for noise that is gross errors: candidates are judged, and rows denoised,
        with it. `added_noise` is then best a function that makes such errors in clean rows; without it, candidates are
        judged by masked columns. Takes some times as long, because each candidate is measured on rows left out of it;
        where `n_components` is None, every second power of two is a candidate.
    cross_fit : "auto", int or None, default="auto"
        Folds in which noisy rows of the training set are denoised. "auto" with "sure" is what has the smaller estimated
        error: five folds, for which the parameters were chosen, or none and `training_params_`. "auto" with "masked",
        which has no such estimate, or with groups is that of `KernelPCA.denoise`: folds where they are better beyond
        doubt. None uses the best model for all rows. With clean data (`added_noise`) there are no folds: the model has
        no noise in it.
    n_jobs : int or None, default=None
        Candidates are fitted and judged on so many threads; None or −1 is all cores. The result does not depend on it.
    verbose : bool, default=False
        Whether to show a progress bar.
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
        Number of the best candidate in `cv_results_`.
    cv_results_ : dict of arrays
        "gamma", "n_components", "penalty", "error" and "mean_test_score", minus the error, of every candidate (the
        largest number for one whose pre-images or errors are beyond the range of numbers, which is never chosen); and
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
    clipped_ : float or None
        Fraction of the values that lie at the end of the range of their column as clipping leaves them; looked for with
        "sure". The noise that it has removed has a mean that nothing shows: `best_error_` is then too small.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.KernelPCA.denoise : What the best model does.
    DenoisingScorer : For searches over other parameters.
    preimage.plotting.DenoisingDisplay : Pictures of clean, noisy and denoised rows.
    preimage.KernelImputerCV : Chooses a width for missing entries.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.model_selection import DenoisingSearch
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, np.pi, size=300)
    >>> curve = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> noisy = curve + 0.1 * rng.normal(size=curve.shape)
    >>> search = DenoisingSearch(added_noise=0.1).fit(curve)
    >>> bool(np.mean((search.denoise(noisy) - curve) ** 2) < 0.6 * np.mean((noisy - curve) ** 2))
    True

    It is a transformer too: ``DenoisingSearch().set_output(transform="pandas").fit_transform(frame)`` is a data frame.
    """

    _in_input_space = IN_INPUT_SPACE | WRAPPED
    _parameter_constraints = {
        "added_noise": [Interval(Real, 0, None, closed="neither"), callable, None],
        "criterion": [StrOptions({"auto", "sure", "masked"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "gammas": ["array-like", None],
        "n_components": ["array-like", None],
        "penalties": ["array-like", None],
        "bounds": [tuple, list, None],
        "held_out": [Interval(Real, 0, 1, closed="neither")],
        "max_queries": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions(set(LOSSES.names)), None],
        "cross_fit": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    @ignores_removed
    def __init__(
        self,
        *,
        added_noise: float | Callable[[Array, np.random.Generator], Array] | None = None,
        criterion: str = "auto",
        sigma: float | None = None,
        gammas: Sequence[float] | None = None,
        n_components: Sequence[int] | None = None,
        penalties: Sequence[float] | None = None,
        bounds: tuple[float, float] | None = None,
        held_out: float = 0.2,
        max_queries: int = 300,
        loss: str | None = None,
        cross_fit: int | str | None = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.added_noise = added_noise
        self.criterion = criterion
        self.sigma = sigma
        self.gammas = gammas
        self.n_components = n_components
        self.penalties = penalties
        self.bounds = bounds
        self.held_out = held_out
        self.max_queries = max_queries
        self.loss = loss
        self.cross_fit = cross_fit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    @within_n_jobs
    def fit(self, X: Rows, y: None = None, *, groups: Targets = None) -> "DenoisingSearch":
        """Choose parameters on X, clean or noisy as `added_noise` says, and fit the best model on all of it.

        Parameters
        ----------
        X : array of shape (n, d)
            On a device, models are fitted and rows denoised there, one candidate after the other.
        y : ignored
        groups : array of shape (n,), optional
            Groups of rows that may share noise, such as the runs of scans. Whole groups judge, and are the folds of
            `cross_fit`.
        """
        check_parameters(self)
        X = check_points(self, X, reset=True, min_samples=8, accept_sparse=False)
        self._check_candidates()
        codes = None if groups is None else _group_codes(groups, X.shape[0])
        rng = generator(self.random_state)
        fitted_rows, judging_rows = self._split(X.shape[0], codes, rng)
        rest = take_rows(X, fitted_rows)
        error = self._error_estimate(X, judging_rows, rest, rng)
        # Rows of a group share noise, so Stein's formula, which takes rows as independent, cannot judge them inside.
        judges_training_rows = self.criterion_ == "sure" and self.cross_fit == "auto" and codes is None
        joint = JointStein(X, judging_rows, error) if judges_training_rows else None
        self._keep_best(X, self._candidates(X, rest, error, joint))
        self._keep_for_training_rows(X, codes)
        return self

    @within_n_jobs
    def denoise(self, X: Rows) -> Array:
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
            return model.denoise(X, loss=self.loss)
        if self.training_params_ == self.best_params_:
            return model.denoise(X, cross_fit=self.cross_fit_, loss=self.loss)
        return all_denoised(model, X, with_own_model(model, self.training_estimator_).solve, RobustOptions())

    def check_fields(self) -> None:
        """Raise ValueError if the models, which may come from a file, are not those of a search."""
        needed = ("best_params_", "training_params_", "training_estimator_", "cross_fit_", "criterion_")
        if lacking := [name for name in needed if "best_estimator_" in vars(self) and not hasattr(self, name)]:
            raise ValueError(f"A DenoisingSearch that was fitted has {', '.join(lacking)}.")
        for name in ("best_estimator_", "training_estimator_"):
            found = vars(self).get(name)
            if found is not None and not isinstance(found, KernelPCA):
                raise ValueError(f"A DenoisingSearch has a KernelPCA as `{name}`; got {type(found).__name__}.")

    def transform(self, X: Rows) -> Array:
        """The same as `denoise`: for pipelines, and for data frames with ``set_output(transform="pandas")``."""
        return self.denoise(X)

    def _candidates(self, X: Array, rest: Array, error: ErrorEstimate, joint: JointStein | None) -> list[Candidate]:
        """All candidates with their errors, in the order of widths, numbers of components and penalties."""
        gammas, counts = self._gammas(rest), self._counts(rest)
        total = sum(len(counts) * len(self._penalties(gamma)) for gamma in gammas)
        # More components than there are make no candidate.
        with ignored(RankWarning), stage("Choosing the model", total) as advance:
            widths = self._fitted_widths(X, rest, gammas, counts, error, joint)
            # Small penalties take the most steps. They begin, so that no thread is left with one of them at the end.
            trials = [
                (width, width.counts[part], penalty)
                for penalties in zip(*[self._penalties(gamma) for gamma in gammas], strict=True)
                for width, penalty in zip(widths, penalties, strict=True)
                for part in cut(len(width.counts), width.model.counts_at_once)
            ]

            def judge(trial: tuple[_Width, list[int], float]) -> list[Candidate]:
                found = self._judged(*trial, error, joint)
                advance(len(found))
                return found

            # Each on one core: better than threads inside many small problems.
            with at_most(max([width.useful_threads for width in widths], default=1)):
                found = [candidate for part in for_blocks(judge, trials, X) for candidate in part]
        place = {gamma: number for number, gamma in enumerate(gammas)}
        return sorted(found, key=lambda each: (place[each.gamma], each.n_components))

    def _fitted_widths(
        self, X: Array, rest: Array, gammas: list[float], counts: list[int], error: ErrorEstimate, joint: Any
    ) -> list[_Width]:
        """The models of all widths: one for new rows, and two for rows of the training set where they judge."""
        # With more components rows of the training set need folds, whatever their error without.
        few = [count for count in counts if joint is not None and not needs_folds(count, X.shape[0])]
        kinds = [(rest, counts[-1], error.queries)]
        if joint is not None and few:
            stein = joint.estimate
            kinds += [(X, few[-1], stein.noisy), (joint.moved_training_set, few[-1], stein.moved)]
        fits = [(gamma, *kind) for gamma in gammas for kind in kinds]

        def fit(each: tuple[float, Array, int, Array]) -> _Denoiser:
            gamma, rows, count, queries = each
            # Rows to which noise was added may overflow in single precision.
            subspace = KernelPCA(count, gamma=gamma).fit(finite_result(rows)).subspace_
            return _Denoiser(subspace, queries, subspace.coordinates(queries), self.loss)

        at_once = max(1, memory_budget(None, X) // (GRAM_COPIES * X.shape[0] ** 2 * itemsize(X.dtype)))
        # Fits of few rows are chains of short steps: more threads wait for the interpreter.
        with at_most(max(FEWEST_FITS, X.shape[0] ** 2 // ENTRIES_PER_FIT)):
            models = run_several(fit, fits, at_once) if is_host(X) else [fit(each) for each in fits]
        widths = []
        for number, gamma in enumerate(gammas):
            model, *training_models = models[number * len(kinds) : (number + 1) * len(kinds)]
            most = min([len(each.subspace) for each in training_models], default=0)
            in_model = sorted({min(count, len(model.subspace)) for count in counts})
            widths.append(_Width(gamma, model, in_model, training_models, [count for count in few if count <= most]))
        return widths

    def _judged(
        self, width: _Width, counts: list[int], penalty: float, error: ErrorEstimate, joint: JointStein | None
    ) -> list[Candidate]:
        """The candidates of one width and penalty, with some numbers of components."""
        solver = self._solver(penalty, tol=SEARCH_TOLERANCE, max_iter=SEARCH_STEPS)
        errors = [error.of(output) for output in width.model.outputs(counts, solver)]
        training_errors: dict[int, float] = {}
        if joint is not None and (few := [count for count in counts if count in width.few]):
            outputs = zip(*[model.outputs(few, solver) for model in width.training_models], strict=True)
            training_errors = dict(zip(few, [joint.estimate.of_outputs(*pair) for pair in outputs], strict=True))
        return [
            Candidate(width.gamma, count, penalty, each, training_errors.get(count, np.nan))
            for count, each in zip(counts, errors, strict=True)
        ]

    def _solver(self, penalty: float, **options: Any) -> FixedPoint | Gradient:
        if self.bounds is None:
            return FixedPoint(penalty, **options)
        lower, upper = self.bounds
        return Gradient(penalty, lower=lower, upper=upper, **options)

    def _check_candidates(self) -> None:
        for name in ("gammas", "n_components", "penalties"):
            values = getattr(self, name)
            may_be_zero = name == "penalties"
            if values is not None and not all(value > 0 or (may_be_zero and value == 0) for value in values):
                bound = "not be negative" if may_be_zero else "be positive"
                raise ValueError(f"DenoisingSearch: every candidate in {name} must {bound}; got {tuple(values)!r}.")

    def _split(self, n: int, groups: Array | None, rng: np.random.Generator) -> tuple[Array, Array]:
        """Numbers of the rows to fit to, and of those that judge."""
        order = rng.permutation(n)
        if groups is None:
            held = min(max(int(self.held_out * n), 1), self.max_queries, n - FEWEST_FITTED)
            return np.sort(order[held:]), np.sort(order[:held])
        # Whole groups, as many as it takes and at least one; of their rows, as many as may judge.
        shuffled = rng.permutation(groups.max() + 1)
        sizes = np.cumsum(np.bincount(groups)[shuffled])
        judging = shuffled[: max(1, int(np.searchsorted(sizes, self.held_out * n, side="right")))]
        apart = np.isin(groups, judging)
        return np.flatnonzero(~apart), np.sort(order[apart[order]][: self.max_queries])

    def _gammas(self, X: Array) -> list[float]:
        if self.gammas is not None:
            return [float(gamma) for gamma in self.gammas]
        gamma = resolve_gamma("median", X)
        return [gamma / width for width in RELATIVE_WIDTHS]

    def _counts(self, X: Array) -> list[int]:
        most = X.shape[0] - 1
        if self.n_components is not None:
            return sorted({min(int(count), most) for count in self.n_components})
        step = 1 if self.loss is None else 2
        powers = [2**j for j in range(1, 10, step) if 2**j <= min(most, MOST_COMPONENTS)]
        return powers or [most]

    def _penalties(self, gamma: float) -> list[float]:
        if self.criterion_ == "masked":
            return [0.0]
        if self.penalties is not None:
            return [float(penalty) for penalty in self.penalties]
        return [gamma * penalty for penalty in RELATIVE_PENALTIES]

    def _error_estimate(self, X: Array, judging_rows: Array, rest: Array, rng: np.random.Generator) -> Any:
        """How errors are estimated; sets `criterion_`, `noise_` and `clipped_`."""
        self.noise_ = self.clipped_ = None
        judging = take_rows(X, judging_rows)
        if self.added_noise is not None:
            self.criterion_ = "added noise"
            return AddedNoise(judging, add_noise(judging, self.added_noise, rng))
        if self.loss is not None and self.criterion == "sure":
            raise ValueError(
                "DenoisingSearch: Stein's estimate needs a denoiser without jumps, and one with a loss has them; "
                "criterion='masked' judges it, or give `added_noise`, a function that makes gross errors in clean rows."
            )
        rows_per_column = 1.5 if X.shape[1] >= MANY_COLUMNS else 2.0
        visible = X.shape[1] >= FEWEST_COLUMNS and X.shape[0] > rows_per_column * X.shape[1] and self.loss is None
        known = self.loss is None and self.sigma is not None
        self.criterion_ = ("sure" if known or visible else "masked") if self.criterion == "auto" else self.criterion
        if self.criterion_ == "masked":
            return MaskedColumns(judging, rest, rng)
        self.noise_ = estimate_noise(X) if self.sigma is None else float(self.sigma)
        values = to_numpy(X).astype(float)
        clipping = Clipping.of(values, self.noise_)
        self.clipped_ = clipping.fraction
        # A deviation that was given is that of the noise before it was clipped; the one that is estimated is what
        # clipping left.
        is_corrected = self.sigma is not None and clipping.fraction > 0
        variances = clipping.variance(values, judging_rows, self.noise_) if is_corrected else None
        return SteinEstimate(judging, self.noise_, rng, variances)

    def _keep_best(self, X: Array, candidates: list[Candidate]) -> None:
        if not candidates:
            raise ValueError("DenoisingSearch has no candidates: gammas, n_components and penalties must not be empty.")
        columns = {name: np.array([getattr(row, name) for row in candidates]) for name in Candidate._fields}
        error = columns["error"]
        if not np.isfinite(error).any():
            raise ValueError("No candidate has a finite error; does the noise function return finite values?")
        # A candidate without a finite error is the worst.
        error = columns["error"] = np.where(np.isfinite(error), error, np.finfo(np.float64).max)
        self.cv_results_ = {**columns, "mean_test_score": -error}
        self.best_index_ = int(np.argmin(error))
        self.best_error_ = float(error[self.best_index_])
        self.best_score_ = -self.best_error_
        self.best_params_ = self._params(self.best_index_)
        self.best_estimator_ = self._model(self.best_params_).fit(X)

    def _keep_for_training_rows(self, X: Array, groups: Array | None) -> None:
        self.cross_fit_, self._training_rows = None, TrainingRows(to_numpy(X))
        self.training_params_, self.training_estimator_ = self.best_params_, self.best_estimator_
        if self.added_noise is not None or self.cross_fit is None:
            return
        training_error = self.cv_results_["training_error"]
        # Without an estimate of the error on training rows (masked columns, groups, or many components alone) folds
        # have to be better beyond doubt.
        is_estimated = bool(np.isfinite(training_error).any())
        if is_estimated and np.nanmin(training_error) <= self.best_error_:
            self.training_params_ = self._params(int(np.nanargmin(training_error)))
            if self.training_params_ != self.best_params_:
                self.training_estimator_ = self._model(self.training_params_).fit(X)
            return
        folds = groups if groups is not None else FOLDS if self.cross_fit == "auto" else int(self.cross_fit)
        if self.cross_fit == "auto" and not is_estimated:
            folds = automatic_folds(self.best_estimator_, cross_fit=folds, deviation=self.noise_)
        self.cross_fit_ = folds

    def _params(self, index: int) -> dict[str, Any]:
        gamma, count, penalty = (self.cv_results_[name][index] for name in ("gamma", "n_components", "penalty"))
        return {"gamma": float(gamma), "n_components": int(count), "penalty": float(penalty)}

    def _model(self, params: dict[str, Any]) -> KernelPCA:
        solver = self._solver(params["penalty"])
        seed = self.random_state if isinstance(self.random_state, Integral) else 0  # folds are the same at each call
        return KernelPCA(params["n_components"], gamma=params["gamma"], preimage=solver, random_state=seed)


def expected_errors(search: DenoisingSearch) -> dict[str, Any]:
    """The noise that a search saw, and the errors that it expects of its choice, for new rows and those learned from.

    Errors of hidden columns have their noise in them, and clipping hides a part of the error: both say nothing.
    """
    noise: Any = search.noise_ if search.added_noise is None else search.added_noise
    of_new = search.best_error_
    if search.criterion_ == "masked" or search.clipped_ or not of_new > 0 or not noise:
        return {}
    of_training = of_new
    if search.added_noise is None and search.cross_fit_ is None:
        known = search.cv_results_["training_error"]
        of_training = float(np.nanmin(known)) if search.cross_fit == "auto" and np.isfinite(known).any() else np.nan
    root = lambda error: float(np.sqrt(error)) if error > 0 else None
    return {"noise": float(noise), "expected_error": root(of_new), "expected_training_error": root(of_training)}


def _group_codes(groups: Targets, n: int) -> Array:
    """Groups as numbers from 0."""
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"There are {n} rows and groups of shape {groups.shape}; each row needs one.")
    codes = np.unique(groups, return_inverse=True)[1]
    if codes.max() == 0:
        raise ValueError("All rows are of one group; some must judge what is learned from others. Leave groups out.")
    return codes
