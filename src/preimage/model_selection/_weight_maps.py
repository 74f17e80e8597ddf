"""The maps of a fitted estimator: one weight per variable."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from preimage._arrays import to_dense
from preimage._typing import Array, Rows
from preimage.model_selection._pull_back import pulled_back, unwrapped
from preimage.model_selection._sensitivity import sensitivity_map

KINDS = ("auto", "coef", "scalings", "importances", "sensitivity")
_ATTRIBUTES = {"coef": "coef_", "scalings": "scalings_", "importances": "feature_importances_"}


@dataclass(frozen=True)
class WeightMaps:
    """Maps of a model, and whether they come in any order and sign, and need alignment.

    Attributes
    ----------
    values : array of shape (k, d)
    are_components : bool
        Whether they are canonical variates, sorted by how much they separate classes, rather than one per class.
    """

    values: Any
    are_components: bool


def weight_maps(estimator: Any, X: Rows, maps: Any = "auto") -> WeightMaps:
    """The maps of weights of a fitted estimator, with respect to the variables it was given.

    Parameters
    ----------
    estimator : fitted estimator
        Also a pipeline or a search; maps are taken back through scalers, selections of variables and PCA.
    X : array of shape (n, d)
        Samples at which "sensitivity" looks.
    maps : {"auto", "coef", "scalings", "importances", "sensitivity"} or callable, default="auto"
        The attribute `coef_`, `scalings_` or `feature_importances_`, a `sensitivity_map`, or ``maps(estimator, X)``,
        which returns an array of shape (d,) or (k, d). "auto" takes the canonical variates of more than two classes,
        else the first of these that there is.

    Returns
    -------
    WeightMaps
    """
    if callable(maps):
        values = np.atleast_2d(np.asarray(maps(estimator, X), dtype=np.float64))
        return WeightMaps(_checked(values, X, maps), are_components=False)
    if maps not in KINDS:
        raise ValueError(f"`maps` is one of {', '.join(map(repr, KINDS))} or a function; got {maps!r}.")
    steps, last = unwrapped(estimator)
    kind = _best_kind(last) if maps == "auto" else maps
    if kind == "sensitivity":
        return WeightMaps(sensitivity_map(estimator, X)[None, :], are_components=False)
    found = getattr(last, _ATTRIBUTES[kind], None)
    if found is None:
        raise TypeError(
            f"{type(last).__name__} has no {_ATTRIBUTES[kind]}. maps='sensitivity' works for kernel machines, a "
            "function `maps(model, X)` for anything."
        )
    values = np.asarray(to_dense(found), dtype=np.float64)
    values = values.T if kind == "scalings" else np.atleast_2d(values)
    # Importances are not derivatives: only a selection of variables can be undone for them.
    steps = _selections(steps) if kind == "importances" else steps
    return WeightMaps(_checked(pulled_back(steps, values), X, kind), are_components=kind == "scalings")


def _best_kind(model: Any) -> str:
    several = getattr(model, "classes_", np.empty(0)).size > 2
    order = ("scalings", "coef", "importances") if several else ("coef", "scalings", "importances")
    return next((kind for kind in order if getattr(model, _ATTRIBUTES[kind], None) is not None), "sensitivity")


def _selections(steps: list[Any]) -> list[Any]:
    """The steps that choose variables: importances do not change with the scale of one, and cannot be mixed."""
    for step in steps:
        if not isinstance(step, (SelectorMixin, StandardScaler, RobustScaler, MaxAbsScaler, MinMaxScaler)):
            raise TypeError(
                f"Importances are taken back through scalers and selections of variables; got {type(step).__name__}. "
                "Give a function `maps(model, X)` that returns the map."
            )
    return [step for step in steps if isinstance(step, SelectorMixin)]


def _checked(values: Array, X: Rows, maps: Any) -> Array:
    if values.ndim != 2 or values.shape[1] != X.shape[1]:
        raise ValueError(
            f"A map has one weight per variable, {X.shape[1]} here; maps={maps!r} gave shape {tuple(values.shape)}."
        )
    return values
