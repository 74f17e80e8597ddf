"""The guard compares errors that new points would meet."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier

from preimage.calibration import (
    Guard,
    guard_correction,
    leave_one_out_folds,
    linear_leave_one_out,
    renormalize,
)


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


def test_errors_are_those_of_classifiers_refitted_in_every_fold():
    found, scores, corrected, y = verdict(6.0, LinearDiscriminantAnalysis())
    wrong = np.zeros(2)
    for n in range(len(y)):
        model = LinearDiscriminantAnalysis().fit(scores.fold(n), np.delete(y, n))
        wrong += [model.predict(row[None])[0] != y[n] for row in (scores.left_out[n], corrected[n])]
    assert [found.plain_error, found.corrected_error] == pytest.approx(wrong / len(y))
    assert found.majority_error == 0.25
    assert found.as_dict()["accepted"] == found.accepted


def test_correction_is_accepted_where_the_classes_collapse_and_refused_without_signal():
    assert all(verdict(6.0, LinearDiscriminantAnalysis(), seed)[0].accepted for seed in range(4))
    refused = [verdict(0.0, KNeighborsClassifier(1), seed)[0].accepted for seed in range(6)]
    assert sum(refused) <= 1


@pytest.mark.parametrize(
    ("plain", "corrected", "majority", "accepted"),
    [
        (0.3, 0.2, 0.25, True),
        (0.3, 0.26, 0.25, False),
        (0.3, 0.24, 0.25, False),  # within half a standard error, 0.022, of the largest class
        (0.1, 0.1, 0.5, False),
        (0.1, 0.2, 0.3, False),
    ],
)
def test_correction_must_beat_both_baselines(plain, corrected, majority, accepted):
    assert Guard(plain, corrected, majority, 100).accepted == accepted


def test_a_fold_of_one_class_predicts_it():
    scores = np.arange(4.0)[:, None]
    y = np.array(["a", "b", "b", "b"])
    folds = [(np.array([1, 2, 3]), scores[1:], np.array([0]))]
    found = guard_correction(LinearDiscriminantAnalysis(), folds, scores, scores, y)
    assert found.plain_error == found.corrected_error == 1.0
