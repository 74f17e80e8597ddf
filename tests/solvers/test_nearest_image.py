"""What all descents to the nearest image share: blocks, second starts, the range of the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage.feature_space import Expansion
from preimage.kernels import (
    Gaussian,
    Sigmoid,
)
from preimage.solvers import FixedPoint, Gradient, Reason, objective_at


def random_target(rng, kernel, n=20, d=3, q=6, mixed=True):
    coefficients = rng.normal(size=(n, q)) if mixed else rng.random((n, q))
    return Expansion(kernel, rng.normal(size=(n, d)), coefficients)


def test_batches_do_not_matter(rng, monkeypatch):
    target, start = random_target(rng, Gaussian(0.5), q=40), rng.normal(size=(40, 3))
    together = FixedPoint().solve(target, start)
    monkeypatch.setattr("preimage.solvers._batch.HOST_BYTES", 1)
    blocks = FixedPoint().solve(target, start)
    alone = [FixedPoint().solve(target[j], start[j : j + 1]).points[0] for j in range(40)]
    # Rounding may let a problem stop one step earlier, within the tolerance.
    assert_allclose(blocks.points, together.points, atol=1e-6)
    assert_allclose(alone, together.points, atol=1e-6)
    order = rng.permutation(40)
    assert_allclose(FixedPoint().solve(target.take(order), start[order]).points, together.points[order], atol=1e-6)


def test_far_away_starts_begin_again_near_the_data(rng):
    target = random_target(rng, Gaussian(0.5), mixed=False)
    result = FixedPoint().solve(target, np.full((6, 3), 1e4))
    assert result.converged.all()
    assert np.abs(result.points).max() < 5


@pytest.mark.parametrize("solver", [FixedPoint(), FixedPoint(penalty=0.1), Gradient()], ids=repr)
def test_ten_thousand_problems_never_give_nan(solver):
    """Fifty widths over six decades, two hundred problems each: mixed signs, duplicates, far-away queries."""
    rng = np.random.default_rng(1)
    for log_gamma in np.linspace(-4, 2, 50):
        points = rng.normal(size=(25, 4))
        points[20:] = points[:5]
        target = Expansion(Gaussian(10.0**log_gamma), points, rng.normal(size=(25, 200)) * 10 ** rng.normal(size=200))
        start = rng.normal(size=(200, 4)) * 10 ** rng.uniform(-2, 4, size=(200, 1))
        result = solver.solve(target, start)
        assert np.isfinite(result.points).all() and np.isfinite(result.objective).all()
        slack = 1e-12 * (1 + np.abs(target.coefficients).sum(axis=0)) ** 2
        assert (result.objective <= objective_at(target, start) + slack).all()


@pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("solver", [FixedPoint(), Gradient()], ids=repr)
def test_problems_without_minimum_stay_in_the_range_of_the_data(solver):
    """ρ of an indefinite kernel may fall for ever; far points are no pre-images."""
    X = np.random.default_rng(0).normal(size=(40, 16))
    subspace = KernelPCA(5, kernel=Sigmoid(0.05, 0.0)).fit(X).subspace_
    result = solver.inverse(subspace, subspace.coordinates(X), X)
    restricted = result.reason == Reason.RESTRICTED
    assert restricted.any() and not result.converged[restricted].any()
    inside = (result.points >= X.min(axis=0)) & (result.points <= X.max(axis=0))
    assert inside[restricted].all()
    assert np.linalg.norm(result.points, axis=1).max() <= 2 * np.linalg.norm(X, axis=1).max()
