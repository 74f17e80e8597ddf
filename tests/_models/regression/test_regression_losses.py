"""Losses of machines: derivatives against differences, duality row by row, and what their units are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._models.regression._losses import (
    CLASSIFICATION_LOSSES,
    REGRESSION_LOSSES,
    EpsilonInsensitiveLoss,
    HingeLoss,
    HuberLoss,
    IntervalLoss,
    LogisticLoss,
    QuantileLoss,
    SmoothLoss,
    SoftmaxLoss,
    SquaredHingeLoss,
)

LOSSES = [
    LogisticLoss(),
    SoftmaxLoss(),
    HingeLoss(),
    SquaredHingeLoss(),
    HuberLoss(0.7),
    EpsilonInsensitiveLoss(0.3),
    QuantileLoss(0.2),
]
SMOOTH = [loss for loss in LOSSES if isinstance(loss, SmoothLoss)]
ON_CLASSES = (LogisticLoss, SoftmaxLoss, HingeLoss, SquaredHingeLoss)


def drawn(loss, rng, n=200):
    F, Y = 2 * rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    if isinstance(loss, SoftmaxLoss):
        Y = np.where(rng.integers(3, size=n)[:, None] == np.arange(3), 1.0, -1.0)
    elif isinstance(loss, ON_CLASSES):
        Y = np.where(Y > 0, 1.0, -1.0)
    return F, Y


def multipliers(loss, F, Y, rng):
    """At values of F; anything between those of both sides of a kink is right there, and a few rows are on it."""
    if isinstance(loss, SmoothLoss):
        return loss.multipliers(F, Y)
    (lower, upper), (below, above) = loss.interval(Y), loss.steepness()
    return np.where(lower > F, below, np.where(upper < F, -above, 0.0))


def test_every_named_loss_is_tested():
    named = {type(part.exemplar()) for registry in (CLASSIFICATION_LOSSES, REGRESSION_LOSSES) for part in registry}
    assert named | {SoftmaxLoss} == set(map(type, LOSSES))


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_derivatives_are_limits_of_differences(loss, rng):
    F, Y = drawn(loss, rng)
    h, total = 1e-6, lambda F: loss.value(F, Y).sum(axis=1)
    for c in range(3):
        step = h * (np.arange(3) == c)
        slopes = (total(F + step) - total(F - step)) / (2 * h)
        assert_allclose(loss.multipliers(F, Y)[:, c], -slopes, atol=1e-7)
        bends = -(loss.multipliers(F + step, Y) - loss.multipliers(F - step, Y)) / (2 * h)
        is_smooth = np.abs(loss.curvature(F + step, Y) - loss.curvature(F - step, Y)).max(axis=1) < 0.1
        assert is_smooth.mean() > 0.95
        assert_allclose(loss.curvature(F, Y)[is_smooth, c], bends[is_smooth, c], atol=1e-6)
        along = loss.curved(F, Y, np.broadcast_to(step / h, F.shape))
        assert_allclose(along[is_smooth], bends[is_smooth], atol=1e-6)


@pytest.mark.parametrize("loss", [loss for loss in SMOOTH if not loss.is_joint], ids=repr)
def test_majorising_parabolas_are_above(loss, rng):
    F, Y = drawn(loss, rng)
    there, _ = drawn(loss, rng)
    parabola = loss.value(F, Y) - loss.multipliers(F, Y) * (there - F) + loss.majorant(F, Y) * (there - F) ** 2 / 2
    assert np.all(parabola >= loss.value(there, Y) - 1e-12)
    assert np.all(loss.majorant(F, Y) > 0)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_values_and_conjugates_add_up_where_they_belong_together(loss, rng):
    """Young's inequality, with equality at the multipliers of the value."""
    F, Y = drawn(loss, rng)
    A = multipliers(loss, F, Y, rng)
    own = np.sum(A * F, axis=1, keepdims=True) if loss.is_joint else A * F
    assert_allclose(loss.value(F, Y) + loss.conjugate(A, Y), -own, atol=1e-12)
    there, _ = drawn(loss, rng)
    other = np.sum(A * there, axis=1, keepdims=True) if loss.is_joint else A * there
    assert np.all(loss.value(there, Y) + loss.conjugate(A, Y) >= -other - 1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_balanced_multipliers_have_no_sum_and_are_allowed(loss, rng):
    F, Y = drawn(loss, rng)
    weights = rng.uniform(0, 2, size=len(F))
    A = multipliers(loss, F, Y, rng)
    balanced = loss.balanced(A, weights, Y)
    assert_allclose(weights @ balanced, 0, atol=1e-12)
    assert_allclose(loss.balanced(balanced, weights, Y), balanced, atol=1e-12)
    if loss.is_joint:
        P = (Y > 0) - balanced
        assert P.min() >= -1e-15
        assert_allclose(P.sum(axis=1), 1)
    else:
        assert np.all(balanced * A >= 0)
        assert np.all(np.abs(balanced) <= np.abs(A))


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if not isinstance(loss, ON_CLASSES)], ids=repr)
def test_losses_scale_with_their_degree(loss, rng):
    F, Y = drawn(loss, rng)
    assert_allclose(loss.in_unit(1 / 3).value(3 * F, 3 * Y), 3**loss.degree * loss.value(F, Y))


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if isinstance(loss, IntervalLoss)], ids=repr)
def test_intervals_cost_nothing(loss, rng):
    _, Y = drawn(loss, rng)
    for end in loss.interval(Y):
        assert_allclose(loss.value(np.where(np.isfinite(end), end, 0), Y)[np.isfinite(end)], 0, atol=1e-15)


def test_extreme_values_are_numbers():
    F, Y = np.array([[-1e300, 1e300, 0.0]]), np.array([[1.0, -1.0, -1.0]])
    for loss in (LogisticLoss(), SoftmaxLoss(), HingeLoss(), HuberLoss(1.0)):
        assert np.all(np.isfinite(loss.value(F, Y)))
    assert np.all(np.isfinite(SoftmaxLoss().multipliers(F, Y)))
    assert_allclose(LogisticLoss().majorant(np.zeros((1, 1)), np.ones((1, 1))), 0.25)
