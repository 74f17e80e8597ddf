"""Fisher's discriminant with a ridge, for scans and genes: many more variables than samples."""

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import from_numpy, in_double, in_precision, to_numpy
from preimage._engine.finite import finite_log
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_labels,
    check_parameters,
    check_points,
    check_weights,
    refuse_stream,
)
from preimage._models.discriminants import LinearRule, PenalizedFisher
from preimage.estimators._classifier import AnyDeviceClassifierMixin, require_classes
from preimage.estimators._estimator import Estimator


class PenalizedDiscriminant(ClassNamePrefixFeaturesOutMixin, AnyDeviceClassifierMixin, TransformerMixin, Estimator):
    r"""Canonical variates with a ridge, and the nearest class mean among them.

    Solves (F12), :math:`\Sigma_B w = \theta (\Sigma_W + \alpha I) w`, with the covariances between and within classes,
    by one singular value decomposition of the n × d data whatever d is; C classes have C − 1 variates. In the space of
    the variates, where the regularised covariance within classes is the identity, a point is assigned to the class
    whose mean is nearest, with posterior probabilities
    :math:`p_c(x) \propto \pi_c \exp(-\tfrac12 \|W^\top x - \mu_c\|^2)`. For two classes the map of weights is
    :math:`w \propto (\Sigma_W + \alpha I)^{-1} (m_2 - m_1)`: between that of Fisher (α = 0) and the difference of the
    class means (α → ∞).

    Parameters
    ----------
    alpha : float, default=1.0
        The ridge α ≥ 0, in units of the variance of a variable: 1 is a natural scale for standardised variables. Zero
        needs more samples than variables.
    n_components : int or None, default=None
        Variates to keep of at most C − 1; None is all.
    priors : {"equal", "empirical"} or array of shape (n_classes,), default="equal"
        Probabilities π of the classes. Equal ones make predictions those of the nearest mean.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    scalings_ : array of shape (d, `n_components_`)
        The variates W, largest ratio first, with :math:`W^\top (\Sigma_W + \alpha I) W = I`.
    ratios_ : array of shape (`n_components_`,)
        θ of each.
    coef_ : array of shape (1, d) for two classes, else (n_classes, d)
        The gradients of decisions: maps of weights.
    intercept_ : array of shape (1,) or (n_classes,)
    means_ : array of shape (n_classes, `n_components_`)
        Class means along the variates.
    mean_ : array of shape (d,)
        Of all samples; the origin of the variates.
    priors_ : array of shape (n_classes,)
    n_components_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.model_selection.split_half : How well predictions and maps of weights reproduce.
    preimage.model_selection.sensitivity_map : Maps for discriminants that are not linear.
    KernelFisherDiscriminant : The discriminant in feature space.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Shrinkage in place of a ridge.

    References
    ----------
    .. [1] P. M. Rasmussen, T. J. Abrahamsen, K. H. Madsen, L. K. Hansen, "Nonlinear denoising and analysis of
       neuroimages with kernel principal component analysis and pre-image estimation", NeuroImage 60, 2012.

    Examples
    --------
    Twenty scans of 5,000 voxels, a hundred of which differ between two states:

    >>> import numpy as np
    >>> from preimage import PenalizedDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 10)
    >>> X = rng.normal(size=(20, 5000))
    >>> X[:, :100] += y[:, None]
    >>> model = PenalizedDiscriminant(alpha=10).fit(X, y)
    >>> model.coef_.shape, bool(model.coef_[0, :100].mean() > 10 * abs(model.coef_[0, 100:].mean()))
    ((1, 5000), True)
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "priors": [StrOptions({"equal", "empirical"}), "array-like"],
    }

    def __init__(
        self, alpha: float = 1.0, *, n_components: int | None = None, priors: str | Sequence[float] = "equal"
    ) -> None:
        self.alpha = alpha
        self.n_components = n_components
        self.priors = priors

    def fit(self, X: Rows, y: Targets = None, sample_weight: Targets = None) -> "PenalizedDiscriminant":
        """Find the variates of the classes.

        Parameters
        ----------
        X : array of shape (n, d)
            Of any array library; the model is in NumPy.
        y : array of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Weight 2 counts as two equal rows: in means, covariances and empirical priors.

        Returns
        -------
        self
        """
        check_parameters(self)
        X = self._check_training(X)
        y = check_labels(self, y, X.shape[0])
        weights = check_weights(self, sample_weight, X.shape[0])
        if weights is not None:  # rows of weight zero are left out
            kept = np.flatnonzero(weights)
            X, y, weights = X[kept], y[kept], weights[kept]
        classes, codes = np.unique(y, return_inverse=True)
        require_classes(self, classes)
        return self._store(PenalizedFisher(X, weights), classes, codes)

    def decompose(self, X: Rows) -> PenalizedFisher:
        """The decomposition of X that `fit_path` needs; it does not depend on labels, so that many can share it."""
        return PenalizedFisher(self._check_training(X))

    def fit_path(
        self, X: Rows, y: Targets, alphas: Sequence[float], *, decomposition: PenalizedFisher | None = None
    ) -> list["PenalizedDiscriminant"]:
        """Models for many ridges, which cost little more than one.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        alphas : sequence of float
        decomposition : optional
            Of X, by `decompose`, where it is known already.

        Returns
        -------
        list of PenalizedDiscriminant
            Fitted, one per ridge.

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import PenalizedDiscriminant
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(40, 500)), np.repeat([0, 1], 20)
        >>> models = PenalizedDiscriminant().fit_path(X, y, [0.1, 1.0, 10.0])
        >>> [model.alpha for model in models]
        [0.1, 1.0, 10.0]
        """
        decomposition = self.decompose(X) if decomposition is None else decomposition
        y = check_labels(self, y, decomposition.scores.shape[0])
        classes, codes = np.unique(y, return_inverse=True)
        require_classes(self, classes)
        models = [clone(self).set_params(alpha=alpha) for alpha in alphas]
        for model in models:
            check_parameters(model)
            model.n_features_in_ = decomposition.mean.size
            if hasattr(self, "feature_names_in_"):
                model.feature_names_in_ = self.feature_names_in_
            model._store(decomposition, classes, codes)
        return models

    def transform(self, X: Rows) -> Array:
        """Values of the variates, shape (q, `n_components_`); zero at the mean of the training data."""
        X = self._check_inputs(X)
        return in_precision(self._along(X, self.scalings_), X.dtype)

    def decision_function(self, X: Rows) -> Array:
        """Log-odds of the second of two classes, shape (q,); else log posteriors up to a constant, shape (q, C)."""
        X = self._check_inputs(X)
        decisions = in_precision(self._decisions(X), X.dtype)
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def predict(self, X: Rows) -> Array:
        """Class labels."""
        X = self._check_inputs(X)
        return self.classes_[self._rule.chosen(to_numpy(self._decisions(X)))]

    def predict_proba(self, X: Rows) -> Array:
        """Probabilities of the classes, shape (q, n_classes)."""
        X = self._check_inputs(X)
        return self._rule.probabilities(to_numpy(self._decisions(X)))

    def predict_log_proba(self, X: Rows) -> Array:
        """Logarithms of the probabilities; that of zero is −708, the logarithm of the smallest number."""
        return finite_log(self.predict_proba(X))

    def _store(self, decomposition: PenalizedFisher, classes: Array, codes: Array) -> "PenalizedDiscriminant":
        self.classes_ = classes
        self.mean_ = decomposition.mean
        self.ratios_, self.scalings_, self.means_ = decomposition.directions(
            codes, classes.size, self.alpha, self.n_components
        )
        self.n_components_ = self.scalings_.shape[1]
        weights = decomposition.weights
        self.priors_ = self._probabilities(np.bincount(codes, weights) / weights.sum())
        self._rule = _nearest_mean_rule(self.means_, self.priors_)
        self.coef_ = (self.scalings_ @ self._rule.weights).T
        self.intercept_ = self._rule.intercept - self.coef_ @ self.mean_
        return self

    def _probabilities(self, fractions: Array) -> Array:
        """Prior probabilities of the classes, of which the training data have the given fractions."""
        if isinstance(self.priors, str):
            return fractions if self.priors == "empirical" else np.full(fractions.size, 1 / fractions.size)
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != fractions.shape or not np.all(priors > 0) or not np.isfinite(priors).all():
            raise ValueError(
                f"{type(self).__name__} needs a positive prior probability for each of {fractions.size} classes; got "
                f"{self.priors!r}."
            )
        return priors / priors.sum()

    def _decisions(self, X: Array) -> Array:
        decisions = self._along(X, self.coef_.T)
        return decisions + from_numpy(self._rule.intercept, decisions)

    def _along(self, X: Array, directions: Array) -> Array:
        """Inner products of centred rows with directions (in NumPy), in the library of X and in double precision."""
        X = in_double(X)
        # Centred first: the means of scans are large relative to their differences.
        # Rows may come from another device than those of the fit, which is made on the host.
        return (X - from_numpy(to_numpy(self.mean_), X)) @ from_numpy(to_numpy(directions), X)

    def _check_training(self, X: Rows) -> Array:
        refuse_stream(self, X, "fit", "It needs all rows at once: join the blocks, or use KernelFisherDiscriminant.")
        return to_numpy(check_points(self, X, reset=True, min_samples=2, accept_sparse=False))

    def _check_inputs(self, X: Rows) -> Array:
        check_is_fitted(self)
        refuse_stream(self, X, "predict", "Pass its blocks one by one.")
        return check_points(self, X, reset=False, accept_sparse=False)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _nearest_mean_rule(means: Array, priors: Array) -> LinearRule:
    """Decisions in the space of the variates: log πc − ‖z − μc‖²/2 up to what all classes share."""
    weights, intercept = means.T, np.log(priors) - np.sum(means**2, axis=1) / 2
    if priors.size == 2:
        weights, intercept = weights[:, 1:] - weights[:, :1], intercept[1:] - intercept[:1]
    return LinearRule(weights, intercept, 1.0)
