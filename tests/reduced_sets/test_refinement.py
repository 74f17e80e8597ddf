"""All points at once, in the norm of feature space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from random_targets import finite_differences, random_target, smooth_kernels

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Laplacian
from preimage.reduced_sets import Construct, Refine, Select, SelectL1, project, relative_error
from preimage.reduced_sets._refinement import _ProjectionError
from preimage.solvers import Reason


@smooth_kernels
@pytest.mark.parametrize("k", [1, 3])
def test_gradient_of_the_error(kernel, k, rng):
    """(R19), coefficients eliminated."""
    error = _ProjectionError(random_target(rng, kernel, k=k))
    Z = 1.5 * rng.normal(size=(5, 3))
    assert_allclose(error(Z)[1], finite_differences(lambda Z: error(Z)[0], Z), rtol=1e-3, atol=2e-6)


@smooth_kernels
def test_error_is_that_of_the_projection(kernel, rng):
    target, Z = random_target(rng, kernel), rng.normal(size=(5, 3))
    assert_allclose(_ProjectionError(target)(Z)[0], relative_error(target, project(target, Z)), rtol=1e-4)


@pytest.mark.parametrize("start", [Select(), Select("forward"), SelectL1(), Construct()], ids=repr)
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Gaussian(0.01), Laplacian(0.3)], ids=repr)
def test_never_worse_than_its_start(start, kernel, rng):
    target = random_target(rng, kernel)
    for n in (1, 5, 15):
        first, refined = start.reduce(target, n).expansion, Refine(start).reduce(target, n).expansion
        assert relative_error(target, refined) <= relative_error(target, first) * (1 + 1e-9)


def test_much_better_than_construction_alone(rng):
    target = random_target(rng, m=60)
    constructed, refined = (one.reduce(target, 8).expansion for one in (Construct(), Refine()))
    assert relative_error(target, refined) < 0.9 * relative_error(target, constructed)


@pytest.mark.parametrize("k", [1, 2])
def test_separate_bumps_are_recovered(k, rng):
    centers = 8.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    weights = np.array([[1.0, -1.0], [2.0, 1.0], [-1.5, 0.5], [1.0, 2.0]])[:, :k]
    pairs = np.concatenate([centers, centers + 20.0])  # far bumps of no weight
    target = Expansion(Gaussian(0.5), pairs, np.concatenate([weights, 0 * weights]))
    refined = Refine(tol=0.0).reduce(target, 4).expansion
    assert relative_error(target, refined) < 1e-12
    order = np.lexsort(refined.points.round(3).T)
    assert_allclose(refined.points[order], centers, atol=1e-5)
    assert_allclose(refined.coefficients[order], weights, atol=1e-5)


def test_says_how_it_ended(rng):
    target = random_target(rng)
    assert Refine().reduce(target, 5).converged
    stopped = Refine(max_iter=1).reduce(target, 5)
    assert not stopped.converged
    assert stopped.reason == Reason.ITERATION_LIMIT
    assert Refine(max_iter=0).reduce(target, 5).n_iter == 0
