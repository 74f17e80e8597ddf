"""Is correction worth it? A classifier judges left-out scores, with and without."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import label_binarize

from preimage._engine.typing import Array, Targets
from preimage.inflation._comparison import compare_decisions, decision_score, margins_of, predicted_codes
from preimage.inflation._signal import LEAST_EVIDENCE, Signal, signal_of


@dataclass(frozen=True)
class Guard:
    """What a classifier makes of left-out scores, plain and corrected, and whether correction improves them.

    Attributes
    ----------
    plain_score, corrected_score : float
        The measure of predictions for points by classifiers that were fitted without them, by counts.
    chance : float
        The measure of always naming the largest class.
    gain, standard_error : float
        Difference of the smoothed measures, corrected less plain; see `compare_decisions`.
    signal : Signal
        Of decisions for rows left out.
    scoring : str
    accepted : bool
        Whether there is a gain, and a sign of signal (p < 0.2).
    plain, corrected : arrays of shape (m, k)
        Decisions for the m points that were judged: one column for two classes, else one per class.
    codes : integer array of shape (m,)
        Their classes.
    """

    plain_score: float
    corrected_score: float
    chance: float
    gain: float
    standard_error: float
    signal: Signal
    scoring: str
    plain: Array = field(default=None, repr=False)
    corrected: Array = field(default=None, repr=False)
    codes: Array = field(default=None, repr=False)

    @property
    def accepted(self) -> bool:
        # Without a sign of signal, correction of pure noise, which no measure of both classes notices, would be
        # accepted half of the time. (Asking for a gain beyond its standard error lost more, on gene expression, than it
        # saved.)
        return bool(self.gain > 0 and self.signal.p_value < LEAST_EVIDENCE)

    def as_dict(self) -> dict[str, Any]:
        return {
            "scoring": self.scoring,
            "plain": self.plain_score,
            "corrected": self.corrected_score,
            "largest class": self.chance,
            "gain": self.gain,
            "standard error": self.standard_error,
            "signal": self.signal.p_value,
            "accepted": self.accepted,
        }


def guard_correction(
    classifier: Any,
    folds: Iterable[tuple[Array, Array, Array]],
    left_out: Array,
    corrected: Array,
    y: Targets,
    weights: Array | None = None,
    scoring: str = "balanced_accuracy",
    signal: Signal | None = None,
) -> Guard:
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
    Guard

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
    pair = [margins_of(each, codes) for each in (changed, plain)]
    gain, error = compare_decisions({"corrected": pair[0]}, pair[1], codes, mass, scoring)["corrected"]
    score = lambda predicted: decision_score(codes, predicted, mass, scoring)
    # The score of always predicting the largest class is the level that any useful decision must exceed.
    largest = np.bincount(codes, mass).argmax()
    return Guard(
        score(predicted_codes(plain)),
        score(predicted_codes(changed)),
        score(np.full(len(codes), largest)),
        gain,
        error,
        signal_of(changed, codes, mass) if signal is None else signal,
        scoring,
        plain,
        changed,
        codes,
    )


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
