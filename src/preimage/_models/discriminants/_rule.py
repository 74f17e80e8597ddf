"""From values of discriminants to decisions between classes, all of them linear in the values."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from preimage._engine.typing import Array
from preimage._engine.warnings import ignored, warn_user
from preimage.calibration._threshold import against_rest, most_probable
from preimage.exceptions import RankWarning
from preimage.feature_space import ClassMoments

THRESHOLDS = ("gaussian", "midpoint", "empirical", "margin")
#: Thresholds that need the values of all training points, not only their moments.
NEED_VALUES = ("empirical", "margin")
# Variances below this fraction of the squared distance of class means are raised to it. A discriminant with a small
# ridge is nearly constant within each class of its training data; that says nothing about new data and should not
# outweigh prior probabilities. Ten times larger, well separated classes would be treated as overlapping.
SMALLEST_VARIANCE = 1e-2
# The smallest weight of a class in a common covariance, as a fraction of an equal weight. With 0, a rare class would
# have no influence on its own covariance; with 1, every class would count alike, however few rows describe it.
SMALLEST_WEIGHT = 0.3
# Class means that differ by less than this fraction of everything else are equal up to rounding. Ten times the
# rounding errors of values with coefficients of size 1e5.
SAME = 1e-10
# Fraction of the total variance that is added to a covariance in every direction, to make it invertible: above rounding
# errors (1e-16), and far below any variance that could be estimated from data.
ROUNDING = 1e-12
# Largest log-odds of a class, where nothing but class counts is known: finite also where one class has no rows.
LARGEST_LOG_ODDS = 50.0
# The decision for a class that no row has shown yet: below all others, and finite in single precision as well.
NEVER = -1e30
# Relative difference up to which two weights, errors or curvatures count as equal: above sums of rounding errors.
EQUAL = 1e-12
# Cost of the margin rule, which the papers leave open; values are in units of their deviation. A hundred times larger
# is a hard margin, decided by the two nearest values; a hundred times smaller is the midpoint of the class means.
MARGIN_C = 10.0
# Limits of that cost times the sum of weights. Below, values are constant up to rounding next to the margin, and the
# larger class decides; above, the margin is hard to all digits. Far beyond, neither could be computed.
MARGIN_COSTS = (1e-6, 1e12)
# Tolerance of the search for the slope of the margin rule: below what single precision data resolve.
MARGIN_TOLERANCE = 1e-10

SAME_MEANS = (
    "Classes have the same mean in feature space, so Fisher's discriminant cannot tell them apart; the most frequent "
    "one is predicted throughout. Another kernel, or another width, may see a difference."
)


@dataclass(frozen=True)
class LinearRule:
    """Decisions F W + b from values F of discriminants: one for two classes, else one per class.

    Attributes
    ----------
    weights : array of shape (k, r)
    intercept : array of shape (r,)
    temperature : float
        Log-odds of a decision of one; probabilities are a logistic function or a softmax of decisions times it.
    against_rest : bool
        Whether decisions are log-odds of a class against the rest: probabilities are logistic functions of them, scaled
        to sum to one.
    """

    weights: Array
    intercept: Array
    temperature: float
    against_rest: bool = False

    def decisions(self, F: Array) -> Array:
        """Shape (n, r)."""
        return F @ self.weights + self.intercept

    def probabilities(self, decisions: Array) -> Array:
        """Shape (n, n_classes); the class that is chosen has the largest."""
        logits = self.temperature * np.asarray(decisions, dtype=np.float64)
        if logits.shape[1] == 1:
            logits = np.column_stack([np.zeros(len(logits)), logits])
        P = against_rest(logits) if self.against_rest else softmax(logits, axis=1)
        return most_probable(P, self.chosen(decisions))

    def chosen(self, decisions: Array) -> Array:
        """Codes of the classes, shape (n,)."""
        return (decisions[:, 0] > 0).astype(np.intp) if decisions.shape[1] == 1 else np.argmax(decisions, axis=1)


def rules_of(
    moments: ClassMoments,
    threshold: str,
    against_rest: bool,
    values: Sequence[Array | None],
    codes: Array | None,
    weights: Array | None,
) -> list[LinearRule]:
    """The decisions of each of a stack of discriminants.

    Parameters
    ----------
    moments : ClassMoments of a stack of values
    threshold : one of `THRESHOLDS`
    against_rest : bool
        Whether there is one discriminant per class.
    values : list of arrays of shape (n, k), or of None
        At the training rows, for thresholds that need them.
    codes, weights : arrays of shape (n,), or None
        Of these rows.
    """
    if against_rest:
        return [_one_vs_rest_rule(moments[j], threshold, each, codes, weights) for j, each in enumerate(values)]
    if len(moments) > 2:
        return many_class_rules(moments, threshold)
    columns = [None if each is None else each[:, 0] for each in values]
    return [two_class_rule(moments[j], threshold, each, codes == 1, weights) for j, each in enumerate(columns)]


def two_class_rule(
    moments: ClassMoments, threshold: str, values: Array | None, positive: Array, weights: Array | None
) -> LinearRule:
    """Decide between two classes by one discriminant f: 2(f − b)/(m₂ − m₁), so class means lie two units apart (F8).

    Parameters
    ----------
    moments : ClassMoments of the values, of two classes
    threshold : one of `THRESHOLDS`
    values, positive, weights : arrays of shape (n,), or None
        Training values, whether each is of the second class, and weights, for thresholds that need them.
    """
    means, counts = moments.means[:, 0], moments.counts
    # Scatters of values that are constant within classes are rounding errors of either sign.
    gap, scatters = means[1] - means[0], np.maximum(moments.scatters[:, 0, 0], 0)
    pooled = scatters.sum() / moments.count
    if not counts.all() or abs(gap) <= SAME * (np.max(np.abs(means)) + np.sqrt(pooled)):
        return _constant_rule(counts)
    smallest = SMALLEST_VARIANCE * gap**2
    pooled = max(pooled, smallest)
    if threshold == "midpoint":
        cut = np.mean(means)
    elif threshold == "gaussian":
        # One more observation of the common variance, so that the variance of a class of one point is not zero.
        variances = (scatters + pooled) / (counts + 1)
        cut = gaussian_threshold(means, np.maximum(variances, smallest), counts)
    else:
        rule = empirical_threshold if threshold == "empirical" else margin_threshold
        cut = rule(np.sign(gap) * values, np.where(positive, 1, -1), weights) * np.sign(gap)
    # Normal densities of equal variance have log-odds (f − b)(m₂ − m₁)/σ².
    return LinearRule(np.array([[2 / gap]]), np.array([-2 * cut / gap]), float(gap**2 / (2 * pooled)))


def _one_vs_rest_rule(
    moments: ClassMoments, threshold: str, values: Array | None, codes: Array | None, weights: Array | None
) -> LinearRule:
    """One discriminant per class, each in the units of `two_class_rule`; the largest wins."""
    n_classes = len(moments)
    rules = []
    for c in range(n_classes):
        members = np.arange(n_classes) == c
        of_column = ClassMoments(moments.counts, moments.means[:, [c]], moments.scatters[:, c, c, None, None])
        column = None if values is None else values[:, c]
        # A class that a stream has not shown yet needs no warning.
        with ignored(RankWarning) if moments.counts[c] == 0 else nullcontext():
            rules.append(two_class_rule(of_column.merged(members), threshold, column, codes == c, weights))
    slopes = np.diag([rule.weights[0, 0] for rule in rules])
    intercept = np.where(moments.counts > 0, [rule.intercept[0] for rule in rules], NEVER)
    return LinearRule(slopes, intercept, float(np.mean([rule.temperature for rule in rules])), against_rest=True)


def many_class_rules(moments: ClassMoments, threshold: str) -> list[LinearRule]:
    """Log posteriors (F10) of normal densities with a common covariance in the space of the discriminants.

    With "midpoint" all classes count as equally frequent, so the nearest class mean wins.

    Parameters
    ----------
    moments : ClassMoments of a stack of values
    threshold : "gaussian" or "midpoint"
    """
    means, mean, seen = moments.means, moments.mean[:, None, :], moments.counts > 0
    present, offsets = means[:, seen], means - mean
    # The mean of the covariances of the classes, in which no class has too small a weight.
    counts = moments.counts
    class_weights = np.where(seen, np.maximum(counts / moments.count, SMALLEST_WEIGHT / counts.size), 0.0)
    class_weights = class_weights / class_weights.sum() / np.where(seen, counts, 1.0)
    covariance = np.einsum("c,rckl->rkl", class_weights, moments.scatters)
    log_priors = np.where(seen, 0.0, NEVER)
    if threshold != "midpoint":
        np.log(counts / moments.count, out=log_priors, where=seen)
    # B of (F10), the mean of (m_c − m_d)(m_c − m_d)ᵀ over pairs of different classes.
    n_seen = int(np.count_nonzero(seen))
    apart = present - present.mean(axis=1, keepdims=True)
    between = apart.mT @ apart * (2 / max(n_seen - 1, 1))
    axes, theta = _joint_axes(covariance, between)
    # Along these axes the covariance is the identity, and pairs of means have squared distances θ on average. A distant
    # class therefore raises the variance along its own direction alone.
    variances = np.maximum(1, SMALLEST_VARIANCE * theta)
    weights = axes / variances[:, None, :] @ (axes.mT @ offsets.mT)  # Σ⁻¹(m_c − m), shape (…, k, C)
    # ½(m_c + m)ᵀΣ⁻¹(m_c − m): with the linear term, the squared distance to m_c up to what all classes share.
    constants = np.sum((means + mean).mT * weights, axis=1) / 2
    weights, intercepts = np.where(seen, weights, 0.0), np.where(seen, log_priors - constants, NEVER)
    spread = np.max(np.abs(offsets[:, seen]), axis=(1, 2))
    size = np.max(np.abs(present), axis=(1, 2)) + np.sqrt(np.maximum(np.trace(covariance, axis1=1, axis2=2), 0.0))
    same = spread <= SAME * size
    if same.any() and n_seen > 1:
        warn_user(SAME_MEANS, RankWarning)
    return [
        LinearRule(np.zeros_like(W), log_priors, 1.0) if is_same else LinearRule(W, b, 1.0)
        for W, b, is_same in zip(weights, intercepts, same, strict=True)
    ]


def _joint_axes(covariance: Array, between: Array) -> tuple[Array, Array]:
    """Axes A (…, k, k) and θ (…, k) with AᵀΣA = I and AᵀBA = diag θ, for covariances Σ that may be singular."""
    variances, vectors = np.linalg.eigh((covariance + covariance.mT) / 2)
    # Directions without variance within classes get a tiny one, so that θ there is large but finite.
    total = np.trace(covariance + between, axis1=1, axis2=2)[:, None]
    smallest = ROUNDING * np.maximum(total, 0.0) + np.finfo(float).tiny
    whitening = vectors / np.sqrt(np.maximum(variances, 0) + smallest)[:, None, :]
    theta, rotation = np.linalg.eigh(whitening.mT @ between @ whitening)
    return whitening @ rotation, theta


def _constant_rule(counts: Array) -> LinearRule:
    if counts.all():
        warn_user(SAME_MEANS, RankWarning)
    with np.errstate(divide="ignore"):
        log_odds = np.clip(np.log(counts[1]) - np.log(counts[0]), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    return LinearRule(np.zeros((1, 1)), np.array([log_odds]), 1.0)


def gaussian_threshold(means: Array, variances: Array, counts: Array) -> float:
    """Where two normal densities times prior probabilities are equal, between the means (F9).

    If they are equal nowhere between them, because one class is much more frequent, a common variance decides; the
    threshold may then lie beyond the means.

    Parameters
    ----------
    means, variances, counts : arrays of shape (2,)

    Examples
    --------
    >>> from preimage._models.discriminants._rule import gaussian_threshold
    >>> gaussian_threshold([-1.0, 1.0], [1.0, 1.0], [10, 10])
    0.0
    """
    (m1, m2), (v1, v2), (n1, n2) = means, variances, counts
    # The quadratic equation A b² + B b + C = 0 of equal densities.
    A = 1 / v1 - 1 / v2
    B = -2 * (m1 / v1 - m2 / v2)
    C = m1**2 / v1 - m2**2 / v2 + np.log(v1 / v2) + 2 * np.log(n2 / n1)
    if abs(A) <= EQUAL * (1 / v1 + 1 / v2):
        return float(-C / B)
    roots = np.roots([A, B, C])
    roots = roots[np.isreal(roots)].real
    inside = roots[(roots >= min(m1, m2)) & (roots <= max(m1, m2))]
    common = (n1 * v1 + n2 * v2) / (n1 + n2)
    return float(inside[0] if inside.size else (m1 + m2) / 2 + common * np.log(n1 / n2) / (m2 - m1))


def empirical_threshold(values: Array, signs: Array, weights: Array | None = None) -> float:
    """The median of all cuts with the smallest total weight of training errors.

    Parameters
    ----------
    values : array of shape (n,)
    signs : array of shape (n,), entries ±1
    weights : array of shape (n,), optional

    Examples
    --------
    >>> from preimage._models.discriminants._rule import empirical_threshold
    >>> empirical_threshold([0.0, 1.0, 2.0, 4.0], [-1, -1, 1, 1])
    1.5
    """
    values, signs = np.asarray(values, dtype=float), np.asarray(signs)
    weights = np.ones(values.size) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(values, kind="stable")
    ranked, positive = values[order], np.where(signs[order] > 0, weights[order], 0.0)
    negative = weights[order] - positive
    # Errors of a cut: positives below it and negatives above it.
    errors = np.concatenate([[0], np.cumsum(positive)]) + negative.sum() - np.concatenate([[0], np.cumsum(negative)])
    cuts = np.concatenate([[ranked[0] - 1], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1] + 1]])
    possible = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])  # no cut inside a tie
    fewest = errors[possible].min()
    return float(np.median(cuts[possible & (errors <= fewest + EQUAL * weights.sum())]))


def margin_threshold(values: Array, signs: Array, weights: Array | None = None, C: float = MARGIN_C) -> float:
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
        Small costs allow many errors for a wide margin: for 0 the larger class wins everywhere. Large ones make it
        hard, midway between the nearest values of separable classes.

    Examples
    --------
    >>> from preimage._models.discriminants._rule import margin_threshold
    >>> round(margin_threshold([0.0, 1.0, 3.0, 4.0], [-1, -1, 1, 1]), 6)
    2.0
    """
    values, signs = np.asarray(values, dtype=float), np.asarray(signs, dtype=float)
    weights = np.ones(values.size) if weights is None else np.asarray(weights, dtype=float)
    negatives = weights[signs < 0].sum()
    # The deviation under weights that give both classes the same total; one where all values are equal.
    balanced = weights / np.where(signs < 0, negatives, weights.sum() - negatives)
    center = np.average(values, weights=balanced)
    scale = float(np.sqrt(np.average((values - center) ** 2, weights=balanced))) or 1.0
    g = values / scale
    C = float(np.clip(C, *(limit / weights.sum() for limit in MARGIN_COSTS)))

    def best_offset(w: float) -> tuple[float, float]:
        """The best b for a given w, and the sum of the hinge losses."""
        breaks = w * g - signs
        order = np.argsort(breaks, kind="stable")
        # The derivative at b is the weight of breaks below b less the weight of the negatives.
        below = np.cumsum(weights[order])
        first = np.searchsorted(below, negatives * (1 - EQUAL))
        last = min(np.searchsorted(below, negatives * (1 + EQUAL), side="right"), breaks.size - 1)
        b = (breaks[order[first]] + breaks[order[max(first, last)]]) / 2
        return b, weights @ np.maximum(0, 1 - signs * (w * g - b))

    # w = 0 has the objective C Σ weights at most, so that no larger ½w² can be optimal.
    largest = np.sqrt(2 * C * weights.sum())
    objective = lambda w: 0.5 * w * w + C * best_offset(w)[1]
    options = {"xatol": MARGIN_TOLERANCE}
    w = minimize_scalar(objective, bounds=(EQUAL, largest), method="bounded", options=options).x
    return float(scale * best_offset(w)[0] / w)
