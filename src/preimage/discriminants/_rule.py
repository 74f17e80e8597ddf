"""From values of discriminants to decisions between classes, all of them linear in the values."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_expit, softmax

from preimage._warnings import warn_user
from preimage.discriminants._thresholds import (
    empirical_threshold,
    gaussian_threshold,
    margin_threshold,
    midpoint_threshold,
)
from preimage.exceptions import RankWarning

THRESHOLDS = ("gaussian", "midpoint", "empirical", "margin")
#: Thresholds that need the values of all training points, not only their moments.
NEED_VALUES = ("empirical", "margin")
# Variances below this share of the squared distance of class means are taken for it: what a discriminant with a small
# ridge makes of its training data says nothing about new ones, and should not outweigh prior probabilities.
SMALLEST_VARIANCE = 1e-2
# The least say of a class in a common covariance, as a share of an equal one, however small the weight of the class.
SMALLEST_SHARE = 0.3
# Classes whose means differ by less than this share of everything else do not differ.
SAME = 1e-10
# The share of all variance that a covariance gets in every direction, to be invertible.
ROUNDING = 1e-12

SAME_MEANS = (
    "Classes have the same mean in feature space, so Fisher's discriminant cannot tell them apart; the most frequent "
    "one is predicted throughout. Another kernel, or another width, may see a difference."
)


@dataclass(frozen=True)
class LinearRule:
    """Decisions F W + b from values F of discriminants: one for two classes, else one a class.

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

    weights: Any
    intercept: Any
    temperature: float
    against_rest: bool = False

    def decisions(self, F):
        """Shape (n, r)."""
        return F @ self.weights + self.intercept

    def probabilities(self, decisions):
        """Shape (n, n_classes)."""
        logits = self.temperature * np.asarray(decisions, dtype=np.float64)
        if logits.shape[1] == 1:
            logits = np.column_stack([np.zeros(len(logits)), logits])
        return softmax(log_expit(logits) if self.against_rest else logits, axis=1)

    def chosen(self, decisions):
        """Codes of the classes, shape (n,)."""
        return (decisions[:, 0] >= 0).astype(np.intp) if decisions.shape[1] == 1 else np.argmax(decisions, axis=1)


def two_class_rule(moments, threshold, values=None, signs=None, weights=None):
    """Decide between two classes by one discriminant f: 2(f − b)/(m₂ − m₁), so class means lie two units apart.

    Parameters
    ----------
    moments : ClassMoments of the values, of two classes
    threshold : one of `THRESHOLDS`
    values, signs, weights : arrays of shape (n,), optional
        Training values, their classes as ±1, and weights, for thresholds that need them.
    """
    means, counts = moments.means[:, 0], moments.counts
    # Scatters of values that are constant within classes are rounding errors of either sign.
    gap, scatters = means[1] - means[0], np.maximum(moments.scatters[:, 0, 0], 0)
    pooled = scatters.sum() / moments.count
    if not counts.all() or abs(gap) <= SAME * (np.max(np.abs(means)) + np.sqrt(pooled)):
        return _constant_rule(counts)
    pooled = max(pooled, SMALLEST_VARIANCE * gap**2)
    if threshold == "midpoint":
        cut = midpoint_threshold(means)
    elif threshold == "gaussian":
        # One more observation of the common variance: that of a class of one point is not zero.
        variances = (scatters + pooled) / (counts + 1)
        cut = gaussian_threshold(means, np.maximum(variances, SMALLEST_VARIANCE * gap**2), counts)
    else:
        rule = empirical_threshold if threshold == "empirical" else margin_threshold
        cut = rule(np.sign(gap) * values, signs, weights) * np.sign(gap)
    # Normal densities of equal variance have log-odds (f − b)(m₂ − m₁)/σ².
    return LinearRule(np.array([[2 / gap]]), np.array([-2 * cut / gap]), float(gap**2 / (2 * pooled)))


def one_vs_rest_rule(moments, threshold, values=None, codes=None, weights=None):
    """One discriminant a class, each in the units of `two_class_rule`; the largest wins."""
    n_classes = len(moments.classes)
    rules = []
    for c in range(n_classes):
        column = np.eye(n_classes)[:, [c]]
        members = np.arange(n_classes) == c
        parts = (None, None) if values is None else (values[:, c], np.where(codes == c, 1, -1))
        with warnings.catch_warnings():
            if moments.counts[c] == 0:  # not seen yet, which is no surprise
                warnings.simplefilter("ignore", RankWarning)
            rules.append(two_class_rule(moments.projected(column).merged(members), threshold, *parts, weights))
    weights = np.diag([rule.weights[0, 0] for rule in rules])
    intercept = np.where(moments.counts > 0, [rule.intercept[0] for rule in rules], -np.inf)
    return LinearRule(weights, intercept, float(np.mean([rule.temperature for rule in rules])), against_rest=True)


def many_class_rule(moments, threshold):
    """Normal densities of a common covariance in the space of the discriminants: decisions are log posteriors.

    With "midpoint" all classes are taken for equally frequent: the nearest class mean wins.
    """
    means, counts = moments.means, moments.counts
    shares = np.where(counts > 0, np.maximum(counts / moments.count, SMALLEST_SHARE / counts.size), 0.0)
    covariances = moments.scatters / np.where(counts > 0, counts, 1.0)[:, None, None]
    within = np.tensordot(shares / shares.sum(), covariances, axes=1)
    present = means[counts > 0]
    with np.errstate(divide="ignore"):
        priors = np.log(counts / moments.count) if threshold != "midpoint" else np.where(counts > 0, 0.0, -np.inf)
    spread = np.max(np.abs(present - moments.mean))
    if spread <= SAME * (np.max(np.abs(present)) + np.sqrt(max(np.trace(within), 0.0))):
        if len(present) > 1:
            warn_user(SAME_MEANS, RankWarning)
        return LinearRule(np.zeros(means.T.shape), priors, 1.0)
    between = np.atleast_2d(np.cov(present.T, bias=True)) * 2 * len(present) / max(len(present) - 1, 1)
    variances, whitened = np.linalg.eigh((within + within.T) / 2)
    smallest = ROUNDING * max(np.trace(within + between), 0.0) + np.finfo(float).tiny
    whitened = whitened / np.sqrt(np.maximum(variances, 0) + smallest)
    # Along these axes variances are one, and pairs of means have squared distances θ on average: a far class raises the
    # variance of its own direction alone.
    theta, turned = np.linalg.eigh(whitened.T @ between @ whitened)
    axes = whitened @ turned
    weights = axes / np.maximum(1, SMALLEST_VARIANCE * theta) @ (axes.T @ (means - moments.mean).T)  # (k, C)
    quadratic = np.sum((means + moments.mean).T * weights, axis=0) / 2
    weights = np.where(counts > 0, weights, 0.0)
    return LinearRule(weights, np.where(counts > 0, priors - quadratic, -np.inf), 1.0)


def _constant_rule(counts):
    if counts.all():
        warn_user(SAME_MEANS, RankWarning)
    with np.errstate(divide="ignore"):
        log_odds = np.clip(np.log(counts[1]) - np.log(counts[0]), -50, 50)
    return LinearRule(np.zeros((1, 1)), np.array([log_odds]), 1.0)
