"""Thresholds and probabilities learned from left-out decisions."""

import numpy as np
import pytest
from scipy.special import expit

from preimage.inflation._comparison import predicted_codes
from preimage.inflation._corrections import Probabilities, Threshold, fit_logistic, most_probable

RNG = np.random.default_rng(0)


def decisions(n=60, small=15, separation=2.0, seed=0):
    """Training decisions at ±1, left-out ones that are shrunk and lean to the large class, and classes."""
    rng = np.random.default_rng(seed)
    codes = (np.arange(n) < small).astype(int)
    left_out = 0.1 * (rng.normal(size=n) + separation * codes) - 0.5
    return np.where(codes == 1, 1.0, -1.0)[:, None], left_out[:, None], codes


def test_logistic_functions_meet_the_conditions_of_their_maximum():
    x, is_second, weights = RNG.normal(size=50), RNG.uniform(size=50) < 0.3, RNG.uniform(0.5, 2, size=50)
    slope, offset = fit_logistic(x, is_second, weights)
    second, first = weights[is_second].sum(), weights[~is_second].sum()
    residuals = weights * (
        np.where(is_second, (second + 1) / (second + 2), 1 / (first + 2)) - expit(slope * x + offset)
    )
    np.testing.assert_allclose([residuals.sum(), residuals @ x], 0, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e6, 1e200])
def test_logistic_functions_do_not_depend_on_units(scale):
    x, is_second = RNG.normal(size=40) + np.arange(40) / 20, np.arange(40) > 25
    slope, offset = fit_logistic(x, is_second, np.ones(40))
    with np.errstate(over="raise", invalid="raise"):
        np.testing.assert_allclose(fit_logistic(scale * x, is_second, np.ones(40)), [slope / scale, offset], rtol=1e-6)


def test_separated_and_constant_values_have_finite_parameters():
    x, is_second = np.r_[-np.ones(20), np.ones(5)], np.arange(25) >= 20
    assert np.isfinite(fit_logistic(x, is_second, np.ones(25))).all()
    slope, offset = fit_logistic(np.ones(25), is_second, np.ones(25))
    assert slope == pytest.approx(0, abs=1e-6) and 0.1 < expit(slope + offset) < 0.35


def test_thresholds_move_with_the_decisions():
    train, left_out, codes = decisions()
    level = Threshold.learned(train, left_out, codes).levels
    np.testing.assert_allclose(Threshold.learned(train, left_out + 3, codes).levels, level + 3, rtol=1e-6)
    np.testing.assert_allclose(Threshold.learned(train, 7 * left_out, codes).levels, 7 * level, rtol=1e-6)


def test_new_points_of_both_classes_are_found_where_the_old_threshold_finds_one():
    recalls = []
    for seed in range(10):
        train, left_out, codes = decisions(seed=seed)
        _, new, new_codes = decisions(4000, 1000, seed=100 + seed)
        corrected = Threshold.learned(train, left_out, codes)(new)[:, 0]
        assert np.mean(new > 0) < 0.01
        recalls.append([np.mean((corrected > 0)[new_codes == k] == k) for k in (0, 1)])
    # Normal classes two deviations apart: 84 % of each at the best threshold.
    np.testing.assert_allclose(np.mean(recalls, axis=0), 0.84, atol=0.06)


def test_several_classes_have_a_threshold_and_a_unit_each():
    codes = np.repeat(np.arange(3), [40, 15, 5])
    left_out = RNG.normal(size=(60, 3)) * [1.0, 0.1, 0.01] + 3 * np.eye(3)[codes] * [1.0, 0.1, 0.01] - [0.0, 0.3, 0.02]
    threshold = Threshold.learned(np.sign(np.eye(3)[codes] - 0.5), left_out, codes)
    assert (threshold.slopes > 0).all() and threshold.slopes[2] > threshold.slopes[0]
    named = threshold(left_out).argmax(axis=1)
    assert min(np.mean(named[codes == k] == k) for k in range(3)) > 0.6


def test_weights_are_repetitions():
    train, left_out, codes = decisions(30, 8)
    weights = RNG.integers(1, 5, size=30)
    rows = np.repeat(np.arange(30), weights)
    for scoring in ("balanced_accuracy", "accuracy"):
        weighted = Threshold.learned(train, left_out, codes, weights.astype(float), scoring)
        repeated = Threshold.learned(train[rows], left_out[rows], codes[rows], scoring=scoring)
        np.testing.assert_allclose(weighted.levels, repeated.levels, rtol=1e-8)
    one = Probabilities.learned(left_out, codes, weights.astype(float))(left_out)
    np.testing.assert_allclose(one, Probabilities.learned(left_out[rows], codes[rows])(left_out), rtol=1e-6)


def test_decisions_that_order_classes_wrongly_have_flat_probabilities():
    codes = (np.arange(40) < 10).astype(int)
    chances = Probabilities.learned(-1.0 * codes[:, None] + 0.1 * RNG.normal(size=(40, 1)), codes)(np.c_[[-2.0, 2.0]])
    np.testing.assert_allclose(chances, [[0.5, 0.5], [0.5, 0.5]])


def test_probabilities_of_several_classes_sum_to_one():
    codes = np.arange(30) % 3
    chances = Probabilities.learned(RNG.normal(size=(30, 3)) + 2 * np.eye(3)[codes], codes)(RNG.normal(size=(9, 3)))
    np.testing.assert_allclose(chances.sum(axis=1), 1)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e100])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_flat_probabilities_keep_the_order_of_the_decisions(n_classes, scale):
    codes = np.arange(60) % n_classes
    wrong = -(np.eye(n_classes)[codes][:, 1:] if n_classes == 2 else np.eye(n_classes)[codes])
    learned = Probabilities.learned(scale * (wrong + 0.1 * RNG.normal(size=wrong.shape)), codes)
    new = scale * RNG.normal(size=(50, wrong.shape[1]))
    chances = learned(new)
    np.testing.assert_allclose(chances, 1 / n_classes, rtol=1e-6)
    np.testing.assert_array_equal(chances.argmax(axis=1), predicted_codes(new))
    if n_classes == 2:
        np.testing.assert_array_equal(np.argsort(chances[:, 1]), np.argsort(new[:, 0]))


def test_decisions_that_are_all_zero_say_nothing_of_new_ones():
    learned = Probabilities.learned(np.zeros((20, 1)), np.arange(20) % 2)
    np.testing.assert_allclose(learned(np.c_[[-3.0, 3.0]]), 0.5, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_largest_decision_is_the_most_probable_where_probabilities_round_to_the_same(dtype):
    decisions = np.array([[50.0, 90.0, -3.0], [0.0, 1e-18, 0.0], [40.0, 39.0, 41.0]], dtype=dtype)
    for values in (decisions, decisions[:, 1:2]):
        chances = Probabilities(1.0, 0.5 if values.shape[1] > 1 else 0.0)(values)
        np.testing.assert_array_equal(chances.argmax(axis=1), predicted_codes(values))
        np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=8 * np.finfo(dtype).eps)


def test_only_ties_are_broken():
    P = np.array([[0.4, 0.6], [0.5, 0.5], [0.5, 0.5]])
    named = most_probable(P, np.array([0, 0, 1]))
    np.testing.assert_array_equal(named[:2], P[:2])
    assert named[2, 1] == np.nextafter(0.5, 1) and named[2, 0] == 0.5
    assert (P == [[0.4, 0.6], [0.5, 0.5], [0.5, 0.5]]).all()
