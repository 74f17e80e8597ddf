"""Pipelines, searches and calibrated classifiers taken apart: the steps that stay, and one kernel machine."""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from preimage.interop._affine import affine_map_of
from preimage.interop._linear import LinearMachine, linear_machine_of
from preimage.interop._sklearn import SUPPORTED, machine_of
from preimage.interop._unscaled import on_unscaled_inputs
from preimage.machines._machine import KernelMachine
from preimage.machines.outputs import Calibrated


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
    """

    front: list
    machine: Any
    name: Any
    template: Any


def fold(estimator):
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


@singledispatch
def _fold(estimator):
    if hasattr(estimator, "best_estimator_"):
        return _fold(estimator.best_estimator_)
    linear = linear_machine_of(estimator)
    machine = machine_of(estimator) if linear is None else linear
    return Folded([], machine, None, _template(estimator))


@_fold.register
def _(frozen: FrozenEstimator):
    return _fold(frozen.estimator)


@_fold.register
def _(pipeline: Pipeline):
    name, last = pipeline.steps[-1]
    if last is None or isinstance(last, str):
        raise TypeError(f"The last step of the pipeline, {name!r}, is {last!r}: there is no machine to make small.")
    check_is_fitted(last)
    inner = _fold(last)
    steps = [(each, step) for each, step in pipeline.steps[:-1] if not (step is None or isinstance(step, str))]
    steps = _distinctly_named([*steps, *inner.front])
    machine, n_left = _folded_back(inner.machine, [step for _, step in steps])
    taken = [(each, clone(step)) for each, step in steps[n_left:]]
    template = Pipeline([*taken, (name, inner.template)]) if taken else inner.template
    return Folded(steps[:n_left], machine, name, template)


@_fold.register
def _(calibrated: CalibratedClassifierCV):
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


def _folded_back(machine, steps):
    """The machine together with the last steps that fold into it, and how many steps are left."""
    linear = machine if isinstance(machine, LinearMachine) else linear_machine_of(machine)
    for number in range(len(steps), 0, -1):
        if linear is None:
            break
        affine = affine_map_of(steps[number - 1])
        if affine is None:
            features = _feature_map(steps[number - 1])
            if features is not None:
                return linear.on(features), number - 1
            break
        linear = linear.after(affine)
    return machine, len(steps)


def _distinctly_named(steps):
    """Steps of nested pipelines may have one name; a pipeline of them all may not."""
    names = [name for name, _ in steps]
    return steps if len(set(names)) == len(names) else [(f"{name}_{i}", step) for i, (name, step) in enumerate(steps)]


def _feature_map(step):
    """A step whose coordinates are functions of feature space, as a machine; None for any other."""
    try:
        machine = machine_of(step)
    except TypeError:
        return None
    return machine if machine.output.kind == "transformer" else None


def _curves(calibrators, method):
    """Knots, levels and sizes of fitted calibrators."""
    if method == "sigmoid":
        pairs = [([each.a_], [each.b_]) for each in calibrators]
    elif method == "temperature":
        pairs = [([float(calibrators[0].beta_)], [0.0])]
    else:
        pairs = [(each.X_thresholds_, each.y_thresholds_) for each in calibrators]
    knots, levels = (np.concatenate([np.asarray(pair[i], dtype=np.float64) for pair in pairs]) for i in (0, 1))
    return knots, levels, np.array([len(knot) for knot, _ in pairs], dtype=np.float64)


def _template(estimator):
    """The original unfitted: its parameters are worth keeping, its points are not."""
    if isinstance(estimator, KernelMachine):
        return None
    return estimator.estimator if hasattr(estimator, "machine_") else clone(estimator)


@machine_of.register(Pipeline)
@machine_of.register(CalibratedClassifierCV)
@machine_of.register(FrozenEstimator)
def _(estimator):
    folded = fold(estimator)
    machine = folded.machine
    for name, step in reversed(folded.front):
        unscaled = on_unscaled_inputs(machine, step)
        if unscaled is None:
            raise TypeError(
                f"The step {name!r} of the {type(estimator).__name__} cannot be folded into an expansion; pass its "
                "last step, and transformed inputs. `preimage.compress` takes it whole, and keeps such steps."
            )
        machine = unscaled
    return machine
