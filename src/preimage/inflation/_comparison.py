"""Which decisions are better? Smoothed recalls of every class, a measure of them, and the error of its differences."""

import numpy as np
from scipy.special import ndtr

from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import quantiles
from preimage._engine.typing import Array
from preimage.inflation._samples import check_masses, check_sample, deviation

# Bandwidth of smoothed recalls, in standard deviations times n^(−1/5): Silverman's rule for normal data. Ten times
# larger would count every decision as half right.
BANDWIDTH = 1.06
# Measures of decisions, functions of the recalls of the classes (and, for "accuracy", of their proportions).
SCORINGS = ("balanced_accuracy", "geometric_mean", "accuracy")
# The distance of the quartiles of a normal distribution, in standard deviations.
NORMAL_QUARTILES = 1.349


def predicted_codes(values: Array) -> Array:
    """Positions of the classes that decisions name, shape (n,); `values` as in `margins_of`."""
    return (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)


def decision_score(
    codes: Array, predicted: Array, weights: Array | None = None, scoring: str = "balanced_accuracy"
) -> float:
    """A measure of predictions, by counts.

    Parameters
    ----------
    codes, predicted : integer arrays of shape (n,)
    weights : array of shape (n,), optional
    scoring : {"balanced_accuracy", "geometric_mean", "accuracy"}, default="balanced_accuracy"

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._comparison import decision_score
    >>> decision_score(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0])), decision_score(
    ...     np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]), scoring="accuracy")
    (0.5, 0.75)
    """
    check_scoring(scoring)
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    present = np.unique(codes)
    counts = np.array([weights[codes == code].sum() for code in present])
    right = (predicted == codes) * weights
    recalls = np.array([right[codes == code].sum() for code in present]) / counts
    return float(_measure(recalls, counts / counts.sum(), scoring)[0])


def check_scoring(scoring: str) -> None:
    if scoring not in SCORINGS:
        raise ValueError(f"scoring must be one of {', '.join(map(repr, SCORINGS))}; got {scoring!r}.")


def margins_of(values: Array, codes: Array) -> Array:
    """By how much decisions are right: shape (n,), negative where they are wrong.

    Parameters
    ----------
    values : array of shape (n, k)
        One column for two classes, positive for the second; else one per class, the largest of which wins.
    codes : integer array of shape (n,)
    """
    if values.shape[1] == 1:
        return np.where(codes == 1, values[:, 0], -values[:, 0])
    rows = np.arange(len(codes))
    others = values.copy()
    others[rows, codes] = -np.inf
    return values[rows, codes] - others.max(axis=1)


@gives_finite_numbers()
def compare_decisions(
    candidates: dict[str, Array],
    baseline: Array,
    codes: Array,
    weights: Array | None = None,
    scoring: str = "balanced_accuracy",
) -> dict[str, tuple[float, float]]:
    r"""Gains in a measure of decisions, and their standard errors.

    Counts of right decisions are coarse in small classes. The recall of a class is smoothed here,
    :math:`r_k = \operatorname{mean} \Phi(m_i / h_k)` over its margins m, with the bandwidth of a kernel estimate of
    their distribution: how far from the threshold decisions fall matters as well as on which side. The measures are
    :math:`\frac1K \sum_k r_k` ("balanced_accuracy"), :math:`\prod_k r_k^{1/K}` ("geometric_mean") and
    :math:`\sum_k \pi_k r_k` with the proportions π of the classes ("accuracy"). The standard error of a difference is
    that of its linearisation: differences are between decisions on the same rows.

    Parameters
    ----------
    candidates : dict of arrays of shape (n,)
        Margins, by name; see `margins_of`.
    baseline : array of shape (n,)
        Margins of what they are compared with.
    codes : integer array of shape (n,)
        Classes.
    weights : array of shape (n,), optional
        Weight 2 counts as two equal rows.
    scoring : {"balanced_accuracy", "geometric_mean", "accuracy"}, default="balanced_accuracy"
        The measure, see above.

    Returns
    -------
    dict of (gain, standard error), by name
        Gains are positive where a candidate is better than the baseline.

    See Also
    --------
    preimage.inflation_report : Uses this comparison to recommend.
    preimage.Renormalized : Uses it to choose a correction.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation import compare_decisions
    >>> codes = np.repeat([0, 1], 20)
    >>> missed = np.where(codes == 1, -1.0, 3.0) + np.tile(np.linspace(-1.5, 1.5, 20), 2)
    >>> balanced = missed + np.where(codes == 1, 2, -2)
    >>> gain, error = compare_decisions({"balanced": balanced}, missed, codes)["balanced"]
    >>> gain > 2 * error > 0
    True
    """
    check_scoring(scoring)
    who = "compare_decisions"
    codes = np.asarray(codes)
    baseline = check_sample(who, "baseline", baseline, least=1)
    candidates = {name: check_sample(who, name, margins) for name, margins in candidates.items()}
    odd = [each.shape for each in (codes, *candidates.values()) if each.shape != baseline.shape]
    if odd:
        raise ValueError(f"{who} needs a class and margins for each of {baseline.size} rows; got shape {odd[0]}.")
    masses = check_masses(who, weights, codes.size)
    weights = np.ones(codes.size) if masses is None else masses
    if not weights.all():  # rows that do not count
        counted = weights > 0
        baseline, codes, weights = baseline[counted], codes[counted], weights[counted]
        candidates = {name: margins[counted] for name, margins in candidates.items()}
    present = np.unique(codes)
    base, base_influence = _smoothed_score(baseline, codes, present, weights, scoring)
    out = {}
    for name, margins in candidates.items():
        score, influence = _smoothed_score(margins, codes, present, weights, scoring)
        variance = 0.0
        for code in present:
            rows = codes == code
            count = weights[rows].sum()
            fraction = weights[rows] / count
            difference = (influence - base_influence)[rows]
            # Classes are sampled independently; within a class the influences are averaged over its rows.
            variance += fraction @ (difference - fraction @ difference) ** 2 / count
        out[name] = (float(score - base), float(np.sqrt(variance)))
    return out


def _smoothed_score(margins: Array, codes: Array, present: Array, weights: Array, scoring: str) -> tuple[float, Array]:
    """The measure of smoothed recalls, and the contribution of each row to its linearisation."""
    right = np.empty(len(codes))
    recalls, counts = np.empty(len(present)), np.empty(len(present))
    for k, code in enumerate(present):
        rows = codes == code
        right[rows] = _smoothed(margins[rows], weights[rows])
        counts[k] = weights[rows].sum()
        recalls[k] = weights[rows] @ right[rows] / counts[k]
    score, derivatives = _measure(recalls, counts / counts.sum(), scoring)
    return score, derivatives[np.searchsorted(present, codes)] * right


def _measure(recalls: Array, proportions: Array, scoring: str) -> tuple[float, Array]:
    """The measure of recalls, and its derivatives."""
    if scoring == "accuracy":
        return proportions @ recalls, proportions
    if scoring == "balanced_accuracy":
        return recalls.mean(), np.full(len(recalls), 1 / len(recalls))
    safe = np.maximum(recalls, np.finfo(float).tiny)
    mean = np.exp(np.log(safe).mean()) if recalls.all() else 0.0
    return mean, np.exp(np.log(safe).mean()) / (len(recalls) * safe)


def _smoothed(margins: Array, weights: Array) -> Array:
    """The probability that each margin is positive, by a normal kernel of Silverman's bandwidth."""
    margins = margins / (np.abs(margins).max() or 1.0)  # squares of the largest numbers would overflow
    low, high = quantiles(margins, [0.25, 0.75], weights)
    spread = deviation(margins, weights)
    spread = min(spread, (high - low) / NORMAL_QUARTILES) or spread
    if spread == 0:
        return (margins > 0).astype(float)
    return ndtr(margins / (BANDWIDTH * spread * weights.sum() ** -0.2))
