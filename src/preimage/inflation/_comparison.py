"""What decisions are worth: measures of them, their gains with errors, and whether there is signal at all."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm, rankdata
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import label_binarize

from preimage._engine.linalg import quantiles
from preimage._engine.typing import Array, Targets
from preimage.inflation._inflation import check_masses, check_sample, deviation

# Decisions for rows left out depend on each other: a pair of rows counts twice, once with either row in the model of
# the other, which doubles the variance where columns are many. With few columns it grows less: areas under the curve
# of noise vary 1.2 to 1.4 times as much as those of independent decisions (10 shapes, SVMs of several kernels).
DEPENDENCE = np.sqrt(2.0)
# There is signal where chance would show as much in one of 50 tables: then 100 tables of noise have 2 alarms on
# average, and more than 5 in one of 60 such hundreds. At one of 20, every third hundred would have more than 5.
SIGNAL_LEVEL = 0.02
# There is none where areas from this one on, which separate classes well enough to be of use, are excluded at the
# second level, and chance would show as much in one of five tables. A larger area would call weak signals none.
USEFUL_AREA, EXCLUDED_LEVEL, LEAST_EVIDENCE = 0.75, 0.05, 0.2
# A gain is clear beyond this many standard errors.
STANDARD_ERRORS = 2.0
YES, UNCLEAR, NO = "yes", "unclear", "no"


# Bandwidth of smoothed recalls, in standard deviations times n^(−1/5): Silverman's rule for normal data. Ten times
# larger would count every decision as half right.
BANDWIDTH = 1.06
# Measures of decisions, functions of the recalls of the classes (and, for "accuracy", of their proportions).
SCORINGS = ("balanced_accuracy", "geometric_mean", "accuracy")
# The distance of the quartiles of a normal distribution, in standard deviations.
NORMAL_QUARTILES = 1.349


@dataclass(frozen=True)
class Signal:
    """Whether decisions for rows left out order them by their classes.

    Attributes
    ----------
    auc : float
        The probability that a row of a class has a larger decision for it than a row of another class; on average over
        classes. Decisions that know nothing have 0.5.
    standard_error : float
        Of `auc`, if there were no signal.
    p_value : float
        The probability of an `auc` that large without signal.
    is_balanced : bool
        Whether rows were compared within folds that have all classes. Ranks across models without one row each are
        biased against signal: a model that lacks a row of a class decides against this class.
    """

    auc: float
    standard_error: float
    p_value: float
    is_balanced: bool = True

    @property
    def highest(self) -> float:
        """The largest area that is not excluded, at level 0.05."""
        return float(min(1.0, self.auc + norm.isf(EXCLUDED_LEVEL) * self.standard_error))

    @property
    def verdict(self) -> str:
        """ "yes" where chance would show as much in one of 50 tables, "no" where areas of 0.75 are excluded."""
        if self.p_value < SIGNAL_LEVEL:
            return YES
        is_excluded = self.is_balanced and self.highest < USEFUL_AREA and self.p_value >= LEAST_EVIDENCE
        return NO if is_excluded else UNCLEAR


def signal_of(
    values: Array,
    codes: Array,
    weights: Array | None = None,
    *,
    folds: Array | None = None,
    units: Array | None = None,
) -> Signal:
    r"""Test whether decisions for rows left out know anything of the classes (Wilcoxon, Mann and Whitney).

    The area under the curve does not depend on thresholds, which inflation makes useless. Rows are compared with rows
    of the same fold, whose decisions come from one model. Without signal, labels of a fold are exchangeable given its
    model, so that the area is 0.5 on average over all labellings, exactly. With independent decisions its variance is
    :math:`v = \sum_f a_f b_f (a_f + b_f + 1) / 12\, (\sum_f a_f b_f)^2` for :math:`a_f` and :math:`b_f` rows of the two
    classes in fold f; this is doubled, because left-out decisions depend on each other. Repeats with other folds
    average away what the choice of folds adds to the variance :math:`(n + 1) / (12\, n_0 n_1)` of one fold.

    Parameters
    ----------
    values : array of shape (n, k) or (r, n, k)
        Decisions, see `margins_of`; of r repeats with other folds.
    codes : integer array of shape (n,)
    weights : array of shape (n,), optional
        Only whether they are positive counts: ranks of repeated rows are no new evidence.
    folds : integer array of shape (n,) or (r, n), optional
        Rows of a negative number were never left out. None compares all rows, of whatever model.
    units : integer array of shape (n,), optional
        What was drawn independently: rows of a subject, copies of a row. Where every unit has one class, evidence is
        counted in units.

    Returns
    -------
    Signal

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._comparison import signal_of
    >>> codes = np.repeat([0, 1], 20)
    >>> noise = np.random.default_rng(0).normal(size=(40, 1))
    >>> signal_of(noise, codes).p_value > 0.05 > signal_of(noise + 3 * codes[:, None], codes).p_value
    True
    """
    is_balanced = folds is not None
    values = values[None] if values.ndim == 2 else values
    folds = np.zeros(values.shape[:2], dtype=int) if folds is None else np.broadcast_to(folds, values.shape[:2])
    kept = np.ones(len(codes), dtype=bool) if weights is None else weights > 0
    values, codes, folds = values[:, kept], codes[kept], folds[:, kept]
    classes = [1] if values.shape[2] == 1 else np.unique(codes)
    areas, variances = [], []
    for code in classes:
        column, is_own = (0 if values.shape[2] == 1 else code), codes == code
        repeats = [_area(each[:, column], is_own, fold) for each, fold in zip(values, folds, strict=True)]
        found = [each for each in repeats if each is not None]
        if not found:
            continue
        together = _variance(int(is_own.sum()), int((~is_own).sum()))
        split = float(np.mean([variance for _, variance in found]))
        variance = together + max(split - together, 0.0) / len(found)
        if units is not None:
            variance *= _growth(units[kept], is_own)
        areas.append(np.mean([area for area, _ in found]))
        variances.append(variance)
    if not areas:
        return Signal(0.5, 0.5, 1.0, is_balanced)
    # Areas of several classes come from the same rows: their mean is taken to vary as much as one of them.
    auc, error = float(np.mean(areas)), float(DEPENDENCE * np.sqrt(np.mean(variances)))
    return Signal(auc, error, float(norm.sf((auc - 0.5) / error)), is_balanced)


def balanced_folds(codes: Array, units: Array, n_folds: int, rng: np.random.Generator) -> Array:
    """Numbers of folds for all rows, shape (n,): every class is dealt out evenly, rows of a unit go together.

    Parameters
    ----------
    codes, units : integer arrays of shape (n,)
        A unit counts for the class that most of its rows have.
    n_folds : int
        At most; there are fewer where a class has fewer units. Units that are alone in their class are never left out:
        their number is −1. So are all where fewer than two classes have two units.
    rng : Generator
    """
    table = np.zeros((units.max() + 1, codes.max() + 1), dtype=int)
    np.add.at(table, (units, codes), 1)
    of_unit = table.argmax(axis=1)
    sizes = np.bincount(of_unit, minlength=table.shape[1])
    folds_of_units = np.full(len(of_unit), -1)
    if np.count_nonzero(sizes > 1) > 1:
        count = min(n_folds, int(sizes[sizes > 1].min()))
        dealt = [rng.permutation(np.flatnonzero(of_unit == code)) for code in np.flatnonzero(sizes > 1)]
        order = np.concatenate(dealt)
        # Dealing goes on from class to class, so that folds differ by at most one unit.
        folds_of_units[order] = np.arange(len(order)) % count
    return folds_of_units[units]


def _area(column: Array, is_own: Array, folds: Array) -> tuple[float, float] | None:
    """The area under the curve of pairs within folds, and its variance for independent decisions; None without pairs.

    Folds count by their pairs.
    """
    wins = pairs = spread = 0.0
    for fold in np.unique(folds[folds >= 0]):
        rows = folds == fold
        ranks, own = rankdata(column[rows]), is_own[rows]
        n1, n0 = int(own.sum()), int((~own).sum())
        wins += ranks[own].sum() - n1 * (n1 + 1) / 2
        pairs += n1 * n0
        spread += n1 * n0 * (n1 + n0 + 1) / 12
    return (wins / pairs, spread / pairs**2) if pairs else None


def _variance(n1: int, n0: int) -> float:
    return (n1 + n0 + 1) / (12 * n1 * n0)


def _growth(units: Array, is_own: Array) -> float:
    """By how much the variance grows when units are counted instead of rows; 1 where a unit has rows of both sides."""
    own, others = np.unique(units[is_own]), np.unique(units[~is_own])
    if np.intersect1d(own, others).size:
        return 1.0
    return _variance(len(own), len(others)) / _variance(int(is_own.sum()), int((~is_own).sum()))


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
    >>> from preimage.inflation._comparison import compare_decisions
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


@dataclass(frozen=True)
class Gain:
    """What correction changes on samples left out.

    Attributes
    ----------
    value, error : float
        Of the smoothed measure; see `compare_decisions`.
    before, after : float
        The measure itself, by counts.
    accuracy_before, accuracy_after : float
        The fraction that is classified right.
    """

    value: float
    error: float
    before: float
    after: float
    accuracy_before: float
    accuracy_after: float

    @property
    def is_clear(self) -> bool:
        """Whether the smoothed measure gains beyond its error, and counts do not fall."""
        return self.value > STANDARD_ERRORS * self.error and self.after >= self.before


@dataclass(frozen=True)
class Judged:
    """Decisions for samples left out, as they are and corrected, and what they are worth.

    Attributes
    ----------
    codes : integer array of shape (m,)
        Classes.
    plain, corrected : arrays of shape (m, k)
        One column for two classes, else one per class.
    signal : Signal
    scoring : str
    weights : array of shape (m,) or None
    training : array of shape (m, k) or None
        Decisions of a classifier for the same samples when it was fitted on them.
    """

    codes: Array
    plain: Array
    corrected: Array
    signal: Signal
    scoring: str = "balanced_accuracy"
    weights: Array | None = None
    training: Array | None = None

    @cached_property
    def scores(self) -> dict[str, float]:
        """The measure by counts, of these decisions and of always predicting the largest class."""
        return self._measured(self.scoring)

    @cached_property
    def errors(self) -> dict[str, float]:
        """The fraction that is classified wrong."""
        return {name: 1 - each for name, each in self._measured("accuracy").items() if name != "training"}

    @cached_property
    def gain(self) -> Gain:
        value, error = gain_of(self.corrected, self.plain, self.codes, self.weights, self.scoring)
        both = ("as they are", "corrected")
        return Gain(value, error, *(self.scores[name] for name in both), *(1 - self.errors[name] for name in both))

    @property
    def accepted(self) -> bool:
        """Whether there is a gain, and a sign of signal (p < 0.2)."""
        # Without a sign of signal, correction of pure noise, which no measure of both classes notices, would be
        # accepted half of the time. (Asking for a gain beyond its standard error lost more, on gene expression, than it
        # saved.)
        return bool(self.gain.value > 0 and self.signal.p_value < LEAST_EVIDENCE)

    def _measured(self, scoring: str) -> dict[str, float]:
        largest = np.full(len(self.codes), np.bincount(self.codes, self.weights).argmax())
        named = {"as they are": predicted_codes(self.plain), "corrected": predicted_codes(self.corrected)}
        named["largest class"] = largest
        if self.training is not None:
            named["training"] = predicted_codes(self.training)
        return {name: decision_score(self.codes, each, self.weights, scoring) for name, each in named.items()}


def gain_of(
    candidate: Array, baseline: Array, codes: Array, weights: Array | None, scoring: str
) -> tuple[float, float]:
    """What decisions gain over others in the smoothed measure, and the standard error of that."""
    margins = {"": margins_of(candidate, codes)}
    return compare_decisions(margins, margins_of(baseline, codes), codes, weights, scoring)[""]


def guard_correction(
    classifier: Any,
    folds: Iterable[tuple[Array, Array, Array]],
    left_out: Array,
    corrected: Array,
    y: Targets,
    weights: Array | None = None,
    scoring: str = "balanced_accuracy",
    signal: Signal | None = None,
) -> Judged:
    r"""Compare classification of left-out scores with that of corrected ones.

    The classifier is fitted again in every fold, on the training scores of the points of this fold: the classifier of
    all points has seen the point that is judged, which makes the comparison useless [1]_. Classifiers without decisions
    are judged by counts of right predictions.

    Parameters
    ----------
    classifier : estimator with fit and predict
    folds : iterable of (train_indices, train_scores, test_indices)
        Training scores of each fold, shape (n_train, q), aligned with the scores of all points. Points in no fold are
        not judged.
    left_out, corrected : arrays of shape (n, q)
        Scores of each point in a model without it, as they are and corrected.
    y : array of shape (n,)
        Classes.
    weights : array of shape (n,), optional
    scoring : {"balanced_accuracy", "geometric_mean", "accuracy"}, default="balanced_accuracy"
    signal : Signal, optional
        Whether there is any; None ranks the decisions for corrected scores, of all folds together.

    Returns
    -------
    Judged

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "A Cure for Variance Inflation in High Dimensional Kernel Principal Component
       Analysis", JMLR 12, 2011, which judges by errors and has no margin.
    """
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    n_columns = 1 if len(classes) == 2 else len(classes)
    plain, changed = np.full((2, len(codes), n_columns), np.nan)
    for train, scores, test in folds:
        mass = None if weights is None else weights[train]
        # One fit per fold evaluates both versions of its test points.
        both = np.concatenate([left_out[test], corrected[test]])
        decisions = decisions_on_scores(classifier, scores, codes[train], mass, both, len(classes))
        plain[test], changed[test] = np.split(decisions, 2)
    seen = ~np.isnan(plain[:, 0])
    plain, changed, codes, mass = plain[seen], changed[seen], codes[seen], None if weights is None else weights[seen]
    signal = signal_of(changed, codes, mass) if signal is None else signal
    return Judged(codes, plain, changed, signal, scoring, mass)


def decisions_on_scores(
    classifier: Any, scores: Array, codes: Array, weights: Array | None, queries: Array, n_classes: int
) -> Array:
    """One column for two classes, else one per class; classes that the fold does not have get the lowest value."""
    n_columns = 1 if n_classes == 2 else n_classes
    present = np.unique(codes)
    if len(present) == 1 or not np.ptp(scores, axis=0).any():  # nothing to go by: the class that most rows have
        largest = np.bincount(codes, weights).argmax()
        return _as_columns(np.full(len(queries), largest), n_columns)
    if weights is not None:
        # Classifiers without weights, such as linear discriminants, see rows as often as they weigh.
        counts = np.maximum(np.round(weights / weights.min()), 1).astype(int)
        rows = np.repeat(np.arange(len(codes)), counts if (counts < len(codes)).all() else 1)
        scores, codes = scores[rows], codes[rows]
    model = _fitted(classifier, scores, codes)
    if not hasattr(model, "decision_function") or len(present) < n_classes:
        return _as_columns(model.predict(queries), n_columns)
    values = np.asarray(model.decision_function(queries), dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    return values if values.shape[1] == n_columns else _as_columns(model.predict(queries), n_columns)


def _fitted(classifier: Any, scores: Array, codes: Array) -> Any:
    try:
        return clone(classifier).fit(scores, codes)
    except (IndexError, ValueError) as error:
        # scikit-learn's linear discriminants have no solution where scores are constant within each class. In the limit
        # of a small variance the nearest class decides. SciPy 1.13 says then that it has no work array.
        if type(error) is ValueError and "work array" not in str(error):
            raise
        return KNeighborsClassifier(1).fit(scores, codes)


def _as_columns(predicted: Array, n_columns: int) -> Array:
    """±1 for the classes that are predicted and those that are not."""
    if n_columns == 1:
        return np.where(predicted == 1, 1.0, -1.0)[:, None]
    return 2.0 * label_binarize(predicted, classes=np.arange(n_columns)) - 1
