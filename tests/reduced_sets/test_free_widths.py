"""Reduced sets whose points have Gaussians of their own widths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from random_targets import finite_differences, random_target
from sklearn.base import clone

from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import FreeWidthGaussian, Gaussian, Laplacian, ScaledInputs, gammas_of
from preimage.reduced_sets import Construct, Distill, Refine, Select, relative_error
from preimage.reduced_sets._reducer import with_free_widths
from preimage.reduced_sets._refinement import _FunctionLoss, _ProjectionError
from preimage.testing import check_reducer

FREE = [Construct(widths="free"), Refine(widths="free"), Distill(widths="free")]


@pytest.mark.parametrize("reducer", [*FREE, Distill(Select(), widths="free")], ids=repr)
def test_reducers_keep_the_contract(reducer):
    check_reducer(reducer)


@pytest.mark.parametrize("kernel", [2.0 * Gaussian(0.3), ScaledInputs(Gaussian(0.3), [1.0, 2.0, 0.5])], ids=repr)
def test_kernels_made_of_gaussians_have_free_widths(kernel):
    check_reducer(Construct(widths="free"), kernel)


def wide_gaussian(gamma=1.0, relative=0.5, d=2, seed=0):
    """exp(−ργ‖x − z‖²) as a sum of images: nodes of a quadrature of the cloud that it is the mean image of."""
    nodes, weights = np.polynomial.hermite.hermgauss(14)
    grid = np.stack(np.meshgrid(*[nodes] * d), axis=-1).reshape(-1, d)
    products = np.prod(np.stack(np.meshgrid(*[weights] * d), axis=-1), axis=-1).reshape(-1, 1) / np.pi ** (d / 2)
    z, variance = np.random.default_rng(seed).normal(size=d), (1 / relative - 1) / (2 * gamma)
    return z, Expansion(Gaussian(gamma), z + (2 * variance) ** 0.5 * grid, relative ** (-d / 2) * products)


@pytest.mark.parametrize("reducer", FREE, ids=repr)
def test_one_wide_gaussian_is_found(reducer):
    z, target = wide_gaussian()
    found = clone(reducer).set_params(tol=1e-9).reduce(target, 1).expansion
    assert relative_error(target, found) < 1e-7
    assert_allclose(found.inputs[0], z, atol=1e-4)
    assert_allclose(gammas_of(found.kernel, found.points), 0.5, rtol=1e-4)
    assert relative_error(target, Refine().reduce(target, 1).expansion) > 0.1  # one of the kernel's width is not enough


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("n", [1, 3, 8])
def test_never_worse_than_fixed_widths(rng, d, n):
    target = Expansion(Gaussian(0.5), rng.normal(size=(30, d)), rng.normal(size=(30, 2)))
    fixed, free = (one.reduce(target, n).expansion for one in (Refine(), Refine(widths="free")))
    assert relative_error(target, free) <= relative_error(target, fixed) * (1 + 1e-9)


def test_function_values_are_never_worse_than_with_fixed_widths(rng):
    target, X = Expansion(Gaussian(0.5), rng.normal(size=(30, 2)), rng.normal(size=(30, 1))), rng.normal(size=(80, 2))
    fixed, free = (Distill(widths=each).reduce(target, 4, X=X) for each in ("fixed", "free"))
    loss = _FunctionLoss(with_free_widths(target, "A test"), X, 0.01)
    start = with_free_widths(fixed.expansion, "A test").points
    assert loss(free.expansion.points)[0] <= loss(start)[0] + 1e-12


def test_much_better_than_fixed_widths_in_the_plane(rng):
    # A few wide bumps, each a sum of many narrow ones.
    centers = rng.uniform(-3, 3, size=(4, 2))
    points = np.concatenate([c + 0.7 * rng.normal(size=(25, 2)) for c in centers])
    target = Expansion(Gaussian(1.0), points, np.repeat([[1.0], [-1.0], [1.0], [-1.0]], 25, axis=0))
    fixed, free = (Refine(widths=w).reduce(target, 5).expansion for w in ("fixed", "free"))
    assert relative_error(target, free) < 0.5 * relative_error(target, fixed)


@pytest.mark.parametrize("k", [1, 3])
def test_gradients_over_points_and_widths(rng, k):
    target = with_free_widths(random_target(rng, Gaussian(0.3), k=k), "A test")
    Z = np.concatenate([rng.normal(size=(5, 3)), 0.4 * rng.normal(size=(5, 1))], axis=1)
    error, loss = _ProjectionError(target), _FunctionLoss(target, rng.normal(size=(40, 3)), 0.01)
    assert_allclose(error(Z)[1], finite_differences(lambda Z: error(Z)[0], Z), rtol=1e-3, atol=2e-6)
    assert_allclose(loss(Z)[1], finite_differences(lambda Z: loss(Z)[0], Z), rtol=1e-3, atol=2e-6)


def test_widths_scale_and_points_move_with_the_data(rng):
    target = random_target(rng, Gaussian(0.3))
    moved = Expansion(Gaussian(0.3 / 4), 2 * target.points + 5, target.coefficients)
    one, other = (Refine(widths="free", tol=1e-9).reduce(each, 3).expansion for each in (target, moved))
    assert_allclose(relative_error(moved, other), relative_error(target, one), rtol=1e-3)
    assert_allclose(other.inputs, 2 * one.inputs + 5, atol=0.02)
    assert_allclose(gammas_of(other.kernel, other.points), gammas_of(one.kernel, one.points) / 4, rtol=0.02)


def test_targets_of_several_widths_are_reduced_again(rng):
    target = random_target(rng, Gaussian(0.3))
    first = Refine(widths="free").reduce(target, 6).expansion
    for reducer in (Select(), Construct(), Refine(), Distill()):
        again = reducer.reduce(first, 3)
        assert again.expansion.points.shape == (3, 4)
        X = rng.normal(size=(5, 3))
        values = again.expansion(X) + (0 if again.shift is None else again.shift)
        assert np.isfinite(values).all()
    assert_allclose(Select().reduce(first, 6).expansion(X), first(X), atol=1e-6)


def test_path_has_the_errors_of_its_reductions(rng):
    target = random_target(rng, Gaussian(0.3))
    path = Construct(widths="free").path(target, 5)
    errors = [relative_error(target, path[n]) for n in (1, 3, 5)]
    assert_allclose(errors, path.errors[[0, 2, 4]], atol=1e-9)


@pytest.mark.parametrize("reducer", FREE, ids=repr)
def test_other_kernels_are_refused(reducer, rng):
    with pytest.raises(UnsupportedKernelError, match=f"{type(reducer).__name__} with widths='free' needs a Gaussian"):
        reducer.reduce(random_target(rng, Laplacian(0.3)), 3)


@pytest.mark.parametrize("reducer", FREE, ids=repr)
def test_unknown_rules_for_widths_are_refused(reducer, rng):
    with pytest.raises(ValueError, match="widths"):
        type(reducer)(widths="wide").reduce(random_target(rng, Gaussian(0.3)), 3)


def test_array_libraries_agree(xp, rng):
    target = random_target(rng, Gaussian(0.3))
    there = Expansion(target.kernel, xp.asarray(target.points), xp.asarray(target.coefficients))
    here, found = (Refine(Select(), max_iter=5, widths="free").reduce(each, 3).expansion for each in (target, there))
    assert isinstance(found.kernel, FreeWidthGaussian)
    assert_allclose(np.asarray(found.points), here.points, atol=1e-5)
