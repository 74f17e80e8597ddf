"""New points, one after the other; kernels of degree 2 have exact reductions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from random_targets import finite_differences, random_target, smooth_kernels
from scipy import sparse

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Laplacian, Matern, Polynomial
from preimage.reduced_sets import Construct, Select, project, relative_error, squared_error
from preimage.reduced_sets._construction import _Residual, eigen_points


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(0.5, nu=2.5), Laplacian(0.5)], ids=repr)
def test_one_term_is_found_again(kernel):
    z = np.array([[0.3, -1.2, 0.5]])
    target = Expansion(kernel, z, np.array([[-2.5]]))
    reduced = Construct().reduce(target, 1).expansion
    assert_allclose(reduced.points, z, atol=1e-8)
    assert_allclose(reduced.coefficients, [[-2.5]])


def test_one_term_is_found_behind_many():
    """Duplicates, and terms that cancel, hide nothing."""
    z, far = np.array([[0.3, -1.2]]), np.array([[4.0, 4.0]])
    target = Expansion(Gaussian(0.7), np.concatenate([z, far, z, far]), np.array([[1.0], [3.0], [1.5], [-3.0]]))
    reduced = Construct(tol=1e-8).reduce(target, 1).expansion
    assert_allclose(reduced.points, z, atol=1e-6)
    assert_allclose(reduced.coefficients, [[2.5]])


@smooth_kernels
@pytest.mark.parametrize("chosen", [0, 1, 4])
@pytest.mark.parametrize("k", [1, 3])
def test_gradient_of_the_gain(kernel, chosen, k, rng):
    residual = _Residual(random_target(rng, kernel, k=k))
    for z in rng.normal(size=(chosen, 3)):
        residual.add(z[None])
    Z = rng.normal(size=(5, 3))
    values, gradient = residual.loss(Z)
    assert_allclose(gradient, finite_differences(lambda Z: residual.loss(Z)[0].sum(), Z), rtol=1e-4, atol=1e-7)
    assert (values <= 0).all()


@smooth_kernels
@pytest.mark.parametrize("k", [1, 3])
def test_gain_is_what_a_refit_gains(kernel, k, rng):
    """(R4), and the bookkeeping of the residual."""
    target = random_target(rng, kernel, k=k)
    residual, chosen, z = _Residual(target), rng.normal(size=(4, 3)), rng.normal(size=(1, 3))
    for point in chosen:
        residual.add(point[None])
    before, after = project(target, chosen), project(target, np.concatenate([chosen, z]))
    gain = squared_error(target, before) - squared_error(target, after)
    total = target.squared_norms().sum()
    assert_allclose(-residual.loss(z)[0][0] * total, gain, rtol=1e-6, atol=1e-9 * total)
    values = (target - before)(target.points)
    assert_allclose(residual.span.residual_values, values, atol=1e-8 * np.abs(values).max())
    inside = kernel(target.points, chosen) @ np.linalg.solve(kernel(chosen), kernel(chosen, target.points))
    assert_allclose(
        residual.span.residuals, kernel.diagonal(target.points) - np.diagonal(inside), atol=1e-8 * inside.max()
    )


@smooth_kernels
@pytest.mark.parametrize("k", [1, 3])
def test_error_falls_with_every_point(kernel, k, rng):
    errors = Construct().path(random_target(rng, kernel, k=k), 12).errors
    assert (np.diff(errors) <= 1e-12).all()
    assert errors[-1] < 0.5 * errors[0]


def test_first_point_is_no_worse_than_the_best_of_the_target(rng):
    target = random_target(rng)
    constructed, selected = (one.reduce(target, 1).expansion for one in (Construct(), Select("forward")))
    assert relative_error(target, constructed) <= relative_error(target, selected) + 1e-12


def test_points_stay_apart(rng):
    """The denominator of (R4) keeps images independent, and coefficients tame."""
    target = random_target(rng, Gaussian(0.05), m=40)
    reduced = Construct().reduce(target, 12).expansion
    assert np.isfinite(reduced.coefficients).all()
    assert np.linalg.eigvalsh(target.kernel(reduced.points))[0] > 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_points_stay_within_reach(seed):
    """What polynomials gain has its supremum at infinity now and then."""
    target = random_target(np.random.default_rng(seed), Polynomial(3), k=3)
    reduced = Construct().reduce(target, 8).expansion
    assert np.linalg.norm(reduced.points, axis=1).max() <= 30 * np.linalg.norm(target.points, axis=1).max()
    assert relative_error(target, reduced) < 0.1


def test_stops_when_nothing_is_left(rng):
    bumps = Expansion(Gaussian(1.0), 10.0 * np.eye(3), rng.normal(size=(3, 2)))
    padded = Expansion(
        bumps.kernel,
        np.concatenate([bumps.points, rng.normal(size=(9, 3))]),
        np.pad(bumps.coefficients, ((0, 9), (0, 0))),
    )
    reduced = Construct().reduce(padded, 8).expansion
    assert reduced.points.shape[0] == 3
    assert relative_error(padded, reduced) < 1e-12


def test_sparse_and_dense_points_agree(rng):
    points = np.maximum(rng.normal(size=(25, 4)), 0)
    coefficients = rng.normal(size=(25, 2))
    dense = Expansion(Gaussian(0.5), points, coefficients).merged()
    thin = Expansion(dense.kernel, sparse.csr_matrix(dense.points), dense.coefficients)
    first, second = (relative_error(dense, Construct().reduce(one, 5).expansion) for one in (dense, thin))
    assert_allclose(first, second, rtol=0.05)


@pytest.mark.parametrize("parameters", [{"n_starts": 0}, {"tol": -1.0}, {"max_iter": 0}])
def test_parameters_are_checked(parameters, rng):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        Construct(**parameters).reduce(random_target(rng), 3)


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
