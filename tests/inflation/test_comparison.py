"""Measures of smoothed recalls, and whether their differences are more than noise."""

import numpy as np
import pytest

from preimage.inflation._comparison import SCORINGS, compare_decisions, decision_score, margins_of

rng = np.random.default_rng(0)


def counted(margins, codes, scoring):
    recalls = np.array([np.mean(margins[codes == k] > 0) for k in np.unique(codes)])
    if scoring == "accuracy":
        return np.mean(margins > 0)
    return recalls.mean() if scoring == "balanced_accuracy" else np.prod(recalls) ** (1 / len(recalls))


def test_margins_of_two_classes_are_signed_decisions():
    np.testing.assert_array_equal(margins_of(np.array([[2.0], [-1.0]]), np.array([1, 1])), [2.0, -1.0])
    np.testing.assert_array_equal(margins_of(np.array([[2.0], [-1.0]]), np.array([0, 0])), [-2.0, 1.0])


def test_margins_of_many_classes_are_positive_where_the_largest_column_is_right():
    values, codes = rng.normal(size=(50, 4)), rng.integers(0, 4, size=50)
    margins = margins_of(values, codes)
    np.testing.assert_array_equal(margins > 0, values.argmax(axis=1) == codes)
    assert values.max() < np.inf


def test_nothing_is_gained_over_itself():
    codes, margins = rng.integers(0, 2, size=40), rng.normal(size=40)
    assert compare_decisions({"same": margins}, margins, codes)["same"] == (0.0, 0.0)


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_gains_tend_to_those_of_counts(n_classes, scoring):
    codes = rng.integers(0, n_classes, size=30_000)
    plain = rng.normal(0.5 * codes, 1.0)
    better = plain + 0.5
    gain, error = compare_decisions({"better": better}, plain, codes, scoring=scoring)["better"]
    assert gain == pytest.approx(counted(better, codes, scoring) - counted(plain, codes, scoring), abs=0.02)
    assert 0 < error < 0.01


@pytest.mark.parametrize("scoring", SCORINGS)
def test_the_standard_error_is_that_of_repeated_samples(scoring):
    gains, errors = [], []
    for _ in range(300):
        codes = np.repeat([0, 1], [80, 25])
        values = rng.normal(np.where(codes == 1, 0.3, 1.2), 1.0)
        moved = values + np.where(codes == 1, 0.6, -0.3)
        gain, error = compare_decisions({"moved": moved}, values, codes, scoring=scoring)["moved"]
        gains.append(gain)
        errors.append(error)
    # The smoothing bandwidth is taken as given, so the estimate may be a little small.
    assert 0.7 < np.mean(errors) / np.std(gains) < 1.3


def test_scales_do_not_matter():
    codes, plain, other = rng.integers(0, 2, size=40), rng.normal(size=40), rng.normal(size=40)
    gain = compare_decisions({"a": other}, plain, codes)["a"]
    np.testing.assert_allclose(compare_decisions({"a": 1e6 * other}, 1e-6 * plain, codes)["a"], gain, rtol=1e-9)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_weights_are_repetitions(scoring):
    codes = np.array([0, 0, 0, 0, 1, 1, 1])
    plain, other, weights = rng.normal(size=7), rng.normal(size=7), np.array([1, 3, 2, 1, 2, 1, 5])
    weighted = compare_decisions({"a": other}, plain, codes, weights=weights.astype(float), scoring=scoring)["a"]
    repeat = lambda values: np.repeat(values, weights)
    repeated = compare_decisions({"a": repeat(other)}, repeat(plain), repeat(codes), scoring=scoring)["a"]
    np.testing.assert_allclose(weighted, repeated)
    predicted = (plain > 0).astype(int)
    assert decision_score(codes, predicted, weights, scoring) == pytest.approx(
        decision_score(repeat(codes), repeat(predicted), scoring=scoring)
    )


@pytest.mark.parametrize(("scoring", "gained"), [("balanced_accuracy", 0.5), ("geometric_mean", 1), ("accuracy", 0.5)])
def test_constant_margins_and_lost_classes_are_finite(scoring, gained):
    codes = np.array([0, 0, 1, 1])
    lost, right = np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4)
    gain, error = compare_decisions({"right": right}, lost, codes, scoring=scoring)["right"]
    assert gain == pytest.approx(gained) and error == 0.0
    with pytest.raises(ValueError, match="scoring must be one of 'balanced_accuracy'"):
        compare_decisions({"right": right}, lost, codes, scoring="f1")


def test_large_margins_do_not_overflow():
    margins = np.array([1e200, 2e200, -1e300, 3e200])
    with np.errstate(all="raise"):
        gain, error = compare_decisions({"large": margins}, np.ones(4), np.array([0, 0, 1, 1]))["large"]
    assert np.isfinite([gain, error]).all()
