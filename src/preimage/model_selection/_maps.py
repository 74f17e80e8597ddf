"""Maps of a fitted estimator, one number per variable: weights or sensitivities, through the steps of a pipeline."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit, log_expit, softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_array

from preimage._engine.arrays import to_dense
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import require_on_host
from preimage._models.discriminants import LinearRule
from preimage._models.machines import Binary, Logistic
from preimage.interop import machine_of
from preimage.interop._pipeline import Steps, affine_map_of, taken_apart, transformed, unclipped_map_of, unwrapped
from preimage.renormalization import Renormalized


def without_correction(estimator: Any) -> Any:
    """What is inside of a fitted search or `Renormalized`: thresholds and scales have no directions."""
    estimator = unwrapped(estimator)
    return without_correction(estimator.estimator_) if isinstance(estimator, Renormalized) else estimator


def pulled_back(steps: Steps, gradients: Array) -> Array:
    """Gradients with respect to the inputs of the first step from those with respect to the outputs of the last.

    Parameters
    ----------
    steps : list of names and fitted transformers
        Affine ones: scalers, selections of variables, PCA.
    gradients : array of shape (k, d')

    Returns
    -------
    array of shape (k, d)
    """
    for _, step in reversed(steps):
        gradients = pull_back(step, gradients)
    return gradients


@singledispatch
def pull_back(step: Any, gradients: Array) -> Array:
    """Gradients through one affine transformer; other packages may register theirs."""
    affine = affine_map_of(step)
    if affine is not None:
        return gradients * affine.matrix if affine.matrix.ndim == 1 else (affine.matrix @ gradients.T).T
    raise TypeError(
        f"Maps of a pipeline are taken back through scalers, selections of variables, PCA and nested pipelines; got "
        f"{type(step).__name__}. Transform the data first, or give a function `maps(model, X)` that returns the map."
    )


@pull_back.register
def _(step: Renormalized, gradients: Array) -> Array:
    # Of scores as they are: those are what the steps after it were fitted to.
    before, last = taken_apart(step.estimator_)
    return pulled_back([*before, ("last", last)], gradients)


@pull_back.register
def _(step: MinMaxScaler, gradients: Array) -> Array:
    return gradients * unclipped_map_of(step).matrix


@pull_back.register
def _(step: FunctionTransformer, gradients: Array) -> Array:
    raise TypeError(
        f"The derivatives of the function {step.func!r} of a FunctionTransformer are not known. Transform the data "
        "first, or give a function `maps(model, X)` that returns the map."
    )


OUTPUTS = ("auto", "decision", "log_proba")
# From values of functions, (q, k), to one array of derivatives of an output with respect to them per output.
Link: TypeAlias = Callable[[Array], Iterator[Array]]


@gives_finite_numbers()
def sensitivity_map(estimator: Any, X: Rows, *, output: str = "auto") -> Array:
    r"""The mean over samples of the squared derivatives of a classifier with respect to each variable.

    .. math:: s_j = \frac1n \sum_i \sum_c \Big( \frac{\partial f_c}{\partial x_j}(x_i) \Big)^2

    with the logarithms of posterior probabilities for f, or the decisions [1]_. For two classes and a linear classifier
    the map is proportional to the squared weights. For kernel machines it is the map that linear ones have as weights.

    Parameters
    ----------
    estimator : fitted estimator
        Linear models (`coef_`), kernel machines (SVC, KernelFisherDiscriminant, …) with a kernel that has
        gradients, and pipelines and searches of these after scalers, selections and PCA.
    X : array of shape (n, d)
        Where to look.
    output : {"auto", "decision", "log_proba"}, default="auto"
        What is differentiated. "auto" is "log_proba" for models that are a softmax or a logistic function of their
        decisions: our discriminants, LDA, LogisticRegression, SVC of two classes with probabilities. Decisions of an
        SVC of more classes are those between pairs.

    Returns
    -------
    array of shape (d,)
        s, never negative.

    See Also
    --------
    split_half : Compares such maps between halves of the data.
    preimage.plotting.MapDisplay : Draws maps.
    sklearn.inspection.permutation_importance : Importance by shuffling columns, for any model.

    References
    ----------
    .. [1] U. Kjems et al., "The quantitative evaluation of functional neuroimaging experiments: mutual information
       learning curves", NeuroImage 15, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from preimage.model_selection import sensitivity_map
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> svm = SVC(gamma=0.3).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> np.sort(np.argsort(sensitivity_map(svm, X))[-2:])
    array([0, 1])
    """
    if output not in OUTPUTS:
        raise ValueError(f"sensitivity_map knows the outputs {', '.join(map(repr, OUTPUTS))}; got {output!r}.")
    require_on_host("sensitivity_map", X)
    X = check_array(X, dtype=np.float64)
    expected = getattr(estimator, "n_features_in_", X.shape[1])
    if X.shape[1] != expected:
        raise ValueError(
            f"sensitivity_map needs the {expected} variables that the model was fitted to; got {X.shape[1]}."
        )
    steps, last = taken_apart(estimator, without_correction)
    functions = _functions_of(last)
    link = None if output == "decision" else functions.link
    if output == "log_proba" and link is None:
        raise ValueError(
            f"Posterior probabilities of {type(last).__name__} have no derivatives in closed form; use "
            "output='decision'."
        )

    def squared_derivatives(rows: Array) -> Array:
        return sum(
            (pulled_back(steps, functions.gradient(rows, weights)) ** 2).sum(axis=0)
            for weights in functions.weights(rows, link)
        )

    Z = check_array(transformed(steps, X), dtype=np.float64)
    return sum_rows(squared_derivatives, Z) / X.shape[0]


@dataclass(frozen=True)
class _Functions:
    """Functions F of rows, as values and gradients of their combinations, and how probabilities come from them."""

    n_functions: int
    values: Callable[[Array], Array]
    gradient: Callable[[Array, Array], Array]
    link: Link | None

    def weights(self, rows: Array, link: Link | None) -> Iterator[Array]:
        """For each output, the derivative with respect to each function at each row, (q, k)."""
        if link is None:
            for number in range(self.n_functions):
                yield np.broadcast_to(np.eye(self.n_functions)[number], (rows.shape[0], self.n_functions))
        else:
            yield from link(self.values(rows))


def _functions_of(model: Any) -> _Functions:
    if getattr(model, "coef_", None) is not None:
        coef = np.atleast_2d(to_dense(model.coef_))
        intercept = np.ravel(getattr(model, "intercept_", 0.0))
        gradient = lambda rows, weights: weights @ coef
        return _Functions(len(coef), lambda rows: rows @ coef.T + intercept, gradient, _link_of_linear(model))
    try:
        machine = machine_of(model)
    except TypeError as error:
        raise TypeError(f"Sensitivity maps are for linear models and kernel machines. {error}") from error
    expansion = machine.expansion
    expansion.kernel.require_gradient("sensitivity_map")
    points, coefficients = to_dense(expansion.points), expansion.coefficients
    gradient = lambda rows, weights: expansion.kernel.gradient(rows, points, weights @ coefficients.T)
    return _Functions(len(expansion), machine, gradient, _link_of_rule(model) or _link_of_output(machine.output))


def _link_of_linear(model: Any) -> Link | None:
    two = getattr(model, "classes_", np.empty(0)).size == 2
    if isinstance(model, LinearDiscriminantAnalysis):
        return _logistic(1.0) if two else _softmax(1.0)
    if isinstance(model, LogisticRegression):
        if two:
            return _logistic(1.0)
        return None if model.solver == "liblinear" else _softmax(1.0)  # one against the rest, there
    return _link_of_rule(model)


def _link_of_rule(model: Any) -> Link | None:
    """Of our discriminants."""
    rule = getattr(model, "_rule", None)
    if not isinstance(rule, LinearRule):
        return None
    if rule.weights.shape[1] == 1:
        return _logistic(rule.temperature)
    return _against_rest(rule.temperature) if rule.against_rest else _softmax(rule.temperature)


def _link_of_output(output: Any) -> Link | None:
    if isinstance(output, Logistic) and output.link != "clipped":
        if output.n_functions == 1:
            return _logistic(output.temperature)
        return (_softmax if output.link == "softmax" else _against_rest)(output.temperature)
    if not isinstance(output, Binary) or not output.has_probabilities:
        return None
    return _logistic(-float(output.probA[0]), float(output.probB[0]))


def _logistic(factor: float, offset: float = 0.0) -> Link:
    """p = 1/(1 + exp(−aF − b)) of the second class: ∂ log p = a(1 − p), ∂ log(1 − p) = −ap."""

    def derivatives(F: Array) -> Iterator[Array]:
        p = expit(factor * F + offset)
        yield -factor * p
        yield factor * (1 - p)

    return derivatives


def _softmax(temperature: float) -> Link:
    """p = softmax(tF): ∂ log p_c / ∂F_k = t(δ_ck − p_k)."""

    def derivatives(F: Array) -> Iterator[Array]:
        p = softmax(temperature * F, axis=1)
        for c in range(F.shape[1]):
            yield temperature * (np.eye(F.shape[1])[c] - p)

    return derivatives


def _against_rest(temperature: float) -> Link:
    """p = softmax(log σ(tF)): ∂ log p_c / ∂F_k = tσ(−tF_k)(δ_ck − p_k)."""

    def derivatives(F: Array) -> Iterator[Array]:
        logits = temperature * F
        p = softmax(log_expit(logits), axis=1)
        for c in range(F.shape[1]):
            yield temperature * expit(-logits) * (np.eye(F.shape[1])[c] - p)

    return derivatives


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
    steps, last = taken_apart(estimator, without_correction)
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


def _selections(steps: Steps) -> Steps:
    """The steps that choose variables: importances do not change with the scale of one, and cannot be mixed."""
    for _, step in steps:
        if not isinstance(step, (SelectorMixin, StandardScaler, RobustScaler, MaxAbsScaler, MinMaxScaler)):
            raise TypeError(
                f"Importances are taken back through scalers and selections of variables; got {type(step).__name__}. "
                "Give a function `maps(model, X)` that returns the map."
            )
    return [(name, step) for name, step in steps if isinstance(step, SelectorMixin)]


def _checked(values: Array, X: Rows, maps: Any) -> Array:
    if values.ndim != 2 or values.shape[1] != X.shape[1]:
        raise ValueError(
            f"A map has one weight per variable, {X.shape[1]} here; maps={maps!r} gave shape {tuple(values.shape)}."
        )
    return values
