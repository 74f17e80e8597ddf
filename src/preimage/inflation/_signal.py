"""Is there signal? Ranks of decisions for rows left out, among decisions of the same model."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata

from preimage._engine.typing import Array

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
YES, UNCLEAR, NO = "yes", "unclear", "no"


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
    >>> from preimage.inflation._signal import signal_of
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
