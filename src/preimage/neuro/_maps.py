"""Maps, one number per variable: weights and sensitivities of a fitted estimator, and what two maps have in common."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, log_expit, softmax
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_array

from preimage._engine.arguments import names_its_arguments
from preimage._engine.arrays import to_dense
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import match, matched
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import require_on_host
from preimage._models.discriminants import LinearRule
from preimage._models.machines import Binary, Logistic
from preimage.inflation import Renormalized
from preimage.inflation._renormalized import without_correction
from preimage.interop import machine_of
from preimage.interop._pipeline import Steps, affine_map_of, taken_apart, transformed, unclipped_map_of

OUTPUTS = ("auto", "decision", "log_proba")
KINDS = ("auto", "coef", "scalings", "importances", "sensitivity")
_ATTRIBUTES = {"coef": "coef_", "scalings": "scalings_", "importances": "feature_importances_"}
# Below this standard deviation the difference of two standardised maps is rounding.
SMALLEST_NOISE = float(np.sqrt(np.finfo(float).eps))
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
    preimage.neuro.MapDisplay : Draws maps.
    sklearn.inspection.permutation_importance : Importance by shuffling columns, for any model.

    References
    ----------
    .. [1] U. Kjems et al., "The quantitative evaluation of functional neuroimaging experiments: mutual information
       learning curves", NeuroImage 15, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from preimage.neuro import sensitivity_map
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
    if isinstance(model, LinearDiscriminantAnalysis):
        return _posterior(1.0)
    if isinstance(model, LogisticRegression):
        is_one_against_rest = model.solver == "liblinear" and model.classes_.size > 2
        return None if is_one_against_rest else _posterior(1.0)
    return _link_of_rule(model)


def _link_of_rule(model: Any) -> Link | None:
    """Of our discriminants."""
    rule = getattr(model, "_rule", None)
    return _posterior(rule.temperature, against_rest=rule.against_rest) if isinstance(rule, LinearRule) else None


def _link_of_output(output: Any) -> Link | None:
    if isinstance(output, Logistic) and output.link != "clipped":
        return _posterior(output.temperature, against_rest=output.link != "softmax")
    if not isinstance(output, Binary) or not output.has_probabilities:
        return None
    return _posterior(-float(output.probA[0]), float(output.probB[0]))


def _posterior(factor: float, offset: float = 0.0, *, against_rest: bool = False) -> Link:
    """Derivatives of log p: of p = σ(aF + b) for one function, of softmax(aF), or of softmax(log σ(aF)).

    They are a(1 − p) and −ap for the two classes; a(δ_ck − p_k) of class c; and that times σ(−aF_k).
    """

    def derivatives(F: Array) -> Iterator[Array]:
        logits = factor * F + offset
        if F.shape[1] == 1:
            p = expit(logits)
            yield -factor * p
            yield factor * (1 - p)
            return
        p = softmax(log_expit(logits) if against_rest else logits, axis=1)
        inner = factor * expit(-logits) if against_rest else factor
        for own in np.eye(F.shape[1]):
            yield inner * (own - p)

    return derivatives


class WeightMaps(NamedTuple):
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


def pulled_back(steps: Steps, gradients: Array) -> Array:
    """Gradients with respect to inputs of affine steps, shape (k, d), from those with respect to outputs, (k, d')."""
    for _, step in reversed(steps):
        if isinstance(step, Renormalized):  # of scores as they are: the steps after it were fitted to those
            before, last = taken_apart(step.estimator_)
            gradients = pulled_back([*before, ("last", last)], gradients)
            continue
        affine = unclipped_map_of(step) if isinstance(step, MinMaxScaler) else affine_map_of(step)
        if affine is None:
            raise TypeError(
                f"Maps of a pipeline are taken back through scalers, selections of variables, PCA and nested "
                f"pipelines; got {step!r}. Transform the data first, or give a function `maps(model, X)` that returns "
                "the map."
            )
        gradients = gradients * affine.matrix if affine.matrix.ndim == 1 else (affine.matrix @ gradients.T).T
    return gradients


@gives_finite_numbers()
def map_correlation(first: Array, second: Array) -> float:
    """Pearson's correlation of two maps; zero where one of them is constant, and has nothing to reproduce.

    Parameters
    ----------
    first, second : arrays of shape (d,)

    Returns
    -------
    float in [−1, 1]
    """
    first, second = _standardized(_as_map(first)), _standardized(_as_map(second))
    # Of standardised maps: exactly one for equal ones, and no cancellation near it.
    if not (first.any() and second.any()):
        return 0.0
    return float(np.clip(1 - np.mean((first - second) ** 2) / 2, -1, 1))


@gives_finite_numbers()
def reproducible_map(first: Array, second: Array) -> Array:
    r"""The pattern that two maps share, in units of the noise in which they differ: rSPI(Z).

    Each map is divided by its standard deviation; with :math:`s = (w_1 + w_2)/\sqrt2` and :math:`n = (w_1 - w_2)
    /\sqrt2` the map is :math:`s / \operatorname{std}(n)`. As var(s) = 1 + r and var(n) = 1 − r for the correlation r of
    the maps, its standard deviation is :math:`\sqrt{(1 + r)/(1 - r)}` whatever the data: only the pattern carries
    information. Under Gaussian noise values are read as those of N(0, 1) where nothing is reproducible (see
    `fdr_threshold`).

    Parameters
    ----------
    first, second : arrays of shape (d,)
        Maps from independent halves of the data, of any positive scale, of the same orientation.

    Returns
    -------
    array of shape (d,)
        Zero where one of the maps is constant. Finite where they agree: their noise is then taken for 1.5e-8.

    See Also
    --------
    split_half : Makes the two maps, over many splits.
    preimage.neuro.MapDisplay : Draws maps.

    References
    ----------
    .. [1] S. C. Strother et al., "The quantitative evaluation of functional neuroimaging experiments: the NPAIRS data
       analysis framework", NeuroImage 15, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.neuro import reproducible_map
    >>> rng = np.random.default_rng(0)
    >>> truth = np.zeros(1000)
    >>> truth[:20] = 5
    >>> first, second = truth + rng.normal(size=(2, 1000))
    >>> r = np.corrcoef(first, second)[0, 1]
    >>> z = reproducible_map(first, second)
    >>> bool(np.isclose(z.std(), np.sqrt((1 + r) / (1 - r)))), bool(z[:20].mean() > 4)
    (True, True)
    """
    first, second = _as_map(first), _as_map(second)
    if not (_standardized(first).any() and _standardized(second).any()):
        return np.zeros_like(first)
    first, second = first / first.std(), second / second.std()
    noise = max(float((first - second).std()) / np.sqrt(2), SMALLEST_NOISE)
    return (first + second) / np.sqrt(2) / noise


@names_its_arguments
def fdr_threshold(z: Array, level: float = 0.05) -> float:
    """The smallest :math:`|Z|` that counts at a false discovery rate of `level`, after Benjamini and Hochberg.

    Parameters
    ----------
    z : array of any shape
        Standard normal where there is nothing; both signs count.
    level : float in (0, 1), default=0.05
        The fraction of false discoveries that is accepted.

    Returns
    -------
    float
        Infinite where nothing counts.

    See Also
    --------
    preimage.neuro.MapDisplay : Draws maps, also with a threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.neuro import fdr_threshold
    >>> fdr_threshold(np.array([0.1, -0.5, 4.0, -6.0, 0.3]))
    4.0
    """
    if not 0 < level < 1:
        raise ValueError(f"fdr_threshold accepts a fraction of false discoveries between 0 and 1; got level={level!r}.")
    sizes = np.sort(np.abs(np.ravel(z)))[::-1]
    if sizes.size == 0 or np.isnan(sizes).any():
        raise ValueError(f"fdr_threshold needs values that are numbers; got {sizes.size} values, some of them NaN.")
    p = 2 * norm.sf(sizes)
    counts = np.flatnonzero(p <= level * np.arange(1, sizes.size + 1) / sizes.size)
    return float(sizes[counts[-1]]) if counts.size else float("inf")


def _as_map(values: Array) -> Array:
    """A finite vector with a largest modulus of one, so that squares neither overflow nor vanish; or zeros."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"A map is a vector of finite values, one per variable; got an array of shape {values.shape}.")
    return values / (np.abs(values).max() or 1.0)


def _standardized(maps: Array) -> Array:
    """Maps with mean zero and deviation one, along the last axis; constant ones are zero."""
    sizes = np.abs(maps).max(axis=-1, keepdims=True, initial=0.0)
    maps = maps / np.where(sizes > 0, sizes, 1.0)  # squares of the largest and smallest numbers would not be finite
    deviations = maps.std(axis=-1, keepdims=True)
    varies = deviations > 8 * np.finfo(float).eps
    return np.where(varies, maps - maps.mean(axis=-1, keepdims=True), 0.0) / np.where(varies, deviations, 1.0)


@gives_finite_numbers()
def align_maps(maps: Array, reference: Array) -> Array:
    """Permute and flip maps to match those of a reference.

    Components of two halves of the data come in any order and with any sign. The assignment with the largest sum of
    absolute correlations, each map to one of the reference, is the best permutation; pairs matched greedily are not.

    Parameters
    ----------
    maps : array of shape (k, d)
        Maps in any order and with any sign.
    reference : array of shape (m, d)
        Maps in the order that is wanted.

    Returns
    -------
    array of shape (m, d)
        Row i is the map that belongs to row i of the reference, with a positive correlation; zero where there are fewer
        maps than in the reference.

    See Also
    --------
    split_half : Aligns maps of halves by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.neuro._maps import align_maps
    >>> reference = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 1.0, 0.0, 3.0]])
    >>> np.array_equal(align_maps(-2 * reference[::-1], reference), 2 * reference)
    True
    """
    maps, reference = (np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (maps, reference))
    if not (np.isfinite(maps).all() and np.isfinite(reference).all()):
        raise ValueError("align_maps needs maps of finite values; got NaN or infinity.")
    if maps.shape[1] != reference.shape[1]:
        raise ValueError(
            f"align_maps compares maps of the same variables; got {maps.shape[1]} and {reference.shape[1]} columns."
        )
    correlations = _standardized(maps) @ _standardized(reference).T / maps.shape[1]
    return matched(maps.T, *match(correlations)).T
