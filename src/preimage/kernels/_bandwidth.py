"""Bandwidths: from data, and between the conventions of the literature."""

import re
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist, pdist

from preimage._engine.arrays import array_namespace, as_points, is_sparse, take_rows, to_numpy
from preimage._engine.finite import gives_finite_numbers, is_finite, is_moderate, training_inputs
from preimage._engine.registry import nearest_name
from preimage._engine.rows import cut
from preimage._engine.threads import run_parallel
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, StrOptions

# A positive number; None or the name of a rule until data decide. `Any`, because formulas compute with the number.
Gamma: TypeAlias = Any

#: The constraints of a parameter `gamma`: a number, or a rule that finds one from data (see `resolve_gamma`).
#: Largest number for it: formulas multiply it by small integers, and infinity times zero is not a number.
LARGEST_GAMMA = 1e300
GAMMA = [Interval(Real, 0, LARGEST_GAMMA, closed="right"), StrOptions({"auto", "scale", "median"}), str, None]

#: Rules that find a width from labelled points: see `preimage.widths.class_width`.
CLASS_RULES = ("enclosing_ball", "mean_distance", "median_distance", "min_distance", "max_distance", "alignment")

#: The rule that chooses a width on left-out rows, in `KernelPCA.fit`.
RECONSTRUCTION = "reconstruction"

#: The rule that learns a width for each column from targets, in fits of estimators that have them.
RELEVANCE = "relevance"

# Every word, other than percentiles.
RULES = ("auto", "scale", "median", RECONSTRUCTION, RELEVANCE, *CLASS_RULES)

# Rows from which percentiles of distances are found: two thousand have two million pairs, whose percentiles are exact
# to a few per mille whatever the size of the data. Ten times more would take a hundred times longer.
MAX_POINTS = 2000
# Distances are computed in so many pieces, of so many rows at least: several for each of eight threads.
PIECES, ROWS = 24, 64
# Every so-many-th distance is looked at first, to find where percentiles lie: a few thousand of two million. Ten times
# fewer would leave ten times as many distances to sort.
STRIDE = 193

# γ = a/(w^p d) for the width w in a convention: a, p, and whether d is the number of variables; γ itself is w.
_CONVENTIONS: dict[str, tuple[float, int, bool]] = {
    "gamma": (1.0, -1, False),
    "c": (1.0, 1, False),
    "sigma": (0.5, 2, False),
    "length_scale": (0.5, 2, False),
    "kernel_scale": (1.0, 2, False),
    "c_per_feature": (1.0, 1, True),
}


@gives_finite_numbers()
def resolve_gamma(gamma: Gamma, X: Array, metric: str = "sqeuclidean") -> float:
    """The number that a `gamma` parameter means on X.

    ===========  =====================================================================================
    ``None``     1 / n_features, as in scikit-learn's KernelPCA ("auto" is the same)
    "scale"      1 / (n_features · variance of X), as in scikit-learn's SVC
    "median"     1 / median squared distance between distinct points; the same as "p50"
    "p5"         1 / 5th percentile of the squared distances, and so on from "p0" to "p100"
    a number     itself
    ===========  =====================================================================================

    Rules that need class labels, such as "enclosing_ball", are those of `class_width`. "reconstruction" is a rule of
    `KernelPCA` alone, and "relevance", a width for each column, one of estimators that are given targets.

    Parameters
    ----------
    gamma : float, None or str
        A number, or one of the rules in the table.
    X : array of shape (n, d)
        The data. Percentiles are those of at most 2,000 rows.
    metric : {"sqeuclidean", "cityblock", "chi2"}, default="sqeuclidean"
        The distance of which the median and percentiles are taken: that of the kernel.

    Returns
    -------
    float
        γ > 0.

    See Also
    --------
    squared_distance_percentile : The percentiles of the table.
    gamma_from_width : γ from a width that a paper gives.
    preimage.widths.class_width : Rules that look at class labels.
    preimage.model_selection.WidthSearch : A search in place of a rule.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import resolve_gamma
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> resolve_gamma("median", X)
    0.25
    >>> resolve_gamma(None, X), resolve_gamma(0.3, X)
    (1.0, 0.3)
    """
    if isinstance(gamma, Real):
        return float(gamma)
    if is_class_rule(gamma):
        raise ValueError(
            f"gamma={gamma!r} finds a width from class means and needs labels: call fit(X, y), or "
            "preimage.widths.with_class_widths(kernel, X, y) for a kernel. Rules without labels are 'scale', 'median' "
            "and percentiles such as 'p5'."
        )
    if isinstance(gamma, str) and gamma == RECONSTRUCTION:
        raise ValueError(
            f"gamma={gamma!r} chooses the width with which kernel PCA reconstructs left-out rows best: only "
            "KernelPCA.fit knows how. Rules that any estimator takes are 'scale', 'median' and percentiles such as "
            "'p5'."
        )
    if isinstance(gamma, str) and gamma == RELEVANCE:
        raise ValueError(
            f"gamma={RELEVANCE!r} learns a width for each column from targets or labels: call fit(X, y) of an "
            "estimator that takes them, such as SparseGreedyRegressor, SparseGreedyClassifier or KernelPCA, whose "
            "`kernel_` has the widths. Rules that any estimator takes are 'scale', 'median' and percentiles such as "
            "'p5'."
        )
    X = as_points(X)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(
            f"resolve_gamma finds gamma={gamma!r} from data of shape (n, d) with at least a row and a column; got "
            f"shape {tuple(X.shape)}."
        )
    if gamma is None or gamma == "auto":
        return 1 / X.shape[1]
    if not is_moderate(X):
        if not is_finite(X):
            raise ValueError(f"resolve_gamma finds gamma={gamma!r} from finite numbers; X has NaN or infinity.")
        X = training_inputs(f"gamma={gamma!r}", X)
    if gamma == "scale":
        variance = _variance(X)
        return 1 / (X.shape[1] * variance) if variance > 0 else 1.0
    return 1 / _distance_percentile(X, 50.0 if gamma == "median" else _percentile(gamma), metric)


def require_rule(gamma: str) -> None:
    """Raise ValueError for a word that no kernel takes for `gamma`."""
    if gamma not in RULES:
        _percentile(gamma)


def is_class_rule(gamma: Gamma) -> bool:
    """Whether a `gamma` parameter names a rule that needs class labels."""
    return isinstance(gamma, str) and gamma in CLASS_RULES


@gives_finite_numbers()
def squared_distance_percentile(X: Array, percentile: float) -> float:
    """A percentile of ‖xᵢ − xⱼ‖² over pairs i < j of distinct points, from at most 2,000 rows.

    Duplicates make low percentiles zero; the smallest positive distance is returned then.

    Parameters
    ----------
    X : array of shape (n, d)
        The data.
    percentile : float
        From 0 to 100.

    Returns
    -------
    float
        The squared distance, positive.

    See Also
    --------
    resolve_gamma : γ = 1 / percentile, by rules such as "median" and "p5".
    preimage.model_selection.WidthSearch : Searches a grid around the median.

    Examples
    --------
    The squared distances of these points are 1, 4 and 9:

    >>> import numpy as np
    >>> from preimage.kernels import squared_distance_percentile
    >>> squared_distance_percentile(np.array([[0.0], [1.0], [3.0]]), 50)
    4.0
    """
    return _distance_percentile(as_points(X), percentile, "sqeuclidean")


def _distance_percentile(X: Array, percentile: float, metric: str) -> float:
    n = X.shape[0]
    if n > MAX_POINTS:
        X = take_rows(X, np.sort(np.random.default_rng(0).choice(n, MAX_POINTS, replace=False)))
    parts = _distances(to_numpy(X).astype(np.float64), metric)
    place = percentile / 100 * (max(sum(part.size for part in parts), 1) - 1)
    low, high = _order_statistics(parts, int(place))
    value = float(np.percentile([low, high], 100 * (place - int(place))))
    if low > 0:
        return value
    smallest = min((float(part.min(where=part > 0, initial=np.inf)) for part in parts), default=np.inf)
    if smallest == np.inf:
        raise ValueError(
            "A bandwidth from distances needs at least two distinct points; all rows are equal. Give gamma as a number."
        )
    return max(value, smallest)


def _distances(X: np.ndarray, metric: str) -> list[np.ndarray]:
    """Distances of pairs i < j, in pieces; "chi2" is scikit-learn's name of a metric, others are SciPy's."""
    n = X.shape[0]
    if metric == "chi2":
        from sklearn.metrics.pairwise import additive_chi2_kernel

        return [-additive_chi2_kernel(X)[np.triu_indices(n, 1)]]

    def of_rows(rows: slice) -> list[np.ndarray]:
        return [pdist(X[rows], metric), cdist(X[rows], X[rows.stop :], metric).ravel()]

    return [part for parts in run_parallel(of_rows, cut(n, max(ROWS, n // PIECES))) for part in parts]


def _order_statistics(parts: list[np.ndarray], k: int) -> tuple[float, float]:
    """The k-th smallest of all numbers, from zero, and the next one; NaN where there are none, or one of them is."""
    size = sum(part.size for part in parts)
    if size == 0:
        return np.nan, np.nan
    sample = np.sort(np.concatenate([part[::STRIDE] for part in parts]))
    # The place in a sample of m has a standard deviation of √m/2 at most: four of them miss one time in ten thousand.
    margin = 2 * sample.size**0.5 + 1
    low, high = (sample[int(np.clip(k / size * sample.size + step, 0, sample.size - 1))] for step in (-margin, margin))

    def between(part: np.ndarray) -> tuple[int, np.ndarray]:
        below = part < low
        return int(np.count_nonzero(below)), part[~(below | (part > high))]

    found = run_parallel(between, parts)
    inside, first = np.concatenate([part for _, part in found]), k - sum(count for count, _ in found)
    last = min(first + 1, size - 1 - k + first)
    if first < 0 or last >= inside.size:
        inside, first, last = np.concatenate(parts), k, min(k + 1, size - 1)
    ordered = np.partition(inside, [first, last])
    return float(ordered[first]), float(ordered[last])


def gamma_from_width(width: float, convention: str, n_features: int | None = None) -> float:
    """The γ of exp(−γ‖x − y‖²) for a width given in another convention.

    ================  ==========================  =======================
    convention        kernel                      γ
    ================  ==========================  =======================
    "gamma"           exp(−w‖x−y‖²)               w
    "c"               exp(−‖x−y‖²/w)              1/w
    "sigma"           exp(−‖x−y‖²/(2w²))          1/(2w²)
    "length_scale"    exp(−½‖x−y‖²/w²)            1/(2w²)
    "kernel_scale"    exp(−‖x−y‖²/w²)             1/w²
    "c_per_feature"   exp(−‖x−y‖²/(d·w))          1/(d·w), d = n_features
    ================  ==========================  =======================

    Parameters
    ----------
    width : float
        The width w > 0 in the convention that is named.
    convention : {"gamma", "c", "sigma", "length_scale", "kernel_scale", "c_per_feature"}
        What w means, see the table.
    n_features : int or None, default=None
        The number d of variables, for "c_per_feature".

    Returns
    -------
    float
        γ.

    See Also
    --------
    resolve_gamma : γ by a rule from data.

    Examples
    --------
    >>> from preimage.kernels import gamma_from_width
    >>> gamma_from_width(0.5, "c_per_feature", n_features=256)
    0.0078125
    >>> gamma_from_width(8, "sigma")
    0.0078125
    """
    scale, power, d = _convention(width, convention, n_features)
    return width if convention == "gamma" else scale / (width**power * d)


def width_from_gamma(gamma: float, convention: str, n_features: int | None = None) -> float:
    """The inverse of `gamma_from_width`.

    Parameters
    ----------
    gamma : float
        γ > 0.
    convention : {"gamma", "c", "sigma", "length_scale", "kernel_scale", "c_per_feature"}
        What the width means, see the table of `gamma_from_width`.
    n_features : int or None, default=None
        The number d of variables, for "c_per_feature".

    Returns
    -------
    float
        The width w.

    See Also
    --------
    gamma_from_width : The other direction, with the table of conventions.
    resolve_gamma : γ by a rule from data.

    Examples
    --------
    >>> from preimage.kernels import width_from_gamma
    >>> width_from_gamma(0.0078125, "sigma")
    8.0
    """
    scale, power, d = _convention(gamma, convention, n_features)
    return gamma if convention == "gamma" else (scale / gamma / d) ** (1 / power)


def _convention(value: float, convention: str, n_features: int | None) -> tuple[float, int, int]:
    """a, p and d of a convention, checked."""
    if convention not in _CONVENTIONS:
        raise ValueError(f"Unknown width convention {convention!r}; known: {', '.join(_CONVENTIONS)}.")
    if not value > 0:
        raise ValueError(f"A width must be positive; got {value!r}.")
    scale, power, per_feature = _CONVENTIONS[convention]
    if per_feature and not n_features:
        raise ValueError("The convention 'c_per_feature' needs n_features, the number of input dimensions.")
    return scale, power, n_features if per_feature and n_features else 1


def _percentile(gamma: str) -> float:
    match = re.fullmatch(r"p(\d+(?:\.\d+)?)", str(gamma))
    if match is None or float(match[1]) > 100:
        raise ValueError(
            "gamma must be a positive number, None, 'auto', 'scale', 'median', a percentile such as 'p5', "
            f"{RECONSTRUCTION!r} in KernelPCA, or, with labels or targets, one of "
            f"{', '.join(map(repr, (RELEVANCE, *CLASS_RULES)))}; got {gamma!r}{nearest_name(gamma, RULES)}."
        )
    return float(match[1])


def _variance(X: Array) -> float:
    if is_sparse(X):
        return float(X.multiply(X).mean() - X.mean() ** 2)
    xp = array_namespace(X)
    return float(xp.mean((X - xp.mean(X)) ** 2))
