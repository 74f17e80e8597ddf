"""Kernel Fisher discriminants."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import from_numpy, in_memory, in_precision, is_lazy, own_copy, take_rows
from preimage._engine.finite import refuse_overflowing_fit
from preimage._engine.progress import ReportsProgress, reports_progress
from preimage._engine.removed import ignores_removed
from preimage._engine.threads import on_own_threads
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_gram,
    check_labels,
    check_lazy_points,
    check_parameters,
    check_weights,
    generator,
    is_stream,
)
from preimage._models.discriminants import (
    ClassScatters,
    FisherOptions,
    FittedDiscriminants,
    LabelledData,
    ScatterFisher,
    SparseFisherPath,
    after_batch,
    fisher_problem,
    fit_discriminants,
    select_points,
)
from preimage._models.discriminants._problem import FisherProblem, coefficients_on
from preimage._models.discriminants._rule import NEED_VALUES, THRESHOLDS
from preimage._models.discriminants._sparse_fisher import sparse_paths
from preimage._models.machines import KernelMachine, Logistic
from preimage.estimators._classifier import AnyDeviceClassifierMixin, class_codes, require_classes, with_class_weights
from preimage.estimators._estimator import Estimator, fit_blocks
from preimage.estimators._has_landmarks import HasLandmarks
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    about_data,
    are_rows_of_objects,
    as_selector,
    batch_rng,
    check_rows_of,
    decided_landmarks,
    is_precomputed,
    kernel_on_sample,
    named_kernel,
    repeated,
    with_kernel_tags,
)
from preimage.invariances import as_tangent_covariance
from preimage.kernels import Kernel
from preimage.kernels._door import moderate_inputs
from preimage.landmarks import Landmarks, LandmarkSelector

FISHER_CONSTRAINTS = {
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    **KERNEL_CONSTRAINTS,
    "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, "array-like", None],
    "regularizer": [StrOptions({"norm", "identity"})],
    "alpha_scale": [StrOptions({"relative", "absolute"})],
    "multiclass": [StrOptions({"directions", "one_vs_rest"})],
    "threshold": [StrOptions(set(THRESHOLDS))],
    "sparsity": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, None, closed="left"), None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "invariances": "no_validation",
    "invariance_weight": [Interval(Real, 0, None, closed="left")],
    "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    "verbose": ["verbose"],
    "random_state": ["random_state", np.random.Generator],
}


def _against_streams(estimator: "KernelFisherDiscriminant") -> str | None:
    """Why the estimator cannot learn from streams, of which it keeps moments of kernel values only; or None."""
    if is_precomputed(estimator.kernel):
        return "needs the kernel itself, not values among the points of one batch"
    if estimator.threshold in NEED_VALUES:
        return f"keeps moments only; threshold={estimator.threshold!r} needs all values: use 'gaussian' or 'midpoint'"
    return None


def _learns_from_streams(estimator: "KernelFisherDiscriminant") -> bool:
    if (reason := _against_streams(estimator)) is not None:
        raise AttributeError(f"{type(estimator).__name__}.partial_fit {reason}.")
    return True


class KernelFisherDiscriminant(
    HasLandmarks,
    ReportsProgress,
    ClassNamePrefixFeaturesOutMixin,
    AnyDeviceClassifierMixin,
    TransformerMixin,
    Estimator,
):
    r"""Fisher's linear discriminant in feature space: a classifier, and a transformer to few features.

    Maximises the scatter of class means against the scatter within classes,

    .. math:: J(w) = \frac{w^\top S_B w}{w^\top (S_W + \lambda \ell\, T) w + \mu P(w)}, \qquad
       w = \sum_i \alpha_i \varphi(z_i),

    over the span of expansion points z (F1) [1]_. C classes have C − 1 directions, largest ratio first. The solution
    takes a Cholesky factor and a problem of size C, not an eigenproblem of the size of the data. On all points with the
    penalty :math:`P = \|w\|^2`, two classes give the least-squares support vector machine.

    With `landmarks` the model has few points, and one pass over the data suffices: X may be a memory map or a Dask
    array or frame (predictions stay lazy), and `partial_fit` learns from a stream. Everything is computed in double
    precision, and coefficients are stored in it; features and decisions have the precision of the data.

    Parameters
    ----------
    n_components : int or None, default=None
        Directions to keep of at most C − 1; None is all.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`.
    landmarks : None, int, str, LandmarkSelector or array of shape (m, d), default=None
        Expansion points z: None is all training points; otherwise "auto", a number, a selector or its name as in
        `KernelPCA`, or the points themselves, such as cluster centres of virtual examples.
    regularizer : {"norm", "identity"}, default="norm"
        P(w) is ‖w‖² or ‖α‖². The norm does not depend on coordinates: a repeated point among the z changes nothing.
        "identity" is the penalty of the experiments in [1]_.
    alpha : float, default=1e-3
        The ridge μ. Zero means the smallest ridge that rounding errors allow; with a linear kernel and more samples
        than variables it is linear discriminant analysis.
    alpha_scale : {"relative", "absolute"}, default="relative"
        "relative" is a fraction of the variance of the data in feature space for the norm (so for Gaussian kernels
        alpha is nearly that of kernel ridge regression; with landmarks, of the variance in their span), and of the mean
        variance of k(z, ·) over z for the identity; the scale of the kernel then changes nothing. "absolute" is μ
        itself, with scatters that are sums over data as in [1]_.
    multiclass : {"directions", "one_vs_rest"}, default="directions"
        For more than two classes: C − 1 joint directions, in which classes are normal with a common covariance, or one
        discriminant per class against the rest, the largest of which wins.
    threshold : {"gaussian", "midpoint", "empirical", "margin"}, default="gaussian"
        Where to cut a discriminant: where two normal densities fitted to its values are equally probable; half-way
        between class means; at the median of the cuts with fewest training errors; where a soft-margin support vector
        machine on the values cuts. Joint directions of more than two classes have the first two: with or without
        prior probabilities.
    sparsity : int, float or None, default=None
        Sparse discriminants, :math:`\alpha^\top N_\mu \alpha + \lambda\|\alpha\|_1 \to \min` with class means at
        distance one: a float is λ; an int is the largest number of nonzero coefficients, those of the path of λ,
        solved for without the penalty. For two classes or one against the rest. Points with the same image in feature
        space count as one, so there may be fewer coefficients than asked for; a path that ends early because of
        rounding errors gives a warning. Where width and ridge suit the data, `compress` of the discriminant on all
        points needs fewer points for the same error; with too small a ridge, sparse discriminants have the smaller one.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, in scatters and as prior probabilities.
    invariances : Transformation, list of them, or TangentCovariance, default=None
        Transformations of inputs that should not change the discriminants: T is the mean squared change along them.
        They are weighted like the data; a memory map or Dask array is transformed block by block.
    invariance_weight : float, default=1.0
        λ, the weight of T relative to the covariance within classes (both are means over the data).
    max_memory : int, str or None, default=None
        Memory for the Gram matrix when all points are kept.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        For landmarks; selectors given as objects have their own seed.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    expansion_ : Expansion of `n_components_` vectors
        The discriminants w.
    ratios_ : array of shape (`n_components_`,) or None
        J of each; None for discriminants against the rest, and sparse ones.
    class_means_ : array of shape (n_classes, `n_components_`)
        Mean values of the discriminants in each class.
    class_count_ : array of shape (n_classes,)
        Sums of weights.
    n_components_ : int
    landmarks_ : Landmarks or None
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    kernel_ : Kernel
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    KernelFisherDiscriminantCV : Chooses γ and the ridge.
    compress : Few points, which need not be rows, in place of sparse coefficients.
    PenalizedDiscriminant : The linear one, for very many variables.
    Renormalized : Corrects decisions where variables outnumber samples.
    preimage.invariances.TangentCovariance : How derivatives along transformations are taken.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The linear discriminant.

    References
    ----------
    .. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf, A. Smola, K.-R. Müller, "Invariant feature extraction and
       classification in kernel spaces", NIPS 12, 1999.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from preimage import KernelFisherDiscriminant
    >>> X, y = make_moons(300, noise=0.15, random_state=0)
    >>> model = KernelFisherDiscriminant(gamma=2, alpha=0.01).fit(X, y)
    >>> model.score(X, y) > 0.97, model.transform(X).shape
    (True, (300, 1))
    >>> small = KernelFisherDiscriminant(gamma=2, alpha=0.01, sparsity=15).fit(X, y)
    >>> small.score(X, y) > 0.97, len(small.expansion_.points)
    (True, 15)
    """

    _takes_objects = True
    _parameter_constraints = {**FISHER_CONSTRAINTS, "alpha": [Interval(Real, 0, None, closed="left")]}

    @ignores_removed
    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str | Kernel | Any = "rbf",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict | None = None,
        landmarks: int | str | LandmarkSelector | Rows | None = None,
        regularizer: str = "norm",
        alpha: float = 1e-3,
        alpha_scale: str = "relative",
        multiclass: str = "directions",
        threshold: str = "gaussian",
        sparsity: float | None = None,
        class_weight: dict | str | None = None,
        invariances: Any = None,
        invariance_weight: float = 1.0,
        max_memory: int | str | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.regularizer = regularizer
        self.alpha = alpha
        self.alpha_scale = alpha_scale
        self.multiclass = multiclass
        self.threshold = threshold
        self.sparsity = sparsity
        self.class_weight = class_weight
        self.invariances = invariances
        self.invariance_weight = invariance_weight
        self.max_memory = max_memory
        self.verbose = verbose
        self.random_state = random_state

    @reports_progress
    @on_own_threads
    def fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> "KernelFisherDiscriminant":
        """Find the discriminants of the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel. With `landmarks`, also a memory map or a
            Dask array, which are read block by block; or an iterator of pairs (rows, labels) or triples (rows, labels,
            weights), which is read once, by `partial_fit`, and whose first block has all classes.
        y : array of shape (n,)
            Class labels, held in memory. None with an iterator.
        sample_weight : array of shape (n,), optional
            Weight 2 counts as two equal rows.

        Returns
        -------
        self
        """
        if is_stream(X):
            return self._fit_stream(X, y, sample_weight)
        data, landmarks = self._labelled(X, y, sample_weight)
        options = self._options(data)
        points, chosen = select_points(data, *landmark_choice(landmarks, self.random_state))
        self.__dict__.pop("_stream", None)
        return self._store(fisher_problem(data, points, options), options, data, points, chosen)

    @available_if(_learns_from_streams)
    @on_own_threads
    def partial_fit(
        self, X: Rows, y: Targets, classes: Targets = None, sample_weight: Targets = None
    ) -> "KernelFisherDiscriminant":
        """Learn from a further batch of rows; any split of the data gives the same model on the same landmarks.

        The first batch fixes the width of the kernel and gives the first landmarks. Later ones add landmarks while they
        are fewer than `landmarks` asks for (1,000, unless it says otherwise) and leave more of the kernel on the batch
        than the `tol` of a selector (0.001 if it has none). The part of earlier batches along later landmarks is
        unknown and counts as zero, so the first batch should be large and shuffled. Once all landmarks are in use, a
        batch of which they leave a large fraction causes a warning. Points that were given as landmarks stay alone.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        classes : array of shape (n_classes,), optional
            All classes of the stream; needed in the first call unless its batch contains all of them.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        if self.class_weight == "balanced":
            raise ValueError(
                f"{type(self).__name__}.partial_fit cannot balance classes it has not seen; give class_weight as a "
                "dict, or weights."
            )
        if not hasattr(self, "_stream"):
            data, _ = self._labelled(X, y, sample_weight, classes)
            options = self._options(data)
            chosen = "auto" if self.landmarks is None else self.landmarks  # a stream is never on all points
            points, landmarks = select_points(data, *landmark_choice(chosen, self.random_state))
            scatters = ClassScatters.of(data, points, options)
        else:
            first, landmarks, scatters = self._stream
            if classes is not None and not np.array_equal(np.unique(classes), first.classes):
                raise ValueError(
                    f"`classes` is {np.unique(classes).tolist()!r}; the first call of partial_fit had "
                    f"{first.classes.tolist()!r}. Leave it out, or give the same."
                )
            data = next_batch(self, first, X, y, sample_weight, like=scatters.points)
            options = self._options(data)
            if landmarks is None:  # points that were given stay as they are
                scatters = scatters + scatters.batch(data, options)
            else:
                selector, rng = as_selector(self.landmarks), batch_rng(self.random_state, scatters.moments.count)
                scatters, landmarks = after_batch(scatters, landmarks, data, options, selector, rng)
        self._stream: tuple[LabelledData, Landmarks | None, ClassScatters] = (data.without_rows(), landmarks, scatters)
        return self._store(scatters.problem(data, options), options, data, scatters.points, landmarks)

    def transform(self, X: Rows) -> Array:
        """Values of the discriminants, shape (q, `n_components_`); lazy for Dask.

        Joint directions are centred on the mean of the training data and have regularised variance one within classes;
        discriminants against the rest are in the units of `decision_function`.
        """
        X = self._check_inputs(X)
        return self._map(lambda rows: in_precision(self._features(rows), self._dtype), X)

    def decision_function(self, X: Rows) -> Array:
        """Decisions, shape (q,) for two classes, positive for the second; else (q, n_classes), the largest wins.

        For two classes, and for one against the rest, the class means of the training data lie two units apart (at ±1
        with threshold="midpoint"); for joint directions, decisions are log posteriors up to a constant.
        """
        X = self._check_inputs(X)
        machine = self._kernel_machine()
        return self._map(lambda rows: in_precision(machine.output.decision(machine(rows)), self._dtype), X)

    def predict(self, X: Rows) -> Array:
        """Class labels."""
        X = self._check_inputs(X)
        machine = self._kernel_machine()
        return self._map(lambda rows: machine.output.predict(machine(rows)), X)

    def predict_proba(self, X: Rows) -> Array:
        """Probabilities of the classes, from normal densities of the values of the discriminants; shape (q, n_classes).

        Two classes have a common variance here, which makes probabilities a logistic function of decisions. The
        densities are those of the training data: with a small ridge, probabilities are too close to 0 and 1.
        """
        X = self._check_inputs(X)
        machine = self._kernel_machine()
        return self._map(lambda rows: machine.output.probabilities(machine(rows)), X)

    def sparse_path(self, X: Rows, y: Targets, sample_weight: Targets = None) -> list[SparseFisherPath]:
        """All sparse discriminants between one coefficient and all, on the data given.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        list of SparseFisherPath
            One for two classes, else one per class against the rest; rows of coefficients belong to expansion points.
        """
        data, landmarks = self._labelled(X, y, sample_weight)
        points, _ = select_points(data, *landmark_choice(landmarks, self.random_state))
        sparse = replace(fisher_options(self), sparsity=0.0)  # any penalty: the path has all of them
        problem, m = cast(ScatterFisher, fisher_problem(data, points, sparse)), points.shape[0]
        return [path.on(first, m) for path, _, _, first in sparse_paths(problem, float(self.alpha))]

    def _labelled(
        self, X: Rows, y: Targets, sample_weight: Targets, classes: Targets = None
    ) -> tuple[LabelledData, Any]:
        """What `fit` is given, checked, with a resolved kernel and classes by number; and `landmarks` that it uses."""
        check_parameters(self)
        rows, kernel = check_rows(self, named_kernel(self), X, y, sample_weight)
        kernel = resolve_kernel(self, kernel, rows, centers=fisher_options(self).solves_by_gram)
        return code_rows(self, kernel, rows, classes), rows.landmarks

    def _options(self, data: LabelledData) -> FisherOptions:
        options = fisher_options(self)
        options.check(type(self).__name__, data.n_classes)
        return options

    def _fit_stream(self, blocks: Iterator, y: Targets, sample_weight: Targets) -> "KernelFisherDiscriminant":
        """Learn from an iterator of labelled blocks, from the start."""
        name = type(self).__name__
        if y is not None or sample_weight is not None:
            raise ValueError(
                f"{name} cannot tell which labels belong to which block of an iterator. Give fit an iterator of pairs "
                "(rows, labels) alone, or call partial_fit(rows, labels) for each block."
            )
        if (reason := _against_streams(self)) is not None:
            raise ValueError(f"{name}.fit on an iterator {reason}.")

        def learn(model: "KernelFisherDiscriminant", block: Any) -> None:
            if not isinstance(block, (tuple, list)) or len(block) not in (2, 3):
                raise TypeError(
                    f"{name} needs an iterator of pairs (rows, labels) or triples (rows, labels, weights); got a block "
                    f"of type {type(block).__name__}."
                )
            rows, labels, *weights = block
            model.partial_fit(rows, labels, sample_weight=weights[0] if weights else None)

        return fit_blocks(self, blocks, learn)

    def _store(
        self,
        problem: FisherProblem,
        options: FisherOptions,
        data: LabelledData,
        points: Array,
        landmarks: Landmarks | None,
    ) -> "KernelFisherDiscriminant":
        """Solve the problem and keep the solution."""
        return self._keep(fit_discriminants(problem, [float(self.alpha)], options)[0], data, points, landmarks)

    def _keep(
        self, result: FittedDiscriminants, data: LabelledData, points: Array, landmarks: Landmarks | None
    ) -> "KernelFisherDiscriminant":
        """Become the model of discriminants that were found."""
        refuse_overflowing_fit("the rule that decides", result.rule.weights)
        self.kernel_, self.classes_, self.landmarks_ = data.kernel, data.classes, landmarks
        expansion = coefficients_on(data.kernel, points, result.coefficients)
        self.expansion_ = expansion if self.sparsity is None else expansion.prune()
        self.ratios_ = result.ratios
        self.class_means_, self.class_count_ = result.moments.means, result.moments.counts
        self.n_components_ = result.coefficients.shape[1]
        # The rule is found in NumPy; the centre is subtracted from features, where these are.
        self._rule, self._center = result.rule, from_numpy(result.moments.mean, expansion.coefficients)
        self._dtype = data.kernel.value_type(data.X)
        return self

    def _features(self, X: Array) -> Array:
        values = self.expansion_(X)
        if self._rule.against_rest:
            return values @ from_numpy(self._rule.weights, values) + from_numpy(self._rule.intercept, values)
        return values - self._center

    def _kernel_machine(self) -> KernelMachine:
        """The decisions as functions of a machine."""
        check_is_fitted(self)
        coefficients, rule = self.expansion_.coefficients, self._rule
        expansion = self.expansion_ @ from_numpy(rule.weights, coefficients)
        output = Logistic(self.classes_, "one_vs_rest" if rule.against_rest else "softmax", rule.temperature)
        intercept = from_numpy(rule.intercept, coefficients)
        return KernelMachine(expansion, intercept, output, self._n_columns, getattr(self, "feature_names_in_", None))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Tags:
        return with_kernel_tags(super().__sklearn_tags__(), self.kernel)


def fisher_options(estimator: Any) -> FisherOptions:
    """The options of a discriminant as a value, from the parameters of `KernelFisherDiscriminant` or its search."""
    return FisherOptions(
        regularizer=estimator.regularizer,
        is_relative=estimator.alpha_scale == "relative",
        n_components=estimator.n_components,
        one_vs_rest=estimator.multiclass == "one_vs_rest",
        threshold=estimator.threshold,
        sparsity=estimator.sparsity,
        invariances=None if estimator.invariances is None else as_tangent_covariance(estimator.invariances),
        invariance_weight=estimator.invariance_weight,
        max_memory=estimator.max_memory,
    )


def landmark_choice(landmarks: Any, random_state: Seed) -> tuple[Any, np.random.Generator | None]:
    """A `landmarks` parameter as `select_points` takes it, and the generator of selectors that have no seed."""
    if isinstance(landmarks, (int, np.integer, str)):
        return as_selector(landmarks), generator(random_state)
    return landmarks, None


@dataclass(frozen=True)
class CheckedRows:
    """Validated rows with their labels and weights; rows of weight zero are left out unless X is lazy.

    Attributes
    ----------
    X : array of shape (n, d), possibly lazy; or the row numbers of a precomputed kernel
    labels : array of shape (n,)
    weights : array of shape (n,) or None
    kept : integer array of shape (n,)
        Numbers of these rows among those given.
    given_labels : array
        Labels of all rows that were given.
    landmarks : object
        The parameter of that name, or None where all rows are expansion points.
    """

    X: Array
    labels: Array
    weights: Array | None
    kept: Array
    given_labels: Array
    landmarks: Any


def check_rows(
    estimator: Any, kernel: Kernel, X: Rows, y: Targets, sample_weight: Targets
) -> tuple[CheckedRows, Kernel]:
    """What was given to `fit`, validated, and the kernel, which a precomputed matrix resolves.

    Where all points are expansion points, rows in memory are copied: the model keeps them.
    """
    landmarks = estimator.landmarks
    if landmarks is not None:
        landmarks = decided_landmarks("A discriminant on all points", landmarks, X, estimator.max_memory)
    keeps_all_points = landmarks is None
    if keeps_all_points and isinstance(X, np.memmap):
        X = np.asarray(X)  # all rows are needed at once
    given, X = X, _check_inputs(estimator, kernel, X, reset=True)
    y, weights = _check_targets(estimator, X, y, sample_weight)
    if kernel.points_are_row_numbers:
        kernel = kernel.resolve(check_gram(estimator, X))
        X = kernel.inputs(X)
    elif keeps_all_points and not is_lazy(X):
        X = own_copy(X, given)
    rows = CheckedRows(X, y, weights, np.arange(y.size), y, landmarks)
    if weights is None or weights.all() or is_lazy(X):
        return rows, kernel
    kept = np.flatnonzero(weights)
    return replace(rows, X=take_rows(X, kept), labels=y[kept], weights=weights[kept], kept=kept), kernel


def resolve_kernel(estimator: Any, kernel: Kernel, rows: CheckedRows, *, centers: bool) -> Kernel:
    """The kernel with the widths that its rules find on the rows.

    On all points, rules see rows as often as their weights say. Where discriminants do not depend on the origin of
    feature space (`centers`), linear kernels of rows far from zero are computed about their mean.
    """
    if kernel.points_are_row_numbers:
        return kernel  # resolved by `check_rows`
    on_all_points = rows.landmarks is None and not is_lazy(rows.X)
    X, y = rows.X, rows.labels
    if on_all_points and rows.weights is not None and not kernel.is_resolved:
        numbers = repeated(np.arange(X.shape[0]), rows.weights)
        X, y = take_rows(X, numbers), y[numbers]
    kernel = kernel_on_sample(estimator, kernel, X, y)
    return about_data(kernel, rows.X) if on_all_points and centers else kernel


def code_rows(estimator: Any, kernel: Kernel, rows: CheckedRows, classes: Targets = None) -> LabelledData:
    """Labelled data of a kernel: classes by number, and weights of rows times those of their classes."""
    y, weights = rows.labels, rows.weights
    if classes is None:
        classes = y if weights is None else y[weights > 0]
    classes = np.unique(classes)
    require_classes(estimator, classes)
    X = moderate_inputs(type(estimator).__name__, kernel, rows.X) if kernel.is_resolved else rows.X
    weights = with_class_weights(estimator, y, weights)
    return LabelledData(kernel, X, class_codes(y, classes), classes, weights, rows.kept)


def next_batch(
    estimator: Any, data: LabelledData, X: Rows, y: Targets, sample_weight: Targets, *, like: Array
) -> LabelledData:
    """A further batch of a stream, for the kernel and the classes of the first one."""
    X = _check_inputs(estimator, data.kernel, X, reset=False, like=like)
    y, weights = _check_targets(estimator, X, y, sample_weight)
    return replace(data, X=X, codes=class_codes(y, data.classes), weights=with_class_weights(estimator, y, weights))


def _check_inputs(estimator: Any, kernel: Kernel, X: Rows, *, reset: bool, like: Array = None) -> Array:
    """Validated rows; a memory map or Dask array stays what it is."""
    if is_lazy(X) and not are_rows_of_objects(kernel, X):
        return check_lazy_points(estimator, X, reset=reset, min_samples=1)  # which counts the rows of unknown chunks
    return check_rows_of(estimator, kernel, X, reset=reset, like=like)


def _check_targets(estimator: Any, X: Array, y: Targets, sample_weight: Targets) -> tuple[Array, Array | None]:
    """Labels and weights in NumPy; those of Dask are fetched."""
    y = check_labels(estimator, in_memory(y), X.shape[0])
    return y, check_weights(estimator, in_memory(sample_weight), X.shape[0])
