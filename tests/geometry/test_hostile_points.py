"""Points at the ends of the range of numbers: a finite answer or an error of ours, and no warning."""

from contextlib import suppress

import numpy as np
import pytest
from for_each import for_each

from preimage import geometry
from preimage.kernels import Cosine, Exponential, Gaussian, Linear, Matern, Multiquadric, Polynomial, Sigmoid
from preimage.widths import class_width, enclosing_ball

X = np.random.default_rng(0).normal(size=(6, 3))
KERNELS = [
    Linear(),
    Polynomial(3),
    Exponential(),
    Sigmoid(0.5),
    Gaussian(1e100),
    Matern(1.0, 2.5),
    Multiquadric(),
    Cosine(),
]
FUNCTIONS = [
    geometry.metric_tensor,
    geometry.scalar_curvature,
    geometry.arc_length,
]
SCALES = [1e-300, 1e-160, 1e-100, 1e100, 1e160, 1e300]
pytestmark = pytest.mark.filterwarnings("error")


@for_each("scale", SCALES)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_geometry_is_finite_or_refused(kernel, scale):
    for function in FUNCTIONS:
        with suppress(ValueError):
            assert np.isfinite(function(kernel, scale * X)).all()
    with suppress(ValueError):
        assert not np.isnan(geometry.log_volume_element(kernel, scale * X)).any()


@for_each("scale", SCALES)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_mercer_reports_have_finite_margins(kernel, scale):
    with suppress(ValueError):
        report = geometry.mercer_report(kernel, scale * X)
        assert not np.isnan([test.margin for test in report.tests if test.passed is not None]).any()


@pytest.mark.parametrize("scale", SCALES)
def test_widths_are_finite_or_refused(scale):
    y = np.arange(6) % 2
    for rule in ("enclosing_ball", "mean_distance", "alignment"):
        with suppress(ValueError):
            assert 0 < class_width(scale * X, y, rule) < np.inf
    with suppress(ValueError):
        assert np.isfinite(enclosing_ball(Gaussian(), scale * X).squared_radius)
