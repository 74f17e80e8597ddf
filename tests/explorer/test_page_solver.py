"""Which solver a page uses for a model, and what the page is told of it."""

import numpy as np
import pytest

from preimage import KernelPCA
from preimage.descent import spread
from preimage.explorer._models import page_solver
from preimage.explorer._parts import solver_record
from preimage.kernels import Chi2, Gaussian, Laplacian
from preimage.solvers import FixedPoint, Gradient, LearnedMap

POINTS = np.random.default_rng(0).uniform(size=(20, 3))


@pytest.mark.parametrize("solver", [FixedPoint(penalty=0.1, tol=1e-4), Gradient(lower=0.0, memory=3)], ids=repr)
def test_nearest_images_of_a_model_keep_their_solver(solver):
    model = KernelPCA(2, kernel=Gaussian(1.0), preimage=solver).fit(POINTS)
    assert page_solver(model.preimage_, model.kernel_) is solver


@pytest.mark.parametrize(("kernel", "expected"), [(Gaussian(1.0), FixedPoint), (Laplacian(1.0), Gradient)])
@pytest.mark.parametrize("given", ["auto", "learned", LearnedMap()], ids=repr)
def test_other_solvers_are_replaced_by_the_default_of_the_kernel(kernel, expected, given):
    model = KernelPCA(2, kernel=kernel, preimage=given).fit(POINTS)
    assert type(page_solver(model.preimage_, model.kernel_)) is expected


def test_a_fixed_point_that_does_not_exist_becomes_a_descent_with_its_settings():
    solver = page_solver(FixedPoint(penalty=0.2, tol=1e-3, max_iter=7), Laplacian(1.0))
    assert repr(solver) == repr(Gradient(penalty=0.2, tol=1e-3, max_iter=7))


def test_records_say_how_large_the_data_are():
    record = solver_record(FixedPoint(), Gaussian(1.0), POINTS.astype(np.float32))
    assert record["spread"] == pytest.approx(spread(POINTS), rel=1e-6)
    np.testing.assert_allclose(record["middle"], POINTS.mean(axis=0), rtol=1e-6)
    assert record["radius"] == pytest.approx(np.linalg.norm(POINTS - POINTS.mean(axis=0), axis=1).max(), rel=1e-6)
    assert record["positive_semidefinite"] is True
    assert record["solver"]["lower"] is None
    assert record["solver"]["upper"] is None


def test_bounds_are_those_of_the_solver_and_of_the_kernel_about_its_origin():
    bounds = solver_record(Gradient(lower=-1.0), Chi2(1.0), POINTS)["solver"]
    np.testing.assert_array_equal(bounds["lower"], np.zeros(3))
    np.testing.assert_array_equal(bounds["upper"], np.full(3, np.inf))
    moved = solver_record(Gradient(upper=[1.0, 2.0, 3.0]), Gaussian(1.0), POINTS, np.ones(3))["solver"]
    np.testing.assert_array_equal(moved["upper"], [0.0, 1.0, 2.0])
