"""The guard compares what classifiers make of scores that new points would have."""

from dataclasses import astuple

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier

from preimage.inflation import linear_leave_one_out, renormalize
from preimage.inflation._comparison import SCORINGS, Judged, Signal, guard_correction


def leave_one_out_folds(scores):
    n = len(scores.train)
    for left in range(n):
        yield np.delete(np.arange(n), left), scores.fold(left), np.array([left])


def two_classes(separation, n=40, d=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 4 == 0).astype(int)
    X = rng.normal(size=(n, d))
    X[:, 0] += separation * y
    return X, y


def verdict(separation, classifier, seed=0):
    X, y = two_classes(separation, seed=seed)
    scores = linear_leave_one_out(X, 3)
    corrected = renormalize(scores.train, scores.left_out)
    return (
        guard_correction(classifier, leave_one_out_folds(scores), scores.left_out, corrected, y),
        scores,
        corrected,
        y,
    )


def test_scores_are_those_of_classifiers_refitted_in_every_fold():
    found, scores, corrected, y = verdict(6.0, LinearDiscriminantAnalysis())
    predicted = np.empty((2, len(y)), dtype=int)
    for n in range(len(y)):
        model = LinearDiscriminantAnalysis().fit(scores.fold(n), np.delete(y, n))
        predicted[:, n] = [model.predict(row[None])[0] for row in (scores.left_out[n], corrected[n])]
    expected = [balanced_accuracy_score(y, each) for each in predicted]
    assert [found.gain.before, found.gain.after] == pytest.approx(expected)
    assert found.scores["largest class"] == 0.5 and found.scoring == "balanced_accuracy"


def test_correction_is_accepted_where_the_classes_collapse_and_refused_without_signal():
    assert all(verdict(6.0, LinearDiscriminantAnalysis(), seed)[0].accepted for seed in range(4))
    refused = [verdict(0.0, KNeighborsClassifier(1), seed)[0].accepted for seed in range(6)]
    assert sum(refused) <= 1


@pytest.mark.parametrize(
    ("shift", "p_value", "accepted"),
    [
        (1.0, 0.01, True),
        (-1.0, 0.01, False),
        (0.0, 0.01, False),
        (1.0, 0.3, False),  # no sign of signal
    ],
)
def test_correction_must_gain_on_classes_that_can_be_told_apart(shift, p_value, accepted):
    codes = np.repeat([0, 1], 20)
    plain = np.random.default_rng(0).normal(size=(40, 1))
    corrected = plain + shift * (2 * codes[:, None] - 1)
    judged = Judged(codes, plain, corrected, Signal(0.7, 0.1, p_value))
    assert np.sign(judged.gain.value) == np.sign(shift) and judged.accepted == accepted


@pytest.mark.parametrize("scoring", SCORINGS)
def test_the_measure_is_the_one_that_is_asked_for(scoring):
    X, y = two_classes(6.0)
    scores = linear_leave_one_out(X, 3)
    classifier, folds = LinearDiscriminantAnalysis(), leave_one_out_folds(scores)
    found = guard_correction(classifier, folds, scores.left_out, scores.left_out, y, scoring=scoring)
    assert found.scores["largest class"] == {"accuracy": 0.75, "balanced_accuracy": 0.5, "geometric_mean": 0.0}[scoring]
    assert found.gain.value == 0 and not found.accepted and found.gain.before == found.gain.after


def test_a_fold_of_one_class_predicts_it():
    scores = np.arange(4.0)[:, None]
    y = np.array(["a", "b", "b", "b"])
    folds = [(np.array([1, 2, 3]), scores[1:], np.array([0]))]
    found = guard_correction(LinearDiscriminantAnalysis(), folds, scores, scores, y)
    assert found.gain.before == found.gain.after == 0.0


def test_weights_are_repetitions():
    X, y = two_classes(6.0, n=24)
    weights = np.where(np.arange(24) % 5 == 0, 3.0, 1.0)
    units = np.repeat(np.arange(24), weights.astype(int))
    scores = linear_leave_one_out(X, 3)
    corrected = 2 * scores.left_out
    single = guard_correction(
        LinearDiscriminantAnalysis(), leave_one_out_folds(scores), scores.left_out, corrected, y, weights
    )
    folds = []
    for n in range(24):
        others, fold = np.flatnonzero(units != n), np.insert(scores.fold(n), n, 0, axis=0)
        folds.append((others, fold[units[others]], np.flatnonzero(units == n)))
    repeated = guard_correction(LinearDiscriminantAnalysis(), folds, scores.left_out[units], corrected[units], y[units])
    assert astuple(single.gain) == pytest.approx(astuple(repeated.gain))
    assert single.scores == pytest.approx(repeated.scores)
