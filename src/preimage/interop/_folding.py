"""Pipelines, searches and calibrated classifiers as the steps that stay, and one kernel machine.

A linear machine on features of a kernel is, together with them, a kernel machine.
"""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import from_numpy, is_foreign, to_dense, to_numpy
from preimage._models.machines import Calibrated, Coordinates, KernelMachine, Logistic, OneVsRest, Output, Regression
from preimage.feature_space import Expansion
from preimage.interop._pipeline import (
    AffineMap,
    Steps,
    active,
    affine_map_of,
    on_unscaled_inputs,
    taken_apart,
    unwrapped,
)
from preimage.interop._private import LinearClassifierMixin, LinearModel, has_flat_targets, is_multilabel
from preimage.interop._sklearn import SUPPORTED, machine_of
from preimage.kernels import Linear


@dataclass(frozen=True)
class Folded:
    """A fitted estimator as steps that stay as they are, and one machine for the rest.

    Attributes
    ----------
    front : list of (name, transformer)
        Fitted steps before the machine.
    machine : KernelMachine or LinearMachine
    name : str or None
        Of the last step, where the estimator is a pipeline.
    template : estimator or None
        What the machine stands for, unfitted.
    work : int
        Multiplications of the estimator for one row, with all steps of a pipeline. Steps that we do not know count
        nothing: the ratio of two pipelines that share such a step is then an upper bound.
    front_work : int
        Those of `front` alone.
    """

    front: Steps
    machine: Any
    name: str | None
    template: Any
    work: int
    front_work: int = 0

    def taken_in(self, machine: KernelMachine) -> KernelMachine:
        """`machine`, of the kind that `front` feeds, as one that takes the inputs of `front`.

        Raises
        ------
        TypeError
            If a step of `front` is more than a scaler.
        """
        for name, step in reversed(self.front):
            unscaled = on_unscaled_inputs(machine, step)
            if unscaled is None:
                raise TypeError(
                    f"The step {name!r} of the pipeline cannot be folded into an expansion; pass its last step, and "
                    "transformed inputs. `preimage.compress` takes the pipeline whole, and keeps such steps."
                )
            machine = unscaled
        return machine


@dataclass(frozen=True)
class _Step:
    """A fitted transformer of a pipeline, read once: as an affine map, as functions of feature space, or neither."""

    name: str
    transformer: Any
    affine: AffineMap | None
    machine: KernelMachine | None

    @classmethod
    def of(cls, name: str, transformer: Any) -> "_Step":
        inner = unwrapped(transformer)
        affine = affine_map_of(inner)
        try:
            machine = machine_of(inner) if affine is None else None
        except TypeError:
            machine = None
        return cls(name, transformer, affine, machine)

    @property
    def features(self) -> KernelMachine | None:
        """The machine, where its functions are coordinates."""
        return self.machine if self.machine is not None and self.machine.output.kind == "transformer" else None

    @property
    def work(self) -> int:
        """Multiplications for one row."""
        before, last = taken_apart(self.transformer)
        if before:
            return sum(_Step.of(*pair).work for pair in [*before, (self.name, last)])
        known = self.affine or self.machine or linear_machine_of(last)
        return 0 if known is None else known.multiplications


def fold(estimator: Any) -> Folded:
    """A fitted estimator as steps that stay, and a kernel machine made of all that can be folded into one.

    Kernel PCA, or another map whose coordinates are functions of feature space, followed by a linear machine is one
    expansion (R25); scalers and other affine maps between them are folded in as well.

    Parameters
    ----------
    estimator : fitted estimator
        What `machine_of` knows; a pipeline, a search or a calibrated classifier of such.

    Returns
    -------
    Folded
        With a `KernelMachine`.

    Raises
    ------
    TypeError
        If there is no kernel in it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from preimage import KernelPCA
    >>> from preimage.interop import fold
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> model = make_pipeline(StandardScaler(), KernelPCA(5), Ridge()).fit(X, X[:, 0])
    >>> folded = fold(model)
    >>> [name for name, _ in folded.front], folded.machine.expansion
    (['standardscaler'], Expansion(Gaussian(gamma=0.5), 1 vectors on 30 points of dimension 2))
    """
    folded = _fold(estimator)
    if isinstance(folded.machine, LinearMachine):
        others = [type(step).__name__ for _, step in folded.front if affine_map_of(step) is None]
        raise TypeError(
            f"Only kernel machines have an expansion: {SUPPORTED}. Got {type(estimator).__name__}, a linear machine. "
            "KernelPCA, EmpiricalKernelMap or Nystroem before it in a pipeline, with nothing but scalers between them, "
            f"makes it a kernel machine; {f'{others[-1]} does not' if others else 'there is none'}."
        )
    return folded


def _fold(estimator: Any) -> Folded:
    estimator = unwrapped(estimator)
    if isinstance(estimator, Pipeline):
        return _folded_pipeline(estimator)
    if isinstance(estimator, CalibratedClassifierCV):
        return _folded_calibration(estimator)
    if isinstance(estimator, TransformedTargetRegressor):
        return _folded_targets(estimator)
    machine = linear_machine_of(estimator) or machine_of(estimator)
    return Folded([], machine, None, _template(estimator), machine.multiplications)


def _folded_pipeline(pipeline: Pipeline) -> Folded:
    name, last = pipeline.steps[-1]
    if last is None or isinstance(last, str):
        raise TypeError(f"The last step of the pipeline, {name!r}, is {last!r}: there is no machine to make small.")
    check_is_fitted(last)
    inner = _fold(last)
    steps = [_Step.of(*pair) for pair in _distinctly_named([*active(pipeline.steps[:-1]), *inner.front])]
    machine, n_left = _folded_back(inner.machine, steps)
    front, taken = steps[:n_left], steps[n_left:]
    clones = [(step.name, clone(step.transformer)) for step in taken]
    return Folded(
        [(step.name, step.transformer) for step in front],
        machine,
        name,
        Pipeline([*clones, (name, inner.template)]) if taken else inner.template,
        work=sum(step.work for step in steps) + inner.work - inner.front_work,
        front_work=sum(step.work for step in front),
    )


def _folded_calibration(calibrated: CalibratedClassifierCV) -> Folded:
    check_is_fitted(calibrated)
    parts = calibrated.calibrated_classifiers_
    if len(parts) > 1:
        raise TypeError(
            f"CalibratedClassifierCV has {len(parts)} classifiers, one per fold, and averages them. Fit it with "
            "ensemble=False, which keeps one classifier, to make that small."
        )
    inner = _fold(parts[0].estimator)
    classes, known = calibrated.classes_, inner.machine.output.classes
    # Temperature scaling numbers classes that are words before it fits the classifier.
    if not np.array_equal(known, classes) and not np.array_equal(known, np.arange(len(classes))):
        raise ValueError(
            f"CalibratedClassifierCV has the classes {classes.tolist()}, and the classifier inside it "
            f"{known.tolist()}: such a pair cannot be made one machine."
        )
    classifier = replace(inner.machine.output, classes=classes)
    output = Calibrated(classifier, calibrated.method, *_curves(parts[0].calibrators, calibrated.method))
    # A frozen classifier is not kept, so that fitting the template trains one, and only one; nor is "prefit", which
    # older versions of scikit-learn have instead.
    prefit = isinstance(calibrated.cv, str)
    template = clone(calibrated).set_params(
        estimator=inner.template, ensemble=False, cv=None if prefit else calibrated.cv
    )
    return replace(inner, machine=replace(inner.machine, output=output), template=template)


def _folded_targets(regressor: TransformedTargetRegressor) -> Folded:
    """A regressor of scaled targets: the scaler is undone by coefficients and intercepts."""
    check_is_fitted(regressor)
    inner, affine = _fold(regressor.regressor_), affine_map_of(regressor.transformer_)
    if not _is_without_function(regressor.transformer_) and (affine is None or affine.matrix.ndim == 2):
        what = regressor.transformer if regressor.transformer is not None else regressor.func
        raise TypeError(
            f"TransformedTargetRegressor transforms targets by {what!r}, which cannot become part of a kernel machine. "
            "Scalers can, such as StandardScaler and MinMaxScaler; otherwise pass `regressor_`, and transform what it "
            "predicts."
        )
    machine = inner.machine if affine is None else _on_other_targets(inner.machine, affine)
    # It trains on targets of one column as on a flat array, and answers in the shape that it was given.
    machine = replace(machine, output=replace(machine.output, flat=has_flat_targets(regressor)))
    template = clone(regressor).set_params(regressor=inner.template)
    return replace(inner, machine=machine, template=template)


def _is_without_function(transformer: Any) -> bool:
    return isinstance(transformer, FunctionTransformer) and transformer.inverse_func is None


def _on_other_targets(machine: Any, scaler: AffineMap) -> Any:
    """The machine of the targets that a scaler y ↦ ys + t was given, (f(x) − t)/s."""
    undone = AffineMap(1 / scaler.matrix, -scaler.shift / scaler.matrix)
    if isinstance(machine, LinearMachine):
        return LinearMachine(machine.functions.then(undone), machine.output)
    expansion, factors = machine.expansion, from_numpy(undone.matrix, machine.expansion.coefficients)
    intercept = machine.intercept * factors + from_numpy(undone.shift, machine.intercept)
    coefficients = expansion.coefficients * factors
    return replace(machine, expansion=Expansion(expansion.kernel, expansion.points, coefficients), intercept=intercept)


def _folded_back(machine: "KernelMachine | LinearMachine", steps: list[_Step]) -> tuple[Any, int]:
    """The machine together with the last steps that fold into it, and how many steps are left."""
    linear = machine if isinstance(machine, LinearMachine) else linear_machine_of(machine)
    if linear is None:
        return machine, len(steps)
    for number in reversed(range(len(steps))):
        affine, features = steps[number].affine, steps[number].features
        if affine is not None:
            linear = linear.after(affine)
        elif features is not None:
            return linear.on(features), number
        else:
            break
    return machine, len(steps)


def _distinctly_named(steps: Steps) -> Steps:
    """Steps of nested pipelines may have one name; a pipeline of them all may not."""
    names = [name for name, _ in steps]
    return steps if len(set(names)) == len(names) else [(f"{name}_{i}", step) for i, (name, step) in enumerate(steps)]


def _curves(calibrators: list[Any], method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Knots, levels and sizes of fitted calibrators."""
    if method == "sigmoid":
        pairs = [([each.a_], [each.b_]) for each in calibrators]
    elif method == "temperature":
        pairs = [([float(calibrators[0].beta_)], [0.0])]
    else:
        pairs = [(each.X_thresholds_, each.y_thresholds_) for each in calibrators]
    knots, levels = (np.concatenate([np.asarray(pair[i], dtype=np.float64) for pair in pairs]) for i in (0, 1))
    return knots, levels, np.array([len(knot) for knot, _ in pairs], dtype=np.float64)


def _template(estimator: Any) -> Any:
    """The original unfitted: its parameters are worth keeping, its points are not."""
    if isinstance(estimator, KernelMachine):
        return None
    return estimator.estimator if hasattr(estimator, "compression_") else clone(estimator)


@machine_of.register(Pipeline)
@machine_of.register(CalibratedClassifierCV)
@machine_of.register(FrozenEstimator)
@machine_of.register(TransformedTargetRegressor)
def _(estimator: Any) -> KernelMachine:
    folded = fold(estimator)
    return folded.taken_in(folded.machine)


@dataclass(frozen=True)
class LinearMachine:
    """Functions f(y) = yW + b of coordinates y, and what they say: an affine map in NumPy, and an output."""

    functions: AffineMap
    output: Output

    @property
    def multiplications(self) -> int:
        """What one row costs."""
        return self.functions.multiplications

    def after(self, affine: AffineMap) -> "LinearMachine":
        """The machine of coordinates before an affine map."""
        return LinearMachine(affine.then(self.functions), self.output)

    def on(self, features: KernelMachine) -> KernelMachine:
        r"""The kernel machine whose coordinates are the functions of another one, of kernel PCA for instance.

        With :math:`y_j = \langle V_j, \varphi(x) \rangle + c_j` and :math:`V_j = \sum_i \alpha_{ij} \varphi(x_i)`, the
        function :math:`\sum_j w_j y_j + b` is the expansion with coefficients αw and the intercept c·w + b  (R25).
        """
        assert isinstance(features.output, Coordinates)
        p, weights = features.output.n_components, self.functions.matrix
        if weights.shape[0] != p:
            raise ValueError(f"The linear machine takes {weights.shape[0]} coordinates; the step before it makes {p}.")
        # The mean after the coordinates, for pre-images, takes no part.
        coefficients, offsets = features.expansion.coefficients[:, :p], features.intercept[:p]
        points = features.expansion.points
        if not is_foreign(coefficients):
            # Products of large coefficients with large weights cancel: double precision, whatever the model's.
            coefficients, offsets = coefficients.astype(np.float64), to_numpy(offsets).astype(np.float64)
            points = points.astype(np.float64) if points.dtype.kind == "f" else points
        W, b = from_numpy(weights, coefficients), from_numpy(self.functions.shift, coefficients)
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
    return LinearMachine(AffineMap(to_numpy(points.T @ coefficients), to_numpy(machine.intercept)), machine.output)


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
    functions = [_linear(part, output).functions for part in parts]
    weights, intercepts = ([getattr(each, name) for each in functions] for name in ("matrix", "shift"))
    return LinearMachine(AffineMap(np.concatenate(weights, axis=1), np.concatenate(intercepts)), output)


def _linear(model: Any, output: Output) -> LinearMachine:
    weights = np.atleast_2d(to_dense(model.coef_)).astype(np.float64).T
    intercept = np.broadcast_to(np.ravel(model.intercept_), weights.shape[1:]).astype(np.float64)
    return LinearMachine(AffineMap(weights, intercept), output)


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
