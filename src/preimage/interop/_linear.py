"""Linear machines on features of a kernel, which together with them are kernel machines."""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import from_numpy, is_foreign, to_dense, to_numpy
from preimage._models.machines import Coordinates, KernelMachine, Logistic, OneVsRest, Output, Regression
from preimage.feature_space import Expansion
from preimage.interop._affine import AffineMap
from preimage.interop._private import LinearClassifierMixin, LinearModel, is_multilabel
from preimage.kernels import Linear


@dataclass(frozen=True)
class LinearMachine:
    """Functions f(y) = yW + b of coordinates y, and what they say.

    Attributes
    ----------
    weights : array of shape (p, k), in NumPy
    intercept : array of shape (k,), in NumPy
    output : Output
    """

    weights: np.ndarray
    intercept: np.ndarray
    output: Output

    @property
    def multiplications(self) -> int:
        """What one row costs."""
        return int(self.weights.size)

    def after(self, affine: AffineMap) -> "LinearMachine":
        """The machine of coordinates before an `AffineMap`: f(yA + s) = y(AW) + sW + b."""
        return replace(
            self, weights=affine.matrix @ self.weights, intercept=affine.shift @ self.weights + self.intercept
        )

    def on(self, features: KernelMachine) -> KernelMachine:
        r"""The kernel machine whose coordinates are the functions of another one, of kernel PCA for instance.

        With :math:`y_j = \langle V_j, \varphi(x) \rangle + c_j` and :math:`V_j = \sum_i \alpha_{ij} \varphi(x_i)`, the
        function :math:`\sum_j w_j y_j + b` is the expansion with coefficients αw and the intercept c·w + b  (R25).
        """
        assert isinstance(features.output, Coordinates)
        p = features.output.n_components
        if self.weights.shape[0] != p:
            raise ValueError(
                f"The linear machine takes {self.weights.shape[0]} coordinates; the step before it makes {p}."
            )
        # The mean after the coordinates, for pre-images, takes no part.
        coefficients, offsets = features.expansion.coefficients[:, :p], features.intercept[:p]
        points = features.expansion.points
        if not is_foreign(coefficients):
            # Products of large coefficients with large weights cancel: double precision, whatever the model's.
            coefficients, offsets = coefficients.astype(np.float64), to_numpy(offsets).astype(np.float64)
            points = points.astype(np.float64) if points.dtype.kind == "f" else points
        W, b = from_numpy(self.weights, coefficients), from_numpy(self.intercept, coefficients)
        expansion = Expansion(features.expansion.kernel, points, coefficients @ W)
        return KernelMachine(expansion, offsets @ W + b, self.output, features.n_features_in, features.feature_names_in)


@singledispatch
def linear_machine_of(estimator: Any) -> LinearMachine | None:
    """A fitted linear model as a `LinearMachine`, or None if its class is not known.

    All of scikit-learn's linear classifiers and regressors are known: LinearSVC, LogisticRegression, RidgeClassifier,
    SGDClassifier, LinearDiscriminantAnalysis, Ridge, Lasso, ...; and kernel machines with the linear kernel.
    """
    return None


@linear_machine_of.register
def _(machine: KernelMachine) -> LinearMachine | None:
    if type(machine.expansion.kernel) is not Linear or machine.output.kind == "transformer":
        return None
    points, coefficients = to_dense(machine.expansion.points), machine.expansion.coefficients
    return LinearMachine(to_numpy(points.T @ coefficients), to_numpy(machine.intercept), machine.output)


@linear_machine_of.register(LinearClassifierMixin)
def _(classifier: Any) -> LinearMachine:
    check_is_fitted(classifier)
    classes = classifier.classes_
    link = _link(classifier)
    if link is not None:
        return _linear(classifier, Logistic(classes, link))
    return _linear(classifier, OneVsRest(classes, multilabel=is_multilabel(classifier)))


@linear_machine_of.register(LinearModel)
@linear_machine_of.register(SGDRegressor)
def _(regressor: Any) -> LinearMachine:
    check_is_fitted(regressor)
    flat = regressor.coef_.ndim == 1
    return _linear(regressor, Regression(1 if flat else regressor.coef_.shape[0], flat))


@linear_machine_of.register
def _(classifier: OneVsRestClassifier) -> LinearMachine | None:
    check_is_fitted(classifier)
    parts = classifier.estimators_
    is_linear = all(isinstance(part, LinearClassifierMixin) for part in parts)
    # Of support vector machines, or of none that we know: clipped probabilities that are all zero stay zero there.
    if classifier.multilabel_ or not is_linear or _link(parts[0]) == "clipped":
        return None
    linked = Logistic(classifier.classes_, "one_vs_rest")
    output = OneVsRest(classifier.classes_) if _link(parts[0]) is None else linked
    machines = [_linear(part, output) for part in parts]
    weights = np.concatenate([machine.weights for machine in machines], axis=1)
    return LinearMachine(weights, np.concatenate([machine.intercept for machine in machines]), output)


def _linear(model: Any, output: Output) -> LinearMachine:
    weights = np.atleast_2d(to_dense(model.coef_)).astype(np.float64).T
    intercept = np.broadcast_to(np.ravel(model.intercept_), weights.shape[1:]).astype(np.float64)
    return LinearMachine(weights, intercept, output)


def _link(classifier: Any) -> str | None:
    """From values to probabilities, where the classifier has them."""
    if isinstance(classifier, LinearDiscriminantAnalysis):
        return "softmax"
    if isinstance(classifier, LogisticRegression):
        # Before scikit-learn 1.8, liblinear and multi_class="ovr" fit every class against the rest.
        apart = classifier.solver == "liblinear" or getattr(classifier, "multi_class", None) == "ovr"
        return "one_vs_rest" if apart else "softmax"
    if isinstance(classifier, SGDClassifier):
        return {"log_loss": "one_vs_rest", "modified_huber": "clipped"}.get(classifier.loss)
    return None
