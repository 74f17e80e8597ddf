"""Kernel Fisher discriminants."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import from_numpy, in_precision, to_numpy
from preimage._validation import Interval, StrOptions
from preimage.discriminants import NEED_VALUES, THRESHOLDS, fit_discriminants, sparse_paths
from preimage.estimators._fisher_data import LabelledData
from preimage.estimators._fisher_problem import (
    chosen_sparsity,
    class_moments,
    coefficients_on,
    expansion_points,
    fisher_problem,
    point_coordinates,
    scatter_problem,
    tangent_moment,
)
from preimage.estimators._kernel_input import KERNEL_CONSTRAINTS, is_precomputed, with_kernel_tags
from preimage.estimators._queries import blocks_of, check_queries, is_stream, map_queries
from preimage.landmarks import LandmarkSelector
from preimage.machines import Binary, KernelMachine, OneVsRest
from preimage.persistence import Saved

FISHER_CONSTRAINTS = {
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    **KERNEL_CONSTRAINTS,
    "landmarks": [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, "array-like", None],
    "regularizer": [StrOptions({"norm", "identity", "both"})],
    "alpha_scale": [StrOptions({"relative", "absolute"})],
    "multiclass": [StrOptions({"directions", "one_vs_rest"})],
    "threshold": [StrOptions(set(THRESHOLDS))],
    "sparsity": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, None, closed="left"), None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "invariances": "no_validation",
    "invariance_weight": [Interval(Real, 0, None, closed="left")],
    "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    "random_state": ["random_state", np.random.Generator],
}


def _against_streams(estimator):
    """Why not to learn from streams, which leave moments of kernel values behind and nothing else; or None."""
    if is_precomputed(estimator.kernel):
        return "needs the kernel itself, not values among the points of one batch"
    if estimator.threshold in NEED_VALUES:
        return f"keeps moments only; threshold={estimator.threshold!r} needs all values: use 'gaussian' or 'midpoint'"
    if estimator.sparsity == "cv":
        return "keeps moments only; sparsity='cv' needs all values: give a number of coefficients"
    return None


def _learns_from_streams(estimator):
    if (reason := _against_streams(estimator)) is not None:
        raise AttributeError(f"{type(estimator).__name__}.partial_fit {reason}.")
    return True


class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, Saved, BaseEstimator
):
    r"""Fisher's linear discriminant in feature space: a classifier, and a transformer to few features.

    Maximises the scatter of class means against the scatter within classes,

    .. math:: J(w) = \frac{w^\top S_B w}{w^\top (S_W + \lambda \ell\, T) w + \mu P(w)}, \qquad
       w = \sum_i \alpha_i \varphi(z_i),

    over the span of expansion points z [1]_. C classes have C − 1 directions, largest ratio first; the solution is a
    Cholesky factor and a problem of the size of C, not an eigenproblem of the size of the data. On all points with the
    penalty :math:`P = \|w\|^2` two classes give the least-squares support vector machine.

    With `landmarks` the model has few points, and one pass over the data suffices: X may be a memory map or a Dask
    array or frame (predictions stay lazy), and `partial_fit` learns from a stream. Everything is computed in double
    precision, in which the coefficients stay; features and decisions have the precision of the data.

    Parameters
    ----------
    n_components : int or None, default=None
        Directions to keep of at most C − 1; None is all.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`.
    landmarks : None, int, str, LandmarkSelector or array of shape (m, d), default=None
        Expansion points z: None is all training points; else a number, a selector or its name as in `KernelPCA`, or the
        points themselves, such as cluster centres of virtual examples.
    regularizer : {"norm", "identity", "both"}, default="norm"
        P(w) is ‖w‖², ‖α‖², or their sum. The norm does not depend on coordinates: a point twice among the z changes
        nothing. "identity" is that of the experiments in [1]_.
    alpha : float, default=1e-3
        The ridge μ. Zero is as little as rounding errors allow; with a linear kernel and more samples than variables
        it is linear discriminant analysis.
    alpha_scale : {"relative", "absolute"}, default="relative"
        "relative" is a share of the variance of the data in feature space for the norm (so for Gaussian kernels alpha
        is nearly that of kernel ridge regression), and of the mean variance of k(z, ·) over z for the identity;
        changing the scale of the kernel changes nothing then. "absolute" is μ itself, with scatters that are sums over
        data as in [1]_.
    multiclass : {"directions", "one_vs_rest"}, default="directions"
        For more than two classes: C − 1 joint directions, in which classes are normal with a common covariance, or a
        discriminant for each class against the rest, the largest of which wins.
    threshold : {"gaussian", "midpoint", "empirical", "margin"}, default="gaussian"
        Where to cut a discriminant: where two normal densities fitted to its values are equally probable; half-way
        between class means; at the median of the cuts with fewest training errors; where a soft-margin support vector
        machine on the values cuts. Joint directions of more than two classes know the first two: with or without
        prior probabilities.
    sparsity : int, float, "cv" or None, default=None
        Sparse discriminants, :math:`\alpha^\top N_\mu \alpha + \lambda\|\alpha\|_1 \to \min` with class means at
        distance one: a float is λ; an int is the largest number of nonzero coefficients, those of the path of λ,
        solved for without the penalty; "cv" is the smallest such number whose accuracy in five folds is within one
        standard error of the best. For two classes or one against the rest. Points with the same image in feature space
        count as one, so fewer coefficients than asked for may be all there are; a path that rounding errors break off
        brings a warning.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, in scatters and as prior probabilities.
    invariances : Transformation, list of them, or TangentCovariance, default=None
        Transformations of inputs that should not change the discriminants: T is the mean squared change along them.
        Any object with ``tangent_factor(kernel, points, X)`` → G of shape (m, r), T = GGᵀ; its mean is over rows of
        positive weight alike, that of transformations weighted like the data.
    invariance_weight : float, default=1.0
        λ, the weight of T beside the covariance within classes (a mean as well).
    max_memory : int, str or None, default=None
        Memory for the Gram matrix when all points are kept.
    random_state : int, RandomState, Generator or None, default=0
        For landmarks; selectors given as objects have a seed of their own.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    expansion_ : Expansion of n_components_ vectors
        The discriminants w.
    ratios_ : array of shape (n_components_,) or None
        J of each; None for discriminants against the rest, and sparse ones.
    class_means_ : array of shape (n_classes, n_components_)
        Values of the discriminants, on average over each class.
    class_count_ : array of shape (n_classes,)
        Sums of weights.
    n_components_ : int
    sparsity_ : int, float or None
        As given, or the number that cross-validation chose, by the scores in `sparsity_results_`.
    landmarks_ : Landmarks or None
    kernel_ : Kernel
    n_features_in_, feature_names_in_
        As in scikit-learn.

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

    _parameter_constraints = {
        **FISHER_CONSTRAINTS,
        "sparsity": [*FISHER_CONSTRAINTS["sparsity"], StrOptions({"cv"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1.0,
        kernel_params=None,
        landmarks=None,
        regularizer="norm",
        alpha=1e-3,
        alpha_scale="relative",
        multiclass="directions",
        threshold="gaussian",
        sparsity=None,
        class_weight=None,
        invariances=None,
        invariance_weight=1.0,
        max_memory=None,
        random_state=0,
    ):
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
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
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
            Like repetitions of rows.

        Returns
        -------
        self
        """
        if is_stream(X):
            return self._fit_stream(X, y, sample_weight)
        data = LabelledData.of(self, X, y, sample_weight)
        check_decisions(self, data.n_classes)
        points, landmarks = expansion_points(self, data, self.landmarks)
        self.sparsity_, self.sparsity_results_ = chosen_sparsity(self, data, points)
        problem = fisher_problem(self, data, points)
        self.__dict__.pop("_stream", None)
        return self._store(problem, data, points, landmarks)

    @available_if(_learns_from_streams)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from a further batch of rows; any split of the data gives the same model on the same landmarks.

        The first batch fixes the width of the kernel and the landmarks (1,000 of its rows at most, unless `landmarks`
        says otherwise), so it should be large and shuffled.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        classes : array of shape (n_classes,), optional
            All classes that will ever come; needed in the first call, unless its batch has them all.
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
            data = LabelledData.of(self, X, y, sample_weight, classes)
            chosen = "auto" if self.landmarks is None else self.landmarks
            points, landmarks = expansion_points(self, data, chosen)
            coordinates = point_coordinates(self, data, points)
            moments = class_moments(data, points, coordinates)
            tangent = tangent_moment(self, data, points, coordinates)
        else:
            data, points, landmarks, coordinates, moments, tangent = self._stream
            if classes is not None and not np.array_equal(np.unique(classes), data.classes):
                raise ValueError(
                    f"`classes` is {np.unique(classes).tolist()!r}; the first call of partial_fit had "
                    f"{data.classes.tolist()!r}. Leave it out, or give the same."
                )
            data = data.continued(self, X, y, sample_weight)
            moments = moments + class_moments(data, points, coordinates)
            change = tangent_moment(self, data, points, coordinates)
            tangent = None if tangent is None else tangent + change
        check_decisions(self, data.n_classes)
        problem = scatter_problem(self, data, points, coordinates, moments, tangent)
        self.sparsity_, self.sparsity_results_ = self.sparsity, None
        self._stream = (data.without_rows(), points, landmarks, coordinates, moments, tangent)
        return self._store(problem, data, points, landmarks)

    def transform(self, X):
        """Values of the discriminants.

        Joint directions are centred on the mean of the training data and have regularised variance one within classes;
        discriminants against the rest are in the units of `decision_function`. Shape (q, n_components_); lazy for Dask.
        """
        X = self._check_inputs(X)
        return self._map(lambda rows: in_precision(self._features(rows), self._dtype), X)

    def decision_function(self, X):
        """Decisions, shape (q,) for two classes, positive for the second; else (q, n_classes), the largest wins.

        Of two classes, and one against the rest, training means lie two units apart, at ±1 for a threshold half-way;
        of joint directions, decisions are log posteriors up to a constant.
        """
        X = self._check_inputs(X)
        machine = self._kernel_machine()
        return self._map(lambda rows: in_precision(machine.output.decision(machine(rows)), self._dtype), X)

    def predict(self, X):
        """Class labels."""
        X = self._check_inputs(X)
        machine = self._kernel_machine()
        return self._map(lambda rows: machine.output.predict(machine(rows)), X)

    def predict_proba(self, X):
        """Probabilities of the classes, from normal densities of the values of the discriminants; shape (q, n_classes).

        Two classes have a common variance here, which makes probabilities a logistic function of decisions. Densities
        are those of the training data: with a small ridge they are too sure of themselves.
        """
        X = self._check_inputs(X)
        machine = self._kernel_machine()
        return self._map(lambda rows: self._rule.probabilities(to_numpy(machine(rows))), X)

    def sparse_path(self, X, y, sample_weight=None):
        """All sparse discriminants between one coefficient and all, on the data given.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        list of SparseFisherPath
            One for two classes, else one a class against the rest; rows of coefficients belong to expansion points.
        """
        data = LabelledData.of(self, X, y, sample_weight)
        points, _ = expansion_points(self, data, self.landmarks)
        coordinates = point_coordinates(self, data, points)
        moments = class_moments(data, points, coordinates)
        tangent = tangent_moment(self, data, points, coordinates)
        problem = scatter_problem(self, data, points, coordinates, moments, tangent)
        m = points.shape[0]
        return [path.on(first, m) for path, _, _, first in sparse_paths(problem, float(self.alpha))]

    def _fit_stream(self, blocks, y, sample_weight):
        """Learn from an iterator of labelled blocks, from the start."""
        name = type(self).__name__
        if y is not None or sample_weight is not None:
            raise ValueError(
                f"{name} cannot tell which labels belong to which block of an iterator. Give fit an iterator of pairs "
                "(rows, labels) alone, or call partial_fit(rows, labels) for each block."
            )
        if (reason := _against_streams(self)) is not None:
            raise ValueError(f"{name}.fit on an iterator {reason}.")
        self.__dict__.pop("_stream", None)
        for block in blocks_of(self, blocks):
            if not isinstance(block, (tuple, list)) or len(block) not in (2, 3):
                raise TypeError(
                    f"{name} needs an iterator of pairs (rows, labels) or triples (rows, labels, weights); got a block "
                    f"of type {type(block).__name__}."
                )
            rows, labels, *weights = block
            self.partial_fit(rows, labels, sample_weight=weights[0] if weights else None)
        return self

    def _store(self, problem, data, points, landmarks):
        result = fit_discriminants(
            problem,
            float(self.alpha),
            codes=data.codes,
            weights=data.weights,
            n_components=self.n_components,
            one_vs_rest=self.multiclass == "one_vs_rest",
            threshold=self.threshold,
            sparsity=self.sparsity_,
        )
        self.kernel_, self.classes_, self.landmarks_ = data.kernel, data.classes, landmarks
        expansion = coefficients_on(data.kernel, points, result.coefficients)
        self.expansion_ = expansion if self.sparsity is None else expansion.prune()
        self.ratios_ = result.ratios
        self.class_means_, self.class_count_ = result.moments.means, result.moments.counts
        self.n_components_ = result.coefficients.shape[1]
        self._rule, self._center = result.rule, result.moments.mean
        self._dtype = data.kernel.value_type(data.X)
        return self

    def _features(self, X):
        values = self.expansion_(X)
        if self._rule.against_rest:
            like = values
            return values @ from_numpy(self._rule.weights, like) + from_numpy(self._rule.intercept, like)
        return values - from_numpy(self._center, values)

    def _kernel_machine(self):
        """The decisions as functions of a machine."""
        check_is_fitted(self)
        like, rule = self.expansion_.coefficients, self._rule
        expansion = self.expansion_ @ from_numpy(rule.weights, like)
        if self.classes_.size == 2:
            # Platt's parameters in libsvm's sign: the logistic function of decisions times the temperature.
            output = Binary(self.classes_, np.array([-rule.temperature]), np.zeros(1))
        else:
            output = OneVsRest(self.classes_)
        intercept = from_numpy(rule.intercept, like)
        return KernelMachine(
            expansion, intercept, output, self.n_features_in_, getattr(self, "feature_names_in_", None)
        )

    def _check_inputs(self, X):
        check_is_fitted(self)
        return check_queries(self, X, self.expansion_.coefficients)

    def _map(self, function, X):
        return map_queries(self, function, X, self.expansion_.coefficients)

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        return with_kernel_tags(super().__sklearn_tags__(), self.kernel)


def check_decisions(estimator, n_classes):
    """Refuse a sparsity of nothing, and thresholds and sparsity where more than two classes share their directions."""
    if isinstance(estimator.sparsity, Integral) and estimator.sparsity == 0:
        raise ValueError(
            f"{type(estimator).__name__} with sparsity=0 has no coefficients. Give a number of them from 1 on, or a "
            "float, which is a penalty."
        )
    if n_classes == 2 or estimator.multiclass == "one_vs_rest":
        return
    for name, needed in (
        ("threshold", estimator.threshold in NEED_VALUES),
        ("sparsity", estimator.sparsity is not None),
    ):
        if needed:
            raise ValueError(
                f"{type(estimator).__name__} with {name}={getattr(estimator, name)!r} tells two classes apart; there "
                f"are {n_classes}. Use multiclass='one_vs_rest', or another {name}."
            )
