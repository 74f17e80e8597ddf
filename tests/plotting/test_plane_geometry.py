"""The drawn geometry is that of the kernel."""

import sys

import numpy as np
import pytest

from preimage.geometry import arc_length, log_volume_element, scalar_curvature
from preimage.kernels import Cosine, Gaussian, Polynomial, Sigmoid
from preimage.plotting import KernelGeometryDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

X = np.random.default_rng(0).normal(size=(30, 2))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("quantity", "function"),
    [("scalar_curvature", scalar_curvature), ("log_volume_element", log_volume_element)],
)
def test_values_on_the_grid_are_those_of_the_function(quantity, function):
    display = KernelGeometryDisplay.from_kernel(Polynomial(3), 1.5, quantity=quantity, grid_resolution=12)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.values.ravel(), function(Polynomial(3), grid))
    np.testing.assert_array_equal(display.mesh_.get_array().ravel(), display.values.ravel())
    assert display.xx0.min() == -1.5 and display.xx1.max() == 1.5


def test_colors_of_the_curvature_are_symmetric_about_flat():
    display = KernelGeometryDisplay.from_kernel(Polynomial(2), 1.0, grid_resolution=15)
    lowest, highest = display.mesh_.get_clim()
    assert lowest == -highest < 0
    lines = display.ax_.collections[1]
    assert ((np.asarray(lines.levels) > lowest) & (np.asarray(lines.levels) < highest)).all()


def test_singular_points_stay_empty():
    display = KernelGeometryDisplay.from_kernel(Polynomial(3, coef0=0.0), 1.0, grid_resolution=11)
    assert np.isnan(display.values[5, 5]) and np.isnan(display.values).sum() == 1


@pytest.mark.parametrize("quantity", ["scalar_curvature", "log_volume_element"])
def test_points_with_an_indefinite_metric_stay_empty(quantity):
    display = KernelGeometryDisplay.from_kernel(Sigmoid(1.0, 0.0), 1.5, grid_resolution=21, quantity=quantity)
    s = display.xx0**2 + display.xx1**2
    np.testing.assert_array_equal(np.isnan(display.values), s * np.tanh(s) >= 0.5)  # where (C14) fails

    display = KernelGeometryDisplay.from_kernel(Polynomial(3, coef0=0.0), 1.0, grid_resolution=12)
    assert not display.values.any() and display.mesh_.get_clim() == (-1.0, 1.0)
    display = KernelGeometryDisplay.from_kernel(Gaussian(), 1.0, quantity="log_volume_element", grid_resolution=5)
    assert np.allclose(display.values, np.log(2)) and np.diff(display.mesh_.get_clim()) > 0


def test_geodesics_start_at_the_point_and_are_equally_long():
    start, kernel = np.array([0.3, 0.2]), Polynomial(2)
    display = KernelGeometryDisplay.from_kernel(kernel, 1.0, grid_resolution=5, geodesics_from=start, n_geodesics=5)
    assert len(display.lines_) == 5
    straight = max(
        arc_length(kernel, np.linspace(start, corner, 33)) for corner in [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    )
    for line, path in zip(display.lines_, display.geodesics):
        np.testing.assert_array_equal(line.get_xydata(), path)
        np.testing.assert_allclose(path[0], start)
        assert arc_length(kernel, path) == pytest.approx(straight, rel=1e-3)


def test_points_are_drawn_and_span_the_grid():
    display = KernelGeometryDisplay.from_kernel(Polynomial(2), X, grid_resolution=6, margin=0.5)
    np.testing.assert_allclose(display.ax_.collections[-1].get_offsets(), X)
    assert display.xx0.min() == pytest.approx(X[:, 0].min() - np.ptp(X[:, 0]) / 2)


def test_given_axes_and_limits_are_used():
    figure, ax = plt.subplots()
    display = KernelGeometryDisplay.from_kernel(
        Polynomial(2), 1.0, grid_resolution=5, ax=ax, limits=(-3, 3), colorbar=False, levels=0
    )
    assert display.figure_ is figure and display.ax_ is ax and display.mesh_.get_clim() == (-3, 3)
    assert display.colorbar_ is None and len(figure.axes) == 1 and len(ax.collections) == 1


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        (Polynomial(2), {"quantity": "torsion"}, "quantity='torsion'"),
        (Polynomial(2), {"region": np.ones((4, 3))}, r"two dimensions; the points have shape \(4, 3\)"),
        (Polynomial(2), {"region": np.ones((4, 2))}, "span an area"),
        (Polynomial(2), {"region": -1.0}, "positive size"),
        (Polynomial(2), {"geodesics_from": [1.0]}, "one point of the plane"),
        (Cosine(), {"region": X}, "degenerate or indefinite"),
        (Sigmoid(1.0, 0.0), {"region": 3 + X / 9}, "degenerate or indefinite"),
    ],
)
def test_bad_input_is_named(kernel, options, message):
    with pytest.raises(ValueError, match=message):
        KernelGeometryDisplay.from_kernel(kernel, **({"grid_resolution": 6} | options))


def test_a_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "preimage\[plot\]"'):
        KernelGeometryDisplay.from_kernel(Polynomial(2), grid_resolution=5)
