"""The box around images, and how many functions have different values on it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Linear, Polynomial, Sigmoid
from preimage.widths import enclosing_ball, enclosing_box


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


def test_sides_of_points_on_axes():
    X = np.array([[3.0, 0, 0], [-3, 0, 0], [0, 2, 0], [0, -2, 0], [0, 0, 1], [0, 0, -1]])
    box = enclosing_box(Linear(), X)
    assert_allclose(box.sides, [3, 2, 1])
    assert_allclose(box.variances, [3, 4 / 3, 1 / 3])
    assert box.radius == pytest.approx(3)
    # Stretched by one over their sides, all six points are at distance one.
    assert_allclose(box.radii, [1, 1, 1])


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Polynomial(2), Linear()], ids=repr)
def test_sides_are_the_largest_coordinates_of_kernel_pca(X, kernel):
    box = enclosing_box(kernel, X)
    model = KernelPCA(kernel=kernel).fit(X)
    largest = np.sort(np.abs(model.transform(X)).max(axis=0))[::-1]
    assert_allclose(box.sides[:3], largest[:3], rtol=1e-6)
    assert np.all(np.diff(box.sides) <= 0)
    assert np.all(box.sides**2 >= box.variances * (1 - 1e-9))
    assert box.radius >= enclosing_ball(kernel, X).radius * (1 - 1e-9)


def test_kernels_with_negative_eigenvalues_and_rows_without_variance_are_refused(X):
    with pytest.raises(UnsupportedKernelError, match="enclosing_box"):
        enclosing_box(Sigmoid(1.0, -1.0), X)
    with pytest.raises(ValueError, match="no variance"):
        enclosing_box(Gaussian(1.0), np.ones((4, 2)))
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="positive norm and scale"):
            enclosing_box(Gaussian(1.0), X).covering(wrong, 0.5)
        with pytest.raises(ValueError, match="positive norm and scale"):
            enclosing_box(Gaussian(1.0), X).covering(1.0, wrong)


def test_one_dimension_is_an_interval():
    """Values wx with |w| ≤ 5 at x = ±1 lie in [−5, 5], which takes 5/ε intervals of the length 2ε."""
    box = enclosing_box(Linear(), np.array([[-1.0], [1.0]]))
    for scale in (0.01, 0.1, 1.0):
        covering = box.covering(5.0, scale)
        assert np.log(5 / scale) <= covering.log_number <= np.log(5 / scale) + np.log(4)
        assert covering.cutoff == 1
    assert box.covering(5.0, 5.0).log_number == 0


@given(
    sides=st.lists(st.floats(0.05, 3.0), min_size=1, max_size=3),
    norm=st.floats(0.5, 5.0),
    scale=st.floats(0.1, 1.0),
    seed=st.integers(0, 100),
)
@settings(max_examples=30, deadline=None)
def test_no_more_functions_than_that_differ_by_twice_the_scale(sides, norm, scale, seed):
    """Functions that differ by more than 2ε at some row need a covering function each: greedy choices are as many."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(30, len(sides))) * sides
    X -= X.mean(axis=0)
    covering = enclosing_box(Linear(), X).covering(norm, scale)
    w = rng.normal(size=(3000, len(sides)))
    w *= norm * rng.uniform(size=(3000, 1)) ** (1 / len(sides)) / np.linalg.norm(w, axis=1, keepdims=True)
    values, count = w @ X.T, 0
    while len(values):
        count += 1
        values = values[np.abs(values - values[0]).max(axis=1) > 2 * scale]
    assert np.log(count) <= covering.log_number + 1e-9
    assert covering.log_number <= covering.log_number_of_ball


def test_coverings_grow_with_the_norm_and_fall_with_the_scale(X):
    box = enclosing_box(Gaussian(0.3), X)
    by_norm = [box.covering(norm, 0.5).log_number for norm in (0.1, 1.0, 3.0, 10.0, 100.0)]
    by_scale = [box.covering(10.0, scale).log_number for scale in (1e-3, 0.1, 0.5, 2.0, 100.0)]
    assert by_norm == sorted(by_norm) and by_norm[0] == 0
    assert by_scale == sorted(by_scale, reverse=True) and by_scale[-1] == 0


def test_units_of_the_kernel_do_not_matter(X):
    one = enclosing_box(Gaussian(0.3), X).covering(10.0, 0.5)
    other = enclosing_box(100.0 * Gaussian(0.3), X).covering(1.0, 0.5)
    assert other.log_number == pytest.approx(one.log_number, rel=1e-6)
    assert other.cutoff == one.cutoff


def test_flat_boxes_need_fewer_functions_than_their_balls(X):
    wide, narrow = (enclosing_box(Gaussian(gamma), X) for gamma in (1e-3, 10.0))
    covering = wide.covering(1 / wide.radius, 0.05)
    assert covering.cutoff <= 10 and covering.log_number < 0.3 * covering.log_number_of_ball
    assert narrow.covering(1 / narrow.radius, 0.05).cutoff == 39
