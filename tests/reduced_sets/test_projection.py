"""Best coefficients for given points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from random_targets import random_target
from scipy import sparse

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Laplacian, Linear, Polynomial
from preimage.reduced_sets import project, relative_error, squared_error


@given(st.integers(0, 2**31), st.integers(1, 8), st.floats(1e-6, 1e3), st.sampled_from([0.01, 0.3, 5.0]))
def test_no_other_coefficients_are_better(seed, n, size, gamma):
    rng = np.random.default_rng(seed)
    target = random_target(rng, Gaussian(gamma))
    best = project(target, rng.normal(size=(n, 3)))
    moved = best.coefficients + size * rng.normal(size=best.coefficients.shape)
    other = Expansion(target.kernel, best.points, moved)
    assert squared_error(target, best) <= squared_error(target, other) + 1e-10 * target.squared_norms().sum()


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3), Polynomial(3), Linear()], ids=repr)
def test_residual_is_orthogonal_to_the_span(kernel, rng):
    target, Z = random_target(rng, kernel), rng.normal(size=(6, 3))
    reduced = project(target, Z)
    assert_allclose(reduced(Z), target(Z), atol=1e-9 * np.abs(target(Z)).max())


def test_error_is_what_the_projection_leaves(rng):
    """(R1) at the optimum equals (R3)."""
    target, Z = random_target(rng), rng.normal(size=(6, 3))
    reduced = project(target, Z)
    shorter = target.squared_norms().sum() - np.sum(target(Z) * reduced.coefficients)
    assert_allclose(squared_error(target, reduced), shorter)
    assert_allclose(squared_error(target, reduced), (target - reduced).squared_norms().sum())


def test_own_points_give_own_coefficients(rng):
    target = random_target(rng, Gaussian(2.0))
    reduced = project(target, target.points)
    assert_allclose(reduced.coefficients, target.coefficients, rtol=1e-9, atol=1e-9)
    assert relative_error(target, reduced) < 1e-14


def test_one_more_point_takes_the_share_promised(rng):
    """(R4)."""
    target, Z = random_target(rng), rng.normal(size=(6, 3))
    old, new = project(target, Z[:5]), project(target, Z)
    kappa = target.kernel(Z[:5], Z[5:])
    rest = 1 - kappa.T @ np.linalg.solve(target.kernel(Z[:5]), kappa)
    residual = (target - old)(Z[5:])
    promised = np.sum(residual**2) / rest[0, 0]
    assert_allclose(squared_error(target, old) - squared_error(target, new), promised, rtol=1e-8)


def test_one_point_less_costs_what_it_says(rng):
    """(R5)."""
    target, Z = random_target(rng), rng.normal(size=(6, 3))
    full = project(target, Z)
    precision = np.linalg.inv(target.kernel(Z))
    for n in range(6):
        less = project(target, np.delete(Z, n, axis=0))
        cost = np.sum(full.coefficients[n] ** 2) / precision[n, n]
        assert_allclose(squared_error(target, less) - squared_error(target, full), cost, rtol=1e-6)


def test_dependent_images_share_their_coefficient(rng):
    target = random_target(rng, k=1)
    z = rng.normal(size=(1, 3))
    once, thrice = project(target, z), project(target, np.repeat(z, 3, axis=0))
    assert_allclose(thrice.coefficients, once.coefficients / 3 * np.ones((3, 1)))


def test_a_target_of_length_zero_has_no_error(rng):
    target = random_target(rng)
    nothing = target @ np.zeros((2, 1))
    assert relative_error(nothing, project(nothing, target.points[:3])) == 0


def test_merging_keeps_the_vectors(rng):
    points = np.round(rng.normal(size=(40, 2)))  # signed zeros among them
    target = Expansion(Gaussian(0.3), points, rng.normal(size=(40, 3)))
    short = target.merged()
    assert short.points.shape[0] == len({tuple(row + 0) for row in points})
    assert_allclose((target - short).squared_norms(), 0, atol=1e-12)


@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_merging_sees_through_sparse_storage(layout, rng):
    points = np.round(np.maximum(rng.normal(size=(40, 3)), 0))
    coefficients = rng.normal(size=(40, 2))
    dense = Expansion(Gaussian(0.3), points, coefficients).merged()
    thin = Expansion(Gaussian(0.3), sparse.csr_matrix(layout(points)), coefficients).merged()
    assert thin.points.shape == dense.points.shape
    Z = rng.normal(size=(5, 3))
    assert_allclose(thin(Z), dense(Z))


def test_explicit_zeros_are_zeros():
    stored = sparse.csr_matrix((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert Expansion(Linear(), stored, np.ones((2, 1))).merged().points.shape[0] == 1
