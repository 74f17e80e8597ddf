"""Gaussians of several widths as vectors of one feature space."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import (
    FreeWidthGaussian,
    Gaussian,
    Laplacian,
    MappedInputs,
    Polynomial,
    ScaledInputs,
    ShiftedInputs,
    free_widths,
    gammas_of,
)
from preimage.testing import check_kernel


def rows_of_widths(rng, n=12, d=3, size=0.4):
    return np.concatenate([rng.normal(size=(n, d)), size * rng.normal(size=(n, 1))], axis=1)


@pytest.mark.parametrize("d", [1, 3])
def test_kernel_keeps_the_contract(rng, d):
    check_kernel(FreeWidthGaussian(0.4, d), rows_of_widths(rng, d=d))
    check_kernel(FreeWidthGaussian(0.4, d + 1), rows_of_widths(rng, d=d))  # of inputs alone


@pytest.mark.parametrize(
    "kernel",
    [
        2.5 * FreeWidthGaussian(0.4, 3),
        ScaledInputs(FreeWidthGaussian(0.4, 3), [1.0, 0.0, 2.0]),
        MappedInputs(FreeWidthGaussian(0.4, 2), np.random.default_rng(3).normal(size=(2, 3))),
        ShiftedInputs(FreeWidthGaussian(0.4, 3), [1.0, -1.0, 0.5]),
    ],
    ids=repr,
)
def test_kernels_on_changed_inputs_leave_widths_alone(rng, kernel):
    rows = rows_of_widths(rng)
    check_kernel(kernel, rows, sparse_inputs=not isinstance(kernel, (MappedInputs, ShiftedInputs)))
    expected = FreeWidthGaussian(0.4, kernel.kernel.n_features).gammas(kernel.inputs_of_parts(rows))
    assert_allclose(gammas_of(kernel, rows), expected)


def test_values_at_inputs_are_those_of_the_gaussian(rng):
    kernel, points, X = FreeWidthGaussian(0.4, 3), rows_of_widths(rng), rng.normal(size=(7, 3))
    squared = np.sum((X[:, None] - points[None, :, :3]) ** 2, axis=2)
    assert_allclose(kernel(X, points), np.exp(-kernel.gammas(points) * squared), rtol=1e-12)
    assert_allclose(kernel(X), Gaussian(0.4)(X), rtol=0, atol=0)
    assert (kernel.gammas(points) < 2 * 0.4).all() and (kernel.gammas(points) > 0).all()
    assert_allclose(kernel.gammas(X), 0.4)


def test_inner_products_of_wide_gaussians_are_those_of_clouds():
    # A Gaussian convolved with a normal density is a wider one: a sum of images over nodes of a quadrature.
    gamma, nodes, weights = 0.7, *np.polynomial.hermite.hermgauss(60)
    kernel = FreeWidthGaussian(gamma, 1)
    rows = np.array([[0.3, 0.2], [-0.4, 0.5]])
    clouds = []
    for (z, _), wide in zip(rows, kernel.gammas(rows), strict=True):
        variance = (gamma / wide - 1) / (2 * gamma)  # γ_w = γ/(1 + 2γs²)
        length = (gamma / wide) ** 0.5 / np.pi**0.5
        clouds.append(Expansion(Gaussian(gamma), z + (2 * variance) ** 0.5 * nodes[:, None], length * weights[:, None]))
    expected = [[float(one.inner(other)[0, 0]) for other in clouds] for one in clouds]
    assert_allclose(kernel(rows), expected, rtol=1e-10)


def test_norm_of_a_narrow_gaussian_is_the_limit_of_its_projections():
    # ‖Pg‖² on the span of a fine grid, whose values at the grid are all that projection needs.
    kernel, narrow = FreeWidthGaussian(1.0, 1), np.array([[0.0, -0.15]])
    assert kernel.gammas(narrow)[0] > 1.2
    norms = []
    for n in (9, 17, 25):
        grid = np.linspace(-4, 4, n)[:, None]
        values = kernel(grid, narrow)
        norms.append(float(values[:, 0] @ np.linalg.solve(Gaussian(1.0)(grid), values[:, 0])))
    exact = kernel.diagonal(narrow)[0]
    assert norms == sorted(norms) and norms[-1] <= exact + 1e-9
    assert exact - norms[-1] < 1e-4 * exact


def test_steps_of_widths_and_inputs_move_images_equally_far():
    d, gamma, step = 5, 0.3, 1e-4
    kernel = FreeWidthGaussian(gamma, d)
    origin = np.zeros((1, d + 1))
    for column in (0, d):
        moved = origin.copy()
        moved[0, column] = step
        cosine = kernel(origin, moved)[0, 0] / kernel.diagonal(moved)[0] ** 0.5
        assert_allclose(2 - 2 * cosine, 2 * gamma * step**2, rtol=1e-5)


@given(st.floats(-1e300, 1e300), st.integers(1, 2000), st.floats(1e-6, 1e6))
def test_all_widths_have_finite_values(w, d, gamma):
    kernel = FreeWidthGaussian(gamma, d)
    rows = np.zeros((2, d + 1))
    rows[0, -1] = w
    for values in (kernel(rows), kernel.diagonal(rows), kernel.gradient(rows, rows, np.ones((2, 2)))):
        assert np.isfinite(values).all()
    assert (kernel.gammas(rows) > 0).all() and (kernel.gammas(rows) < 2 * gamma).all()


def test_array_libraries_agree(xp, rng):
    kernel, X, Z, W = FreeWidthGaussian(0.4, 3), rows_of_widths(rng), rows_of_widths(rng, 5), rng.normal(size=(5, 12))
    there = [xp.asarray(array) for array in (X, Z, W)]
    for here, value in (
        (kernel(Z, X), kernel(there[1], there[0])),
        (kernel(Z[:, :3], X), kernel(there[1][:, :3], there[0])),
        (kernel.diagonal(X), kernel.diagonal(there[0])),
        (kernel.gradient(Z, X, W), kernel.gradient(there[1], there[0], there[2])),
        (kernel.diagonal_gradient(Z), kernel.diagonal_gradient(there[1])),
        (kernel.gammas(X), kernel.gammas(there[0])),
    ):
        assert_allclose(np.asarray(value), here, atol=1e-12)


def test_sparse_points_have_widths(rng):
    rows = np.where(rng.random((6, 4)) < 0.5, rows_of_widths(rng, 6), 0)
    kernel = FreeWidthGaussian(0.4, 3)
    assert_allclose(kernel(sparse.csr_matrix(rows)), kernel(rows), rtol=1e-12)


def test_rows_of_other_lengths_are_refused():
    kernel = FreeWidthGaussian(0.4, 3)
    with pytest.raises(ValueError, match="3 columns, or of one more"):
        kernel(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="as many columns"):
        kernel(np.zeros((2, 3)), np.zeros((2, 5)))


@pytest.mark.parametrize("kernel", [Laplacian(0.3), Polynomial(2), Gaussian(0.3) + Gaussian(0.1), -1 * Gaussian(0.3)])
def test_other_kernels_have_no_free_widths(kernel):
    with pytest.raises(UnsupportedKernelError, match="Someone with widths='free' needs a Gaussian kernel"):
        free_widths(kernel, 3, "Someone")
