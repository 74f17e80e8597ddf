"""Kernels of degree 2 have exact reductions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from preimage.feature_space import Expansion
from preimage.kernels import Polynomial
from preimage.reduced_sets import Construct, Select, relative_error, squared_error
from preimage.reduced_sets._quadratic import eigen_points


def homogeneous(gamma=1.0):
    return Polynomial(2, gamma=gamma, coef0=0.0)


@pytest.mark.parametrize("gamma", [1.0, 0.3])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_exact_with_as_many_points_as_variables(d, gamma, rng):
    target = Expansion(homogeneous(gamma), rng.normal(size=(30, d)), rng.normal(size=(30, 1)))
    reduced = Construct().reduce(target, d).expansion
    assert reduced.points.shape[0] == d
    assert relative_error(target, reduced) < 1e-13
    Z = rng.normal(size=(9, d))
    assert_allclose(reduced(Z), target(Z), rtol=1e-10, atol=1e-10)


def test_truncation_loses_the_small_eigenvalues(rng):
    """(R22)."""
    target = Expansion(homogeneous(), rng.normal(size=(30, 5)), rng.normal(size=(30, 1)))
    values = np.linalg.eigvalsh(target.points.T @ (target.coefficients * target.points))
    lost = np.sort(values**2)[::-1]
    for n in range(1, 5):
        assert_allclose(squared_error(target, Construct().reduce(target, n).expansion), lost[n:].sum(), rtol=1e-9)


@pytest.mark.parametrize("constant", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("gamma", [1.0, 0.3])
def test_a_constant_needs_one_more(constant, gamma, rng):
    target = Expansion(Polynomial(2, gamma, constant), rng.normal(size=(30, 4)), rng.normal(size=(30, 1)))
    reduced = Construct().reduce(target, 5).expansion
    assert reduced.points.shape[0] == 5
    assert relative_error(target, reduced) < 1e-10


@pytest.mark.parametrize("signs", ["both", "plus", "minus"])
def test_symmetric_data_have_no_points_at_infinity(signs, rng):
    """Eigenvectors whose last coordinate vanishes are mixed with others, of the other sign if need be."""
    half, weights = rng.normal(size=(15, 4)), rng.normal(size=(15, 1))
    weights = {"both": weights, "plus": np.abs(weights), "minus": -np.abs(weights)}[signs]
    target = Expansion(Polynomial(2), np.concatenate([half, -half]), np.concatenate([weights, weights]))
    reduced = Construct().reduce(target, 5).expansion
    assert reduced.points.shape[0] == 5
    assert np.abs(reduced.points).max() < 1e4
    assert relative_error(target, reduced) < 1e-10


def test_fewer_points_for_symmetric_data_are_no_worse_than_a_subset(rng):
    half, weights = rng.normal(size=(15, 4)), rng.normal(size=(15, 1))
    target = Expansion(Polynomial(2), np.concatenate([half, -half]), np.concatenate([weights, weights]))
    for n in range(1, 5):
        constructed, selected = (one.reduce(target, n).expansion for one in (Construct(), Select("forward")))
        assert relative_error(target, constructed) < 1.1 * relative_error(target, selected)


def test_opposite_signs_leave_a_linear_function(rng):
    half, weights = rng.normal(size=(15, 4)), rng.normal(size=(15, 1))
    target = Expansion(Polynomial(2), np.concatenate([half, -half]), np.concatenate([weights, -weights]))
    reduced = Construct().reduce(target, 5).expansion
    assert reduced.points.shape[0] == 2
    assert relative_error(target, reduced) < 1e-10


@pytest.mark.parametrize("sign", [1, -1])
def test_a_pure_quadratic_needs_two_more(sign, rng):
    """No vector of the sum has a last coordinate: N + 1 points cannot do it."""
    half = rng.normal(size=(15, 3))
    weights = np.abs(rng.normal(size=(15, 1)))
    origin = np.zeros((1, 3))
    target = Expansion(
        Polynomial(2),
        np.concatenate([half, -half, origin]),
        sign * np.concatenate([weights, weights, [-2 * weights.sum(0)]]),
    )
    reduced = Construct().reduce(target, 5).expansion
    assert reduced.points.shape[0] == 5
    assert relative_error(target, reduced) < 1e-10


def test_several_targets_take_turns(rng):
    target = Expansion(homogeneous(), rng.normal(size=(30, 3)), rng.normal(size=(30, 2)))
    assert relative_error(target, Construct().reduce(target, 6).expansion) < 1e-13
    few = Construct().reduce(target, 4).expansion
    assert few.points.shape[0] <= 4
    assert relative_error(target, few) < 0.5


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_sparse_points_and_single_precision(constant, rng):
    points = np.maximum(rng.normal(size=(30, 3)), 0)
    kernel, coefficients = Polynomial(2, 1.0, constant), rng.normal(size=(30, 1))
    dense = Expansion(kernel, points, coefficients)
    thin = Expansion(kernel, sparse.csr_matrix(points), coefficients)
    assert_allclose(np.abs(eigen_points(thin)), np.abs(eigen_points(dense)), rtol=1e-6)
    assert relative_error(thin, Construct().reduce(thin, 4).expansion) < 1e-12
    small = Expansion(kernel, points.astype(np.float32), coefficients.astype(np.float32))
    reduced = Construct().reduce(small, 4).expansion
    assert reduced.points.dtype == np.float32
    assert relative_error(small, reduced) < 1e-4


def test_more_points_than_the_target_has_are_never_returned(rng):
    """Few points in many dimensions, where splitting vectors would need more."""
    x = rng.normal(size=(1, 6))
    target = Expansion(Polynomial(2), np.concatenate([x, -x, 0 * x]), np.array([[1.0], [1.0], [-2.0]]))
    reduced = Construct().reduce(target, 10).expansion
    assert reduced.points.shape[0] <= 3
    assert relative_error(target, reduced) < 1e-10
