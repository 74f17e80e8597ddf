"""The one batched descent: laws that hold for every objective and every step rule."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage._engine.typing import Array
from preimage.descent import SameFunction
from preimage.kernels import AdditiveChi2, Gaussian
from preimage.solvers import Box, Evaluation, Objective, QuasiNewton, Reason, minimize_rows
from preimage.solvers._fixed_point import _FixedPointSteps


@dataclass(frozen=True)
class Parabola(Objective):
    """‖z − cⱼ‖², one centre per row, with the curvature that a fixed point needs."""

    centers: Array

    def at(self, Z):
        shift = Z - self.centers
        value = (shift * shift).sum(axis=1)
        two = 2 + 0 * value
        return Evaluation(value, 2 * shift, 1e-15 * value, two, two)

    def take(self, rows):
        return Parabola(self.centers[rows])


RULES = [QuasiNewton(1.0, 1e-8), QuasiNewton(1.0, 1e-8, memory=1), _FixedPointSteps(1.0, 1e-8)]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("fraction", [1e-9, 0.05, 1.0])
def test_rows_end_at_their_own_minimum_whenever_the_others_leave(rule, fraction, rng, monkeypatch):
    monkeypatch.setattr("preimage.descent._minimize.CLEARED_FRACTION", fraction)
    centers = rng.normal(size=(30, 4)) * 10.0 ** rng.uniform(-3, 3, size=(30, 1))
    result = minimize_rows(Parabola(centers), rng.normal(size=(30, 4)), Box(), rule, 200)
    assert_allclose(result.points, centers, atol=1e-7)
    assert result.converged.all() and set(result.reason) == {Reason.CONVERGED}
    assert_allclose(result.objective, 0, atol=1e-12)


@pytest.mark.parametrize("rule", RULES[:2], ids=repr)
@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 0.5), (-1.0, None), (None, 0.5)])
def test_bounds_are_kept_and_the_minimum_within_is_found(rule, lower, upper, rng):
    centers = 3 * rng.normal(size=(20, 4))
    box = Box(*(None if bound is None else np.full(4, bound) for bound in (lower, upper)))
    result = minimize_rows(Parabola(centers), rng.normal(size=(20, 4)), box, rule, 200)
    assert_allclose(result.points, np.clip(centers, lower, upper), atol=1e-7)


@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 0.5), (-1.0, None), (None, 0.5), (None, None)])
def test_a_part_of_a_box_is_between_all_bounds(lower, upper):
    box = Box(*(None if bound is None else np.array([bound]) for bound in (lower, upper)))
    bounds = -np.inf if lower is None else lower, np.inf if upper is None else upper
    for low, high in [(-2.0, -1.5), (-2.0, 0.0), (0.0, 2.0), (1.0, 2.0)]:
        part = box.within(np.array([low]), np.array([high]))
        assert part.lower == np.clip(low, *bounds) and part.upper == np.clip(high, *bounds)


def test_no_step_is_no_change(rng):
    start = rng.normal(size=(3, 2))
    result = minimize_rows(Parabola(np.zeros((3, 2))), start, Box(), QuasiNewton(1.0, 1e-8), 0)
    assert_allclose(result.points, start, rtol=0)
    assert set(result.reason) == {Reason.ITERATION_LIMIT} and (result.n_iter == 0).all()


def test_values_never_rise_even_with_wrong_gradients(rng):
    start = rng.normal(size=(5, 3))
    uphill = SameFunction(lambda Z: (np.sum(Z**2, axis=1), -2 * Z))
    result = minimize_rows(uphill, start, Box(), QuasiNewton(1.0, 1e-12), 100)
    assert (result.objective <= np.sum(start**2, axis=1)).all()
    assert set(result.reason) == {Reason.STALLED} and not result.converged.any()


def test_the_first_reason_counts(rng):
    """Where kernel values vanish, the gradient has no direction, and a short step is no convergence."""

    class Nothing(Parabola):
        def at(self, Z):
            zero = 0 * Z[:, 0]
            return Evaluation(zero, 0 * Z, zero, zero, zero)

    result = minimize_rows(Nothing(np.zeros((2, 3))), np.ones((2, 3)), Box(), _FixedPointSteps(1.0, 1e-6), 10)
    assert set(result.reason) == {Reason.VANISHING} and not result.converged.any()


def test_bounds_of_users_are_raised_to_the_inputs_of_the_kernel(xp):
    start = xp.asarray(np.zeros((2, 3)))
    assert Box.of_inputs(None, None, Gaussian(), start) == Box()
    assert_allclose(to_numpy(Box.of_inputs(-1.0, None, AdditiveChi2(), start).lower), 0)
    inner = Box.of_inputs([0.0, 1.0, 2.0], 5.0, Gaussian(), start).within(start[0, :] - 1, start[0, :] + 1.5)
    assert_allclose(to_numpy(inner.lower), [0.0, 1.0, 2.0])
    assert_allclose(to_numpy(inner.upper), [1.5, 1.5, 2.0])  # the edge of the box where nothing is in between
