"""Widths from labelled points: where class means in feature space lie farthest apart."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import type_of_target

from preimage._engine.arrays import as_points, from_device, in_memory, take_rows
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.registry import Part, Registry
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.validation import generator
from preimage._engine.warnings import unwarned, warn_user
from preimage.exceptions import ConvergenceWarning
from preimage.kernels._bandwidth import is_class_rule, resolve_gamma
from preimage.kernels._kernel import Kernel
from preimage.kernels._radial import Gaussian
from preimage.widths._class_gram import ClassGram, class_gram, require_width, stratified_rows
from preimage.widths._enclosing import Ball, centered, gram_ball

# Widths are 2^k times one over the median squared distance, from the first k to the last: peaks of the data sets in
# docs/results lie within, and where one does not the grid grows.
FIRST_OCTAVE, LAST_OCTAVE = -6, 5
# Octaves by which a grid grows, one time after another, where the curve still rises at its end: 28 octaves in all are
# eight decades beyond the first grid, where kernels are constant or diagonal in double precision.
MORE_OCTAVES = (4, 8, 16)
# Points from which a rule for `gamma` finds its width. All pairs of them take about a second; with ten times more, a
# hundred times longer, class means would be more precise than the peak is sharp.
CLASS_POINTS = 4000
# Values within this fraction of the largest count as one plateau: a curve that levels off for narrow kernels, of which
# the widest one is taken. Ten times more would take the flanks of a broad peak for a plateau.
PLATEAU = 1e-3
# Negative eigenvalues below this fraction of the largest squared norm are rounding errors of sums over classes. Larger
# ones are removed, which costs a full decomposition; they move the radius by as much as they are large.
POSITIVE = 1e-12


def squared_class_distances(G: np.ndarray) -> np.ndarray:
    """‖m_m − m_n‖² = G_mm + G_nn − 2G_mn over pairs m < n, shape (L, K(K − 1)/2), from G of shape (L, K, K).

    Estimates without pairs of a point with itself can be negative where classes are alike; they become zero.
    """
    diagonal = np.einsum("lkk->lk", G)
    left, right = np.triu_indices(G.shape[1], 1)
    return np.maximum(diagonal[:, left] + diagonal[:, right] - 2 * G[:, left, right], 0)


def class_balls(G: np.ndarray) -> list[Ball]:
    """The smallest ball around the class means for every width.

    Without pairs of a point with itself, estimates of G may have negative eigenvalues, so that no points have these
    inner products. The nearest matrix without negative eigenvalues on vectors of sum zero is used instead.
    """
    return [gram_ball(_euclidean(each)) for each in G]


def alignment(gram: ClassGram) -> np.ndarray:
    r"""Centred kernel–target alignment of every width, shape (L,).

    .. math:: \frac{\langle HKH, T\rangle}{\|HKH\|\, \|HTH\|}, \qquad T_{ij} = [y_i = y_j],

    the cosine of the angle between kernel matrix and the ideal one, H = I − 11ᵀ/N: what sums over classes, the sum of
    squares and row sums of K tell.
    """
    counts = gram.counts.astype(float)
    n = counts.sum()
    with_all = np.einsum("lmn,n->lm", gram.values, counts)  # mean over class m of the row sums
    total = with_all @ counts
    own = np.einsum("lkk->lk", gram.values) @ counts**2
    product = own - 2 / n * with_all @ counts**2 + total * (counts @ counts) / n**2
    squared_norm = gram.squared_norms - 2 / n * gram.squared_row_sums + total**2 / n**2
    target = counts @ counts - 2 / n * (counts**3).sum() + (counts @ counts) ** 2 / n**2
    return product / np.sqrt(np.maximum(squared_norm * target, np.finfo(float).tiny))


def _distances(summary: Callable[..., np.ndarray]) -> Callable[[ClassGram, bool], np.ndarray]:
    """A rule from a summary of the distances between class means, over the last axis."""
    return lambda gram, unbiased: summary(np.sqrt(squared_class_distances(gram.means(unbiased))), axis=1)


#: What a width from class means makes largest: functions of a class Gram matrix, and of whether pairs of a point with
#: itself are left out, which alignment cannot do.
CLASS_RULES: Registry[np.ndarray] = Registry(
    "rule for a width from class means",
    Part(
        "enclosing_ball",
        lambda gram, unbiased: np.array([ball.radius for ball in class_balls(gram.means(unbiased))]),
        "largest radius of the smallest ball around the class means",
    ),
    Part("mean_distance", _distances(np.mean), "largest mean distance between two class means"),
    Part("median_distance", _distances(np.median), "largest median distance between two class means"),
    Part("min_distance", _distances(np.min), "largest smallest distance between two class means"),
    Part("max_distance", _distances(np.max), "largest distance between two class means"),
    Part("alignment", lambda gram, unbiased: alignment(gram), "largest centred kernel–target alignment"),
)


@dataclass(frozen=True)
class Peak:
    """The largest value of a curve over widths.

    Parameters
    ----------
    index : int
        Its position on the grid: of a plateau, that of the smallest γ.
    gamma : float
        The width there, or at the top of the parabola through it and its neighbours.
    at_edge : {-1, 0, 1}
        Whether it is the first or last width of the grid, beyond which the curve may rise further.
    """

    index: int
    gamma: float
    at_edge: int


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
    rule = CLASS_RULES[rule].name
    kernel, X = Gaussian() if kernel is None else kernel, as_points(X)
    y = check_class_labels(f"gamma={rule!r}", y, X.shape[0], 2 if unbiased and rule != "alignment" else 1)
    rows = stratified_rows(y, n_samples, generator(0))
    X = X if rows.size == y.size else take_rows(X, rows)
    curves = width_curves(X, y[rows], rule, kernel=kernel, unbiased=unbiased, criteria=(rule,))
    return settled_gamma(curves, X, kernel, rule)


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
    if not any(is_class_rule(value) for _, value, _ in kernel.open_parameters()):
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
    criteria: Iterable[str] = CLASS_RULES.names,
) -> WidthCurves:
    """Curves of all `criteria`, and the peak of `criterion`, from one class Gram matrix.

    Without `gammas` the grid is found, and grows where the curve rises at its end; with them the peak is one of them.
    """
    kernel = Gaussian() if kernel is None else kernel
    require_width(kernel)
    names = tuple(dict.fromkeys((criterion, *criteria)))

    def curves_of(gram: ClassGram) -> WidthCurves:
        curves = {name: CLASS_RULES[name].make(gram, unbiased) for name in names}
        return WidthCurves(gram.gammas, curves, find_peak(gram.gammas, curves[criterion], gammas is None), gram)

    octaves = 2.0 ** np.arange(FIRST_OCTAVE, LAST_OCTAVE + 1)
    grid = resolve_gamma("median", X, kernel.metric) * octaves if gammas is None else gammas
    curves = curves_of(class_gram(X, y, grid, kernel))
    for count in MORE_OCTAVES if gammas is None else ():
        if curves.peak is None or not curves.peak.at_edge:
            break
        # Further octaves beyond the end where the curve still rises.
        lower, upper = np.arange(-count, 0), np.arange(1, count + 1)
        below = curves.peak.at_edge < 0
        more = curves.gammas[0 if below else -1] * 2.0 ** (lower if below else upper)
        curves = curves_of(curves.gram.joined(class_gram(X, y, more, kernel)))
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


def find_peak(gammas: ArrayLike, values: ArrayLike, interpolate: bool = True) -> Peak | None:
    """The width of the largest value; of a plateau the smallest γ, which is the widest kernel.

    Parameters
    ----------
    gammas : array of shape (L,)
        Increasing.
    values : array of shape (L,)
    interpolate : bool, default=True
        Whether to go to the top of the parabola in log γ through the peak and its neighbours.

    Returns
    -------
    Peak or None
        None when no value is positive: the means cannot be told apart at any width.
    """
    gammas, values = np.asarray(gammas, dtype=float), np.asarray(values, dtype=float)
    top = int(np.argmax(values))
    if not values[top] > 0:
        return None
    index = top
    while index > 0 and values[index - 1] >= (1 - PLATEAU) * values[top]:
        index -= 1
    # A plateau of several values that ends with the grid is one; a single value there may lie on a rising curve.
    at_edge = -1 if index == 0 else int(index == len(values) - 1)
    # Two similar values may lie on both sides of a maximum; three are a plateau.
    is_peaked = 0 < top < len(values) - 1 and top - index < 2
    if not interpolate or at_edge or not is_peaked:
        return Peak(index, float(gammas[index]), at_edge if len(values) > 1 else 0)
    x = np.log(gammas[top - 1 : top + 2])
    return Peak(top, float(np.exp(_parabola_top(x, values[top - 1 : top + 2]))), 0)


def _parabola_top(x: np.ndarray, y: np.ndarray) -> float:
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    curvature = (right - left) / (x[2] - x[0])
    if not curvature < 0:
        return x[1]
    # The derivative at the middle of the first two is `left`; it falls to zero where the maximum is.
    top = (x[0] + x[1]) / 2 - left / (2 * curvature)
    return min(max(top, x[0]), x[2])


def _euclidean(G: np.ndarray) -> np.ndarray:
    """The nearest Gram matrix of points whose mean is zero."""
    G = centered(G)
    if _is_positive(G):
        return G
    # Leaving out negative eigenvalues gives the nearest positive semidefinite matrix in Frobenius norm.
    values, vectors = np.linalg.eigh(G)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def _is_positive(centered: np.ndarray) -> bool:
    """Whether no eigenvalue is negative beyond rounding errors: a factorisation is much cheaper than all of them."""
    n = len(centered)
    scale = float(np.abs(np.diagonal(centered)).max())
    # The constant vector has the eigenvalue zero, which rounding may make negative; it is raised to the scale of the
    # others.
    try:
        np.linalg.cholesky(centered + scale / n + POSITIVE * scale * np.eye(n))
    except np.linalg.LinAlgError:
        return scale == 0
    return True
