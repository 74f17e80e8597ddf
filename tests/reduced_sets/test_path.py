"""All reductions of a nested reducer together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from random_targets import random_target

from preimage._arrays import to_numpy
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Laplacian, Polynomial
from preimage.reduced_sets import Construct, ReductionPath, Select, project, relative_error

NESTED = [Select(), Select("forward"), Select("eigenvectors"), Construct()]
nested = pytest.mark.parametrize("reducer", NESTED, ids=repr)


@nested
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3), Polynomial(3)], ids=repr)
@pytest.mark.parametrize("k", [1, 3])
def test_errors_are_those_of_the_prefixes(reducer, kernel, k, rng):
    target = random_target(rng, kernel, k=k)
    path = reducer.path(target, 12)
    assert len(path) == 12
    assert path.errors.shape == (12,)
    for n in (1, 2, 7, 12):
        assert path[n].points.shape[0] == n
        assert_allclose(relative_error(target, path[n]), path.errors[n - 1], rtol=1e-6, atol=1e-9)
        assert_allclose(relative_error(target, project(target, path.points[:n])), path.errors[n - 1], atol=1e-9)
    assert (np.diff(path.errors) <= 1e-12).all()


@nested
def test_reductions_are_prefixes(reducer, rng):
    target = random_target(rng)
    path = reducer.path(target, 12)
    for n in (1, 5, 12):
        reduced = reducer.reduce(target, n).expansion
        assert_allclose(reduced.points, path[n].points)
        assert_allclose(reduced.coefficients, path[n].coefficients)


@nested
def test_paths_have_no_more_points_than_the_target(reducer, rng):
    path = reducer.path(random_target(rng, m=6), 50)
    assert len(path) <= 6


@nested
def test_dependent_points_add_nothing(reducer, rng):
    target = random_target(rng, Polynomial(3, gamma=1.0, coef0=0.0), m=12, d=2)
    errors = reducer.path(target, 12).errors
    assert np.isfinite(errors).all()
    assert (errors[3:] < 1e-9).all()


@nested
def test_a_target_of_length_zero_has_a_path(reducer, rng):
    target = random_target(rng)
    path = reducer.path(target @ np.zeros((2, 1)), 4)
    assert (path.errors == 0).all()
    assert not path[1].coefficients.any()


@nested
def test_every_array_library(reducer, xp, rng):
    target = random_target(rng)
    foreign = Expansion(target.kernel, xp.asarray(target.points), xp.asarray(target.coefficients))
    path, reference = reducer.path(foreign, 5), reducer.path(target, 5)
    assert isinstance(path.errors, np.ndarray)
    assert_allclose(path.errors, reference.errors, rtol=1e-2)
    assert_allclose(to_numpy(path[3].points), reference[3].points, rtol=1e-2, atol=1e-2)


@nested
@pytest.mark.parametrize("n_points", [0, -3, 1.5])
def test_numbers_of_points_without_meaning_are_refused(reducer, n_points, rng):
    with pytest.raises(ValueError, match=r"n_points must be an integer ≥ 1"):
        reducer.path(random_target(rng), n_points)


def test_order_of_points_is_kept(rng):
    target, Z = random_target(rng), rng.normal(size=(4, 3))
    assert_allclose(ReductionPath(target, Z)[2].points, Z[:2])
