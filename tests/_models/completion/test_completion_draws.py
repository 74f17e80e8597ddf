"""Draws of missing entries: exact for linear kernels, calibrated for others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import array_namespace, from_numpy, to_numpy
from preimage._models.completion import (
    Posterior,
    SubspaceFit,
    complete_rows,
    draws,
    fill,
    fit_temperature,
    median_distance,
    neighbor_start,
)
from preimage._models.completion._draws import second_derivatives
from preimage._models.components import Wanted
from preimage.descent import Box
from preimage.kernels import Gaussian, Linear, Polynomial

rng = np.random.default_rng(0)
MIXED = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 5))
KNOWN = np.random.default_rng(1).random((12, 5)) > 0.4


def curved(n, seed):
    """Points near a curve in five dimensions."""
    generator = np.random.default_rng(seed)
    t = generator.uniform(-1, 1, size=(n, 1))
    turns = np.hstack([np.sin(2 * t), np.cos(2 * t), t, t**2, np.sin(4 * t)])
    return turns + 0.05 * generator.standard_normal(turns.shape)


def filled(model, X, known):
    start = np.where(known, X, model.energy.points.mean(axis=0))
    return fill(model.energy, known, start, tol=1e-7, max_iter=1000).points


def conditional_covariance(covariance, known):
    missing = ~known
    inner, cross = covariance[np.ix_(missing, missing)], covariance[np.ix_(missing, known)]
    if not known.any():
        return inner
    return inner - cross @ np.linalg.solve(covariance[np.ix_(known, known)], cross.T)


def test_linear_kernels_give_the_covariance_of_missing_given_known_entries():
    model = SubspaceFit(Linear(), Wanted(number=2), None)(MIXED)
    axes = model.principal.subspace.frame.coefficients.T @ model.principal.subspace.frame.points
    extra = np.diag(model.principal.variances - model.noise)
    covariance = axes.T @ extra @ axes + model.noise * np.eye(5)
    known = KNOWN[KNOWN.any(axis=1)]
    posterior = Posterior.of(model.energy, filled(model, MIXED[: len(known)], known), known)
    for row, found in zip(known, posterior.variances(model.noise), strict=True):
        assert_allclose(found[~row], np.diag(conditional_covariance(covariance, row)), rtol=1e-5)
        assert not found[row].any()


@pytest.mark.parametrize("kernel", [Gaussian(0.1), Polynomial(degree=2), Gaussian(0.1) + Linear()], ids=repr)
def test_second_derivatives_are_those_of_the_energy(kernel):
    energy = SubspaceFit(kernel, Wanted(number=4), None)(MIXED).energy
    Z, free, step = MIXED[:6], (~KNOWN[:6]).astype(float), 1e-4
    H = second_derivatives(energy, Z, free, np.ones(5))
    value = lambda shift: energy.at(Z + shift).value
    for i in range(5):
        for j in range(5):
            a, b = step * np.eye(5)[i], step * np.eye(5)[j]
            expected = (value(a + b) - value(a - b) - value(b - a) + value(-a - b)) / (4 * step**2)
            scale = 1e-5 * np.abs(H).max() + 1e-5
            assert_allclose(H[:, i, j], expected * free[:, i] * free[:, j], rtol=1e-3, atol=scale)


def drawn(xp):
    """Four draws of twelve rows, between −2 and 2."""
    model = SubspaceFit(Gaussian(0.05), Wanted(number=10), None)(xp.asarray(MIXED))
    X = xp.asarray(MIXED[:12])
    known = from_numpy(KNOWN, X, dtype=array_namespace(X).bool)
    box = Box(xp.asarray(np.full(5, -2.0)), xp.asarray(np.full(5, 2.0)))
    return draws(model.energy, known, X, 1.0, n_draws=4, rng=np.random.default_rng(0), box=box)


def test_draws_keep_known_entries_and_stay_in_the_box(xp):
    found = to_numpy(drawn(xp))
    assert found.shape == (4, 12, 5)
    assert np.all(found[:, KNOWN] == MIXED[:12][KNOWN])
    assert np.abs(found[:, ~KNOWN]).max() <= 2
    assert np.median(np.ptp(found[:, ~KNOWN], axis=0)) > 0.5
    assert_allclose(found, drawn(np), atol=1e-6)  # a seed means the same in every library


def test_draws_have_the_variances_that_are_said(monkeypatch):
    model = SubspaceFit(Gaussian(0.02), Wanted(number=20), 1e-3)(MIXED)
    modes = filled(model, MIXED[:12], KNOWN)
    temperature = 20 * model.noise
    options = {"n_draws": 4000}
    found = draws(model.energy, KNOWN, modes, temperature, rng=np.random.default_rng(0), **options)
    expected = Posterior.of(model.energy, modes, KNOWN).variances(temperature)
    assert_allclose(found.mean(axis=0), modes, atol=5 * np.sqrt(expected.max() / 4000))
    assert_allclose(found.var(axis=0), expected, rtol=0.15, atol=1e-20)
    # Blocks of rows change nothing.
    monkeypatch.setattr("preimage._models.completion._draws._blocks", lambda Z: [slice(0, 5), slice(5, 12)])
    again = draws(model.energy, KNOWN, modes, temperature, rng=np.random.default_rng(0), **options)
    assert_allclose(again, found, atol=1e-6)


def test_no_variance_exceeds_that_of_the_training_rows():
    """Where the energy is flat, entries are as uncertain as if nothing were known."""
    model = SubspaceFit(Gaussian(5.0), Wanted(number=5), 1e-2)(MIXED)
    posterior = Posterior.of(model.energy, 100 + MIXED[:12], KNOWN)
    for temperature in (1e-3, 1e9):
        assert np.all(posterior.variances(temperature).sum(axis=1) <= MIXED.var(axis=0).sum() * 1.001)


def test_the_temperature_of_linear_data_is_their_noise():
    generator = np.random.default_rng(3)
    X = generator.standard_normal((400, 2)) @ generator.standard_normal((2, 8)) + 0.3 * generator.standard_normal(
        (400, 8)
    )
    fit = SubspaceFit(Linear(), Wanted(number=2), None)
    known = np.ones(X.shape, bool)
    found = fit_temperature(fit, X, known, median_distance(complete_rows(X)), rng=np.random.default_rng(0))
    assert_allclose(found, 0.3**2, rtol=0.2)


@pytest.mark.parametrize(("gamma", "noise"), [(0.3, 1e-3), (1.0, 1e-4), (0.03, 1e-5)])
def test_intervals_of_new_rows_have_their_coverage(gamma, noise):
    X, new = curved(200, 0), curved(200, 1)
    fit = SubspaceFit(Gaussian(gamma), Wanted(), noise)
    points, known = complete_rows(X), np.random.default_rng(2).random(new.shape) > 0.3
    scale = median_distance(points)
    temperature = fit_temperature(fit, X, np.ones(X.shape, bool), scale, rng=np.random.default_rng(0))
    model = fit(X)
    modes = fill(model.energy, known, neighbor_start(points, new, known, scale)).points
    found = draws(model.energy, known, modes, temperature, n_draws=200, rng=np.random.default_rng(0))
    low, high = np.quantile(found, [0.05, 0.95], axis=0)
    judged = ~known & known.any(axis=1)[:, None]
    coverage = np.mean(((low <= new) & (new <= high))[judged])
    assert 0.83 <= coverage <= 0.97
