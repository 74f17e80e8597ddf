"""Widths from labelled points: where class means in feature space lie farthest apart."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import type_of_target

from preimage._engine.arrays import as_points, from_device, in_memory, take_rows
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.validation import generator
from preimage._engine.warnings import unwarned, warn_user
from preimage.exceptions import ConvergenceWarning
from preimage.kernels._bandwidth import CLASS_RULES, is_class_rule, resolve_gamma
from preimage.kernels._kernel import Kernel
from preimage.kernels._radial import Gaussian
from preimage.widths._class_gram import ClassGram, ClassPairs, require_width, stratified_rows
from preimage.widths._dispersion import Peak, dispersion, find_peak

# Widths are 2^k times one over the median squared distance, from the first k to the last: peaks of the data sets in
# docs/results lie within, and where one does not the grid grows.
FIRST_OCTAVE, LAST_OCTAVE = -6, 5
# Octaves by which a grid grows, one time after another, where the curve still rises at its end: 28 octaves in all are
# eight decades beyond the first grid, where kernels are constant or diagonal in double precision.
MORE_OCTAVES = (4, 8, 16)
# Points from which a rule for `gamma` finds its width. All pairs of them take about a second; with ten times more, a
# hundred times longer, class means would be more precise than the peak is sharp.
CLASS_POINTS = 4000


@dataclass(frozen=True)
class WidthCurves:
    """Dispersion of class means over widths.

    Parameters
    ----------
    gammas : array of shape (L,)
    criteria : dict of str to array of shape (L,)
    peak : Peak or None
        Of the criterion that was asked for; None when it is positive nowhere.
    gram : ClassGram
    """

    gammas: np.ndarray
    criteria: dict[str, np.ndarray]
    peak: Peak | None
    gram: ClassGram


@gives_finite_numbers()
def class_width(
    X: Rows,
    y: Targets,
    rule: str = "enclosing_ball",
    *,
    kernel: Kernel | None = None,
    unbiased: bool = True,
    n_samples: int | None = CLASS_POINTS,
) -> float:
    r"""The γ at which class means in feature space are most dispersed.

    ==================  ==========================================================================
    "enclosing_ball"    largest radius of the smallest ball around the class means
    "mean_distance"     largest mean distance between two class means; "median_distance",
                        "min_distance" and "max_distance" likewise
    "alignment"         largest centred kernel–target alignment
    ==================  ==========================================================================

    All vanish or level off for wide and for narrow kernels and have a peak between, which is sought on a doubling grid
    around one over the median squared distance, and refined by a parabola in log γ. Of a plateau the smallest γ is
    taken. These are good starting points, at the cost of one kernel matrix; they do not replace cross-validation.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The data.
    y : array of shape (n,)
        Class labels, of two classes or more.
    rule : str, default="enclosing_ball"
        What is largest, see the table.
    kernel : Kernel or None, default=None
        A kernel of a distance with a parameter `gamma`; None is Gaussian.
    unbiased : bool, default=True
        Leave out pairs of a point with itself, which make small classes seem far from all others in narrow kernels.
        Needs two members of each class.
    n_samples : int or None, default=4000
        Most points to look at, of all classes in proportion; None is all.

    Returns
    -------
    float
        γ.

    See Also
    --------
    with_class_widths : Fixes the width of a kernel by a rule.
    preimage.model_selection.WidthSearch : The curves, and an estimator with the width.
    preimage.kernels.resolve_gamma : Rules without labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from preimage.widths import class_width
    >>> X, y = load_digits(return_X_y=True)
    >>> round(class_width(X, y), 4), round(class_width(X, y, "alignment"), 4)
    (0.0006, 0.001)
    """
    if rule not in CLASS_RULES:
        raise ValueError(f"Unknown rule {rule!r} for a width from class means; known: {', '.join(CLASS_RULES)}.")
    kernel, X = Gaussian() if kernel is None else kernel, as_points(X)
    y = check_class_labels(f"gamma={rule!r}", y, X.shape[0], 2 if unbiased and rule != "alignment" else 1)
    rows = stratified_rows(y, n_samples, generator(0))
    X = X if rows.size == y.size else take_rows(X, rows)
    curves = width_curves(X, y[rows], rule, kernel=kernel, unbiased=unbiased, criteria=(rule,))
    return settled_gamma(curves, X, kernel, rule)


def needs_labels(kernel: Kernel) -> bool:
    """Whether the width of a kernel, or of a part of it, is found from class means."""
    return any(is_class_rule(value) for _, value, _ in kernel.open_parameters())


@unwarned()
def with_class_widths(kernel: Kernel, X: Array, y: Targets) -> Kernel:
    """A copy of a kernel in which every width that class means decide is fixed to its value.

    `resolve(X)` of the kernel that is returned fixes parameters that need no labels.

    Parameters
    ----------
    kernel : Kernel
        With a rule of `class_width` as its `gamma`, or as that of a part; others are returned as they are.
    X : array or sparse matrix of shape (n, d)
        The data.
    y : array of shape (n,)
        Class labels.

    Returns
    -------
    Kernel
        The kernel with numbers in place of these rules.

    See Also
    --------
    class_width : The rules, and the number alone.
    preimage.kernels.Kernel.resolve : Fixes what needs no labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from preimage.kernels import Gaussian, Linear
    >>> from preimage.widths import with_class_widths
    >>> X, y = load_iris(return_X_y=True)
    >>> kernel = with_class_widths(Gaussian("enclosing_ball") + Linear(), X, y)
    >>> round(kernel.left.gamma, 2)
    0.2
    """
    if not needs_labels(kernel):
        return kernel
    return kernel.rebuilt(
        lambda part: with_class_widths(part, kernel.inputs_of_parts(X), y),
        lambda name, value: class_width(X, y, value, kernel=kernel) if is_class_rule(value) else value,
    )


@unwarned()
def width_curves(
    X: Array,
    y: np.ndarray,
    criterion: str,
    *,
    gammas: ArrayLike | None = None,
    kernel: Kernel | None = None,
    unbiased: bool = True,
    criteria: Iterable[str] = CLASS_RULES,
) -> WidthCurves:
    """Curves of all `criteria`, and the peak of `criterion`, from one class Gram matrix.

    Without `gammas` the grid is found, and grows where the curve rises at its end; with them the peak is one of them.
    """
    kernel = Gaussian() if kernel is None else kernel
    require_width(kernel)
    names = tuple(dict.fromkeys((criterion, *criteria)))
    gram = ClassPairs(X, y, _first_grid(X, kernel) if gammas is None else gammas, kernel).gram()
    curves = _curves(gram, names, criterion, unbiased, interpolate=gammas is None)
    for octaves in MORE_OCTAVES if gammas is None else ():
        if curves.peak is None or not curves.peak.at_edge:
            break
        more = _further(curves.gammas, curves.peak.at_edge, octaves)
        gram = gram.joined(ClassPairs(X, y, more, kernel).gram())
        curves = _curves(gram, names, criterion, unbiased, interpolate=True)
    return curves


def settled_gamma(curves: WidthCurves, X: Array, kernel: Kernel, criterion: str) -> float:
    """The width of the peak; where there is none, with a warning, one over the median distance."""
    if curves.peak is None:
        fallback = resolve_gamma("median", X, kernel.metric)
        warn_user(
            f"{criterion}: the class means cannot be told apart at any width, as if labels had nothing to do with the "
            f"points. Taking gamma={fallback:.4g}, the rule 'median'.",
            ConvergenceWarning,
        )
        return fallback
    if curves.peak.at_edge:
        side, further = ("smallest", "smaller") if curves.peak.at_edge < 0 else ("largest", "larger")
        warn_user(
            f"{criterion} is largest at gamma={curves.peak.gamma:.4g}, the {side} of the grid; the peak may lie "
            f"beyond. Give {further} candidates, or another criterion.",
            ConvergenceWarning,
        )
    return curves.peak.gamma


def check_class_labels(who: str, y: Targets, n: int, min_members: int = 1) -> np.ndarray:
    """Labels in NumPy, of two classes or more with some members; an error that names `who` otherwise."""
    remedy = "Rules without labels are 'scale', 'median' and percentiles such as 'p5'."
    if y is None:
        raise ValueError(
            f"{who} finds a width from class means and needs class labels y; it got none. Give them to fit(X, y) where "
            f"it takes labels, or the number class_width(X, y). {remedy}"
        )
    y = np.asarray(from_device(in_memory(y)))
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"{who} finds a width from class means and needs class labels; got {kind} targets. {remedy}")
    if y.shape[0] != n:
        raise ValueError(f"{who} got {n} rows of X but {y.shape[0]} labels; each row needs one.")
    classes, counts = np.unique(y, return_counts=True)
    if classes.size < 2:
        raise ValueError(
            f"{who} finds a width from the means of two classes or more; all labels are {classes.tolist()[0]!r}. "
            f"{remedy}"
        )
    if counts.min() < min_members:
        lonely = classes.tolist()[int(np.argmin(counts))]
        raise ValueError(
            f"{who} compares different points within each class; class {lonely!r} has one member. Give it more, leave "
            f"it out, or take unbiased=False where there is a choice. {remedy}"
        )
    return y


def _curves(gram: ClassGram, names: Iterable[str], criterion: str, unbiased: bool, interpolate: bool) -> WidthCurves:
    curves = {name: dispersion(gram, name, unbiased) for name in names}
    return WidthCurves(gram.gammas, curves, find_peak(gram.gammas, curves[criterion], interpolate), gram)


def _first_grid(X: Array, kernel: Kernel) -> np.ndarray:
    return resolve_gamma("median", X, kernel.metric) * 2.0 ** np.arange(FIRST_OCTAVE, LAST_OCTAVE + 1)


def _further(gammas: np.ndarray, side: int, octaves: int) -> np.ndarray:
    if side < 0:
        return gammas[0] * 2.0 ** np.arange(-octaves, 0)
    return gammas[-1] * 2.0 ** np.arange(1, octaves + 1)
