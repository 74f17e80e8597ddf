"""Where to cut the values of one discriminant between two classes."""

import numpy as np
from scipy.optimize import minimize_scalar

# The margin rule of the papers leaves its constant open; outputs are in units of their deviation.
MARGIN_C = 10.0


def midpoint_threshold(means):
    """Half-way between the means of the classes."""
    return float(np.mean(means))


def gaussian_threshold(means, variances, counts):
    """Where two normal densities times prior probabilities are equal, between the means.

    Where they are equal nowhere there, one class being much more frequent, a common variance decides, whose threshold
    may lie beyond the means.

    Parameters
    ----------
    means, variances, counts : arrays of shape (2,)

    Examples
    --------
    >>> from preimage.discriminants import gaussian_threshold
    >>> gaussian_threshold([-1.0, 1.0], [1.0, 1.0], [10, 10])
    0.0
    """
    (m1, m2), (v1, v2), (n1, n2) = means, variances, counts
    A = 1 / v1 - 1 / v2
    B = -2 * (m1 / v1 - m2 / v2)
    C = m1**2 / v1 - m2**2 / v2 + np.log(v1 / v2) + 2 * np.log(n2 / n1)
    if abs(A) <= 1e-12 * (1 / v1 + 1 / v2):
        return float(-C / B)
    roots = np.roots([A, B, C])
    roots = roots[np.isreal(roots)].real
    inside = roots[(roots >= min(m1, m2)) & (roots <= max(m1, m2))]
    common = (n1 * v1 + n2 * v2) / (n1 + n2)
    return float(inside[0] if inside.size else (m1 + m2) / 2 + common * np.log(n1 / n2) / (m2 - m1))


def empirical_threshold(values, signs, weights=None):
    """The median of all cuts with the smallest weight of training errors.

    Parameters
    ----------
    values : array of shape (n,)
    signs : array of shape (n,), entries ±1
    weights : array of shape (n,), optional

    Examples
    --------
    >>> from preimage.discriminants import empirical_threshold
    >>> empirical_threshold([0.0, 1.0, 2.0, 4.0], [-1, -1, 1, 1])
    1.5
    """
    values, signs = np.asarray(values, dtype=float), np.asarray(signs)
    weights = np.ones(values.size) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(values, kind="stable")
    ranked, positive = values[order], np.where(signs[order] > 0, weights[order], 0.0)
    negative = weights[order] - positive
    errors = np.concatenate([[0], np.cumsum(positive)]) + negative.sum() - np.concatenate([[0], np.cumsum(negative)])
    cuts = np.concatenate([[ranked[0] - 1], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1] + 1]])
    possible = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])  # no cut inside a tie
    fewest = errors[possible].min()
    return float(np.median(cuts[possible & (errors <= fewest + 1e-12 * weights.sum())]))


def margin_threshold(values, signs, weights=None, C=MARGIN_C):
    r"""The threshold b/w of a soft-margin support vector machine on the values alone.

    Minimises :math:`\frac12 w^2 + C \sum_i (1 - y_i (w g_i - b))_+` for values g in units of their deviation (with
    classes of equal weight): exactly in b, where the objective is piecewise linear, and by a search over w, in which
    the rest is convex.

    Parameters
    ----------
    values : array of shape (n,)
    signs : array of shape (n,), entries ±1
        Both occur.
    weights : array of shape (n,), optional
        Multiply C.
    C : float, default=10.0

    Examples
    --------
    >>> from preimage.discriminants import margin_threshold
    >>> round(margin_threshold([0.0, 1.0, 3.0, 4.0], [-1, -1, 1, 1]), 6)
    2.0
    """
    values, signs = np.asarray(values, dtype=float), np.asarray(signs, dtype=float)
    weights = np.ones(values.size) if weights is None else np.asarray(weights, dtype=float)
    negatives = weights[signs < 0].sum()
    scale = _balanced_deviation(values, weights / np.where(signs < 0, negatives, weights.sum() - negatives))
    g = values / scale

    def best_offset(w):
        breaks = w * g - signs
        order = np.argsort(breaks, kind="stable")
        # The slope at b is the weight of breaks below it less that of the negatives.
        below = np.cumsum(weights[order])
        first = np.searchsorted(below, negatives * (1 - 1e-12))
        last = min(np.searchsorted(below, negatives * (1 + 1e-12), side="right"), breaks.size - 1)
        b = (breaks[order[first]] + breaks[order[max(first, last)]]) / 2
        return b, weights @ np.maximum(0, 1 - signs * (w * g - b))

    top = np.sqrt(2 * C * weights.sum())
    objective = lambda w: 0.5 * w * w + C * best_offset(w)[1]
    w = minimize_scalar(objective, bounds=(1e-12, top), method="bounded", options={"xatol": 1e-10}).x
    return float(scale * best_offset(w)[0] / w)


def _balanced_deviation(values, weights):
    """Standard deviation under weights that give both classes the same say; one where all values are equal."""
    center = np.average(values, weights=weights)
    return float(np.sqrt(np.average((values - center) ** 2, weights=weights))) or 1.0
