"""Gradients through the steps of a pipeline, back to the variables it was given."""

from functools import singledispatch
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from preimage._typing import Array, Rows
from preimage.interop._affine import affine_map_of
from preimage.renormalization import Renormalized


def unwrapped(estimator: Any) -> tuple[list[Any], Any]:
    """The steps before the last one, and the last one, of a fitted pipeline or search; no steps of anything else.

    A `Renormalized` classifier has the maps of the one inside: thresholds and scales have no directions.
    """
    if hasattr(estimator, "best_estimator_"):
        return unwrapped(estimator.best_estimator_)
    if isinstance(estimator, Renormalized):
        return unwrapped(estimator.estimator_)
    if not isinstance(estimator, Pipeline):
        return [], estimator
    inner, last = unwrapped(estimator.steps[-1][1])
    steps = [step for _, step in estimator.steps[:-1] if step is not None and step != "passthrough"]
    return steps + inner, last


def transformed(steps: list[Any], X: Rows) -> Rows:
    """X after the steps."""
    for step in steps:
        X = step.transform(X)
    return X


def pulled_back(steps: list[Any], gradients: Array) -> Array:
    """Gradients with respect to the inputs of the first step from those with respect to the outputs of the last.

    Parameters
    ----------
    steps : list of fitted transformers
        Affine ones: scalers, selections of variables, PCA.
    gradients : array of shape (k, d')

    Returns
    -------
    array of shape (k, d)
    """
    for step in reversed(steps):
        gradients = pull_back(step, gradients)
    return gradients


@singledispatch
def pull_back(step: Any, gradients: Array) -> Array:
    """Gradients through one affine transformer; other packages may register theirs."""
    affine = affine_map_of(step)
    if affine is not None:
        return (affine.matrix @ gradients.T).T
    raise TypeError(
        f"Maps of a pipeline are taken back through scalers, selections of variables, PCA and nested pipelines; got "
        f"{type(step).__name__}. Transform the data first, or give a function `maps(model, X)` that returns the map."
    )


@pull_back.register
def _(step: Pipeline, gradients: Array) -> Array:
    return pulled_back([inner for _, inner in step.steps if inner is not None and inner != "passthrough"], gradients)


@pull_back.register
def _(step: Renormalized, gradients: Array) -> Array:
    # Of scores as they are: those are what the steps after it were fitted to.
    return pulled_back([step.estimator_], gradients)


@pull_back.register
def _(step: MinMaxScaler, gradients: Array) -> Array:
    # Of clipped ones inside their range.
    return gradients * step.scale_


@pull_back.register
def _(step: FunctionTransformer, gradients: Array) -> Array:
    if step.func is None:
        return gradients
    raise TypeError(
        f"The derivatives of the function {step.func!r} of a FunctionTransformer are not known. Transform the data "
        "first, or give a function `maps(model, X)` that returns the map."
    )
