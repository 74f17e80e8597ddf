"""Ranks of decisions within folds: unbiased whatever the model does, and verdicts that follow from them."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from preimage.inflation._comparison import NO, UNCLEAR, YES, Signal, balanced_folds, signal_of

rng = np.random.default_rng(0)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_signal_is_found_and_noise_is_not(n_classes):
    found = {0.0: [], 2.0: []}
    for size, p_values in found.items():
        for _ in range(100):
            codes = np.repeat(np.arange(n_classes), [30, 10, 20, 15][:n_classes])
            values = rng.normal(size=(len(codes), 1 if n_classes == 2 else n_classes))
            values += size * (codes[:, None] == (np.ones(1) if n_classes == 2 else np.arange(n_classes)))
            p_values.append(signal_of(values, codes).p_value)
    assert np.mean(np.array(found[0.0]) < 0.05) <= 0.08 and np.mean(np.array(found[2.0]) < 0.05) > 0.9


def test_one_class_alone_has_no_signal():
    assert signal_of(np.ones((4, 1)), np.ones(4, dtype=int)).p_value == 1


def test_one_fold_is_the_area_under_the_curve():
    codes, values = np.repeat([0, 1], [9, 5]), rng.normal(size=(14, 1)).round(1)  # with ties
    found = signal_of(values, codes, folds=np.zeros(14, dtype=int))
    assert found.auc == pytest.approx(roc_auc_score(codes, values[:, 0])) and found.is_balanced
    assert found.standard_error**2 == pytest.approx(2 * 15 / (12 * 9 * 5))
    assert not signal_of(values, codes).is_balanced


def test_folds_count_by_their_pairs_and_shifts_of_their_models_do_not_matter():
    codes, folds = rng.integers(0, 2, 40), rng.integers(0, 4, 40)
    values = rng.normal(size=(40, 1))
    wins = [
        (values[i, 0] > values[j, 0]) + (values[i, 0] == values[j, 0]) / 2
        for i in np.flatnonzero(codes == 1)
        for j in np.flatnonzero(codes == 0)
        if folds[i] == folds[j]
    ]
    found = signal_of(values, codes, folds=folds)
    assert found.auc == pytest.approx(np.mean(wins))
    moved = values * np.array([1.0, 5.0, 0.1, 2.0])[folds, None] + np.array([0.0, 100.0, -7.0, 3.0])[folds, None]
    assert signal_of(moved, codes, folds=folds) == found


def nearest_mean(x, is_second):
    """Decisions by the nearer mean, whose threshold moves with every row: the model that is biased most."""
    first, second = x[~is_second].mean(), x[is_second].mean()
    return lambda new: np.abs(new - first) - np.abs(new - second)


def test_without_signal_the_area_is_one_half_on_average_over_all_labellings():
    """Exactly, for folds of rows of both classes; leaving out single rows is biased against signal."""
    x, folds = rng.normal(size=8), np.arange(8) % 2
    by_folds, by_rows = [], []
    for second in combinations(range(8), 4):
        codes = np.isin(np.arange(8), second).astype(int)
        if np.bincount(codes, folds).tolist() != [2, 2]:  # two rows of both classes in both folds
            continue
        for numbers, areas in ((folds, by_folds), (np.arange(8), by_rows)):
            values = np.empty((8, 1))
            for fold in np.unique(numbers):
                left = numbers == fold
                values[left, 0] = nearest_mean(x[~left], codes[~left] == 1)(x[left])
            areas.append(signal_of(values, codes, folds=folds if areas is by_folds else np.zeros(8, dtype=int)).auc)
    assert np.mean(by_folds) == pytest.approx(0.5, abs=1e-12)
    assert np.mean(by_rows) < 0.45


def test_repeats_average_areas_and_lower_the_error_to_that_of_one_fold():
    codes = np.repeat([0, 1], [12, 8])
    folds = np.stack([balanced_folds(codes, np.arange(20), 8, rng) for _ in range(50)])
    values = rng.normal(size=(50, 20, 1))
    each = [signal_of(v, codes, folds=f) for v, f in zip(values, folds, strict=True)]
    together = signal_of(values, codes, folds=folds)
    assert together.auc == pytest.approx(np.mean([one.auc for one in each]))
    errors = [one.standard_error for one in each]
    assert (
        np.sqrt(2 * 21 / (12 * 12 * 8)) < together.standard_error < 1.05 * np.sqrt(2 * 21 / (12 * 12 * 8)) < min(errors)
    )


def test_rows_of_a_subject_are_no_more_evidence_than_the_subject():
    codes, units = np.repeat([0, 1], 20), np.arange(40) // 5
    values = rng.normal(size=(40, 1))
    rows, subjects = signal_of(values, codes), signal_of(values, codes, units=units)
    assert subjects.auc == rows.auc
    assert subjects.standard_error**2 == pytest.approx(2 * 9 / (12 * 4 * 4))
    mixed = signal_of(values, codes, units=np.arange(40) % 20)
    assert mixed == rows


def test_weights_of_zero_are_rows_that_are_not_there():
    codes, values, folds = rng.integers(0, 2, 30), rng.normal(size=(30, 1)), rng.integers(0, 3, 30)
    weights = (np.arange(30) % 3 > 0).astype(float)
    kept = weights > 0
    assert signal_of(values, codes, weights, folds=folds) == signal_of(values[kept], codes[kept], folds=folds[kept])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_folds_have_all_classes_evenly_and_keep_units_together(n_classes):
    units = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    codes = (np.arange(30) % n_classes)[units]
    folds = balanced_folds(codes, units, 10, rng)
    assert folds.max() + 1 == min(10, 30 // n_classes) and folds.min() == 0
    for unit in range(30):
        assert len(np.unique(folds[units == unit])) == 1
    counts = np.array(
        [[len(np.unique(units[(folds == f) & (codes == c)])) for c in range(n_classes)] for f in range(10)]
    )
    assert np.ptp(counts, axis=0).max() <= 1 and np.ptp(counts.sum(axis=1)) <= 1 and counts.min() >= 1


def test_classes_of_one_unit_are_never_left_out():
    codes = np.array([0, 0, 0, 1, 1, 2])
    folds = balanced_folds(codes, np.arange(6), 10, rng)
    assert folds[5] == -1 and sorted(folds[:5]) in ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    assert (balanced_folds(np.array([0, 0, 1]), np.arange(3), 10, rng) == -1).all()


@pytest.mark.parametrize(
    ("auc", "error", "p_value", "is_balanced", "verdict"),
    [
        (0.9, 0.1, 0.001, True, YES),
        (0.9, 0.1, 0.001, False, YES),
        (0.5, 0.1, 0.5, True, NO),
        (0.5, 0.1, 0.5, False, UNCLEAR),  # ranks that are biased against signal do not exclude it
        (0.5, 0.2, 0.5, True, UNCLEAR),  # an area of 0.75 is possible
        (0.54, 0.03, 0.1, True, UNCLEAR),  # a weak signal is likely
    ],
)
def test_no_signal_is_said_only_where_it_is_excluded(auc, error, p_value, is_balanced, verdict):
    assert Signal(auc, error, p_value, is_balanced).verdict == verdict
