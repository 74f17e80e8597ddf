"""Fits to rows with missing entries: what they lower, and what they find."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._models.completion import SubspaceFit, fit_incomplete, median_distance, neighbor_start
from preimage._models.components import Wanted
from preimage.descent import Box
from preimage.kernels import Gaussian, Linear
from preimage.landmarks import Uniform

RNG = np.random.default_rng(0)
ANGLES = RNG.uniform(0, 2 * np.pi, 120)
RING = np.column_stack([np.cos(ANGLES), np.sin(ANGLES), np.cos(2 * ANGLES)]) + 0.02 * RNG.normal(size=(120, 3))


def incomplete(X, fraction, seed=0):
    observed = np.random.default_rng(seed).random(X.shape) > fraction
    observed[np.arange(len(X)), np.random.default_rng(seed).integers(X.shape[1], size=len(X))] = True
    return observed


def fitted(fit, X, observed, **options):
    start = neighbor_start(X, observed, median_distance(X, observed))
    settings = {"box": Box(), "tol": 0.0, "max_iter": 6, "rng": np.random.default_rng(0)} | options
    return start, fit_incomplete(fit, observed, start, **settings)


@pytest.mark.parametrize("noise", [None, 0.0, 0.01])
@pytest.mark.parametrize("selector", [None, Uniform(30, random_state=0)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_objective_never_rises(noise, selector, seed):
    observed = incomplete(RING, 0.3, seed)
    _, found = fitted(SubspaceFit(Gaussian(0.5), Wanted(number=6), noise, selector), RING, observed)
    path = np.array(found.path)
    assert len(path) == found.n_rounds + 1 >= 2
    assert np.all(np.diff(path) <= 1e-9 * np.abs(path[1:]))
    assert np.array_equal(found.rows[observed], RING[observed])


def test_missing_entries_are_nearer_than_their_starts():
    arc = np.column_stack([ANGLES, np.sin(ANGLES), np.cos(ANGLES), ANGLES**2 / 6]) + 0.05 * RNG.normal(size=(120, 4))
    observed = incomplete(arc, 0.3)
    start, found = fitted(SubspaceFit(Gaussian(0.1), Wanted(fraction=0.98), None), arc, observed, tol=1e-3)
    error = lambda Z: np.mean((Z - arc)[~observed] ** 2)
    assert error(found.rows) < 0.8 * error(start)


def test_complete_rows_are_fitted_once():
    _, found = fitted(SubspaceFit(Gaussian(0.5), Wanted(number=4), None), RING, np.ones(RING.shape, bool))
    assert found.converged and found.n_rounds == 0 and found.rows is not None
    assert_allclose(found.rows, RING)


def test_a_plane_is_found_again():
    """Rows of a plane, a third of the entries missing: the linear kernel without noise fills them exactly."""
    X = RNG.normal(size=(80, 2)) @ RNG.normal(size=(2, 6))
    observed = incomplete(X, 0.2)
    observed[:, :3] = True
    fit = SubspaceFit(Linear(), Wanted(number=2), 0.0)
    _, found = fitted(fit, X, observed, max_iter=200, tol=1e-6)
    assert np.mean((found.rows - X)[~observed] ** 2) < 1e-3 * np.mean(X[~observed] ** 2)
