"""The same function values, on few points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from random_targets import finite_differences, random_target, smooth_kernels
from threadpoolctl import threadpool_limits

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Sigmoid
from preimage.reduced_sets import Construct, Distill, _refinement, relative_error
from preimage.reduced_sets._refinement import _FunctionLoss


def objective(target, X, expansion, shift, penalty):
    """(R24), as printed."""
    values = target(X)
    misfit = np.sum((values - expansion(X) - shift) ** 2) / np.sum((values - values.mean(axis=0)) ** 2)
    return misfit + penalty * relative_error(target, expansion)


@smooth_kernels
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("penalty", [0.0, 0.01])
def test_gradient_of_the_loss(kernel, k, penalty, rng, monkeypatch):
    monkeypatch.setattr(_refinement, "BLOCK", 16)  # a ragged last block
    loss = _FunctionLoss(random_target(rng, kernel, k=k), rng.normal(size=(40, 3)), penalty)
    Z = 1.5 * rng.normal(size=(5, 3))
    gradient = loss(Z)[1]
    assert_allclose(
        gradient, finite_differences(lambda Z: loss(Z)[0], Z), rtol=1e-3, atol=1e-5 * np.abs(gradient).max()
    )


def test_blocks_do_not_change_the_loss(rng, monkeypatch):
    target, X, Z = random_target(rng), rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    value, gradient = _FunctionLoss(target, X, 0.01)(Z)
    for block in (1, 7, 40):
        monkeypatch.setattr(_refinement, "BLOCK", block)
        other = _FunctionLoss(target, X, 0.01)(Z)
        assert_allclose(other[0], value, rtol=1e-8)
        assert_allclose(other[1], gradient, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("penalty", [0.0, 0.01, 1.0])
def test_loss_is_the_objective(penalty, rng):
    """As a share of what no points at all leave: one for the values, `penalty` for the norm."""
    target, X, Z = random_target(rng), rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    loss = _FunctionLoss(target, X, penalty)
    value = objective(target, X, *loss.reduced(Z), penalty)
    assert_allclose(loss(Z)[0] + penalty, value, rtol=1e-6)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("penalty", [0.0, 0.01])
def test_coefficients_and_constants_are_optimal(k, penalty, rng):
    target, X = random_target(rng, k=k), rng.normal(size=(60, 3))
    reduction = Distill(penalty=penalty, max_iter=20).reduce(target, 5, X=X)
    expansion, shift = reduction.expansion, reduction.shift
    best = objective(target, X, expansion, shift, penalty)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(5):
            beta = expansion.coefficients + size * rng.normal(size=(5, k))
            moved = Expansion(target.kernel, expansion.points, beta)
            assert best <= objective(target, X, moved, shift, penalty) + 1e-9
            assert best <= objective(target, X, expansion, shift + size * rng.normal(size=k), penalty) + 1e-9
            assert best <= objective(target, X, moved, shift + size * rng.normal(size=k), penalty) + 1e-9
    assert_allclose(shift, (target(X) - expansion(X)).mean(axis=0), atol=1e-9)


def test_more_steps_are_never_worse(rng):
    target, X = random_target(rng, m=40), rng.normal(size=(100, 3))
    values = []
    for steps in (0, 1, 3, 10, 30, 100):
        reduction = Distill(max_iter=steps).reduce(target, 6, X=X)
        values.append(objective(target, X, reduction.expansion, reduction.shift, 0.01))
    assert (np.diff(values) <= 1e-9).all()
    assert values[-1] < 0.7 * values[0]


def test_better_on_the_data_than_the_norm_of_feature_space(rng):
    target, X = random_target(rng, m=60, k=1), 0.5 * rng.normal(size=(200, 3))
    small, constructed = Distill().reduce(target, 6, X=X), Construct().reduce(target, 6).expansion
    misfit = lambda values: np.mean((values - target(X)) ** 2)
    assert misfit(small.expansion(X) + small.shift) < 0.2 * misfit(constructed(X))


def test_hardly_varying_functions_are_kept_by_their_constants(rng):
    target = random_target(rng, Gaussian(1e-12))
    reduction = Distill().reduce(target, 3)
    values = reduction.expansion(target.points) + reduction.shift
    assert_allclose(values, target(target.points), rtol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Sigmoid(0.5, -1.0)], ids=repr)
def test_one_input_is_fitted(kernel, rng):
    target = random_target(rng, kernel)
    X = rng.normal(size=(1, 3))
    reduction = Distill().reduce(target, 3, X=X)
    assert_allclose(reduction.expansion(X) + reduction.shift, target(X), rtol=1e-6)


def test_samples_are_drawn_by_the_generator(rng):
    target, X = random_target(rng), rng.normal(size=(100, 3))
    draw = lambda seed: Distill(max_samples=20).reduce(target, 4, X=X, rng=np.random.default_rng(seed)).expansion.points
    assert_allclose(draw(1), draw(1))
    assert np.abs(draw(1) - draw(2)).max() > 1e-6


def test_inputs_of_another_precision_are_converted(rng):
    target, X = random_target(rng), rng.normal(size=(30, 3))
    small = Expansion(target.kernel, target.points.astype(np.float32), target.coefficients.astype(np.float32))
    reduction = Distill(max_iter=10).reduce(small, 4, X=X)
    assert reduction.expansion.points.dtype == reduction.expansion.coefficients.dtype == np.float32
    assert reduction.shift.dtype == np.float32


def test_results_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    target = Expansion(Gaussian(0.5), rng.normal(size=(40, 2)), rng.normal(size=(40, 1)))
    data = rng.normal(size=(3000, 2))  # several blocks
    found = []
    for threads in (1, 2, 8):
        with threadpool_limits(threads):
            found.append(Distill(max_iter=10).reduce(target, 6, X=data).expansion)
    for other in found[1:]:
        np.testing.assert_array_equal(other.points, found[0].points)
        np.testing.assert_array_equal(other.coefficients, found[0].coefficients)
