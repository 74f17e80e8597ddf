"""Where to cut decisions of new points, and which probabilities they stand for: logistic functions of left-out ones."""

import numpy as np
from scipy.special import expit

from preimage._engine.finite import against_rest, most_probable
from preimage._engine.linalg import quantiles
from preimage._engine.typing import Array, Rows
from preimage.inflation._comparison import predicted_codes
from preimage.inflation._samples import deviation, mean

# Newton's method for two parameters ends after about six steps; separable classes, kept finite by the targets below,
# need a few more. Steps longer than the second number, in logits per deviation, overshoot where the curve is flat. The
# last number ends the iteration four digits above rounding: quadratic convergence has then settled the rest.
MOST_STEPS = 50
LONGEST_STEP = 3.0
STEP_TOLERANCE = 1e-10
# Log-odds of the largest left-out decision where decisions say nothing, or the contrary, of the classes: seven digits
# above rounding, so that larger decisions still have larger probabilities, which are equal in all digits that matter.
SMALLEST_LOG_ODDS = 1e-9


def fit_logistic(values: Array, is_second: Array, weights: Array) -> tuple[float, float]:
    r"""Slope a and offset b of the probability :math:`1 / (1 + e^{-(a x + b)})` of the second class.

    Maximum likelihood with Platt's targets :math:`(n_1 + 1) / (n_1 + 2)` and :math:`1 / (n_0 + 2)` instead of 1 and 0,
    which keep a finite where classes do not overlap [1]_.

    Parameters
    ----------
    values : array of shape (n,)
    is_second : bool array of shape (n,)
    weights : array of shape (n,)

    Returns
    -------
    (slope, offset) : floats

    References
    ----------
    .. [1] J. Platt, "Probabilistic Outputs for Support Vector Machines",
       Advances in Large Margin Classifiers, 1999.
    """
    size = np.abs(values).max(initial=0.0) or 1.0
    center, spread = mean(values / size, weights) * size, deviation(values / size, weights) * size
    spread = spread if spread > 0 else 1.0
    design = np.stack([(values - center) / spread, np.ones(len(values))], axis=1)
    n_second, n_first = weights[is_second].sum(), weights[~is_second].sum()
    targets = np.where(is_second, (n_second + 1) / (n_second + 2), 1 / (n_first + 2))
    solution = np.zeros(2)
    for _ in range(MOST_STEPS):
        chances = expit(design @ solution)
        curvature = (design * (weights * chances * (1 - chances))[:, None]).T @ design
        # Constant values leave the slope undetermined: a rounding error on the diagonal makes it zero.
        curvature += np.finfo(float).eps * np.trace(curvature) * np.eye(2)
        step = np.linalg.solve(curvature, design.T @ (weights * (targets - chances)))
        solution = solution + step * min(1.0, LONGEST_STEP / max(np.abs(step).max(), np.finfo(float).tiny))
        if np.abs(step).max() < STEP_TOLERANCE:
            break
    # Values that differ by less than the smallest numbers are as good as equal: no slope is larger than the largest.
    with np.errstate(over="ignore"):
        slope = float(np.clip(solution[0] / spread, -np.finfo(float).max, np.finfo(float).max))
    return slope, solution[1] - solution[0] * center / spread


def class_weights(codes: Array, weights: Array, scoring: str) -> Array:
    """Weights with which all classes count alike, unless the measure is accuracy; they sum to the number of rows."""
    if scoring == "accuracy":
        return weights
    codes = np.asarray(codes).astype(np.intp)
    totals = np.bincount(codes, weights)
    return weights * weights.sum() / (np.count_nonzero(totals) * totals[codes])


class Threshold:
    r"""Decisions relative to the threshold that new points need: :math:`a (f - t)`.

    Two estimates of t are averaged, which err in different ways: where a logistic function of the left-out decisions,
    in which both classes count alike, is one half; and the left-out decision of the same rank as the threshold 0 has
    among the training decisions [1]_. Any increasing correction of a single decision is such a threshold. For two
    classes a = 1; the decisions of several classes, the largest of which wins, need a common unit: their a is the slope
    of the logistic function.

    Parameters
    ----------
    levels, slopes : arrays of shape (k,)
        t and a of each decision.

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "Variance Inflation in High Dimensional Support Vector Machines", Pattern
       Recognition Letters 34, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._threshold import Threshold
    >>> codes = np.repeat([0, 1], [30, 10])
    >>> left_out = np.linspace(-1, 1, 40)[:, None] / 10 + codes[:, None] / 2 - 0.4
    >>> Threshold.learned(np.sign(left_out), left_out, codes).levels < 0
    array([ True])
    """

    def __init__(self, levels: Array, slopes: Array) -> None:
        self.levels = np.asarray(levels, dtype=np.float64)
        self.slopes = np.asarray(slopes, dtype=np.float64)

    @classmethod
    def learned(
        cls,
        train: Array,
        left_out: Array,
        codes: Array,
        weights: Array | None = None,
        scoring: str = "balanced_accuracy",
    ) -> "Threshold":
        """From training and left-out decisions, shape (n, k), with k = 1 for two classes."""
        weights = np.ones(len(codes)) if weights is None else weights
        count = left_out.shape[1]
        levels, slopes = np.zeros(count), np.ones(count)
        for k in range(count):
            is_second = codes == (1 if count == 1 else k)
            if is_second.all() or not is_second.any():
                continue
            slope, offset = fit_logistic(left_out[:, k], is_second, class_weights(is_second, weights, scoring))
            below = weights @ (train[:, k] <= 0) / weights.sum()
            by_rank = float(quantiles(left_out[:, k], below, weights))
            low, high = left_out[:, k].min(), left_out[:, k].max()
            # A slope that is not positive orders the classes wrongly: it has no threshold.
            by_odds = float(np.clip(-offset / slope, low, high)) if slope > 0 else by_rank
            levels[k] = (by_odds + by_rank) / 2
            slopes[k] = 1.0 if count == 1 else max(slope, 0.0) or 1.0
        return cls(levels, slopes)

    def __call__(self, values: Array, X: Rows = None) -> Array:
        return self.slopes * (values - self.levels)


class Probabilities:
    r"""Probabilities of the classes from decisions, learned from left-out ones; the class that wins has the largest.

    Decisions f of two classes, with the threshold 0, have :math:`P = \sigma(a f)`; those of several classes, the
    largest of which wins, :math:`P_k = \sigma(a f_k + b) / \sum_j \sigma(a f_j + b)` with a and b common to all. A
    function for each class, or an offset for two, would fit better, and name another class than the decisions.

    Parameters
    ----------
    slopes, offsets : floats
        a > 0, since larger decisions never mean smaller probabilities, and b. Files of version 0.2.0 have one of each
        per decision.
    """

    def __init__(self, slopes: float, offsets: float) -> None:
        self.slopes = slopes
        self.offsets = offsets

    @classmethod
    def learned(
        cls, left_out: Array, codes: Array, weights: Array | None = None, scoring: str = "balanced_accuracy"
    ) -> "Probabilities":
        """From left-out decisions, shape (n, k), with k = 1 for two classes.

        Classes are as frequent as `scoring` counts them: as in the data with accuracy, else all alike.
        """
        weights = np.ones(len(codes)) if weights is None else weights
        weights = class_weights(codes, weights, scoring)
        count = left_out.shape[1]
        if count > 1:
            is_own = codes[:, None] == np.arange(count)
            slope, offset = fit_logistic(left_out.ravel(), is_own.ravel(), np.repeat(weights, count))
        else:
            # Every decision twice, with both signs and classes: then the best offset is zero.
            mirrored, is_second = np.concatenate([left_out[:, 0], -left_out[:, 0]]), np.concatenate([codes, 1 - codes])
            slope, offset = fit_logistic(mirrored, is_second == 1, np.tile(weights, 2) / 2)[0], 0.0
        size = float(np.abs(left_out).max(initial=0.0))
        smallest = SMALLEST_LOG_ODDS / (size if size > np.finfo(float).tiny else 1.0)
        return cls(max(slope, smallest), offset if slope > 0 else 0.0)

    def __call__(self, values: Array) -> Array:
        """Shape (m, 2) for one column of decisions, else one column per class."""
        logits = self.slopes * values + self.offsets
        if values.shape[1] == 1:
            chances = expit(logits)
            P = np.concatenate([1 - chances, chances], axis=1)
        else:
            P = against_rest(logits)
        return most_probable(P, predicted_codes(values))
