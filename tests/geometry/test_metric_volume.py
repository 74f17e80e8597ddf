"""Volume elements are determinants of metrics, also in many dimensions."""

import numpy as np
import pytest
from for_each import for_each
from surfaces import DIRECTED, ISOTROPIC, MATRIX, POINTS, TALL, name

from preimage.geometry import log_volume_element, metric_tensor
from preimage.kernels import Cosine, Exponential, Gaussian, Linear, MappedInputs, Polynomial, ScaledInputs, Sigmoid


@for_each("kernel", ISOTROPIC + DIRECTED, ids=name)
def test_volume_element_is_the_root_of_the_determinant(kernel):
    expected = 0.5 * np.linalg.slogdet(metric_tensor(kernel, POINTS))[1]
    np.testing.assert_allclose(log_volume_element(kernel, POINTS), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("p", "c"), [(2, 0.0), (2, 1.0), (3, 0.5), (5, 2.0)])
@pytest.mark.parametrize("N", [1, 2, 3])
def test_polynomials_have_the_volume_of_their_closed_form(p, c, N):
    """(C13): √det g = p^(N/2) u^((N(p − 1) − 1)/2) √(c + p s)."""
    X = POINTS[:, :N]
    s = np.sum(X**2, axis=1)
    expected = N / 2 * np.log(p) + (N * (p - 1) - 1) / 2 * np.log(s + c) + np.log(c + p * s) / 2
    np.testing.assert_allclose(log_volume_element(Polynomial(p, coef0=c), X), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "kernel", [Polynomial(7), Gaussian(1e-4), Exponential(1.0), Polynomial(3) + Gaussian(0.1)], ids=name
)
def test_many_inputs_stay_finite(kernel):
    X = np.random.default_rng(0).normal(size=(4, 256))
    values = log_volume_element(kernel, X)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values, 0.5 * np.linalg.slogdet(metric_tensor(kernel, X))[1], rtol=1e-9)
    assert (np.abs(2 * values) > np.log(np.finfo(float).max)).any()  # the determinant itself overflows, or vanishes


def test_volume_is_magnified_by_linear_maps():
    base = log_volume_element(Polynomial(2), POINTS @ MATRIX.T)
    expected = base + np.log(abs(np.linalg.det(MATRIX)))
    np.testing.assert_allclose(log_volume_element(MappedInputs(Polynomial(2), MATRIX), POINTS), expected, rtol=1e-12)
    np.testing.assert_allclose(
        log_volume_element(MappedInputs(Gaussian(0.5), TALL), POINTS), 0.5 * np.linalg.slogdet(TALL.T @ TALL)[1]
    )


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (Polynomial(2, coef0=0.0), np.zeros((1, 3))),
        (Polynomial(3, coef0=0.0), np.zeros((1, 1))),
        (Polynomial(2, coef0=0.0) * Linear(), np.zeros((1, 2))),
        (ScaledInputs(Gaussian(), [1.0, 0.0]), np.ones((1, 2))),
        (MappedInputs(Polynomial(2), MATRIX[:2]), POINTS),
        (Cosine(), POINTS),
    ],
    ids=["origin", "origin of a line", "origin of a product", "dropped variable", "wide map", "directions alone"],
)
def test_degenerate_metrics_have_no_volume(kernel, X):
    np.testing.assert_array_equal(log_volume_element(kernel, X), -np.inf)


def test_indefinite_metrics_are_refused():
    with pytest.raises(ValueError, match="indefinite"):
        log_volume_element(Sigmoid(1.0, 0.0), [[1.0, 1.0]])
    with pytest.raises(ValueError, match="indefinite"):
        log_volume_element(-1.0 * Gaussian(), POINTS)
