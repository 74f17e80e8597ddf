"""The width of a kernel from class means in feature space, for any estimator with a width."""

from collections.abc import Callable
from copy import deepcopy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import as_points, take_rows
from preimage._engine.finite import LOG_OF_NOTHING
from preimage._engine.progress import ReportsProgress, reports_progress
from preimage._engine.removed import ignores_removed
from preimage._engine.threads import at_most
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_labels,
    check_parameters,
    check_points,
    check_weights,
    generator,
)
from preimage.estimators._bounded_fit import bounded_iterations
from preimage.estimators._estimator import Estimator
from preimage.kernels import Gaussian, Kernel, as_kernel
from preimage.kernels._bandwidth import CLASS_RULES
from preimage.widths import class_gram
from preimage.widths._class_gram import has_width, stratified_rows
from preimage.widths._class_width import check_class_labels, class_balls, settled_gamma, width_curves

CRITERIA = set(CLASS_RULES)


def class_mean_radius(
    X: Rows, y: Targets, gamma: float | Array, *, kernel: Kernel | None = None, unbiased: bool = False
) -> float | Array:
    r"""Radius of the smallest ball around the class means in feature space.

    .. math:: R = \min_c \max_j \|c - m_j\|, \qquad m_j = \frac{1}{N_j} \sum_{i \in j} \varphi(x_i).

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Class labels.
    gamma : float or array of shape (L,)
        One width of the kernel, or several, for which one pass over the pairs of points is enough.
    kernel : Kernel or None, default=None
        A kernel of a distance, whose own `gamma` does not matter; None is Gaussian.
    unbiased : bool, default=False
        Leave out pairs of a point with itself: the radius for classes of infinitely many points, estimated.

    Returns
    -------
    float, or array of shape (L,)

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.model_selection import class_mean_radius
    >>> round(class_mean_radius(np.array([[0.0], [1.0]]), [0, 1], 50.0), 4)
    0.7071
    """
    X = as_points(X)
    y = check_class_labels("class_mean_radius", y, X.shape[0])
    gram = class_gram(X, y, np.atleast_1d(gamma), kernel)
    radii = np.array([ball.radius for ball in class_balls(gram.unbiased if unbiased else gram.values)])
    return radii if np.ndim(gamma) else float(radii[0])


def _best_has(name: str) -> Callable[[Any], bool]:
    """Whether the estimator that is searched for has a method, so that the search has it as well."""

    def check(search: Any) -> bool:
        if search.estimator is None or not search.refit:
            raise AttributeError(
                f"WidthSearch has {name} when it is given an estimator and fits it with the best width: "
                "WidthSearch(SVC())."
            )
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return check


class WidthSearch(ReportsProgress, MetaEstimatorMixin, Estimator):
    r"""Choose the width of a kernel by how far apart it places class means, and fit an estimator with it.

    For a grid of widths γ, the Gram matrix of class means :math:`m_j = \frac{1}{N_j} \sum_{i \in j} \varphi(x_i)` in
    feature space is computed, in one pass over the pairs of points for all of them: squared distances once, one
    exponential, then squarings as the grid doubles. Every measure of how dispersed the means are vanishes or levels off
    for wide and for narrow kernels; the width at its peak is chosen. No model is fitted before that: the choice costs
    about as much as one support vector machine.

    It is a first guess, often within a point of the accuracy that cross-validation finds; it does not replace it, nor
    is it always better than scikit-learn's ``gamma="scale"``, which costs nothing. The measures agree on most data, to
    within a factor of two in γ; the smallest distance is misled by two similar classes, the largest one by a single odd
    class, and alignment may choose a much narrower or, with few samples of many columns, a much wider kernel.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What to fit with the width: `SVC`, an estimator of this library, a pipeline. None only finds it.
    criterion : str, default="enclosing_ball"
        "enclosing_ball" is the radius of the smallest ball around the class means [1]_; "mean_distance",
        "median_distance", "min_distance" and "max_distance" are of distances of pairs of them; "alignment" is the
        centred kernel–target alignment [2]_.
    gammas : array of shape (L,) or None, default=None
        Candidates. None is 2⁻⁶ … 2⁵ times one over the median squared distance, more where the curve still rises at an
        end; the peak is refined by a parabola in log γ then.
    param : str, default="auto"
        The parameter that is the width: "gamma", "svc__gamma", "kernel__gamma" and so on; "auto" finds it.
    unbiased : bool, default=True
        Leave out pairs of a point with itself, which make class means of few points seem far from each other in narrow
        kernels, the smaller the class the farther. Needs two members per class.
    n_samples : int or None, default=None
        Number of points to use, classes in proportion but two of each at least; None is all. Time grows with the
        square of it.
    refit : bool, default=True
        Whether to fit the estimator with the best width on all data.
    n_jobs : int or None, default=None
        Threads for the search; None or −1 is all cores. The width does not depend on it. The estimator decides itself
        how many it uses.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        Of the sample of points.

    Attributes
    ----------
    gammas_ : array of shape (L,)
    criteria_ : dict of str to array of shape (L,)
        The curves of all criteria that the class Gram matrix gives, not of the chosen one alone.
    best_gamma_ : float
    best_index_ : int
        Position of the candidate in `gammas_` that is nearest to `best_gamma_`.
    best_score_ : float
        The criterion at ``gammas_[best_index_]``; higher is better.
    best_params_ : dict
        The parameter and its value.
    best_estimator_ : estimator
        Fitted, with the best width.
    ball_ : Ball
        The smallest ball at `gammas_[best_index_]`: `weights` (positive for classes on the sphere), `squared_radius`,
        and the certificate `gap`.
    classes_ : array of shape (K,)
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.widths.class_width : The number alone.
    preimage.plotting.WidthCurveDisplay : Draws the curves of all criteria.
    preimage.KernelFisherDiscriminantCV : Chooses the width by cross-validation.
    DenoisingSearch : Chooses a width without labels.

    Notes
    -----
    ``gamma="enclosing_ball"`` and the names of the other rules do the same inside estimators of this library wherever
    `fit` is given labels, from at most 4,000 points.

    References
    ----------
    .. [1] T. J. Hansen, T. J. Abrahamsen, L. K. Hansen, "A randomized heuristic for kernel parameter selection with
       large-scale multi-class data", MLSP 2011. We correct the sign of its update, and leave out pairs of a point with
       itself.
    .. [2] C. Cortes, M. Mohri, A. Rostamizadeh, "Algorithms for learning kernels based on centered alignment", JMLR 13,
       2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from preimage.model_selection import WidthSearch
    >>> X, y = load_digits(return_X_y=True)
    >>> search = WidthSearch(make_pipeline(StandardScaler(), SVC(C=10))).fit(X[:1000], y[:1000])
    >>> list(search.best_params_), search.score(X[1000:], y[1000:]) > 0.93
    (['svc__gamma'], True)
    """

    _parameter_constraints = {
        "estimator": "no_validation",
        "criterion": [StrOptions(CRITERIA)],
        "gammas": ["array-like", None],
        "param": [str],
        "unbiased": ["boolean"],
        "n_samples": [Interval(Integral, 2, None, closed="left"), None],
        "refit": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
    }

    @ignores_removed
    def __init__(
        self,
        estimator: Any = None,
        *,
        criterion: str = "enclosing_ball",
        gammas: Any = None,
        param: str = "auto",
        unbiased: bool = True,
        n_samples: int | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.estimator = estimator
        self.criterion = criterion
        self.gammas = gammas
        self.param = param
        self.unbiased = unbiased
        self.n_samples = n_samples
        self.refit = refit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    def fit(self, X: Rows, y: Targets = None, **fit_params: Any) -> "WidthSearch":
        """Find the width on X and y, and fit the estimator with it.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Whatever the steps of a pipeline before the kernel take. Pairs of points are summed on the device of X, and
            widths compared on the host.
        y : array of shape (n,)
            Class labels.
        **fit_params
            Passed to `fit` of the estimator. Rows whose `sample_weight` is zero have no part in the width; other
            weights do not matter to it.

        Returns
        -------
        self
        """
        check_parameters(self)
        param, kernel = self._width()
        points, y = self._points(X, y, param)
        rng = generator(self.random_state)
        with at_most(self.n_jobs):
            sample, labels = self._sample(points, y, fit_params.get("sample_weight"), rng)
            curves = self._curves(sample, labels, kernel)
            self.best_gamma_ = settled_gamma(curves, sample, kernel, f"WidthSearch: {self.criterion}")
        self.classes_ = np.unique(labels)
        self.gammas_, self.criteria_ = curves.gammas, curves.criteria
        self.best_index_ = int(np.argmin(np.abs(np.log(self.gammas_ / self.best_gamma_))))
        self.best_score_ = float(self.criteria_[self.criterion][self.best_index_])
        self.best_params_ = {param: self.best_gamma_}
        self.ball_ = self._ball(curves)
        if self.estimator is not None and self.refit:
            self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_)
            with bounded_iterations(self.best_estimator_, len(y)):
                self.best_estimator_.fit(X, y, **fit_params)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self.best_estimator_, name):
                    setattr(self, name, getattr(self.best_estimator_, name))
        return self

    @available_if(_best_has("predict"))
    def predict(self, X: Rows) -> Array:
        """As the best estimator's."""
        return self._best().predict(X)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X: Rows) -> Array:
        """As the best estimator's."""
        return self._best().predict_proba(X)

    @available_if(_best_has("predict_log_proba"))
    def predict_log_proba(self, X: Rows) -> Array:
        """As the best estimator's; that of zero is −708, the logarithm of the smallest number."""
        return np.maximum(self._best().predict_log_proba(X), LOG_OF_NOTHING)

    @available_if(_best_has("decision_function"))
    def decision_function(self, X: Rows) -> Array:
        """As the best estimator's."""
        return self._best().decision_function(X)

    @available_if(_best_has("transform"))
    def transform(self, X: Rows) -> Array:
        """As the best estimator's."""
        return self._best().transform(X)

    @available_if(_best_has("transform"))
    def fit_transform(self, X: Rows, y: Targets, **fit_params: Any) -> Array:
        """Find the width, fit the estimator with it, and transform X."""
        return self.fit(X, y, **fit_params).transform(X)

    @available_if(_best_has("inverse_transform"))
    def inverse_transform(self, Y: Rows) -> Array:
        """As the best estimator's."""
        return self._best().inverse_transform(Y)

    @available_if(_best_has("denoise"))
    def denoise(self, X: Rows) -> Array:
        """As the best estimator's."""
        return self._best().denoise(X)

    @available_if(_best_has("score_samples"))
    def score_samples(self, X: Rows) -> Array:
        """As the best estimator's."""
        return self._best().score_samples(X)

    @available_if(_best_has("score"))
    def score(self, X: Rows, y: Targets = None) -> float:
        """As the best estimator's."""
        return self._best().score(X, y)

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _width(self) -> tuple[str, Kernel]:
        """The name of the parameter, and a kernel of the family whose width it is."""
        if self.estimator is None:
            return ("gamma" if self.param == "auto" else self.param), Gaussian()
        if self.param == "auto":
            return _find_width(self.estimator)
        known = self.estimator.get_params()
        if self.param not in known:
            widths = [name for name in known if name.split("__")[-1] == "gamma"]
            raise ValueError(
                f"WidthSearch: {type(self.estimator).__name__} has no parameter {self.param!r}; "
                f"widths among its parameters: {', '.join(widths) or 'none'}."
            )
        kernel = _family(known, self.estimator, self.param)
        if kernel is None:
            raise ValueError(
                f"WidthSearch: {self.param!r} of {self.estimator!r} is not the width of a kernel of a distance, which "
                "places class means apart; use kernel='rbf', for instance."
            )
        return self.param, kernel

    def _points(self, X: Rows, y: Targets, param: str) -> tuple[Array, Array]:
        """Checked labels, and what the kernel of `param` is given for the rows X: see `_way_to`."""
        steps, kernels = _way_to(self.estimator, param)
        if steps:
            # Labels are needed before the rows are counted; the steps check the rest of X.
            y = check_labels(self, y, X.shape[0] if hasattr(X, "shape") else len(X))
            for step in steps:
                X = clone(step).fit_transform(X, y)
            X = check_points(WidthSearch(), X, reset=True, min_samples=2)
        else:
            X = check_points(self, X, reset=True, min_samples=2)
            y = check_labels(self, y, X.shape[0])
        for kernel in kernels:
            X = kernel.inputs_of_parts(X)
        return X, y

    def _sample(self, X: Array, y: Array, sample_weight: Targets, rng: np.random.Generator) -> tuple[Array, Array]:
        """Points of positive weight, at most `n_samples`, and their labels, which must be of several classes."""
        who, kept = "WidthSearch", np.arange(y.size)
        if (weights := check_weights(self, sample_weight, y.size)) is not None and not np.all(weights):
            who, kept = "WidthSearch, on rows of positive sample_weight,", np.flatnonzero(weights)
        needs_pairs = self.unbiased and self.criterion != "alignment"
        labels = check_class_labels(who, y[kept], kept.size, 2 if needs_pairs else 1)
        rows = kept[stratified_rows(labels, self.n_samples, rng)]
        return (X if rows.size == y.size else take_rows(X, rows)), y[rows]

    def _curves(self, X: Array, y: Array, kernel: Kernel) -> Any:
        gammas = None if self.gammas is None else self._candidates()
        options: dict[str, Any] = {"gammas": gammas, "kernel": kernel, "unbiased": self.unbiased}
        criteria = CLASS_RULES if self.unbiased is False or np.unique(y, return_counts=True)[1].min() > 1 else ()
        return width_curves(X, y, self.criterion, criteria=criteria, **options)

    def _candidates(self) -> Array:
        gammas = np.unique(np.asarray(self.gammas, dtype=float))
        if gammas.ndim != 1 or not gammas.size or not np.all(np.isfinite(gammas) & (gammas > 0)):
            raise ValueError(
                f"`gammas` of WidthSearch are positive finite numbers, at least one; got {self.gammas!r}. None makes a "
                "grid around one over the median squared distance."
            )
        return gammas

    def _ball(self, curves: Any) -> Any:
        lonely = curves.gram.counts.min() < 2
        G = curves.gram.unbiased if self.unbiased and not lonely else curves.gram.values
        return class_balls(G[self.best_index_][None])[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        if self.estimator is None:
            tags.input_tags.sparse = True
            return tags
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.transformer_tags = deepcopy(inner.transformer_tags)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags


def _way_to(estimator: Any, param: str) -> tuple[list[Any], list[Kernel]]:
    """What rows go through before a kernel evaluates them: steps of pipelines, then kernels that transform inputs.

    `param` is the name of the width, such as "pca__kernel__left__gamma" in a pipeline with a step "pca": it names the
    step, then the kernel, then the parts of the kernel from the outside in, and last the parameter.
    """
    steps: list[Any] = []
    names = param.split("__")
    while isinstance(estimator, Pipeline) and names[0] in estimator.named_steps:
        place = [name for name, _ in estimator.steps].index(names[0])
        steps += [estimator[:place]] if place else []
        estimator, names = estimator.named_steps[names[0]], names[1:]
    # The last two names are the innermost kernel and its width; kernels around it are named before.
    outer = ["__".join(names[:depth]) for depth in range(1, len(names) - 1)]
    parts = [estimator.get_params()[name] for name in outer]
    return steps, [part for part in parts if isinstance(part, Kernel)]


def _find_width(estimator: Any) -> tuple[str, Kernel]:
    """The parameter of an estimator that is the width of a kernel of a distance, nearest to the surface."""
    parameters = estimator.get_params()
    found = {
        name: family
        for name in parameters
        if name.split("__")[-1] == "gamma" and (family := _family(parameters, estimator, name)) is not None
    }
    depth = lambda name: name.count("__")
    nearest = [name for name in found if depth(name) == min(map(depth, found))]
    if len(nearest) == 1:
        return nearest[0], found[nearest[0]]
    if nearest:
        raise ValueError(
            f"WidthSearch: {type(estimator).__name__} has several widths, {', '.join(sorted(nearest))}. Say which one "
            f"to choose: param={sorted(nearest)[0]!r}."
        )
    raise ValueError(
        f"WidthSearch found no width among the parameters of {estimator!r}: it needs a `gamma` of a kernel of a "
        "distance, such as kernel='rbf'. Name it as param='...' if it is called something else."
    )


def _family(parameters: dict[str, Any], estimator: Any, name: str) -> Kernel | None:
    """A kernel of the family whose width a parameter is; None when it is not the width of a kernel of a distance."""
    prefix = name.rpartition("__")[0]
    owner = parameters[prefix] if prefix else estimator
    kernel = owner if isinstance(owner, Kernel) else getattr(owner, "kernel", "rbf")
    if isinstance(kernel, str):
        try:
            kernel = as_kernel(kernel)
        except ValueError:  # a name that is not ours
            return None
    elif not isinstance(owner, Kernel):
        return None  # the kernel is an object and has a width of its own
    return kernel if has_width(kernel) else None
