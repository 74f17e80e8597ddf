"""Geodesics are straight where the surface is flat, great circles on a sphere, and keep their speed."""

import numpy as np
import pytest
from surfaces import MIXED, POINTS, name

from preimage.geometry import arc_length, geodesic, metric_tensor
from preimage.geometry._curvature import christoffel
from preimage.kernels import Exponential, Gaussian, Linear, Normalized, Polynomial, ScaledInputs

START, VELOCITY = np.array([0.3, -0.2]), np.array([0.5, 0.4])


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.3), ScaledInputs(Gaussian(), [1.0, 3.0])], ids=name)
def test_flat_kernels_have_straight_paths(kernel):
    path = geodesic(kernel, START, VELOCITY, time=3.0, n_points=7)
    np.testing.assert_allclose(path.points, START + np.linspace(0, 3, 7)[:, None] * VELOCITY, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(path.velocities, np.tile(VELOCITY, (7, 1)), rtol=1e-8)
    assert path.converged and "end" in path.reason


@pytest.mark.parametrize("kernel", [Polynomial(2), Polynomial(3, coef0=0.5), Exponential(0.5), *MIXED], ids=name)
def test_paths_obey_the_equation_and_keep_their_speed(kernel):
    path = geodesic(kernel, START, VELOCITY, n_points=401)
    g = metric_tensor(kernel, path.points)
    speeds = np.sqrt(np.einsum("ma,mab,mb->m", path.velocities, g, path.velocities))
    np.testing.assert_allclose(speeds, path.speed, rtol=1e-6)
    step = path.times[1]
    acceleration = (path.velocities[2:] - path.velocities[:-2]) / (2 * step)
    symbols = christoffel(kernel, path.points)[1:-1]
    expected = -np.einsum("mcab,ma,mb->mc", symbols, path.velocities[1:-1], path.velocities[1:-1])
    np.testing.assert_allclose(acceleration, expected, atol=1e-3 * (1 + np.abs(expected).max()))
    np.testing.assert_allclose(arc_length(kernel, path.points), path.length, rtol=1e-4)


def test_paths_on_the_sphere_are_great_circles():
    """From the pole of (x, 1)/‖(x, 1)‖ with unit speed, x(t) = tan(t)."""
    path = geodesic(Normalized(Polynomial(1, coef0=1.0)), [0.0, 0.0], [0.6, 0.8], time=1.2, n_points=13)
    np.testing.assert_allclose(path.points, np.tan(path.times)[:, None] * [0.6, 0.8], rtol=1e-6)
    assert path.length == pytest.approx(1.2)


def test_geodesics_are_shorter_than_straight_lines():
    kernel = Polynomial(3, coef0=0.3)
    path = geodesic(kernel, [1.0, 0.0], [0.2, 1.5])
    assert (
        arc_length(kernel, path.points) < arc_length(kernel, np.linspace(path.points[0], path.points[-1], 101)) - 1e-3
    )


def test_time_and_velocity_trade():
    kernel = Polynomial(2)
    fast, slow = geodesic(kernel, START, 2 * VELOCITY), geodesic(kernel, START, VELOCITY, time=2.0)
    np.testing.assert_allclose(fast.points[-1], slow.points[-1], rtol=1e-6)
    assert fast.length == pytest.approx(slow.length)


def test_a_path_into_a_singular_point_says_so():
    """One input, (xy)²: φ = x², so the path from 1 at speed −1 reaches x = 0 at time ½ and ends there."""
    path = geodesic(Polynomial(2, coef0=0.0), [1.0], [-1.0], time=1.0)
    assert not path.converged and "singular point" in path.reason
    assert np.isfinite(path.points).all() and 0.45 < path.times[-1] <= 0.5
    np.testing.assert_allclose(path.points[:, 0], np.sqrt(1 - 2 * path.times), rtol=1e-5, atol=1e-4)


def test_paths_that_cannot_begin_end_at_their_start():
    """The connection there is beyond all numbers: one point, and a reason, at once."""
    path = geodesic(Polynomial(2, coef0=0.0), [1e-90, 0.5e-90], [1e200, 1e200])
    assert not path.converged and "no further than time 0" in path.reason
    assert path.times.tolist() == [0.0] and path.points.tolist() == [[1e-90, 0.5e-90]] and path.length == 0.0


def test_lengths_of_curves():
    """(xy)² of one input: the length from a to b is b² − a²; a path and its refinement are equally long."""
    kernel = Polynomial(2, coef0=0.0)
    assert arc_length(kernel, [[1.0], [3.0]]) == pytest.approx(8.0)
    assert arc_length(kernel, [[1.0], [2.0], [3.0]]) == pytest.approx(8.0)
    assert arc_length(kernel, [[1.0], [1.0]]) == 0.0


def test_tensors_are_points_too():
    torch = pytest.importorskip("torch", reason="tensors need torch")
    path = geodesic(Polynomial(2), torch.asarray(START), torch.asarray(VELOCITY))
    np.testing.assert_allclose(path.points.numpy(), geodesic(Polynomial(2), START, VELOCITY).points)


@pytest.mark.parametrize(
    ("x", "v", "options", "message"),
    [
        ([0.0, 0.0], [1.0], {}, r"velocity of shape \(2,\)"),
        ([0.0, 0.0], [1.0, np.nan], {}, "finite velocity"),
        ([[0.0, 0.0]], [1.0, 0.0], {}, "one point"),
        ([0.0, np.nan], [1.0, 0.0], {}, "NaN"),
        ([0.0, 1.0], [1.0, 0.0], {"time": 0.0}, "time > 0"),
        ([0.0, 1.0], [1.0, 0.0], {"n_points": 1}, "at least two points"),
    ],
)
def test_bad_input_is_named(x, v, options, message):
    with pytest.raises(ValueError, match=message):
        geodesic(Gaussian(), x, v, **options)


def test_singular_starts_and_short_paths_are_refused():
    with pytest.raises(ValueError, match="degenerate"):
        geodesic(Polynomial(2, coef0=0.0), [0.0, 0.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="at least two points"):
        arc_length(Gaussian(), POINTS[:1])
